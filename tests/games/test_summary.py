"""`games.summarize`: against scikit-learn, plain loops, and the spread of repeated games."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from leakscore.games import summarize
from leakscore.tradeoff import gaussian


def drawn(seed: int, members: int, others: int, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of the laws N(-mu^2/2, mu^2) and N(mu^2/2, mu^2), and who is a member."""
    rng = np.random.default_rng(seed)
    member = np.arange(members + others) < members
    rng.shuffle(member)
    return np.where(member, 0.5, -0.5) * mu**2 + mu * rng.standard_normal(member.size), member


def test_numbers_are_those_of_plain_loops() -> None:
    score, member = drawn(1, 90, 60, 1.0)
    score = score.round(1)  # ties
    result = summarize(score, member, threshold=0.2, alpha=[0.0, 0.1, 1.0])
    inside, outside = score[member], score[~member]
    assert (result.n_members, result.n_nonmembers) == (90, 60)
    assert result.fpr == np.mean(outside > 0.2)
    assert result.fnr == np.mean(inside <= 0.2)
    assert result.advantage == pytest.approx(1 - result.fpr - result.fnr, abs=1e-15)
    assert result.accuracy == pytest.approx(0.5 + 0.5 * result.advantage, abs=1e-15)
    assert result.auc == pytest.approx(roc_auc_score(member, score), abs=1e-14)
    best = max(np.mean(inside > t) for t in score if np.mean(outside > t) <= 0.1)
    assert result.power.tolist() == [np.mean(inside > outside.max()), best, 1.0]
    assert result.member_mean == pytest.approx(inside.mean(), rel=1e-14)
    assert result.nonmember_variance == pytest.approx(outside.var(ddof=1), rel=1e-14)
    assert result.member_mean_se == pytest.approx(stats.sem(inside), rel=1e-14)


def test_error_of_the_area_is_delongs() -> None:
    score, member = drawn(2, 40, 30, 1.0)
    score = score.round(1)
    better = np.subtract.outer(score[member], score[~member])
    wins = (better > 0) + 0.5 * (better == 0)
    expected = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 30
    assert summarize(score, member).auc_se == pytest.approx(np.sqrt(expected), rel=1e-12)


def test_standard_errors_are_the_spread_of_repeated_games() -> None:
    games, mu = 1500, 1.3
    results = [summarize(*drawn(100 + i, 500, 300, mu), alpha=0.1) for i in range(games)]
    truth = gaussian(mu)
    theory = {
        "advantage": truth.advantage(),
        "accuracy": 0.5 + 0.5 * truth.advantage(),
        "fpr": float(stats.norm.sf(mu / 2)),
        "fnr": float(stats.norm.sf(mu / 2)),
        "auc": truth.auc(),
        "power": truth.power(0.1),
        "member_mean": mu**2 / 2,
        "nonmember_mean": -(mu**2) / 2,
        "member_variance": mu**2,
        "nonmember_variance": mu**2,
    }
    for name, true in theory.items():
        values = np.array([np.ravel(getattr(result, name))[0] for result in results])
        errors = np.array([np.ravel(getattr(result, f"{name}_se"))[0] for result in results])
        # A standard deviation of g games has a relative error of about 1/sqrt(2 g): 4 of them,
        # and 4 % for the local slope that the error of the power is made of.
        assert values.std() == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.073 + 0.04), name
        bias = 0.002 if name == "power" else 0.0  # an observed rate of at most alpha is below it
        assert abs(values.mean() - true) < 4 * values.std() / np.sqrt(games) + bias, name


def test_no_error_seen_is_not_no_error() -> None:
    result = summarize([1.0] * 20 + [-1.0] * 20, [1] * 20 + [0] * 20)
    assert (result.fpr, result.fnr, result.auc, result.auc_se) == (0.0, 0.0, 1.0, 0.0)
    assert result.fpr_se > 0.04
    assert result.advantage_se > 0.06


def test_infinite_scores_are_ordered_and_have_no_moments() -> None:
    result = summarize([np.inf, 1.0, -np.inf, 0.0], [1, 1, 0, 0])
    assert (result.auc, result.fnr, result.fpr) == (1.0, 0.0, 0.0)
    assert np.isnan([result.member_mean, result.nonmember_variance_se]).all()
    assert json.loads(result.to_json())["member_mean"] is None


@pytest.mark.parametrize(
    ("scores", "member", "given", "words"),
    [
        ([], [], {}, "scores must not be empty"),
        ([[1.0, 2.0]], [[0, 1]], {}, "1-D"),
        ([1.0, np.nan], [0, 1], {}, "NaN"),
        ([1.0, 2.0], [0, 1, 1], {}, "member of shape"),
        ([1.0, 2.0], [1, 1], {}, "both members and non-members"),
        ([1.0, 2.0], [0, 2], {}, "member must be in"),
        ([1.0, 2.0], [0, 1], {"alpha": 1.1}, "alpha=1.1"),
        ([1.0, 2.0], [0, 1], {"threshold": np.inf}, "threshold=inf"),
    ],
)
def test_bad_arguments_are_named(scores: list, member: list, given: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        summarize(scores, member, **given)
