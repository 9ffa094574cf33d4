"""What one step of a mechanism releases: the laws of the log-likelihood ratio, member or not.

A step releases x of density q(x) under H0: the record is not in the data. Under H1 the record is in
this step's batch with probability `rate`, so the density is q(x) (1 + rate (r(x) - 1)), with r the
likelihood ratio of a step whose batch holds the record. r grows with x, and so does the loss
L(x) = log(1 + rate (r(x) - 1)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakscore.distributions import norm
from leakscore.tradeoff.families.hyperbolic import log_cosh
from leakscore.typing import Doubles

# Beyond 13 standard deviations a normal law has a mass of 6e-39.
_REACH, _HIDDEN = 13.0, 1e-37
_SLOW = 300.0  # the log of a growth that is far from the end of doubles


@dataclass(frozen=True)
class Step(ABC):
    """One step: the shift of a member over the noise's scale, and the rate of the sampling.

    `hidden` bounds the mass that each of both laws may have outside the support.
    """

    mu: float
    rate: float
    hidden: float = _HIDDEN

    # The largest shift whose losses are put on a lattice: the work grows with it. `caps` has bounds
    # for larger shifts.
    largest: ClassVar[float] = 1024.0

    @property
    def steep(self) -> bool:
        """Whether the ratio may vary by a large factor within a cell of the lattice."""
        return self.mu > 30.0

    @property
    def far(self) -> bool:
        """Whether the shift is too large for a lattice."""
        return self.mu > self.largest

    @property
    def unseen(self) -> float:
        """What each of both laws may have beyond the losses."""
        return self.hidden

    @property
    def shift(self) -> float:
        """How far the record moves one output over the noise."""
        return self.mu

    @property
    def distance(self) -> float:
        """A bound on the advantage of any test."""
        return self.rate * min(self.mu, 1.0)

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The range of x in which r varies, perhaps without a mass of `hidden`."""

    @property
    @abstractmethod
    def atomic(self) -> bool:
        """Whether r is constant beyond either end, which makes each end an atom."""

    @abstractmethod
    def log_density(self, x: Doubles) -> Doubles: ...

    @abstractmethod
    def log_ratio(self, x: Doubles) -> Doubles:
        """Give log r(x)."""

    @abstractmethod
    def position(self, log_ratio: Doubles) -> Doubles:
        """Give the x at which r has this value; the analytic form of r may leave the support."""

    @abstractmethod
    def rise(self, x: Doubles, width: Doubles, part: Doubles) -> tuple[Doubles, Doubles | float]:
        """Give the `rate` and the `factor` of the share: `_growth(rate, part)` times `factor`."""

    def share(self, x: Doubles, width: Doubles, part: Doubles) -> Doubles:
        """Give (r(x + part width) - r(x)) / (r(x + width) - r(x)) without the differences."""
        rate, factor = self.rise(x, width, part)
        return np.asarray(_growth(rate, part) * factor)

    def log_share(self, x: Doubles, width: Doubles, part: Doubles) -> Doubles:
        """Give the log of that, for cells over which r grows beyond the range of doubles."""
        rate, factor = self.rise(x, width, part)
        with np.errstate(under="ignore", divide="ignore"):
            curved = np.log(np.expm1(-rate * part) / np.expm1(-rate) * factor)
        return np.minimum(rate * (part - 1.0) + curved, 0.0)

    @abstractmethod
    def outside(self, low: float, high: float) -> tuple[float, float, float, float]:
        """Give logs of the masses below and above under H0, then both under H1."""

    @property
    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """E r^2 - 1 under H0, and E r(x) r(-x) - 1 (for magnitudes the same again)."""

    @property
    def log_second(self) -> float:
        """The log of rate^2 (E r^2 - 1), to leading order where that moment overflows."""
        with np.errstate(over="ignore"):
            second = self.moments[0]
        exponent = self.mu if self.atomic else self.mu * self.mu
        return 2.0 * float(np.log(self.rate)) + (
            float(np.log(second)) if second < np.inf else exponent
        )

    @property
    def span(self) -> float:
        """The largest loss less the least."""
        low, high = self.loss(np.array(self.support)).tolist()
        return float(high - low)

    def loss(self, x: Doubles) -> Doubles:
        return _loss(self.log_ratio(x), self.rate)

    def inverse_loss(self, loss: Doubles) -> Doubles:
        """Give log r at a loss."""
        if self.rate == 1.0:
            return loss
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            small = np.log1p(np.maximum(np.expm1(np.minimum(loss, 700.0)) / self.rate, -1.0))
            beyond = loss - np.log(self.rate) + np.log1p((self.rate - 1.0) * np.exp(-loss))
        return np.where((loss < 700.0) & (small < np.inf), small, beyond)


