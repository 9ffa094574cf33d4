"""Each model scored by the others: against recomputation, and on pure noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from leakscore import shadow
from tests.oracles import shadow as oracle
from tests.shadow.test_scores import close, example

pytestmark = pytest.mark.usefixtures("digits")

Array = npt.NDArray[Any]
SCORES: dict[str, tuple[Callable[..., Array], dict[str, Any]]] = {
    "lira": (shadow.lira, {}),
    "lira offline": (shadow.lira, {"kind": "offline"}),
    "lira two-sided": (shadow.lira, {"kind": "offline-two-sided"}),
    "lira median": (shadow.lira, {"location": "median"}),
    "lira pooled median": (shadow.lira, {"location": "median", "variance": "pooled"}),
    "lira shrunk": (shadow.lira, {"variance": "shrunk"}),
    "bayes": (shadow.bayes, {}),
    "bayes empirical": (shadow.bayes, {"prior": "empirical", "kind": "offline"}),
    "base": (shadow.base, {}),
    "base offline": (shadow.base, {"kind": "offline", "a": 1.0}),
    "one_step": (shadow.one_step, {}),
    "one_step given": (shadow.one_step, {"influence": 1.5}),
    "paired": (shadow.paired, {}),
    "difficulty": (shadow.difficulty, {}),
}


def recomputed(
    score: Callable[..., Array], signals: Array, included: Array, groups: Array, **options: Any
) -> Array:
    rows = []
    for k in range(len(signals)):
        rest = groups != groups[k]
        rows.append(score(signals[k], signals[rest], included[rest], **options))
    return np.array(rows)


def left_out(name: str, signals: Array, included: Array, groups: Any = None) -> Array:
    return shadow.leave_one_model_out(
        signals, included, score=name.split()[0], groups=groups, **SCORES[name][1]
    )


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("models", [12, 13])
@pytest.mark.parametrize("name", SCORES)
def test_the_same_as_recomputation(name: str, models: int, grouped: bool) -> None:
    _, signals, included = example(models, 30, models)
    included[:4], included[-4:] = [[0], [1], [0], [1]], [[1], [0], [1], [0]]
    groups = np.arange(models) // 3 if grouped else np.arange(models)
    score, options = SCORES[name]
    found = left_out(name, signals, included, groups if grouped else None)
    expected = recomputed(score, signals, included, groups, **options)
    np.testing.assert_allclose(found, expected, rtol=4e-11, atol=4e-11)


@pytest.mark.parametrize("name", SCORES)
def test_what_loses_its_digits_is_summed_anew(name: str) -> None:
    """Models that hold nearly all of a side's squares or confidences, alone or two of them."""
    _, signals, included = example(9, 40, 3)
    signals[2, ::3] += 1e7
    signals[5, ::4] -= 3e5
    signals[7, ::5] = 700.0
    if "base" in name or "one_step" in name:
        signals = np.clip(signals, -600.0, 40.0)
        signals[:, 1] = [-80, -75, -70, -60, -75, 3, -71, 2, -90]
    score, options = SCORES[name]
    found = left_out(name, signals, included)
    expected = recomputed(score, signals, included, np.arange(9), **options)
    np.testing.assert_allclose(found, expected, rtol=4e-11, atol=4e-11)


@pytest.mark.filterwarnings("ignore:The records are in as many models each")  # "no pairs"
@pytest.mark.parametrize("name", ["bayes", "one_step", "one_step drawn", "paired", "base"])
@pytest.mark.parametrize("order", ["in turn", "twice the same", "no pairs"])
def test_pairs_by_recomputation(name: str, order: str) -> None:
    """Complementary pairs, next to each other or not, of equal masks too; some with outliers."""
    _, signals, included = example(12, 40, 8)
    included[1::2] = ~included[::2]
    included[[0, 2, 4, 6], :8], included[[1, 3, 5, 7], :8] = True, False
    if order == "twice the same":
        included[[2, 3]] = included[[0, 1]]
    signals[2, ::7] += 2e6
    signals[5, ::9] -= 3e5
    groups = np.arange(12) // 2 if order != "no pairs" else np.arange(12) // 3
    score, options = SCORES.get(name, (shadow.one_step, {"influence": "per-record"}))
    found = shadow.leave_one_model_out(
        signals, included, score=name.split()[0], groups=groups, **options
    )
    expected = recomputed(score, signals, included, groups, **options)
    np.testing.assert_allclose(found, expected, rtol=4e-11, atol=4e-11)


