"""The search for roots of many falling functions at once."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore._numeric import falling_root


def test_roots_of_any_size() -> None:
    """c - x - x^2 is 0 at 2c / (1 + sqrt(1 + 4c)), from 1e-60 to 1e60."""
    c = 10.0 ** np.arange(-60, 61, 3)
    root = falling_root(lambda x: (c - x - x * x, -1 - 2 * x), np.zeros(c.size), c)
    np.testing.assert_allclose(root, 2 * c / (1 + np.sqrt(1 + 4 * c)), rtol=4e-16)


def test_a_slope_that_misleads_is_halved_away() -> None:
    root = falling_root(lambda x: (0.7 - x, np.full_like(x, -1e-30)), np.zeros(1), np.ones(1))
    np.testing.assert_allclose(root, 0.7, rtol=1e-15)


def test_no_guess_where_there_is_no_root() -> None:
    with pytest.raises(RuntimeError, match="did not end"):
        falling_root(lambda x: (np.full_like(x, np.nan), -np.ones_like(x)), np.zeros(2), np.ones(2))
