"""Games of coefficients: fits are repeated in every round, where one record pulls at them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

import leakscore_app
from leakscore import statistics
from tests.helpers.sizes import sizes

ROUNDS = 8000


def _fits(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Least squares of every sample by the normal equations, without ours; NaN if there is none."""
    design = np.column_stack([np.ones(len(x)), x])
    squares = np.einsum("ni,nj->nij", design, design)
    gram = np.tensordot(weights, squares, axes=1)
    result = np.full((len(weights), design.shape[1]), np.nan)
    good = np.linalg.cond(gram) < 1e12
    right = (weights @ (design * y[:, None]))[:, :, None]
    result[good] = np.linalg.solve(gram[good], right[good])[:, :, 0]
    return result


def _samples(
    size: int, n: int, rounds: int, own: list[int], inside: bool, rng: np.random.Generator
) -> np.ndarray:
    """How often each record is in samples of n: a person's own once, or never, others as drawn."""
    others = np.delete(np.arange(size), own)
    drawn = others[rng.integers(len(others), size=(rounds, n - inside * len(own)))]
    drawn += size * np.arange(rounds)[:, None]
    weights = (
        np.bincount(drawn.ravel(), minlength=rounds * size).reshape(rounds, size).astype(float)
    )
    weights[:, own] = inside
    return weights


