"""From outputs to scores: rows of numbers, attacks that are learned from them, and the best one."""

from __future__ import annotations

import copy
import hashlib
import math
import reprlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln

from leakscore.typing import Doubles, Flags

MISSING = -1e6
RAISED = -1.0  # in the place of how many numbers an output has
_NEGATIVE_ZERO = -5e-324  # as numbers the two zeros are equal, but not to who reads them
_MOST = 10_000  # numbers of one output
_HARDLY = 0.9  # of the rounds without an output

Mechanism = Callable[[Any, np.random.Generator], object]


Score = Callable[[Doubles], Doubles]
Fit = Callable[[Doubles, Flags], Score]
_QUANTILES = 12
_LOW_BITS = (4, 12, 20, 28, 36, 44)
_ATOMS = 40  # values of a column that get a bin of their own, at most
_WIDE = 60  # columns that are attacked one by one, at most
_PAIRED = 12  # columns whose products are attacked, at most
_WORDS = ("the length of the output", "the types of the output")


@dataclass
class Failures:
    """Rounds without an output: how many, how many of them raised, and the first exception."""

    rounds: int = 0
    raised: int = 0
    first: Exception | None = None

    def described(self, rounds: int) -> str:
        """Describe the failures of a check that found nothing; refuse one without any output."""
        raised = f"{self.raised} raised"
        if self.first is not None:
            raised += f", the first {type(self.first).__name__}: {self.first}"
        if self.rounds == rounds:
            raise ValueError(
                f"mechanism(data, rng) must return an output, but none of {rounds} rounds "
                f"did: {raised}. Nothing was tested"
            ) from self.first
        if self.rounds > _HARDLY * rounds:
            warnings.warn(
                f"Only {rounds - self.rounds} of {rounds} rounds returned an output, {raised}: "
                "hardly anything was tested",
                stacklevel=3,
            )
        return f"; of these {raised}" if self.raised else ""


def played(
    mechanism: Mechanism, data: Any, rng: np.random.Generator, failures: Failures
) -> tuple[object, list[float]]:
    """Return an output, and its row: how many numbers it has, a hash of its types, its numbers.

    An exception is an output too.
    """
    try:
        answer = mechanism(data, rng)
    except Exception as error:
        failures.rounds += 1
        failures.raised += 1
        failures.first = failures.first or error
        answer = f"{type(error).__name__}: {error}"
        return answer, [RAISED, 0.0, _hashed(answer)]
    parts: list[float] = []
    form: list[str] = []
    try:
        _flatten(answer, parts, form)
    except RecursionError:
        raise ValueError("mechanism must return no output that is so deeply nested") from None
    if answer is None or not parts:
        failures.rounds += 1
    # A mechanism may fill one array again and again.
    return copy.deepcopy(answer), [float(len(parts)), _hashed("".join(form)), *parts]


def table(outputs: list[list[float]], width: int | None = None) -> Doubles:
    """Return one row for each output: length, form, its numbers, then MISSING; cut at a width."""
    width = width or max(map(len, outputs))
    rows = np.full((len(outputs), width), MISSING)
    for row, output in zip(rows, outputs, strict=True):
        row[: len(output)] = output[:width]
    return rows


def _flatten(value: object, parts: list[float], form: list[str]) -> None:
    """Append an output's numbers, text as a hash, to `parts`, and its types to `form`."""
    if type(value) is float:  # most outputs
        form.append("f")
        _append(parts, [_number(value)])
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        _flatten_array(value, parts, form)
    elif isinstance(value, np.ndarray):
        _flatten(value.tolist(), parts, form)
    elif isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
        form.append(f"{type(value).__name__},")
        _append(parts, _exact(value))
    elif value is None:
        form.append("-")
        _append(parts, [MISSING])
    elif isinstance(value, (list, tuple)):
        form.append("[" if isinstance(value, list) else "(")
        for part in value:
            _flatten(part, parts, form)
        form.append("]")
    elif isinstance(value, dict):
        form.append("{")
        for key in sorted(value, key=str):
            _flatten(key, parts, form)
            _flatten(value[key], parts, form)
        form.append("}")
    elif isinstance(value, (str, bytes)):
        form.append("s" if isinstance(value, str) else "b")
        _append(parts, [_hashed(value if isinstance(value, str) else value.decode("latin-1"))])
    else:
        raise TypeError(
            "mechanism must return real numbers, strings, None, arrays, tuples, lists or dicts of "
            f"them, not {type(value).__name__}"
        )


