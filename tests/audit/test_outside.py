"""Histograms whose edges end before the scores do."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from leakscore.audit import Audit
from tests.helpers.parts import BinCounts, read_scores

LOW, MIDDLE, HIGH = range(3)
EDGES = [0.0, 1.0, 2.0]  # MIDDLE and HIGH have a bin each, LOW is below
ROUNDS = 5000
MISS = 0.05


def responses(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the laws of the three scores, P1 and P0; the log ratios reach epsilon, not more."""
    grows, falls = 0.1, 0.73
    nonmember = np.array([1.0 - grows - falls, falls, grows])
    member = np.array([0.0, falls * math.exp(-epsilon), grows * math.exp(epsilon)])
    member[LOW] = 1.0 - member.sum()
    assert 0 < member[LOW] < nonmember[LOW] * math.exp(epsilon)
    return member, nonmember


def dkw(errors: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.minimum(1.0, errors / scores + np.sqrt(math.log(2 / MISS) / (2 * scores)))


def around(mean: float, variance: float) -> np.ndarray:
    spread = 7 * math.sqrt(variance)
    return np.arange(max(0, int(mean - spread)), min(ROUNDS, int(mean + spread) + 1) + 1)


def law_of_bound(p_in: float, p_error: float) -> tuple[np.ndarray, np.ndarray]:
    """Return values and probabilities of the bound on the rate p_error, given a score inside.

    Those of 7 standard deviations; what is left out is less than 1e-10.
    """
    size = around(ROUNDS * p_in, ROUNDS * p_in * (1 - p_in))[:, None]
    errors = around(ROUNDS * p_in * p_error, ROUNDS * p_error)
    weight = binom.pmf(size, ROUNDS, p_in) * binom.pmf(errors, size, p_error)
    assert weight.sum() == pytest.approx(1, abs=1e-10)
    return dkw(errors, size).ravel(), weight.ravel()


def probability(epsilon: float, over: tuple, under: tuple) -> float:  # type: ignore[type-arg]
    """Return that of log((1 - over) / under) > epsilon, the two bounds independent."""
    order = np.argsort(over[0])
    below = np.append(0.0, np.cumsum(over[1][order]))
    room = 1.0 - math.exp(epsilon) * under[0]
    return float(under[1] @ below[np.searchsorted(over[0][order], room)])


def test_dropped_scores_certified_too_much_and_counted_ones_do_not() -> None:
    """Exact probabilities, by binomial laws: the claim epsilon = 1 is true and tight."""
    epsilon = 1.0
    member, nonmember = responses(epsilon)
    inside = [law[MIDDLE:] / law[MIDDLE:].sum() for law in (member, nonmember)]
    dropped = probability(
        epsilon,
        law_of_bound(1 - member[LOW], inside[0][0]),
        law_of_bound(1 - nonmember[LOW], inside[1][1]),
    )
    assert dropped > 0.99
    counted = 0.0  # at most: both thresholds, both directions
    for flags in ([HIGH], [MIDDLE, HIGH]):
        fpr, fnr = nonmember[flags].sum(), 1 - member[flags].sum()
        bounds = [law_of_bound(1.0, rate) for rate in (fpr, fnr)]
        counted += probability(epsilon, bounds[1], bounds[0])
        counted += probability(epsilon, bounds[0], bounds[1])
    assert 0 < counted < 0.01
    # What is counted above is what the library computes.
    counts = [np.rint(ROUNDS * law).astype(int) for law in (member, nonmember)]
    wrong = Audit.from_counts([-np.inf, 1.0, np.inf], *(n[MIDDLE:] for n in counts))
    sizes = [n[MIDDLE:].sum() for n in counts]
    over, under = dkw(counts[0][MIDDLE], sizes[0]), dkw(counts[1][HIGH], sizes[1])
    assert wrong.epsilon(method="dkw").epsilon == pytest.approx(math.log((1 - over) / under))
    assert wrong.epsilon(method="dkw").epsilon > 1.05
    right = Audit.from_counts(
        EDGES, *(n[MIDDLE:] for n in counts), below=[n[LOW] for n in counts], above=(0, 0)
    )
    assert right.n_members == counts[0].sum()
    over, under = dkw(counts[0][:HIGH].sum(), ROUNDS), dkw(counts[1][HIGH], ROUNDS)
    assert right.epsilon(method="dkw").epsilon == pytest.approx(math.log((1 - over) / under))
    assert right.epsilon(method="dkw").epsilon < 1
    with pytest.raises(ValueError, match=r"edges must go from -inf to inf, not from 0\.0 to 2\.0"):
        Audit.from_counts(EDGES, *(n[MIDDLE:] for n in counts))


def binned(inside: np.ndarray, outside: np.ndarray) -> tuple[Audit, Audit]:
    """Return one histogram with explicit infinite bins, and with the numbers in them."""
    edges = np.array([-np.inf, -1.0, 0.5, 2.0, np.inf])
    counts = [np.histogram(scores, edges)[0] for scores in (inside, outside)]
    given = Audit.from_counts(
        edges[1:-1],
        *(n[1:-1] for n in counts),
        below=[n[0] for n in counts],
        above=[n[-1] for n in counts],
    )
    return Audit.from_counts(edges, *counts), given


@pytest.mark.parametrize("orientation", ["high", "both"])
def test_numbers_outside_are_the_bins_to_infinity(orientation: str) -> None:
    """Through every merge and orientation; either part may be given either way."""
    rng = np.random.default_rng(2)
    parts = [
        binned(rng.normal(-2.0, 1.0, 400), rng.normal(0.0, 1.0, 300 + 50 * i)) for i in range(2)
    ]
    results = [
        (
            audit.epsilon([0.0, 1e-3], orientation=orientation).to_json(),
            audit.mu(orientation=orientation).to_json(),
            audit.band().to_json(),
            audit.roc().to_json(),
            audit.auc(),
            audit.advantage(),
        )
        for first in parts[0]
        for second in parts[1]
        for audit in (first.merge(second), second.merge(first))
    ]
    assert results == results[:1] * 8
    assert (parts[0][1].n_members, parts[0][1].n_nonmembers) == (400, 300)


def test_one_end_may_be_infinite() -> None:
    audit = Audit.from_counts([-np.inf, 0.0, 1.0], [5, 6], [7, 8], above=(3, 4))
    assert (audit.n_members, audit.n_nonmembers) == (14, 19)
    assert audit.roc().thresholds.tolist() == [np.inf, 1.0, 0.0, -np.inf]
    audit = Audit.from_counts([0.0, 1.0, np.inf], [5, 6], [7, 8], below=(3, 4))
    assert audit.roc().thresholds.tolist() == [np.inf, 1.0, 0.0, -np.inf]


def test_classes_that_score_outside_alone() -> None:
    """No bin inside holds a member, none a non-member: all are counted."""
    audit = Audit.from_counts([0.0, 1.0], [0], [0], below=(0, 50), above=(60, 0))
    assert (audit.n_members, audit.n_nonmembers, audit.auc()) == (60, 50, 1.0)


def test_counts_outside_finite_edges(tmp_path: Path) -> None:
    """Scores that a histogram dropped must be accounted for."""
    path = tmp_path / "t.json"
    counts: dict[str, object] = {"member_counts": [10, 40], "nonmember_counts": [15, 0]}
    for edges, outside, named in (
        ([0.0, 1.5, 4.0], {}, "below=.* and above=.*"),
        (["-inf", 1.5, 4.0], {}, "above=[^=]*"),
        ([0.0, 1.5, "inf"], {}, "below=[^=]*"),
        ([0.0, 1.5, 4.0], {"above": [3, 0]}, "below=[^=]*"),
    ):
        path.write_text(json.dumps(counts | {"edges": edges} | outside))
        with pytest.raises(ValueError, match=f"t.json: edges must go from -inf.* as {named}$"):
            read_scores(str(path))
    beyond = {"below": [0, 30], "above": [3, 1]}
    path.write_text(json.dumps(counts | {"edges": [0.0, 1.5, 4.0]} | beyond))
    read = read_scores(str(path))
    assert isinstance(read.data, BinCounts)
    assert (list(read.data.below), list(read.data.above)) == ([0, 30], [3, 1])
    assert set(read.columns) == {"edges", "member_counts", "nonmember_counts", "below", "above"}
    csv = tmp_path / "t.csv"
    csv.write_text(
        "edges,member_counts,nonmember_counts,below,above\n0,10,15,0,3\n1.5,40,0,30,1\n4,,,,\n"
    )
    data = read_scores(str(csv)).data
    assert isinstance(data, BinCounts)
    assert (data.below.tolist(), data.above.tolist()) == ([0, 30], [3, 1])
