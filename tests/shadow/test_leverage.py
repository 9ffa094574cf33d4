"""Laws by leverage: regressions that are fitted with and without a record."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from leakscore.shadow import linear_law, logistic_law, logit_margin
from leakscore.tradeoff import shifted_gaussian

ROUNDS = 100_000


def _logistic(X: np.ndarray, y: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """Coefficients (d, C) of a multinomial regression by scipy; of two classes one is all zeros."""
    count = int(y.max()) + 1
    free = count if count > 2 else 1
    hot = np.eye(count)[y]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = np.zeros((X.shape[1], count))
        w[:, -free:] = flat.reshape(-1, free)
        logits = X @ w
        logs = logits - np.logaddexp.reduce(logits, axis=1)[:, np.newaxis]
        slope = X.T @ (np.exp(logs) - hot) + ridge[:, np.newaxis] * w
        penalty = 0.5 * float((ridge[:, np.newaxis] * w * w).sum())
        return penalty - float((logs * hot).sum()), slope[:, -free:].ravel()

    found = optimize.minimize(
        loss, np.zeros(X.shape[1] * free), jac=True, method="L-BFGS-B", options={"gtol": 1e-9}
    )
    w = np.zeros((X.shape[1], count))
    w[:, -free:] = found.x.reshape(-1, free)
    return w


def _problem(d: int = 3, n: int = 12) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(d)
    return rng.normal(size=(n, d)) * [3.0, 1.0, 0.3], rng.normal(size=d), rng.normal(size=d)


def _fits(
    X: np.ndarray, x: np.ndarray, y: float, beta: np.ndarray, sigma: float, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (ROUNDS, d) without and with the record."""
    rng = np.random.default_rng(5)
    labels = X @ beta + sigma * rng.standard_normal((ROUNDS, X.shape[0]))
    gram = X.T @ X + ridge * np.eye(X.shape[1])
    out = np.linalg.solve(gram, X.T @ labels.T).T
    inside = np.linalg.solve(gram + np.outer(x, x), X.T @ labels.T + (x * y)[:, np.newaxis]).T
    return out, inside


@pytest.mark.parametrize(("ridge", "noise"), [(0.0, 0.0), (2.0, 0.0), (0.5, 0.7)])
def test_moments_of_the_prediction(ridge: float, noise: float) -> None:
    X, x, beta = _problem()
    out, inside = (w @ x for w in _fits(X, x, 2.0, beta, 0.8, ridge))
    rng = np.random.default_rng(6)
    out, inside = (z + noise * rng.standard_normal(ROUNDS) for z in (out, inside))
    law = linear_law(X, x, 2.0, beta, sigma=0.8, ridge=ridge, noise_std=noise)
    sd = out.std(ddof=1)
    assert abs((inside.mean() - out.mean()) / sd - law.shift) < 4 * np.sqrt(2 / ROUNDS) * (
        1 + abs(law.shift)
    )
    assert inside.std(ddof=1) / sd == pytest.approx(law.scale, rel=4 * np.sqrt(1 / ROUNDS))
    if not ridge and not noise:
        h, e = law.leverage, 2.0 - x @ beta
        assert law.shift == pytest.approx(e / 0.8 * np.sqrt(h * (1 - h)), rel=1e-12)
        assert law.scale == pytest.approx(1 - h, rel=1e-12)


