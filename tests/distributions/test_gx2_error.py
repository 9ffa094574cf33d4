"""The stated error of the generalised chi-square law holds where it is hardest, in closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.distributions import gx2
from tests.helpers.gx2_points import moments
from tests.oracles import gx2 as oracle


@pytest.fixture(autouse=True)
def _digits() -> Any:
    with mp.workdps(60):
        yield


def normal_tail(z: Any) -> Any:
    return mp.erfc(z / mp.sqrt(2)) / 2


def holds(x: float, true: Any, *law: Any, most: float = 1e-11, **more: float) -> bool:
    """Whether the tail beyond x, seen from the mean, errs by less than is stated."""
    own = gx2.sf if true[0] else gx2.cdf
    stated = gx2.error(x, *law, **more)
    return bool(abs(mpf(float(own(x, *law, **more))) / true[1] - 1) <= stated < most)


@pytest.mark.parametrize("df", [1e-44, 1e-20, 1e-16])
@pytest.mark.parametrize("weight", [1.0, 1e5])
@pytest.mark.parametrize("x", [2.0, 10.0, 20.0])
def test_a_term_of_hardly_any_df_beside_a_normal_one(df: float, weight: float, x: float) -> None:
    """To the first order in df; far out that term is all of the tail, which no normal law is.

    A small term of the other sign changes nothing.
    """
    w, z = mpf(weight), mpf(x)

    def summand(u: Any) -> Any:
        return (normal_tail(z - u) - normal_tail(z)) * mp.exp(-u / (2 * w)) / u

    ends = [0, 1 / z, z / 2, z, z + 10, z + 50, z + 50 + 4 * w, z + 50 + 60 * w, z + 50 + 200 * w]
    with mp.workdps(25):
        true = normal_tail(z) + mpf(df) / 2 * mp.quad(summand, ends)
    try:
        assert holds(x, (True, true), [weight, -1e-3], df, 0, sigma=1.0)
    except RuntimeError:
        assert x > 2.0  # no convergence


@pytest.mark.parametrize(
    ("m", "n"),
    [(0.05, 0.05), (0.3, 1.0), (1e-3, 1e-3), (1e-4, 2e-4), (1e-5, 1e-5), (1e-7, 2e-7)],
)
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 3.0), (5.0, 0.01)])
def test_where_summands_decay_like_a_power(m: float, n: float, a: float, b: float) -> None:
    """P(a chi2_m > b chi2_n) is a beta law's; the sum's end is a geometric series."""
    share = mpf(a) / (mpf(a) + mpf(b))
    upper = mp.betainc(mpf(n) / 2, mpf(m) / 2, 0, share, regularized=True)
    above = b * n > a * m
    true = above, upper if above else 1 - upper
    assert holds(0.0, true, [a, -b], [m, n], 0, most=1e-12 + 2e-15 / m)


@pytest.mark.parametrize("deviations", [-4.5, -4.0, 3.0, 4.0])
def test_large_df_of_both_signs(deviations: float) -> None:
    """Where terms leave the series the slope that is left cancels against them."""
    law: dict[str, Any] = {"weights": [1.0, -0.5], "df": [2e4, 5e3], "nc": [3e3, 0.0]}
    mean, deviation = moments(**law)
    x = mean + deviations * deviation
    upper, tail, _ = oracle.tail_and_density(x, **law)
    assert holds(x, (upper, tail), *law.values(), most=2e-14)


@pytest.mark.parametrize("nc", [1e32, 1e34])
def test_exponents_that_cancel(nc: float) -> None:
    """The addends of the exponent are 1e17 times as large as it."""
    x, root = 1.4999999999999999e34 * (nc / 1e34), mp.sqrt(mpf(nc))
    q = mp.sqrt(mpf(x) / mpf(1.5))
    assert holds(x, (False, normal_tail(root - q)), [1.5], 1, nc)


def test_crossings_that_are_not_where_doubles_see_them() -> None:
    """Cancelled addends may balance far from the crossing: there a cdf was 1e200."""
    rng = np.random.default_rng(4)
    for _ in range(600):
        nc, w, z = 10 ** rng.uniform(36, 37.5), rng.uniform(1, 2), rng.uniform(30, 60)
        x = float(w * (np.sqrt(nc) - z) ** 2)  # rounded by many deviations
        away = mp.sqrt(mpf(nc)) - mp.sqrt(mpf(x) / mpf(w))
        if not 10 < away < 100:
            continue
        true = mp.log(normal_tail(away))
        try:
            assert abs(gx2.logcdf(x, [w], 1, nc) - true) < 1e-9 * (1 - true)
        except RuntimeError:  # no convergence
            continue


def test_normal_laws_are_skewed() -> None:
    """Next to the mean the skewness, 3e-14, is more than all roundings."""
    nc, x = 1e28, 1.499999999999991e28
    true = normal_tail(mp.sqrt(mpf(nc)) - mp.sqrt(mpf(x) / mpf(1.5)))
    assert holds(x, (False, true), [1.5], 1, nc)


def test_normal_law_of_many_terms() -> None:
    """The variance has a rounding for each; means that cancel have none."""
    weights, nc = np.linspace(1.0, 2.0, 40_000), 1e40
    with mp.workdps(30):
        deviation = mp.sqrt(mp.fsum(4 * mpf(w) ** 2 * (1 + 2 * mpf(nc)) for w in weights))
        for z in (5.0, 37.0):
            x = float(z * deviation)
            true = normal_tail(mpf(x) / deviation)
            assert holds(x, (True, true), np.append(weights, -weights), 1, nc, most=1e-8)


def test_normal_laws_of_huge_noncentralities() -> None:
    """By symmetry Edgeworth's first term is 1/nc; what is left is the rounding of z."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        w, nc, df = rng.uniform(1, 2), 10 ** rng.uniform(37, 60), rng.uniform(0.1, 5)
        deviation = mp.sqrt(4 * mpf(w) ** 2 * (mpf(df) + 2 * mpf(nc)))
        for z in (0.3, 5.0, 20.0, 37.0):
            x = float(z * deviation)
            true = normal_tail(mpf(x) / deviation)
            assert holds(x, (True, true), [w, -w], df, nc), (w, nc, df, z)
