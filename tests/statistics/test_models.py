"""Generalised linear models and Cox models: statsmodels' fits, and refits without each record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import statistics

ROWS = 300
NAMES = ["a", "b", "c", "d", "y"]


def responses(family: str, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 4))
    x[:, 0] = 40.0 + 5.0 * x[:, 0]  # far from 0, in other units
    x[5] *= [1.0, 3.0, 3.0, 3.0]
    eta = 0.5 + x @ [0.1, -0.4, 0.3, 0.1] - 4.0
    draw = {
        "gaussian": lambda: eta + rng.normal(size=ROWS),
        "binomial": lambda: rng.random(ROWS) < 1 / (1 + np.exp(-eta)),
        "poisson": lambda: rng.poisson(np.exp(0.7 * eta)),
        "gamma": lambda: rng.gamma(2.0, 0.5 / (1.0 + 0.3 * np.abs(eta))),
    }[family]()
    return np.column_stack([x, draw]).astype(float)


def survival(seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 3))
    x[5] *= 3.0
    time = np.ceil(8 * rng.exponential(np.exp(-x @ [0.6, -0.4, 0.3])))  # with many ties
    return np.column_stack([x, time, rng.random(ROWS) < 0.7])


MODELS: dict[str, tuple[Any, np.ndarray]] = {
    **{
        family: (statistics.GLM("y", family).on(NAMES), responses(family))
        for family in ("gaussian", "binomial", "poisson", "gamma")
    },
    "cox": (statistics.Cox("y", "e").on(["a", "b", "c", "y", "e"]), survival()),
}


def shifts_of_refits(name: str, values: np.ndarray) -> np.ndarray:
    """Fit without each record, by statsmodels for Cox, by Newton's method for the others."""
    whole = MODELS[name][0].prepare(values).coefficients
    if name == "cox":
        sm = pytest.importorskip("statsmodels.api")
        fits = []
        for i in range(len(values)):
            rest = np.delete(values, i, axis=0)
            model = sm.PHReg(rest[:, 3], rest[:, :3], status=rest[:, 4], ties="efron")
            fits.append(model.fit(start_params=whole).params)
        return np.asarray(whole - fits)
    mean, slope = {
        "gaussian": (lambda eta: eta, np.ones_like),
        "binomial": (lambda eta: 1 / (1 + np.exp(-eta)), lambda eta: 0.25 / np.cosh(eta / 2) ** 2),
        "poisson": (np.exp, np.exp),
        "gamma": (lambda eta: 1 / eta, lambda eta: -1 / eta**2),
    }[name]
    x, fits = np.column_stack([np.ones(ROWS), values[:, :4]]), []
    for i in range(len(values)):
        design, y, point = np.delete(x, i, axis=0), np.delete(values[:, 4], i), whole
        for _ in range(5):  # from nearby
            eta = design @ point
            information = (design.T * slope(eta)) @ design
            point = point + np.linalg.solve(information, design.T @ (y - mean(eta)))
        fits.append(point)
    return np.asarray(whole - fits)


@pytest.mark.filterwarnings("ignore:The InversePower link")
@pytest.mark.parametrize("name", ["gaussian", "binomial", "poisson", "gamma"])
def test_coefficients_are_those_of_statsmodels(name: str) -> None:
    sm = pytest.importorskip("statsmodels.api")
    model, values = MODELS[name]
    families = {
        "gaussian": sm.families.Gaussian(),
        "binomial": sm.families.Binomial(),
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(sm.families.links.InversePower()),
    }
    design = sm.add_constant(values[:, :4])
    theirs = sm.GLM(values[:, 4], design, family=families[name]).fit(tol=1e-14, maxiter=200)
    np.testing.assert_allclose(model.prepare(values).coefficients, theirs.params, rtol=1e-8)


def test_an_offset_is_that_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    values = responses("poisson")
    model = statistics.GLM("y", "poisson", offset="d").on(NAMES).prepare(values)
    design = sm.add_constant(values[:, :3])
    theirs = sm.GLM(values[:, 4], design, sm.families.Poisson(), offset=values[:, 3])
    np.testing.assert_allclose(model.coefficients, theirs.fit(tol=1e-14).params, rtol=1e-8)


