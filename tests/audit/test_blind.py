"""Are members and non-members alike: levels by enumeration and simulation, power, bad input."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from leakscore import audit


def test_the_law_of_a_sum_of_ranks_is_that_of_all_ranks() -> None:
    for canaries, decoys in ((1, 4), (1, 19), (2, 9), (3, 2), (4, 3)):
        sums = [sum(ranks) for ranks in product(range(decoys + 1), repeat=canaries)]
        for total in range(canaries * decoys + 1):
            expected = Fraction(sum(each <= total for each in sums), len(sums))
            ranks = [min(decoys, max(0, total - k * decoys)) for k in range(canaries)]
            others = [[1.0] * rank + [-1.0] * (decoys - rank) for rank in ranks]
            result = audit.rank_test(np.zeros(canaries), others)
            assert np.nextafter(result.p_value, 0.0) < expected <= Fraction(result.p_value)
            assert result.ranks.tolist() == ranks


def test_a_tail_of_many_canaries_keeps_its_digits() -> None:
    """P(all ranks are 0), and the normal law in the middle."""
    result = audit.rank_test(np.ones(40), np.zeros((40, 99)))
    assert result.p_value == pytest.approx(1e-80, rel=3e-16)
    assert [audit.rank_test(1.0, [0.0] * m).p_value for m in (19, 99)] == [0.05, 0.01]
    rng = np.random.default_rng(0)
    decoys = rng.normal(size=(200, 99))
    result = audit.rank_test(np.zeros(200), decoys)
    spread = np.sqrt(200 * (100**2 - 1) / 12)
    normal = stats.norm.cdf((result.ranks.sum() + 0.5 - 200 * 49.5) / spread)
    assert result.p_value == pytest.approx(normal, abs=2e-3)


def test_ties_and_infinite_scores_count_against_the_canary() -> None:
    result = audit.rank_test([1.0, np.inf], [[1.0, 0.0, 2.0], [np.inf, 1.0, -np.inf]])
    assert result.ranks.tolist() == [2, 1]
    assert result.p_values.tolist() == [0.75, 0.5]


def test_ranks_are_uniform_if_canaries_are_like_decoys() -> None:
    rng = np.random.default_rng(1)
    drawn = [audit.rank_test(*_alike(rng)).p_value for _ in range(2000)]
    for level in (0.05, 0.2, 0.5):
        share, error = np.mean(np.array(drawn) <= level), np.sqrt(level * (1 - level) / 2000)
        assert level - 4 * error - 0.02 < share < level + 4 * error


def _alike(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    scores = rng.normal(size=(5, 20))
    return scores[:, 0], scores[:, 1:]


def test_p_values_of_all_labellings_of_eight_records_are_valid() -> None:
    """Every half of eight records is the members once: the p-value is at most u in u of them."""
    features = np.random.default_rng(2).normal(size=(8, 2))
    halves = [np.isin(np.arange(8), chosen) for chosen in combinations(range(8), 4)]
    checks = [audit.blind_check(features, member, rng=3, relabellings=400) for member in halves]
    p_values = np.array([check.p_value for check in checks])
    columns = np.array([check.column_p_values.min() for check in checks])
    for level in (0.05, 0.1, 0.25, 0.5):
        error = np.sqrt(level * (1 - level) / 400)  # of the re-labellings that were drawn
        assert (p_values <= level).mean() <= level + 4 * error
        assert (columns <= level).mean() <= level + 4 * error
    assert (p_values <= 0.3).mean() > 0.15
    # Both columns' shares of a level are used: the extreme sums of four ranks have p-values 2/35.
    assert 0.6 * 0.17 < (columns <= 0.17).mean() <= 0.17


def test_p_values_are_uniform_if_members_are_a_random_subset() -> None:
    rng = np.random.default_rng(4)
    drawn = np.array(
        [
            audit.blind_check(
                rng.normal(size=(40, 2)), rng.permutation(40) < 20, rng=rng, relabellings=99
            ).p_value
            for _ in range(600)
        ]
    )
    for level in (0.05, 0.2, 0.5):
        error = np.sqrt(level * (1 - level) / 600)
        assert abs((drawn <= level).mean() - level) < 4 * error


def test_classes_of_other_times_are_told_apart() -> None:
    rng = np.random.default_rng(5)
    member = np.arange(400) < 150
    features = np.column_stack([rng.normal(size=400) + 0.8 * member, rng.normal(size=(400, 3))])
    check = audit.blind_check(features, member, rng=6)
    assert check.p_value == 0.001
    assert (check.members, check.nonmembers) == (150, 250)
    exact = stats.mannwhitneyu(features[member, 0], features[~member, 0]).statistic / (150 * 250)
    assert check.column_auc[0] == pytest.approx(exact, rel=1e-12)
    assert check.column_p_values[0] == pytest.approx(0.004)
    assert (check.column_p_values[1:] > 0.01).all()
    turned = audit.blind_check(-features, member, rng=6)
    assert turned.p_value == 0.001
    assert turned.column_p_values[0] == pytest.approx(0.004)


def test_columns_that_tell_together_alone_are_seen() -> None:
    """Two columns that differ together alone: neither tells by itself."""
    rng = np.random.default_rng(8)
    member = np.arange(2000) % 2 == 0
    shared = 3.0 * rng.normal(size=2000)
    features = np.column_stack([shared + 0.1 * member, shared + rng.normal(size=2000) * 0.25])
    check = audit.blind_check(features, member, rng=8)
    assert check.p_value <= 0.01
    assert (check.column_p_values > 0.05).all()


@pytest.mark.parametrize("far", [1e18, 8.99e307])
def test_a_value_far_out_hides_nothing(far: float) -> None:
    member = np.arange(40) < 20
    features = np.random.default_rng(0).normal(size=(40, 1)) + 3 * member[:, np.newaxis]
    features[0] = far
    check = audit.blind_check(features, member, rng=0)
    assert check.p_value == check.column_p_values[0] == 0.001
    assert check.column_auc[0] > 0.98
    offset = audit.blind_check(1e12 + member[:, np.newaxis].astype(float), member, rng=0)
    assert offset.p_value == 0.001


def test_a_p_value_is_never_0() -> None:
    assert audit.rank_test(np.ones(1075), np.zeros((1075, 1))).p_value > 0


def test_seeds_layouts_and_constant_columns() -> None:
    rng = np.random.default_rng(9)
    features = np.column_stack([rng.normal(size=60), np.full(60, 1e300), np.zeros(60)])
    member = rng.permutation(60) < 25
    first = audit.blind_check(features, member, rng=1)
    assert first == audit.blind_check(np.asfortranarray(features), member.astype(int), rng=1)
    assert first.column_p_values.tolist()[1:] == [1.0, 1.0]
    assert first.seed == 1


@pytest.mark.parametrize(
    ("features", "member", "words"),
    [
        (np.zeros((7, 1)), np.arange(7) < 3, "features"),
        (np.zeros((9, 1)), np.ones(9, dtype=bool), "both members and non-members"),
        (np.zeros((9, 1)), np.arange(8) < 3, "member"),
        (np.full((9, 1), np.nan), np.arange(9) < 3, "features"),
    ],
)
def test_bad_tables_are_named(features: np.ndarray, member: np.ndarray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit.blind_check(features, member, rng=0)


@pytest.mark.parametrize(
    ("score", "decoys", "words"),
    [
        ([1.0, 2.0], [[1.0, 2.0]], "shape"),
        ([], np.zeros((0, 3)), "at least 1"),
        ([1.0], np.zeros((1, 0)), "at least 1"),
        ([np.nan], [[1.0]], "score must hold no NaN"),
        ([1.0], [[np.nan]], "decoys must hold no NaN"),
        (np.zeros(5000), np.ones((5000, 5000)), "takes too long"),
    ],
)
def test_bad_scores_are_named(score: object, decoys: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit.rank_test(score, decoys)  # type: ignore[arg-type]
