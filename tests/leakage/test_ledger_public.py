"""The public rule: decided without the values, and on the safe side of the exact leakage."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from leakscore import Reference, tradeoff
from leakscore.leakage import Answer, Ledger, Refusal
from tests.leakage.test_ledger import answered, masks

N = 60
BOUNDS = {0: (0.0, 1.0), 1: (-3.0, 5.0), 2: (0.0, 4.0)}
FACTORS = np.array([[1.0, 0.0, 0.0], [0.5, 1.2, 0.0], [0.3, -0.4, 0.6]]) * [[0.2], [1.0], [1.0]]
REFERENCE = Reference([0.4, 1.0, 2.5], FACTORS @ FACTORS.T)


def uniform(seed: int, rows: int = N) -> np.ndarray:
    low, high = np.transpose(list(BOUNDS.values()))
    return np.random.default_rng(seed).uniform(low, high, (rows, 3))


def started(values: np.ndarray, reference: Any = "uniform", **options: Any) -> Ledger:
    options = {"max_leakage": 0.5} | options
    return Ledger(values, bounds=BOUNDS, reference=reference, **options)


def largest(
    asked: list[tuple[np.ndarray, int]], reference: Reference, noise: np.ndarray | float = 0.0
) -> np.ndarray:
    """Of every record the largest leakage of a value in the box, at a vertex, by the whole law."""
    cov = np.diag(reference.cov) if reference.cov.ndim == 1 else reference.cov
    A = np.array([mask for mask, _ in asked], dtype=float)
    columns = [column for _, column in asked]
    away = np.array(list(itertools.product(*BOUNDS.values()))) - reference.mean
    result = np.zeros(A.shape[1])
    for i in range(A.shape[1]):
        others = np.delete(A, i, axis=1)
        sums = (others @ others.T) * cov[np.ix_(columns, columns)] + noise
        shift = A[:, i] * away[:, columns]
        scale = np.sqrt(np.maximum(np.diag(sums), 1e-300))
        values, vectors = np.linalg.eigh(sums / scale / scale[:, None])
        turned = (shift / scale) @ vectors
        spanned = values > 1e-10
        result[i] = (turned[:, spanned] ** 2 / values[spanned]).sum(axis=1).max()
        if (np.abs(turned[:, ~spanned]) > 1e-6).any():
            result[i] = np.inf
    return result


@pytest.mark.parametrize("correlated", [False, True])
def test_it_is_the_largest_leakage_in_the_box(correlated: bool) -> None:
    """Exactly so where columns are independent, and above it where they are not."""
    reference = REFERENCE if correlated else Reference(REFERENCE.mean, np.diag(REFERENCE.cov))
    ledger, asked = started(uniform(0), reference, max_leakage=1e6), []
    for k, mask in enumerate(masks(9, rows=N)):
        columns = [(0,), (1, 2), (2,), (0, 1, 2)][k % 4]
        answered(ledger, mask, ("sum", "mean")[k % 2], columns)
        asked += [(mask, column) for column in columns]
        expected = largest(asked, reference)
        if correlated:
            assert (ledger.leakage >= expected * (1 - 1e-9)).all()
            assert (ledger.leakage <= 4 * expected).all()
        else:
            np.testing.assert_allclose(ledger.leakage, expected, rtol=1e-9)


def test_noise_is_enough_and_no_more() -> None:
    reference = Reference(REFERENCE.mean, np.diag(REFERENCE.cov))
    ledger, asked, variances = started(uniform(1), reference, max_noise=1e3, share=0.7), [], []
    for k, mask in enumerate(masks(6, rows=N) & (np.arange(N) < 30)):
        allowed = 0.7 * 0.5 + 0.3 * ledger.leakage
        outcome = answered(ledger, mask, "sum", [k % 2, 2], rng=k)
        asked += [(mask, k % 2), (mask, 2)]
        variances += [json.loads(ledger.to_bytes().splitlines()[-2])["variance"]] * 2
        columns = np.array([column for _, column in asked])
        noise = np.zeros((len(asked), len(asked)))
        for column in range(3):
            of = np.flatnonzero(columns == column)
            if of.size:
                _, upper = np.linalg.qr(np.array([asked[j][0] for j in of], dtype=float).T)
                within = (upper.T * np.array(variances)[of]) @ upper
                noise[np.ix_(of, of)] = within * reference.variances[column]
        expected = largest(asked, reference, noise)
        np.testing.assert_allclose(ledger.leakage, expected, rtol=1e-8)
        assert ledger.leakage.max() <= 0.5
        j = len(asked) - 2
        np.testing.assert_allclose(outcome.noise_std, np.sqrt(np.diag(noise)[j:]), rtol=1e-9)
        errors = outcome.noise_std / np.sqrt(mask.sum() * reference.variances[list(columns[j:])])
        assert outcome.standard_errors == pytest.approx(errors.max(), rel=1e-9)
        if outcome.noise_std.any():
            assert (ledger.leakage - allowed).max() == pytest.approx(0.0, abs=1e-9)
    assert np.all(variances[2:])


@pytest.mark.parametrize("reference", ["uniform", REFERENCE])
def test_values_decide_nothing(reference: Any) -> None:
    """Two tables with the same selections and other values: all but the values is the same."""
    rng = np.random.default_rng(2)
    low, high = np.transpose(list(BOUNDS.values()))
    edges = np.where(rng.random((N, 3)) < 0.5, low, high)
    edges[7:] = edges[7]  # columns of one value but for a few records
    ledgers = [started(X, reference, max_noise=2.0) for X in (uniform(3), edges)]
    kinds = set()
    for _ in range(60):
        mask = rng.random(N) < rng.choice([0.05, 0.5, 0.98])
        mask[rng.integers(N)] = True
        statistic = ("count", "sum", "mean")[rng.integers(3)]
        size = 0 if statistic == "count" else int(rng.integers(1, 4))
        columns = rng.permutation(3)[:size].tolist()
        first, second = (each.preview(mask, statistic, columns) for each in ledgers)
        assert first == second
        kinds.add(type(first))
        seed = int(rng.integers(2**32))
        outcomes = [each.ask(mask, statistic, columns, rng=seed).to_dict() for each in ledgers]
        for outcome in outcomes:
            outcome.pop("values", None)
        assert outcomes[0] == outcomes[1]
        np.testing.assert_array_equal(ledgers[0].leakage, ledgers[1].leakage)
    lines = [each.to_bytes().splitlines()[1:-1] for each in ledgers]
    for pair in zip(*lines, strict=True):
        contents = [json.loads(line) for line in pair]
        for content in contents:
            del content["digest"]
        assert contents[0] == contents[1]
    assert kinds == {Answer, Refusal}


def test_values_are_the_sums_with_their_noise() -> None:
    X, (a, b) = uniform(4), masks(2, rows=N)
    errors = []
    for seed in range(300):
        ledger = started(X, max_leakage=0.05, max_noise=100.0)
        first = answered(ledger, a, "mean", [1], rng=seed)
        answer = answered(ledger, a & b, "sum", [1], rng=1000 + seed)
        errors += [(answer.values[0] - X[a & b, 1].sum()) / answer.noise_std[0]]
        errors += [(first.values[0] - X[a, 1].mean()) / first.noise_std[0]]
        rest = answered(ledger, a & ~b, "sum", [1], rng=seed)
        assert (rest.free, first.count) == (True, a.sum())
        expected = first.values[0] * a.sum() - answer.values[0]
        assert rest.values[0] == pytest.approx(expected, rel=1e-12)
    assert abs(np.mean(np.square(errors)) - 1) < 4 * np.sqrt(2 / 300)
    kept = Ledger.from_bytes(ledger.to_bytes(), X)
    assert kept.to_bytes() == ledger.to_bytes()
    assert (kept.rule, kept.bounds) == ("public", BOUNDS)
    np.testing.assert_allclose(kept.leakage, ledger.leakage, rtol=1e-10)
    again = answered(kept, a & b, "sum", [1], rng=9)
    assert (again.free, again.values.tolist()) == (True, answer.values.tolist())


def test_a_difference_of_one_record_is_refused_by_both() -> None:
    X, everybody = uniform(5), np.ones(N, dtype=bool)
    for ledger in (started(X, max_leakage=2.0), Ledger(X, max_leakage=2.0)):
        answered(ledger, masks(1, rows=N)[0], "sum", [0])
        answered(ledger, everybody, "mean", [0])
        refusal = ledger.ask(np.arange(N) != 31, "sum", [0])
        assert isinstance(refusal, Refusal)
        assert (refusal.exceeding, refusal.leakage, refusal.collides) == (1, np.inf, (2,))
    alone = started(X).ask(np.arange(N) == 3, "sum", [0])
    assert (alone.leakage, alone.collides) == (np.inf, ())
    assert answered(started(X), np.arange(N) == 3, "count").free


def test_the_exact_leakage_is_below_it() -> None:
    """Of values that follow the reference; the counts of the selections are public."""
    X, everybody = uniform(6, 4000), np.ones(4000, dtype=bool)
    both = started(X, max_leakage=1e6), Ledger(X, max_leakage=1e6)
    for mask in (everybody, *masks(6, rows=4000)):
        for ledger in both:
            ledger.ask(mask, "mean", [0, 1, 2])
    public, exact = (ledger.leakage for ledger in both)
    counts = Ledger(X, max_leakage=1e6)
    for mask in masks(6, rows=4000):
        counts.ask(mask, "count")
    assert ((exact - counts.leakage) <= 1.02 * public).all()
    assert (exact - counts.leakage).max() > 0.5 * public.max()  # a value near a corner


def test_it_is_played() -> None:
    """Sums with a record at a bound or with another draw, told by the likelihood ratio."""
    chosen, rounds, rng = masks(4, rows=N), 40_000, np.random.default_rng(7)
    ledger = started(uniform(7), max_leakage=1e6)
    for mask in chosen:
        answered(ledger, mask, "sum", [0])
    target = int(np.argmax(ledger.leakage))
    without = rng.uniform(size=(rounds, N)) @ chosen.T.astype(float)
    values = rng.uniform(size=(rounds, N))
    values[:, target] = 1.0
    within = values @ chosen.T.astype(float)
    A = np.delete(chosen, target, axis=1).astype(float)
    direction = np.linalg.solve(A @ A.T / 12.0, chosen[:, target] * 0.5)
    scores, theirs = within @ direction, without @ direction
    played = (scores.mean() - theirs.mean()) ** 2 / scores.var()
    root = np.sqrt(ledger.leakage[target])
    assert abs(np.sqrt(played) - root) < 4 * np.sqrt((2 + root**2) / rounds)
    power = (scores > np.quantile(theirs, 0.95)).mean()
    assert power < tradeoff.gaussian(root).power(0.05) + 4 * np.sqrt(0.3 / rounds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": {0: (0.0, 0.5)}}, r"bounds\[0\]=\(0.0, 0.5\) must hold every value"),
        ({"bounds": {0: (1.0, 1.0)}}, "a lower and a higher number"),
        ({"bounds": {0: (0.0,)}}, "must be two numbers"),
        ({"bounds": {3: (0.0, 1.0)}}, "column of bounds=3"),
        ({"bounds": {0: (0.0, 1.0)}, "reference": None}, "or 'uniform'"),
        ({"bounds": {0: (0.0, 1.0)}, "reference": REFERENCE}, "reference of 3 features"),
        ({"reference": Reference([0.4, 1, 9], np.eye(3))}, r"within bounds\[0\]"),
        ({"reference": Reference([0.4, 1, 9], np.eye(3) / 9)}, r"within bounds\[2\].*mean is 9"),
        ({"reference": Reference([0.5, 1, 2], np.full((3, 3), 0.1))}, "follow from each other"),
        ({"bounds": None}, "reference must be given only with rule='public'"),
        ({"rule": "exact"}, "bounds must be given only with rule='public'"),
        ({"rule": "both"}, "rule='both'"),
    ],
)
def test_what_is_public_must_be_possible(options: dict[str, Any], message: str) -> None:
    arguments = {"bounds": BOUNDS, "reference": "uniform", "max_leakage": 1.0} | options
    with pytest.raises(ValueError, match=message):
        Ledger(uniform(8), **arguments)


def test_what_looks_at_values_is_refused() -> None:
    ledger = Ledger(uniform(8), bounds={1: (-3.0, 5.0)}, reference="uniform", max_leakage=1.0)
    with pytest.raises(ValueError, match="looks at no values"):
        ledger.ask(lambda rows: rows[:, 0] > 0.5, "count")
    with pytest.raises(ValueError, match=r"must be in bounds=\{1: "):
        ledger.ask(np.ones(N, dtype=bool), "sum", [1, 0])
    with pytest.raises(TypeError, match="must map a column"):
        Ledger(uniform(8), bounds=[(0.0, 1.0)], reference="uniform", max_leakage=1.0)  # type: ignore[arg-type]
