"""Lower bounds on the cost of noise, from multipliers of the records: weak duality.

For every lambda >= 0, A = sum lambda_i y_i y_i' and 0 <= P <= 1 (P = 1 - Lambda, matrix order),
and every K that meets the limits, y_i' K^-1 y_i <= 1 and K >= C:

    tr(K - C) >= tr((1 - P) C) + tr(P K) - tr C >= tr(P K) + tr(A K^-1) - sum lambda - tr(P C)
              >= 2 tr (P^1/2 A P^1/2)^1/2 - sum lambda - tr(P C).

The last step is the arithmetic-geometric mean of matrices: with T = P^1/2 K P^1/2 and
B = P^1/2 A P^1/2, tr T + tr(B T^-1) - 2 tr B^1/2 is the squared Frobenius norm of
T^1/2 - T^-1/2 B^1/2. Scaling lambda by its best factor gives a^2 / sum lambda - tr(P C) with
a = tr (P^1/2 A P^1/2)^1/2, the sum of the singular values of the rows sqrt(lambda_i) y_i' P^1/2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leakscore.typing import Doubles

_NEARLY_ONE = (1.0, 0.999, 0.99, 0.9)


def lower_bound(
    rows: Doubles, weights: Doubles, multipliers: Doubles, variances: Callable[[Doubles], Doubles]
) -> float:
    """Bound tr(K - C) from below.

    `rows` (k, d) are the records y, `weights` (k, d) are K^-1 y for a K near the best, as at the
    optimum P = K^-1 A K^-1, which is 1 where there is noise. Its eigenvalues above 1 become 1;
    those nearly 1 do, too, if the bound is then higher. `variances` maps rows v to v' C v.
    """
    used = multipliers > 1e-12 * multipliers.max(initial=0.0)
    if not used.any():
        return 0.0
    roots = np.sqrt(multipliers[used])[:, np.newaxis]
    factor = roots * weights[used]
    _, shares, directions = np.linalg.svd(factor, full_matrices=False)
    weighty = shares > 1e-12
    shares, directions = shares[weighty], directions[weighty]
    touched, spread = (roots * rows[used]) @ directions.T, variances(directions)
    total, best = float(multipliers[used].sum()), 0.0
    for nearly in _NEARLY_ONE:
        raised = np.where(shares > nearly, 1.0, shares)  # P = directions' raised^2 directions
        nuclear = float(np.linalg.svd(touched * raised, compute_uv=False).sum())
        bound = nuclear**2 / total - float(np.square(raised) @ spread)
        best = max(best, bound) if np.isfinite(bound) else best
    return best


def lower_bound_independent(
    weights: Doubles, excess: Doubles, multipliers: Doubles, noise: Doubles, costs: Doubles
) -> float:
    """Bound costs'noise from below for noise that is independent between columns.

    The sum of costs'v + sum lambda_i (y_i' (C + diag v)^-1 y_i - 1) is convex in v. Above its
    tangent at `noise` it is least at v = 0, if lambda is so small that no slope is negative; that
    is lambda times the largest such factor up to 1. `weights` are K^-1 y, `excess` y' K^-1 y - 1.
    """
    slopes = multipliers @ (weights * weights)
    if not slopes.any():
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = min(1.0, float(np.where(slopes > 0, costs / slopes, np.inf).min()))
    bound = factor * (float(multipliers @ excess) + float(slopes @ noise))
    return max(bound, 0.0) if np.isfinite(bound) else 0.0
