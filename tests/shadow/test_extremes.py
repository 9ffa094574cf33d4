"""Far tails, extreme sizes and scales, and outliers that a down-date cannot forget."""

from __future__ import annotations

import tracemalloc
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from leakscore import shadow
from tests.helpers.parts import log_tail, student_isf
from tests.shadow.test_scores import example, rmia


@pytest.mark.parametrize("alpha", [1e-100, 1e-250, 1e-300])
@pytest.mark.parametrize("dof", [1.0, 3.0, 7.0, 10.0, 50.0])
def test_quantiles_beyond_scipy(alpha: float, dof: float) -> None:
    """By mpmath's incomplete beta function; scipy's inverse is infinite at some."""
    t = float(student_isf(np.array(alpha), np.array(dof)))
    with mpmath.workdps(40):
        share = dof / (dof + mpmath.mpf(t) ** 2)
        tail = mpmath.betainc(dof / 2, mpmath.mpf(0.5), 0, share, regularized=True) / 2
        assert abs(float(mpmath.log(tail / mpmath.mpf(alpha)))) < 1e-9


def test_powers_at_the_rarest_false_positives() -> None:
    counts = [2, 3, 4, 6, 8, 11, 100, 1000]
    found = shadow.offline_power(1e-300, 30.0, counts)
    assert (np.diff(found) > 0.0).all()
    assert found[0] > 1e-300
    assert found[-1] < shadow.offline_power(1e-300, 30.0, 10**9)


def test_paired_scores_have_no_unit_or_are_refused() -> None:
    observed, signals, included = example(8, 300, 4)
    expected = shadow.paired(observed, signals, included)
    for scale in (1e-25, 1e25):
        found = shadow.paired(scale * observed, scale * signals, included)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    for scale in (1e-40, 1e40, 1e140):
        with pytest.raises(ValueError, match=r"between the models IN in \[1e-60, 1e\+60\]"):
            shadow.paired(scale * observed, scale * signals, included)


def test_tails_whose_spread_hardly_counts() -> None:
    """A noncentrality far beyond t: as scipy's, where the mode of the spread rounds to 1."""
    t, shift = np.array([0.5, 3.0]), np.array([38.0, 45.0])
    found = log_tail(t, shift, np.array([2.0, 2.0]))
    np.testing.assert_allclose(np.exp(found), stats.nct.sf(t, 2.0, shift), rtol=1e-9)


@pytest.mark.parametrize("dof", [1.0, 3.0])
def test_tails_of_large_shifts(dof: float) -> None:
    """By mpmath, over the normal variable: the edge at shift / t is sharp in the spread."""
    for t, shift in ((36.0, 38.0), (1000.0, 300.0)):
        arguments = (np.array(value) for value in (t, shift, dof))
        found = float(np.exp(log_tail(*arguments)))
        with mpmath.workdps(15):

            def height(z: Any, t: float = t, shift: float = shift) -> Any:
                x = dof / 2 * ((shift + z) / mpmath.mpf(t)) ** 2
                return mpmath.npdf(z) * mpmath.gammainc(dof / 2, 0, x, regularized=True)

            edges = [max(-shift, -12.0), -6, -3, 0, 3, 6, 12]
            assert found == pytest.approx(float(mpmath.quad(height, edges)), rel=1e-8)


def test_tails_that_underflow_far_from_t() -> None:
    """The leading power of t, where the share is less than any double."""
    t, dof = np.array([1e6, 1e7]), np.array([99.0, 99.0])
    found = log_tail(t, np.array([1e3, 1e3]), dof)
    assert found[0] < -600.0
    assert found[1] - found[0] == pytest.approx(-99.0 * np.log(10.0), rel=1e-6)


def test_an_influence_beyond_all_signals_is_refused() -> None:
    observed, signals, included = example(8, 30, 4)
    with pytest.raises(ValueError, match=r"influence must be <= 1e\+100, not 1e\+300"):
        shadow.one_step(observed, signals, included, influence=1e300)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf])
def test_gamma_is_above_zero(gamma: float) -> None:
    observed, signals, included = example(8, 30, 4)
    others = np.arange(5.0)
    with pytest.raises(ValueError, match=r"gamma=\S+ must be in \(0, inf\)"):
        rmia(observed, signals, included, others, np.tile(others, (8, 1)), gamma=gamma)


