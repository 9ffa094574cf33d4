"""The Bayesian bound on epsilon: a credible bound, not a confidence bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from leakscore.audit.methods.split import SplitBound, SplitErrors
from leakscore.numeric import bisect, sign_change
from leakscore.typing import Doubles

_FALL = 42.0  # of log densities, beyond which the density is not integrated
_PANELS = 16
_NODES = 20


def posterior(counts: SplitErrors, delta: float, miss: float) -> SplitBound:
    """Find epsilon with posterior probability 1 - miss of a larger one, and bounds of both rates.

    The marginal bounds of the rates are for the reader: epsilon does not use them.
    """
    from scipy.special import betainccinv

    if not counts.n_nonmembers or not counts.n_members:
        return SplitBound(0.0, 1.0, 1.0)  # a single score has no odd half
    (k0, n0), (k1, n1) = counts[:2], counts[2:]
    uppers = [float(betainccinv(k + 0.5, n - k + 0.5, 0.5 * miss)) for k, n in ((k0, n0), (k1, n1))]
    return SplitBound(credible_epsilon(counts, delta, miss), *uppers)


@lru_cache(maxsize=256)
def credible_epsilon(counts: SplitErrors, delta: float, miss: float) -> float:
    """Return epsilon with P(the rates are possible under (epsilon, delta)-DP) = miss.

    The rates have independent posteriors Beta(1/2 + errors, 1/2 + others) (Zanella-Beguelin et al.
    2023); that probability grows with epsilon. 0 if it exceeds miss at 0 already.
    """
    possible = _possible(counts, delta)
    miss = min(miss, 1.0 - 2.0**-40)  # the largest probability within reach of rounding

    def excess(epsilon: Doubles) -> Doubles:
        return np.array([math.log(max(possible(float(epsilon[0])), 1e-300)) - math.log(miss)])

    low, high = np.zeros(1), np.ones(1)
    if excess(low)[0] >= 0.0:
        return 0.0
    while excess(high)[0] < 0.0:
        low, high = high, 2.0 * high
    return float(sign_change(excess, low, high)[0])


def _possible(counts: SplitErrors, delta: float) -> Callable[[float], float]:
    """Return P(L(x) <= y <= U(x)) as a function of epsilon, x the FPR and y the FNR.

    With x = sin(t)^2 the density is sin(t)^(2 k) cos(t)^(2 (n - k)), smooth and log-concave. Panels
    end where L or U enters the range of y that has mass, where they bend and where they end; within
    each panel a cubic with flat ends makes square roots at the ends smooth.
    """
    from scipy.special import betaincc

    k0, n0, k1, n1 = counts
    x_edges = _edges(k0, n0)
    y_edges = np.sin(_edges(k1, n1)) ** 2
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    nodes, weights = 0.5 + 0.5 * nodes, 0.5 * weights
    share, slope = nodes * nodes * (3.0 - 2.0 * nodes), 6.0 * nodes * (1.0 - nodes) * weights
    most = _log_density(_mode(k0, n0), k0, n0)

    def possible(epsilon: float) -> float:
        grown, shrunk = math.exp(min(epsilon, 700.0)), math.exp(-epsilon)

        def least(x: Doubles) -> Doubles:
            return np.maximum(0.0, np.maximum(1.0 - delta - grown * x, (1.0 - delta - x) * shrunk))

        bend = (1.0 - delta) / (1.0 + grown)
        # Where least(x) = y: on either side of the bend.
        crossings = np.concatenate(
            [(1.0 - delta - y) * shrunk for y in (y_edges, 1.0 - y_edges)]
            + [1.0 - delta - grown * y for y in (y_edges, 1.0 - y_edges)]
            + [[bend, 1.0 - delta, (1.0 - delta) * shrunk]]
        )
        cuts = np.clip(np.concatenate([crossings, 1.0 - crossings]), 0.0, 1.0)
        cuts = np.arcsin(np.sqrt(cuts))
        inside = cuts[(cuts > x_edges[0]) & (cuts < x_edges[-1])]
        ends = np.unique(np.concatenate([x_edges, inside]))
        width = np.diff(ends)[:, np.newaxis]
        t = ends[:-1, np.newaxis] + width * share
        density = np.exp(_log_density(t, k0, n0) - most) * width * slope
        x, rest = np.sin(t) ** 2, np.cos(t) ** 2
        a, b = k1 + 0.5, n1 - k1 + 0.5
        between = betaincc(a, b, least(x)) - betaincc(a, b, 1.0 - least(rest))
        return float((density * np.maximum(between, 0.0)).sum() / density.sum())

    return possible


def _log_density(t: Doubles | float, errors: int, n: int) -> Doubles:
    """Return the log density of t, where the rate is sin(t)^2, up to a constant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first = 2.0 * errors * np.log(np.sin(t)) if errors else 0.0
        last = 2.0 * (n - errors) * np.log(np.cos(t)) if n > errors else 0.0
    return np.asarray(first + last)


def _mode(errors: int, n: int) -> float:
    return math.asin(math.sqrt(errors / n))


def _edges(errors: int, n: int) -> Doubles:
    """Cut the part of [0, pi/2] that holds the mass into panels."""
    mode = _mode(errors, n)
    least = float(_log_density(mode, errors, n)) - _FALL
    ends = []
    for far in (0.0, 0.5 * math.pi):
        end = far
        if not float(_log_density(far, errors, n)) >= least:
            _, end = bisect(
                lambda x: float(_log_density(x, errors, n)) >= least, mode, far, steps=60
            )
        ends.append(end)
    return np.linspace(ends[0], ends[1], _PANELS + 1)
