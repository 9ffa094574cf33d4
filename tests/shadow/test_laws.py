"""Power with estimated parameters: simulation, scipy's noncentral t, and a plain integral."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from leakscore.shadow import offline_power, online_power, required_models
from tests.helpers.versions import OLD_SCIPY

ROUNDS = 200_000


def test_the_published_table() -> None:
    """At a false-positive rate of .1 %, equal spreads."""
    for shift, separate, pooled, required in (
        (2.0, [0.013, 0.040, 0.075, 0.119], [0.047, 0.097, 0.125], (89, 15)),
        (4.0, [0.062, 0.305, 0.571, 0.767], [0.397, 0.687, 0.785], (43, 7)),
    ):
        assert offline_power(1e-3, shift, [4, 8, 16, 64]) == pytest.approx(separate, abs=6e-4)
        found = offline_power(1e-3, shift, [1, 4, 16], variance="pooled")
        assert found == pytest.approx(pooled, abs=6e-4)
        assert required_models(1e-3, shift) == required[0]
        assert required_models(1e-3, shift, variance="pooled") == required[1]


@pytest.mark.parametrize("count", [2, 3, 6, 31, 10_001])
def test_tails_of_student_and_its_noncentral_law(count: int) -> None:
    alpha, dof = np.array([1e-250, 1e-20, 1e-8, 0.01, 0.4, 0.7]), count - 1.0
    rates = alpha[1:]  # test_extremes has the rarest, whose tails scipy loses
    t, spread = stats.t.isf(rates, dof), np.sqrt(1.0 + 1.0 / count)
    for scale in (0.5, 1.0, 3.0):  # without a shift: a multiple of the quantile
        found = offline_power(rates, 0.0, count, scale=scale)
        expected = stats.t.sf(t * spread / np.hypot(scale, np.sqrt(1.0 / count)), dof)
        np.testing.assert_allclose(found, expected, rtol=1e-7 if OLD_SCIPY else 1e-10)
    np.testing.assert_allclose(offline_power(alpha, 0.0, count), alpha, rtol=1e-9)
    for shift in (-1.0, 1.5, 4.0):
        found = offline_power(alpha[2:], shift * spread, count)
        expected = stats.nct.sf(stats.t.isf(alpha[2:], dof), dof, shift)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("variance", ["per-record", "pooled"])
@pytest.mark.parametrize(("shift", "scale", "c"), [(2.0, 1.0, 4), (3.0, 0.5, 6), (1.0, 2.0, 3)])
def test_the_offline_score_as_it_is_played(
    shift: float, scale: float, c: int, variance: str
) -> None:
    rng = np.random.default_rng(c)
    models = rng.standard_normal((c, ROUNDS))
    spread = models.std(axis=0, ddof=1) if variance == "per-record" else 1.0
    out = (rng.standard_normal(ROUNDS) - models.mean(axis=0)) / spread
    inside = (shift + scale * rng.standard_normal(ROUNDS) - models.mean(axis=0)) / spread
    threshold = np.sqrt(1 + 1 / c) * (
        stats.t.isf(0.02, c - 1) if variance == "per-record" else stats.norm.isf(0.02)
    )
    power = offline_power(0.02, shift, c, scale=scale, variance=variance)
    for seen, expected in ((out, 0.02), (inside, power)):
        error = np.sqrt(expected * (1 - expected) / ROUNDS)
        assert abs((seen > threshold).mean() - expected) < 4 * error


@pytest.mark.parametrize(("shift", "num_in", "num_out"), [(2.0, 3, 3), (3.0, 2, 12), (1.0, 5, 1)])
def test_the_online_score_as_it_is_played(shift: float, num_in: int, num_out: int) -> None:
    rng = np.random.default_rng(num_in)
    m1 = shift + rng.standard_normal(ROUNDS) / np.sqrt(num_in)
    m0 = rng.standard_normal(ROUNDS) / np.sqrt(num_out)
    x = rng.standard_normal(ROUNDS)
    alpha = 0.01
    out, inside = ((m1 - m0) * (at - 0.5 * (m1 + m0)) for at in (x, x + shift))
    power = online_power(alpha, shift, num_in, num_out)
    threshold = np.quantile(out, 1 - alpha)
    # The threshold's own error moves the power along the curve, here by a slope below 15.
    error = np.sqrt(power * (1 - power) / ROUNDS) + 15 * np.sqrt(alpha / ROUNDS)
    assert abs((inside > threshold).mean() - power) < 4 * error


def test_the_online_score_by_a_plain_integral() -> None:
    """P(U V > q), V given U normal, over U."""
    d, c1, c0 = 2.5, 3, 8
    vu, cov = 1 / c1 + 1 / c0, (1 / c0 - 1 / c1) / 2
    rest = np.sqrt(1 + vu / 4 - cov**2 / vu)

    def beyond(q: float, mean: float) -> float:
        def at(u: float) -> float:
            centre = mean + cov / vu * (u - d)
            z = (q / u - centre) / rest
            return float(stats.norm.pdf(u, d, np.sqrt(vu)) * stats.norm.sf(z if u > 0 else -z))

        parts = (
            integrate.quad(at, a, b, epsabs=1e-15, limit=200)[0] for a, b in ((-9, 0), (0, 12))
        )
        return sum(parts)

    q = 3.7
    alpha = beyond(q, -d / 2)
    assert online_power(alpha, d, c1, c0) == pytest.approx(beyond(q, d / 2), rel=1e-7)
    assert online_power(alpha, -d, c1, c0) == online_power(alpha, d, c1, c0)


def test_limits() -> None:
    z = stats.norm.isf(1e-3)
    known = stats.norm.sf((z - 2.0) / 0.5)
    assert offline_power(1e-3, 2.0, 10**6, scale=0.5) == pytest.approx(known, rel=1e-4)
    assert online_power(1e-3, 2.0, 10**6, 10**6) == pytest.approx(stats.norm.sf(z - 2), rel=1e-4)
    assert online_power([0.0, 0.3, 1.0], 0.0, 2, 5) == pytest.approx([0.0, 0.3, 1.0])
    assert offline_power([0.0, 1.0], 9.0, 2).tolist() == [0.0, 1.0]
    assert offline_power(1e-100, 0.0, 5) == pytest.approx(1e-100, rel=1e-11)


def test_required_is_the_least_number() -> None:
    shift, scale, part = np.array([1.0, 3.0, -1.0]), np.array([0.7, 1.5, 1.0]), 0.8
    for variance, least in (("per-record", 2), ("pooled", 1)):
        c = required_models(0.01, shift, scale=scale, fraction=part, variance=variance)
        aim = part * stats.norm.sf((stats.norm.isf(0.01) - shift) / scale)
        assert (offline_power(0.01, shift, c, scale=scale, variance=variance) >= aim).all()
        more = c > least
        fewer = offline_power(0.01, shift, np.maximum(c - 1, least), scale=scale, variance=variance)
        assert (fewer[more] < aim[more]).all()
    with pytest.raises(ValueError, match="fraction"):
        required_models(0.01, 2.0, fraction=1 - 1e-15)
