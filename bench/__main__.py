"""Run every benchmark: ``python -m bench [topic ...]``."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


def main(topics: list[str]) -> None:
    """Run the named topics, or all, each as one table."""
    import numpy as np

    import leakscore
    from bench._harness import HEADER

    leakscore.set_num_threads(1)
    found = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    chosen = [f"bench_{topic}" for topic in topics] or found
    unknown = set(chosen) - set(found)
    if unknown:
        raise SystemExit(f"unknown topics: {', '.join(sorted(unknown))}; there are {found}")
    print(
        f"leakscore {leakscore.__version__}, ISA {leakscore.active_isa()}, numpy {np.__version__}"
    )
    print("CPU time at one thread; 'limit/us' = the machine's measured limit over our time")
    for name in chosen:
        print(f"\n== {name}\n{HEADER}")
        importlib.import_module(f"bench.{name}").run()


if __name__ == "__main__":
    main(sys.argv[1:])
