"""Bad input, odd layouts, extremes of size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import leakscore
from leakscore import shadow
from tests.helpers.layouts import LAYOUTS, memmap
from tests.shadow.test_scores import example, rmia

Array = npt.NDArray[Any]
OBSERVED, SIGNALS, INCLUDED = example(12, 700, 1)
SCORES: dict[str, Callable[..., Array]] = {
    "lira": shadow.lira,
    "median": lambda *given: shadow.lira(*given, location="median"),
    "bayes": shadow.bayes,
    "one_step": shadow.one_step,
    "base": shadow.base,
    "paired": shadow.paired,
    "difficulty": shadow.difficulty,
}
LEFT_OUT = {
    name: lambda signals, included, name=name: shadow.leave_one_model_out(
        signals, included, score=name
    )
    for name in ("lira", "bayes", "base", "difficulty")
}
each_score = pytest.mark.parametrize("name", SCORES)


@each_score
def test_one_model_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"models?"):
        SCORES[name](OBSERVED, SIGNALS[:1], INCLUDED[:1])


@pytest.mark.parametrize(("value", "side"), [(False, "IN"), (True, "OUT")])
@pytest.mark.parametrize("name", ["lira", "bayes", "base", "paired"])
def test_records_never_in_or_never_out(name: str, value: bool, side: str) -> None:
    included = INCLUDED.copy()
    included[:, [5, 77, 300]] = value
    with pytest.raises(
        ValueError, match=rf"models? {side} at least for each record: 3 of 700.*index 5; use"
    ):
        SCORES[name](OBSERVED, SIGNALS, included)


def test_what_too_few_models_leave() -> None:
    included = INCLUDED.copy()
    included[:, 5] = False
    for score in (shadow.lira, shadow.bayes):
        found = score(OBSERVED, SIGNALS, included, too_few="nan")
        assert np.flatnonzero(np.isnan(found)).tolist() == [5]
        assert np.isfinite(score(OBSERVED, SIGNALS, included, kind="offline")).all()


@pytest.mark.parametrize("variance", ["per-record", "pooled", "shrunk"])
def test_constant_signals_have_no_variance(variance: Any) -> None:
    signals = SIGNALS.copy()
    signals[:, 9] = 0.1  # whose mean of three is not 0.1
    if variance == "per-record":
        with pytest.raises(ValueError, match=r"variance above 0,: 1 of 700.*index 9.*shrunk"):
            shadow.lira(OBSERVED, signals, INCLUDED)
    else:
        assert np.isfinite(shadow.lira(OBSERVED, signals, INCLUDED, variance=variance)).all()
    with pytest.raises(ValueError, match=r"vary|variance above 0"):
        shadow.lira(OBSERVED, np.full(SIGNALS.shape, 0.1), INCLUDED, variance=variance)


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@each_score
def test_signals_are_finite(name: str, poison: float) -> None:
    signals, observed = SIGNALS.copy(), OBSERVED.copy()
    signals[3, 44] = signals[7, 2] = observed[8] = poison
    with pytest.raises(ValueError, match=rf"2 of 8400 .*first signals\[3, 44\]={poison}; take"):
        SCORES[name](OBSERVED, signals, INCLUDED)
    with pytest.raises(ValueError, match=rf"1 of 700 .*first observed\[8\]={poison}; take"):
        SCORES[name](observed, SIGNALS, INCLUDED)


@pytest.mark.parametrize("bad", [2, -1, 0.5, np.nan])
def test_masks_are_zeros_and_ones(bad: float) -> None:
    included = INCLUDED.astype(float if bad != int(np.nan_to_num(bad)) or bad != bad else np.int8)
    included[4, 6] = bad
    with pytest.raises(
        ValueError, match=r"included must be in \{0, 1\}.*1 entries.*included\[4, 6\]"
    ):
        shadow.lira(OBSERVED, SIGNALS, included)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.int64, np.uint64, float])
def test_masks_of_any_dtype(dtype: Any) -> None:
    expected = shadow.lira(OBSERVED, SIGNALS, INCLUDED)
    for layout in ("C", "Fortran", "strided", "reversed"):
        found = shadow.lira(OBSERVED, SIGNALS, LAYOUTS[layout](INCLUDED.astype(dtype)))
        np.testing.assert_array_equal(found, expected)


def test_transposed_arrays_are_named() -> None:
    with pytest.raises(ValueError, match="one of them is transposed"):
        shadow.lira(OBSERVED, SIGNALS, INCLUDED.T)
    with pytest.raises(ValueError, match=r"models come first: pass signals\.T"):
        shadow.lira(OBSERVED, SIGNALS.T, INCLUDED.T)
    with pytest.raises(ValueError, match=r"pass observed\.T"):
        shadow.lira(np.tile(OBSERVED, (3, 1)).T, SIGNALS, INCLUDED)
    with pytest.raises(ValueError, match="population_signals is transposed"):
        rmia(OBSERVED, SIGNALS, INCLUDED, OBSERVED[:50], SIGNALS[:, :50].T)
    with pytest.raises(ValueError, match="takes no augmentations"):
        shadow.base(OBSERVED, SIGNALS[..., np.newaxis], INCLUDED)


def test_a_population_apart_from_the_records() -> None:
    with pytest.raises(ValueError, match=r"50 records of signals are among them.*index 100;"):
        rmia(OBSERVED, SIGNALS, INCLUDED, OBSERVED[100:150], SIGNALS[:, 100:150])
    # Signals of two values agree by chance.
    coarse, target = np.sign(SIGNALS), np.sign(OBSERVED)
    assert np.isfinite(rmia(target, coarse, INCLUDED, -target[:50], -coarse[:, :50])).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*SCORES, *(f"left out {name}" for name in LEFT_OUT)])
def test_layouts_change_no_bit(name: str, layout: str) -> None:
    signals = LAYOUTS[layout](SIGNALS)
    if name in SCORES:
        expected = SCORES[name](OBSERVED, SIGNALS, INCLUDED)
        found = SCORES[name](OBSERVED, signals, INCLUDED)
    else:
        score = LEFT_OUT[name.removeprefix("left out ")]
        found, expected = score(signals, INCLUDED), score(SIGNALS, INCLUDED)
    np.testing.assert_array_equal(found, expected)


@each_score
def test_dtypes_are_read_by_value(name: str, tmp_path: Path) -> None:
    score = SCORES[name]
    coarse = np.round(16 * SIGNALS) / 16
    expected = score(OBSERVED, coarse, INCLUDED)
    for dtype in (np.float32, np.float16, ">f4"):
        np.testing.assert_array_equal(score(OBSERVED, coarse.astype(dtype), INCLUDED), expected)
    kept = memmap(coarse.astype(np.float32), tmp_path)
    np.testing.assert_array_equal(score(OBSERVED, kept, INCLUDED), expected)


@pytest.mark.parametrize("name", [*SCORES, *(f"left out {name}" for name in LEFT_OUT)])
def test_threads_and_the_order_of_models(name: str) -> None:
    rng = np.random.default_rng(2)
    observed, signals, included = example(9, 9000, 2)
    order = rng.permutation(9)

    def run(signals: Array, included: Array) -> Array:
        if name in SCORES:
            return SCORES[name](observed, signals, included)
        return LEFT_OUT[name.removeprefix("left out ")](signals, included)

    threads = leakscore.get_num_threads()
    results = []
    for count in (1, 2, 8):
        leakscore.set_num_threads(count)
        results.append(run(signals, included))
    leakscore.set_num_threads(threads)
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    expected = results[0] if name in SCORES else results[0][order]
    found = run(signals[order], included[order])
    scale = np.maximum(1.0, np.abs(expected))
    exact = name in SCORES and name != "bayes"
    assert (np.abs(found - expected) / scale).max() < (1e-13 if exact else 1e-11)


@pytest.mark.parametrize(("models", "records"), [(4, 400_000), (60_000, 4)])
def test_many_records_and_many_models(models: int, records: int) -> None:
    rng = np.random.default_rng(3)
    signals = rng.standard_normal((models, records), dtype=np.float32)
    included = (np.arange(models)[:, np.newaxis] + np.arange(records)) % 2 == 0
    observed = rng.normal(size=records)
    found = shadow.lira(observed, signals, included)
    some = slice(None, None, max(1, records // 4))
    inside = np.where(included, signals, np.nan)[:, some].astype(np.float64)
    outside = np.where(included, np.nan, signals)[:, some].astype(np.float64)
    v1, v0 = (np.nanvar(side, axis=0, ddof=1) for side in (inside, outside))
    m1, m0 = (np.nanmean(side, axis=0) for side in (inside, outside))
    x = observed[some]
    expected = 0.5 * ((x - m0) ** 2 / v0 - (x - m1) ** 2 / v1 + np.log(v0 / v1))
    np.testing.assert_allclose(found[some], expected, rtol=1e-9, atol=1e-9)
    for score in (shadow.bayes, shadow.base):
        assert np.isfinite(score(observed, signals, included)).all()
