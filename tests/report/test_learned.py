"""Scores that are learned from rounds which are not judged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from leakscore_app.report.engine import learned

ERROR = np.sqrt(0.5 / 20_000)


def _advantage(pair: learned.Pair) -> float:
    """At 0, where both are as likely."""
    return float((pair[0] > 0).mean() - (pair[1] > 0).mean())


def test_the_quadratic_score_of_two_normal_laws() -> None:
    """It has the total variation of N(0, 1) and N(.3, .6^2), whatever increasing map is seen."""
    rng, points = np.random.default_rng(1), np.linspace(-9, 9, 100_001)
    gaps = np.abs(norm.pdf(points, 0.3, 0.6) - norm.pdf(points))
    expected = float(gaps.sum() * (points[1] - points[0]) / 2)
    laws = ((0.3, 0.6), (0.0, 1.0))
    for size, losses in ((2500, 0.02), (20_000, 0.004)):
        drawn, seen = (
            tuple(np.sinh(3 * rng.normal(*law, size=(count, 1))) for law in laws)
            for count in (size, 20_000)
        )
        result = _advantage(learned.quadratic(drawn, seen))
        assert expected - losses - 4 * ERROR < result < expected + 4 * ERROR


def test_the_quadratic_score_looks_along_all_directions() -> None:
    """Of two directions the spread of the second is narrower; the same one twice is no harm."""
    rng = np.random.default_rng(2)
    drawn, seen = (
        tuple(rng.normal(size=(20_000, 2)) * scale for scale in ([1.0, 0.5], [1.0, 1.0]))
        for _ in range(2)
    )
    cut = np.sqrt(2 * np.log(2) / 3)  # where both densities are the same, as a share of 1
    expected = 2 * (norm.cdf(2 * cut) - norm.cdf(cut))
    assert _advantage(learned.quadratic(drawn, seen)) == pytest.approx(expected, abs=0.01)
    drawn, seen = (tuple(each[:, [1, 1]] for each in pair) for pair in (drawn, seen))
    assert _advantage(learned.quadratic(drawn, seen)) == pytest.approx(expected, abs=0.01)


def test_nearest_rounds_tell_points_apart() -> None:
    """With the record at even numbers, without it at odd ones: no threshold tells them."""
    rng = np.random.default_rng(3)
    for blur in (0.1, 0.0):
        drawn, seen = (
            tuple(
                2 * rng.integers(8, size=2000) + odd + rng.normal(0, blur, 2000) for odd in (0, 1)
            )
            for _ in range(2)
        )
        assert _advantage(learned.nearest(drawn, seen)) > 0.98


def test_rounds_without_a_fit_have_no_score() -> None:
    rng = np.random.default_rng(4)
    drawn, seen = (tuple(rng.normal(size=(2, 500, 1))) for _ in range(2))
    for pair in (drawn, seen):
        pair[1][::7] = np.nan
    both = (
        learned.quadratic(drawn, seen),
        learned.nearest(tuple(each[:, 0] for each in drawn), tuple(each[:, 0] for each in seen)),
    )
    for with_it, without in both:
        assert np.isfinite(with_it).all()
        assert np.flatnonzero(np.isnan(without)).tolist() == list(range(0, 500, 7))


def test_a_number_that_never_moves_tells_nothing() -> None:
    """As of a column that only records without weight have."""
    rng = np.random.default_rng(3)
    drawn, seen = (
        tuple(rng.normal(size=(400, 2)) * scale for scale in ([1.0, 0.5], [1.0, 1.0]))
        for _ in range(2)
    )
    still = [tuple(np.insert(each, 1, 0.0, axis=1) for each in pair) for pair in (drawn, seen)]
    for pair, same in zip(learned.normal(drawn, seen), learned.normal(*still), strict=True):
        np.testing.assert_allclose(same, pair, rtol=1e-9, atol=1e-9)
