"""The central limit of a long sequence of losses."""

from __future__ import annotations

import numpy as np

from leakscore.distributions import norm
from leakscore.tradeoff.composition.losses import Step
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.families.gaussian import GaussianTradeOff, gaussian
from leakscore.tradeoff.families.hyperbolic import log_cosh
from leakscore.tradeoff.shapes.polygon import Polygon, lower_hull
from leakscore.typing import Doubles


def limit(parts: list[tuple[Step, int]], adversary: str) -> TradeOff:
    """Return the curve towards which the composition tends.

    A Gaussian one with mu^2 = sum of n rate^2 (E r^2 - 1), except for an attacker who does not know
    the sign. That attacker's likelihood ratio is (e^A + e^B)/2, with jointly normal A and B.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        moments = [(n * step.rate**2, *step.moments) for step, n in parts]
        square = sum(n * second for n, second, _ in moments)
        if not square < np.inf:  # infinite, or an infinite moment at a rate whose square is 0
            square = sum(n * float(np.exp(step.log_second)) for step, n in parts)
    if adversary != "relaxed-aligned" or not 0.0 < square < 1e5:
        curve = gaussian(leakage=square)
        return GaussianTradeOff(curve._mu, curve._leakage, "attack", adversary)
    return _two_signs(np.sqrt(square), sum(n * cross for n, _, cross in moments) / square)


def _two_signs(mu: float, correlation: float) -> TradeOff:
    """Integrate over U; given U, the ratio's tails are those of V.

    With Z+ = a U + b V and Z- = -a U + b V the ratio is exp(mu b V - mu^2/2) cosh(mu a U); a member
    of sign + shifts U by mu a and V by mu b.
    """
    a, b = np.sqrt(0.5 * (1.0 - correlation)), np.sqrt(max(0.5 * (1.0 + correlation), 1e-4))
    u = np.linspace(-9.0, 9.0, 2 * int(np.ceil(9.0 / min(0.1, b / 3.0))) + 1)
    weights = norm.pdf(u) * (u[1] - u[0])
    levels = np.concatenate(
        [
            np.linspace(-9.0 * mu * b, 0.0, 60)[:-1],
            log_cosh(mu * a * np.linspace(0.0, mu * a + 9.0, 400)),
        ]
    )

    def distances(shift: float) -> Doubles:
        """Give the distances of V from every threshold for shifted U and V."""
        ahead = levels[:, np.newaxis] - log_cosh(mu * a * np.abs(u + shift * mu * a))
        return np.asarray(ahead / (mu * b) - shift * mu * b)

    alpha = np.concatenate([[1.0], norm.sf(distances(0.0)) @ weights, [0.0]])
    beta = np.concatenate([[0.0], norm.cdf(distances(1.0)) @ weights, [1.0]])
    with np.errstate(divide="ignore"):
        x, y = np.log(np.minimum(alpha, 1.0)), np.log(np.minimum(beta, 1.0))
    order = np.lexsort((y, x))
    return Polygon(*lower_hull(x[order], y[order]), "attack", "relaxed-aligned", "central limit")
