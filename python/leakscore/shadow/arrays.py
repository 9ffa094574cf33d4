"""Arrays common to all scores, and sums over the models IN and OUT of each record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.typing import Array, Counts, Doubles, Flags

TooFew: TypeAlias = Literal["raise", "nan"]

REMEDY = (
    "take margins from logits or losses (leakscore.shadow.logit_margin, loss_margin), not from "
    "rounded probabilities, or clip them yourself"
)
LOST = 1e-3
"""A down-dated sum of squares below this share of the sum before has lost too many digits."""


@dataclass(frozen=True)
class Shadow:
    """Signals (K, N) or (K, N, A), byte masks (K, N) of training records, and the models in use.

    `rows` are the indices of the models in use. Only masks that are not bytes are copied.
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
        """Number of models in use."""
        return int(self.rows.size)

    def reduce(self, function: Callable[[Array, Array, Counts], Array]) -> Array:
        """Reduce the axis of models by a function of (K, N) signals: (..., N[, A]).

        All augmentations are passed at once if a view allows it, otherwise one at a time.
        """
        signals, included = self.signals, self.included
        if signals.ndim == 2:
            return function(signals, included, self.rows)
        models, records, augmentations = signals.shape
        if signals.strides[1] == augmentations * signals.strides[2]:
            shape, strides = (models, records * augmentations), signals.strides[::2]
            flat = np.lib.stride_tricks.as_strided(signals, shape, strides, writeable=False)
            return function(flat, included, self.rows).reshape(-1, records, augmentations)
        columns = [function(signals[:, :, a], included, self.rows) for a in range(augmentations)]
        return np.stack(columns, axis=-1)

    def without(self, rows: Counts) -> Shadow:
        """Return the same without some models, as views."""
        return Shadow(self.signals, self.included, self.rows[~np.isin(self.rows, rows)])

    def columns(self, which: Counts | slice) -> Shadow:
        """Return some of the records."""
        return Shadow(self.signals[:, which], self.included[:, which], self.rows)

    def signals_of(self, row: int) -> tuple[Doubles, Flags]:
        """Return a model's signals in float64, and where it is IN, (N,) or (N, 1)."""
        inside = self.included[row] != 0
        wide = inside.reshape(-1, *[1] * (self.signals.ndim - 2))
        return self.signals[row].astype(np.float64), wide

    def blocks(self, elements: int = 1 << 18) -> Iterator[tuple[slice, Doubles, Flags]]:
        """Yield blocks of records: their slice, signals of the models in use in float64, mask."""
        width = max(1, elements // max(self.models, 1))
        every = self.models == self.signals.shape[0]
        for first in range(0, self.num_records, width):
            where = slice(first, first + width)
            signals, included = self.signals[:, where], self.included[:, where]
            if not every:
                signals, included = signals[self.rows], included[self.rows]
            yield where, signals.astype(np.float64), included != 0


class ShadowScore(Protocol):
    """A score: sums over the shadow models, and the scores of signals from these sums.

    The sums have a method `without`, which leaves a group of models out.
    """

    @property
    def augmented(self) -> bool:
        """Whether signals may have an axis of augmentations."""

    def fit(self, shadow: Shadow) -> Any:
        """Sum over all models in use."""

    def scores(self, x: Doubles, sums: Any) -> Doubles:
        """Score signals (S, N[, A])."""


def run_score(rule: ShadowScore, observed: object, signals: object, included: object) -> Doubles:
    """Score target models by all shadow models."""
    shadow = read(signals, included, augmented=rule.augmented)
    values = targets(observed, shadow)
    return values.finish(rule.scores(values.values, rule.fit(shadow)))


def read(
    signals: object, included: object, *, augmented: bool = True, name: str = "signals"
) -> Shadow:
    """Check both shapes and the mask; the sums over the signals check these for NaN."""
    values = validation.real_array(name, signals)
    mask = validation.real_array("included", included)
    axes = "(K, N) or (K, N, A)" if augmented else "(K, N)"
    if values.ndim not in ((2, 3) if augmented else (2,)):
        raise ValueError(
            f"{name} of shape {values.shape} must be {axes}: models, records"
            + (", augmentations" if augmented else "; this score takes no augmentations")
        )
    if values.size == 0:
        raise ValueError(f"{name} of shape {values.shape} must not be empty")
    if mask.shape != values.shape[:2]:
        transposed = mask.ndim == 2 and mask.shape[::-1] == values.shape[:2]
        hint = ": is the order observed, signals, included?" if values.dtype.kind == "b" else ""
        raise ValueError(
            f"included of shape {mask.shape} must be {values.shape[:2]}, models by records"
            f" like {name}" + (": one of them is transposed" if transposed else hint)
        )
    if values.dtype.kind == "b":  # a dtype that C++ does not read
        values = values.view(np.uint8)
    return Shadow(values, _bytes(mask), np.arange(values.shape[0], dtype=np.int64))


def _bytes(mask: Array) -> npt.NDArray[np.uint8]:
    if mask.dtype.kind != "b":
        outside = (mask != 0) & (mask != 1)
        if outside.any():
            index = first_index(outside)
            raise ValueError(
                f"included must be in {{0, 1}}: 1 where a model was trained on a record; "
                f"{int(outside.sum())} entries are not, the first included{list(index)}="
                f"{mask[index].item()!r}"
            )
        if mask.dtype not in (np.dtype(np.uint8), np.dtype(np.int8)):
            mask = mask == 1
    return mask.view(np.uint8)


def first_index(bad: Flags) -> tuple[int, ...]:
    """Return the index of the first True entry."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))


def finite(name: str, values: Array, remedy: str = REMEDY) -> None:
    """Refuse NaN and infinite signals, with their number, the first index and the remedy."""
    if np.isfinite(values.min()) and np.isfinite(values.max()):
        return
    bad = ~np.isfinite(values)
    first = first_index(bad)
    raise ValueError(
        f"{name} must be finite: {int(bad.sum())} of {values.size} are NaN or infinite, the "
        f"first {name}{list(first)}={float(values[first])!r}; {remedy}"
    )


def refuse_overflow(scores: Doubles, few: Flags | bool = False) -> Doubles:
    """Return scores (S, N[, A]), NaN where there are too few models; refuse any other NaN."""
    lost = np.isnan(scores) & ~np.asarray(few)
    if lost.any():
        target, record = first_index(lost)[:2]
        raise ValueError(
            f"observed must be nearer to the signals: {int(lost.sum())} of {scores.size} scores "
            f"overflow, the first of target {target} at record {record}; clip the signals yourself"
        )
    return np.where(few, np.nan, scores)


@dataclass(frozen=True)
class Targets:
    """Signals of S target models, (S, N[, A]); `single` if `observed` has no axis of targets."""

    values: Doubles
    single: bool

    def finish(self, scores: Doubles) -> Doubles:
        """Average over augmentations, and drop the axis of targets if `single`."""
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
            f"observed of shape {values.shape} must be ({axes}{',' * (len(rest) == 1)}) or "
            f"(S, {axes}), as signals of shape {shadow.signals.shape}{_axes_hint(values, shadow)}"
        )
    if values.size == 0:
        raise ValueError(f"observed of shape {values.shape} must not be empty")
    finite("observed", values)
    single = values.ndim == len(rest)
    doubles = values.astype(np.float64)
    return Targets(doubles[np.newaxis] if single else doubles, single)


def _axes_hint(values: Array, shadow: Shadow) -> str:
    models, records = shadow.signals.shape[:2]
    if shadow.signals.ndim == 2 and values.ndim == 2 and values.shape[0] == records:
        return ": observed is transposed, pass observed.T"
    if values.shape and values.shape[-1 if shadow.signals.ndim == 2 else 0] == models != records:
        return ": signals and included are transposed, models come first: pass signals.T"
    return ""


def refuse_few(bad: Flags, what: str, remedy: str) -> None:
    """Raise ValueError if a record is bad, with their number, the first index and the remedy."""
    if bad.any():
        records = bad.reshape(len(bad), -1).any(axis=1)
        raise ValueError(
            f"There must be {what}: {int(records.sum())} of {len(bad)} records of signals and "
            f"included have not, the first has index {int(np.argmax(records))}; {remedy}"
        )


def refuse_none(count: Doubles, name: str, remedy: str = "use more models") -> None:
    """Refuse records without a model on a side; `count` is the number of models."""
    refuse_few(count < 1, f"a model {name} at least for each record", remedy)


class Side(NamedTuple):
    """Number of models on one side of each record, (N,) or (N, A), their mean, and their squares.

    The mean is centre + rest, so that an offset of the signals costs no digits; it is 0 without
    models. The squares are about the mean. The location of a law is `median`, or the mean if that
    is None.
    """

    models: Doubles
    centre: Doubles
    rest: Doubles
    squares: Doubles
    median: Doubles | None = None

    @property
    def dof(self) -> Doubles:
        """Return c - 1 of c models, the degrees of freedom of the squares; not below 0."""
        return np.maximum(self.models - 1.0, 0.0)

    @property
    def mean(self) -> Doubles:
        """Return the mean, rounded to the size of the signals."""
        return self.centre + self.rest

    def centred(self, x: Doubles) -> Doubles:
        """Return signals less the location."""
        return (x - self.centre) - self.rest if self.median is None else x - self.median

    def without(self, x: Doubles, inside: Flags) -> Side:
        """Leave one model with signals x out, at the records where it is on this side."""
        count = self.models - inside
        remaining = np.maximum(count, 1.0)
        d = np.where(inside, (x - self.centre) - self.rest, 0.0)
        rest = np.where(count > 0, self.rest - d / remaining, 0.0)
        squares = np.where(count > 1, self.squares - d * d * (self.models / remaining), 0.0)
        return Side(count, np.where(count > 0, self.centre, 0.0), rest, squares)

    def put(self, which: Counts, other: Side) -> Side:
        """Replace the sums of some records."""
        return Side(
            self.models, *(put(a, which, b) for a, b in zip(self[1:4], other[1:4], strict=True))
        )

    def has_lost(self, before: Side) -> Flags:
        """Return where the remaining squares have lost too many digits."""
        lost: Flags = (self.squares < LOST * before.squares) & (self.models < before.models)
        return lost


def put(into: Doubles, which: Counts, value: Doubles) -> Doubles:
    """Return a copy with other values of some records."""
    result: Doubles = into.copy()
    result[which] = value
    return result


class Sides(NamedTuple):
    """Both sides of each record."""

    inside: Side
    outside: Side

    @property
    def gain(self) -> Doubles:
        """Return the mean IN less the mean OUT."""
        inside, outside = self
        return (inside.centre - outside.centre) + (inside.rest - outside.rest)

    def packed(self) -> Doubles:
        """Return count, centre, rest and squares of IN and of OUT, as C++ takes them: (8, N)."""
        return np.stack([*self.inside[:4], *self.outside[:4]])

    def about(self, medians: Doubles) -> Sides:
        """Return the same with medians IN and OUT as locations."""
        inside, outside = self
        return Sides(inside._replace(median=medians[0]), outside._replace(median=medians[1]))


@dataclass(frozen=True)
class ModelSums:
    """Sums over the models in use; `renewed` are the records that were summed again.

    `middles` are the values before, at and after the median of each side: (2, 3, N[, A]).
    """

    shadow: Shadow
    sides: Sides
    renewed: Counts
    middles: Doubles | None = None

    def without(self, group: Counts) -> ModelSums:
        """Leave the models of a group out; sums that have lost digits are summed again."""
        inside, outside = self.sides
        remaining = self.shadow.without(group)
        for row in group:
            x, mask = self.shadow.signals_of(row)
            inside, outside = inside.without(x, mask), outside.without(x, ~mask)
        lost = inside.has_lost(self.sides.inside) | outside.has_lost(self.sides.outside)
        renewed = np.flatnonzero(lost.reshape(len(lost), -1).any(axis=1))
        if renewed.size:
            again = sums(remaining.columns(renewed)).sides
            inside, outside = inside.put(renewed, again[0]), outside.put(renewed, again[1])
        sides = Sides(inside, outside)
        if self.middles is None:
            return ModelSums(remaining, sides, renewed)
        if group.size > 1:
            return ModelSums(remaining, sides.about(_middles(remaining)[:, 1]), renewed)
        x, mask = self.shadow.signals_of(group[0])
        medians = [
            _median_without(x, is_side, side.models, middle)
            for is_side, side, middle in zip((mask, ~mask), self.sides, self.middles, strict=True)
        ]
        return ModelSums(remaining, sides.about(np.stack(medians)), renewed)


def sums(shadow: Shadow, *, medians: bool = False, name: str = "signals") -> ModelSums:
    """Sum over all models in use, in one reading of the signals; messages call them `name`."""
    raw = shadow.reduce(_core.shadow_moments)
    if not np.isfinite(raw).all():
        finite(name, shadow.signals)
        raise ValueError(f"{name} must be below 1e150 in size: their squares overflow")
    sides, none = Sides(Side(*raw[:4]), Side(*raw[4:])), np.empty(0, dtype=np.int64)
    if not medians:
        return ModelSums(shadow, sides, none)
    middles = _middles(shadow)
    return ModelSums(shadow, sides.about(middles[:, 1]), none, middles)


def _middles(shadow: Shadow) -> Doubles:
    raw = shadow.reduce(lambda *arguments: _core.shadow_medians(*arguments).reshape(-1, 6).T)
    return np.asarray(raw.reshape(2, 3, *raw.shape[1:]))


def _median_without(x: Doubles, inside: Flags, count: Doubles, middle: Doubles) -> Doubles:
    """Return the median without x where x is `inside`, from the three values at the middle."""
    before, at, after = (np.asarray(part, dtype=np.float64) for part in middle)
    # Of an odd number of values, the removal of x leaves two in the middle.
    low, high = np.where(x <= at, at, before), np.where(x < at, after, at)
    low, high = np.where(x == at, before, low), np.where(x == at, after, high)
    low, high = np.where(x < at, at, low), np.where(x > at, at, high)
    odd = 0.5 * low + 0.5 * high
    even = np.where(x <= before, after, before)
    return np.where(inside, np.where(count % 2 == 1, odd, even), at)


Masks: TypeAlias = "list[tuple[bytes, bytes]]"
"""For each model, the packed masks of the records in its training, and of the others."""


def masks_of(shadow: Shadow) -> Masks:
    """Return the masks of all models, one bit per record."""
    return [(np.packbits(row).tobytes(), np.packbits(1 - row).tobytes()) for row in shadow.included]


def complementary_pairs(shadow: Shadow, masks: Masks) -> Counts | None:
    """Return the pairs (K / 2, 2) of models such that each record is in exactly one of a pair.

    None if not all models in use form such pairs.
    """
    unpaired: dict[bytes, list[int]] = {}
    pairs = []
    for row in shadow.rows.tolist():
        mask, complement = masks[row]
        if unpaired.get(complement):
            pairs.append((unpaired[complement].pop(0), row))
        else:
            unpaired.setdefault(mask, []).append(row)
    return np.array(pairs, dtype=np.int64) if 2 * len(pairs) == shadow.models else None


def pair_groups(shadow: Shadow) -> Counts | None:
    """Return the number of each model's pair; None if there are fewer than two pairs."""
    pairs = complementary_pairs(shadow, masks_of(shadow))
    if pairs is None or len(pairs) < 2:
        return None
    numbers = np.empty(shadow.models, dtype=np.int64)
    numbers[pairs] = np.arange(len(pairs))[:, np.newaxis]
    return numbers


_FEW, _MANY = 8, 300  # records


def counts_tell_members(shadow: Shadow, groups: list[Counts]) -> bool:
    """Whether the number of remaining models shows which records are members.

    That is so if all records are in equally many models, or their numbers vary at most half as much
    as with fair coins, but the records are not in equally many models of a group left out.
    """
    size = shadow.num_records
    if size < _FEW:
        return False
    counts = _count_models(shadow, shadow.rows)
    mean = float(counts.mean())
    least = 0.5 * mean * (1.0 - mean / shadow.models) if size >= _MANY else 0.0
    return bool(counts.var() <= least) and any(
        np.ptp(_count_models(shadow, rows)) > 0 for rows in groups
    )


def _count_models(shadow: Shadow, rows: Counts) -> Counts:
    """Return the number of these models that were trained on each record."""
    total = np.zeros(shadow.num_records, dtype=np.int64)
    for row in rows.tolist():
        total += shadow.included[row] != 0
    return total
