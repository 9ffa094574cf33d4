"""What counts prove is rounded to the safe side: epsilon, mu, curves and areas, in 40 digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import _core
from leakscore.audit import Audit, Split, one_run
from leakscore.distributions import clopper_pearson
from leakscore.tradeoff import gaussian
from tests.helpers.parts import (
    Band,
    Family,
    band,
    gaussian_epsilon,
    largest_mu,
    largest_parameter,
    margins,
)

MISS = 1.0 - 0.95


def test_epsilon_at_one_threshold_is_rounded_down() -> None:
    """From the bounds of Clopper and Pearson, and their complements, as they are."""
    rng = np.random.default_rng(9)
    with mp.workdps(40):
        for _ in range(60):
            n = int(10 ** rng.uniform(1.5, 7))
            k0, k1 = (int(x) for x in rng.integers(0, max(1, n // 20), 2))
            for delta in (0.0, 1e-3):
                audit = Audit.from_counts([-np.inf, 0.0, np.inf], [k1, n - k1], [n - k0, k0])
                found = audit.epsilon(delta, method=Split(threshold=0.0)).epsilon
                bounds = sorted(clopper_pearson(k, n, alpha=0.5 * MISS) for k in (k0, k1))
                low, right = mp.mpf(float(bounds[0][0])), mp.mpf(float(bounds[1][1]))
                exact = mp.log((right - mp.mpf(delta)) / low)
                assert 0.0 < float(exact - found) < 2e-15 * (1.0 + float(exact))


def test_epsilon_of_right_guesses_is_rounded_down() -> None:
    """The logit of a bound, from it and its complement as they are."""
    rng = np.random.default_rng(10)
    with mp.workdps(40):
        for _ in range(60):
            made = int(10 ** rng.uniform(1.5, 6))
            correct = int(rng.integers(made * 3 // 4, made + 1))
            included = np.arange(2 * made) < made + 1 - correct
            included[made : made + correct] = True
            found = one_run(np.arange(2.0 * made), included, made, 0).epsilon
            share, rest = clopper_pearson(correct, made, alpha=MISS, side="lower")
            exact = mp.log(mp.mpf(float(share)) / mp.mpf(float(rest)))
            assert 0.0 < float(exact - found) < 4e-15 * (1.0 + float(exact))


@pytest.mark.parametrize("method", ["dkw", "ks", "weighted-ell", "berk-jones"])
def test_epsilon_of_a_band_is_rounded_down(method: str) -> None:
    """The same of the best of all thresholds, from the bounds of a band as they are."""
    sizes = 3000, 2000
    bands: list[Band] = [band(method, n, 0.025) for n in sizes]
    rng = np.random.default_rng(8)
    inside, outside = np.sort(rng.normal(3.0, 1.0, sizes[1])), np.sort(rng.normal(size=sizes[0]))
    rows = _core.score_epsilon(outside, inside, np.array([0.0, 1e-4]), bands[0].core, bands[1].core)
    for d, delta in enumerate((0.0, 1e-4)):
        found, (fpr, fnr) = float(rows[0][d]), (float(rows[5][d]), float(rows[6][d]))
        assert {fpr, fnr} == {
            float(bands[0](int((outside > rows[1][d]).sum()))),
            float(bands[1](int((inside <= rows[1][d]).sum()))),
        }
        with mp.workdps(40):
            low, high = sorted((mp.mpf(fpr), mp.mpf(fnr)))
            exact = mp.log((1 - mp.mpf(delta) - high) / low)
            assert 1e-16 < float(exact - found) < 5e-15 * (1.0 + float(exact))


def test_epsilon_of_any_two_rates_is_rounded_down() -> None:
    """The bands are two random numbers each, some tiny, some with a sum of almost 1 - delta."""
    rng = np.random.default_rng(12)
    knots = np.array([0, 1])
    with mp.workdps(40):
        for case in range(400):
            delta = float(rng.choice([0.0, 1e-3, 0.1]))
            low = float(10 ** rng.uniform(-14, -2))
            high = float(rng.uniform(low, 1.0 - delta - 2.0 * low)) if case % 2 else 3.0 * low
            if not case % 4:
                high = 1.0 - delta - low * float(rng.uniform(1.5, 9.0))
            bands = [(0.0, knots, np.array([rate, 1.0])) for rate in (low, high)]
            rows = _core.score_epsilon(np.zeros(1), np.ones(1), np.array([delta]), *bands)
            left = 1 - mp.mpf(delta) - mp.mpf(high)
            exact = mp.log(left / mp.mpf(low))
            spare = float(exact - float(rows[0][0]))
            assert 0.0 < spare < 1e-15 * (2.0 + float(exact)) + 5e-16 / float(left)


def test_mu_is_rounded_down() -> None:
    rng = np.random.default_rng(6)
    rates = 10.0 ** rng.uniform(-12, -0.5, (40, 2))
    near_half = np.stack([0.5 - 10.0 ** rng.uniform(-9, -3, 40), rates[:, 1]], axis=1)
    for fpr, fnr in np.concatenate([rates, near_half]):
        found, _ = largest_mu(np.array([fpr]), np.array([fnr]))
        with mp.workdps(40):
            exact = -sum(mp.sqrt(2) * mp.erfinv(2 * mp.mpf(x) - 1) for x in (fpr, fnr))
            assert -1e-300 < float(exact - max(found, 0.0)) < 4e-15 * (1.0 + abs(float(exact)))
            assert float(exact) > found


def test_a_curve_is_refuted_beyond_its_rounding_only() -> None:
    """On the curve itself, in high precision: within the rounding of f, which is no evidence."""
    for mu in (0.3, 1.0, 4.0):
        curve = gaussian(mu)
        fpr = np.geomspace(1e-9, 0.5, 60)
        with mp.workdps(40):
            fnr = np.array(
                [
                    float(mp.ncdf(-mp.sqrt(2) * mp.erfinv(2 * mp.mpf(a) - 1) - mp.mpf(mu)))
                    for a in fpr.tolist()
                ]
            )
        assert (margins(curve, fpr, fnr) < 0.0).all()
        assert (margins(curve, fpr, fnr * (1.0 - 5e-13)) > 0.0).all()
        # The first parameter that the search tries is the upper limit, and is not refuted either.
        for point in np.stack([fpr, fnr], axis=1):
            low = mu - min(mu, 1.0)
            rates = point[:1], point[1:]
            assert largest_parameter(Family(gaussian, None), *rates, (low, mu))[0] < mu


def test_an_epsilon_of_a_gaussian_curve_is_rounded_down() -> None:
    """Its delta, in high precision, is still above the requested one."""
    for mu in (0.2, 1.0, 5.0):
        for delta in (1e-12, 1e-5, 0.01):
            found = float(gaussian_epsilon(mu, np.array(delta)))

            def excess(epsilon: Any, mu: float = mu, delta: float = delta) -> Any:
                x = epsilon / mp.mpf(mu)
                upper = mp.ncdf(-x + mp.mpf(mu) / 2)
                return upper - mp.exp(epsilon) * mp.ncdf(-x - mp.mpf(mu) / 2) - mp.mpf(delta)

            with mp.workdps(40):
                assert excess(mp.mpf(found)) > 0
                assert excess(mp.mpf(found) * (1 + mp.mpf(5e-13))) < 0


@pytest.mark.parametrize("seed", range(6))
def test_areas_of_a_roc_band_hold_their_rounding(seed: int) -> None:
    """Both ends of the area, and of the advantage, against the bounds of the rows in fractions."""
    rng = np.random.default_rng(seed)
    found = Audit(rng.normal(1.0, 1.0, 301), rng.normal(size=257)).band(0.9, "dkw")
    names = ("fpr_lower", "fpr_upper", "tpr_lower", "tpr_upper")
    rows = {name: [Fraction(x) for x in getattr(found, name).tolist()] for name in names}

    def area(x: list[Fraction], y: list[Fraction]) -> Fraction:
        parts = zip(x, x[1:], y, y[1:], strict=False)
        return sum(((b - a) * (c + d) for a, b, c, d in parts), Fraction(0)) / 2

    exact = (
        area(rows["fpr_upper"], rows["tpr_lower"]),
        area([*rows["fpr_lower"], Fraction(1)], [*rows["tpr_upper"], Fraction(1)]),
    )
    best = (
        max(b - a for a, b in zip(rows["fpr_upper"], rows["tpr_lower"], strict=True)),
        max(b - a for a, b in zip(rows["fpr_lower"], rows["tpr_upper"], strict=True)),
    )
    for (lower, upper), (low, high) in ((found.auc(), exact), (found.advantage(), best)):
        assert 0.0 < float(low - Fraction(lower)) < 6e-14
        assert 0.0 < float(Fraction(upper) - high) < 6e-14
