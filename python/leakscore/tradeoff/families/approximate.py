"""The trade-off curve of (epsilon, delta)-differential privacy."""

from __future__ import annotations

import numpy as np

from leakscore import validation
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.shapes.polygon import Polygon


def approximate_dp(epsilon: float, delta: float = 0.0) -> TradeOff:
    """Return the trade-off curve that (epsilon, delta)-differential privacy claims.

    Parameters
    ----------
    epsilon : float
        At least 0 and finite.
    delta : float
        In [0, 1).

    Returns
    -------
    TradeOff
        Of shape (), a guarantee, symmetric: a mechanism is (epsilon, delta)-DP if and only if no
        test of two neighbouring data sets is below this curve.

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument is not a real number.

    Notes
    -----
    f(alpha) = max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)): the polygon
    from (0, 1 - delta) over (c, c) to (1 - delta, 0), c = (1 - delta) / (1 + e^epsilon).

    References
    ----------
    Kairouz, Oh and Viswanath, "The composition theorem for differential privacy" (ICML 2015),
    theorem 2.1.

    Examples
    --------
    >>> f = approximate_dp(1.0, 0.01)
    >>> print(round(float(f(0.1)), 4), round(float(f.epsilon(0.01)), 4))
    0.7182 1.0
    """
    ratio = validation.scalar("epsilon", epsilon, 0.0)
    miss = validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    start = np.log1p(-miss)
    corner = start - np.logaddexp(0.0, ratio)
    x = np.array([-np.inf, corner, start])
    return Polygon(
        x, x[::-1].copy(), "guarantee", "informed", f"approximate_dp({ratio!r}, {miss!r})"
    )
