"""Scores of records in a synthetic table, beside scipy's neighbours and plain sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from leakscore import Reference, scores

RNG = np.random.default_rng(37)


@pytest.mark.parametrize(("records", "columns"), [(50, 3), (700, 12), (9, 1)])
def test_distances_are_those_of_a_tree(records: int, columns: int) -> None:
    targets, made, others = RNG.normal(size=(3, records, columns))
    made = made[: records - 2]
    scale = RNG.uniform(0.5, 3.0, columns)
    got = scores.synthetic_scores(targets, made, others, 40, scale=scale)
    near = cKDTree(made / scale).query(targets / scale)[0]
    assert np.allclose(-got.distance, near, rtol=1e-12)
    logs = []
    parts = min(8, len(made))
    for table in (others, made):
        near = [cKDTree(table[k::parts] / scale).query(targets / scale)[0] for k in range(parts)]
        logs.append(np.log(near).mean(axis=0))
    assert np.allclose(got.density, logs[0] - logs[1], rtol=1e-10, atol=1e-12)


def test_units_are_standard_deviations_of_the_population() -> None:
    targets, made, others = RNG.normal(size=(3, 60, 2)) * (1.0, 1e6) + (0.0, 1e9)
    got = scores.synthetic_scores(targets, made, others, 40)
    unit = others.std(axis=0)
    near = np.sqrt((((targets[:, None] - made) / unit) ** 2).sum(axis=2)).min(axis=1)
    assert np.allclose(-got.distance, near, rtol=1e-8)
    constant = others.copy()
    constant[:, 0] = 5.0
    assert np.isfinite(scores.synthetic_scores(targets, made, constant, 40).density).all()


def test_moments_are_the_covariance_score_of_a_release() -> None:
    """Of one column: its mean and that of its square, with the shrinkage that is stated."""
    targets, made, others = RNG.gamma(2.0, size=(3, 80, 1))
    centre, unit = others.mean(), others.std()
    tables = [(table[:, 0] - centre) / unit for table in (targets, made, others)]
    features = [np.column_stack([x, x * x]) for x in tables]
    mean, std = features[2].mean(axis=0), features[2].std(axis=0)
    z, x, law = ((part - mean) / std for part in features)
    share = 2 / 80
    cov = (1 - share) * np.cov(law.T, bias=True) + share * np.eye(2)
    reference = Reference(np.zeros(2), cov * (1 + 30 / 80))
    expected = scores.covariance_score(x.mean(axis=0), z, reference, 30)
    got = scores.synthetic_scores(targets, made, others, 30)
    assert np.allclose(got.moments, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("columns", [40, 300])
def test_moments_of_many_columns_stay_few(columns: int) -> None:
    train, outside, others = RNG.normal(size=(3, 60, columns))
    copied = scores.synthetic_scores(np.vstack([train, outside]), train, others, 60)
    assert copied.moments[:60].mean() > copied.moments[60:].mean() + copied.moments.std() / 2


def test_copies_among_far_values_are_seen() -> None:
    targets = RNG.normal(size=(100, 4))
    targets[0], targets[1, 2] = 1e9, -1e300
    others = RNG.normal(size=(100, 4))
    got = scores.synthetic_scores(targets, targets[:50], others, 100)
    assert (got.distance[:50] == 0).all()
    assert (got.distance[50:] < 0).all()
    assert got.density[:50].min() > got.density[50:].max()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"targets": np.zeros((3, 3))}, "targets"),
        ({"synthetic": np.full((3, 2), np.nan)}, "synthetic"),
        ({"population": np.zeros((7, 2))}, "population"),
        ({"n": 1}, "n=1"),
        ({"scale": [1.0, 0.0]}, "scale=0.0"),
    ],
)
def test_bad_input_is_named(changed: dict[str, object], words: str) -> None:
    good = {"targets": np.ones((3, 2)), "synthetic": np.ones((3, 2)), "n": 5}
    good["population"] = RNG.normal(size=(9, 2))
    with pytest.raises(ValueError, match=words):
        scores.synthetic_scores(**(good | changed))  # type: ignore[arg-type]
