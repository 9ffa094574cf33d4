"""An audit of any number of scores on a cluster: their histogram."""

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
"""Scores of each class that are known at each end."""
_SAMPLE = 2**22
"""Scores between them that are drawn, at most."""
_ALL = 2**12
"""Ranks from either end at which every score may be a threshold."""
_PER_E = 1024
"""Thresholds while the number of scores beyond grows by the factor e."""


def audit(scores: Any, member: Any, *, edges: npt.ArrayLike | None = None) -> Audit:
    """Audit scores in dask arrays: their histogram, from which every bound holds.

    Parameters
    ----------
    scores : (T,) dask array or series
        One score per round, larger means member.
    member : (T,) dask array or series, or array_like
        Whether the target was a member in that round: bool, or 1 and 0. Both must occur.
    edges : (B+1,) array_like, optional
        Edges of the bins, ascending, from -inf to inf. Without them the scores are read once more:
        for their 16,384 largest and smallest of each class and a sample of the rest, from which
        come some 40,000 edges; beyond an edge lies 0.1 % fewer of a class than beyond the one
        before it, and each of the 4,096 outermost scores has its own bin.

    Returns
    -------
    Audit
        As of `Audit.from_counts`: coarse bins cost sharpness, never validity. The same counts for
        any chunks and any number of workers. Up to 8,192 different scores of each class it is the
        audit of the scores themselves; then `Audit.from_rounds` on one machine is enough.

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
    counted, at = cluster.dask().delayed(_counted), cluster.dask().delayed(bounds)
    counts = cluster.compute(blocks.root([counted(*pair, at) for pair in pairs], add))[0]
    _require_both(counts.sum(axis=1))
    return Audit.from_counts(bounds, *counts)


def _rounds(scores: Any, member: Any) -> tuple[Any, Any]:
    """Return both as dask arrays with the same chunks, none of them empty."""
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


def _read(scores: Array, member: Array) -> tuple[Doubles, Flags]:
    """Return some rounds, refused as `Audit.from_rounds` refuses them."""
    values = validation.sample("scores", np.asarray(scores)).astype(np.float64)
    if np.isnan(values).any():
        raise ValueError("scores must hold no NaN")
    values += 0.0  # -0.0 becomes 0.0
    return values, validation.flags("member", np.asarray(member), values.size)


def _counted(scores: Array, member: Array, edges: Doubles) -> Counts:
    """Count members and non-members per bin: a score at an edge belongs to the bin above."""
    values, inside = _read(scores, member)
    result = np.empty((2, edges.size - 1), dtype=np.int64)
    for row, which in zip(result, (inside, ~inside), strict=True):
        below = np.searchsorted(np.sort(values[which]), edges[1:-1], side="left")
        row[:] = np.diff(below, prepend=0, append=int(which.sum()))
    return result


# --- edges ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _SeenScores:
    """Of one class: its number, the scores at both ends, and a sample of all, each ascending."""

    count: int
    low: Doubles
    high: Doubles
    sample: Doubles

    @classmethod
    def of(cls, scores: Doubles, drawn: Flags) -> _SeenScores:
        ordered = np.sort(scores)
        ends = ordered[:_ENDS].copy(), ordered[-_ENDS:].copy()
        return cls(scores.size, *ends, np.sort(scores[drawn]))

    def merge(self, other: _SeenScores) -> _SeenScores:
        low, high, sample = (
            np.sort(np.concatenate([getattr(self, name), getattr(other, name)]))
            for name in ("low", "high", "sample")
        )
        return _SeenScores(self.count + other.count, low[:_ENDS], high[-_ENDS:], sample)

    def thresholds(self, step: int) -> Doubles:
        """Return scores between which 0.1 % of what lies beyond them changes class at most."""
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
            values[_thinned(ranks)], values[_thinned(self.count - 1 - ranks[::-1])[::-1]]
        )


def _thinned(ranks: Doubles) -> Flags:
    """Choose all ranks up to _ALL, and of those beyond the first of each step in the logarithm."""
    steps = np.floor(_PER_E * np.log(np.maximum(ranks, 0.0) + 1.0))
    return np.asarray((ranks < _ALL) | (np.diff(steps, prepend=-1.0) > 0))


def _edges(values: Any, pairs: list[Any]) -> Doubles:
    """Return edges that depend on the scores only, not on how they are cut."""
    step = _prime(-(-values.shape[0] // _SAMPLE))
    seen = cluster.dask().delayed(_seen)
    starts = np.concatenate([[0], np.cumsum(values.chunks[0])]).tolist()
    leaves = [seen(*pair, -start % step, step) for pair, start in zip(pairs, starts, strict=False)]
    both = cluster.compute(blocks.root(leaves, _merged))[0]
    _require_both(np.array([each.count for each in both]))
    inner = np.unique(np.concatenate([each.thresholds(step) for each in both]))
    finite = inner[np.isfinite(inner)]
    if np.isposinf(inner[-1]) and finite.size:  # bins hold their lower edge: inf gets its own
        finite = np.append(finite, np.nextafter(finite[-1], np.inf))
    return np.concatenate([[-np.inf], finite[np.isfinite(finite)], [np.inf]])


def _seen(scores: Array, member: Array, first: int, step: int) -> tuple[_SeenScores, _SeenScores]:
    """Look at some rounds; every `step`-th of all rounds is drawn, here from `first` on."""
    values, inside = _read(scores, member)
    drawn = np.zeros(values.size, dtype=np.bool_)
    drawn[first::step] = True
    return (
        _SeenScores.of(values[inside], drawn[inside]),
        _SeenScores.of(values[~inside], drawn[~inside]),
    )


def _merged(
    first: tuple[_SeenScores, _SeenScores], second: tuple[_SeenScores, _SeenScores]
) -> tuple[_SeenScores, _SeenScores]:
    return first[0].merge(second[0]), first[1].merge(second[1])


def _prime(least: int) -> int:
    """Return 1, or the smallest prime from `least` on: rounds that alternate do not resonate."""
    while least > 1 and any(least % k == 0 for k in range(2, int(least**0.5) + 1)):
        least += 1
    return max(least, 1)
