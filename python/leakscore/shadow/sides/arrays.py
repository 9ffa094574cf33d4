"""The arrays that all scores share: signals, who was trained on what, and the targets' signals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.typing import Array, Counts, Doubles, Flags

TooFew: TypeAlias = Literal["raise", "nan"]

REMEDY = (
    "take margins from logits or losses (leakscore.shadow.logit_margin, loss_margin), not from "
    "rounded probabilities, or clip them yourself"
)


@dataclass(frozen=True)
class Shadow:
    """Signals (K, N) or (K, N, A), bytes (K, N) of who was trained on what, the models that count.

    Nothing is copied but masks that are not bytes.
    """

    signals: Array
    included: npt.NDArray[np.uint8]
    rows: Counts

    @property
    def num_records(self) -> int:
        """N, the number of records."""
        return int(self.included.shape[1])

    @property
    def models(self) -> int:
        """K, the number of models that count."""
        return int(self.rows.size)

    def tables(self) -> Iterator[tuple[Array, tuple[int, ...]]]:
        """Yield views with one axis of columns, and the axes that these stand for.

        All augmentations at once where a view allows it, otherwise one at a time.
        """
        signals = self.signals
        if signals.ndim == 2:
            yield signals, (self.num_records,)
            return
        models, records, augmentations = signals.shape
        if augmentations == 1:
            yield signals[:, :, 0], (records, 1)
            return
        if records == 1 or signals.strides[1] == augmentations * signals.strides[2]:
            shape, strides = (models, records * augmentations), signals.strides
            yield (
                np.lib.stride_tricks.as_strided(
                    signals, shape, (strides[0], strides[2]), writeable=False
                ),
                (records, augmentations),
            )
            return
        for index in range(augmentations):
            yield signals[:, :, index], (records,)

    def without(self, rows: Counts) -> Shadow:
        """Return the same without some models, none of them copied."""
        kept = np.ones(len(self.signals), dtype=np.bool_)
        kept[rows] = False
        return Shadow(self.signals, self.included, self.rows[kept[self.rows]])

    def columns(self, which: Counts | slice) -> Shadow:
        """Return some of the records."""
        return Shadow(self.signals[:, which], self.included[:, which], self.rows)

    def blocks(self, elements: int = 1 << 18) -> Iterator[tuple[slice, Doubles, Flags]]:
        """Yield the models that count in float64 and their mask, a few thousand records a time."""
        width = max(1, elements // max(self.models, 1))
        every = self.models == self.signals.shape[0]
        for first in range(0, self.num_records, width):
            where = slice(first, first + width)
            signals, included = self.signals[:, where], self.included[:, where]
            if not every:
                signals, included = signals[self.rows], included[self.rows]
            yield where, signals.astype(np.float64), included != 0


def read(signals: object, included: object, *, augmented: bool = True) -> Shadow:
    """Check the shapes of both and the mask; signals are checked by the sums over them."""
    values = validation.real_array("signals", signals)
    mask = validation.real_array("included", included)
    axes = "(K, N) or (K, N, A)" if augmented else "(K, N)"
    if values.ndim not in ((2, 3) if augmented else (2,)):
        raise ValueError(
            f"Expected signals of shape {values.shape} to be {axes}: models, records"
            + (", augmentations" if augmented else "; this score takes no augmentations")
        )
    if values.size == 0:
        raise ValueError(f"Expected signals of shape {values.shape} not to be empty")
    if mask.shape != values.shape[:2]:
        turned = mask.ndim == 2 and mask.shape[::-1] == values.shape[:2]
        raise ValueError(
            f"Expected included of shape {mask.shape} to be {values.shape[:2]}, models by records"
            " like signals" + (": one of them is transposed" if turned else "")
        )
    models = np.arange(values.shape[0], dtype=np.int64)
    return Shadow(_read_as_it_lies(values), _bytes(mask), models)


def _read_as_it_lies(values: Array) -> Array:
    """Return the array; one of a dtype that C++ does not read (bool is one) by value."""
    return values.view(np.uint8) if values.dtype.kind == "b" else values


def _bytes(mask: Array) -> npt.NDArray[np.uint8]:
    if mask.dtype.kind != "b":
        inside = (mask == 0) | (mask == 1)
        if not inside.all():
            index = tuple(int(i) for i in np.unravel_index(int(np.argmin(inside)), mask.shape))
            raise ValueError(
                f"Expected included in {{0, 1}}: 1 where a model was trained on a record; "
                f"{int((~inside).sum())} entries are not, the first included{list(index)}="
                f"{mask[index].item()!r}"
            )
        if mask.dtype not in (np.dtype(np.uint8), np.dtype(np.int8)):
            mask = mask == 1
    return mask.view(np.uint8)


def finite(name: str, values: Array, remedy: str = REMEDY) -> None:
    """Refuse NaN and infinite signals: how many, the first of them, and what to do."""
    total, first = 0, None
    rows = max(1, (1 << 20) * len(values) // values.size)
    for start in range(0, len(values), rows):
        bad = ~np.isfinite(values[start : start + rows])
        count = int(np.count_nonzero(bad))
        if count and first is None:
            at = np.unravel_index(int(np.argmax(bad)), bad.shape)
            first = [start + int(at[0]), *(int(i) for i in at[1:])]
        total += count
    if first is not None:
        raise ValueError(
            f"Expected {name} to be finite: {total} of {values.size} are NaN or infinite, the "
            f"first {name}{first}={float(values[tuple(first)])!r}; {remedy}"
        )


def decided(scores: Doubles, few: Flags | bool = False) -> Doubles:
    """Return scores (S, N[, A]), NaN where there are too few models; refuse any other NaN."""
    lost = np.isnan(scores) & ~np.asarray(few)
    if lost.any():
        target, record = (int(i) for i in np.argwhere(lost)[0][:2])
        raise ValueError(
            f"Expected observed nearer to the signals: {int(lost.sum())} of {scores.size} scores "
            f"overflow, the first of target {target} at record {record}; clip the signals yourself"
        )
    return np.where(few, np.nan, scores)


@dataclass(frozen=True)
class Targets:
    """Signals of S target models in float64, (S, N) or (S, N, A); `single` if S was left out."""

    values: Doubles
    single: bool

    def finish(self, scores: Doubles) -> Doubles:
        """Average over augmentations, and drop the axis of targets that was not given."""
        if self.values.ndim == 3:
            scores = scores.mean(axis=-1)
        return scores[0] if self.single else scores


def targets(observed: object, shadow: Shadow) -> Targets:
    """Check the targets' signals against the shadow models'."""
    values = validation.real_array("observed", observed)
    rest = shadow.signals.shape[1:]
    if values.shape != rest and values.shape[1:] != rest:
        axes = ", ".join(str(size) for size in rest)
        raise ValueError(
            f"Expected observed of shape {values.shape} to be ({axes}{',' * (len(rest) == 1)}) or "
            f"(S, {axes}), as signals of shape {shadow.signals.shape}{_turned(values, shadow)}"
        )
    if values.size == 0:
        raise ValueError(f"Expected observed of shape {values.shape} not to be empty")
    finite("observed", values)
    single = values.ndim == len(rest)
    doubles = values.astype(np.float64)
    return Targets(doubles[np.newaxis] if single else doubles, single)


def _turned(values: Array, shadow: Shadow) -> str:
    models, records = shadow.signals.shape[:2]
    if shadow.signals.ndim == 2 and values.ndim == 2 and values.shape[0] == records:
        return ": observed is transposed, pass observed.T"
    if values.shape and values.shape[-1 if shadow.signals.ndim == 2 else 0] == models != records:
        return ": signals and included are transposed, models come first: pass signals.T"
    return ""


def refuse_few(bad: Flags, what: str, remedy: str) -> None:
    """Raise ValueError if a record is bad: how many, the first of them, and what to do."""
    if bad.any():
        first = int(np.argmax(bad.reshape(bad.shape[0], -1).any(axis=1)))
        count = int(bad.reshape(bad.shape[0], -1).any(axis=1).sum())
        raise ValueError(
            f"Expected {what}: {count} of {bad.shape[0]} records of signals and included have "
            f"not, the first has index {first}; {remedy}"
        )