def _flatten_array(array: np.ndarray, parts: list[float], form: list[str]) -> None:
    """Append an array of real numbers, with its shape."""
    _require_few(len(parts) + array.size)
    form.append(f"{array.dtype.str}{array.shape}")
    # What a mask hides is no output.
    if array.dtype.kind in "iu" and array.size:
        whole = np.ma.filled(array, 0)
        if _beyond(int(whole.min()), int(whole.max())):
            for number in whole.ravel().tolist():
                _append(parts, _exact(number))
            return
    numbers = np.ma.filled(array.astype(np.float64), np.nan).ravel()
    numbers[(numbers == 0.0) & np.signbit(numbers)] = _NEGATIVE_ZERO
    _append(parts, np.nan_to_num(numbers, nan=MISSING, posinf=1e300, neginf=-1e300).tolist())


def _beyond(low: int, high: int) -> bool:
    return low < -(2**53) or high > 2**53


def _exact(value: Any) -> list[float]:
    """Return a number as floats: two for an integer that no float holds exactly."""
    if isinstance(value, (int, np.integer)) and _beyond(int(value), int(value)):
        near = _number(value)
        return [near, _number(int(value) - int(near))]
    return [_number(value)]


def _append(parts: list[float], numbers: list[float]) -> None:
    parts.extend(numbers)
    _require_few(len(parts))


def _require_few(count: int) -> None:
    if count > _MOST:
        raise ValueError(
            f"mechanism must return at most {_MOST} numbers in one output: test a part of "
            "it, or what is computed from it"
        )