def test_coefficients_with_ties_are_those_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    model, values = MODELS["cox"]
    theirs = sm.PHReg(values[:, 3], values[:, :3], status=values[:, 4], ties="efron").fit()
    np.testing.assert_allclose(model.prepare(values).coefficients, theirs.params, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:The InversePower link")
@pytest.mark.parametrize("name", ["binomial", "poisson", "gamma"])
def test_steps_follow_from_the_influence_of_statsmodels(name: str) -> None:
    """Its `d_params` are the first step; ours takes the residual at the coefficients after it."""
    sm = pytest.importorskip("statsmodels.api")
    family, mean, sign = {
        "binomial": (sm.families.Binomial(), lambda eta: 1 / (1 + np.exp(-eta)), 1),
        "poisson": (sm.families.Poisson(), np.exp, 1),
        "gamma": (sm.families.Gamma(sm.families.links.InversePower()), lambda eta: 1 / eta, -1),
    }[name]
    model, values = MODELS[name]
    design = sm.add_constant(values[:, :4])
    theirs = sm.GLM(values[:, 4], design, family).fit(tol=1e-14, maxiter=200, scale=1.0)
    moves = sign * theirs.get_influence(observed=False).d_params  # of a falling link reversed
    eta = design @ theirs.params - np.einsum("ij,ij->i", design, moves)
    shifts = sign * (values[:, 4] - mean(eta))[:, None] * (design @ theirs.cov_params())
    gaps = np.abs(model.prepare(values).features(values) / ROWS - shifts).max(axis=1)
    gaps /= np.abs(shifts).max()
    assert (np.sort(gaps)[:-20] < 1e-8).all()
    assert (np.sort(gaps)[-20:] > 1e-8).any()  # the refits


def test_shifts_of_least_squares_are_those_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    model, values = MODELS["gaussian"]
    theirs = sm.OLS(values[:, 4], sm.add_constant(values[:, :4])).fit().get_influence().dfbeta
    for each in (model, statistics.Regression("y").on(NAMES)):
        shifts = each.prepare(values).features(values) / ROWS
        np.testing.assert_allclose(shifts, theirs, rtol=1e-8, atol=1e-12)


def test_score_residuals_without_ties_are_those_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    model, values = MODELS["cox"]
    values = values + np.random.default_rng(5).random(ROWS)[:, None] * [0, 0, 0, 1e-3, 0]
    theirs = sm.PHReg(values[:, 3], values[:, :3], status=values[:, 4], ties="efron").fit()
    equations = model.prepare(values).equations(values)
    scores = np.nan_to_num(theirs.score_residuals)  # NaN of who is at risk at no event
    steps = scores @ theirs.cov_params()
    np.testing.assert_allclose(equations.residuals @ equations.named, steps, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "far"),
    [("gaussian", 1e-9), ("binomial", 0.06), ("poisson", 0.06), ("gamma", 0.1), ("cox", 0.4)],
)
def test_features_are_what_each_record_shifts(name: str, far: float) -> None:
    """In standard deviations of the shifts: of the 20 that leak most exactly, else by one step."""
    model, values = MODELS[name]
    exact = shifts_of_refits(name, values)
    ours = model.prepare(values).features(values) / ROWS
    whitening = np.linalg.cholesky(np.linalg.inv(np.cov(exact.T)))
    sizes = np.linalg.norm(exact @ whitening, axis=1)
    errors = np.linalg.norm((ours - exact) @ whitening, axis=1)
    assert errors.max() < far
    worst = np.argsort(-np.linalg.norm(ours @ whitening, axis=1))[:10]
    assert errors[worst].max() < 1e-7
    assert sizes[worst].min() > np.median(sizes)
    if name != "gaussian":
        assert (errors > 1e-5).sum() > ROWS // 2  # the others are steps


@pytest.mark.parametrize("name", ["gaussian", "poisson"])
def test_features_of_a_person_add_up_to_what_the_person_shifts(name: str) -> None:
    model, values = MODELS[name]
    owners = np.random.default_rng(4).integers(0, 90, ROWS)
    features = model.prepare(values).features(values, owners) / ROWS
    whole = model.prepare(values).coefficients
    shifts = np.array(
        [whole - model.prepare(values[owners != person]).coefficients for person in range(90)]
    )
    sums = np.array([features[owners == person].sum(axis=0) for person in range(90)])
    whitening = np.linalg.cholesky(np.linalg.inv(np.cov(shifts.T)))
    error = np.linalg.norm((sums - shifts) @ whitening, axis=1).max()
    assert error < (1e-8 if name == "gaussian" else 0.2)


def test_features_of_a_block_are_those_of_the_table() -> None:
    for model, values in MODELS.values():
        fitted = model.prepare(values)
        whole = fitted.features(values)
        blocks = [fitted.features(values[:7]), fitted.features(values[7:])]
        np.testing.assert_allclose(np.concatenate(blocks), whole, rtol=1e-12, atol=1e-12)


def test_categories_are_indicators_of_their_levels() -> None:
    values = responses("poisson")
    codes = np.random.default_rng(8).integers(0, 3, ROWS)
    levels = {"c": ("low", "mid", "high")}
    coded = (
        statistics.GLM("y", "poisson")
        .on(NAMES, levels)
        .prepare(np.column_stack([values[:, :2], codes, values[:, 3:]]))
    )
    assert coded.names[3:5] == ("coefficient of c=mid", "coefficient of c=high")
    wide = np.column_stack([values[:, :2], codes == 1, codes == 2, values[:, 3:]])
    plain = statistics.GLM("y", "poisson").on(["a", "b", "m", "h", "d", "y"]).prepare(wide)
    np.testing.assert_allclose(coded.coefficients, plain.coefficients, rtol=1e-10)
