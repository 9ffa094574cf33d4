"""Run attempts of one part for a number of seconds, and print their findings."""

from __future__ import annotations

import argparse
import importlib
import time
import traceback

import numpy as np

_PARTS = ("bindings", "files")


def main() -> int:
    """Return 1 if an attempt found a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("part", choices=_PARTS)
    parser.add_argument("--seconds", type=float, default=600.0, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="the first one (%(default)s)")
    parser.add_argument("--attempts", type=int, default=None, help="no more than so many")
    given = parser.parse_args()
    attempt = importlib.import_module(f"tests.fuzz.test_{given.part}").attempt
    seed, found, end = given.seed, 0, time.monotonic() + given.seconds
    last = np.inf if given.attempts is None else given.seed + given.attempts
    while time.monotonic() < end and seed < last:
        try:
            attempt(np.random.default_rng(seed))
        except Exception as error:
            found += 1
            told = isinstance(error, AssertionError)
            print(f"seed {seed}: {error if told else traceback.format_exc()}", flush=True)
        seed += 1
    print(f"{seed - given.seed} attempts from seed {given.seed} on, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
