"""The data of an audit as arrays, and back: what `Audit.to_bytes` writes."""

from __future__ import annotations

import numpy as np

from leakscore.audit.data.histogram import ScoreHistogram
from leakscore.audit.data.ranked_bits import MAX_ROUNDS, RankedBits
from leakscore.audit.data.samples import ClassScores, OddBits
from leakscore.numeric import frozen
from leakscore.typing import Array

# The number of arrays tells the three forms apart.
_HISTOGRAM, _SCORES, _RANKED = 3, 4, 8


def arrays_of(samples: ClassScores | ScoreHistogram) -> list[Array]:
    """Return all that is known of the scores."""
    if isinstance(samples, ScoreHistogram):
        return [samples.edges, samples.member_counts, samples.nonmember_counts]
    arrays = [
        samples.members,
        samples._odd_members.packed(),
        samples.nonmembers,
        samples._odd_nonmembers.packed(),
    ]
    bits = samples.ranked
    if bits is None:
        return arrays
    return [
        *arrays,
        np.array([bits.rounds]),
        bits.scores,
        bits.lots,
        bits.member.astype(np.uint8),
    ]


def samples_of(arrays: list[Array]) -> ClassScores | ScoreHistogram:
    """Return the data that these arrays describe; ValueError if there can be none."""
    if len(arrays) == _HISTOGRAM:
        return ScoreHistogram(*arrays)
    if len(arrays) not in (_SCORES, _RANKED):
        raise ValueError("Expected edges and counts, or scores")
    members, odd_members, nonmembers, odd_nonmembers = arrays[:_SCORES]
    if members.dtype != nonmembers.dtype:
        raise ValueError("Expected scores of one dtype")
    samples = object.__new__(ClassScores)
    samples.members, samples._odd_members = _checked(members, odd_members)
    samples.nonmembers, samples._odd_nonmembers = _checked(nonmembers, odd_nonmembers)
    samples.ranked = None
    if len(arrays) == _RANKED:
        samples.ranked = _ranked(samples, *arrays[_SCORES:])
    return samples


def _checked(scores: Array, odd: Array) -> tuple[Array, OddBits]:
    if scores.dtype.kind != "f" or scores.ndim != 1 or scores.size == 0:
        raise ValueError("Expected scores of both classes")
    if not (scores[1:] >= scores[:-1]).all() or np.isnan(scores[-1]):
        raise ValueError("Expected ascending scores")
    if odd.dtype != np.uint8 or odd.shape != ((scores.size + 7) // 8,):
        raise ValueError("Expected a bit for each score")
    return frozen(scores), OddBits(odd)


def _ranked(
    samples: ClassScores, rounds: Array, scores: Array, lots: Array, member: Array
) -> RankedBits:
    total = samples.n_members + samples.n_nonmembers
    kept = total if total <= MAX_ROUNDS else 0
    if rounds.dtype != np.int64 or rounds.shape != (1,) or rounds[0] != total:
        raise ValueError("Expected as many rounds as scores")
    if not scores.shape == lots.shape == member.shape == (kept,) or lots.dtype != np.uint32:
        raise ValueError("Expected a lot and a bit for each round")
    if member.dtype != np.uint8 or (member > 1).any() or scores.dtype != samples.members.dtype:
        raise ValueError("Expected bits of the rounds")
    inside = member.astype(np.bool_)
    for each, theirs in ((samples.members, inside), (samples.nonmembers, ~inside)):
        if kept and not np.array_equal(np.sort(scores[theirs]), each):
            raise ValueError("Expected the scores of the rounds")
    return RankedBits._ranked(total, scores, lots, inside)
