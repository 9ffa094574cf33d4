"""An audit of any number of scores on a cluster, by their histogram."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit import Audit
from leakscore.dask import blocks, cluster
from leakscore.typing import Array, Counts, Doubles, Flags

_ENDS = 2**14
"""Number of largest and of smallest scores of each class that are stored."""
_SAMPLE = 2**22
"""Size of the sample of the other scores, at most."""
_ALL = 2**12
"""Number of ranks from either end at which every score is a threshold."""
_PER_E = 1024
"""Number of thresholds while the number of scores beyond them grows by the factor e."""


def audit(scores: Any, member: Any, *, edges: npt.ArrayLike | None = None) -> Audit:
    """Audit scores in dask arrays: their histogram, from which every bound holds.

    Parameters
    ----------
    scores : (T,) dask array or series
        One score per round, larger means member.
    member : (T,) dask array or series, or array_like
        Whether the target was a member in that round: bool, or 1 and 0. Both must occur.
    edges : (B+1,) array_like, optional
        Edges of the bins, ascending, from -inf to inf. Without them the scores are read once more,
        for the 16,384 largest and smallest of each class and a sample of the others. These give
        about 40,000 edges: beyond an edge lie 0.1 % fewer scores of a class than beyond the edge
        before it, and each of the 4,096 outermost scores has a bin by itself.

    Returns
    -------
    Audit
        As of `Audit.from_counts`: coarse bins cost sharpness, never validity. The counts are the
        same for any chunks and any number of workers. Up to 8,192 distinct scores of each class it
        equals the audit of the scores themselves; then `Audit.from_rounds` on one machine is
        enough.

    Raises
    ------
    TypeError
        If `scores` is neither a dask array nor a series, or holds something other than numbers.
    ValueError
        If the lengths differ, `member` holds anything but True/False or 1/0, one class is missing,
        `edges` do not ascend from -inf to inf, or `scores` is empty or holds NaN.
    ClusterError
        If the cluster is lost, or its workers hold another version of leakscore.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> import leakscore.dask
    >>> scores = da.from_array(np.array([0.1, 2.0, 1.5, -1.0]), chunks=2)
    >>> leakscore.dask.audit(scores, [False, True, True, False])
    Audit(n_members=2, n_nonmembers=2)
    """
    values, inside = _rounds(scores, member)
    pairs = list(zip(blocks.tasks(values), blocks.tasks(inside), strict=True))
    bounds = _edges(values, pairs) if edges is None else validation.edges("edges", edges)
    if not (np.isneginf(bounds[0]) and np.isposinf(bounds[-1])):
        raise ValueError(
            f"edges from {float(bounds[0])!r} to {float(bounds[-1])!r} must reach from -inf "
            "to inf: scores outside would be dropped"
        )
    count, at = cluster.dask().delayed(_count), cluster.dask().delayed(bounds)
    counts = cluster.compute(blocks.root([count(*pair, at) for pair in pairs], add))[0]
    _require_both(counts.sum(axis=1))
    return Audit.from_counts(bounds, *counts)


def _rounds(scores: Any, member: Any) -> tuple[Any, Any]:
    """Return scores and memberships as dask arrays with the same chunks, none empty."""
    values = blocks.vector("scores", scores)
    if blocks.is_dask(member):
        inside = blocks.vector("member", member)
    else:
        array = validation.real_array("member", member)
        inside = cluster.dask().array.from_array(array, chunks=-1)
    if values.shape[0] == 0:
        raise ValueError("scores must hold at least one round")
    if inside.shape != values.shape:
        raise ValueError(
            f"member of shape {inside.shape} must have one entry a score: {values.shape}"
        )
    sizes = tuple(size for size in values.chunks[0] if size)
    return values.rechunk((sizes,)), inside.rechunk((sizes,))


def _require_both(totals: Counts) -> None:
    for name, total in zip(("members", "non-members"), totals.tolist(), strict=True):
        if total == 0:
            raise ValueError(f"member must hold both classes, but there are no {name}")


# --- tasks ----------------------------------------------------------------------------------------


def _checked_rounds(scores: Array, member: Array) -> tuple[Doubles, Flags]:
    """Return the rounds of a block, checked as by `Audit.from_rounds`."""
    values = validation.sample("scores", np.asarray(scores)).astype(np.float64)
    if np.isnan(values).any():
        raise ValueError("scores must hold no NaN")
    values += 0.0  # -0.0 becomes 0.0
    return values, validation.flags("member", np.asarray(member), values.size)


def _count(scores: Array, member: Array, edges: Doubles) -> Counts:
    """Count members and non-members per bin: a score at an edge belongs to the bin above."""
    values, inside = _checked_rounds(scores, member)
    result = np.empty((2, edges.size - 1), dtype=np.int64)
    for row, which in zip(result, (inside, ~inside), strict=True):
        below = np.searchsorted(np.sort(values[which]), edges[1:-1], side="left")
        row[:] = np.diff(below, prepend=0, append=int(which.sum()))
    return result


# --- edges ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Extremes:
    """Number of scores of a class, the extreme ones, and a sample of all, each ascending."""

    count: int
    low: Doubles
    high: Doubles
    sample: Doubles

    @classmethod
    def of(cls, scores: Doubles, sampled: Flags) -> _Extremes:
        ordered = np.sort(scores)
        ends = ordered[:_ENDS].copy(), ordered[-_ENDS:].copy()
        return cls(scores.size, *ends, np.sort(scores[sampled]))

    def merge(self, other: _Extremes) -> _Extremes:
        low, high, sample = (
            np.sort(np.concatenate([getattr(self, name), getattr(other, name)]))
            for name in ("low", "high", "sample")
        )
        return _Extremes(self.count + other.count, low[:_ENDS], high[-_ENDS:], sample)

    def thresholds(self, step: int) -> Doubles:
        """Return thresholds; to the next one, at most 0.1 % of the scores beyond change class."""
        if self.count <= _ENDS:
            values, ranks = self.low, np.arange(self.count, dtype=np.float64)
        else:
            low, high = self.low, self.high
            between = self.sample[(self.sample > low[-1]) & (self.sample < high[0])]
            values = np.concatenate([low, between, high])
            middle = low.size + step * np.arange(between.size, dtype=np.float64)
            above = self.count - high.size + np.arange(high.size, dtype=np.float64)
            ranks = np.concatenate([np.arange(low.size, dtype=np.float64), middle, above])
        return np.union1d(
            values[_spaced_ranks(ranks)], values[_spaced_ranks(self.count - 1 - ranks[::-1])[::-1]]
        )


def _spaced_ranks(ranks: Doubles) -> Flags:
    """Choose all ranks up to _ALL, and beyond them the first in each step of the logarithm."""
    steps = np.floor(_PER_E * np.log(np.maximum(ranks, 0.0) + 1.0))
    return np.asarray((ranks < _ALL) | (np.diff(steps, prepend=-1.0) > 0))


def _edges(values: Any, pairs: list[Any]) -> Doubles:
    """Return edges that depend on the scores only, not on the chunks."""
    step = _prime_step(-(-values.shape[0] // _SAMPLE))
    measure = cluster.dask().delayed(_measure)
    starts = np.concatenate([[0], np.cumsum(values.chunks[0])]).tolist()
    rounds = zip(pairs, starts, strict=False)
    leaves = [measure(*pair, -start % step, step) for pair, start in rounds]
    both = cluster.compute(blocks.root(leaves, _merge))[0]
    _require_both(np.array([each.count for each in both]))
    inner = np.unique(np.concatenate([each.thresholds(step) for each in both]))
    finite = inner[np.isfinite(inner)]
    if np.isposinf(inner[-1]) and finite.size:  # bins hold their lower edge: inf gets its own
        finite = np.append(finite, np.nextafter(finite[-1], np.inf))
    return np.concatenate([[-np.inf], finite[np.isfinite(finite)], [np.inf]])


def _measure(scores: Array, member: Array, first: int, step: int) -> tuple[_Extremes, _Extremes]:
    """Survey the rounds of a block; every `step`-th round, from `first` on, is in the sample."""
    values, inside = _checked_rounds(scores, member)
    sampled = np.zeros(values.size, dtype=np.bool_)
    sampled[first::step] = True
    return (
        _Extremes.of(values[inside], sampled[inside]),
        _Extremes.of(values[~inside], sampled[~inside]),
    )


def _merge(
    first: tuple[_Extremes, _Extremes], second: tuple[_Extremes, _Extremes]
) -> tuple[_Extremes, _Extremes]:
    return first[0].merge(second[0]), first[1].merge(second[1])


def _prime_step(least: int) -> int:
    """Return 1, or the smallest prime from `least` on, to avoid the periods of rounds."""
    while least > 1 and any(least % k == 0 for k in range(2, int(least**0.5) + 1)):
        least += 1
    return max(least, 1)
