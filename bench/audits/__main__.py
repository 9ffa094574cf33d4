"""Write what is measured into the pages on audits: ``python -m bench.audits [BLOCK ...]``."""

from __future__ import annotations

import importlib
import os
import sys

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

if __name__ == "__main__":
    importlib.import_module("bench.audits.page").main(sys.argv[1:])  # after the threads are set
