"""Averages of ratios that are nearly 1, as those of steps of many records: small gains of tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import sequential
from leakscore.sequential import _octaves
from tests.helpers.parts import OctaveCurves, Octaves, rates
from tests.sequential.test_octaves import UNIFORM, equal_sum


@pytest.mark.parametrize(
    "term", [(1e-3, 0.0), (1e-2, 1e-3), (0.3, 0.1)], ids=["mass", "ratio", "far"]
)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("side", [-1.0, 0.0, 1.0])
def test_an_excess_errs_by_shares_of_itself(term: Any, seed: int, side: float) -> None:
    """Ratios of nearly 1: what the best test gains is far below its power, and is still bounded."""
    rounding, moved = term
    rng, sign = np.random.default_rng(seed), (-1.0) ** seed
    outside = rng.random(64)
    outside /= outside.sum()
    tilt = 1e-2 * np.linspace(-1.0, 1.0, 64)
    found = [outside * np.maximum(tilt, 0.0), outside * np.maximum(-tilt, 0.0)]
    moves = moved * outside * (sign > 0), moved * outside * (sign < 0)
    wrong = [np.exp(sign * rounding) * (found[0] + moves[0])]
    wrong.append(np.exp(-sign * rounding) * (found[1] + moves[1]))
    both = np.exp(side * rounding) * outside  # both laws err, too, in the same direction
    rows = [one.reshape(1, 64) for one in (both, both * (1.0 + tilt), *wrong)]
    pair = rows[2], rows[3]
    law = Octaves(1.0, 0.01, *rows[:2], None, 1.0, rounding, 1.02 * moved, (0.0, 0.0), pair)
    curves = OctaveCurves(law)
    c = np.linspace(0.991, 1.009, 40)
    k = curves.tests(c)
    below, below_h1 = (np.append(0.0, np.cumsum(law)) for law in (outside, outside * (1.0 + tilt)))
    gain = (below_h1[-1] - below_h1)[k] - c[:, None] * (below[-1] - below)[k]
    loss = c[:, None] * below[k] - below_h1[k]
    for best, found_low in ((gain, curves.gain_low(c)), (loss, curves.loss_low(c))):
        assert (found_low <= best.max(axis=1)).all()
        wide = 3.0 * np.exp(rounding) * (2e-2 * rounding + moved) + 1e-9
        assert (found_low >= best.max(axis=1) - wide).all()


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The excess of steps that tell much is kept as well."""
    monkeypatch.setattr(_octaves, "_NEARLY_1", 1.0)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("share", [1e-3, 1e-6])
def test_averages_that_are_nearly_1(share: float) -> None:
    """A constant and a small share of uniform ratios: the same rates as without the constant."""
    steps, tests = 60, np.array([0.6, 1.0, 1.45])
    law = _octaves._sum(UNIFORM, np.array([share / steps]), np.array([steps]), 1.0 - share)
    assert law is not None
    curves = OctaveCurves(law)
    for c in tests:
        gamma = np.log1p(share * (c - 1.0))
        alpha, _ = equal_sum(steps, 1.0 + float((np.exp(gamma) - 1.0) / share))
        low, high = rates(curves, curves, np.array([gamma]))[:2, 0]
        assert low <= alpha <= high <= 1.25 * low


def test_many_steps_of_many_records_are_narrow() -> None:
    """Ratios that vary by 1e-3 a step: between the bounds of Berry and Esseen's theorem."""
    steps, n = 100_000, 10**6
    deviation = 3.0 / np.sqrt(n * steps)  # to leading order, as is the error's constant
    gamma = deviation * np.array([0.0, 2.0, 5.0, 7.0])
    alpha, beta = sequential.uniform_error_rates(gamma, 9.0, n, 1, steps)
    assert (alpha.upper <= 1.4 * alpha.lower).all()
    assert (beta.upper <= 1.1 * beta.lower).all()
    from scipy import stats

    normal, error = stats.norm.sf([0.0, 2.0, 5.0, 7.0]), 0.4748 * 1.6 / np.sqrt(steps)
    assert (alpha.lower <= normal + 1.5 * error).all()
    assert (alpha.upper >= normal - 1.5 * error).all()


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("steps", [1, 7])
def test_an_excess_is_what_the_laws_differ_by(steps: int) -> None:
    law = _octaves._sum(UNIFORM, np.array([0.25, 0.5]), np.array([steps, 1]), 0.0)
    assert law is not None
    assert law.excess is not None
    more, less = law.excess
    np.testing.assert_allclose(law.under_h0 + more - less, law.under_h1, rtol=1e-9, atol=1e-15)