def _number(value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        return MISSING
    if number == 0.0:
        return _NEGATIVE_ZERO if math.copysign(1.0, number) < 0.0 else 0.0
    return min(max(number, -1e300), 1e300)


def _hashed(text: str) -> float:
    """Return a number in [0, 1) that depends on the text only."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "little") / 2.0**48


@dataclass(frozen=True)
class ScoreAttack:
    """A way to learn a score: `sign` times a number, or, for 0, how often an output occurs."""

    words: str
    fit: Fit
    sign: float = 0.0

    def event(self, threshold: float, example: object, *, highest: bool) -> str:
        """Say which outputs have scores beyond a threshold, and show one."""
        side = "at least" if highest == (self.sign > 0.0) else "at most"
        said = f"{side} {self.sign * threshold:.6g}"
        said = said if self.sign else f"one seen {'more' if highest else 'less'} often with data"
        return f"{self.words} is {said} (for example {reprlib.repr(example)})"


def attacks(rows: Doubles) -> Iterator[ScoreAttack]:
    """Yield the candidates for outputs of this shape."""
    yield ScoreAttack("the exact output", _whole)
    varying = np.flatnonzero((rows != rows[0]).any(axis=0))[:_WIDE]
    for column in varying.tolist():
        name = _WORDS[column] if column < len(_WORDS) else f"number {column - 1} of the output"
        yield ScoreAttack(name, _column(column, 1.0), 1.0)
        yield ScoreAttack(name, _column(column, -1.0), -1.0)
        yield ScoreAttack(f"the range of {name}", _binned(column))
        if (rows[:, column] % 1.0 != 0.0).any():
            for power in _LOW_BITS:
                words = f"the part of {name} below 2^-{power}"
                yield ScoreAttack(words, _low_bits(column, power))
    if varying.size > 1:
        yield ScoreAttack("a linear combination of the output", _ridge(varying, _linear), 1.0)
        yield ScoreAttack("the set of ranges of all numbers", _sum_of_binned(varying))
    if varying.size:
        yield ScoreAttack("a combination of the output and squares", _ridge(varying, _squares), 1.0)
    if 1 < varying.size <= _PAIRED:
        yield ScoreAttack(
            "a combination of the output and products", _ridge(varying, _products), 1.0
        )


def _by_frequency(keys: Callable[[Doubles], np.ndarray], rows: Doubles, member: Flags) -> Score:
    """Score a key by the log-ratio of how often members and others have it; 0 if none ever had."""
    values, place = np.unique(keys(rows), return_inverse=True)
    counts = [np.bincount(place.ravel()[of], minlength=values.size) for of in (member, ~member)]
    inside, outside = (np.log((count + 0.5) / (count.sum() + 1.0)) for count in counts)
    ratios = inside - outside

    def score(array: Doubles) -> Doubles:
        sought = keys(array)
        place = np.minimum(np.searchsorted(values, sought), values.size - 1)
        return np.where(values[place] == sought, ratios[place], 0.0)

    return score


def _whole(rows: Doubles, member: Flags) -> Score:
    width = 8 * rows.shape[1]
    return _by_frequency(
        lambda array: np.ascontiguousarray(array + 0.0).view(f"S{width}").ravel(), rows, member
    )


def _column(column: int, sign: float) -> Fit:
    def fit(_rows: Doubles, _member: Flags) -> Score:
        return lambda array: np.asarray(sign * array[:, column])

    return fit


def _low_bits(column: int, power: int) -> Fit:
    return partial(_by_frequency, lambda array: np.mod(array[:, column], 2.0**-power))


def _binned(column: int) -> Fit:
    def fit(rows: Doubles, member: Flags) -> Score:
        edges, atoms = _edges(rows[:, column])

        def bins(array: Doubles) -> np.ndarray:
            place = np.searchsorted(edges, array[:, column]).astype(np.float64)
            atom = np.minimum(np.searchsorted(atoms, array[:, column]), max(atoms.size - 1, 0))
            hit = atoms[atom] == array[:, column] if atoms.size else np.zeros(len(array), bool)
            return np.where(hit, -1.0 - atom, place)

        return _by_frequency(bins, rows, member)

    return fit


def _edges(column: Doubles) -> tuple[Doubles, Doubles]:
    """Return quantiles, and the values that are so frequent that they are bins of their own."""
    values, counts = np.unique(column, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:_ATOMS]
    atoms = np.sort(values[frequent[counts[frequent] >= max(5, 0.005 * column.size)]])
    shares = np.arange(1, _QUANTILES) / _QUANTILES
    return np.unique(np.quantile(column, shares)), atoms


def _sum_of_binned(columns: np.ndarray) -> Fit:
    def fit(rows: Doubles, member: Flags) -> Score:
        scores = [_binned(column)(rows, member) for column in columns.tolist()]
        return lambda array: np.sum([score(array) for score in scores], axis=0)

    return fit


def _linear(z: Doubles) -> Doubles:
    return z


def _squares(z: Doubles) -> Doubles:
    return np.concatenate([z, z**2], axis=1)


def _products(z: Doubles) -> Doubles:
    first, second = np.triu_indices(z.shape[1])
    return np.concatenate([z, z[:, first] * z[:, second]], axis=1)


def _ridge(columns: np.ndarray, features_of: Callable[[Doubles], Doubles]) -> Fit:
    def fit(rows: Doubles, member: Flags) -> Score:
        centre = np.median(rows[:, columns], axis=0)
        spread = np.subtract(*np.quantile(rows[:, columns], [0.9, 0.1], axis=0))
        spread = np.where(spread > 0.0, spread, 1.0)

        def features(array: Doubles) -> Doubles:
            # Far values say no more than 10 spreads would: one outlier must not decide.
            with np.errstate(over="ignore"):
                far = (array[:, columns] - centre) / spread
            return features_of(np.clip(far, -10.0, 10.0))

        x = features(rows)
        mean = x.mean(axis=0)
        gram = (x - mean).T @ (x - mean) / len(x)
        gap = x[member].mean(axis=0) - x[~member].mean(axis=0)
        scale = 1e-3 * max(float(np.trace(gram)) / len(gram), 1e-12)
        weights = np.linalg.solve(gram + scale * np.eye(len(gram)), gap)
        return lambda array: features(array) @ weights

    return fit


class Event(NamedTuple):
    """A group of extreme scores, and how much a bet on it would have won."""

    log_wealth: float
    highest: bool
    threshold: float


def best_event(scores: Doubles, member: Flags, epsilons: Doubles) -> Event:
    """Return the group of the highest or lowest scores that speaks most against a claim.

    The bet on a group learns its share as Krichevsky and Trofimov do; the claim allows q. Of a
    curve's tangents the best counts, less the logarithm of their number.
    """
    ordered = np.sort(scores)
    ranks = np.unique(np.rint(2.0 ** (np.arange(60) / 2.0)))
    ranks = ranks[ranks <= max(scores.size // 2, 1)].astype(np.intp)
    events = []
    for highest in (True, False):
        thresholds = np.unique(ordered[-ranks] if highest else ordered[ranks - 1])
        for threshold in thresholds.tolist():
            inside = scores >= threshold if highest else scores <= threshold
            size = int(inside.sum())
            right = int((member[inside] == highest).sum())
            events.append(Event(_log_wealth(right, size, epsilons), highest, threshold))
    return max(events, key=lambda event: event.log_wealth)


def _log_wealth(right: int, size: int, epsilons: Doubles) -> float:
    log_q = -np.log1p(np.exp(-epsilons))
    odds = np.log(right + 0.5) - np.log(size - right + 0.5)
    learned = betaln(right + 0.5, size - right + 0.5) - betaln(0.5, 0.5)
    allowed = right * log_q + (size - right) * (log_q - epsilons)
    # A share within the claim wins nothing; the closer to its end, the better.
    wins = np.where(odds > epsilons, learned - allowed, np.minimum(odds - epsilons, 0.0) - 50.0)
    return float(np.max(wins) - np.log(epsilons.size))
