"""Random questions about small tables with ties and tiny groups, against refits without a row."""

from __future__ import annotations

import json

import numpy as np
import pytest

from leakscore.leakage import Answer, Ledger


def refitted(features: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Leakage of every record from the others' moments; +inf off the span of the others."""
    result = np.zeros(len(features))
    for i, record in enumerate(features):
        others = np.delete(features, i, axis=0)
        cov = np.cov(others.T, bias=True).reshape(noise.shape) + noise / len(features)
        scale = np.sqrt(np.diag(cov))
        scale[scale == 0] = 1.0
        values, vectors = np.linalg.eigh(cov / scale / scale[:, None])
        away = vectors.T @ ((record - others.mean(axis=0)) / scale)
        spanned = values > 1e-10 * max(values.max(), 1e-300)
        result[i] = (away[spanned] ** 2 / values[spanned]).sum() / len(features)
        if (np.abs(away[~spanned]) > 1e-6).any():
            result[i] = np.inf
    return result


def published(ledger: Ledger, features: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Features that do not follow from others, and the covariance of the noise on their sums."""
    lines = [json.loads(line) for line in ledger.to_bytes().splitlines()[1:-1]]
    new = [True, *(flag for line in lines for flag in line["new"])]
    variances = [0.0, *(line["variance"] for line in lines for flag in line["new"] if flag)]
    basis = np.stack([each for each, flag in zip(features, new, strict=True) if flag], axis=1)
    _, upper = np.linalg.qr(basis)
    return basis[:, 1:], ((upper.T * np.array(variances)) @ upper)[1:, 1:]


@pytest.mark.parametrize("max_noise", [0.0, 2.0, 100.0])
def test_random_questions(max_noise: float) -> None:
    rng = np.random.default_rng(5)
    answers = refusals = 0
    for trial in range(25):
        N, d = int(rng.integers(4, 40)), int(rng.integers(1, 4))
        X = rng.normal(size=(N, d)) * 10.0 ** rng.integers(-6, 6, d)
        X = rng.integers(0, 4, (N, d)).astype(float) if trial % 2 else X
        ledger = Ledger(X, max_leakage=10 ** rng.uniform(-2, 1), max_noise=max_noise)
        features = [np.ones(N)]
        for _ in range(8):
            mask = rng.random(N) < rng.choice([0.1, 0.5, 0.9])
            mask[rng.integers(N)] = True
            statistic = ("count", "sum", "mean")[rng.integers(3)]
            columns = [] if statistic == "count" else [int(rng.integers(d))]
            outcome = ledger.ask(mask, statistic, columns, rng=3)
            more = [mask * 1.0] * (statistic != "sum") + [mask * X[:, j] for j in columns]
            if isinstance(outcome, Answer):
                answers += 1
                features += more
                basis, noise = published(ledger, features)
                if basis.size:
                    expected = refitted(basis, noise)
                    np.testing.assert_allclose(ledger.leakage, expected, rtol=1e-5, atol=1e-9)
                assert ledger.leakage.max() <= ledger.limit
            else:
                refusals += 1
                if not max_noise:
                    everything = np.stack(features[1:] + more, axis=1)
                    size = everything.shape[1]
                    assert refitted(everything, np.zeros((size, size))).max() > ledger.limit
    assert answers > 50
    assert refusals >= (20 if max_noise < 10 else 0)
