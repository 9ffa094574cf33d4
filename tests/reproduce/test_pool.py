"""The expected AUC over all pools, against all pools and against drawn ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from leakscore import Reference
from reproduce._pool import Linkage, expected_auc
from tests.helpers.linked import linked


@pytest.mark.parametrize("twins", [False, True])
def test_expected_auc_has_the_moments_of_all_pools(twins: bool) -> None:
    z = np.random.default_rng(2).standard_normal((8, 3))
    z[7] = z[2] if twins else z[7]
    products, n = z @ z.T, 4
    chances = []
    for i in range(8):
        for j in set(range(8)) - {i}:
            others = sorted(set(range(8)) - {i, j})
            gaps = []
            for rest in combinations(others, n - 1):
                pool = [i, *rest]
                score = products[:, pool].mean(axis=1) - np.diag(products) / (2 * n)
                gaps.append(score[i] - score[j])
            tie = twins and {i, j} == {2, 7}
            chances.append(0.5 if tie else stats.norm.cdf(np.mean(gaps) / np.std(gaps)))
    assert expected_auc(products, n) == pytest.approx(
        np.mean(chances), rel=1e-7 if twins else 1e-12
    )


@pytest.mark.parametrize(("people", "n"), [(60, 30), (90, 20)])
def test_expected_auc_is_that_of_drawn_pools(people: int, n: int) -> None:
    """References that are few, so that mean and covariance of the attacker are far off."""
    table = linked(people + 50, 40, 3).astype(float)
    reference = Reference.fit(table[people:], shrinkage=0.1)
    away = table[:people] - reference.mean
    products = reference.inner(away, away)
    rng = np.random.default_rng(4)
    member = rng.permuted(np.tile(np.arange(people) < n, (4000, 1)), axis=1)
    scores = member @ products / n - np.diag(products) / (2 * n)
    above = (stats.rankdata(scores, axis=1) * member).sum(axis=1) - n * (n + 1) / 2
    found = above / (n * (people - n))
    assert found[0] == pytest.approx(roc_auc_score(member[0], scores[0]), abs=1e-12)
    error = np.std(found) / np.sqrt(len(found))
    assert expected_auc(products, n) == pytest.approx(np.mean(found), abs=4 * error + 1e-3)
    assert np.mean(found) > 0.6


def test_effective_number() -> None:
    free = linked(300, 80, 6, stay=0.0)
    assert Linkage.of(free).effective_number == pytest.approx(80, rel=0.02)
    repeated = Linkage.of(np.repeat(free, 5, axis=1))
    assert repeated.effective_number == pytest.approx(80, rel=0.02)
    chained = linked(2000, 40, 7)
    r2 = np.corrcoef(chained.T) ** 2
    assert Linkage.of(chained).effective_number == pytest.approx(1600 / r2.sum(), rel=0.02)


@pytest.mark.parametrize("eigenvalues", [[1.0] * 60, [30.0, 12.0, 5.0, 2.0, 1.0], [60.0]])
def test_auc_of_linked_gaussian_variants(eigenvalues: list[float]) -> None:
    """Along eigenvectors a person is a normal vector, and so are the errors of both means."""
    n, n_reference, rounds = 20, 50, 200_000
    linkage = Linkage(60, np.array(eigenvalues))
    rng, won = np.random.default_rng(8), 0
    for eigenvalue in linkage.eigenvalues:
        scale = np.sqrt(eigenvalue)
        member, other, pool, references = scale * rng.standard_normal((4, rounds))
        won = won + (member - other) * (pool / np.sqrt(n) - references / np.sqrt(n_reference))
    expected = np.mean(won > -60 / n)
    error = np.sqrt(expected * (1 - expected) / rounds)
    assert linkage.auc(n, n_reference) == pytest.approx(expected, abs=4 * error)
