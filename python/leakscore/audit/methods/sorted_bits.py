"""The sorted-bits test: how well the scores guess bits that were fair coins.

Experimental; docs/explanation/sorted-bits.md has the proof.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from leakscore import _core
from leakscore.audit.data.ranked_bits import MAX_ROUNDS, RankedBits
from leakscore.audit.data.samples import ClassScores, SampledAudit
from leakscore.typing import Counts, Doubles, Flags

MAX_EXPOSED = 0.1  # rounds times delta: with more, exposed rounds use up the confidence

_STEPS = 20  # values of epsilon per unit that are tested: 0.05, 0.1, ...
_CHUNK = 32  # of them are calibrated together


class Proof(NamedTuple):
    """The largest epsilon refuted and where: right guesses among `size` extreme scores."""

    steps: int  # epsilon in units of 1 / _STEPS
    highest: bool  # the highest scores, not the lowest
    size: int
    right: int
    critical: int


def sorted_bits(
    audit: SampledAudit, deltas: Doubles, confidence: float, method: str, orientation: str
) -> tuple[Doubles, Doubles, Flags, Counts, Counts, Doubles, Doubles, Doubles, str, Flags]:
    """Certify one bound; the columns are those of `leakscore.audit.methods.table.Found`."""
    scores, bits = _ranked(audit, deltas, method)
    n0, n1 = audit.n_nonmembers, audit.n_members
    both = orientation == "both"
    key = (bits.rounds, deltas.item(), (1.0 - confidence) / (4.0 if both else 2.0))
    proof = _search(key, bits.sizes, bits.highest, bits.sizes - bits.lowest)
    low = False
    if both:
        other = _search(key, bits.sizes, bits.sizes - bits.highest, bits.lowest)
        low = other.steps > proof.steps
        proof = other if low else proof
    cap = _search(key, bits.sizes, np.minimum(bits.sizes, n1), np.minimum(bits.sizes, n0))
    forward = proof.highest != low  # the guess is "member"
    wrong, missed = proof.size - proof.right, (n1 if forward else n0) - proof.right
    no_bound = np.array([1.0])
    return (
        np.array([proof.steps / _STEPS]),
        np.array([_threshold(scores, proof, low)]),
        np.array([forward]),
        np.array([wrong if forward else missed]),
        np.array([missed if forward else wrong]),
        no_bound,
        no_bound,
        np.array([cap.steps / _STEPS]),
        f"exact crossing probability; {proof.right} right guesses of {proof.size}, "
        f"{proof.critical} are critical",
        np.array([low]),
    )


def _ranked(audit: SampledAudit, deltas: Doubles, method: str) -> tuple[ClassScores, RankedBits]:
    """Return scores and ranked bits, or refuse; only the rounds and delta decide."""
    samples = audit._samples
    if not isinstance(samples, ClassScores) or samples.ranked is None:
        raise ValueError(
            f"Expected an audit from Audit.from_rounds(..., random_bits=True) for {method=}: "
            "it needs the random bit of each round; methods that bound error rates do not"
        )
    bits = samples.ranked
    if deltas.size != 1:
        raise ValueError(
            f"Expected delta of shape {deltas.shape} to be one number for {method=}, whose bounds "
            "do not hold for several deltas at once; methods that bound error rates do"
        )
    if bits.rounds > MAX_ROUNDS:
        raise ValueError(
            f"Expected at most {MAX_ROUNDS} rounds for {method=}, not {bits.rounds}; "
            "with so many, methods that bound error rates are as good"
        )
    delta = deltas.item()
    if bits.rounds * delta > MAX_EXPOSED * (1.0 + 1e-12):
        raise ValueError(
            f"Expected delta={delta!r} <= {MAX_EXPOSED}/rounds = {MAX_EXPOSED / bits.rounds:g} for "
            f"{method=}: with more it bounds little; use a method that bounds error rates"
        )
    return samples, bits


def _search(key: tuple[int, float, float], sizes: Counts, highest: Counts, lowest: Counts) -> Proof:
    """Refute 0.05, 0.1, ... up to the first epsilon at which no count is critical.

    `highest` and `lowest` are the right guesses among the extreme scores of each size.
    """
    right = np.maximum(highest, lowest)
    steps = 0
    while True:
        refuted = (right >= _critical_counts(*key, steps // _CHUNK)).any(axis=1)
        if not refuted.all():
            steps += int(np.argmin(refuted))
            break
        steps += _CHUNK
    last = max(steps - 1, 0)
    critical = _critical_counts(*key, last // _CHUNK)[last % _CHUNK]
    # In units of the spread; sizes at which no count is critical come last.
    margin = np.where(critical <= sizes, (right - critical) / np.sqrt(sizes), -np.inf)
    j = int(np.argmax(margin))
    return Proof(
        steps, bool(highest[j] >= lowest[j]), int(sizes[j]), int(right[j]), int(critical[j])
    )


@lru_cache(maxsize=512)
def _critical_counts(rounds: int, delta: float, miss: float, chunk: int) -> Counts:
    """One row for each of _CHUNK values of epsilon."""
    epsilons = np.arange(chunk * _CHUNK + 1, (chunk + 1) * _CHUNK + 1) / _STEPS
    return _core.sorted_bits_critical(rounds, delta, miss, epsilons)


def _threshold(scores: ClassScores, proof: Proof, low: bool) -> float:
    """Between the extreme scores and the others: an observed score on the unflagged side.

    A test flags ``score > threshold`` (``score < threshold`` if it flags low scores).
    """
    members, nonmembers = scores.members, scores.nonmembers
    # The flagged scores are the extreme ones if that end is flagged, else all others.
    rank = proof.size if proof.highest != low else proof.size - 1
    if proof.highest:
        both = np.sort(np.concatenate([members[-rank - 1 :], nonmembers[-rank - 1 :]]))
        return float(both[-rank - 1]) + 0.0
    both = np.sort(np.concatenate([members[: rank + 1], nonmembers[: rank + 1]]))
    return float(both[rank]) + 0.0
