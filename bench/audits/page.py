"""The measured blocks of the pages on audits, each between two comments with its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from bench._harness import timed
from bench.audits import coins, compared, outcomes, stopping, training
from leakscore.audit import Audit
from reproduce import _alarms, coverage

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
WATCHING = DOCS.parent / "how-to" / "watching.md"
CHECKS = 10_000  # of each mechanism that keeps its claim
SIZES = (20, 100, 1000, 10_000, 100_000, 1_000_000)
BANDS = ("dkw-two-sided", "dkw", "ks", "bonferroni", "berk-jones", "ell", "weighted-ell")
FRESH = 0.951  # a confidence whose critical values are not shipped


def _head(first: str) -> list[str]:
    return [
        f"| {first} | {' | '.join(f'{n:,}' for n in SIZES)} |",
        "| --- |" + " ---: |" * len(SIZES),
    ]


def caps() -> list[str]:
    """Return what perfectly separated scores certify: the largest bound at each size."""
    lines = _head("scores of each kind")
    for method in BANDS:
        found = [
            Audit(np.ones(n), np.zeros(n)).epsilon(1e-5, method=method).max_certifiable
            for n in SIZES
        ]
        lines.append(f"| {method} | {' | '.join(f'{cap:.2f}' for cap in found)} |")
    return [*lines, ""]


def merged(rounds: int = 200, seed: int = 0) -> list[str]:
    """Return what new rounds certify, and what the first ones seem to when they are counted again.

    Normal scores of shift 3: most of each kind are told apart, and the number of rounds decides.
    """
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[-np.inf], np.linspace(-4.0, 7.0, 111), [np.inf]])
    parts = np.array(
        [
            [np.histogram(rng.normal(mu, 1.0, rounds), edges)[0] for mu in (3.0, 0.0)]
            for _ in range(4)
        ]
    )
    lines = [
        "| epsilon(1e-5) at least | one part | two | four |",
        "| --- | ---: | ---: | ---: |",
    ]
    wrong = parts[[0] * 4]
    for name, each in (("disjoint parts", parts), ("one part, counted again: wrong", wrong)):
        counts = [each[:n].sum(axis=0) for n in (1, 2, 4)]
        found = [Audit.from_counts(edges, *both).epsilon(1e-5).epsilon for both in counts]
        lines.append(f"| {name} | {' | '.join(f'{bound:.2f}' for bound in found)} |")
    return [
        f"Parts of {rounds} members and {rounds} non-members, N(3, 1) against N(0, 1):",
        "",
        *lines,
    ]


def first_calls() -> list[str]:
    """Return the CPU time of the first request of a critical value."""
    from leakscore.audit import critical_value

    lines = _head("CPU ms of the first call")
    for method in BANDS:
        found = [timed(partial(critical_value, n, FRESH, method))[0] for n in SIZES]
        lines.append(f"| {method} | {' | '.join(f'{1e3 * t:.3g}' for t in found)} |")
    return [*lines, ""]


def _coverage() -> list[str]:
    return coverage.reproduce().table().splitlines()


def _false_alarms() -> list[str]:
    lines = [
        "| claim kept by | checks that accuse | by the best of all numbers of outputs, not valid |",
        "| --- | ---: | ---: |",
    ]
    for row, wrong in _alarms.alarms(CHECKS, seed=1):
        shares = map(_share, (row.measured, wrong))
        lines.append(f"| {row.name.removeprefix('check_private: ')} | {' | '.join(shares)} |")
    return [*lines, "", f"{CHECKS:,} checks a line, with one standard error; allowed are .05."]


def _share(rate: float) -> str:
    error = np.sqrt(rate * (1.0 - rate) / CHECKS)
    return f"{rate:.4f} ± {error:.4f}".replace("0.", ".") if rate else f"0 of {CHECKS:,}"


def _rivals() -> list[str]:
    return [f"Measured: {compared.versions()}.", "", *compared.coverage()]


BLOCKS: dict[str, Callable[[], list[str]]] = {
    "merged": merged,
    "caps": caps,
    "first calls": first_calls,
    "coverage": _coverage,
    "rivals": _rivals,
    "times": compared.times,
    "sorted bits": coins.sorted_bits,
    "four outcomes": outcomes.four_outcomes,
    "false claims": outcomes.false_claims,
    "every size": training.every_size,
    "stopping": lambda: list(stopping.stopping()),
    "false alarms": _false_alarms,
}
PAGES = {
    "sorted bits": DOCS / "sorted-bits.md",
    "four outcomes": DOCS / "four-outcomes.md",
    "false claims": DOCS / "four-outcomes.md",
    "every size": DOCS / "one-run.md",
    "stopping": WATCHING,
    "false alarms": WATCHING,
}  # all others: audits.md


def main(names: list[str]) -> None:
    """Measure the named blocks, or all, and write them into their pages."""
    import leakscore

    leakscore.set_num_threads(1)
    unknown = set(names) - set(BLOCKS)
    if unknown:
        raise SystemExit(f"unknown blocks: {', '.join(sorted(unknown))}; there are {list(BLOCKS)}")
    for name in names or BLOCKS:
        print(f"{name} ...", flush=True)
        path = PAGES.get(name, DOCS / "audits.md")
        text = "\n".join(BLOCKS[name]()).strip()
        page, found = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda ends, text=text: f"{ends[1]}{text}\n{ends[2]}",
            path.read_text(),
            flags=re.S,
        )
        if found != 1:
            raise SystemExit(f"{path} has {found} blocks {name!r}")
        path.write_text(page)
        print(text)
