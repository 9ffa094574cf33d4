"""A ledger against plain refits of all features without each record, and against a played game."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from leakscore import Reference, tradeoff
from leakscore.leakage import Answer, Ledger, Refusal, leave_one_out

N = 120


def table(seed: int = 0, rows: int = N) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 3)) @ rng.normal(size=(3, 3)) + [5.0, 0.0, -300.0]


def masks(number: int, seed: int = 1, rows: int = N) -> np.ndarray:
    return np.random.default_rng(seed).random((number, rows)) < 0.5


def left_out(features: np.ndarray, noise: np.ndarray | float = 0.0) -> np.ndarray:
    """Leakage of every record: moments of the others, and a pseudo-inverse; noise on the sums."""
    result = np.empty(len(features))
    for i, record in enumerate(features):
        others = np.delete(features, i, axis=0)
        cov = np.cov(others.T, bias=True) + noise / len(features)
        scale = np.sqrt(np.diag(cov))
        away = (record - others.mean(axis=0)) / scale
        inverse = np.linalg.pinv(cov / scale / scale[:, None], rcond=1e-11, hermitian=True)
        result[i] = away @ inverse @ away / len(features)
    return result


def answered(ledger: Ledger, *question: Any, **options: Any) -> Answer:
    answer = ledger.ask(*question, **options)
    assert isinstance(answer, Answer)
    return answer


def test_means_and_sums_equal_refits() -> None:
    X, chosen = table(), masks(5)
    ledger, features = Ledger(X, max_leakage=5.0), []
    for k, mask in enumerate(chosen):
        mean = answered(ledger, mask, "mean", [k % 3, (k + 1) % 3])
        np.testing.assert_allclose(mean.values, X[mask][:, [k % 3, (k + 1) % 3]].mean(axis=0))
        assert mean.count == mask.sum()
        features += [mask, mask * X[:, k % 3], mask * X[:, (k + 1) % 3]]
        np.testing.assert_allclose(ledger.leakage, left_out(np.stack(features, axis=1)), rtol=1e-7)
        assert mean.leakage == ledger.leakage.max()
    total = answered(ledger, chosen[0] & chosen[1], "sum", [2])
    np.testing.assert_allclose(total.values, [X[chosen[0] & chosen[1], 2].sum()])
    features.append((chosen[0] & chosen[1]) * X[:, 2])
    np.testing.assert_allclose(ledger.leakage, left_out(np.stack(features, axis=1)), rtol=1e-7)


def test_the_mean_of_the_table_is_leave_one_out() -> None:
    X = table()
    ledger = Ledger(X, max_leakage=1.0)
    answered(ledger, np.ones(N, dtype=bool), "mean", [0, 1, 2])
    np.testing.assert_allclose(ledger.leakage, leave_one_out(X, Reference.fit(X), N), rtol=1e-9)


def test_noise_is_counted_once_and_is_in_no_way_too_little() -> None:
    X, chosen = table(), masks(6)
    ledger, features = Ledger(X, max_leakage=0.1, max_noise=20.0), [np.ones(N)]
    for k, mask in enumerate(chosen):
        answer = answered(ledger, mask, "mean", [k % 3], rng=k)
        features += [mask, mask * X[:, k % 3]]
        _, upper = np.linalg.qr(np.stack(features, axis=1))
        lines = [json.loads(line) for line in ledger.to_bytes().splitlines()[1:-1]]
        variances = np.concatenate([[0.0], *(np.repeat(line["variance"], 2) for line in lines)])
        noise = (upper.T * variances) @ upper
        expected = left_out(np.stack(features[1:], axis=1), noise[1:, 1:])
        np.testing.assert_allclose(ledger.leakage, expected, rtol=1e-7)
        assert ledger.leakage.max() <= 0.1
        assert answer.count is not None
        gradient = np.array([-answer.values[0], 1.0]) / answer.count
        std = np.sqrt(gradient @ noise[-2:, -2:] @ gradient)
        np.testing.assert_allclose(answer.noise_std, [std], rtol=1e-7)
    assert variances.any()


def test_noise_has_its_standard_deviation() -> None:
    X, (mask, other) = table(), masks(2)
    nearly = mask ^ (other & (np.arange(N) < 20))
    errors = []
    for seed in range(400):
        ledger = Ledger(X, max_leakage=0.004, max_noise=100.0, share=0.2)
        first = answered(ledger, mask, "sum", [0], rng=1000 + seed)
        answer = answered(ledger, nearly, "sum", [0], rng=5000 + seed)
        errors.append((answer.values[0] - X[nearly, 0].sum()) / answer.noise_std[0])
    assert first.noise_std[0] > 0.5 * answer.noise_std[0]  # most of it is that of the first
    assert abs(np.mean(np.square(errors)) - 1) < 4 * np.sqrt(2 / 400)


def test_a_share_of_one_takes_the_least_noise() -> None:
    X, (mask, other) = table(), masks(2)
    ledger = Ledger(X, max_leakage=0.005, max_noise=1e3, share=1.0)
    answered(ledger, mask, "sum", [2], rng=0)
    assert ledger.leakage.max() == pytest.approx(0.005, rel=1e-9)
    assert isinstance(ledger.ask(other, "sum", [2], rng=0), Refusal)


def test_the_difference_of_two_sums_is_refused() -> None:
    X, everybody = table(), np.ones(N, dtype=bool)
    for i in range(N):
        ledger = Ledger(X, max_leakage=2.0)
        answered(ledger, masks(1)[0], "sum", [1])
        answered(ledger, everybody, "sum", [0])
        before = ledger.leakage
        refusal = ledger.ask(np.arange(N) != i, "sum", [0])
        assert isinstance(refusal, Refusal)
        assert (refusal.exceeding, refusal.leakage) == (1, np.inf)
        assert 2 in refusal.collides
        np.testing.assert_array_equal(ledger.leakage, before)
        assert ledger.answers == 2
    hidden = answered(Ledger(X, max_leakage=2.0, max_noise=1.0), np.arange(N) != 3, "sum", [0])
    assert hidden.noise_std[0] == 0  # alone it tells little


def test_a_small_value_beside_a_huge_one_is_no_rounding() -> None:
    X = np.abs(table(rows=2000)) + 1
    X[[7, 8]] = 1e13
    rows = np.arange(2000)
    ledger = Ledger(X, max_leakage=5.0)
    answered(ledger, rows % 3 > 0, "sum", [0])
    refusal = ledger.ask((rows % 3 > 0) & (rows != 31), "sum", [0])
    assert isinstance(refusal, Refusal)
    assert refusal.leakage == np.inf


def test_what_follows_is_free_and_has_the_same_noise() -> None:
    X, (a, b) = table(), masks(2)
    ledger = Ledger(X, max_leakage=0.03, max_noise=50.0)
    first = answered(ledger, a, "sum", [0, 2], rng=1)
    both = answered(ledger, a & b, "sum", [2], rng=2)
    leakage = ledger.leakage
    again = answered(ledger, a, "sum", [2, 0], rng=3)
    rest = answered(ledger, a & ~b, "sum", [2], rng=4)
    assert again.free
    assert rest.free
    assert again.values.tolist() == first.values[::-1].tolist()
    np.testing.assert_allclose(rest.values, first.values[1] - both.values[0], rtol=1e-12)
    np.testing.assert_array_equal(ledger.leakage, leakage)
    assert first.noise_std.all()
    assert answered(ledger, np.ones(N, dtype=bool), "count").free


def test_columns_that_follow_from_others_are_free() -> None:
    X, (a, b) = table(), masks(2)
    X = np.column_stack([X, X[:, 0] + X[:, 1], 1.8 * X[:, 0] + 32])
    ledger = Ledger(X, max_leakage=1.0)
    answered(ledger, a, "mean", [0, 1])
    assert answered(ledger, a, "mean", [3, 4]).free
    assert not answered(ledger, b, "sum", [3]).free


def test_a_preview_is_the_answer_and_leaves_nothing() -> None:
    X, chosen = table(), masks(3)
    ledger, plain = Ledger(X, max_leakage=0.5), Ledger(X, max_leakage=0.5)
    for mask in chosen:
        for _ in range(2):
            preview = ledger.preview(mask, "mean", [1])
        answer = answered(ledger, mask, "mean", [1])
        assert isinstance(preview, Answer)
        assert preview.values.size == 0
        assert (preview.number, preview.leakage) == (answer.number, answer.leakage)
        assert answer == plain.ask(mask, "mean", [1])
    assert ledger.to_bytes() == plain.to_bytes()


def test_means_far_from_zero_are_no_matter() -> None:
    X, chosen = table(), masks(8)
    plain, shifted = Ledger(X, max_leakage=5.0), Ledger(X + 1e6, max_leakage=5.0)
    for k, mask in enumerate(chosen):
        for ledger in (plain, shifted):
            answered(ledger, mask, "mean", [k % 3])
        np.testing.assert_allclose(shifted.leakage, plain.leakage, rtol=1e-6)


@pytest.mark.parametrize("target", [3, 50, 110])
def test_seven_overlapping_answers_are_played(target: int) -> None:
    X, chosen, rounds = table(5, 200), masks(7, 6, 200), 60_000
    X[target] *= 2
    ledger = Ledger(X, max_leakage=100.0)
    for mask in chosen:
        answered(ledger, mask, "sum", [0])
    features = chosen.T * X[:, :1]
    others = np.delete(features, target, axis=0)
    away = features[target] - others.mean(axis=0)
    scores = others @ np.linalg.solve(np.cov(others.T, bias=True), away)
    own = away @ np.linalg.solve(np.cov(others.T, bias=True), features[target])
    rng = np.random.default_rng(7)
    without = rng.choice(scores, size=(rounds, 200)).sum(axis=1)
    within = rng.choice(scores, size=(rounds, 199)).sum(axis=1) + own
    played = (within.mean() - without.mean()) ** 2 / without.var()
    root = np.sqrt(ledger.leakage[target])
    assert abs(np.sqrt(played) - root) < 4 * np.sqrt((2 + root**2) / rounds)
    power = (within > np.quantile(without, 0.95)).mean()
    theory = tradeoff.gaussian(root).power(0.05)
    assert abs(power - theory) < 0.01 + 4 * np.sqrt(0.3 / rounds)


def test_what_rounding_decides_is_free_or_refused() -> None:
    """Copies of a column that differ in a last digit; what is tiny but not that is judged."""
    X, mask = table(), masks(1)[0]
    rng = np.random.default_rng(3)
    X = np.column_stack([X, X[:, 0] + 1e-11 * rng.normal(size=N), X[:, 0] + 1e-5 * X[:, 1]])
    ledger = Ledger(X, max_leakage=1.0)
    answered(ledger, mask, "sum", [0])
    assert answered(ledger, mask, "sum", [3]).free
    answered(ledger, mask, "sum", [4])
    expected = left_out(np.stack([mask * X[:, 0], mask * X[:, 1]], axis=1))
    np.testing.assert_allclose(ledger.leakage, expected, rtol=1e-5)
    X[:, 3] = np.where(np.arange(N) == np.flatnonzero(mask)[0], X[:, 0] + 3e-8, X[:, 0])
    ledger = Ledger(X, max_leakage=1.0)
    answered(ledger, mask, "sum", [0])
    refusal = ledger.ask(mask, "sum", [3])
    assert isinstance(refusal, Refusal)
    assert (refusal.leakage, refusal.standard_errors) == (np.inf, np.inf)


def test_rounding_of_what_is_public_is_no_noise() -> None:
    """The count of the table has no standard error, by which no rounding may be divided."""
    X, everybody = table(), np.ones(N, dtype=bool)
    ledger = Ledger(X, max_leakage=0.03, max_noise=50.0)
    for k, mask in enumerate(masks(4)):
        answered(ledger, mask, "mean", [k % 3], rng=k)
    count = answered(ledger, everybody, "count")
    assert (count.noise_std.tolist(), count.standard_errors) == ([0.0], 0.0)
    total, mean = (ledger.preview(everybody, kind, [0]) for kind in ("sum", "mean"))
    assert total.standard_errors > 0
    assert mean.standard_errors == pytest.approx(total.standard_errors, rel=1e-6)
