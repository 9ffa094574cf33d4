"""An audit as bytes: with the same results, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import Moments, results
from leakscore.audit import Audit

RNG = np.random.default_rng(8)
BITS = RNG.integers(0, 2, 501).astype(bool)
ROUNDS = RNG.normal(1.5 * BITS).round(1)
EDGES = np.concatenate([[-np.inf], np.linspace(-4.0, 6.0, 81), [np.inf]])


def histogram() -> Audit:
    counts = [np.histogram(ROUNDS[each], EDGES)[0] for each in (BITS, ~BITS)]
    return Audit.from_counts(EDGES, *counts)


AUDITS = {
    "scores": lambda: Audit(ROUNDS[BITS], ROUNDS[~BITS]),
    "float32": lambda: Audit(np.float32([1.0, np.inf]), np.float32([-np.inf, 0.0, -0.0])),
    "random bits": lambda: Audit.from_rounds(ROUNDS, BITS, random_bits=True, rng=3),
    "histogram": histogram,
}


@pytest.mark.parametrize("name", AUDITS)
def test_bytes_hold_all(name: str) -> None:
    audit = AUDITS[name]()
    again = Audit.from_bytes(audit.to_bytes())
    assert again.to_bytes() == audit.to_bytes()
    assert again.epsilon(1e-5) == audit.epsilon(1e-5)
    assert again.auc() == audit.auc()
    if name != "histogram":
        methods = ["split", "sorted-bits"] if name == "random bits" else ["split"]
        for method in methods:
            assert again.epsilon(1e-5, method=method) == audit.epsilon(1e-5, method=method)


@pytest.mark.parametrize("name", AUDITS)
def test_damaged_bytes_are_refused(name: str) -> None:
    whole = AUDITS[name]().to_bytes()
    for place in (0, 9, 16, 18, 20, 30, len(whole) // 2, len(whole) - 1):
        bad = bytearray(whole)
        bad[place] ^= 4
        with pytest.raises(ValueError, match="data"):
            Audit.from_bytes(bytes(bad))
    for bad in (b"", whole[:-1], whole + b"0", whole[:100]):
        with pytest.raises(ValueError, match="data"):
            Audit.from_bytes(bad)


F, B = np.array, lambda *bits: np.array(bits, dtype=np.uint8)
SCORES = [F([1.0, 2.0]), B(2), F([0.0]), B(0)]
RANKED = [F([3]), F([1.0, 2.0, 0.0]), np.zeros(3, np.uint32), B(1, 1, 0)]


@pytest.mark.parametrize(
    "arrays",
    [
        [],
        [F([0.0])],
        [F([-np.inf, np.inf]), F([-1]), F([1])],
        [F([-np.inf, np.inf]), F([0]), F([1])],
        [F([0.0, 1.0]), F([1]), F([1])],  # edges that do not reach to infinity
        [F([-np.inf, 1.0, 0.0, np.inf]), F([1, 1, 1]), F([1, 1, 1])],
        [F([2.0, 1.0]), *SCORES[1:]],
        [F([2.0, np.nan]), *SCORES[1:]],
        [F([1, 2]), *SCORES[1:]],
        [F([]), B(), *SCORES[2:]],
        [SCORES[0], B(), *SCORES[2:]],
        [*SCORES[:2], np.float32([0.0]), B(0)],
        [*SCORES, F([4]), *RANKED[1:]],
        [*SCORES, RANKED[0], F([1.0, 2.0, 0.5]), *RANKED[2:]],
        [*SCORES, *RANKED[:3], B(1, 0, 1)],
        [*SCORES, *RANKED[:3], B(1, 2, 0)],
        [*SCORES, *RANKED[:2], np.zeros(2, np.uint32), RANKED[3]],
    ],
    ids=str,
)
def test_bytes_of_no_audit_are_refused(arrays: list[np.ndarray]) -> None:
    with pytest.raises(ValueError, match="data must hold an audit"):
        Audit.from_bytes(results.pack("audit", 1, arrays))


def test_the_good_ones_of_these_are_taken() -> None:
    for arrays in (SCORES, [*SCORES, *RANKED]):
        assert Audit.from_bytes(results.pack("audit", 1, arrays)).n_members == 2


def test_foreign_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Audit\.to_bytes"):
        Audit.from_bytes(Moments(2).to_bytes())
    with pytest.raises(ValueError, match=r"version 1 .* not 2"):
        Audit.from_bytes(results.pack("audit", 2, SCORES))
    with pytest.raises(TypeError, match="data"):
        Audit.from_bytes("text")  # type: ignore[arg-type]
