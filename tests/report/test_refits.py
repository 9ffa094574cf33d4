"""Games of coefficients: fits are repeated in every round, where one record pulls at them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

import leakscore_app
from leakscore import statistics


def _fits(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Least squares of every sample by the normal equations, without ours; NaN if there is none."""
    design = np.column_stack([np.ones(len(x)), x])
    gram = np.einsum("rn,ni,nj->rij", weights, design, design)
    result = np.full((len(weights), design.shape[1]), np.nan)
    good = np.linalg.cond(gram) < 1e12
    right = np.einsum("rn,ni,n->ri", weights, design, y)[:, :, None]
    result[good] = np.linalg.solve(gram[good], right[good])[:, :, 0]
    return result


def _samples(n: int, target: int, rounds: int, inside: int, rng: np.random.Generator) -> np.ndarray:
    others = np.delete(np.arange(n), target)
    weights = np.zeros((rounds, n))
    weights[:, others] = rng.multinomial(n - inside, np.full(n - 1, 1 / (n - 1)), size=rounds)
    weights[:, target] += inside
    return weights


def _six_holders() -> tuple[np.ndarray, np.ndarray]:
    """Six records far out at one end, all others at 0: few samples hold all of the six."""
    rng = np.random.default_rng(1)
    x = np.zeros(150)
    x[:6] = 10 + rng.standard_normal(6)
    y = x + 0.5 * rng.standard_normal(150)
    y[0] += 2.0
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


def test_the_game_is_that_of_fits_to_every_sample() -> None:
    """With features of the first order the game would be the theory's .70, and the truth is .96."""
    x, y = _six_holders()
    table = np.column_stack([x, y])
    report = leakscore_app.analyse(
        leakscore_app.table_of(table, columns=["x", "y"]),
        statistic=statistics.Regression("y"),
        max_advantage=0.75,
        distinct_records=True,
    )
    rng, rounds = np.random.default_rng(3), 20_000
    slopes = [_fits(x, y, _samples(150, 0, rounds, k, rng))[:, 1] for k in (1, 0)]
    slopes = [np.nan_to_num(s, nan=min(map(np.nanmin, slopes))) for s in slopes]
    halves = [(s[: rounds // 2], s[rounds // 2 :]) for s in slopes]
    at = np.quantile(np.concatenate([h[0] for h in halves]), np.linspace(0, 1, 400))
    gaps = [(halves[0][0] > t).mean() - (halves[1][0] > t).mean() for t in at]
    best = at[np.argmax(np.abs(gaps))]
    expected = abs((halves[0][1] > best).mean() - (halves[1][1] > best).mean())
    game = next(game for game in report.games if game.row == 1 and game.attacker == "informed")
    error = np.hypot(np.sqrt(0.5 / rounds * 2), game.advantage.std_error)
    assert game.advantage.simulated == pytest.approx(expected, abs=4 * error + 0.01)
    assert expected > game.advantage.theory + 0.2
    assert not report.to_text().startswith("PUBLISH:")
