"""Confidence bands around an error rate, valid at all thresholds at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit.bands.critical import FAR_SHARE, LEVEL_METHODS, algorithm, constraints, solve
from leakscore.audit.bands.levels import beta_bounds, boundaries, far_counts
from leakscore.distributions import kolmogorov
from leakscore.numeric import frozen
from leakscore.typing import Counts, Doubles

__all__ = ["BAND_METHODS", "band"]

_LARGEST = 10**12  # size, beyond which counts lose their digits
_LARGEST_KS = 10**9  # of the exact law of Kolmogorov and Smirnov
_ULP = float(np.finfo(np.float64).eps)


def _no_knots() -> Counts:
    return frozen(np.empty(0, dtype=np.int64))


def _no_values() -> Doubles:
    return frozen(np.empty(0))


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
    knots: Counts = field(default_factory=_no_knots, repr=False)
    values: Doubles = field(default_factory=_no_values, repr=False)

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
        """What the compiled core takes."""
        return self.critical, self.knots, self.values


@lru_cache(maxsize=64)
def band(method: str, n: int, miss: float) -> Band:
    """Return the band of n scores that fails with probability at most `miss` (<= 1/2); cached.

    An audit gives each of its two bands half of 1 - confidence.
    """
    if n > _LARGEST:
        raise ValueError(f"Expected n={n} in [1, {_LARGEST}] scores of one class")
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
    return Band(method, n, miss, "closed form", width)


def _kolmogorov(method: str, n: int, miss: float) -> Band:
    """The exact law of the same supremum (Birnbaum and Tingey 1951), for up to 1e9 scores.

    For more scores, Massart's bound is wider by a relative 4e-6 at most.
    """
    if n > _LARGEST_KS:
        return _massart(1.0, method, n, miss)
    width = float(kolmogorov.isf(miss, n)) * (1.0 + 8.0 * _ULP)
    return Band(method, n, miss, "exact", width)


def _bonferroni(method: str, n: int, miss: float) -> Band:
    """The union bound over all counts."""
    level = miss / n
    sets = [(index, beta_bounds(index, n, level)[0]) for index in boundaries(n)]
    words = "closed form" if sets[0][0].size == n else "closed form on a square-root grid"
    return _steps(method, n, miss, words, level, sets)


def _calibrated(method: str, n: int, miss: float) -> Band:
    """Local levels whose crossing probability is the miss (Moscovich and Nadler 2017)."""
    critical = solve(method, n, miss)
    return _steps(method, n, miss, algorithm(n), critical, constraints(method, n, critical))


def _steps(
    method: str,
    n: int,
    miss: float,
    algorithm: str,
    critical: float,
    sets: list[tuple[Counts, Doubles]],
) -> Band:
    parts = [(index - 1, bounds) for index, bounds in sets]
    if len(sets) == 2:
        parts.insert(1, far_counts(n, FAR_SHARE * miss))
    parts.append((np.array([n]), np.array([1.0])))
    knots = np.concatenate([counts for counts, _ in parts])
    bounds = np.concatenate([bounds for _, bounds in parts])
    # The bound of a count is also a bound of all smaller counts.
    values = np.minimum.accumulate(bounds[::-1])[::-1].copy()
    return Band(method, n, miss, algorithm, critical, frozen(knots), frozen(values))


_MAKERS: dict[str, Callable[[str, int, float], Band]] = {
    "dkw": partial(_massart, 1.0),
    "dkw-two-sided": partial(_massart, 2.0),
    "ks": _kolmogorov,
    "bonferroni": _bonferroni,
    **dict.fromkeys(LEVEL_METHODS, _calibrated),
}
BAND_METHODS = tuple(_MAKERS)
