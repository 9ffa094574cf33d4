"""What `compose` makes of curves of several kinds together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore.tradeoff import (
    ComposedTradeOff,
    GaussianTradeOff,
    approximate_dp,
    compose,
    from_profile,
    gaussian,
    laplace,
    subsampled_gaussian,
)
from tests.oracles.octaves import polygon_beta

ALPHA = np.concatenate([np.logspace(-5.0, -1.0, 20), np.linspace(0.1, 0.95, 18)])
GRID = np.linspace(-8.0, 10.0, 1201)


def masses(mean: float) -> Any:
    law = np.exp(-0.5 * (GRID - mean) ** 2)
    return law / law.sum()


def test_a_symmetric_step_beside_one_that_is_not() -> None:
    """Both orders of the hypotheses on a grid: the composed curve is not symmetric."""
    f = compose([gaussian(0.5), subsampled_gaussian(0.5, 0.2, 1)])
    outside = np.outer(masses(0.0), masses(0.0)).ravel()
    inside = np.outer(masses(0.5), 0.8 * masses(0.0) + 0.2 * masses(2.0)).ravel()
    for curve, p, q in ((f, outside, inside), (f.inverse(), inside, outside)):
        exact = polygon_beta(p, q, ALPHA)
        assert (curve.lower(ALPHA) <= exact + 1e-4).all()
        np.testing.assert_allclose(curve.upper(ALPHA), exact, atol=3e-4)


def test_a_claim_beside_a_mechanism_has_no_upper_end() -> None:
    f = compose([gaussian(0.5), approximate_dp(1.0, 1e-3)])
    assert not isinstance(f, ComposedTradeOff)
    assert (f(ALPHA) <= np.minimum(gaussian(0.5)(ALPHA), approximate_dp(1.0, 1e-3)(ALPHA))).all()


def test_a_mechanism_that_tells_nothing() -> None:
    f = compose([laplace(0.0), gaussian(0.75)])
    assert isinstance(f, GaussianTradeOff)
    assert f.mu == 0.75


def test_a_claim_that_claims_nothing() -> None:
    with pytest.raises(ValueError, match="everything can be told"):
        compose([from_profile([0.0, 1.0], [1.0, 1.0]), gaussian(1.0)])
