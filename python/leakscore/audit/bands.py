"""Confidence bands around an error rate, valid at all thresholds at once.

The error rate above a threshold with k errors exceeds A(k) only if the order statistic U_(k+1)
of n uniform variables exceeds it. So a band is a set of constraints U_(i) <= c_i, and A(k) is c_i
for the first constrained index i > k. It stays exactly valid if constraints are left out. The
critical value is the local level at which the constraints fail with exactly the given probability.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import kolmogorov
from leakscore.numeric import frozen
from leakscore.typing import Array, Counts, Doubles

__all__ = ["BAND_METHODS", "ENDS", "band"]

ALL_INDEXES = 20_000  # samples up to this size have every index constrained
ENDS = 100_000  # of samples larger than twice this, only so many indexes at each end are

_SPACING = 0.1  # of constrained indexes, in standard deviations of the order statistic
_FAR_SPACING = 0.2, 5e-4  # of counts between the ends: the same, and relative to the nearer end
_BLOCK = 1.25  # ratio of the rates at which neighbouring maximal inequalities begin


FAR_SHARE = 0.01  # share of the miss for the counts between the ends of very large samples
# The target of the crossing probability is below the allowed one by this relative amount, and the
# result is below it by at least half of it: more than the rounding of bounds and probability.
_SLACK = 2e-12
_SECANTS = 20  # steps, after which bisection takes over
_LARGEST = 10**12  # size, beyond which counts lose their digits
_LARGEST_KS = 10**9  # of the exact law of Kolmogorov and Smirnov
_ULP = float(np.finfo(np.float64).eps)


def grid_to(n: int, last: int) -> Counts:
    """Return the constrained indexes from 1 to `last`: all, or a square-root grid."""
    if n <= ALL_INDEXES:
        return np.arange(1, last + 1, dtype=np.int64)
    indexes = [1]
    while (i := indexes[-1]) < last:
        deviation = math.sqrt(i * ((n - i) / n))
        indexes.append(min(last, i + max(1, math.floor(_SPACING * deviation))))
    return np.array(indexes, dtype=np.int64)


@lru_cache(maxsize=8)
def boundaries(n: int) -> tuple[Counts, ...]:
    """Return the sets of constrained indexes: one for all, or those of the two ends; cached."""
    if n <= 2 * ENDS:
        sets: tuple[Counts, ...] = (indexes(n),)
    else:
        lower = grid_to(n, ENDS)
        sets = (lower, (n + 1 - lower)[::-1].copy())
    for index in sets:
        index.flags.writeable = False
    return sets


def indexes(n: int) -> Counts:
    """Return all indexes, or a symmetric square-root grid of them."""
    lower = grid_to(n, n if n <= ALL_INDEXES else (n + 1) // 2)
    return np.union1d(lower, n + 1 - lower)


def beta_bounds(index: Counts, n: int, level: Doubles | float) -> tuple[Doubles, Doubles]:
    """Return the (1 - level)-quantiles of Beta(i, n + 1 - i), rounded up, and their complements.

    The complements are relatively exact where they are small.
    """
    levels = np.full(index.size, level)
    upper, rest = _core.clopper_pearson(
        (index - 1).astype(np.float64), np.full(index.size, float(n)), levels, 1.0 - levels, True
    )
    return np.maximum.accumulate(upper), np.minimum.accumulate(rest)


def far_counts(n: int, miss: float) -> tuple[Counts, Doubles]:
    """Return counts between the two ends and upper bounds that miss with probability `miss`.

    With N(t) of n uniform variables up to t, N(t)/t is a reverse martingale, so that Doob's
    inequality extends Chernoff's bound from t = a to all t >= a at once:
    ``P(N(t) <= x n t for some t >= a) <= exp(-n KL(a x, a))``. A few such inequalities, from rates
    a that grow geometrically, bound all rates from below the middle; above, they bound the shares
    1 - N(t)/n of the complement.
    """
    counts = [ENDS]
    while (k := counts[-1]) < n // 2:
        deviation = math.sqrt(k * ((n - k) / n))
        counts.append(k + max(1, math.floor(max(_FAR_SPACING[0] * deviation, _FAR_SPACING[1] * k))))
    lower = np.array(counts[1:], dtype=np.int64)
    number = math.ceil(math.log(n / 2 / ENDS) / math.log(_BLOCK)) + 2
    begin: Doubles = np.float64(ENDS / n) * _BLOCK ** np.arange(-1.0, number - 1.0)
    exponent = math.log(2 * number / miss) * (1.0 + 1e-9)
    lower_rates = _chernoff(n, begin, exponent, 0.0 * begin)
    upper = _chernoff(n, begin, exponent, np.minimum(1.0, 9.0 * begin))
    bounds, mirrored = np.ones(lower.size), np.zeros(lower.size)
    share = lower / n
    for a, low, high in zip(begin, lower_rates, upper, strict=True):
        # N(t)/t > n low/a for t >= a, and t < a does not affect an upper bound.
        bounds = np.minimum(bounds, np.maximum(a, share * (a / low)))
        # 1 - N(1 - s) < n high s/a for s >= a, and no more than n high below.
        mirrored = np.maximum(mirrored, np.where(share > high, share * (a / high), 0.0))
    margin = 1e-14  # far more than three roundings; the difference is rounded once more
    rest = np.nextafter(1.0 - mirrored * (1.0 - margin), 2.0)
    knots = np.concatenate([lower, (n - lower)[::-1]])
    values = np.concatenate([bounds * (1.0 + margin), rest[::-1]])
    order = np.argsort(knots, kind="stable")
    return knots[order], np.minimum(1.0, values[order])


def _chernoff(n: int, rate: Doubles, exponent: float, far: Doubles) -> Doubles:
    """Solve n KL(x, rate) = exponent for x between `far` and rate; return the bracket's far end."""
    near = rate
    for _ in range(200):
        middle = 0.5 * (far + near)
        inner = middle * np.log(middle / rate)
        outer = (1.0 - middle) * (np.log1p(-middle) - np.log1p(-rate))
        inside = n * (inner + outer) < exponent
        far, near = np.where(inside, far, middle), np.where(inside, middle, near)
    return np.asarray(far)


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
    """Return the critical value whose crossing probability equals the miss, from the safe side.

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
    x, slope = _start_point(method, n, miss), 1.0
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
        candidate = x + min(2.0, max(-2.0, -value / slope))
        if not low < candidate < high or (step >= _SECANTS and high - low < math.inf):
            candidate = 0.5 * (low + high)
        candidate_value = excess(candidate)
        if candidate_value != value:
            slope = max(0.1, min(10.0, (candidate_value - value) / (candidate - x)))
        x, value = candidate, candidate_value
    if shortfall < 0.01 or high - low < 1e-9:
        return value_of(low)
    raise RuntimeError(f"no critical value found for n={n}, miss={miss!r}, method={method!r}")


def _start_point(method: str, n: int, miss: float) -> float:
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


@dataclass(frozen=True, eq=False)
class Band:
    """Upper confidence bounds A(k) on an error rate, given k errors of n, valid at all thresholds.

    Either linear, ``A(k) = k/n + width``, or a step function: the value of the first knot that is
    at least k. A(n) = 1.

    Attributes
    ----------
    method : str
        As in `Audit.epsilon`.
    n : int
        Number of scores of the class.
    miss : float
        Upper bound on the probability that any of the bounds is too small.
    algorithm : str
        How the critical value was computed.
    critical : float
        Half-width of a linear band, otherwise the local level; see `critical_value`.
    knots, values : ndarray
        Of a step function, ascending; the last knot is n. Empty for a linear band.
    """

    method: str
    n: int
    miss: float
    algorithm: str
    critical: float
    knots: Counts = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    values: Doubles = field(default_factory=lambda: np.empty(0), repr=False)

    def __call__(self, counts: npt.ArrayLike) -> Doubles:
        """Return the upper bounds on the rate, rounded up."""
        errors = np.asarray(counts)
        if self.knots.size:
            return np.asarray(self.values[np.searchsorted(self.knots, errors)])
        rates = (errors * (1.0 / self.n) + self.critical) * (1.0 + 4.0 * _ULP)
        return np.asarray(np.minimum(1.0, rates))

    def lower(self, counts: npt.ArrayLike) -> Doubles:
        """Return the lower bounds of the mirrored band, ``L(k) = 1 - A(n - k)``, rounded down.

        They are as certain as the upper bounds, but not jointly with them: errors and non-errors
        swap their roles, so a band of both sides costs the sum of two misses.
        """
        upper = self(self.n - np.asarray(counts))
        return np.asarray(np.maximum(0.0, (1.0 - upper) * (1.0 - _ULP)))

    @property
    def core(self) -> tuple[float, Counts, Doubles]:
        """Arguments of the compiled core."""
        return self.critical, self.knots, self.values


@lru_cache(maxsize=64)
def band(method: str, n: int, miss: float) -> Band:
    """Return the band of n scores that fails with probability at most `miss` (<= 1/2); cached.

    An audit gives each of its two bands half of 1 - confidence.
    """
    if n > _LARGEST:
        raise ValueError(f"n={n} must be in [1, {_LARGEST}] scores of one class")
    return _MAKERS[method](method, n, miss)


def critical_value(n: int, confidence: float = 0.95, method: str = "weighted-ell") -> float:
    """Return the critical value of the band that `Audit.epsilon` puts around an error rate.

    Parameters
    ----------
    n : int
        Number of scores of the class, up to 1e12.
    confidence : float
        Of the audit, in (0, 1): each of its two one-sided bands may miss with probability
        ``(1 - confidence) / 2``.
    method : str
        As in `Audit.epsilon`; only methods that are bands.

    Returns
    -------
    float
        "weighted-ell": eta, where the bound for k errors is the (1 - eta / sqrt(k + 1))-quantile
        of Beta(k + 1, n - k); "ell": the same with eta alone; "bonferroni": the same with
        ``(1 - confidence) / (2 n)``. "berk-jones": t, where it is the largest rate u with
        n KL(k/n, u) <= t. "dkw", "dkw-two-sided", "ks": the width added to k/n.

    Raises
    ------
    ValueError
        If an argument is outside its range; the message names all methods.
    TypeError
        If one of them has the wrong type.

    Notes
    -----
    The crossing probability of the exact bounds is never above the allowed one, and within a
    relative 1e-8 of it, at any confidence. (A band rounds the bounds up, so it fails less often.)
    Values are kept for later calls; those of common sizes and confidences come with the package.

    Up to 20 000 scores every count is constrained. Up to 200 000 scores a grid of counts is
    constrained, a tenth of a standard deviation apart, which is as certain and a little wider. For
    larger samples the lowest and the highest 100 000 counts are constrained, on the same grid; the
    counts between have Chernoff bounds, extended to all rates at once by Doob's inequality for the
    reverse martingale of the empirical rate over the rate, with a hundredth of the miss.

    References
    ----------
    Berk and Jones, "Goodness-of-fit test statistics that dominate the Kolmogorov statistics"
    (1979); Moscovich and Nadler, "Fast calculation of boundary crossing probabilities for Poisson
    processes" (2017): "ell" is their M_n, here with a heavier weight on the tail by default.

    Examples
    --------
    >>> from leakscore.audit import critical_value
    >>> print(f"{critical_value(1000):.5e} {critical_value(1000, 0.95, 'dkw'):.6f}")
    4.84619e-03 0.042947
    """
    size = validation.count("n", n, 1)
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    validation.choice("method", method, BAND_METHODS)
    return band(method, size, (1.0 - level) / 2.0).critical


def _massart(sides: float, method: str, n: int, miss: float) -> Band:
    """Massart (1990): P(sup (rate - k/n) > t) <= exp(-2 n t^2), twice that for both sides."""
    width = math.sqrt(math.log(sides / miss) / (2.0 * n))
    return Band(method, n, miss, "closed form", critical=width)


def _kolmogorov(method: str, n: int, miss: float) -> Band:
    """The exact law of the same supremum (Birnbaum and Tingey 1951), for up to 1e9 scores.

    For more scores, Massart's bound is wider by a relative 4e-6 at most.
    """
    if n > _LARGEST_KS:
        return _massart(1.0, method, n, miss)
    width = float(kolmogorov.isf(miss, n)) * (1.0 + 8.0 * _ULP)
    return Band(method, n, miss, "exact", critical=width)


def _bonferroni(method: str, n: int, miss: float) -> Band:
    """The union bound over all counts."""
    level = miss / n
    sets = [(index, beta_bounds(index, n, level)[0]) for index in boundaries(n)]
    words = "closed form" if sets[0][0].size == n else "closed form on a square-root grid"
    knots, values = _steps(n, miss, sets)
    return Band(method, n, miss, words, critical=level, knots=knots, values=values)


def _calibrated_band(method: str, n: int, miss: float) -> Band:
    """Local levels whose crossing probability is the miss (Moscovich and Nadler 2017)."""
    critical = solve(method, n, miss)
    knots, values = _steps(n, miss, constraints(method, n, critical))
    return Band(method, n, miss, algorithm(n), critical=critical, knots=knots, values=values)


def _steps(n: int, miss: float, sets: list[tuple[Counts, Doubles]]) -> tuple[Counts, Doubles]:
    """Return knots and values of a band from its constraints."""
    parts = [(index - 1, bounds) for index, bounds in sets]
    if len(sets) == 2:
        parts.insert(1, far_counts(n, FAR_SHARE * miss))
    parts.append((np.array([n]), np.array([1.0])))
    knots = np.concatenate([counts for counts, _ in parts])
    bounds = np.concatenate([bounds for _, bounds in parts])
    # The bound of a count is also a bound of all smaller counts.
    values = np.minimum.accumulate(bounds[::-1])[::-1].copy()
    return frozen(knots), frozen(values)


_MAKERS: dict[str, Callable[[str, int, float], Band]] = {
    "dkw": partial(_massart, 1.0),
    "dkw-two-sided": partial(_massart, 2.0),
    "ks": _kolmogorov,
    "bonferroni": _bonferroni,
    **dict.fromkeys(LEVEL_METHODS, _calibrated_band),
}
BAND_METHODS = tuple(_MAKERS)


class Frontier(NamedTuple):
    """Thresholds, ascending, such that no other is better in both upper bounds.

    Any objective that decreases in both bounds is largest at one of them. A threshold flags
    ``score > threshold``; an entry is an observed score or -inf.
    """

    threshold: Doubles
    false_positives: Counts
    false_negatives: Counts
    fpr_upper: Doubles
    fnr_upper: Doubles


def frontier(nonmembers: Array, members: Array, fpr_band: Band, fnr_band: Band) -> Frontier:
    """Return the frontier; the arrays are sorted, of one dtype and not empty."""
    if fpr_band.knots.size and fnr_band.knots.size:
        columns = _core.score_frontier(nonmembers, members, fpr_band.core, fnr_band.core)
        return Frontier(*columns)
    return _members_frontier(nonmembers, members, fpr_band, fnr_band)


def _members_frontier(
    nonmembers: Array, members: Array, fpr_band: Band, fnr_band: Band
) -> Frontier:
    """Return the frontier of bands without knots, with thresholds just below members' scores.

    Such a threshold flags the fewest non-members for its number of missed members. Among members
    between the same two non-members only the first is a candidate, and nothing lies below -inf. The
    last candidate flags no score.
    """
    lowest = int(np.searchsorted(members, -np.inf, side="right"))
    ranks = np.append(np.searchsorted(nonmembers, members[lowest:]), nonmembers.size)
    first = np.flatnonzero(np.diff(ranks, prepend=-1))
    ranks, missed = ranks[first], first + lowest
    threshold = np.maximum(
        np.where(ranks > 0, nonmembers[ranks - 1], -np.inf),
        np.where(missed > 0, members[missed - 1], -np.inf),
    )
    flagged = nonmembers.size - ranks
    rates = fpr_band(flagged), fnr_band(missed)
    return Frontier(threshold.astype(np.float64) + 0.0, flagged, missed, *rates)  # no -0.0
