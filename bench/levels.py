"""ISA levels of the benchmarks: every one that a workload visits, or one for both sides."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

# What numpy may not use (its names changed with version 2.4), and the BLAS of the level.
ABOVE = {"v2": ("X86_V3", "AVX2", "FMA3"), "v3": ()}
WIDE = ("X86_V4", "AVX512")
BLAS = {"v2": "Nehalem", "v3": "Haswell"}
DISPATCHED = """
try:
    from numpy._core._multiarray_umath import __cpu_dispatch__ as names
except ImportError:  # before numpy 2
    from numpy.core._multiarray_umath import __cpu_dispatch__ as names
print(*names)
"""


def hold(level: str) -> None:
    """Hold the library, numpy and its BLAS to a level: before numpy is imported.

    Otherwise they choose theirs by themselves, and kernels of a lower level stand beside numpy's of
    the best. scipy's functions are compiled for one level.
    """
    os.environ["LEAKSCORE_ISA"] = level
    if level not in BLAS:
        return
    command = [sys.executable, "-c", DISPATCHED]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    higher = [name for name in names if name.startswith((*WIDE, *ABOVE[level]))]
    os.environ["NPY_DISABLE_CPU_FEATURES"] = " ".join(higher)
    os.environ["OPENBLAS_CORETYPE"] = BLAS[level]


def levels() -> Iterator[str]:
    """Select the active level, then each below it that this processor has; at the end the first."""
    import leakscore
    from leakscore import _core

    best = leakscore.active_isa()
    slowest_first = leakscore.supported_isas()
    try:
        for level in reversed(slowest_first[: slowest_first.index(best) + 1]):
            _core.select_isa(level)
            yield level
    finally:
        _core.select_isa(best)
