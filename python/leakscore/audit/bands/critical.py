"""Critical values: the local level at which a band fails with exactly the given probability."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from importlib import resources

import numpy as np

from leakscore import _core
from leakscore.audit.bands.levels import ENDS, beta_bounds, boundaries
from leakscore.typing import Counts, Doubles

FAR_SHARE = 0.01  # of the miss, for the counts between the ends of very large samples

# The target of the crossing probability is below the allowed one by this relative amount, and the
# result is below it by at least half of it: more than the rounding of bounds and probability.
_SLACK = 2e-12

_SECANTS = 20  # steps, after which bisection takes over

Bounds = Callable[[Counts, int, float], tuple[Doubles, Doubles]]


def _beta(power: float) -> Bounds:
    return lambda index, n, level: beta_bounds(index, n, level * index.astype(np.float64) ** power)


def _kullback(index: Counts, n: int, threshold: float) -> tuple[Doubles, Doubles]:
    upper, rest = _core.berk_jones_upper(index - 1, n, threshold)
    return np.maximum.accumulate(np.minimum(1.0, upper)), np.minimum.accumulate(rest)


# The bounds c_i of some indexes, and 1 - c_i, from n and the critical value.
LEVEL_METHODS: dict[str, Bounds] = {
    "ell": _beta(0.0),
    "weighted-ell": _beta(-0.5),
    "berk-jones": _kullback,
}


def algorithm(n: int) -> str:
    """Describe how the crossing probability of n variables is computed."""
    sets = boundaries(n)
    if len(sets) == 2:
        return "exact on square-root grids of both ends, a maximal inequality between them"
    return "exact" if sets[0].size == n else "exact on a square-root grid"


def constraints(method: str, n: int, critical: float) -> list[tuple[Counts, Doubles]]:
    """Return each set of constrained indexes with its bounds."""
    return [(index, LEVEL_METHODS[method](index, n, critical)[0]) for index in boundaries(n)]


def crossing(method: str, n: int, critical: float) -> float:
    """Return an upper bound on the probability that a constraint fails."""
    return sum(
        _core.crossing_probability(n, index, *LEVEL_METHODS[method](index, n, critical))[0]
        for index in boundaries(n)
    )


def solve(method: str, n: int, miss: float) -> float:
    """Return the critical value of the band: from the shipped table or by root finding."""
    shipped = _table()[method].get(repr(miss), {}).get(str(n))
    return search(method, n, miss) if shipped is None else float(shipped)


def search(method: str, n: int, miss: float) -> float:
    """Find where the crossing probability equals the miss, in logarithms, from the safe side.

    The logarithm of the probability is nearly linear in that of the level (for Berk-Jones, in the
    threshold), with a slope near one: the secant takes three or four steps. Where rounding
    dominates, the search ends on its safe side.
    """
    allowed = miss * (1.0 - FAR_SHARE) if n > 2 * ENDS else miss
    aim = math.log(allowed) + math.log1p(-_SLACK)

    def value_of(x: float) -> float:
        return -x if method == "berk-jones" else math.exp(x)

    def excess(x: float) -> float:
        probability = crossing(method, n, value_of(x))
        return math.log(probability) - aim if probability > 0.0 else -math.inf

    low, high, shortfall = -math.inf, math.inf, math.inf
    x, slope = _start(method, n, miss), 1.0
    value = excess(x)
    for step in range(60):
        if abs(value) <= _SLACK / 2:
            return value_of(x)
        if value < 0.0:
            low, shortfall = x, -value
        else:
            high = x
        if step >= 6 and shortfall < 1e-8:
            return value_of(low)
        after = x + min(2.0, max(-2.0, -value / slope))
        if not low < after < high or (step >= _SECANTS and high - low < math.inf):
            after = 0.5 * (low + high)
        following = excess(after)
        if following != value:
            slope = max(0.1, min(10.0, (following - value) / (after - x)))
        x, value = after, following
    if shortfall < 0.01 or high - low < 1e-9:
        return value_of(low)
    raise RuntimeError(f"no critical value found for n={n}, miss={miss!r}, method={method!r}")


def _start(method: str, n: int, miss: float) -> float:
    """Interpolate the logarithm of the table's levels, at its nearest miss, in that of n."""
    columns = _table()[method]
    nearest = min(columns, key=lambda key: abs(math.log(float(key) / miss)))
    column = {int(size): float(value) for size, value in columns[nearest].items()}
    sizes = sorted(column)
    place = min(max(1, bisect_left(sizes, n)), len(sizes) - 1)
    ends = sizes[place - 1], sizes[place]
    logs = [-column[k] if method == "berk-jones" else math.log(column[k]) for k in ends]
    share = math.log(n / ends[0]) / math.log(ends[1] / ends[0])
    between = logs[0] + min(1.0, share) * (logs[1] - logs[0])
    return min(between + math.log(miss / float(nearest)), -1e-3)


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[str, dict[str, float]]]:
    """Critical values by method, miss of one band and size (scripts/write_critical_values.py)."""
    text = resources.files("leakscore.data").joinpath("critical-values.json").read_text("utf-8")
    return dict(json.loads(text))