def _ratio(w: np.ndarray, laws: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    out, inside = (stats.multivariate_normal(mean, cov).logpdf(w) for mean, cov in laws)
    return np.asarray(inside - out)


def _power_of_all(ridge: float, alpha: float) -> tuple[float, float, float]:
    """The likelihood ratio of all coefficients, with exact laws, and the curve of one output."""
    X, x, beta = _problem()
    y, sigma = 3.0, 0.5
    gram = X.T @ X + ridge * np.eye(3)
    laws = []
    for A, extra in ((gram, 0.0), (gram + np.outer(x, x), 1.0)):
        inverse = np.linalg.inv(A)
        mean = inverse @ (X.T @ X @ beta + extra * x * y)
        laws.append((mean, sigma**2 * inverse @ X.T @ X @ inverse))
    out, inside = _fits(X, x, y, beta, sigma, ridge)
    threshold = np.quantile(_ratio(out, laws), 1 - alpha)
    power = float((_ratio(inside, laws) > threshold).mean())
    law = linear_law(X, x, y, beta, sigma=sigma, ridge=ridge)
    curve = shifted_gaussian(law.shift, law.scale)
    slope = (curve.power(alpha * 1.1) - curve.power(alpha * 0.9)) / (0.2 * alpha)
    error = np.sqrt(power * (1 - power) / ROUNDS) + slope * np.sqrt(alpha / ROUNDS)
    return power, float(curve.power(alpha)), float(error)


@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_all_coefficients_tell_no_more_than_the_prediction(alpha: float) -> None:
    """Without a ridge, against the exact likelihood ratio of all coefficients."""
    power, curve, error = _power_of_all(0.0, alpha)
    assert abs(power - curve) < 4 * error


def test_with_a_ridge_they_tell_more() -> None:
    power, curve, error = _power_of_all(4.0, 0.1)
    assert power > curve + 10 * error


def test_many_records_at_once_and_refusals() -> None:
    X, x, beta = _problem()
    rows = np.array([x, 2 * x, 0 * x])
    many = linear_law(X, rows, [1.0, 2.0, 3.0], beta, sigma=1.0)
    one = linear_law(X, 2 * x, 2.0, beta, sigma=1.0)
    assert (many.shift[1], many.scale[1]) == pytest.approx((one.shift, one.scale), rel=1e-13)
    assert (many.shift[2], many.scale[2]) == (0.0, 1.0)
    with pytest.raises(ValueError, match="full rank"):
        linear_law(X[:2], x, 1.0, beta, sigma=1.0)
    with pytest.raises(ValueError, match="nothing is random"):
        linear_law(X, x, 1.0, beta, sigma=0.0)
    with pytest.raises(ValueError, match="label"):
        linear_law(X, rows, 1.0, beta, sigma=1.0)


def _shadowed(classes: int, ridge: float, models: int) -> tuple[np.ndarray, ...]:
    """Margins of fits on random halves, by the same Newton's method on subsets."""
    rng = np.random.default_rng(classes)
    n, d = 240, 4
    X = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    W = rng.normal(size=(d + 1, classes))
    y = (X @ W + rng.gumbel(size=(n, classes))).argmax(axis=1)
    penalty = np.append(np.full(d, ridge), 0.0)
    signals, included = np.empty((models, n)), np.zeros((models, n), bool)
    for k in range(models):
        included[k, rng.permutation(n)[: n // 2]] = True
        signals[k] = logit_margin(X @ _logistic(X[included[k]], y[included[k]], penalty), y)
    return X, y, penalty, signals, included


@pytest.mark.parametrize("classes", [2, 4])
def test_logistic_law_against_shadow_models(classes: int) -> None:
    X, y, ridge, signals, included = _shadowed(classes, 1.0, 300)
    law = logistic_law(X, y, train_fraction=0.5, ridge=ridge)
    out = np.ma.masked_array(signals, included)
    inside = np.ma.masked_array(signals, ~included)
    mean, sd = out.mean(axis=0).data, out.std(axis=0, ddof=1).data
    shift = (inside.mean(axis=0).data - mean) / sd
    assert stats.spearmanr(mean, law.mean)[0] > 0.995
    assert stats.spearmanr(sd, np.sqrt(law.variance))[0] > 0.85
    assert 0.75 < np.median(np.sqrt(law.variance) / sd) < 1.15
    assert stats.spearmanr(shift, law.shift)[0] > 0.6
    large = shift > 0.5
    assert 0.7 < np.median(law.shift[large] / shift[large]) < 1.3
    assert ((law.scale > 0) & (law.scale < 1)).all()


def test_two_classes_are_one_logit_of_twice_the_ridge() -> None:
    """Softmax of two equals one logit whose penalty is half: the same laws from both forms."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + rng.logistic(size=90) > 0).astype(int)
    ones = np.ones(90)
    one = logistic_law(
        np.column_stack([X, ones]), y, train_fraction=0.4, ridge=[0.5, 0.5, 0.5, 0.0]
    )
    # A third class in one far record makes it a softmax, in which the others have a share of 1/90.
    far = np.vstack([np.column_stack([X, ones, 0.0 * ones]), [0.0, 0.0, 0.0, 1.0, 20.0]])
    many = logistic_law(far, np.append(y, 2), train_fraction=0.4, ridge=[1, 1, 1, 0, 0.1])
    np.testing.assert_allclose(many.mean[:90], one.mean, atol=0.1)
    np.testing.assert_allclose(many.influence[:90], one.influence, rtol=0.1)
    np.testing.assert_allclose(many.variance[:90], one.variance, rtol=0.1)


def test_scores_are_the_ratio_of_the_two_densities() -> None:
    X, y, ridge, signals, _ = _shadowed(2, 1.0, 2)
    law = logistic_law(X, y, train_fraction=0.5, ridge=ridge)
    g, m, sd = law.influence, law.mean, np.sqrt(law.variance)
    x = signals[0]
    step = 1e-5

    def without(t: np.ndarray) -> np.ndarray:
        return t - g / (1 + np.exp(t))

    inside = (
        stats.norm.cdf(without(x + step), m, sd) - stats.norm.cdf(without(x - step), m, sd)
    ) / (2 * step)
    near = np.abs(x - m) < 4 * sd
    ratio = np.log(inside / stats.norm.pdf(x, m, sd))
    np.testing.assert_allclose(law.score(x)[near], ratio[near], atol=1e-5)
    np.testing.assert_array_equal(law.score(signals)[1], law.score(signals[1]))


def test_what_has_no_finite_fit_is_refused() -> None:
    X = np.linspace(-1, 1, 20)[:, np.newaxis]
    with pytest.raises(ValueError, match="pass a larger ridge"):
        logistic_law(X, X[:, 0] > 0, train_fraction=0.5, ridge=0.0)
    with pytest.raises(ValueError, match="two classes"):
        logistic_law(X, np.zeros(20), train_fraction=0.5, ridge=1.0)
