"""The choice between scores."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import shadow
from tests.shadow.test_left_out import auc, balanced


@pytest.mark.parametrize("copies", [1, 8])  # of each record, whose scores tie
@pytest.mark.parametrize("fpr", [None, 0.01, 0.1])
def test_rates_are_those_of_scores_left_out(fpr: float | None, copies: int) -> None:
    noise, included = balanced(10, 400 // copies, 1)
    signals = noise + np.random.default_rng(2).normal(size=400 // copies) + 2 * included
    signals, included = np.tile(signals, copies), np.tile(included, copies)
    name, rates = shadow.choose(signals, included, fpr=fpr)
    assert list(rates) == ["base", "one_step", "paired"]
    assert name == max(rates, key=rates.__getitem__)
    for score, rate in rates.items():
        found = shadow.leave_one_model_out(
            signals,
            included,
            score=score,
            groups=np.arange(10) // 2,  # type: ignore[arg-type]
        )
        members, others = found[included], np.sort(found[~included])[::-1]
        if fpr is None:
            expected = auc(found, included)
        else:
            most = int(fpr * others.size)
            thresholds = [t for t in others if (others > t).sum() <= most]
            expected = (members > min(thresholds)).mean()
        assert rate == pytest.approx(expected, abs=1e-12)


def test_designs_whose_numbers_tell_members_are_warned_of() -> None:
    """Exactly half of the models each: "one_step" is understated, beside fresh targets."""
    rng = np.random.default_rng(4)
    included = rng.permuted(np.tile([[True], [False]], (4, 20_000)), axis=0)
    level = rng.normal(size=20_000)
    signals = rng.normal(size=(8, 20_000)) + included + level
    with pytest.warns(UserWarning, match="as many models each.*understated") as warned:
        _, rates = shadow.choose(signals, included)
    assert [warning.filename for warning in warned] == [__file__]
    member = rng.random((8, 20_000)) < 0.5
    fresh = shadow.one_step(rng.normal(size=(8, 20_000)) + member + level, signals, included)
    truth = (fresh[member] > np.quantile(fresh[~member], 0.99)).mean()
    assert rates["one_step"] < 0.9 * truth  # .0235 and .0311


def test_few_models_do_without_paired() -> None:
    noise, included = balanced(6, 300, 3)
    assert list(shadow.choose(noise + included, included)[1]) == ["base", "one_step"]


def test_models_without_a_partner_are_left_out_alone() -> None:
    noise, included = balanced(10, 300, 4)
    included[:, 0] = np.arange(10) % 3 == 0
    signals = noise + 2.0 * included
    with pytest.warns(UserWarning, match="as many models each"):
        alone = shadow.choose(signals, included, groups=np.arange(10))
    with pytest.warns(UserWarning, match="as many models each"):
        assert shadow.choose(signals, included) == alone


def test_a_score_that_fails_is_left_out() -> None:
    noise, included = balanced(10, 300, 5)
    constant = np.where(included, 1.0, 0.0)  # no variance on either side
    assert list(shadow.choose(constant, included)[1]) == ["base", "one_step"]
    with pytest.raises(ValueError, match="models enough"):
        shadow.choose(noise[:2], included[:2])
    with pytest.raises(ValueError, match="were and were not trained on"):
        shadow.choose(noise, np.zeros(noise.shape, dtype=bool))
