"""Attacks that are learned from outputs: each is a score, and what it looks at in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from leakscore.typing import Doubles, Flags

Score = Callable[[Doubles], Doubles]
Fit = Callable[[Doubles, Flags], Score]

_QUANTILES = 12
_LOW_BITS = (4, 12, 20, 28, 36, 44)
_ATOMS = 40  # values of a column that get a bin of their own, at most
_WIDE = 60  # columns that are attacked one by one, at most
_PAIRED = 12  # columns whose products are attacked, at most
_WORDS = ("the length of the output", "the types of the output")


@dataclass(frozen=True)
class ScoreAttack:
    """A way to learn a score, and what it looks at."""

    words: str
    fit: Fit


def attacks(rows: Doubles) -> Iterator[ScoreAttack]:
    """Yield the candidates for outputs of this shape."""
    yield ScoreAttack("how often the exact output occurs", _exact)
    varying = np.flatnonzero((rows != rows[0]).any(axis=0))[:_WIDE]
    for column in varying.tolist():
        name = _WORDS[column] if column < len(_WORDS) else f"number {column - 1} of the output"
        yield ScoreAttack(f"{name}, large values", _column(column, 1.0))
        yield ScoreAttack(f"{name}, small values", _column(column, -1.0))
        yield ScoreAttack(f"the ranges of {name}", _binned(column))
        if (rows[:, column] % 1.0 != 0.0).any():
            for power in _LOW_BITS:
                yield ScoreAttack(f"the bits of {name} below 2^-{power}", _low_bits(column, power))
    if varying.size > 1:
        yield ScoreAttack("a linear combination of the output", _ridge(varying, _linear))
        yield ScoreAttack("the ranges of all numbers together", _sum_of_binned(varying))
    if varying.size:
        yield ScoreAttack("a combination of the output and squares", _ridge(varying, _squares))
    if 1 < varying.size <= _PAIRED:
        yield ScoreAttack("a combination of the output and products", _ridge(varying, _products))


def _log_ratio(members: Doubles, others: Doubles) -> Doubles:
    shares = ((x + 0.5) / (x.sum() + 1.0) for x in (members, others))
    inside, outside = (np.log(share) for share in shares)
    return np.asarray(inside - outside)


def _by_value(keys: np.ndarray, member: Flags) -> tuple[np.ndarray, Doubles]:
    values, place = np.unique(keys, return_inverse=True)
    place = place.ravel()
    inside = np.bincount(place[member], minlength=values.size).astype(np.float64)
    outside = np.bincount(place[~member], minlength=values.size).astype(np.float64)
    return values, _log_ratio(inside, outside)


def _looked_up(keys: np.ndarray, values: np.ndarray, ratios: Doubles) -> Doubles:
    """Return the ratio of each key, 0 where it was never seen."""
    place = np.minimum(np.searchsorted(values, keys), values.size - 1)
    return np.where(values[place] == keys, ratios[place], 0.0)


def _exact(rows: Doubles, member: Flags) -> Score:
    width = rows.shape[1]

    def keys(array: Doubles) -> np.ndarray:
        fixed = np.full((array.shape[0], width), -1e6)
        shared = min(width, array.shape[1])
        fixed[:, :shared] = array[:, :shared]
        return np.ascontiguousarray(fixed + 0.0).view(f"S{8 * width}").ravel()

    values, ratios = _by_value(keys(rows), member)
    return lambda array: _looked_up(keys(array), values, ratios)


def _column(column: int, sign: float) -> Fit:
    def fit(_rows: Doubles, _member: Flags) -> Score:
        return lambda array: np.asarray(sign * array[:, column])

    return fit


def _low_bits(column: int, power: int) -> Fit:
    def part(array: Doubles) -> Doubles:
        return np.asarray(np.mod(array[:, column], 2.0**-power))

    def fit(rows: Doubles, member: Flags) -> Score:
        values, ratios = _by_value(part(rows), member)
        return lambda array: _looked_up(part(array), values, ratios)

    return fit


def _binned(column: int) -> Fit:
    def fit(rows: Doubles, member: Flags) -> Score:
        edges, atoms = _edges(rows[:, column])

        def bins(array: Doubles) -> np.ndarray:
            place = np.searchsorted(edges, array[:, column]).astype(np.float64)
            own = np.minimum(np.searchsorted(atoms, array[:, column]), max(atoms.size - 1, 0))
            hit = atoms[own] == array[:, column] if atoms.size else np.zeros(len(array), bool)
            return np.where(hit, -1.0 - own, place)

        values, ratios = _by_value(bins(rows), member)
        return lambda array: _looked_up(bins(array), values, ratios)

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
