"""A polygon below a convex curve, from points on the curve.

Between two neighbouring points a convex curve lies above the lines through the two points before
and through the two points after. Both lines meet below the curve, as far from it as the square of
the points' distance.
"""

from __future__ import annotations

import numpy as np

from leakscore.tradeoff.shapes.polygon import log_gap, log_slopes
from leakscore.typing import Doubles

_ROUNDING = 4e-12  # relative, of rates and of what their logs' roundings make of them
_STEEP = 1e9  # of the line before a point, over the slope after it: as good as vertical
_NEAR = 1e-6  # points at which both logs are closer give no slope


def below(log_alpha: Doubles, log_beta: Doubles) -> tuple[Doubles, Doubles]:
    """Give logs of vertices below the curve through such points, sorted by alpha.

    All alphas are positive. Below the first of them the curve lies above the first beta, and beyond
    the last above 0.
    """
    x, y = _apart(log_alpha, log_beta)
    slopes = log_slopes(x, y)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        # How far a slope may err: rounded rates, over their differences.
        wide = np.exp(-log_gap(x[:-1], x[1:])) + np.exp(-log_gap(y[1:], y[:-1]))
        unsure = _ROUNDING * (1.0 + wide)
        before = np.exp(slopes[:-1] - slopes[1:]) * (1.0 + unsure[:-1] + unsure[1:])
        after = np.exp(slopes[1:] - slopes[:-1]) * (1.0 - unsure[:-1] - unsure[1:])
    # Both over the slope of an edge: at least 1, and at most 1.
    steep = np.concatenate([[np.inf], np.nan_to_num(np.maximum(before, 1.0), nan=np.inf)])
    flat = np.concatenate([np.nan_to_num(np.clip(after, 0.0, 1.0), nan=0.0), [0.0]])
    bounded = np.minimum(steep, _STEEP)
    place = np.where(steep > _STEEP, 0.0, (1.0 - flat) / np.maximum(bounded - flat, 1.0 / _STEEP))
    lines = flat * (1.0 - place), 1.0 - bounded * place
    height = np.maximum(np.minimum(*lines), 0.0)
    with np.errstate(divide="ignore"):
        across = np.logaddexp(x[:-1], x[1:] + log_gap(x[:-1], x[1:]) + np.log(place))
        down = np.logaddexp(y[1:], y[:-1] + log_gap(y[1:], y[:-1]) + np.log(height))
    corners = np.concatenate([x, across]), np.concatenate([y, down])
    order = np.lexsort((-corners[1], corners[0]))
    across = np.concatenate([[-np.inf], corners[0][order], x[-1:]])
    down = np.concatenate([y[:1], corners[1][order], [-np.inf]])
    return _less(across), _less(down)


def _less(logs: Doubles) -> Doubles:
    """Lower a rate and raise 1 less the rate, by a share of each and a rounding of their sum."""
    return np.asarray(logs - (_ROUNDING * np.minimum(-logs, 1.0) + 4.0 * 2.0**-53))


def _apart(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Leave out points that are too near to the point before."""
    with np.errstate(invalid="ignore"):
        moved = np.maximum(np.abs(np.diff(x)), np.abs(np.diff(y)))
    kept = np.concatenate([[True], moved > _NEAR])
    return x[kept], y[kept]