@pytest.mark.filterwarnings("ignore:The records are in as many models each")
@pytest.mark.parametrize("name", ["lira", "bayes", "base", "one_step", "paired", "difficulty"])
def test_four_models_with_outliers_left_out(name: str) -> None:
    """As plain recomputation; a model at 1e7 standard deviations leaves nothing behind."""
    rng = np.random.default_rng(8)
    included = rng.permuted(np.tile([[True], [True], [False], [False]], (1, 60)), axis=0)
    signals = rng.normal(size=(4, 60)) + included
    signals[rng.integers(4, size=20), np.arange(20)] *= 1e7
    options = {"variance": "pooled"} if name == "lira" else {}
    found = shadow.leave_one_model_out(signals, included, score=name, **options)  # type: ignore[arg-type]
    for model in range(4):
        rest = np.arange(4) != model
        expected = getattr(shadow, name)(signals[model], signals[rest], included[rest], **options)
        scale = np.maximum(1.0, np.abs(expected))
        assert (np.abs(found[model] - expected) / scale).max() < 1e-9


@pytest.mark.parametrize("models", [4, 2000])
def test_choose_and_risk_at_extremes_of_size(models: int) -> None:
    """Four models and many records; four records and many models, two of them left out."""
    rng = np.random.default_rng(9)
    records = 100_000 if models == 4 else 4
    half = rng.random((models // 2, records)) < 0.5
    included = np.stack([half, ~half], axis=1).reshape(models, records)
    signals = rng.standard_normal((models, records), dtype=np.float32) + 2 * included
    table = shadow.risk(signals, included)
    assert abs(float(np.median(table.shift)) - 2.0) < 1.0
    if models == 4:
        name, rates = shadow.choose(signals, included)
        assert rates.keys() == {"base", "one_step"}
        assert name == max(rates, key=rates.__getitem__)
    else:
        scores = shadow.leave_one_model_out(signals, included, score="difficulty")
        assert scores[included].mean() > scores[~included].mean() + 1.5


@pytest.mark.parametrize("complementary", [False, True])
def test_paired_in_blocks_of_records(complementary: bool) -> None:
    """Copies of a record score alike; what all take at once is a part of their sums and laws."""
    rng = np.random.default_rng(8)
    included = np.tile([[True], [False]], (2, 1)) ^ (rng.random((4, 1000)) < 0.5)
    included[1::2] = ~included[::2]
    if not complementary:
        included[0, :2], included[1:, :2] = True, False
    signals = np.tile(rng.normal(size=included.shape) + included, 100)
    observed, included = np.tile(rng.normal(size=1000), 100), np.tile(included, 100)
    tracemalloc.start()
    found = shadow.paired(observed, signals, included)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 265 * found.size  # bytes: sums, and laws of all records
    copies = found.reshape(100, 1000)
    np.testing.assert_allclose(copies, np.broadcast_to(copies[0], copies.shape), rtol=1e-9)


@pytest.mark.filterwarnings("error")
def test_powers_of_extreme_shifts_and_of_very_many_models() -> None:
    for shift in (1e3, 1e20, 1e100):
        assert shadow.offline_power(0.05, shift, 5) == 1.0  # not a rounding above
        assert shadow.online_power([5e-324, 0.05], shift * 1e3, 1, 1).tolist() == [1.0, 1.0]
    assert shadow.online_power(0.05, -1e308, 5, 5) == 1.0
    assert shadow.online_power([0.05, 0.5], 0.0, 1, 1).tolist() == [0.05, 0.5]
    usual = stats.norm.sf(stats.norm.isf(0.05) - 1.0)
    for models in (10**15, 2 * 10**15, 2**53):
        assert shadow.offline_power(0.05, 1.0, models) == pytest.approx(usual, rel=1e-12)
    assert shadow.offline_power(1e-300, -3.0, 10**12, scale=1e-9) == 0.0
    with pytest.raises(ValueError, match=r"shift=1e\+308"):
        shadow.offline_power(0.05, 1e308, 5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("score", [shadow.lira, shadow.bayes])
def test_offline_scores_beyond_all_doubles_are_infinite(score: Any) -> None:
    rng = np.random.default_rng(2)
    signals, included = 1e-130 * rng.normal(size=(12, 50)), np.arange(12)[:, None] % 2 == 0
    observed = np.where(np.arange(50) % 2, 1e200, -1e200)
    found = score(observed, signals, np.repeat(included, 50, axis=1), kind="offline")
    np.testing.assert_array_equal(found, np.where(np.arange(50) % 2, np.inf, 0.0))


@pytest.mark.filterwarnings("error")
def test_law_of_a_logistic_fit_scores_margins_beyond_all_squares() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    law = shadow.logistic_law(X, X[:, 0] + rng.normal(size=40) > 0, train_fraction=0.5, ridge=0.1)
    found = law.score(np.where(np.arange(40) % 2, 1.7e308, -1.7e308))
    assert (found[1::2] == 0.0).all()
    assert (found[::2] < -1e307).all()