def _loss(log_ratio: Doubles, rate: float) -> Doubles:
    if rate == 1.0:
        return log_ratio
    small = np.log1p(rate * np.expm1(np.minimum(log_ratio, 700.0)))
    beyond = np.logaddexp(np.log1p(-rate), log_ratio + np.log(rate))
    return np.where(log_ratio < 700.0, small, beyond)


def _growth(rate: Doubles, part: Doubles) -> Doubles:
    """Give (e^(rate part) - 1) / (e^rate - 1)."""
    if float(np.max(rate, initial=0.0)) < _SLOW:
        return np.asarray(np.expm1(rate * part) / np.expm1(rate))
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(rate * (part - 1.0)) * (np.expm1(-rate * part) / np.expm1(-rate)))


def _mixed(without: float, within: float, rate: float) -> float:
    """Give the log of (1 - rate) e^other + rate e^own."""
    if rate == 1.0:
        return within
    return float(np.logaddexp(np.log1p(-rate) + without, np.log(rate) + within))


def _log_normal_tail(x: float) -> float:
    """Give the log of the mass above x of a standard normal law."""
    return float(norm.logsf(x))


def _reach(mass: float) -> float:
    """Give a number of standard deviations beyond which a normal law has at most this mass."""
    return _REACH if mass < _HIDDEN else float(norm.isf(mass))


def _highest(step: Step) -> float:
    """Give the x above which the noise, or the record's law, has a quarter of `hidden`."""
    part = 0.25 * step.hidden
    return max(_reach(part), step.mu + _reach(min(part / step.rate, 0.5)))


class GaussianStep(Step):
    """N(0, 1) against (1 - rate) N(0, 1) + rate N(mu, 1): the attacker knows the gradient."""

    atomic = False

    @property
    def support(self) -> tuple[float, float]:
        return -_reach(0.5 * self.hidden), _highest(self)

    @property
    def moments(self) -> tuple[float, float]:
        square = self.mu * self.mu
        return float(np.expm1(square)), float(np.expm1(-square))

    def log_density(self, x: Doubles) -> Doubles:
        return np.asarray(-0.5 * x * x - 0.5 * np.log(2.0 * np.pi))

    def log_ratio(self, x: Doubles) -> Doubles:
        return self.mu * (x - 0.5 * self.mu)

    def position(self, log_ratio: Doubles) -> Doubles:
        return log_ratio / self.mu + 0.5 * self.mu

    def rise(self, _x: Doubles, width: Doubles, _part: Doubles) -> tuple[Doubles, float]:
        return self.mu * width, 1.0

    def outside(self, low: float, high: float) -> tuple[float, float, float, float]:
        below, above = _log_normal_tail(-low), _log_normal_tail(high)
        member_below, member_above = (
            _log_normal_tail(self.mu - low),
            _log_normal_tail(high - self.mu),
        )
        return (
            below,
            above,
            _mixed(below, member_below, self.rate),
            _mixed(above, member_above, self.rate),
        )


@dataclass(frozen=True)
class AllocatedSteps(GaussianStep):
    """An attacker's view of one of `slots` steps, `hits` of which hold the record.

    The loss is that of a step sampled at the rate hits / slots, and is rounded alike in all steps.
    """

    slots: int = 1
    hits: int = 1

    def inside(self, count: int) -> list[tuple[bool, int]]:
        """Say how many of so many steps are as under H0, and how many hold the record."""
        epochs = count // self.slots
        return [(False, epochs * (self.slots - self.hits)), (True, epochs * self.hits)]


