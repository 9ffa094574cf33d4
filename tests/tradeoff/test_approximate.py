"""approximate_dp against its closed form and the identities of differential privacy."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from leakscore.tradeoff import approximate_dp, gaussian

PAIRS = [(0.0, 0.0), (0.0, 0.1), (1e-9, 1e-3), (1.0, 1e-5), (4.0, 0.0), (30.0, 0.5), (800.0, 0.1)]
ALPHA = np.concatenate([[0.0], np.logspace(-12, -0.01, 60), 1 - np.logspace(-12, -1, 40), [1.0]])


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_closed_form(epsilon: float, delta: float) -> None:
    f = approximate_dp(epsilon, delta)
    with mpmath.workdps(400):
        e, d = mpmath.exp(epsilon), mpmath.mpf(delta)
        beta = [float(max(0, 1 - d - e * a, (1 - d - a) / e)) for a in map(mpmath.mpf, ALPHA)]
    np.testing.assert_allclose(f(ALPHA), beta, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(f.inverse()(ALPHA), beta, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(f.symmetrized()(ALPHA), beta, rtol=1e-13, atol=1e-16)
    corner = (1 - delta) / (1 + math.exp(min(epsilon, 700)))
    assert f.advantage() == pytest.approx(1 - 2 * corner, abs=1e-15)
    # Two triangles and a square under the curve.
    assert f.auc() == pytest.approx(1 - corner * (1 - delta), abs=1e-15)


@pytest.mark.parametrize(("epsilon", "delta"), [*PAIRS, (2.0, 1e-300), (8.0, 1e-30)])
def test_the_claim_is_what_the_curve_says(epsilon: float, delta: float) -> None:
    f = approximate_dp(epsilon, delta)
    assert f.delta([epsilon, epsilon + 1]) == pytest.approx([delta, delta], rel=1e-12, abs=0)
    if delta > 0:
        assert f.epsilon(delta * (1 - 1e-9)) == math.inf
    if delta == 0:
        assert f.epsilon(0.0) == pytest.approx(epsilon, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-12, 1e-3, 4.0, 30.0, 800.0])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-12, 0.1, 1.0 - 2.0**-53])
def test_numbers_keep_their_digits(epsilon: float, delta: float) -> None:
    """The vertices cancel where epsilon is small; 400 digits do not."""
    f = approximate_dp(epsilon, delta)
    assert f.epsilon(delta) == epsilon
    assert f.epsilon(1.0) == 0.0
    with mpmath.workdps(400):
        e, d = mpmath.exp(epsilon), mpmath.mpf(delta)
        corner = (1 - d) / (1 + e)
        for at in (-900.0, -4.0, -1e-12, 0.0, 1e-13, 5e-13, 0.5, 3.999, 29.0, 801.0):
            weight = mpmath.exp(at)
            exact = max(d, 1 - corner - weight * corner, 1 - weight * (1 - d))
            assert f.delta(at) == pytest.approx(float(exact), rel=1e-13, abs=0)
        assert f.advantage() == pytest.approx(float(1 - 2 * corner), rel=1e-14, abs=0)
        for share in (1e-9, 0.1, 0.5, 0.9):
            aim = float(d + (1 - 2 * corner - d) * mpmath.mpf(share))
            exact = mpmath.log((1 - corner - mpmath.mpf(aim)) / corner)
            if delta + 1e-5 * epsilon < aim < f.advantage():
                assert f.epsilon(aim) == pytest.approx(float(exact), rel=1e-10, abs=0)


def test_below_every_curve_that_satisfies_it() -> None:
    for mu in (0.5, 2.0):
        g = gaussian(mu)
        delta = float(g.delta(1.0))
        assert g.at_least_as_private_as(approximate_dp(1.0, delta)).verdict is True
        assert g.at_least_as_private_as(approximate_dp(0.9, delta)).verdict is False


def test_names_itself() -> None:
    assert repr(approximate_dp(1, 0)).startswith("approximate_dp(1.0, 0.0)")
    assert approximate_dp(1).kind == "guarantee"


@pytest.mark.parametrize("ulps", [-2, -1, 0, 1, 2, 4])
@pytest.mark.parametrize(("delta", "looks"), [(0.1, 2), (0.1, 3), (0.3, 3), (1e-5, 2)])
def test_looks_at_the_power_of_alpha_0(delta: float, looks: int, ulps: int) -> None:
    """1 - b (1 - a)^(T - 1) begins with the slope e^epsilon + (T - 1)(1 - delta), alpha with T."""
    f = approximate_dp(1.0, delta).best_of(looks)
    exact = math.log((math.e + (looks - 1) * (1.0 - delta)) / looks)
    at = delta * (1.0 + ulps * 2.0**-52)
    assert f.epsilon(at, "forward") == pytest.approx(exact, rel=1e-5)
    assert f.epsilon(delta * (1.0 - 1e-12), "forward") == math.inf
