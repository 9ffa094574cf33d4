"""The laws of a squared length, chi-square and noncentral chi-square, and their difference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leakscore.distributions import chi2, ncx2
from leakscore.numeric import falling_root
from leakscore.tradeoff.families.hyperbolic import log_cosh
from leakscore.typing import Doubles

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NEAR = 0.7  # log of the ratio of two tails, up to which their difference is integrated
_FLAT = 1e-3  # size of the likelihood ratio's expansion variable, up to which it is used


class Tails(NamedTuple):
    """Logs of both laws' tails beyond and below a point, and the mass that moves across it."""

    log_alpha: Doubles  # beyond, without the record
    log_power: Doubles  # beyond, with it
    log_spared: Doubles  # below, without it
    log_beta: Doubles  # below, with it
    moved: Doubles  # power - alpha = spared - beta

    @property
    def alpha(self) -> Doubles:
        return np.exp(self.log_alpha)

    @property
    def beta(self) -> Doubles:
        return np.exp(self.log_beta)

    def _sides(self, swapped: bool) -> tuple[Doubles, Doubles]:
        """Return logs of what an accusation gains and what it costs."""
        if swapped:
            return self.log_spared, self.log_beta
        return self.log_power, self.log_alpha

    def log_delta(self, epsilon: Doubles, swapped: bool) -> tuple[Doubles, Doubles]:
        """Return logs of the gain less e^epsilon times the cost, and of that second term."""
        gain, cost = self._sides(swapped)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            paid = np.where(np.isneginf(cost), -np.inf, epsilon + cost)
            near = self.moved - np.expm1(epsilon) * np.exp(cost)
            # Beyond, the point is the end of the search, not the cut of this epsilon: delta is 0.
            close = (gain - cost < _NEAR) & np.isfinite(cost) & (epsilon < 1.0)
            far = gain + np.log(-np.expm1(np.minimum(paid - gain, 0.0)))
            kept = np.where(close, np.log(np.maximum(near, 0.0)), far)
        return np.where(np.isneginf(gain), -np.inf, kept), paid

    def delta(self, epsilon: Doubles, swapped: bool) -> Doubles:
        """Return the gain less e^epsilon times the cost."""
        return np.exp(self.log_delta(epsilon, swapped)[0])

    def epsilon(self, delta: Doubles, swapped: bool) -> Doubles:
        """Return log((gain - delta)/cost)."""
        gain, cost = self._sides(swapped)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            near = np.log1p((self.moved - delta) / np.exp(cost))
            far = gain + np.log1p(-np.minimum(delta / np.exp(gain), 1.0)) - cost
            return np.where(gain - cost < _NEAR, near, far)


def tails(point: Doubles, mu: Doubles, dims: Doubles) -> Tails:
    """Evaluate both laws at a squared length; all of one shape."""
    square = mu * mu
    log_alpha, log_spared = chi2.logsf(point, dims), chi2.logcdf(point, dims)
    log_power, log_beta = ncx2.logsf(point, dims, square), ncx2.logcdf(point, dims, square)
    with np.errstate(invalid="ignore", under="ignore"):
        above = log_power - log_alpha < _NEAR
        below = log_spared - log_beta < _NEAR
        direct = np.where(
            log_alpha < log_spared,
            np.exp(log_power) - np.exp(log_alpha),
            np.exp(log_spared) - np.exp(log_beta),
        )
    moved = np.array(direct)
    close = np.array(above & below)
    if close.any():
        moved[close] = _moved(point[close], mu[close], dims[close])
    return Tails(log_alpha, log_power, log_spared, log_beta, moved)


def _moved(point: Doubles, mu: Doubles, dims: Doubles) -> Doubles:
    """Integrate d/dk S_d(x; k) = f_{d+2}(x; k), k = u^2, over u from 0 to mu."""
    total = np.zeros(point.shape)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        shift = 0.5 * (1.0 + node) * mu
        total += weight * shift * mu * ncx2.pdf(point, dims + 2.0, shift * shift)
    return total


