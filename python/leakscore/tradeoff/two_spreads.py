"""Two normal laws of different spreads, by the squared distance from a point."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from leakscore.distributions import ncx2
from leakscore.numeric import gauss_panels
from leakscore.tradeoff.curve import TradeOff, require_one
from leakscore.tradeoff.family import aligned
from leakscore.tradeoff.shapes import Hull, OneStatistic
from leakscore.typing import Doubles, Flags

_NEAR = 0.3  # log of power over alpha, up to which the difference is integrated
_CLOSE = 0.03  # delta over power
_DROP = 45.0  # of the log of a tail, beyond which it adds no digit
_SHARES, _WEIGHTS = gauss_panels(np.arange(8) / 8.0, np.full(8, 1.0 / 8.0), 10)
_TILE = 1024  # points whose nodes are evaluated together


class Narrower(OneStatistic):
    """Two normal laws, the one with the record narrower, by the squared distance S from a point.

    About it the likelihood ratio falls alike on all sides. In units of either variance S has a
    noncentral chi-square law, whose noncentralities are in proportion to the variances' inverses.
    """

    __slots__ = ()
    _low = True

    @abstractmethod
    def _laws(self) -> tuple[Doubles, Doubles, Doubles]:
        """Give dimensions, noncentrality without the record, and both variances' ratio less 1."""

    def _hypothesis(self, member: bool, like: Doubles) -> tuple[Any, ...]:
        dims, centre, gap = (aligned(number, like) for number in self._laws())
        return ncx2, dims, centre / (1.0 + gap) if member else centre

    def _moved(self, statistic: Doubles, like: Doubles) -> Doubles:
        grown = 1.0 + aligned(self._laws()[2], like)
        return statistic / grown if self._reversed else statistic * grown

    def _most(self) -> Doubles:
        """Return the largest log-likelihood ratio of H1 to H0, at S = 0."""
        dims, centre, gap = self._laws()
        return np.asarray(0.5 * (centre * (gap / (1.0 + gap)) + dims * np.log1p(gap)))

    def _cuts(self, ratio: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        gap = aligned(self._laws()[2], like)
        with np.errstate(over="ignore"):
            cut = 2.0 * np.maximum(aligned(self._most(), like) - ratio, 0.0) / gap
            return cut, cut * (1.0 + gap)

    def _falls(self, cut: Doubles, ratio: Doubles, chosen: Flags, like: Doubles) -> Doubles:
        """Return the tail's log and `_fall` at S = cut, where H1 to H0 is e^ratio; or NaN.

        Of small S where the ratio is at least 0, of large S elsewhere: delta of either is small.
        """
        given = cut, ratio, chosen, *(aligned(number, like) for number in self._laws())
        cut, ratio, chosen, *laws = np.broadcast_arrays(*given)
        falls = np.full((2, *cut.shape), np.nan)
        for below in (True, False):
            here = chosen & ((ratio >= 0.0) == below) & (cut > 0.0)
            if here.any():
                falls[:, here] = _fall(below, cut[here], *(law[here] for law in laws))
        return falls

    def _growth(self, function: str, value: Doubles, alpha: Doubles) -> Doubles:
        """Return power over alpha less 1, as a sum of positive terms; NaN where it is not small.

        With delta at the slope of this alpha the power is delta + e^epsilon alpha.
        """
        statistic, gap = self._law(False, function, value, value), aligned(self._laws()[2], value)
        cut = statistic / (1.0 + gap) if self._reversed else statistic
        ratio = np.asarray(aligned(self._most(), value) - 0.5 * gap * cut)
        _, fall = self._falls(cut, ratio, np.abs(ratio) < _NEAR, value)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            size = np.abs(ratio) + np.log1p(fall)
            missed = -np.expm1(-size) * ((1.0 - alpha) / alpha)
            growth = np.where((ratio >= 0.0) != self._reversed, np.expm1(size), missed)
            return np.where(size < _NEAR, growth, np.nan)

    def _beta(self, alpha: Doubles) -> Any:
        beta = 1.0 - alpha - alpha * self._growth("isf", alpha, alpha)
        return np.where(np.isnan(beta), super()._beta(alpha), beta)[()]

    def _power(self, alpha: Doubles) -> Any:
        power = alpha + alpha * self._growth("isf", alpha, alpha)
        return np.where(np.isnan(power), super()._power(alpha), power)[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        growth = self._growth("ilogsf", log_alpha, np.exp(log_alpha))
        usual = super()._log_power(log_alpha)
        return np.where(np.isnan(growth), usual, log_alpha + np.log1p(growth))[()]

    def _profile(self, epsilon: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        delta, rest = super()._profile(epsilon, like)
        cut, moved = self._cut(epsilon, like)
        least = np.minimum(self._law(True, "sf", moved, like), self._law(False, "cdf", cut, like))
        ratio = -epsilon if self._reversed else epsilon
        cut, close = self._cuts(ratio, like)[0], delta < _CLOSE * least
        log_tail, fall = self._falls(cut, ratio, close, like)
        with np.errstate(over="ignore", under="ignore"):
            paid = np.exp(np.maximum(epsilon, 0.0) + log_tail)
            gained = -np.expm1(np.minimum(epsilon, 0.0)) + paid * fall
        return np.where(np.isnan(fall), delta, gained), rest

    def _symmetrized(self) -> TradeOff[Any]:
        require_one(self, "take the hull of each")
        wide = self if self._reversed else self._inverse()  # the larger delta at large epsilons
        return Hull(wide._inverse(), wide, float(self._most()))


def _fall(below: bool, cut: Doubles, dims: Doubles, centre: Doubles, gap: Doubles) -> Doubles:
    """Return the log of the tail at S = cut that pays, and what accusing it gains over that.

    Delta is the integral of e^t alpha(t) over the log ratios t > epsilon, here over sqrt(S); the
    gain is delta over e^epsilon alpha. Small S pay without the record, large S with it.
    """
    if len(cut) > _TILE:
        split = [np.array_split(a, 1 + len(a) // _TILE) for a in (cut, dims, centre, gap)]
        return np.concatenate([_fall(below, *part) for part in zip(*split, strict=True)], axis=-1)
    tail, grown = ("logcdf", np.ones(gap.shape)) if below else ("logsf", 1.0 + gap)
    log_tail = getattr(ncx2, tail)(grown * cut, dims, centre / grown)
    last = getattr(ncx2, f"i{tail}")(log_tail - _DROP, dims, centre / grown)
    start, end = np.sqrt(cut), np.sqrt(last / grown)
    grown, dims, centre = (a[:, np.newaxis] for a in (grown, dims, centre / grown))
    v = start[:, np.newaxis] + np.multiply.outer(end - start, _SHARES)
    moved = np.abs(v - start[:, np.newaxis]) * (v + start[:, np.newaxis])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        log_terms = getattr(ncx2, tail)(grown * v * v, dims, centre) - log_tail[:, np.newaxis]
        terms = np.exp(log_terms + 0.5 * gap[:, np.newaxis] * moved) * v
    return np.array([log_tail, gap * np.abs(end - start) * (terms @ _WEIGHTS)])
