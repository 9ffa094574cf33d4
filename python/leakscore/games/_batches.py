"""How the records of a data set come to the batches of a training; a public name of the room."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.games._sampling import Key
from leakscore.typing import Doubles, Flags, Indices

Kind = Literal["poisson", "truncated", "allocated", "fixed", "shuffled", "patterns"]

_KINDS = ("poisson", "truncated", "allocated", "fixed", "shuffled", "patterns")
_NEEDED = {
    "sample_rate": ("poisson", "truncated"),
    "max_batch_size": ("truncated",),
    "batch_size": ("fixed",),
    "participation": ("patterns",),
}
_POSSIBLE = {
    "selected": ("allocated",),
    "num_epochs": ("allocated", "shuffled"),
    "reallocate": ("allocated",),
}


@dataclass(frozen=True, eq=False)
class Batches:
    """How the records of a data set come to the batches of a training.

    Parameters
    ----------
    kind : {"poisson", "truncated", "allocated", "fixed", "shuffled", "patterns"}
        ``"poisson"``: each record comes to each step with probability ``sample_rate``.
        ``"truncated"``: the same, and of more than ``max_batch_size`` a uniform subset of that many
        stays. ``"allocated"``: each record is in exactly ``selected`` steps of an epoch, drawn
        uniformly. ``"fixed"``: each step draws ``batch_size`` records without replacement.
        ``"shuffled"``: in each epoch a permutation of the records is cut into batches of equal
        size. ``"patterns"``: each record takes part in the steps of a row of ``participation``, all
        rows as probable.
    sample_rate : float, optional
        In (0, 1].
    max_batch_size, batch_size : int, optional
        At least 1.
    selected : int, optional
        Steps of an epoch that hold a record, by default 1.
    num_epochs : int, optional
        Number of epochs of equal length, by default 1.
    reallocate : bool, optional
        False: steps are drawn once and are the same in all epochs (balls in bins). By default True.
    participation : (P, T) array_like, optional
        Patterns of 0/1, as of `tradeoff.participation_patterns`.

    Raises
    ------
    ValueError
        If an argument is out of range, missing, or of another kind.

    See Also
    --------
    leakscore.games.dpsgd : The game on trainings with these batches.
    leakscore.tradeoff.random_allocation : Their trade-off curves are in that room.

    Examples
    --------
    >>> from leakscore.games import Batches
    >>> Batches("allocated", num_epochs=10).num_epochs
    10
    >>> Batches("truncated", sample_rate=0.01, max_batch_size=128).max_batch_size
    128
    """

    kind: Kind
    sample_rate: float | None = field(default=None, kw_only=True)
    max_batch_size: int | None = field(default=None, kw_only=True)
    batch_size: int | None = field(default=None, kw_only=True)
    selected: int | None = field(default=None, kw_only=True)
    num_epochs: int | None = field(default=None, kw_only=True)
    reallocate: bool | None = field(default=None, kw_only=True)
    participation: npt.ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        kind = validation.choice("kind", self.kind, _KINDS)
        for name, kinds in (_NEEDED | _POSSIBLE).items():
            value = getattr(self, name)
            if value is not None and kind not in kinds:
                raise ValueError(f"Expected {name}={value!r} only with kind in {kinds}, not {kind}")
            if value is None and name in _NEEDED and kind in kinds:
                raise ValueError(f"Expected {name} with kind={kind!r}")
        given: dict[str, Any] = {
            name: validation.count(name, getattr(self, name), 1)
            for name in ("max_batch_size", "batch_size", "selected", "num_epochs")
            if getattr(self, name) is not None
        }
        if self.sample_rate is not None:
            given["sample_rate"] = validation.scalar(
                "sample_rate", self.sample_rate, 0.0, 1.0, closed="right"
            )
        if self.reallocate is not None:
            given["reallocate"] = validation.flag("reallocate", self.reallocate)
        if self.participation is not None:
            rows = validation.matrix("participation", self.participation)
            given["participation"] = validation.binary("participation", rows) != 0
        for name, kinds in _POSSIBLE.items():
            if kind in kinds:
                given.setdefault(name, True if name == "reallocate" else 1)
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def _sizes_are_fixed(self) -> bool:
        """Whether a record that is out still has a place."""
        return self.kind in ("fixed", "shuffled")

    def _require(self, records: int, steps: int) -> None:
        """Refuse a data set or a number of steps for which these batches are not defined."""
        slots = self._slots(steps)
        if self.kind == "fixed" and (self.batch_size or 0) > records:
            raise ValueError(
                f"Expected batch_size={self.batch_size} <= {records}, the rows of X and the target"
            )
        if self.kind == "shuffled" and records % slots:
            raise ValueError(
                f"Expected {records} records, the rows of X and the target, to be a multiple of "
                f"{slots}, the steps of an epoch"
            )
        if (self.selected or 1) > slots:
            raise ValueError(f"Expected selected={self.selected} <= {slots}, the steps of an epoch")
        if self.participation is not None and np.shape(self.participation)[1] != steps:
            raise ValueError(
                f"Expected participation of shape {np.shape(self.participation)} to be (P, {steps})"
            )

    def _slots(self, steps: int) -> int:
        """Return the number of steps of an epoch."""
        epochs = self.num_epochs or 1
        if steps % epochs:
            raise ValueError(f"Expected num_steps={steps} to be a multiple of num_epochs={epochs}")
        return steps // epochs

    def _expected(self, records: int, steps: int) -> int:
        """Return about how many records a batch has."""
        if self.kind == "fixed":
            return self.batch_size or 1
        if self.participation is not None:
            return ceil(records * float(np.asarray(self.participation, np.float64).mean()))
        rate = self.sample_rate or (self.selected or 1) / self._slots(steps)
        return ceil(records * rate)

    def _draw(
        self, key: Key, first: int, present: Flags, records: int, steps: int
    ) -> tuple[npt.NDArray[np.int32], Indices]:
        """Return the records of all steps of all rounds, and how many each step has, (r, T).

        Record 0 is not there where `present` is False.
        """
        patterns = np.zeros((1, 1), dtype=np.bool_)
        size = self.batch_size or self.max_batch_size or self.selected or 1
        if self.participation is not None:
            patterns = np.ascontiguousarray(self.participation, dtype=np.bool_)
            size = len(patterns)
        # A record comes where its word w <= last: with probability (last + 1) / 2^64.
        last = max(ceil((self.sample_rate or 1.0) * 2.0**64), 1) - 1
        slots = self._slots(steps)
        scheme = (self.kind, records, slots, steps // slots, size, last)
        again = bool(self.reallocate)
        rows, ends = _core.draw_batches(key, first, present, *scheme, again, patterns)
        return rows, np.diff(ends, prepend=0).reshape(-1, steps)


def padded(rows: npt.NDArray[np.int32], sizes: Indices, fill: int) -> Indices:
    """Return the records of every step with `fill` after the last, (r, T, largest)."""
    largest = max(int(sizes.max()), 1)
    index = np.full((*sizes.shape, largest), fill, dtype=np.intp)
    index[np.arange(largest) < sizes[..., np.newaxis]] = rows
    return index


def data_set(others: Doubles, target: Doubles, other: Doubles | None) -> Doubles:
    """Return the table of a game: target, others, a record of no gradient, who stands in."""
    nothing = np.zeros((1, target.size))
    last = nothing if other is None else other[np.newaxis]
    return np.concatenate([target[np.newaxis], others, nothing, last])
