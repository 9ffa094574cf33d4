"""Figure 6 of Azize & Basu (AISTATS): what n0 references find, and that it shows if not."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import reproduce
from leakscore import Reference
from reproduce import azize_references as figure

EASY = 5 * (4 * np.log(2) - 1)  # mean over p of the leakage of the easy target


@pytest.fixture(scope="module")
def outcome() -> figure.Outcome:
    return figure.reproduce(rounds=150, seed=2)


def test_numbers_agree_with_the_theory(outcome: figure.Outcome) -> None:
    assert outcome.ok
    assert len(outcome.rows) == 1 + 4 * len(figure.SIZES)
    assert len({row.name for row in outcome.rows}) == len(outcome.rows)


def test_the_theory_is_known_at_its_ends(outcome: figure.Outcome) -> None:
    """Values for p at its mean: from the closed forms and a simulation of 10,000 rounds each."""
    theory = {row.name: row.theory for row in outcome.rows}
    assert theory["m: known mean"] == pytest.approx(EASY, abs=0.2)
    for n0, same, anew in ((1, 5.68, 0.025), (10, 8.41, 0.087), (100, 8.83, 0.805)):
        assert theory[f"n0 {n0}: these references, m M/(M + d/n0)"] == pytest.approx(same, abs=0.15)
        assert theory[f"n0 {n0}: drawn anew"] == pytest.approx(anew, rel=0.03)


def test_closed_forms_against_a_plain_simulation() -> None:
    """A separate small problem: spread of m_eff over draws, and m_eff of fresh references."""
    rng = np.random.default_rng(4)
    draws, n0 = 300, 4
    p = rng.uniform(0.25, 0.75, figure.D)
    problem = figure.Problem(p, (p <= 0.5).astype(float))
    typical, spread = problem.same_references(n0)
    known = [
        problem.linear(Reference((rng.random((n0, p.size)) < p).mean(axis=0), p * (1 - p)))
        for _ in range(draws)
    ]
    assert np.mean(known) == pytest.approx(typical, abs=4 * spread / np.sqrt(draws) + 1e-3)
    assert np.std(known) == pytest.approx(spread, rel=4 / np.sqrt(2 * draws))
    # Without the target, by its definition: variance of the score over releases and references.
    a, *_ = problem.moments
    scale = np.sqrt(p * (1 - p))
    aim = a - ((rng.random((2 * draws, n0, p.size)) < p).mean(axis=1) - p) / scale
    release = rng.standard_normal(aim.shape) / np.sqrt(figure.N)
    scores = np.einsum("ij,ij->i", aim, release - (a - aim))
    shift = problem.distance / figure.N
    expected = problem.new_references(n0)
    assert shift**2 / scores.var() == pytest.approx(expected, rel=4 / np.sqrt(draws))


def test_reference_means_are_means_of_so_many_records() -> None:
    p = np.array([0.3, 0.6, 0.5])
    for n0 in (1, 7):
        means = figure.reference_means(p, n0, 20_000, np.random.default_rng(3))
        np.testing.assert_allclose(means * n0, np.rint(means * n0), atol=1e-12)
        error = np.sqrt(p * (1 - p) / n0 / 20_000)
        assert np.all(np.abs(means.mean(axis=0) - p) < 4 * error)
        np.testing.assert_allclose(means.var(axis=0), p * (1 - p) / n0, rtol=0.05)


def test_scores_that_are_off_are_noticed(outcome: figure.Outcome) -> None:
    measured = outcome.curves["measured"]["optimum"][0]
    theory = outcome.rows[0].theory
    assert measured.row("known", theory).ok
    assert not measured.row("known", 3 * theory).ok
    assert not figure.Measured(measured.members + 5, measured.nonmembers).row("off", theory).ok


def test_the_command_prints_and_draws(tmp_path: Path) -> None:
    stream = io.StringIO()
    assert reproduce.run("azize-6", rounds=60, seed=1, out=tmp_path, stream=stream)
    assert sum(line.endswith("  ok") for line in stream.getvalue().splitlines()) == 25
    assert (tmp_path / "azize-6.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_ten_thousand_rounds_per_hypothesis() -> None:
    outcome = figure.reproduce()
    assert outcome.ok, outcome.table()
