"""``import leakscore`` beside ``import numpy``: CPU time of fresh interpreters."""

from __future__ import annotations

import resource
import subprocess
import sys

from bench._harness import Row

TARGET = 0.005  # seconds beyond numpy's


REBUILT = "; an editable install, which asks cmake for news: measure a plain one"


def editable() -> bool:
    """Whether the import looks for changes of the C++ sources first."""
    return any(name.startswith("_editable_skbc") for name in sys.modules)


def cpu_seconds(code: str) -> float:
    """User and system time of a fresh interpreter that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(repeats: int = 15) -> None:
    """Print what leakscore adds to numpy's own import, and what its loaded modules are."""
    numpy_alone, with_leakscore = [], []
    for _ in range(repeats):
        numpy_alone.append(cpu_seconds("import numpy"))
        with_leakscore.append(cpu_seconds("import numpy, leakscore"))
    numpy_alone.sort()
    with_leakscore.sort()
    middle = repeats // 2
    row = Row(
        "import leakscore (numpy: import numpy)",
        (with_leakscore[0], with_leakscore[middle]),
        (numpy_alone[0], numpy_alone[middle]),
        None,
        f"beyond numpy: {1e3 * (with_leakscore[0] - numpy_alone[0]):.1f} ms best, "
        f"{1e3 * (with_leakscore[middle] - numpy_alone[middle]):.1f} ms median "
        f"(target {1e3 * TARGET:.0f} ms){REBUILT if editable() else ''}",
    )
    print(row)
