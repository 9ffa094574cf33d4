"""Mechanisms whose epsilon is known exactly, as the scores of the best attack on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.distributions import norm
from leakscore.tradeoff import gdp_epsilon

__all__ = ["LAWS", "Law", "gaussian", "laplace", "mixture", "null", "response", "rounded"]

Doubles = npt.NDArray[np.float64]
Sampler = Callable[[np.random.Generator, int], Doubles]


@dataclass(frozen=True)
class Law:
    """Scores of members and of non-members, and epsilon(delta) of the mechanism they come from.

    `epsilon` is that of the two laws of the score, the larger of both directions.
    """

    name: str
    members: Sampler
    nonmembers: Sampler
    epsilon: Callable[[float], float]


def gaussian(mu: float) -> Law:
    """N(mu, 1) against N(0, 1)."""
    return Law(
        f"Gaussian {mu:g}",
        lambda rng, n: rng.normal(mu, 1.0, n),
        lambda rng, n: rng.normal(0.0, 1.0, n),
        lambda delta: float(gdp_epsilon(delta, mu)),
    )


def laplace(epsilon: float) -> Law:
    """Laplace noise of scale 1/epsilon on 1 or 0.

    Above the midpoint the log-likelihood ratio reaches +-epsilon, and
    delta(e) = 1 - exp((e - epsilon)/2) for 0 <= e <= epsilon.
    """
    return Law(
        f"Laplace {epsilon:g}",
        lambda rng, n: rng.laplace(1.0, 1 / epsilon, n),
        lambda rng, n: rng.laplace(0.0, 1 / epsilon, n),
        lambda delta: max(epsilon + 2 * float(np.log1p(-delta)), 0.0),
    )


def response(epsilon: float) -> Law:
    """Randomised response: the bit, kept with probability 1/(1 + exp(-epsilon)). Ties only."""
    keep = 1 / (1 + np.exp(-epsilon))

    def true(delta: float) -> float:
        return float(np.log(max((keep - delta) / (1 - keep), 1.0)))

    return Law(
        f"response {epsilon:g}",
        lambda rng, n: (rng.random(n) < keep).astype(np.float64),
        lambda rng, n: (rng.random(n) >= keep).astype(np.float64),
        true,
    )


def mixture(rate: float, mu: float) -> Law:
    """N(mu, 1) with probability `rate`, otherwise N(0, 1), against N(0, 1).

    With P = (1 - q) Q + q G the excess P - e^epsilon Q is q (G - e^x Q) with
    e^x = (e^epsilon - 1 + q)/q, so epsilon(delta) = log(1 - q + q exp(epsilon_G(delta/q))). The
    other direction is at most -log(1 - q), and this must be less.
    """

    def true(delta: float) -> float:
        forward = np.log1p(rate * np.expm1(float(gdp_epsilon(delta / rate, mu))))
        if forward < -np.log1p(-rate):
            raise ValueError("the mixture's epsilon is that of the other direction")
        return float(forward)

    def members(rng: np.random.Generator, n: int) -> Doubles:
        return np.asarray(rng.normal(0.0, 1.0, n) + mu * (rng.random(n) < rate))

    return Law(
        f"mixture {rate:g}, {mu:g}",
        members,
        lambda rng, n: rng.normal(0.0, 1.0, n),
        true,
    )


def rounded(mu: int) -> Law:
    """N(mu, 1) against N(0, 1), rounded to integers: discrete scores with many ties.

    The likelihood ratio of rounded scores is monotone and mu an integer, so both directions are
    equal and the best test is a threshold k + 1/2.
    """

    def true(delta: float) -> float:
        half = np.arange(-40, 41) + 0.5
        gain = norm.sf(half - mu) - delta
        seen = gain > 0
        return float(max(np.log(gain[seen] / norm.sf(half[seen])).max(), 0.0))

    return Law(
        f"rounded Gaussian {mu}",
        lambda rng, n: np.rint(rng.normal(mu, 1.0, n)),
        lambda rng, n: np.rint(rng.normal(0.0, 1.0, n)),
        true,
    )


def null() -> Law:
    """The same law for both, a Gaussian one."""

    def scores(rng: np.random.Generator, n: int) -> Doubles:
        return rng.normal(0.0, 1.0, n)

    return Law("nothing leaks", scores, scores, lambda delta: 0.0 * delta)


LAWS = (
    null(),
    gaussian(1.0),
    gaussian(3.0),
    laplace(0.5),
    laplace(1.0),
    laplace(2.0),
    response(1.0),
    response(3.0),
    mixture(0.1, 3.0),
    rounded(2),
)
