"""Curves of a training beyond its noise: what is divided by, and what of it is published."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore import validation
from leakscore.numeric import frozen
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.gaussian_curves import GaussianTradeOff, gaussian
from leakscore.tradeoff.premise import EXACT_NOISE, Premise, about
from leakscore.tradeoff.two_spreads import Narrower
from leakscore.typing import Doubles

_ZERO_GRADIENTS = "gradients of zero, so that a step releases nothing but its scaled noise"
_DIVIDED = "every step is divided by the expected batch, int(records * sample_rate)"
_CONVEX = "full batches; every loss is smooth and strongly convex, as the contraction says"


class _Scale(Narrower):
    """N(0, s^2) in k coordinates, H0, against N(0, s^2 / r), by the sum of squares over s^2."""

    __slots__ = ()
    _title = "averaged_gaussian_attack: variances {1} in {0} coordinates"

    def _laws(self) -> tuple[Doubles, Doubles, Doubles]:
        df, ratio = self._parameters
        return df, np.zeros(()), ratio - 1.0

    def _auc(self) -> Any:
        from scipy.special import betainc

        df, ratio = self._parameters
        return betainc(0.5 * df, 0.5 * df, ratio / (1.0 + ratio))


def averaged_gaussian_attack(
    num_records: int, sample_rate: float, num_steps: int, dimension: int
) -> TradeOff:
    """Return the curve of an attack on noise that is divided by the expected batch.

    A trainer adds noise to the sum of clipped gradients and divides by the expected batch,
    ``int(num_records * sample_rate)``, as Opacus does. The divisor depends on the number of
    records, and with it the scale of the noise: where all gradients are zero, the sum of squares of
    what is released tells whether one record more is there, however large the noise is. The
    (epsilon, delta) that is accounted holds for the sum, or where the number of records is public.

    Parameters
    ----------
    num_records : int
        In the data with the record, at least 2.
    sample_rate : float
        Of Poisson sampling, in (0, 1].
    num_steps : int
        Number of steps, at least 1.
    dimension : int
        Coordinates of a step, at least 1.

    Returns
    -------
    TradeOff
        Of shape (), kind "attack", neighbours "add-remove", at any noise: the chi-square test of
        two variances. Of no power where the expected batch does not change.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If it is out of range, or the expected batch without the record is 0.

    Notes
    -----
    With B and B' the expected batches with and without the record and k = num_steps * dimension,
    the sum of squares is (noise/B)^2 chi2_k against (noise/B')^2 chi2_k.

    Examples
    --------
    >>> f = averaged_gaussian_attack(50_000, 0.01, 1, 26_010)  # batches of 500, or of 499
    >>> print(round(float(f.advantage()), 3), round(float(f.power(0.01)), 3))
    0.181 0.031
    """
    records = validation.count("num_records", num_records, 2)
    rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    coordinates = validation.steps("num_steps", num_steps) * validation.count(
        "dimension", dimension, 1
    )
    batch, without = int(records * rate), int((records - 1) * rate)
    if not without:
        raise ValueError(
            f"num_records={records} and sample_rate={rate!r} must have an expected batch of at "
            f"least 1 without the record: int({records - 1} * {rate!r}) is 0"
        )
    premise = Premise("add-remove", (_DIVIDED, _ZERO_GRADIENTS))
    if batch == without:
        nothing = frozen(np.zeros(())), frozen(np.zeros(()))
        return GaussianTradeOff(nothing, "attack", "informed", premise)
    parameters = np.array(float(coordinates)), np.array((batch / without) ** 2)
    return _Scale(tuple(frozen(number) for number in parameters), "attack", "informed", premise)


def last_iterate(
    noise: float, *, num_steps: int, contraction: float, sensitivity: float = 1.0
) -> TradeOff:
    """Return the curve of noisy gradient descent of which the last iterate alone is published.

    Every step moves the iterate by a map that brings any two points together by the factor
    `contraction` at least, and adds Gaussian noise. For gradient descent of step size eta, on
    losses that are m-strongly convex and M-smooth, it is max(abs(1 - eta m), abs(1 - eta M)).

    Parameters
    ----------
    noise : float
        Standard deviation of the noise added to the iterate in every step; positive.
    num_steps : int
        Number of steps t, at least 1.
    contraction : float
        The factor c, in [0, 1].
    sensitivity : float
        By how much the record moves the iterate in one step, at most, in the unit of `noise`;
        positive.

    Returns
    -------
    TradeOff
        ``gaussian`` with mu = sensitivity/noise sqrt((1 - c^t)(1 + c) / ((1 + c^t)(1 - c))), a
        guarantee; at c = 1 the root of t, as if all iterates were published. For c < 1 it has a
        limit in t.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range.

    Notes
    -----
    It is exact for quadratic losses, where the last iterate is Gaussian. It holds for full batches
    of convex losses, not for mini-batches, nor for losses that are not convex, where nothing
    contracts.

    References
    ----------
    Bok, Su & Altschuler, "Shifted interpolation for differential privacy" (ICML 2024), on strongly
    convex losses.

    Examples
    --------
    >>> last_iterate(4.0, num_steps=1000, contraction=0.99)
    gaussian(mu=3.52653175)
    >>> print(round(float(gaussian(0.25 * 1000**0.5).advantage()), 4))  # all iterates
    0.9999
    """
    scale = validation.scalar("noise", noise, 0.0, closed="neither")
    steps = validation.steps("num_steps", num_steps)
    factor = validation.scalar("contraction", contraction, 0.0, 1.0)
    shift = validation.scalar("sensitivity", sensitivity, 0.0, closed="neither")
    if factor == 1.0:
        share = float(steps)
    else:
        with np.errstate(divide="ignore"):
            log_power = steps * np.log(factor)
        kept = np.exp(log_power)
        share = -np.expm1(log_power) * (1.0 + factor) / ((1.0 + kept) * (1.0 - factor))
    premise = Premise(None, (_CONVEX, EXACT_NOISE))
    with np.errstate(over="ignore"):
        mu = shift / scale * np.sqrt(share)
    return about(gaussian(mu), premise)