def _six_holders(push: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Six records far out at one end, all others at 0: few samples hold all of the six."""
    rng = np.random.default_rng(1)
    x = np.zeros(150)
    x[:6] = 10 + rng.standard_normal(6)
    y = x + 0.5 * rng.standard_normal(150)
    y[0] += push
    return x[:, None], y


def test_equations_of_least_squares_are_exact() -> None:
    rng = np.random.default_rng(1)
    table = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 4)) + [5, 0, -100, 3]
    fit = statistics.Regression("y").on(["a", "b", "c", "y"]).prepare(table)
    weights = rng.poisson(1.0, size=(50, 30)).astype(float)
    expected = _fits(table[:, :3], table[:, 3], weights)
    whole = _fits(table[:, :3], table[:, 3], np.ones((1, 30)))
    moves = fit.equations(table).refitted(weights)
    np.testing.assert_allclose(moves, expected - whole, rtol=1e-7, atol=1e-9)


def test_a_sample_without_a_fit_is_nan() -> None:
    table = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 3.0], [1.0, 5.0]])
    equations = statistics.Regression("y").on(["flag", "y"]).prepare(table).equations(table)
    moves = equations.refitted(np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]]))
    assert np.isnan(moves[0]).all()
    assert np.isfinite(moves[1]).all()


def test_newton_steps_of_a_logistic_fit() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((400, 2))
    y = (rng.random(400) < special.expit(x @ [1.0, -0.5])).astype(float)
    table = np.column_stack([x, y])
    fit = statistics.GLM("y", "binomial").on(["a", "b", "y"]).prepare(table)
    design = np.column_stack([np.ones(400), x])
    weights = rng.multinomial(400, np.full(400, 1 / 400), size=20).astype(float)

    def refit(w: np.ndarray) -> np.ndarray:
        def loss(b: np.ndarray) -> float:
            eta = design @ b
            return float(w @ (np.logaddexp(0, eta) - y * eta))

        return np.asarray(optimize.minimize(loss, fit.coefficients, tol=1e-12).x)

    exact = np.array([refit(w) for w in weights]) - fit.coefficients
    moves = fit.equations(table).refitted(weights)
    np.testing.assert_allclose(moves, exact, atol=2e-4)


def _advantage(pairs: list[np.ndarray]) -> float:
    """Of a threshold on what is predicted with the record and without it, chosen on other samples.

    Predicted is the record's own response; a sample without a fit is without the record.
    """
    sign = np.sign(np.nanmedian(pairs[0]) - np.nanmedian(pairs[1]))
    halves = [np.array_split(np.nan_to_num(sign * each, nan=-np.inf), 2) for each in pairs]
    first, second = zip(*halves, strict=True)
    at = np.unique(np.concatenate(first))[::20]
    gaps = [(first[0] > t).mean() - (first[1] > t).mean() for t in at]
    best = at[np.argmax(gaps)]
    return float((second[0] > best).mean() - (second[1] > best).mean())


def _played(table: leakscore_app.Table, **options: Any) -> Any:
    report = leakscore_app.analyse(
        table,
        statistic=statistics.Regression("y"),
        distinct_records=True,
        rounds=ROUNDS,
        **options,
    )
    game = next(game for game in report.games if game.row == 1 and game.attacker == "informed")
    return report, game


def _require_equal(game: Any, expected: float) -> None:
    linear = _advantage([game.members, game.nonmembers])  # the best score may be another
    assert linear == pytest.approx(expected, abs=4 * np.sqrt(2 / ROUNDS))


def test_the_game_is_that_of_fits_to_every_sample() -> None:
    """With features of the first order the game would be the theory's .70, and the truth is .96."""
    x, y = _six_holders()
    table = leakscore_app.table_of(np.column_stack([x, y]), columns=["x", "y"])
    report, game = _played(table, max_advantage=0.75)
    rng = np.random.default_rng(3)
    seen = [
        _fits(x, y, _samples(150, 150, ROUNDS, [0], k, rng)) @ [1, x[0, 0]] for k in (True, False)
    ]
    _require_equal(game, _advantage(seen))
    assert not report.to_text().startswith("PUBLISH:")


def test_the_game_of_a_person_with_two_records() -> None:
    x, y = _six_holders(0.6)
    ids = [str(max(row, 1)) for row in range(150)]  # the first two are one's
    table = leakscore_app.table_of(np.column_stack([x, y]), columns=["x", "y"], ids=ids)
    _, game = _played(table)
    rng, seen = np.random.default_rng(4), []
    for inside in (True, False):
        weights = _samples(150, 150, ROUNDS, [0, 1], inside, rng)
        seen.append(_fits(x, y, weights) @ [1, x[0, 0]])
    _require_equal(game, _advantage(seen))


def test_the_game_of_a_part_of_a_finite_population() -> None:
    x, y = _six_holders(0.0)
    table = leakscore_app.table_of(np.column_stack([x, y]), columns=["x", "y"])
    _, game = _played(table, n=60, population="finite")
    rng, seen = np.random.default_rng(6), []
    for inside in (1, 0):
        order = 1 + rng.random((ROUNDS, 149)).argsort(axis=1)[:, : 60 - inside]
        weights = np.zeros((ROUNDS, 150))
        np.put_along_axis(weights, order, 1.0, axis=1)
        weights[:, 0] = inside
        seen.append(_fits(x, y, weights) @ [1, x[0, 0]])
    expected, error = _advantage(seen), np.sqrt(2 / ROUNDS)
    assert _advantage([game.members, game.nonmembers]) == pytest.approx(expected, abs=3 * error)


def test_leverages_are_those_beside_the_records_that_are_fitted() -> None:
    """120 of 2,000 hold a value: beside all of them none is far out, among 50 each one is."""
    rng = np.random.default_rng(8)
    x = np.where(np.arange(2000) < 120, 10 + rng.standard_normal(2000), 0.0)
    y = x + 0.5 * rng.standard_normal(2000)
    y[0] += 4.0
    table = leakscore_app.table_of(np.column_stack([x, y]), columns=["x", "y"])
    _, game = _played(table, n=50)
    samples = [_samples(2000, 50, 5000, [0], inside, rng) for inside in (True, False)]
    seen = [_fits(x[:, None], y, weights) @ [1, x[0]] for weights in samples]
    assert game.advantage.simulated == pytest.approx(_advantage(seen), abs=4 * np.sqrt(2 / 5000))
    assert abs(game.advantage.simulated - game.advantage.theory) > 0.05


def test_a_long_table_is_not_played_to_first_order(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _six_holders()
    table = leakscore_app.table_of(np.column_stack([x, y]), columns=["x", "y"])
    sizes(monkeypatch, long=100, block=64)
    report = leakscore_app.analyse(
        table, statistic=statistics.Regression("y"), max_advantage=0.99, rounds=400
    )
    assert report.verdict.decision == "do not publish"
    assert "samples of so long a table are not fitted again" in report.verdict.why


def test_a_model_of_many_records_that_hangs_on_few_is_refused() -> None:
    rng, flag = np.random.default_rng(7), np.arange(70_000) < 8
    outcome = np.where(flag, np.arange(70_000) % 2, rng.random(70_000) < 0.5)
    table = np.column_stack([rng.normal(size=70_000), flag, outcome]).astype(float)
    with pytest.raises(ValueError, match=r"record \d has leverage 0\.1\d*: .* hangs on few"):
        leakscore_app.analyse(
            leakscore_app.table_of(table, columns=["x", "flag", "y"]),
            statistic=statistics.GLM("y", "binomial"),
            distinct_records=True,
        )


def _hazard_ratios(flag: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The log hazard ratios of samples by bisection, of records that die one after another."""
    low, high = np.full(len(weights), -9.0), np.full(len(weights), 9.0)
    last = np.flatnonzero(flag)[-1] + 1  # of those who die later none is compared with a holder
    at_risk = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    holders = np.cumsum((weights * flag)[:, ::-1], axis=1)[:, ::-1]
    others, holders, deaths = (at_risk - holders)[:, :last], holders[:, :last], weights[:, :last]
    for _ in range(25):
        middle = (low + high) / 2
        hazard = holders * np.exp(middle)[:, None]
        share = hazard / np.maximum(hazard + others, 1e-300)
        rising = weights @ flag > np.einsum("ri,ri->r", deaths, share)
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.where(weights @ flag > 0, low, np.nan)


def test_the_game_of_a_cox_model_is_that_of_fits_to_every_sample() -> None:
    """With features of the first order the game is the theory's .38: it would be published."""
    rng, flag = np.random.default_rng(0), np.isin(np.arange(120), [60, 70, 85]).astype(float)
    times = np.cumsum(0.1 + rng.random(120))
    table = leakscore_app.table_of(
        np.column_stack([flag, times, np.ones(120)]), columns=["flag", "t", "died"]
    )
    report = leakscore_app.analyse(
        table,
        statistic=statistics.Cox("t", "died"),
        distinct_records=True,
        max_advantage=0.45,
        rounds=ROUNDS,
    )
    game = report.games[0]
    assert game.row == 86  # who lives longest: the ratio is lower with it in
    samples = [_samples(120, 120, ROUNDS, [85], inside, rng) for inside in (True, False)]
    expected = _advantage([_hazard_ratios(flag, weights) for weights in samples])
    _require_equal(game, expected)
    assert expected > 0.45 > game.advantage.theory
    assert report.verdict.decision == "publish with noise"
