"""Curves of parameters beyond the range of the noncentral chi-square law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from leakscore import sequential
from leakscore.tradeoff import (
    compose,
    compose_relaxed_gaussian,
    gaussian,
    gaussian_mean,
    relaxed_gaussian,
    shifted_gaussian,
    subsampled_gaussian,
    subsampled_laplace,
)

HUGE = (1e61, 1e100, 1e154, 1e200, 1e300, 1.7e308)


def one_dimension(distance: float, records: float, alpha: float) -> tuple[Any, Any]:
    """Return the exact power of small S, and of large S, in one dimension; in many digits."""
    n, m = mpf(records), mpf(distance)

    def cdf(root: Any, nc: Any) -> Any:
        low = -root - mp.sqrt(nc)
        return mp.ncdf(root - mp.sqrt(nc)) - (mp.ncdf(low) if low > -1e100 else 0)

    z = mp.sqrt(2) * mp.erfinv(2 * mpf(alpha) - 1)
    grown = mp.sqrt(n / (n - 1))
    small = cdf((mp.sqrt(n * m) + z) * grown, (n - 1) * m)
    large = 1 - cdf((mp.sqrt((n - 1) * m) - z) / grown, n * m)
    return small, large


@pytest.mark.parametrize(
    ("distance", "ratio"), [(1e31, 1e31), (1e40, 3e39), (1e200, 1e200), (1.0, 1e300), (9.0, 1e61)]
)
@pytest.mark.parametrize("alpha", [1e-9, 0.01, 0.3, 0.99])
def test_gaussian_mean_in_one_dimension(distance: float, ratio: float, alpha: float) -> None:
    curve = gaussian_mean(distance, 2, 1, noise_ratio=ratio)
    with mp.workdps(700):
        small, large = one_dimension(distance, 2 * (1 + ratio), alpha)
        for found, true in ((curve, small), (curve.inverse(), large)):
            np.testing.assert_allclose(found.power(alpha), float(true), rtol=1e-12)
            np.testing.assert_allclose(found(alpha), float(1 - true), rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda share, dim: gaussian_mean(share * 2.0**199, 2, dim),
        lambda share, dim: relaxed_gaussian(share * 2.0**100, dim),
    ],
    ids=["mean", "relaxed"],
)
@pytest.mark.parametrize("dim", [1, 5, 10**6])
@pytest.mark.parametrize("log_alpha", [-1e3, -1e58, -3e59])
def test_where_both_ways_meet(make: Any, dim: int, log_alpha: float) -> None:
    """Just below and above the last shift that ncx2 takes: beyond, a curve that hides no more."""
    low, high = (make(share, dim) for share in (1.0, 1.0 + 1e-12))
    assert type(low) is not type(high)
    for one, other in ((low, high), (low.inverse(), high.inverse())):
        first, second = one.log_power(log_alpha), other.log_power(log_alpha)
        assert second >= first * (1.0 + 1e-9)
        assert second == 0.0 or log_alpha < -1e57
        for delta in (0.3, 0.0):
            assert other.epsilon(delta) >= one.epsilon(delta) * (1.0 - 1e-9)


@pytest.mark.parametrize("size", HUGE)
def test_nothing_is_hidden(size: float) -> None:
    """A target this far out is identified without error, for any sample."""
    both = [gaussian_mean(size, 20, 3), relaxed_gaussian(size, 3)]
    for curve in [*both, *(one.inverse() for one in both), *(one.symmetrized() for one in both)]:
        alpha = np.array([1e-300, 0.1, 1.0])
        np.testing.assert_array_equal(curve.power(alpha), 1.0)
        np.testing.assert_array_equal(curve(alpha), 0.0)
        assert curve.advantage() == curve.auc() == curve.delta(1.0) == curve.delta(-1.0) == 1.0
        assert curve.log_power(-1e3) == 0.0
        assert curve.epsilon(1e-5) > 1e58
        assert curve.epsilon(1.0) == 0.0
        assert curve.ppv(0.1, 0.5) == pytest.approx(1 / 1.1)
    assert both[0](0.0) == both[1](0.0) == 1.0  # the ratio is bounded, or the law reaches 0


def test_elements_keep_their_own_curves() -> None:
    mixed = gaussian_mean([1e300, 9.0, 1e100], 20, 5)
    for i, distance in enumerate((1e300, 9.0, 1e100)):
        alone = gaussian_mean(distance, 20, 5)
        for one, whole in ((alone, mixed), (alone.inverse(), mixed.inverse())):
            assert whole.power(0.1)[i] == one.power(0.1)
            assert whole.epsilon([0.1, 0.0]).tolist()[i] == one.epsilon([0.1, 0.0]).tolist()
            assert whole.delta([-1.0, 2.0]).tolist()[i] == one.delta([-1.0, 2.0]).tolist()
            assert whole.auc()[i] == one.auc()
    assert repr(mixed).startswith("gaussian_mean([1.e+300, 9.e+000, 1.e+100], n=")
    assert repr(mixed.inverse()) == f"{mixed!r}.inverse()"
    assert repr(mixed.inverse().inverse()) == repr(mixed)
    dims = relaxed_gaussian(1.5, [1, 3])
    for i in (0, 1):
        for number in ("power", "__call__"):
            one = getattr(relaxed_gaussian(1.5, 1 + 2 * i), number)(0.1)
            assert getattr(dims, number)(0.1)[i] == pytest.approx(one, rel=1e-14)
    scales = shifted_gaussian([1.0, 1.0], [2.0, 0.5])
    for i, scale in enumerate((2.0, 0.5)):
        alone = shifted_gaussian(1.0, scale).epsilon(1e-20, "forward")
        assert scales.epsilon(1e-20, "forward")[i] == pytest.approx(alone, rel=1e-12)
    lengths = relaxed_gaussian([2.0, 1e200], 3)
    assert lengths.power(0.1)[0] == relaxed_gaussian(2.0, 3).power(0.1)
    assert lengths.symmetrized().power(0.1)[1] == 1.0


def test_rates_beyond_the_quantiles_of_chi2() -> None:
    """The log of alpha is half of a squared length, 1.2e200, and that of power half a square."""
    power = relaxed_gaussian(1e100, 3).log_power(-0.6e200)
    assert power == pytest.approx(-0.5e200 * (np.sqrt(1.2) - 1.0) ** 2, rel=1e-9)


def test_the_ratio_of_a_length_that_hides_nothing() -> None:
    """It is mu^2/2 up or down, for all of both laws."""
    curve = relaxed_gaussian(1e100, 3)
    for direction in ("forward", "reverse"):
        assert curve.delta([0.49e200, 0.51e200], direction).tolist() == [1.0, 0.0]
        assert curve.epsilon(0.5, direction) == pytest.approx(0.5e200)


def test_the_hull_of_a_sample_of_a_curve_that_hides_nothing() -> None:
    """Beside alpha = 0, where f is 1, its corners are (0, 1 - rate) and (1 - rate, 0)."""
    hull = relaxed_gaussian(1e100, 3).subsample(0.25).symmetrized()
    np.testing.assert_allclose(
        hull([1e-9, 0.3, 0.75, 0.9]), [0.75 - 1e-9, 0.45, 0.0, 0.0], atol=1e-15
    )


def test_sums_of_squares_do_not_overflow() -> None:
    for weights in ("optimal", "equal"):
        curve = compose_relaxed_gaussian([3e200, 4e200], 3, weights)
        assert curve.power(1e-9) == 1.0
        with pytest.raises(ValueError, match="mus"):
            compose_relaxed_gaussian([1.7e308, 1.7e308], 3, weights)


def test_error_rates_up_to_the_last_noncentrality() -> None:
    """The ratio is -M/(2 (n-1)) or M/(2n), up to a share of 1e-28 of it."""
    n, distance = 16, 2.0**196
    for share, alpha, beta in ((-1.01, 1.0, 0.0), (-0.99, 0.0, 0.0)):
        found = sequential.error_rates(share * distance / (2.0 * (n - 1)), distance, n, 3)
        assert found == (alpha, beta)
    for share, alpha, beta in ((0.99, 0.0, 0.0), (1.01, 0.0, 1.0)):
        assert sequential.error_rates(share * distance / (2.0 * n), distance, n, 3) == (alpha, beta)
    ends = sequential.error_rates([-np.inf, np.inf, np.nan], distance, n, 3)
    np.testing.assert_array_equal(ends, [[1.0, 0.0, np.nan], [0.0, 1.0, np.nan]])


@pytest.mark.parametrize("distance", HUGE)
@pytest.mark.parametrize("steps", [1, 3])
def test_error_rates_beyond_are_refused(distance: float, steps: int) -> None:
    said = r"squared_mahalanobis=.* must be <= 1.60694e\+59 with n=10"
    with pytest.raises(ValueError, match=said):
        sequential.error_rates(0.0, [1.0, distance], 10, 3)
    with pytest.raises(ValueError, match=said):
        sequential.uniform_error_rates(0.0, distance, 10, 3, steps)


@pytest.mark.parametrize("make", [subsampled_gaussian, subsampled_laplace])
def test_too_many_steps_are_refused(make: Any) -> None:
    for count in (10**7 + 1, 2**53, 2**64 - 1, 10**400):
        with pytest.raises(
            ValueError, match=r"num_steps=.* must be in \[1, 10000000\]|num_steps=.* 2\*\*53"
        ):
            make(2.0, 0.25, count)
    step = make(2.0, 0.25, 10**6)
    with pytest.raises(ValueError, match="steps in curves=11000000"):
        compose([(step, 11)])
    assert subsampled_gaussian(2.0, 1.0, 2**40).mu == 2.0**19  # a closed form
    assert compose([(gaussian(1.0), 2**40)]).mu == 2.0**20


def test_many_informative_steps_are_bounded_or_refused() -> None:
    """Their tilts may overflow: an error with the curve's name then, and never NaN."""
    curve = subsampled_gaussian(1.0, 0.25, 10**7)
    low = high = 0.0
    try:
        low, high = curve.interval("epsilon", 1e-5)
    except RuntimeError as error:
        if "num_steps=10000000" not in str(error):
            raise
    assert 0.0 <= low <= high


@pytest.mark.parametrize("dim", [1, 2, 50])
@pytest.mark.parametrize("mu", [1e9, 1e11])
def test_deltas_next_to_the_limit(mu: float, dim: int) -> None:
    """At epsilon = mu^2/2 -+ t mu: Phi(t), and in reverse the law of a length below t.

    The direction costs about log(mu) / mu deviations, and epsilon has as many digits.
    """
    f, t = relaxed_gaussian(mu, dim), np.array([-2.0, 0.0, 0.5, 3.0])
    square = 0.5 * mu * mu
    rough = 100.0 * dim * np.log(mu) / mu + 1e-15 * dim * mu
    epsilon = square - t * mu
    np.testing.assert_allclose(f.delta(epsilon, "forward"), stats.norm.cdf(t), rtol=rough)
    reverse = f.delta(epsilon[1:], "reverse")
    np.testing.assert_allclose(reverse, stats.chi2.cdf(t[1:] ** 2, dim), rtol=rough)
