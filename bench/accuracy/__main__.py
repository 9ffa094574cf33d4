"""Write docs/reference/distributions.md and accountants.md: ``python -m bench.accuracy [NAME]``."""

from __future__ import annotations

import importlib
import os
import sys

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

if __name__ == "__main__":
    names = sys.argv[1:] or ["distributions", "accountants"]
    if unknown := set(names) - {"distributions", "accountants"}:
        raise SystemExit(f"unknown pages: {', '.join(sorted(unknown))}")
    if "distributions" in names:
        importlib.import_module("bench.accuracy.page").main()  # after the threads are set
    if "accountants" in names:
        importlib.import_module("bench.accuracy.accountants").write()
