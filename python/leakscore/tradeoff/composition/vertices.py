"""Vertices of trade-off curves from logs of masses: running sums, complements, hulls."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from leakscore import _core
from leakscore.tradeoff.shapes.polygon import lower_hull
from leakscore.typing import Doubles

Points: TypeAlias = tuple[Doubles, Doubles]  # logs of alpha and of beta


def joined_tests(tests: Points) -> Points:
    """Join tests by randomising between them, and with the tests that accuse none or all."""
    alpha, beta = (np.minimum(values, 0.0) for values in tests)
    order = np.lexsort((beta, alpha))
    return lower_hull(
        np.concatenate([[-np.inf], alpha[order], [0.0]]),
        np.concatenate([[0.0], beta[order], [-np.inf]]),
    )


def from_below(log_mass: Doubles, start: float = -np.inf) -> Doubles:
    """Return logs of the sums of the first 0, 1, ... masses and the mass before them."""
    return _core.running_log_sums(start, np.ascontiguousarray(log_mass))


def from_above(log_mass: Doubles, start: float = -np.inf) -> Doubles:
    return from_below(log_mass[::-1], start)[::-1]


def complement(log_mass: Doubles) -> Doubles:
    """Return log(1 - mass)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.exp(np.minimum(log_mass, 0.0))))


def moved_beta(low: Doubles, high: Doubles, above: float) -> Doubles:
    """Bound beta of every vertex from masses under H1 that are too small, or too large.

    The sum of the small masses below bounds beta where beta is below 1/2, and 1 less the sum of the
    large ones above it elsewhere; the lesser of both in between, so that each edge lies below the
    edge of one of both bounds. They need not be bounds of one law.
    """
    missed, not_caught = from_below(low), complement(from_above(high, above))
    turn = int(np.searchsorted(missed, np.log(0.5)))
    beta = np.concatenate([missed[:turn], not_caught[turn:]])
    if turn < beta.size:
        beta[turn] = min(missed[turn], not_caught[turn])
    return beta