@pytest.mark.parametrize("name", ["base", "base offline"])
@pytest.mark.parametrize("grouped", [False, True])
def test_records_of_which_all_models_are_certain(name: str, grouped: bool) -> None:
    """Means that differ from 1 by 1e-10 to 1e-35; one model may hold nearly all of that."""
    _, signals, included = example(12, 80, 6)
    included[:4], included[-4:] = [[0], [1], [0], [1]], [[1], [0], [1], [0]]
    signals = signals * 2.0 + np.linspace(50.0, 75.0, 80)
    signals[3, ::5] -= 20.0
    signals[8, 1::5] += 9.0
    groups = np.arange(12) // (2 if grouped else 1)
    score, options = SCORES[name]
    expected = recomputed(score, signals, included, groups, **options)
    assert (np.abs(expected) < 1e-12).any()
    np.testing.assert_allclose(left_out(name, signals, included, groups), expected, rtol=4e-11)


@pytest.mark.parametrize("seed", range(4))
def test_midpoints_that_tie(seed: int) -> None:
    """Signals of few values: sums that are down-dated order records as sums that are not."""
    rng = np.random.default_rng(seed)
    half = rng.random((6, 600)) < 0.5
    included = np.stack([half, ~half], axis=1).reshape(12, 600)
    signals = np.round(rng.normal(size=600) + rng.normal(size=(12, 600)) + included, 1)
    groups = np.arange(12) // 2
    found = shadow.leave_one_model_out(signals, included, score="paired", groups=groups)
    expected = recomputed(shadow.paired, signals, included, groups)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11)


def test_many_digits() -> None:
    _, signals, included = example(9, 5, 4)
    signals[2, 3] += 1e7
    expected = oracle.leave_one_out(oracle.lira, signals, included)
    close(shadow.leave_one_model_out(signals, included), expected, 4e-12)
    groups = np.arange(9) // 2
    found = shadow.leave_one_model_out(signals, included, score="bayes", groups=groups)
    expected = oracle.leave_one_out(oracle.bayes, signals, included, list(groups))
    close(found, expected, 4e-11)


def test_float32_with_an_offset() -> None:
    """100 standard deviations off: the score of the very numbers in float32."""
    observed, signals, included = example(16, 10, 5)
    observed, signals = (np.float32(x + 200.0) for x in (observed, signals))
    close(shadow.lira(observed, signals, included), oracle.lira(observed, signals, included), 4e-12)
    expected = oracle.leave_one_out(oracle.lira, signals, included)
    close(shadow.leave_one_model_out(signals, included), expected, 4e-12)


@pytest.mark.parametrize("name", ["lira", "lira median", "bayes", "difficulty"])
def test_augmentations_are_averaged(name: str) -> None:
    _, signals, included = example(12, 9, 6)
    more = np.stack([signals, np.cos(signals)], axis=-1)
    expected = 0.5 * (left_out(name, signals, included) + left_out(name, more[..., 1], included))
    np.testing.assert_allclose(left_out(name, more, included), expected, rtol=1e-12)


