"""The span of all features that were answered, without holding them.

A feature is 1{S} x, of a mask S and a column x, or 1{S} alone. Eight masks of one column are one
byte of each record, so a sum over all features of a column looks up eight at a time (the method of
four Russians). Of the orthonormal basis of the features only its coefficients are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles, Flags

__all__ = ["ONES", "Directions", "Extension", "FeatureBits", "FeatureSpan", "Projection"]

ONES = -1
"""In the place of a column: the feature is the mask itself."""

_BLOCK = 32_768  # rows whose numbers stay in the cache
_LEAST_ROOM = 64  # features
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_BITS_OF = _BITS.astype(np.float64)  # (256, 8)
# Neighbours count in different lanes: a sum waits for no other if most codes are equal.
_LANES = 8
_LANE = (np.arange(_BLOCK, dtype=np.uint16) % _LANES) * np.uint16(256)

# What is orthogonal to so many parts of its length is not projected again.
_ORTHOGONAL = 1e-10
# What is so much of its terms has lost three digits at most, and is not projected again.
_MUCH = 1e-3
# A feature may depend on others if less than this share of its terms remains: each record is
# looked at.
_SUSPECT = 1e-6
# Below this one rounding decides what the residual is.
_ROUNDING = 1e-9
_SNAP = 1e-7
_TURNS = 4
# Of a sum of earlier features, in units of their columns: from which coefficient on one is named.
_NAMED = 0.5
_CELLS = 4_000_000  # numbers of a block of all features
# How far the length of a direction may be from 1.
_DAMAGED = 1e-4

Codes = npt.NDArray[np.uint8]


@dataclass
class _Byte:
    """Up to eight masks of one column: a bit of each record, and the number of each feature."""

    codes: Codes
    features: list[int] = field(default_factory=list)


class FeatureBits:
    """FeatureBits of records, as bits and columns; sums over records and over features.

    Parameters
    ----------
    columns : (d, N) ndarray
        The table, a row for each column.
    """

    def __init__(self, columns: Doubles) -> None:
        self.columns = columns
        self.origins: list[int] = []  # the column of every feature
        self._bytes: dict[int, list[_Byte]] = {}

    @property
    def size(self) -> int:
        """How many features there are."""
        return len(self.origins)

    def values(self, mask: Flags, column: int) -> Doubles:
        """Return a feature of every record, (N,)."""
        return np.where(mask, 1.0 if column == ONES else self.columns[column], 0.0)

    def append(self, mask: Flags, column: int) -> None:
        """Add a feature as the last one."""
        groups = self._bytes.setdefault(column, [])
        if not groups or len(groups[-1].features) == 8:
            groups.append(_Byte(np.zeros(self.columns.shape[1], dtype=np.uint8)))
        last = groups[-1]
        last.codes |= mask.view(np.uint8) << np.uint8(len(last.features))
        last.features.append(self.size)
        self.origins.append(column)

    def truncate(self, size: int) -> None:
        """Forget all features but the first."""
        for groups in self._bytes.values():
            while groups and groups[-1].features[-1] >= size:
                last = groups[-1]
                last.features.pop()
                last.codes &= np.uint8((1 << len(last.features)) - 1)
                if not last.features:
                    groups.pop()
        del self.origins[size:]

    def sums(self, weights: Doubles) -> Doubles:
        """Return the sum of weight times feature over the records, of every feature, (size,)."""
        result = np.zeros(self.size)
        for column, groups in self._bytes.items():
            counts = np.zeros((len(groups), _LANES * 256))
            for start in range(0, len(weights), _BLOCK):
                part = slice(start, start + _BLOCK)
                weight = weights[part]
                if column != ONES:
                    weight = weight * self.columns[column, part]
                lane = _LANE[: len(weight)]
                for j, group in enumerate(groups):
                    counts[j] += np.bincount(group.codes[part] + lane, weight, _LANES * 256)
            totals = counts.reshape(len(groups), _LANES, 256).sum(axis=1) @ _BITS_OF
            for j, group in enumerate(groups):
                result[group.features] = totals[j, : len(group.features)]
        return result

    def combined(self, coefficients: Doubles, *, sizes: bool = False) -> Doubles:
        """Return the sum of coefficient times feature of every record, (N,); of `sizes` if so."""
        rows = self.columns.shape[1]
        result = np.zeros(rows)
        room = np.empty(min(rows, _BLOCK))
        for column, groups in self._bytes.items():
            tables = [_BITS_OF[:, : len(g.features)] @ coefficients[g.features] for g in groups]
            for start in range(0, rows, _BLOCK):
                part = slice(start, start + _BLOCK)
                total = np.zeros(len(result[part]))
                looked = room[: len(total)]
                for group, table in zip(groups, tables, strict=True):
                    np.take(table, group.codes[part], out=looked, mode="clip")
                    total += looked
                if column != ONES:
                    column_part = self.columns[column, part]
                    total *= np.abs(column_part) if sizes else column_part
                result[part] += total
        return result

    def rows(self, part: slice) -> Doubles:
        """Return all features of some records, (size, k)."""
        result = np.empty((self.size, len(range(*part.indices(self.columns.shape[1])))))
        for column, groups in self._bytes.items():
            for group in groups:
                bits = _BITS.T[: len(group.features)].take(group.codes[part], axis=1)
                values = 1.0 if column == ONES else self.columns[column, part]
                for row, bit in zip(group.features, bits, strict=True):
                    np.multiply(bit, values, out=result[row])
        return result


@dataclass(frozen=True, eq=False)
class Projection:
    """A feature in coordinates of the basis, and what remains.

    Attributes
    ----------
    coordinates : (r,) ndarray
    remainder : float
        Length of what is orthogonal to the basis; 0 if the feature depends on earlier ones.
    direction : (N,) ndarray or None
        The square of what remains in every record, over that of its length; +inf where rounding
        decides what does, None if nothing does.
    combination : (r,) ndarray or None
        Coefficients of the earlier features that the feature is the sum of.
    """

    coordinates: Doubles
    remainder: float
    direction: Doubles | None
    combination: Doubles | None


class FeatureSpan:
    """An orthonormal basis of features, which are projected on it one by one.

    With U = Z K, Z the features and K upper triangular, a feature f has the coordinates
    U'f = K'(Z'f), and f - Z (K U'f) remains. Unless that has digits enough, it is projected again
    until it is orthogonal (Gram and Schmidt, "twice is enough"), so U is orthonormal to rounding
    times the condition number of Z, not times its square.
    """

    def __init__(self, columns: Doubles) -> None:
        self.features = FeatureBits(columns)
        self._basis = np.zeros((_LEAST_ROOM, _LEAST_ROOM))
        self._lengths = np.zeros(_LEAST_ROOM)

    @property
    def size(self) -> int:
        """Directions of the basis, one for each feature."""
        return self.features.size

    @property
    def basis(self) -> Doubles:
        """K, (size, size)."""
        return self._basis[: self.size, : self.size]

    def add(self, mask: Flags, column: int) -> Projection:
        """Project a feature, and make what remains of it a direction of the basis."""
        feature = self.features.values(mask, column)
        length = float(np.linalg.norm(feature))
        coordinates = np.zeros(self.size)
        rest = feature
        for turn in range(_TURNS):
            step = self.features.sums(rest) @ self.basis
            if turn and np.linalg.norm(step) <= _ORTHOGONAL * np.linalg.norm(rest):
                break
            coordinates += step
            rest = rest - self.features.combined(self.basis @ step)
            remainder = float(np.linalg.norm(rest))
            terms = length + float(np.abs(self.weights(coordinates)) @ self.lengths())
            if remainder > _MUCH * terms:
                break
        if remainder <= _SUSPECT * terms:
            combination = self._dependent(feature, length, coordinates)
            if combination is not None:
                return Projection(coordinates, 0.0, None, combination)
            if remainder <= _ROUNDING * terms:  # whatever it is, it is of those who differ
                return Projection(coordinates, remainder, np.where(rest == 0.0, 0.0, np.inf), None)
        self._extend(coordinates, remainder)
        self._lengths[self.size] = length
        self.features.append(mask, column)
        return Projection(coordinates, remainder, np.square(rest / remainder), None)

    def weights(self, coordinates: Doubles) -> Doubles:
        """Return the coefficients of the features in a vector of the basis."""
        size = len(coordinates)
        return np.asarray(self._basis[:size, :size] @ coordinates)

    def lengths(self, first: int = 0) -> Doubles:
        """Return the lengths of the features, from one on."""
        return self._lengths[first : self.size]

    def _extend(self, coordinates: Doubles, remainder: float) -> None:
        """Write down the coefficients of the next direction."""
        size = self.size
        if size == len(self._lengths):
            grown = np.zeros((2 * size, 2 * size))
            grown[:size, :size] = self._basis
            self._basis, self._lengths = grown, np.resize(self._lengths, 2 * size)
        self._basis[:size, size] = -(self._basis[:size, :size] @ coordinates) / remainder
        self._basis[size, size] = 1.0 / remainder

    def restore(self, mask: Flags, column: int, basis: Doubles, length: float) -> None:
        """Add a feature with its column of K, (size + 1,), as `basis` had it."""
        size = self.size
        self._extend(np.zeros(size), 1.0)
        self._basis[: size + 1, size] = basis
        self._lengths[size] = length
        self.features.append(mask, column)

    def truncate(self, size: int) -> None:
        """Forget all directions but the first."""
        self.features.truncate(size)
        self._basis[:, size:] = 0.0
        self._basis[size:, :] = 0.0

    def _dependent(self, feature: Doubles, length: float, coordinates: Doubles) -> Doubles | None:
        """Return the coefficients of the features that a feature is the sum of, in every record.

        A record may be off by rounding of what it has itself, not of what others have: a tiny value
        of its own beside huge ones of others is no rounding. So coefficients that are whole numbers
        but for rounding, 0 above all, become whole.
        """
        coefficients = self.weights(coordinates)
        shares = np.abs(coefficients) * self.lengths()
        whole = np.abs(coefficients - np.rint(coefficients)) <= _SNAP
        coefficients = np.where(whole, np.rint(coefficients), coefficients)
        coefficients[~whole & (shares <= _SNAP * length)] = 0.0
        off = np.abs(feature - self.features.combined(coefficients))
        scale = np.abs(feature) + self.features.combined(np.abs(coefficients), sizes=True)
        return coefficients if (off <= _ROUNDING * scale).all() else None


class Directions:
    """What was answered of one span: its features, and t of every record."""

    def __init__(self, columns: Doubles, factor: float, reach: float) -> None:
        self.span = FeatureSpan(columns)
        self.factor, self.reach = factor, reach
        self.used: Doubles = np.zeros(columns.shape[1])  # t
        # Of every feature its answer, and what was published; of its direction the noise and its
        # variance.
        self.owners: list[int] = []
        self.published = self.noise = self.variances = np.zeros(0)

    @property
    def size(self) -> int:
        """How many directions were answered."""
        return len(self.owners)

    def begin(self) -> None:
        """Take the number of records, which is public, for the first feature."""
        self.span.add(np.ones(len(self.used), dtype=np.bool_), ONES)
        self.owners, self.published = [0], np.array([float(len(self.used))])
        self.noise, self.variances = np.zeros(1), np.zeros(1)

    @property
    def first(self) -> int:
        """The first direction that is no constant that is public."""
        return int(self.owners[:1] == [0])

    def append(self, owner: int, published: Doubles, noise: Doubles, variance: float) -> None:
        """Count an answer, whose new features are in the span."""
        self.owners += [owner] * len(noise)
        self.published = np.append(self.published, published)
        self.noise = np.append(self.noise, noise)
        self.variances = np.append(self.variances, np.full(len(noise), variance))

    def measured(self) -> Doubles:
        """Return t of every record, in one pass."""
        used, lengths = np.zeros(len(self.used)), np.zeros(self.size)
        weights = 1.0 / (1.0 + self.variances / self.factor)
        weights[: self.first] = 0.0
        step = max(_CELLS // max(self.size, 1), 1)
        for start in range(0, len(used), step):
            part = slice(start, start + step)
            squares = np.square(self.span.basis.T @ self.span.features.rows(part))
            used[part] = self.factor * (weights @ squares)
            lengths += squares.sum(axis=1)
        if not (np.abs(lengths - 1.0) < _DAMAGED).all():
            raise ValueError("raw must be a ledger of this table: its directions are others")
        return used


@dataclass(frozen=True, eq=False)
class Extension:
    """The features of a question in one span, which they have extended.

    Attributes
    ----------
    directions : Directions
    features : tuple of int
        Column of each feature.
    projections : tuple of Projection
    gain : (N,) ndarray
        What the new directions add to t without noise.
    """

    directions: Directions
    features: tuple[int, ...]
    projections: tuple[Projection, ...]
    gain: Doubles

    @property
    def new(self) -> int:
        """How many directions the features add."""
        return sum(p.remainder > 0 for p in self.projections)

    @property
    def coordinates(self) -> Doubles:
        """Of all features in the extended basis, (k, r)."""
        result = np.zeros((len(self.projections), self.directions.size + self.new))
        at = self.directions.size
        for row, projection in zip(result, self.projections, strict=True):
            row[: len(projection.coordinates)] = projection.coordinates
            if projection.remainder:
                row[at] = projection.remainder
                at += 1
        return result

    @property
    def varying(self) -> Doubles:
        """The coordinates without those of a public constant."""
        return self.coordinates[:, self.directions.first :]

    def used(self, excess: float = 0.0) -> Doubles:
        """Return t of every record after the answer."""
        return np.asarray(self.directions.used + self.gain / (1.0 + excess))

    def variances(self, excess: float) -> Doubles:
        """Return the variance of the noise in every direction after the answer."""
        new = np.full(self.new, self.directions.factor * excess)
        return np.concatenate([self.directions.variances, new])

    def published(self, mask: Flags, drawn: Doubles) -> Doubles:
        """Return what is published of every feature, (k,), with the noise of its directions."""
        noise = np.concatenate([self.directions.noise, drawn])
        published = self.directions.published
        values, new = [], self.directions.size
        for column, projection in zip(self.features, self.projections, strict=True):
            if projection.combination is not None:
                values.append(float(projection.combination @ published))
                continue
            value = float(projection.coordinates @ noise[:new])
            if self.directions.first:  # else what is published is the noise alone
                value += float(self.directions.span.features.values(mask, column).sum())
            if new < len(noise):  # else it is refused
                value += projection.remainder * noise[new]
            values.append(value)
            published, new = np.append(published, value), new + 1
        return np.array(values)

    def alone(self, mask: Flags, record: int) -> float:
        """Return t of a record by this question without earlier answers."""
        values = self.directions.span.features.values
        away = np.array([values(mask, column)[record] for column in self.features])
        if self.directions.first:
            away -= self.coordinates[:, 0] / np.sqrt(len(mask))
        lengths = np.linalg.norm(self.varying, axis=1)
        varies = lengths > 0
        centred = self.varying[varies] / lengths[varies, np.newaxis]
        away = away[varies] / lengths[varies]
        inverse = np.linalg.pinv(centred @ centred.T, rcond=1e-12, hermitian=True)
        return float(self.directions.factor * (away @ inverse @ away))

    def collides(self) -> set[int]:
        """Return the numbers of the earlier answers that make up most of the question."""
        span, before = self.directions.span, self.directions.size
        columns = span.features.columns
        ones = np.sqrt(len(self.gain))
        sizes = np.append(np.linalg.norm(columns, axis=1), ones)  # ONES is last
        sizes = np.maximum(sizes, 1.0)  # a column of zeros
        shares = np.zeros(before)
        for column, projection in zip(self.features, self.projections, strict=True):
            coefficients = np.abs(span.weights(projection.coordinates)[:before])
            of = sizes[span.features.origins[:before]] / sizes[column]
            shares = np.maximum(shares, coefficients * of)
        shares[: self.directions.first] = 0.0
        largest = float(shares.max(initial=1e-300))
        named = np.flatnonzero(shares >= min(_NAMED, largest))
        return {self.directions.owners[j] for j in named.tolist()}
