"""What a table of records certifies: familywise levels, exact tails, bounds on every epsilon."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from leakscore.audit import Audit
from leakscore.shadow import records as record_tests
from leakscore.shadow import risk
from tests.helpers.parts import holm
from tests.shadow.test_risk import INCLUDED, SCORES


def test_certified_records_are_hardly_ever_wrong() -> None:
    """The familywise error at the edge: every record's power is exactly `least_power`."""
    rng = np.random.default_rng(4)
    wrong, repeats = 0, 400
    included = np.broadcast_to(np.arange(30)[:, np.newaxis] < 20, (30, 200))
    for _ in range(repeats):
        hits = rng.random((30, 200)) < 0.5
        scores = np.where(included, np.where(hits, 2.0, -2.0), -1.0)
        table = risk(scores, included, least_power=0.5, confidence=0.9)
        assert table.threshold[0] == -1.0
        wrong += bool(table.certified.any())
    assert wrong / repeats <= 0.1 + 4 * np.sqrt(0.09 / repeats)


def test_holm_by_its_definition() -> None:
    """Record by record, with ties; some p-values lie just inside an edge of the test."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p, records = rng.beta(0.3, 1.0, size=6), rng.integers(1, 5, size=6)
        p[0] = np.nextafter(0.1 / records.sum(), 0.0)
        every = np.repeat(np.arange(6), records)
        rejected = np.zeros(6, dtype=bool)
        for step, place in enumerate(every[np.argsort(p[every], kind="stable")]):
            if p[place] > 0.1 / (every.size - step):
                break
            rejected[place] = True
        np.testing.assert_array_equal(holm(p, records) <= 0.1, rejected)


def test_certified_by_the_text_books() -> None:
    """Binomial tests of scipy, and Holm's steps over all records of an attack."""
    table = risk(SCORES, INCLUDED, fpr=0.05, least_power=0.4, confidence=0.9)
    of = INCLUDED.sum(axis=0)
    hits = (INCLUDED & (table.threshold[0] < SCORES)).sum(axis=0)
    counts = zip(hits.tolist(), of.tolist(), strict=True)
    p = [stats.binomtest(h, n, 0.4, alternative="greater").pvalue for h, n in counts]
    order = np.argsort(p, kind="stable")
    passed = np.array(p)[order] <= 0.1 / np.arange(300, 0, -1)
    expected = np.zeros(300, dtype=bool)
    expected[order[: np.argmin(passed)]] = True
    assert 10 < expected.sum() < 90
    np.testing.assert_array_equal(table.certified[0], expected)


def test_epsilons_hold_for_all_records_at_once() -> None:
    table = risk(SCORES[:, 190:], INCLUDED[:, 190:], delta=0.01)
    assert table.epsilon is not None
    for j in (0, 60, 109):
        audit = Audit.from_rounds(SCORES[:, 190 + j], INCLUDED[:, 190 + j])
        each = Fraction(1) - (1 - Fraction(0.95)) / 110
        confidence = float(np.nextafter(float(each), 1.0))
        assert Fraction(confidence) >= each
        assert table.epsilon[0, j] == audit.epsilon(0.01, confidence).epsilon
    assert risk(SCORES, INCLUDED).epsilon is None


@pytest.mark.parametrize("rate", [0.5, 0.3, 0.9])
def test_p_values_lie_above_the_exact_tail(rate: float) -> None:
    of = np.repeat([1, 7, 40], [2, 8, 41]).astype(float)
    hits = np.concatenate([np.arange(n + 1.0) for n in (1, 7, 40)])
    counted = record_tests.DistinctHits.of_records(hits, of)
    found = counted.p_values(rate)[counted.owner]
    for k, n, p in zip(hits.astype(int).tolist(), of.astype(int).tolist(), found, strict=True):
        terms = (
            comb(n, j) * Fraction(rate) ** j * (1 - Fraction(rate)) ** (n - j)
            for j in range(k, n + 1)
        )
        exact = sum(terms)
        assert exact * (1 + Fraction(5e-11)) < Fraction(float(p)) < exact * (1 + Fraction(2e-10))


def test_each_bound_on_epsilon_pays_for_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The confidences of single records: what they miss adds up to no more than is allowed."""
    asked: list[float] = []

    def epsilons(scores: object, members: object, delta: float, confidence: float) -> object:
        asked.append(confidence)
        return np.zeros(np.shape(scores)[0])

    monkeypatch.setattr(record_tests, "epsilons", epsilons)
    for records in (1, 3, 7, 110, 999):
        for level in (0.9, 0.95, 0.999):
            inside = np.broadcast_to(np.arange(4)[:, np.newaxis] % 2, (4, records))
            risk(np.zeros((4, records)), inside, delta=0.1, confidence=level)
            missed = records * (1 - Fraction(asked[-1]))
            assert missed <= 1 - Fraction(level)
            assert missed > (1 - Fraction(level)) * (1 - Fraction(1e-9))
