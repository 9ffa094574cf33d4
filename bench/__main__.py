"""Run every benchmark: ``python -m bench [--page] [topic ...]``; ``--help`` names the topics."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from bench import levels

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


def cpu_seconds() -> float:
    """CPU time so far, of ended processes too: that of all topics is at most 6 minutes."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def options(arguments: list[str]) -> tuple[list[str], bool, str | None]:
    """Return the modules of the topics, whether the page is written, and the level, if given."""
    found = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m bench", description="Time the library.")
    topics = ", ".join(name.removeprefix("bench_") for name in found)
    parser.add_argument("topic", nargs="*", help=f"all if none is named: {topics}")
    parser.add_argument(
        "--page", action="store_true", help="write the tables to docs/reference/performance.md"
    )
    parser.add_argument(
        "--isa",
        choices=("v2", "v3", "v4"),
        help="the x86-64 level of both sides: the library's kernels, numpy's and its BLAS's",
    )
    given = parser.parse_args(arguments)
    chosen = [f"bench_{topic.removeprefix('bench_')}" for topic in given.topic] or found
    unknown = sorted(set(chosen) - set(found))
    if unknown:
        parser.error(f"unknown topics: {', '.join(unknown)}; there are {topics}")
    return chosen, given.page, given.isa


def main(arguments: list[str]) -> None:
    """Run the named topics, or all, each as one table."""
    chosen, paged, level = options(arguments)
    if level is not None:
        levels.hold(level)
    import numpy as np

    import leakscore
    from bench import page
    from bench._harness import HEADER

    leakscore.set_num_threads(1)
    machine = (
        f"leakscore {leakscore.__version__}, ISA {leakscore.active_isa()}, numpy {np.__version__}"
        f"{'' if level is None else ' on the same level'}\n"
        "CPU time at one thread; 'limit/us' = the machine's measured limit over our time"
    )
    print(machine)

    def run(name: str) -> None:
        print(f"\n== {name}\n{HEADER}")
        start = cpu_seconds()
        importlib.import_module(f"bench.{name}").run()
        print(f"    {name}: {cpu_seconds() - start:.0f} s of CPU time", file=sys.stderr)

    for name in chosen:
        if paged:
            page.write(name, lambda name=name: (print(machine), run(name)))
        else:
            run(name)


if __name__ == "__main__":
    main(sys.argv[1:])
