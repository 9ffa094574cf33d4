"""The coverage study: exact epsilons, a check that finds invalid methods, and a small run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore.audit import Audit
from reproduce import _alarms, _audit_laws, coverage
from reproduce._outcome import AtMost
from reproduce.coverage import Cell, Coverage, Design, Method
from tests.helpers.public import epsilon_methods

# Laws of the scores of members and non-members, from scipy.
DENSITIES: dict[str, tuple[Any, Any]] = {
    "Gaussian 1": (stats.norm(1), stats.norm(0)),
    "Gaussian 3": (stats.norm(3), stats.norm(0)),
    "Laplace 0.5": (stats.laplace(1, 2), stats.laplace(0, 2)),
    "Laplace 1": (stats.laplace(1, 1), stats.laplace(0, 1)),
    "Laplace 2": (stats.laplace(1, 0.5), stats.laplace(0, 0.5)),
}
LAWS = {law.name: law for law in _audit_laws.LAWS}


THRESHOLDS = np.linspace(-40, 40, 160_001)


def excess(p: Any, q: Any, epsilon: float) -> float:
    """Return the largest P(S) - e^epsilon Q(S) over half-lines S, with P, Q of each threshold."""
    return float((p - np.exp(epsilon) * q).max())


@pytest.mark.parametrize("delta", coverage.DELTAS)
@pytest.mark.parametrize("name", DENSITIES)
def test_epsilon_of_continuous_scores(name: str, delta: float) -> None:
    """The likelihood ratio is monotone: half-lines are the best sets, in both directions."""
    p, q = DENSITIES[name]
    epsilon = LAWS[name].epsilon(delta)
    forward = excess(p.sf(THRESHOLDS), q.sf(THRESHOLDS), epsilon)
    reverse = excess(q.cdf(THRESHOLDS), p.cdf(THRESHOLDS), epsilon)
    assert forward == pytest.approx(delta, rel=1e-5)
    assert reverse == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize("delta", coverage.DELTAS)
def test_epsilon_of_the_mixture_is_that_of_one_direction(delta: float) -> None:
    law, (shifted, q) = LAWS["mixture 0.1, 3"], DENSITIES["Gaussian 3"]
    above = 0.1 * shifted.sf(THRESHOLDS) + 0.9 * q.sf(THRESHOLDS)
    below = 0.1 * shifted.cdf(THRESHOLDS) + 0.9 * q.cdf(THRESHOLDS)
    epsilon = law.epsilon(delta)
    assert excess(above, q.sf(THRESHOLDS), epsilon) == pytest.approx(delta, rel=1e-7)
    assert excess(q.cdf(THRESHOLDS), below, epsilon) < delta
    with pytest.raises(ValueError, match="other direction"):
        law.epsilon(0.085)


@pytest.mark.parametrize("delta", coverage.DELTAS)
@pytest.mark.parametrize("name", ["response 1", "response 3", "rounded Gaussian 2"])
def test_epsilon_of_discrete_scores(name: str, delta: float) -> None:
    if name.startswith("response"):
        keep = 1 / (1 + np.exp(-float(name.split()[1])))
        p, q = np.array([1 - keep, keep]), np.array([keep, 1 - keep])
    else:
        edges = np.arange(-30, 31) - 0.5
        half = edges[1:] > 1  # differences of small tails, not of large shares
        p, q = (
            np.where(half, -np.diff(stats.norm.sf(edges, m)), np.diff(stats.norm.cdf(edges, m)))
            for m in (2, 0)
        )
    epsilon = LAWS[name].epsilon(delta)
    for one, other in ((p, q), (q, p)):
        total = np.maximum(one - np.exp(epsilon) * other, 0).sum()
        assert total == pytest.approx(delta, rel=1e-9)


def test_scores_follow_their_laws() -> None:
    rng = np.random.default_rng(3)
    for name, (members, nonmembers) in DENSITIES.items():
        for sample, law in (
            (LAWS[name].members(rng, 4000), members),
            (LAWS[name].nonmembers(rng, 4000), nonmembers),
        ):
            assert stats.kstest(sample, law.cdf).pvalue > 1e-4, name
    sample = LAWS["mixture 0.1, 3"].members(rng, 40_000)
    assert abs(sample.mean() - 0.3) < 4 * sample.std() / 200
    sample = LAWS["response 3"].members(rng, 40_000)
    assert abs(sample.mean() - 0.952574) < 4 * sample.std() / 200
    assert np.array_equal(np.rint(sample), sample)


def test_a_small_study_agrees() -> None:
    outcome = coverage.reproduce(rounds=2, seed=4)
    assert [str(row) for row in outcome.rows if not row.ok] == []
    names = [row.name for row in outcome.rows]
    assert len(set(names)) == len(names)
    cells = outcome.curves["cells"]
    plan = [methods for _, methods in coverage.PLAN]
    claims = {m.name for methods in plan for m in methods if m.status in ("valid", "if Gaussian")}
    assert claims >= epsilon_methods() - {"credible"}
    claims.add("check_private")
    assert claims == {row.name.partition(":")[0] for row in outcome.rows if isinstance(row, AtMost)}
    lines = [line for line in outcome.table().splitlines() if line.startswith("| ")]
    mechanisms = {(cell.law, cell.scores, cell.delta) for cell in cells}
    assert sum("---" not in line and "scores | epsilon" not in line for line in lines) == 2 * len(
        mechanisms
    )
    for name in ("Mean bound", "Share of wrong bounds"):
        claims.discard("check_private")  # which bounds nothing
        headed = [line for line in lines if line.startswith(f"| {name}")]
        assert {method for line in headed for method in line.strip("| ").split(" | ")[3:]} >= claims


def test_the_study_finds_a_method_that_is_not_valid() -> None:
    """The same draws and the same check: as a valid method it fails, as an invalid one it must."""
    uncorrected = coverage.METHODS[-1]
    design = Design(_audit_laws.laplace(1.0), 1000, 1000)
    rng = np.random.default_rng(7)
    cells = list(coverage.audited(design, (uncorrected,), coverage.ENOUGH, rng))
    found = {row.name: row.ok for row in coverage.checks(cells)}
    assert found["uncorrected: Laplace, 1000"]
    claimed = [Cell(**(vars(cell) | {"status": "valid"})) for cell in cells]
    rows = tuple(row for row in coverage.checks(claimed) if isinstance(row, AtMost))
    outcome = Coverage("title", 1, 1, rows, {"cells": claimed})
    assert not outcome.ok
    *_, failure, verdict = outcome.table().splitlines()
    assert failure.startswith("uncorrected: Laplace 1, 1000, 1e-05")
    assert verdict.startswith("2 checks: 1 FAIL")


def test_false_alarms_of_the_tester() -> None:
    """Few; a test that is not valid has many, but where the mechanism keeps more than it claims."""
    once, again = (list(_alarms.alarms(2, seed=3)) for _ in range(2))
    assert once == again
    rows = [row for row, _ in _alarms.alarms(12, seed=3)]
    assert len(rows) == len(_alarms.NULLS) == 4
    assert sum(row.measured for row in rows) <= 1 / 12
    rng = np.random.default_rng(8)
    for name, (mechanism, (epsilon, delta)) in _alarms.NULLS.items():
        wrong = sum(_alarms.chosen_by_its_result(mechanism, epsilon, rng) for _ in range(100))
        assert (wrong > 20) == (delta == 0.0), name


def test_uncorrected_bounds_are_the_largest_of_clopper_and_pearson() -> None:
    """Against scipy's beta quantiles and a loop over thresholds."""
    rng = np.random.default_rng(2)
    members, nonmembers = rng.normal(1, 1, 40), np.rint(rng.normal(0, 1, 25))
    best = np.zeros(2)
    for threshold in [-np.inf, *members, *nonmembers]:
        k0, k1 = np.sum(nonmembers > threshold), np.sum(members <= threshold)
        a = stats.beta.ppf(0.975, k0 + 1, 25 - k0) if k0 < 25 else 1.0
        b = stats.beta.ppf(0.975, k1 + 1, 40 - k1) if k1 < 40 else 1.0
        for i, delta in enumerate(coverage.DELTAS):
            ratio = max((1 - delta - a) / b, (1 - delta - b) / a, 1.0)
            best[i] = max(best[i], np.log(ratio))
    np.testing.assert_allclose(coverage.uncorrected(Audit(members, nonmembers)), best, rtol=1e-10)


def test_a_method_may_be_refused_or_slow() -> None:
    """It is shown at the deltas that it bounds, from its share of the audits."""
    first = Method("first", lambda audit: np.array([0.0, np.nan]), share=5)
    design = Design(_audit_laws.null(), 10, 20)
    cells = list(coverage.audited(design, (first,), 20, np.random.default_rng(1)))
    assert [(cell.delta, cell.bounds.size, cell.scores) for cell in cells] == [(1e-5, 4, "10 : 20")]


def test_figure_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    design = Design(_audit_laws.gaussian(1.0), 50, 50)
    cells = list(coverage.audited(design, coverage.METHODS, 20, np.random.default_rng(1)))
    coverage.draw(Coverage("title", 20, 1, (), {"cells": cells}), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
