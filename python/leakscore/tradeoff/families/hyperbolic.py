"""What magnitudes have in common: the logarithm of the hyperbolic cosine."""

from __future__ import annotations

import numpy as np

from leakscore.typing import Doubles


def log_cosh(x: Doubles) -> Doubles:
    """Return log cosh(x) for x >= 0, to its last digit near 0 too."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.log1p(2.0 * np.sinh(0.5 * np.minimum(x, 1.0)) ** 2)
        return np.where(x < 1.0, near, x + (np.log1p(np.exp(-2.0 * x)) - np.log(2.0)))
