"""Other packages' bounds beside ours: their error rates, tightness and speed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np

from bench._harness import timed
from bench.audits.rivals import DELTA, MISS, Rival, installed
from leakscore.audit import Audit
from reproduce._audit_laws import Law, gaussian, laplace, null, response
from reproduce.coverage import Cell, tables

OURS = ("weighted-ell", "sorted-bits")
LAWS = (null(), gaussian(1.0), gaussian(3.0), laplace(1.0), laplace(2.0), response(1.0))
SIZES = (100, 1000)
TIMED = (1000, 100_000, 1_000_000, 10_000_000)
ENOUGH = 10_000_000  # scores of each kind in the calls behind one entry of the table of times


def _ours(method: str) -> Rival:
    """Return our bound in the form of the other packages; sorted-bits needs fair coins."""
    coins = method == "sorted-bits"

    def bound(members: np.ndarray, nonmembers: np.ndarray) -> float:
        if not coins:
            return float(Audit(members, nonmembers).epsilon(DELTA, 1 - MISS, method))
        scores = np.concatenate([members, nonmembers])
        inside = np.arange(scores.size) < members.size
        audit = Audit.from_rounds(scores, inside, random_bits=True, rng=1)
        return float(audit.epsilon(DELTA, 1 - MISS, method))

    return Rival(f"ours, {method}", "leakscore", bound, coins=coins)


def _named(rival: Rival) -> str:
    return rival.name if rival.package == "leakscore" else f"{rival.package}, {rival.name}"


def coverage(rounds: int = 500, seed: int = 1) -> list[str]:
    """Return two tables: on fixed numbers of scores, and where fair coins decide."""
    bounds = [*map(_ours, OURS), *installed()]
    lines: list[str] = []
    for coins in (False, True):
        chosen = [bound for bound in bounds if bound.coins is coins]
        cells = [
            cell
            for i, law in enumerate(LAWS)
            for j, size in enumerate(SIZES)
            for cell in _audited(law, size, chosen, coins, rounds, [seed, coins, i, j])
        ]
        lines += tables(cells)
    return lines


def _audited(
    law: Law, size: int, bounds: list[Rival], coins: bool, rounds: int, seed: list[int]
) -> Iterator[Cell]:
    rng = np.random.default_rng(seed)
    found = np.empty((rounds, len(bounds)))
    for i in range(rounds):
        inside = int(rng.binomial(2 * size, 0.5)) if coins else size
        members, nonmembers = law.members(rng, inside), law.nonmembers(rng, 2 * size - inside)
        found[i] = [bound.bound(members, nonmembers) for bound in bounds]
    scores = f"{2 * size} coins" if coins else str(size)
    for bound, values in zip(bounds, found.T, strict=True):
        yield Cell(_named(bound), "", law.name, scores, DELTA, law.epsilon(DELTA), values)


def times() -> list[str]:
    """Return the table of CPU times of one audit, scores of N(1, 1) and N(0, 1), float64."""
    bounds = [*map(_ours, OURS[:1]), *installed()]
    rng = np.random.default_rng(3)
    seconds: dict[str, list[float]] = {_named(bound): [] for bound in bounds}
    for n in TIMED:
        members, nonmembers = rng.normal(1.0, 1.0, n), rng.normal(0.0, 1.0, n)
        for bound in bounds:
            seconds[_named(bound)].append(_seconds(bound, members, nonmembers))
    ours = seconds[_named(bounds[0])]
    sizes = (f"{n:.0e}".replace("+0", "") for n in TIMED)
    lines = [f"| CPU time of one audit | {' | '.join(sizes)} |", "| --- |" + " ---: |" * len(TIMED)]
    for name, row in seconds.items():
        cells = (_cell(theirs, mine, row is ours) for theirs, mine in zip(row, ours, strict=True))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _seconds(bound: Rival, members: np.ndarray, nonmembers: np.ndarray) -> float:
    """Median CPU seconds of a call. The first one fills the caches of critical values."""
    if members.size > bound.largest:
        return np.nan
    repeats = min(max(ENOUGH // members.size, 1), 25)
    found = [timed(lambda: bound.bound(members, nonmembers))[0] for _ in range(max(repeats, 2))]
    return median(found[1:])


def _cell(theirs: float, mine: float, same: bool) -> str:
    if np.isnan(theirs):
        return ""
    return f"{1e3 * theirs:.3g} ms" + ("" if same else f" ({theirs / mine:.1f}x)")


def versions() -> str:
    """Name the packages that were measured."""
    return ", ".join(dict.fromkeys(rival.version for rival in installed()))
