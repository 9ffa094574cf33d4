"""The least noise for persons of several records and after earlier means, by estimates anew."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import leave_group_out, noise_for_table
from tests.helpers.parts import PersonsProblem
from tests.leakage.test_shaped import SHAPES

both = pytest.mark.parametrize("shape", SHAPES)
LIMIT: Any = {"max_advantage": 0.2}


def table(rows: int = 60, dim: int = 3, persons: int = 25, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(rows, dim)) @ rng.normal(size=(dim, dim)) * 10.0 ** np.arange(dim)
    return X + 3, rng.integers(0, persons, size=rows)


def without(X: Any, ids: Any, person: Any, ddof: int, ridge: float) -> tuple[Any, Any]:
    others = X[ids != person]
    cov = np.atleast_2d(np.cov(others.T, ddof=ddof)) + ridge * np.eye(X.shape[1])
    return others.mean(axis=0), cov


def anew(
    X: Any, ids: Any, n: int, noise: Any, *, share: float = 1.0, ddof: int = 0, ridge: float = 0.0
) -> Any:
    """Leakage of every person, mean and covariance estimated again from the others."""
    found = []
    for person in np.unique(ids):
        mean, cov = without(X, ids, person, ddof, ridge)
        away = (X[ids == person] - mean).sum(axis=0)
        found.append(away @ np.linalg.solve(share * cov + n * noise, away) / n)
    return np.array(found)


@both
@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize(("ddof", "ridge"), [(0, 0.0), (1, 0.7)])
def test_every_person_is_left_out_and_within_the_limit(
    shape: Any, finite: bool, ddof: int, ridge: float
) -> None:
    (X, ids), n = table(), 30
    found = noise_for_table(
        X,
        n,
        reference=Reference.fit(X, ddof=ddof, ridge=ridge),
        ids=ids.astype(str),
        shape=shape,
        population="finite" if finite else "infinite",
        **LIMIT,
    )
    common: Any = {"share": 1 - n / len(X) if finite else 1.0, "ddof": ddof, "ridge": ridge}
    after = anew(X, ids, n, found.covariance, **common)
    assert after.max() <= found.max_leakage * (1 + 1e-9)
    assert after.max() == pytest.approx(found.leakage_after, rel=1e-9)
    assert found.leakage_before == pytest.approx(
        anew(X, ids, n, np.zeros((3, 3)), **common).max(), rel=1e-9
    )
    assert 0 <= found.gap <= 1e-4
    tight = np.unique(ids)[after > found.max_leakage * (1 - 1e-4)]
    np.testing.assert_array_equal(np.unique(ids[found.active]), tight)
    assert ids[found.worst] == np.unique(ids)[after.argmax()]


@both
@pytest.mark.parametrize("persons", [3, 8])
def test_no_other_solver_finds_less(shape: Any, persons: int) -> None:
    """SLSQP over a factor, with limits by estimates anew; three persons have more rows than d."""
    X, ids = table(24, 2, persons, seed=4)
    found = noise_for_table(X, 30, ids=ids, shape=shape, **LIMIT)
    scale = X.std(axis=0)

    def noise(x: Any) -> Any:
        root = np.diag(x) if shape == "optimal-diagonal" else x.reshape(2, 2)
        return (root @ root.T) * scale * scale[:, None] / 30

    def slack(x: Any) -> Any:
        return 1 - anew(X, ids, 30, noise(x)) / found.max_leakage

    best = np.inf
    for seed in range(2):
        start = np.eye(2) * 20 + np.random.default_rng(seed).normal(size=(2, 2))
        start = np.diag(start) if shape == "optimal-diagonal" else start.ravel()
        other = minimize(
            lambda x: float(x @ x),
            start,
            constraints={"type": "ineq", "fun": slack},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        if slack(other.x).min() > -1e-7:
            best = min(best, float(other.fun))
    assert best >= found.cost * (1 - found.gap) * (1 - 1e-6)
    assert best == pytest.approx(found.cost, rel=3e-4)


@both
def test_persons_of_one_record_are_the_rows(shape: Any) -> None:
    X, _ = table()
    plain = noise_for_table(X, 30, shape=shape, **LIMIT)
    same = noise_for_table(X, 30, shape=shape, ids=np.arange(60)[::-1], **LIMIT)
    np.testing.assert_array_equal(plain.factor, same.factor)
    # The ellipsoids of one person of two: nearly the problem of the rows, by the other method.
    ids = np.r_[np.arange(59), 58]
    near = noise_for_table(X, 30, shape=shape, ids=ids, **LIMIT)
    after = anew(X, ids, 30, near.covariance)
    assert after.max() == pytest.approx(near.max_leakage, rel=1e-9)
    assert near.gap <= 1e-4


def batches_anew(X: Any, ids: Any, totals: list[int], noise: Any) -> tuple[Any, Any]:
    """What earlier means told of every person, and what the present one adds."""
    ends, told, added = [0, *totals, len(X)], [], []
    for person in np.unique(ids):
        mean, cov = without(X, ids, person, 0, 0.0)
        parts = []
        for start, stop in pairwise(ends):
            rows = np.arange(start, stop)[ids[start:stop] == person]
            away, b = (X[rows] - mean).sum(axis=0), stop - start
            now = b * (len(X) / b) ** 2 * noise if stop == len(X) else 0 * noise
            parts.append(away @ np.linalg.solve(cov + now, away) / b)
        told.append(sum(parts[:-1]))
        added.append(parts[-1])
    return np.array(told), np.array(added)


@both
@pytest.mark.parametrize("totals", [[40], [20, 35]])
@pytest.mark.parametrize("own", [False, True])
def test_what_earlier_means_told_is_taken_off(shape: Any, totals: list[int], own: bool) -> None:
    X, ids = table(60, 2, 20, seed=7)
    ids = np.arange(60) if own else ids
    limit = 0.25
    found = noise_for_table(
        X, 60, ids=None if own else ids, previous=totals, shape=shape, max_advantage=limit
    )
    told, added = batches_anew(X, ids, totals, found.covariance)
    new = np.isin(np.unique(ids), ids[totals[-1] :])
    beyond = told >= found.max_leakage
    assert own or (beyond & new).any()
    answered = np.where(beyond, 0.0, told) + added
    assert answered[new].max() <= found.max_leakage * (1 + 1e-9)
    assert answered[new].max() == pytest.approx(found.leakage_after, rel=1e-9)
    assert found.gap <= 1e-4
    before = batches_anew(X, ids, totals, np.zeros((2, 2)))[1]
    assert found.leakage_before == pytest.approx(
        (np.where(beyond, 0.0, told) + before)[new].max(), rel=1e-9
    )


@both
def test_columns_whose_noise_is_free_and_a_radius(shape: Any) -> None:
    X, ids = table()
    weights = 1 / X.var(axis=0)
    weights[1] = 0.0
    found = noise_for_table(X, 30, ids=ids, shape=shape, weights=weights, **LIMIT)
    kept = [0, 2]
    alone = noise_for_table(X[:, kept], 30, ids=ids, shape=shape, **LIMIT)
    assert found.cost == pytest.approx(alone.cost, rel=1e-4)
    assert max(found.gap, alone.gap) <= 1e-4
    assert anew(X, ids, 30, found.covariance).max() <= found.max_leakage * (1 + 1e-9)
    if shape == "optimal":
        wider = noise_for_table(X, 30, ids=ids, radius=9.0, **LIMIT)
        assert wider.protected_radius >= 9.0
        cov = np.cov(X.T, ddof=0) + 30 * wider.covariance
        worst = 1 / np.linalg.eigvals(np.linalg.solve(np.cov(X.T, ddof=0), cov)).real.min()
        assert 81 * worst / 30 <= wider.max_leakage * (1 + 1e-9)


def test_every_point_is_implied_by_the_limit_of_its_person() -> None:
    """y y' <= M for points of any noise: then the certificate of the points is one of the limits.

    M by hand: from the rows of each person, W = 1 + 11'/(N - k) and the sum's distance.
    """
    X, ids = table(20, 2, 5, seed=3)
    seen: list[Any] = []
    plain = PersonsProblem.points

    def kept(self: PersonsProblem, noise: Any, which: Any) -> Any:
        found = plain(self, noise, which)
        seen.append((self, which, found / self.scale))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PersonsProblem, "points", kept)
        result = noise_for_table(X, 15, ids=ids, **LIMIT)
    largest = max(np.bincount(ids))
    scatter = 20 * np.cov(X.T, ddof=0)
    ellipsoids = []
    for person in range(5):
        rows = X[ids == person] - X.mean(axis=0)
        k = len(rows)
        weight = np.eye(k) + 1 / (20 - k)
        away = rows.T @ weight @ np.ones(k)
        M = rows.T @ weight @ rows / (20 - k) + np.outer(away, away) / (15 * result.max_leakage)
        ellipsoids.append(M + (1 / (20 - largest) - 1 / (20 - k)) * scatter)
    assert seen
    for _, which, points in seen:
        for y in points:
            tops = [np.linalg.eigvalsh(M - np.outer(y, y))[0] / np.trace(M) for M in ellipsoids]
            assert max(tops[person] for person in which) >= -1e-9


def test_nothing_to_do_and_repeated_columns() -> None:
    X, ids = table()
    none = noise_for_table(X, 10**9, ids=ids, **LIMIT)
    assert (none.cost, none.gap, none.factor.shape) == (0.0, 0.0, (3, 0))
    twice = np.column_stack([X, X[:, 0] - X[:, 1], np.full(60, 4.0)])
    found = noise_for_table(twice, 30, ids=ids, reference=Reference.fit(twice), **LIMIT)
    assert found.std[4] == 0.0
    inside = noise_for_table(X, 30, ids=ids, **LIMIT)
    assert found.cost >= inside.cost * (1 - 1e-3)
    with pytest.raises(SingularCovarianceError):
        leave_group_out(twice, Reference.fit(twice), 30, ids)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"ids": [1, 2]}, "ids"),
        ({"ids": [np.nan] * 60}, "ids"),
        ({"ids": [0] * 60, "n": 70}, "fewer than 60 of the 60"),
        ({"ids": np.arange(60) % 2, "n": 10}, "n=10 must be > 30"),
        ({"ids": np.arange(60) % 2, "n": 40, "population": "finite"}, "n=40 must be <= 30"),
        ({"previous": 20}, "n=30 with previous"),
        ({"previous": 60, "n": 60}, "previous=60"),
        ({"previous": [30, 20], "n": 60}, "previous"),
        ({"previous": [], "n": 60}, "previous"),
        ({"previous": 59, "n": 60}, "of several persons"),
        ({"ids": np.r_[np.arange(50), [7] * 10], "previous": 50, "n": 60}, "of several persons"),
    ],
)
def test_what_is_refused(given: dict[str, Any], named: str) -> None:
    X, _ = table()
    given = dict(given)
    with pytest.raises(ValueError, match=named):
        noise_for_table(X, given.pop("n", 30), **LIMIT, **given)
