"""An attack on Gaussian noise that needs no sign: the absolute sum of all outputs."""

from __future__ import annotations

import math

import numpy as np

from leakscore.distributions import norm
from leakscore.tradeoff.composition.losses import GaussianStep, Step
from leakscore.typing import Doubles

_MOST = 1_000_000  # steps, for the memory that their counts take


def absolute_sum(parts: list[tuple[Step, int]]) -> tuple[Doubles, Doubles]:
    """Give logs of alpha and of beta, both rounded up, at some hundred thresholds.

    The sum of n outputs is N(J mu, n), with J how often the record was sampled, a binomial number.
    Only for equal steps; for other sequences there are no points.
    """
    step, n = parts[0]
    if len(parts) > 1 or not isinstance(step, GaussianStep) or n > _MOST:
        return np.zeros(0), np.zeros(0)
    counts, mass = _binomial(n, step.rate)
    shift = step.mu / math.sqrt(n) * counts
    bound = np.linspace(0.0, float(shift[-1]) + 8.0, 257)[1:, np.newaxis]
    missed = (norm.cdf(bound - shift) - norm.cdf(-bound - shift)) @ mass
    rounding = 1e-12 + 2e-15 * math.lgamma(n + 1)  # of the masses, relatively
    outside = max(0.0, 1.0 - float(mass.sum())) + rounding
    with np.errstate(divide="ignore"):
        log_beta = np.log(np.minimum(missed + outside, 1.0))
    return np.log(2.0) + norm.logsf(bound[:, 0]) * (1.0 - 1e-12), log_beta


def _binomial(n: int, rate: float) -> tuple[Doubles, Doubles]:
    """Give the likely counts, which miss a mass of 1e-30, and their masses."""
    if rate == 1.0:
        return np.array([float(n)]), np.ones(1)
    spread = 12.0 * (1.0 + math.sqrt(n * rate * (1.0 - rate)))
    low, high = max(0, math.floor(n * rate - spread)), min(n, math.ceil(n * rate + spread))
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(j + 1)
        - math.lgamma(n - j + 1)
        + j * math.log(rate)
        + (n - j) * math.log1p(-rate)
        for j in range(low, high + 1)
    ]
    return np.arange(float(low), high + 1.0), np.exp(logs)
