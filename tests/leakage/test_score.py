"""leakage_score against the two laws of the release, written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import leakage_score
from tests.oracles import leakage as oracle

NEIGHBOURS = ("replace", "add-remove")


def case(kind: str, dim: int = 4, seed: int = 0) -> tuple[Reference, np.ndarray]:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(dim, dim)) + 2 * np.eye(dim)
    cov = factor @ factor.T
    mean = rng.normal(size=dim) + 3
    reference = Reference(mean, cov if kind == "full" else np.diag(cov))
    return reference, mean + 2 * rng.normal(size=(6, dim))


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("noise_std", [0.0, 0.2, [0.0, 0.1, 1.0, 10.0]])
@pytest.mark.parametrize("n", [2, 3, 1000])
@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_is_the_squared_shift_over_the_law(
    kind: str, n: int, noise_std: object, neighbours: str
) -> None:
    reference, Z = case(kind)
    expected = oracle.leakage_score(Z, reference.mean, reference.cov, n, noise_std, neighbours)
    found = leakage_score(Z, reference, n, noise_std=noise_std, neighbours=neighbours)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    one = leakage_score(Z[2], reference, n, noise_std=noise_std, neighbours=neighbours)
    assert isinstance(one, float)
    assert one == pytest.approx(expected[2], rel=1e-12)
    single = leakage_score(
        Z.astype(np.float32), reference, n, noise_std=noise_std, neighbours=neighbours
    )
    np.testing.assert_allclose(single, expected, rtol=1e-5)


def test_special_cases_of_the_formulas() -> None:
    reference, Z = case("full")
    M = reference.squared_mahalanobis(Z)
    np.testing.assert_allclose(leakage_score(Z, reference, 50), M / 50, rtol=1e-14)
    # Noise in proportion to C divides m by 1 + kappa (C_gamma = kappa C).
    diagonal, Z = case("diagonal")
    noise = np.sqrt(0.7 * diagonal.cov / 50)
    found = leakage_score(Z, diagonal, 50, noise_std=noise)
    np.testing.assert_allclose(found, leakage_score(Z, diagonal, 50) / 1.7, rtol=1e-14)
    # Adding or removing: the target itself, against n - 1 others.
    expected = diagonal.inner(Z, Z).diagonal() / 49
    found = leakage_score(Z, diagonal, 50, neighbours="add-remove")
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_the_papers_bernoulli_setting() -> None:
    """Corrected noise row: 1.6189 for the easiest target, where one overall factor gives 1.6554."""
    p = np.random.default_rng(0).uniform(0.25, 0.75, size=200_000)
    reference = Reference(p, p * (1 - p))
    easiest = (p < 0.5).astype(np.int8)
    n = p.size // 5
    assert leakage_score(easiest, reference, n) == pytest.approx(5 * (4 * np.log(2) - 1), rel=0.01)
    noisy = leakage_score(easiest, reference, n, noise_std=1 / np.sqrt(n))
    assert noisy == pytest.approx(1.6189, rel=0.01)


def test_singular_covariance_needs_noise_where_it_is_singular() -> None:
    reference = Reference([0.0, 0.0], [1.0, 0.0])
    with pytest.raises(SingularCovarianceError, match="variance 0"):
        leakage_score([1.0, 1.0], reference, 10)
    with pytest.raises(SingularCovarianceError, match="variance 0"):
        leakage_score([1.0, 1.0], reference, 10, noise_std=[1.0, 0.0])
    found = leakage_score([1.0, 1.0], reference, 10, noise_std=[0.0, 0.1])
    assert found == pytest.approx((1 + 1 / 0.1) / 10, rel=1e-15)


@given(st.integers(2, 10**6), st.floats(0, 1e3), st.floats(0, 1e3))
def test_more_noise_never_leaks_more(n: int, noise: float, more: float) -> None:
    reference, Z = case("full")
    for neighbours in NEIGHBOURS:
        quiet, loud = (
            leakage_score(Z, reference, n, noise_std=std, neighbours=neighbours)
            for std in (noise, noise + more)
        )
        assert (loud <= quiet * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"n": 1}, ValueError, "n=1 must be >= 2"),
        ({"n": 0}, ValueError, "n=0 must be >= 2"),
        ({"n": 10.0}, TypeError, "n=10.0"),
        ({"n": True}, TypeError, "n=True"),
        ({"noise_std": -0.1}, ValueError, "noise_std=-0.1 must be >= 0"),
        ({"noise_std": [0.1, -0.1, 0, 0]}, ValueError, "noise_std=.* must be >= 0"),
        ({"noise_std": [0.1, 0.1]}, ValueError, "noise_std of shape"),
        ({"noise_std": np.nan}, ValueError, "noise_std must be finite"),
        ({"noise_std": np.inf}, ValueError, "noise_std must be finite"),
        ({"noise_std": 1e160}, ValueError, r"noise_std=1e\+160"),
        ({"noise_std": "1"}, TypeError, "noise_std"),
        ({"neighbours": "add"}, ValueError, "neighbours='add'"),
        ({"neighbours": None}, TypeError, "neighbours=None"),
        ({"target": np.ones(3)}, ValueError, "target of shape .* 4 coordinates"),
        ({"target": np.ones((0, 4))}, ValueError, "target of shape .* empty"),
        ({"target": [1, 2, np.nan, 4]}, ValueError, "target must be finite"),
        ({"target": ["a"] * 4}, TypeError, "target"),
        ({"reference": (0.0, 1.0)}, TypeError, "reference"),
    ],
)
@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_refuses(kind: str, change: dict[str, object], error: type[Exception], match: str) -> None:
    reference, Z = case(kind)
    arguments = {"target": Z, "reference": reference, "n": 10} | change
    with pytest.raises(error, match=match):
        leakage_score(**arguments)  # type: ignore[arg-type]
