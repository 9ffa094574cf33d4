"""Noise of the shape that costs least, of tables of which the worst records are kept."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import Reference, leakage
from leakscore_app import report
from tests.helpers.sizes import sizes

N, COLUMNS = 3000, 4


def table() -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.standard_t(4, size=(N, COLUMNS)) @ rng.normal(size=(COLUMNS, COLUMNS)) + 5


@pytest.mark.parametrize(
    ("shape", "population"),
    [("optimal", "infinite"), ("independent", "infinite"), ("optimal", "finite")],
)
@pytest.mark.parametrize("kept", [30, 5000])
def test_noise_hides_records_that_are_not_kept(
    monkeypatch: pytest.MonkeyPatch, shape: str, population: str, kept: int
) -> None:
    """Every record, left out by a plain fit with the noise, keeps the limit; none costs less."""
    sizes(monkeypatch, kept=kept, long=1000, block=256)
    values, n, limit = table(), 60, 0.02
    asked = {"n": n, "max_advantage": limit, "max_noise": 99.0, "rounds": 400}
    asked |= {"noise_shape": shape, "population": population}
    noise = report.analyse(values, **asked).noise  # type: ignore[arg-type]
    assert noise is not None
    assert (noise.shape, noise.why_same) == (shape, "")
    least = leakage.noise_for_table(
        values,
        n,
        max_advantage=limit,
        shape="optimal" if shape == "optimal" else "optimal-diagonal",
        population=population,  # type: ignore[arg-type]
    )
    errors = np.sqrt(n / (1 - n / N if population == "finite" else 1.0))
    root_mean_square = np.sqrt(np.mean((least.std / values.std(axis=0) * errors) ** 2))
    assert noise.theory_standard_errors == pytest.approx(root_mean_square, rel=1e-4)
    assert noise.cost is not None
    assert noise.gap is not None
    assert (1 - noise.gap) * noise.cost <= COLUMNS * root_mean_square**2 * (1 + 1e-4)
    share = 1 - n / N if population == "finite" else 1.0
    cov = noise.covariance
    if cov is None:
        cov = np.diag(np.square(list(noise.noise_std.values())))
    for row in range(0, N, 7):
        others = np.delete(values, row, axis=0)
        known = Reference(others.mean(axis=0), share * np.cov(others.T, bias=True) + n * cov)
        found = float(leakage.leakage_score(values[[row]], known, n)[0])
        assert found <= noise.leakage * (1 + 1e-9)
    sizes(monkeypatch, long=10**9)
    whole = report.analyse(values, **asked).noise  # type: ignore[arg-type]
    assert whole is not None
    assert set(noise.rows_at_limit) == set(whole.rows_at_limit)
    if shape == "optimal":
        assert noise.beside == pytest.approx(whole.beside, rel=1e-4)


def test_a_record_that_hides_another_with_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst without noise stands out in a rare direction, where little noise is enough."""
    sizes(monkeypatch, long=1000, block=256, kept=40)
    values = np.random.default_rng(2).normal(size=(N, 2)) * [1.0, 1e-3]
    values[:, 1] += values[:, 0]
    values[:60, 1] += 0.02 * np.where(np.arange(60) % 2, 1, -1)
    asked = {"n": 100, "rounds": 400, "max_advantage": 0.05, "max_noise": 99.0}
    found = report.analyse(values, **asked).noise  # type: ignore[arg-type]
    sizes(monkeypatch, long=10**9)
    whole = report.analyse(values, **asked).noise  # type: ignore[arg-type]
    assert found is not None
    assert whole is not None
    assert found.theory_standard_errors == pytest.approx(whole.theory_standard_errors, rel=1e-4)
    assert found.beside == pytest.approx(whole.beside, rel=1e-4)
