"""Lower convex hulls of a curve and its inverse: against hulls of many points, and integrals."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats
from scipy.integrate import quad
from scipy.spatial import ConvexHull

from leakscore.tradeoff import gaussian, relaxed_gaussian, relaxed_laplace
from tests.oracles import relaxed as oracle
from tests.tradeoff.public_curves import MADE

MU, RATE = 0.9624059709921614, 0.016834775128300537  # three chords between four arcs


def test_a_hull_of_three_chords() -> None:
    """A sub-sampled magnitude, from its closed form: f, points of it swapped, and their hull."""
    alpha = np.concatenate([[0.0], np.geomspace(1e-9, 1e-3, 400), np.linspace(1e-3, 1.0, 100_001)])
    shrunk = np.exp(-MU)
    with np.errstate(divide="ignore"):
        beta = np.where(
            alpha < shrunk, 1.0 - alpha * np.cosh(MU), 0.5 * shrunk * (1.0 / alpha - alpha)
        )
    beta = (1.0 - RATE) * (1.0 - alpha) + RATE * beta
    # As falls below the line 1 - alpha, which are small: hulls are sought in units of them.
    x, fall = np.r_[alpha, beta], np.tile(1.0 - alpha - beta, 2)
    corners = ConvexHull(np.c_[x, fall / fall.max()]).vertices
    upper = corners[np.argsort(x[corners])]
    curve = relaxed_laplace(MU).subsample(RATE)
    hull = curve.symmetrized()
    places = np.linspace(0.0, 1.0, 5001)
    exact = 1.0 - places - np.interp(places, x[upper], fall[upper])
    np.testing.assert_allclose(hull(places), exact, rtol=0, atol=1e-11)
    np.testing.assert_allclose(hull.power(places), 1.0 - exact, rtol=0, atol=1e-11)
    both = np.minimum(curve(places), curve.inverse()(places))
    assert (both - hull(places)).max() > 1e-5  # the chords matter
    area = float(np.trapezoid(fall[upper], x[upper]))
    assert hull.auc() == pytest.approx(0.5 + area, abs=1e-10)
    for epsilon in (-0.01, -1e-3, 0.0, 1e-4, 3e-3, 0.007, 0.012, 0.016):
        largest = (fall - np.expm1(epsilon) * x)[upper].max()
        assert hull.delta(epsilon) == pytest.approx(largest, abs=1e-11)


@pytest.mark.parametrize(("mu", "dim"), [(0.5, 1), (2.0, 1), (1.5, 3), (3.0, 40)])
def test_areas_below_hulls(mu: float, dim: int) -> None:
    """Twice the area of f down to slope -1, less what both arcs share, and that of the chord."""
    with mp.workdps(oracle.digits(mu)):
        cut = oracle.cut(0.0, mu, dim)
        start, end = (float(rate) for rate in oracle.lengths(cut, mpf(mu), dim)[::3])
    below = partial(quad, lambda y: stats.ncx2.cdf(y, dim, mu * mu) * stats.chi2.pdf(y, dim))
    steps = [float(cut) + step for step in (0.0, 5.0, 15.0, 40.0, 160.0)]
    arc = sum(below(*ends, epsabs=1e-15, epsrel=1e-13)[0] for ends in pairwise(steps))
    area = 2.0 * arc - start * end + 0.5 * (end**2 - start**2)
    hull = relaxed_gaussian(mu, dim).symmetrized()
    assert hull.auc() == pytest.approx(1.0 - area, rel=1e-13)
    for share in (0.1, 0.9):  # of the chord
        alpha = start + share * (end - start)
        assert hull(alpha) == pytest.approx(start + end - alpha, rel=1e-12)
        assert hull.power(alpha) == pytest.approx(1.0 - (start + end - alpha), rel=1e-12)


def test_hulls_of_which_a_chord_has_no_length() -> None:
    """Beside others in an array: of a shift of infinity, and of one that hides nothing."""
    hull = relaxed_laplace([1.0, np.inf, 2e3]).symmetrized()
    one = relaxed_laplace(1.0).symmetrized()
    for alpha in (1e-9, 0.3, 0.4, 0.5, 1.0):
        np.testing.assert_allclose(hull(alpha), [one(alpha), 0.0, 0.0], rtol=1e-14, atol=1e-300)
        np.testing.assert_allclose(hull.power(alpha), [one.power(alpha), 1.0, 1.0], rtol=1e-14)
    assert hull(0.0).tolist() == [1.0, 0.0, 1.0]


def test_a_chord_from_rare_powers_to_common_ones() -> None:
    """Sub-sampled at 1e-9, it has slope -1 from alpha = 3e-7 on: power is alpha and the gain."""
    hull = gaussian(10.0).subsample(1e-9).symmetrized()
    gain = 1e-9 * mp.erf(mpf(10) / mp.sqrt(8))
    for alpha in (1e-6, 1e-3, 0.3, 0.9999):
        power = alpha + gain
        assert hull.power(alpha) == pytest.approx(float(power), rel=1e-14)
        assert hull.log_power(np.log(alpha)) == pytest.approx(float(mp.log(power)), rel=1e-13)
        assert hull(alpha) == pytest.approx(float(1 - power), rel=1e-11)


@pytest.mark.parametrize("name", MADE)
def test_the_hull_of_the_inverse_is_that_of_the_curve(name: str) -> None:
    alpha = np.r_[np.geomspace(1e-12, 0.1, 12), np.linspace(0.2, 1.0, 9)]
    for make, _ in MADE[name]:
        curve = make()
        if curve.shape and name == "tradeoff.gaussian_mean":  # takes the hull of one
            continue
        inverse = curve.inverse()
        hull = inverse.symmetrized().power(alpha)
        np.testing.assert_allclose(hull, curve.symmetrized().power(alpha), rtol=1e-12)
        assert (hull >= np.maximum(curve.power(alpha), inverse.power(alpha)) * (1 - 1e-12)).all()