class Hit(GaussianStep):
    """A step that holds the record, at the losses of a sampled step: for masses of cells."""

    def log_density(self, x: Doubles) -> Doubles:
        return super().log_density(x - self.mu)


class GaussianMagnitude(Step):
    """The same without the sign: abs(N(0, 1)) against abs(N(mu, 1)), sub-sampled."""

    atomic = False

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, _highest(self)

    @property
    def moments(self) -> tuple[float, float]:
        square = float(2.0 * np.sinh(0.5 * self.mu * self.mu) ** 2)  # cosh(mu^2) - 1
        return square, square

    def log_density(self, x: Doubles) -> Doubles:
        return np.asarray(-0.5 * x * x + 0.5 * np.log(2.0 / np.pi))

    def log_ratio(self, x: Doubles) -> Doubles:
        """Give log of exp(-mu^2/2) cosh(mu x)."""
        return log_cosh(self.mu * np.abs(x)) - 0.5 * self.mu**2

    def position(self, log_ratio: Doubles) -> Doubles:
        y = np.maximum(log_ratio + 0.5 * self.mu**2, 0.0)  # acosh(e^y) / mu
        return (y + np.log1p(np.sqrt(-np.expm1(-2.0 * y)))) / self.mu

    def rise(self, x: Doubles, width: Doubles, part: Doubles) -> tuple[Doubles, Doubles]:
        """Take cosh a - cosh b = 2 sinh((a + b)/2) sinh((a - b)/2)."""
        span, first = self.mu * width, self.mu * x
        low, high = first + 0.5 * span * part, first + 0.5 * span
        return span, np.expm1(-2.0 * low) / np.expm1(-2.0 * high)

    def outside(self, _low: float, high: float) -> tuple[float, float, float, float]:
        above = _log_normal_tail(high) + np.log(2.0)
        member = np.logaddexp(_log_normal_tail(high - self.mu), _log_normal_tail(high + self.mu))
        return -np.inf, above, -np.inf, _mixed(above, float(member), self.rate)


class LaplaceStep(Step):
    """Laplace noise of scale 1: r = exp(2x - mu) between 0 and mu, constant on either side."""

    largest = 8192.0
    atomic = True

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, self.mu

    @property
    def moments(self) -> tuple[float, float]:
        second = (2.0 * np.expm1(self.mu) + np.expm1(-2.0 * self.mu)) / 3.0
        return float(second), -float(np.expm1(-self.mu) ** 2)

    def log_density(self, x: Doubles) -> Doubles:
        return np.asarray(-x - np.log(2.0))

    def log_ratio(self, x: Doubles) -> Doubles:
        return 2.0 * x - self.mu

    def position(self, log_ratio: Doubles) -> Doubles:
        return 0.5 * (log_ratio + self.mu)

    def rise(self, _x: Doubles, width: Doubles, _part: Doubles) -> tuple[Doubles, float]:
        return 2.0 * width, 1.0

    def outside(self, _low: float, _high: float) -> tuple[float, float, float, float]:
        half = -np.log(2.0)
        below, above = half, half - self.mu
        return (
            below,
            above,
            _mixed(below, half - self.mu, self.rate),
            _mixed(above, half, self.rate),
        )


class LaplaceMagnitude(LaplaceStep):
    """The same without the sign: r = exp(-mu) (exp(2x) + 1)/2 up to mu, cosh(mu) beyond."""

    @property
    def moments(self) -> tuple[float, float]:
        second, crossed = super().moments
        return 0.5 * (second + crossed), 0.5 * (second + crossed)

    def log_density(self, x: Doubles) -> Doubles:
        return -x

    def log_ratio(self, x: Doubles) -> Doubles:
        return x - self.mu + log_cosh(x)

    def position(self, log_ratio: Doubles) -> Doubles:
        y = np.maximum(log_ratio + self.mu, 0.0)  # log(2 e^y - 1) / 2
        return 0.5 * (y + np.log1p(-np.expm1(-y)))

    def outside(self, _low: float, _high: float) -> tuple[float, float, float, float]:
        member = np.log(0.5) + np.log1p(np.exp(-2.0 * self.mu))
        return -np.inf, -self.mu, -np.inf, _mixed(-self.mu, float(member), self.rate)
