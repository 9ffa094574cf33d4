"""Write docs/reference/distributions.md: ``python -m bench.accuracy``."""

from __future__ import annotations

import importlib
import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

if __name__ == "__main__":
    importlib.import_module("bench.accuracy.page").main()  # after the threads are set
