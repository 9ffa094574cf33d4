"""Fits that need one record, and data to which a model cannot be fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import statistics
from tests.statistics.test_models import MODELS, NAMES, ROWS, responses, survival


def owned(case: str) -> tuple[Any, np.ndarray, str, int]:
    """A table in which the fit needs one record: the model, the table, the column, the record."""
    if case == "an event time":  # the only event of those with b = 1
        values = survival()
        values[:, 1] = 0.0
        values[10:20, 1], values[10:20, 4] = 1.0, 0.0
        values[14, 4] = 1.0
        return MODELS["cox"][0], values, "b", 14
    if case == "a level with an event":  # alone in it, so that the fit goes where it shifts nothing
        values = survival()
        values[:, 1] = 0.0
        values[:, 3] += 1e-3 * np.arange(ROWS)
        values[14, [1, 3, 4]] = 1.0, np.quantile(values[:, 3], 0.05), 1.0
        return MODELS["cox"][0], values, "b", 14
    values = responses("poisson" if case == "a count" else "binomial")
    model = MODELS["poisson" if case == "a count" else "binomial"][0]
    flag = np.zeros(ROWS)
    if case == "a level":  # alone in its level, of a regression
        model, values = MODELS["gaussian"][0], responses("gaussian")
        flag[14] = 1.0
    elif case == "a product":  # two flags of many, both in one record alone
        model, values = MODELS["gaussian"][0], responses("gaussian")
        first, second = np.arange(ROWS) < 15, np.arange(ROWS) >= 14
        values[:, 3] = first
        flag = (first & second).astype(float)
    elif case == "a count":  # the only one of its level that is not 0
        flag[10:20], values[10:20, 4], values[14, 4] = 1.0, 0.0, 3.0
    else:  # the only one of its level on the other side
        flag[10:20], values[10:20, 4], values[14, 4] = 1.0, 1.0, 0.0
    values[:, 1] = flag
    return model, values, "b", 14


@pytest.mark.parametrize(
    "case",
    [
        "a level",
        "a product",
        "a count",
        "separation",
        "an event time",
        "a level with an event",
    ],
)
def test_a_fit_that_needs_a_record_is_refused(case: str) -> None:
    model, values, column, row = owned(case)
    with pytest.raises(statistics.NoFitError) as caught:
        model.prepare(values).features(values)
    assert (caught.value.column, caught.value.row) == (column, row)
    with pytest.raises(ValueError, match="leave"):  # indeed
        model.prepare(np.delete(values, row, axis=0))


def bad(case: str) -> tuple[Any, np.ndarray]:
    binomial, values = MODELS["binomial"][0], responses("binomial")
    cox, times = MODELS["cox"][0], survival()
    if case == "separated":
        values[:, 1] = 2.0 * values[:, 4] + 0.1 * np.tanh(values[:, 1])
    elif case == "one outcome":
        values[:, 4] = 1.0
    elif case == "neither 0 nor 1":
        values[7, 4] = 0.5
    elif case == "a negative count":
        binomial, values[7, 4] = MODELS["poisson"][0], -1.0
    elif case == "no gamma value":
        binomial, values = MODELS["gamma"][0], responses("gamma")
        values[7, 4] = 0.0
    elif case == "dependent":
        values[:, 2] = values[:, 1] + values[:, 3]
    elif case == "too few":
        values = values[:5]
    elif case == "no event":
        times[:, 4] = 0.0
        return cox, times
    else:
        times[3, 4] = 2.0
        return cox, times
    return binomial, values


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("separated", "column 'b', perhaps with others, separates the outcomes"),
        ("one outcome", "response='y' must vary: it is the same in every record"),
        ("neither 0 nor 1", r"0 or 1 for family='binomial', not 0\.5 in record 8"),
        ("a negative count", r"at least 0 for family='poisson', not -1\.0 in record 8"),
        ("no gamma value", r"above 0 for family='gamma', not 0\.0 in record 8"),
        ("dependent", "linearly independent: leave out 'd'"),
        (
            "too few",
            "more than 5 records for so many coefficients, not 5: leave out 'd', or others",
        ),
        ("no event", "there is no event"),
        ("no flag of an event", r"event='e' must be 0 or 1, not 2\.0 in record 4"),
    ],
)
def test_what_cannot_be_fitted_is_named(case: str, words: str) -> None:
    model, values = bad(case)
    with pytest.raises(ValueError, match=words):
        model.prepare(values)


@pytest.mark.parametrize("family", ["poisson", "binomial", "gaussian"])
def test_an_offset_far_from_0_moves_the_intercept_alone(family: str) -> None:
    values = responses(family)
    model = statistics.GLM("y", family, offset="d").on(NAMES)  # type: ignore[arg-type]
    near, far = values.copy(), values.copy()
    far[:, 3] += 30.0
    moved = model.prepare(near).coefficients - model.prepare(far).coefficients
    np.testing.assert_allclose(moved, [30.0, 0.0, 0.0, 0.0], atol=1e-7)


def test_values_that_are_not_finite_are_refused() -> None:
    for model, values in MODELS.values():
        broken = values.copy()
        broken[3, 0] = np.nan
        with pytest.raises(ValueError, match="values"):
            model.prepare(broken)


def test_a_wild_step_does_not_hide_a_record_that_the_fit_needs() -> None:
    rng = np.random.default_rng(0)
    wild, flag = 5e-4 * rng.normal(size=600), np.zeros(600)
    counts = rng.poisson(2.0, 600).astype(float)
    wild[300], counts[300] = 1.0, 6.0  # alone tells the slope
    flag[100:105], counts[100:105] = 1.0, 0.0
    counts[100] = 1.0  # alone in its level above 0
    values = np.column_stack([wild, flag, counts])
    with pytest.raises(statistics.NoFitError, match=r"record 101 .*'flag'"):
        statistics.GLM("y", "poisson").on(["wild", "flag", "y"]).prepare(values)


def test_many_wild_steps_do_not_hide_a_record_that_the_fit_needs() -> None:
    """Counts that vary far more than those of a Poisson law have larger steps by its curvature."""
    rng = np.random.default_rng(0)
    flag = np.arange(600) < 10
    counts = rng.negative_binomial(0.3, 0.3 / (0.3 + 100), 600).astype(float)
    counts[:10] = 0.0
    counts[3] = 1.0  # alone in its level above 0
    values = np.column_stack([rng.normal(size=600), flag, counts])
    with pytest.raises(statistics.NoFitError, match=r"record 4 .*'flag'"):
        statistics.GLM("y", "poisson").on(["x", "flag", "y"]).prepare(values)


@pytest.mark.parametrize(
    ("family", "scales"),
    [("gaussian", (1e-12, 1e9)), ("poisson", (1e-13, 1e12)), ("gamma", (1e-150, 1e150))],
)
def test_units_of_the_response_change_no_leakage(family: str, scales: tuple[float, ...]) -> None:
    values = responses(family)
    model = statistics.GLM("y", family).on(NAMES)  # type: ignore[arg-type]
    plain = model.prepare(values).features(values)
    for scale in scales:
        scaled = values * [1.0, 1.0, 1.0, 1.0, scale]
        features = model.prepare(scaled).features(scaled)
        unit = {"gaussian": scale, "poisson": 1.0, "gamma": 1.0 / scale}[family]
        np.testing.assert_allclose(features / unit, plain, rtol=1e-5, atol=1e-6)


def test_steps_that_leave_the_range_of_a_gamma_law_are_finite() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        values = np.column_stack([rng.normal(size=(4, 2)), rng.gamma(2.0, 1.0, 4)])
        try:
            fitted = statistics.GLM("y", "gamma").on(["a", "b", "y"]).prepare(values)
        except statistics.NoFitError:
            continue
        assert np.isfinite(fitted.features(values)).all()


def test_a_model_that_is_prepared_again_forgets_its_first_fit() -> None:
    for model, values in MODELS.values():
        other = values.copy()
        other[:, 3] = np.where(other[:, 3] > 0, 7.0, 1.0) * other[:, 3]
        again, fresh = model.prepare(other).prepare(values), model.prepare(values)
        np.testing.assert_array_equal(again.coefficients, fresh.coefficients)
        np.testing.assert_array_equal(again.features(values), fresh.features(values))


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma"])
def test_a_response_that_follows_from_the_predictors_is_refused(family: str) -> None:
    values = responses("gaussian")
    eta = 2.0 + 0.1 * np.tanh(values[:, 1])
    values[:, 1] = np.tanh(values[:, 1])
    values[:, 4] = {"gaussian": eta, "poisson": np.exp(eta), "gamma": 1 / eta}[family]
    model = statistics.GLM("y", family).on(NAMES)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must not follow from the predictors"):
        model.prepare(values)


def test_a_fitted_model_names_values_in_their_units() -> None:
    fitted = MODELS["gamma"][0].prepare(values := responses("gamma"))
    values[2, 4] = -5.0
    with pytest.raises(ValueError, match=r"not -5\.0 in record 3"):
        fitted.features(values)


def test_columns_are_named() -> None:
    with pytest.raises(ValueError, match="family='normal'"):
        statistics.GLM("y", "normal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'z'"):
        statistics.GLM("z", "poisson").on(NAMES)
    with pytest.raises(ValueError, match="beside"):
        statistics.Cox("t", "e").on(["t", "e"])
    with pytest.raises(ValueError, match="offset='d' must hold numbers"):
        statistics.GLM("y", "poisson", offset="d").on(NAMES, {"d": ("u", "v")})
    with pytest.raises(ValueError, match="numbers or two categories, not 3"):
        statistics.GLM("y", "binomial").on(NAMES, {"y": ("u", "v", "w")})
    with pytest.raises(ValueError, match=r"call prepare\(values\) first"):
        MODELS["cox"][0].features(survival())