def balanced(models: int, records: int, seed: int) -> tuple[Array, Array]:
    """Return pure noise, and pairs of models trained on complementary halves."""
    rng = np.random.default_rng(seed)
    half = rng.random((models // 2, records)) < 0.5
    included = np.stack([half, ~half], axis=1).reshape(models, records)
    return rng.normal(size=(models, records)), included


def auc(scores: Array, members: Array) -> float:
    inside, outside = scores[members], np.sort(scores[~members])
    below = np.searchsorted(outside, inside, "left") + np.searchsorted(outside, inside, "right")
    return float(below.mean() / (2 * outside.size))


@pytest.mark.parametrize("models", [6, 8, 16])
@pytest.mark.parametrize("name", ["lira", "bayes", "base", "one_step"])
def test_noise_of_a_balanced_design_scores_a_half(name: str, models: int) -> None:
    """And what it scores where each model is left out alone (specification, 2.7)."""
    signals, included = balanced(models, 20_000, models)
    pairs = auc(left_out(name, signals, included, np.arange(models) // 2), included)
    assert abs(pairs - 0.5) < 0.005  # five standard errors
    alone = {"lira": {6: 0.37, 8: 0.44, 16: 0.49}, "bayes": {6: 0.42, 8: 0.45, 16: 0.48}}
    expected = alone.get(name, {}).get(models, 0.5)
    with pytest.warns(UserWarning, match="complementary pairs"):
        found = left_out(name, signals, included)
    assert auc(found, included) == pytest.approx(expected, abs=0.01)


def test_designs_whose_numbers_tell_members() -> None:
    """LiRA's own design, exactly half of the models, of fresh targets and of left-out ones."""
    rng = np.random.default_rng(8)
    included = rng.permuted(np.tile([[True], [False]], (4, 30_000)), axis=0)
    level = rng.normal(size=30_000)
    signals = rng.normal(size=(8, 30_000)) + included + level
    with pytest.warns(UserWarning, match="understated.* none of the shadow models"):
        alone = shadow.leave_one_model_out(signals, included)
    member = rng.random((4, 30_000)) < 0.5
    fresh = shadow.lira(rng.normal(size=(4, 30_000)) + member + level, signals, included)
    rates = [
        (x[bits] > np.quantile(x[~bits], 0.99)).mean()
        for x, bits in ((alone, included), (fresh, member))
    ]
    assert rates[0] < 0.3 * rates[1]  # .004 and .024
    quota = included.copy()
    quota[0, ::20] = True  # not every record in exactly four
    uneven = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    for mask, groups in ((quota, None), (included, uneven)):
        with pytest.warns(UserWarning, match="as many models each"):
            shadow.leave_one_model_out(signals, mask, score="difficulty", groups=groups)


@pytest.mark.parametrize("records", [1, 5, 40, 5000])
def test_coins_and_pairs_are_not_warned_of(records: int) -> None:
    """Warnings are errors here."""
    rng = np.random.default_rng(9)
    for _ in range(20 if records < 100 else 2):
        signals = rng.normal(size=(16, records))
        coins = rng.random((16, records)) < 0.5
        coins[:2], coins[2:4] = True, False
        shadow.leave_one_model_out(signals, coins, score="difficulty")
        several = rng.random((16, records)) < rng.random(records)  # each record its own coin
        several[:2], several[2:4] = True, False
        shadow.leave_one_model_out(signals, several, score="difficulty")
        pairs = balanced(16, records, 9)[1]
        groups = np.arange(16) // 2
        shadow.leave_one_model_out(signals, pairs, score="difficulty", groups=groups)


def test_options_and_groups_are_checked() -> None:
    _, signals, included = example(6, 5, 7)
    with pytest.raises(ValueError, match="two groups at least"):
        shadow.leave_one_model_out(signals, included, groups=np.zeros(6, dtype=int))
    with pytest.raises(ValueError, match=r"groups of shape \(5,\)"):
        shadow.leave_one_model_out(signals, included, groups=np.arange(5))
    with pytest.raises(TypeError, match="groups must hold integers"):
        shadow.leave_one_model_out(signals, included, groups=np.linspace(0, 1, 6))
    for name in ("lira", "bayes", "one_step", "base", "paired", "difficulty"):
        with pytest.raises(TypeError, match="nonsense"):
            shadow.leave_one_model_out(signals, included, score=name, nonsense=1)  # type: ignore[arg-type]


def test_too_few_models_are_left() -> None:
    _, signals, included = example(6, 5, 7)
    included[:, 2] = [1, 1, 0, 0, 0, 0]
    with pytest.raises(ValueError, match=r"2 models IN at least.*the first has index 2"):
        shadow.leave_one_model_out(signals, included)
    found = shadow.leave_one_model_out(signals, included, too_few="nan")
    np.testing.assert_array_equal(np.isnan(found[:, 2]), included[:, 2])
