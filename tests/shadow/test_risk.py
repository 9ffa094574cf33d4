"""A table of records: against loops, exact tests of scipy and coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscore.shadow import risk
from tests.helpers.parts import ranking

RNG = np.random.default_rng(0)
INCLUDED = RNG.random((40, 300)) < 0.5
GAIN = np.concatenate([np.zeros(200), np.linspace(0, 6, 100)])
SCORES = RNG.normal(size=(40, 300)) + GAIN * INCLUDED


def test_columns_are_those_of_a_loop() -> None:
    table = risk(SCORES, INCLUDED, fpr=0.05, least_power=0.6)
    outside = np.sort(SCORES[~INCLUDED])[::-1]
    assert table.threshold[0] == outside[int(0.05 * outside.size)]
    for j in range(0, 300, 7):
        x, y = SCORES[INCLUDED[:, j], j], SCORES[~INCLUDED[:, j], j]
        t = stats.ttest_ind(x, y).statistic
        unit = np.sqrt(x.size * y.size / 40)
        assert table.shift[0, j] == pytest.approx(t / unit, rel=1e-10)
        hits = int((x > table.threshold[0]).sum())
        assert table.power[0, j] == hits / x.size
        assert table.false_positive_rate[0, j] == (y > table.threshold[0]).mean()
        low = stats.binomtest(hits, x.size, alternative="greater").proportion_ci(0.95).low
        assert table.power_low[0, j] == pytest.approx(low, abs=1e-12)


def test_intervals_are_those_of_the_noncentral_t() -> None:
    table = risk(SCORES, INCLUDED)
    n1 = INCLUDED.sum(axis=0)
    unit = np.sqrt(n1 * (40 - n1) / 40)
    t = table.shift[0] * unit
    for j in range(0, 300, 11):
        assert stats.nct.sf(t[j], 38, table.shift_low[0, j] * unit[j]) == pytest.approx(
            0.025, rel=0.002
        )
        assert stats.nct.cdf(t[j], 38, table.shift_high[0, j] * unit[j]) == pytest.approx(
            0.025, rel=0.002
        )


@pytest.mark.parametrize("confidence", [0.05, 0.2, 0.95])
def test_intervals_of_three_models_far_from_0(confidence: float) -> None:
    """With one degree of freedom t exceeds its own noncentrality with probability .32 to .68."""
    included = np.broadcast_to([[True], [True], [False]], (3, 8))
    scores = np.random.default_rng(2).normal(size=(3, 8))
    table = risk(scores + np.linspace(-300.0, 300.0, 8) * included, included, confidence=confidence)
    unit = np.sqrt(2.0 / 3.0)
    t, low, high = (unit * row[0] for row in (table.shift, table.shift_low, table.shift_high))
    aim = pytest.approx(np.full(8, 0.5 * (1.0 - confidence)), rel=0.01)
    assert stats.nct.sf(t, 1, low) == aim
    assert stats.nct.cdf(t, 1, high) == aim


def test_intervals_cover() -> None:
    rng = np.random.default_rng(3)
    included = np.arange(12)[:, np.newaxis] < 5
    included = np.broadcast_to(included, (12, 20_000))
    for shift in (0.0, 2.0):
        scores = rng.normal(size=(12, 20_000)) + shift * included
        table = risk(scores, included)
        covers = (table.shift_low[0] <= shift) & (shift <= table.shift_high[0])
        assert abs(covers.mean() - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 20_000)


@pytest.mark.parametrize("fpr", [1e-9, 0.001, 0.013, 0.4, 0.999])
@pytest.mark.parametrize("levels", [3, None])
def test_threshold_is_the_least_that_keeps_the_rate(fpr: float, levels: int | None) -> None:
    rng = np.random.default_rng(5)
    scores = rng.standard_t(1, size=(8, 140_000)).astype(np.float32)
    if levels is not None:  # nearly all tie
        scores = np.floor(np.clip(scores, 0, levels))
    included = rng.permuted(np.tile([[True], [False]], (4, 140_000)), axis=0)
    table = risk(scores[:, ::2], included[:, ::2], fpr=fpr)
    outside = np.sort(scores[:, ::2][~included[:, ::2]])[::-1]
    assert table.threshold[0] == outside[int(fpr * outside.size)]


@pytest.mark.parametrize("fpr", [0.5, 0.6])
def test_a_sample_of_records_that_misleads_and_rows_of_several_blocks(fpr: float) -> None:
    """Every other record scores 100, and the threshold lies below; a million scores and more."""
    rng = np.random.default_rng(7)
    included = rng.permuted(np.tile([[True], [False]], (2, 300_000)), axis=0)
    scores = np.where(np.arange(300_000) % 2 == 0, 100.0, rng.integers(0, 9, (4, 300_000)))
    table = risk(scores, included, fpr=fpr)
    outside = np.sort(scores[~included])[::-1]
    assert table.threshold[0] == outside[int(fpr * outside.size)] < 100.0
    for column, side in ((table.power, included), (table.false_positive_rate, ~included)):
        np.testing.assert_array_equal(
            column[0], (side & (scores > table.threshold[0])).sum(axis=0) / 2.0
        )


def test_two_records_agree_or_do_not() -> None:
    included = np.arange(4)[:, np.newaxis] % 2 == np.zeros((1, 2))
    scores = np.random.default_rng(8).normal(size=(4, 2)) + [[0.0, 9.0]] * included
    table = risk({"a": scores, "b": scores, "turned": -scores}, included)
    assert (table.fpr, table.least_power, table.confidence) == (0.01, 0.5, 0.95)
    np.testing.assert_allclose(table.agreement, [[1, 1, -1], [1, 1, -1], [-1, -1, 1]], rtol=1e-12)


def test_agreement_with_ties_is_spearmans() -> None:
    included = np.arange(4)[:, np.newaxis] % 2 == np.zeros((1, 50))
    tied = np.random.default_rng(6).integers(0, 3, size=(2, 4, 50))
    table = risk({"a": tied[0], "b": tied[1], "flat": np.zeros((4, 50))}, included)
    assert np.unique(table.shift[0]).size < 30
    ends = np.clip(table.shift, -1e9, 1e9)  # an older scipy does not rank infinities
    expected = stats.spearmanr(ends[0], ends[1])[0]
    assert table.agreement[0, 1] == pytest.approx(expected, abs=1e-12)
    assert table.agreement[2].tolist() == [0.0, 0.0, 0.0]


def test_attacks_side_by_side() -> None:
    noise = RNG.normal(size=SCORES.shape)
    table = risk({"a": SCORES, "b": 2 * SCORES + 1, "noise": noise}, INCLUDED)
    alone = risk(SCORES, INCLUDED)
    assert table.attacks == ("a", "b", "noise")
    assert table.power[0].tobytes() == alone.power[0].tobytes()
    np.testing.assert_allclose(table.agreement[0], [1.0, 1.0, table.agreement[0, 2]], rtol=1e-4)
    expected = stats.spearmanr(table.shift[0], table.shift[2])[0]
    assert table.agreement[0, 2] == pytest.approx(expected, abs=1e-12)
    assert set(table.top(20)) <= set(range(200, 300))
    assert table.n_certified[2] == 0
    assert table.to_dict()["n_certified"][0] > 5


def test_scores_that_do_not_vary() -> None:
    included = np.array([[1, 0], [1, 1], [0, 1], [0, 0]])
    table = risk([[1.0, 3.0], [1.0, 3.0], [0.0, 3.0], [0.0, 3.0]], included)
    assert table.shift[0].tolist() == [np.inf, 0.0]
    assert (table.shift_low[0] == -np.inf).all()
    assert (table.shift_high[0] == np.inf).all()


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="like scores: one of them is transposed"):
        risk(SCORES, INCLUDED.T)
    with pytest.raises(ValueError, match="2 of 300 records"):
        risk(SCORES, np.where(np.arange(300) < 2, True, INCLUDED))
    with pytest.raises(ValueError, match=r"scores\['noisy'\] must be finite"):
        risk({"good": SCORES, "noisy": np.full(SCORES.shape, np.nan)}, INCLUDED)
    with pytest.raises(ValueError, match="at least 3 target models"):
        risk(SCORES[:2], INCLUDED[:2])
    with pytest.raises(ValueError, match="3 target models, and records"):
        risk(np.zeros((4, 0)), np.zeros((4, 0)))
    with pytest.raises(ValueError, match="1 of 300 records"):
        risk(SCORES, np.where(np.arange(300) < 1, False, INCLUDED))
    with pytest.raises(ValueError, match=r"scores must be below 1e150 in size"):
        risk(1e200 * SCORES, INCLUDED)


def test_the_interval_of_a_ranking_is_that_of_bonett_and_wright() -> None:
    """Their variance of Fisher's transformation, written out; NaN below ten records."""
    rng = np.random.default_rng(9)
    prediction = rng.normal(size=11)
    shift = prediction + 0.4 * rng.normal(size=11)
    width = rng.uniform(0.3, 0.6, size=11)
    found = ranking(prediction, shift, width, 0.9)
    r = stats.spearmanr(prediction, shift)[0]
    error = stats.norm.ppf(0.95) * ((1.0 + r**2 / 2.0) / 8.0) ** 0.5
    ends = np.tanh(np.arctanh(r) + error * np.array([-1.0, 1.0]))
    noise = ((width / stats.norm.ppf(0.95) / 2.0) ** 2).mean()
    expected = [r, *ends, (1.0 - noise / shift.var()) ** 0.5]
    assert list(found) == pytest.approx(expected, rel=1e-12)
    assert 0.0 < found.ceiling < 1.0
    assert np.isnan(list(ranking(prediction[:9], shift[:9], width[:9], 0.9))).all()
    assert ranking(prediction, prediction, 9.0 + width, 0.9) == pytest.approx((1.0, 1.0, 1.0, 0.0))