def log_ratio(point: Doubles, mu: Doubles, dims: Doubles) -> tuple[Doubles, Doubles]:
    """Return the log-likelihood ratio of a squared length y, and its derivative by y.

    It is -mu^2/2 + log 0F1(; d/2; mu^2 y/4), and the derivative (mu^2/2y) f_{d+2}/f_d.
    """
    square = mu * mu
    half = 0.5 * dims
    step = 0.25 * square * point / half
    line = dims == 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # log(1 + z/b + ...) by powers of z/b, b = d/2: the next term is of the order step^3.
        second = step / (2.0 * (half + 1.0))
        third = step * step * 2.0 / (3.0 * (half + 1.0) * (half + 2.0))
        series = step * (1.0 - second + third) - 0.5 * square
        slope = 0.25 * square / half * (1.0 - 2.0 * second + 3.0 * third)
        near = step < _FLAT
        if (near | line).all():
            dense = grade = np.zeros(())
        else:
            log_density = ncx2.logpdf(point, dims, square)
            dense = log_density - chi2.logpdf(point, dims)
            grade = (
                0.5 * square / point * np.exp(ncx2.logpdf(point, dims + 2.0, square) - log_density)
            )
        length = np.sqrt(point)
        at = mu * length
        ratio = np.where(near, series, np.where(line, log_cosh(at) - 0.5 * square, dense))
        bend = np.where(line, 0.5 * mu * np.tanh(at) / length, grade)
        return ratio, np.where(near, slope, bend)


def cut(epsilon: Doubles, mu: Doubles, dims: Doubles) -> Doubles:
    """Return the squared length at which the log-likelihood ratio is epsilon; 0 if it never is.

    Results are stationary at this length, so an error of it enters them only squared.
    """
    square = mu * mu
    level = epsilon + 0.5 * square  # log 0F1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # acosh(e^level) = level + log(1 + sqrt(1 - e^(-2 level))), or 2 asinh(sqrt((e^level-1)/2))
        near = 2.0 * np.arcsinh(np.sqrt(0.5 * np.expm1(np.clip(level, 0.0, 1.0))))
        far = level + np.log1p(np.sqrt(-np.expm1(-2.0 * np.maximum(level, 1.0))))
        closed = (np.where(level < 1.0, near, far) / mu) ** 2
        least = np.maximum(2.0 * dims * level / square, 0.0)  # log 0F1(; b; z) <= z/b
        most = (np.sqrt(dims) + mu + 64.0) ** 2  # nothing beyond: S_d is at most e^(-64^2/2) there
    if (dims == 1.0).all():
        return np.where(level > 0.0, closed, 0.0)
    usual = (level > 0.0) & (least < most) & (dims > 1.0)
    start = np.where(usual, least, 1.0)
    aim = np.where(usual, epsilon, 0.0)

    def gap(y: Doubles) -> tuple[Doubles, Doubles]:
        ratio, slope = log_ratio(y, mu, dims)
        return np.where(usual, aim - ratio, 0.0), -slope

    low, high = start, np.where(usual, 1.25 * start, start)
    while (short := usual & (high < most) & (gap(high)[0] > 0.0)).any():
        low, high = np.where(short, high, low), np.where(short, 1.5 * high, high)
    root = falling_root(gap, low, high)
    usual_or_line = np.where(dims == 1.0, closed, np.where(usual, root, most))
    return np.where(level > 0.0, usual_or_line, 0.0)


def straight(point: Doubles, dims: Doubles, square: Doubles) -> Doubles:
    """Whether the likelihood ratio has its last value, e^(-mu^2/2), to the last digit.

    The probability of short lengths underflows long before their square does.
    """
    return np.asarray(point * (1.0 + square) < 1e-20 * dims)
