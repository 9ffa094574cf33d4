"""Confidence bands around an error rate, valid at all thresholds at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore._validate import Doubles
from leakscore.audit._levels import beta_bounds, indexes

__all__ = ["BAND_METHODS", "Band", "band"]

Counts = npt.NDArray[np.int64]

_ULP = float(np.finfo(np.float64).eps)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def _no_knots() -> Counts:
    return _frozen(np.empty(0, dtype=np.int64))


def _no_values() -> Doubles:
    return _frozen(np.empty(0))


@dataclass(frozen=True, eq=False)
class Band:
    """Upper confidence bounds A(k) on an error rate, given k errors of n, valid at all thresholds.

    Either linear, ``A(k) = k/n + width``, or a step function: the value of the first knot that is
    at least k. A(n) = 1.

    Attributes
    ----------
    method : str
        As `Audit.epsilon` takes it.
    n : int
        Number of scores of the class.
    miss : float
        Probability, at most, with which any of the bounds is too small.
    algorithm : str
        How the critical value was found.
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

        They are as certain as the upper bounds, but not together with them: errors and non-errors
        swap their roles, so that a band of both sides costs the sum of two misses.
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

    An audit of a confidence gives each of its two bands half of what it may miss.
    """
    return _MAKERS[method](method, n, miss)


def _massart(sides: float, method: str, n: int, miss: float) -> Band:
    """Massart (1990): P(sup (rate - k/n) > t) <= exp(-2 n t^2), twice that for both sides."""
    width = math.sqrt(math.log(sides / miss) / (2.0 * n))
    return Band(method, n, miss, "closed form", width)


def _kolmogorov(method: str, n: int, miss: float) -> Band:
    """The exact law of the same supremum (Birnbaum and Tingey 1951), for up to 1e9 scores.

    For more, Massart's bound is wider by 4e-6 of itself at most.
    """
    from leakscore.distributions import kolmogorov

    if n > 10**9:
        return _massart(1.0, method, n, miss)
    width = float(kolmogorov.isf(miss, n)) * (1.0 + 8.0 * _ULP)
    return Band(method, n, miss, "exact", width)


def _bonferroni(method: str, n: int, miss: float) -> Band:
    """The union bound over all counts."""
    return _steps(method, n, miss, "closed form", miss / n, miss / n)


def _steps(
    method: str, n: int, miss: float, algorithm: str, critical: float, levels: Doubles | float
) -> Band:
    index = indexes(n)
    if index.size < n:
        algorithm += " on a square-root grid"
    knots = np.append(index - 1, n)
    values = np.append(beta_bounds(index, n, levels), 1.0)
    return Band(method, n, miss, algorithm, critical, _frozen(knots), _frozen(values))


_MAKERS: dict[str, Callable[[str, int, float], Band]] = {
    "dkw": partial(_massart, 1.0),
    "dkw-two-sided": partial(_massart, 2.0),
    "ks": _kolmogorov,
    "bonferroni": _bonferroni,
}
BAND_METHODS = tuple(_MAKERS)
