"""The page docs/reference/distributions.md: every law measured, as two tables each."""

from __future__ import annotations

import importlib
import platform
from dataclasses import replace
from pathlib import Path

from mpmath import mp

from bench.accuracy import boost
from bench.accuracy.measure import Errors, Law, nanoseconds

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "distributions.md"
SECTIONS = [
    ("normal", "law"),
    ("chi_square", "chi_square"),
    ("chi_square", "noncentral"),
    ("chi_square", "marcum"),
    ("quadratic_forms", "law"),
    ("folded_laplace", "law"),
    ("edgeworth", "law"),
    ("counts", "kolmogorov"),
    ("counts", "clopper_pearson"),
]


def _head() -> str:
    import mpmath
    import numpy
    import scipy

    import leakscore

    return f"""# Distributions: measured error and speed

Written by `python -m bench.accuracy` (install with `pip install '.[accuracy]'`; Boost is
compiled on the fly and needs a C++ compiler). {platform.machine()}, {_processor()};
leakscore {leakscore.__version__} at instruction set {leakscore.active_isa()}, scipy
{scipy.__version__}, Boost {boost.version() or "absent"}, numpy {numpy.__version__}, mpmath
{mpmath.__version__}.

**Error**: the largest relative error over the points, against values of 28 digits or more, and in
brackets its 99th percentile; quantiles are divided by their condition number where that is above
one. "+ n lost" counts NaN, exceptions, and zeros or infinities that should be numbers; they do not
enter the error. Empty cells: the peer has no such function.

**Speed**: nanoseconds of CPU time per element, one thread, unsorted arrays, best of five.
"""


def _processor() -> str:
    """Return the processor's name where the system has it."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    return next(
        (line.split(": ")[1] for line in lines if "model name" in line), "processor unknown"
    )


def _error_cell(errors: Errors) -> str:
    text = f"{errors.largest:.1e} ({errors.percentile:.0e})"
    return f"{text} + {errors.failures} lost" if errors.failures else text


def _table(header: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])


def section(law: Law) -> str:
    """Measure one law."""
    print(f"{law.name} ...", flush=True)
    names = ["leakscore", *law.peers]
    errors, times = [], []
    for sample in law.samples:
        cells = [f"`{sample.function}`", str(len(sample.truth))]
        for peer in [law.ours, *law.peers.values()]:
            call = peer(sample.function)
            cells.append("" if call is None else _error_cell(Errors.of(call, sample)))
        errors.append(cells)
    for speed in law.speeds:
        cells = [speed.label]
        for peer in [law.ours, *law.peers.values()]:
            call = peer(speed.function)
            cells.append("" if call is None else f"{nanoseconds(call, speed.arguments):.3g}")
        times.append(cells)
    return "\n\n".join(
        [
            f"## {law.name}",
            *([law.notes] if law.notes else []),
            _table(["largest error", "points", *names], errors),
            _table(["ns per element", *names], times),
        ]
    )


def main() -> None:
    """Measure everything and write the page."""
    import leakscore

    leakscore.set_num_threads(1)
    with mp.workdps(50):
        found = [
            getattr(importlib.import_module(f"bench.accuracy.{module}"), name)()
            for module, name in SECTIONS
        ]
        if boost.version() is None:
            found = [_without_boost(law) for law in found]
        PAGE.write_text("\n".join([_head(), *(section(law) + "\n" for law in found)]))


def _without_boost(law: Law) -> Law:
    return replace(law, peers={k: v for k, v in law.peers.items() if not k.startswith("Boost")})
