"""The span of all features that were answered, without holding them.

A feature is 1{S} x, of a mask S and a column x, or 1{S} alone. Eight masks of one column are one
byte of each record, which the core looks up (`selections.hpp`). Of the orthonormal basis of the
features only its coefficients are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from leakscore import _core
from leakscore.typing import Doubles, Flags

__all__ = ["ONES", "Directions", "Extension", "FeatureBits", "FeatureSpan", "Projection", "extend"]

ONES = -1
"""In the place of a column: the feature is the mask itself."""

_LEAST_ROOM = 64  # features
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_BITS_OF = _BITS.astype(np.float64)  # (256, 8)

# What is orthogonal to so many parts of its length is not projected again.
_ORTHOGONAL = 1e-10
# What is so much of its terms has lost three digits at most, and is not projected again.
_MUCH = 1e-3
_MUCH_OF_SQUARES = _MUCH**0.5  # the same of differences of squares
# A feature may depend on others if less than this share of its terms remains: each record is
# looked at.
_SUSPECT = 1e-6
# Below this one rounding decides what the residual is.
_ROUNDING = 1e-9
# Of a direction that is less of its terms too few digits are right to tell a leakage by.
_BLURRED = 1e-7
# What rounding leaves of a sum of features, as a share of the terms of any record.
_NOTHING = 1e-10
_SNAP = 1e-7
# Below this one a sum of columns is one in every record; others are taken for one of their values.
_ALWAYS = 1e-12
_TURNS = 4
# Of a sum of earlier features, in units of their columns: from which coefficient on one is named.
_NAMED = 0.5
_LOOKED = 1000  # records of a ledger that is opened
_BLOCK = 32_768  # rows whose numbers stay in the cache
# How far what is kept of a record may be from what follows from the features.
_DAMAGED = 1e-4

Codes = npt.NDArray[np.uint8]


@dataclass
class _Byte:
    """Up to eight masks of one column: a bit of each record, and the number of each feature."""

    codes: Codes
    features: list[int] = field(default_factory=list)


class FeatureBits:
    """Features of records, as bits and columns; sums over records and over features.

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

    def values(self, mask: Flags, column: int, out: Doubles | None = None) -> Doubles:
        """Return a feature of every record, (N,)."""
        of = 1.0 if column == ONES else self.columns[column]
        return np.asarray(np.multiply(mask, of, out=out))

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

    def _groups(self) -> list[tuple[list[int], tuple[Codes, int]]]:
        """Return the features of every byte, with its codes and its column."""
        return [
            (group.features, (group.codes, column))
            for column, groups in self._bytes.items()
            for group in groups
        ]

    def sums(self, vectors: Doubles) -> Doubles:
        """Return the sums of vectors, (q, N), times features over the records, (size, q)."""
        result, groups = np.zeros((self.size, len(vectors))), self._groups()
        sums = _core.sum_by_code([codes for _, codes in groups], self.columns, vectors)
        for (features, _), of_codes in zip(groups, sums, strict=True):
            result[features] = _BITS_OF.T[: len(features)] @ of_codes
        return result

    def add(self, coefficients: Doubles, vectors: Doubles, *, sizes: bool = False) -> None:
        """Add to vectors, (q, N), coefficients, (size, q), times features, or times their sizes."""
        groups = self._groups()
        tables = np.empty((len(groups), 256, len(vectors)))
        for (features, _), table in zip(groups, tables, strict=True):
            table[:] = _BITS_OF[:, : len(features)] @ coefficients[features]
        codes = [each for _, each in groups]
        _core.add_by_code(codes, self.columns, tables, sizes, vectors)

    def of_alike(self, coefficients: Doubles, values: Doubles) -> Doubles:
        """Return a sum of features as if all records had the same values, ONES last, (N,)."""
        total = np.zeros(self.columns.shape[1])
        for features, (codes, column) in self._groups():
            of_each = coefficients[features] * values[column]
            total += (_BITS_OF[:, : len(features)] @ of_each)[codes]
        return total

    def holding(self, record: int) -> Flags:
        """Return which features a record is in, (size,)."""
        result = np.zeros(self.size, dtype=np.bool_)
        for features, (codes, _) in self._groups():
            result[features] = _BITS[codes[record], : len(features)]
        return result

    def mask(self, place: int) -> Flags:
        """Return which records are in a feature, (N,)."""
        for features, (codes, _) in self._groups():
            if place in features:
                return np.asarray(codes >> np.uint8(features.index(place)) & 1, dtype=np.bool_)
        raise IndexError(place)

    def rows(self, part: slice) -> Doubles:
        """Return all features of some records, (size, k)."""
        result = np.empty((self.size, len(range(*part.indices(self.columns.shape[1])))))
        for features, (codes, column) in self._groups():
            bits = _BITS.T[: len(features)].take(codes[part], axis=1)
            values = 1.0 if column == ONES else self.columns[column, part]
            for row, bit in zip(features, bits, strict=True):
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
    combination : (r,) ndarray or None
        Coefficients of the earlier features that the feature is the sum of.
    """

    coordinates: Doubles
    remainder: float
    combination: Doubles | None = None


class FeatureSpan:
    """An orthonormal basis of features, which are projected on it question by question.

    With U = Z K, Z the features and K upper triangular, a feature f has the coordinates
    U'f = K'(Z'f), and f - Z (K U'f) remains. Unless that has digits enough, it is projected again
    until it is orthogonal (Gram and Schmidt, "twice is enough"), so U is orthonormal to rounding
    times the condition number of Z, not times its square. Spans may share their features.
    """

    def __init__(self, features: FeatureBits) -> None:
        self.features = features
        self.places: list[int] = []  # of the features of the span
        self._basis = np.zeros((_LEAST_ROOM, _LEAST_ROOM))
        self._lengths = np.zeros(_LEAST_ROOM)

    @property
    def size(self) -> int:
        """Directions of the basis, one for each feature."""
        return len(self.places)

    @property
    def basis(self) -> Doubles:
        """K, (size, size)."""
        return self._basis[: self.size, : self.size]

    def weights(self, coordinates: Doubles) -> Doubles:
        """Return the coefficients of the features in a vector of the basis."""
        size = len(coordinates)
        return np.asarray(self._basis[:size, :size] @ coordinates)

    def lengths(self, first: int = 0) -> Doubles:
        """Return the lengths of the features, from one on."""
        return self._lengths[first : self.size]

    def terms(self, coordinates: Doubles, length: float) -> float:
        """Return the size of all terms of what remains of a feature."""
        return length + float(np.abs(self.weights(coordinates)) @ self.lengths())

    def append(self, place: int, coordinates: Doubles, remainder: float, length: float) -> None:
        """Make what remains of a feature a direction."""
        weights = -self.weights(coordinates) / remainder
        self.restore(place, np.append(weights, 1.0 / remainder), length)

    def restore(self, place: int, basis: Doubles, length: float) -> None:
        """Add a feature with its column of K, (size + 1,), as `basis` had it."""
        size = self.size
        if size == len(self._lengths):
            grown = np.zeros((2 * size, 2 * size))
            grown[:size, :size] = self._basis
            self._basis, self._lengths = grown, np.resize(self._lengths, 2 * size)
        self._basis[: size + 1, size] = basis
        self._lengths[size] = length
        self.places.append(place)

    def truncate(self, size: int) -> None:
        """Forget all directions but the first."""
        del self.places[size:]
        self._basis[:, size:] = 0.0
        self._basis[size:, :] = 0.0


def _projected(
    spans: Sequence[FeatureSpan], rests: Doubles
) -> tuple[list[Doubles], Doubles, Doubles]:
    """Return the coordinates of vectors, (q, N), each in its span, and the vectors' lengths.

    What remains takes their place, and its lengths are the last. A vector is projected again until
    it is orthogonal or has digits enough.
    """
    bits = spans[0].features
    coordinates = [np.zeros(span.size) for span in spans]
    lengths = _lengths_of(rests)
    remainders, again = lengths.copy(), list(range(len(spans)))
    for turn in range(_TURNS):
        part = rests if len(again) == len(spans) else rests[again]
        sums, weights = bits.sums(part), np.zeros((bits.size, len(again)))
        done = set()
        for k, j in enumerate(again):
            step = sums[spans[j].places, k] @ spans[j].basis
            if turn and np.linalg.norm(step) <= _ORTHOGONAL * remainders[j]:
                done.add(j)
                continue
            coordinates[j] += step
            weights[spans[j].places, k] = spans[j].weights(step)
        if len(done) < len(again):
            bits.add(-weights, part)
        if part is not rests:
            rests[again] = part
        remainders[again] = _lengths_of(part)
        again = [
            j
            for j in again
            if j not in done
            and remainders[j] <= _MUCH * spans[j].terms(coordinates[j], float(lengths[j]))
        ]
        if not again:
            break
    return coordinates, lengths, remainders


def _lengths_of(vectors: Doubles) -> Doubles:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))


def _combinations(
    mask: Flags,
    each: Sequence[tuple[FeatureSpan, int]],
    coordinates: Sequence[Doubles],
    lengths: Doubles,
    remainders: Doubles,
) -> dict[int, Doubles]:
    """Return the coefficients of the features that each feature is the sum of, in every record.

    A record may be off by rounding of what it has itself, not of what others have: a tiny value of
    its own beside huge ones of others is no rounding. So coefficients that are whole numbers but
    for rounding, 0 above all, become whole.
    """
    bits, doubtful, chosen = each[0][0].features, [], []
    for j, (span, column) in enumerate(each):
        length = float(lengths[j])
        if remainders[j] > _SUSPECT * span.terms(coordinates[j], length):
            continue
        coefficients = span.weights(coordinates[j])
        shares = np.abs(coefficients) * span.lengths()
        whole = np.abs(coefficients - np.rint(coefficients)) <= _SNAP
        coefficients = np.where(whole, np.rint(coefficients), coefficients)
        coefficients[~whole & (shares <= _SNAP * length)] = 0.0
        doubtful.append((j, coefficients))
        chosen.append(bits.values(mask, column))
    if not doubtful:
        return {}
    weights = np.zeros((bits.size, len(doubtful)))
    for k, (j, coefficients) in enumerate(doubtful):
        weights[each[j][0].places, k] = coefficients
    off, scale = np.stack(chosen), np.abs(chosen)
    bits.add(-weights, off)
    bits.add(np.abs(weights), scale, sizes=True)
    largest = scale.max(axis=1, keepdims=True)
    exact = (np.abs(off) <= np.minimum(_ROUNDING * scale, _NOTHING * largest)).all(axis=1)
    return {j: ours for (j, ours), is_sum in zip(doubtful, exact.tolist(), strict=True) if is_sum}


class Directions:
    """What was answered of one span: its features, and t of every record."""

    def __init__(self, features: FeatureBits, factor: float, reach: float) -> None:
        self.span = FeatureSpan(features)
        self.factor, self.reach = factor, reach
        self.used: Doubles = np.zeros(features.columns.shape[1])  # t
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
        extend(np.ones(len(self.used), dtype=np.bool_), [(self, (ONES,))])
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

    def least_noise(self, record: int, column: int) -> float:
        """Return the least noise of a weighted sum of the answers that has one value once.

        The sums of one column that hold the record are e of the features, and the noise of all is
        K^-T times that of the directions, of variances v: the least variance of a combination a
        with a'e = 1 is 1 / sum((K'e)_k^2 / v_k) (Gauss and Markov).
        """
        features, size = self.span.features, self.size  # a preview may have extended the span
        places, basis = self.span.places[:size], self.span.basis[:size, :size]
        inside = features.holding(record)[places] & (np.array(features.origins)[places] == column)
        along = basis.T @ inside
        along[np.abs(along) <= _ROUNDING * (np.abs(basis.T) @ inside)] = 0.0
        exact = self.variances == 0.0
        if along[exact].any():
            return 0.0
        precision = float(np.square(along[~exact]) @ (1.0 / self.variances[~exact]))
        return precision**-0.5 if precision else np.inf

    def noisy(self, column: int) -> Iterator[Flags]:
        """Yield the masks of a column's features whose noise is no rounding."""
        features, size = self.span.features, self.size  # a preview may have extended the span
        if self.variances.any():
            squares = np.square(np.linalg.inv(self.span.basis[:size, :size]).T)
            variances, most = squares @ self.variances, squares @ np.ones(size)
            for j in np.flatnonzero(variances > _ROUNDING**2 * most * self.variances.max()):
                if features.origins[place := self.span.places[j]] == column:
                    yield features.mask(place)

    def take(self, used: Doubles) -> None:
        """Take t of every record as it was kept, if that of some follows from the features."""
        part = slice(None, None, max(len(used) // _LOOKED, 1))
        rows = self.span.features.rows(part)[self.span.places]
        weights = 1.0 / (1.0 + self.variances / self.factor)
        weights[: self.first] = 0.0
        measured = self.factor * (weights @ np.square(self.span.basis.T @ rows))
        alike = np.allclose(used[part], measured, rtol=_DAMAGED, atol=_DAMAGED / len(used))
        if not (alike and (used >= 0.0).all()):  # a NaN would never be above a limit
            raise ValueError("raw must be a ledger of this table: its directions are others")
        self.used = np.array(used, dtype=np.float64)


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

    def gives_ratios(self, mask: Flags, excess: float) -> bool:
        """Whether a feature with noise follows from those of other columns, by the values alone.

        Of the only record of a selection, or of a difference of two, the noise of a sum is that of
        the count times its value, which their ratio shows. What holds in every record of the table,
        as that shares add up to 1, shows no value.
        """
        span, variances = self.directions.span, self.variances(excess)
        origins = np.array(span.features.origins)[span.places]
        for column, projection, at in zip(
            self.features, self.projections, self.coordinates, strict=True
        ):
            of = projection.combination
            if of is None or not of[origins[: len(of)] != column].any():
                continue
            noise = np.sqrt(np.square(at) @ variances)
            if noise > _ROUNDING * np.linalg.norm(at) and not self._always(mask, column, of):
                return True
        return False

    def _always(self, mask: Flags, column: int, of: Doubles) -> bool:
        """Whether a feature is a sum of others whatever record of the table has which values.

        What is true of a mixture of all records, at random, is true of each.
        """
        span, bits = self.directions.span, self.directions.span.features
        mixture = np.random.default_rng(0).standard_normal(len(mask))
        values = np.append(bits.columns @ mixture, mixture.sum())
        coefficients = np.zeros(bits.size)
        coefficients[span.places[: len(of)]] = of
        off = bits.of_alike(coefficients, values) - mask * values[column]
        scale = bits.of_alike(np.abs(coefficients), np.abs(values)) + mask * abs(values[column])
        return bool((np.abs(off) <= _ALWAYS * scale).all())

    def published(self, mask: Flags, drawn: Doubles) -> Doubles:
        """Return what is published of every feature, (k,), with the noise of its directions."""
        noise = np.concatenate([self.directions.noise, drawn])
        published = self.directions.published
        values, new = [], self.directions.size
        for column, projection in zip(self.features, self.projections, strict=True):
            if projection.combination is not None:
                of = projection.combination
                values.append(float(of @ published[: len(of)]))
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
            origins = [span.features.origins[place] for place in span.places[:before]]
            of = sizes[origins] / sizes[column]
            shares = np.maximum(shares, coefficients * of)
        shares[: self.directions.first] = 0.0
        largest = float(shares.max(initial=1e-300))
        named = np.flatnonzero(shares >= min(_NAMED, largest))
        return {self.directions.owners[j] for j in named.tolist()}


@dataclass(eq=False)
class _New:
    """Features of a question in one span, and the directions that remain of them.

    With L lower triangular, L D are the rows of `rests` that are in `fresh`; D are the directions.
    """

    mask: Flags
    span: FeatureSpan
    places: dict[int, int]  # in the features, of those of the question: spans share them
    rests: Doubles

    def __post_init__(self) -> None:
        self.gram = self.rests @ self.rests.T
        self.lower = np.zeros_like(self.gram)
        self.fresh: list[int] = []
        self.lost = np.zeros(len(self.mask), dtype=np.bool_)

    def project(self, j: int, column: int, length: float, coordinates: Doubles) -> Projection:
        """Make a direction of what remains of a feature that depends on no earlier ones."""
        features = self.span.features
        within, remainder = self._split(j)
        coordinates = np.append(coordinates, within)
        terms = self.span.terms(coordinates, length)
        much = max(_MUCH * terms, _MUCH_OF_SQUARES * float(np.sqrt(self.gram[j, j])))
        if self.fresh and remainder <= much:
            rest = features.values(self.mask, column)[np.newaxis]
            (coordinates,), lengths, remainders = _projected([self.span], rest)
            remainder = float(np.linalg.norm(rest))
            for combination in _combinations(
                self.mask, [(self.span, column)], [coordinates], lengths, remainders
            ).values():
                return Projection(coordinates, 0.0, combination)
            within, terms = np.zeros_like(within), self.span.terms(coordinates, length)
            self.rests[j] = rest
            self.gram[j] = self.gram[:, j] = self.rests @ rest[0]
        if remainder <= _BLURRED * terms:  # whatever it is, it is of those who differ
            self.lost |= self.rests[j] != 0.0
            return Projection(coordinates, remainder)
        if column not in self.places:
            self.places[column] = features.size
            features.append(self.mask, column)
        self.span.append(self.places[column], coordinates, remainder, length)
        self.lower[j, self.fresh], self.lower[j, j] = within, remainder
        self.fresh.append(j)
        return Projection(coordinates, remainder)

    def _split(self, j: int) -> tuple[Doubles, float]:
        """Return a row's coordinates in the directions, and the length of what is beside them."""
        if not self.fresh:
            return np.zeros(0), float(np.sqrt(self.gram[j, j]))
        lower = self.lower[np.ix_(self.fresh, self.fresh)]
        within = np.linalg.solve(lower, self.gram[self.fresh, j])
        return within, float(np.sqrt(max(self.gram[j, j] - within @ within, 0.0)))

    def squares(self) -> Doubles:
        """Return the squares of all directions, (N,); +inf where rounding decides them."""
        result = np.where(self.lost, np.inf, 0.0)
        if not self.fresh:
            return result
        turn = np.zeros((len(self.fresh), len(self.rests)))
        turn[:, self.fresh] = np.linalg.inv(self.lower[np.ix_(self.fresh, self.fresh)])
        for start in range(0, len(result), _BLOCK):
            part = slice(start, start + _BLOCK)
            result[part] += np.square(turn @ self.rests[:, part]).sum(axis=0)
        return result


def extend(
    mask: Flags, parts: Sequence[tuple[Directions, tuple[int, ...]]]
) -> tuple[Extension, ...]:
    """Project the features of a question, and make what remains of them directions of the bases.

    Parameters
    ----------
    mask : (N,) ndarray of bool
    parts : sequence of (Directions, tuple of int)
        Spans of the same features, and the columns that the question has in each.

    Returns
    -------
    tuple of Extension
    """
    each = [(directions.span, column) for directions, columns in parts for column in columns]
    if not each:
        return ()
    bits = each[0][0].features
    rests = np.empty((len(each), len(mask)))
    for rest, (_, column) in zip(rests, each, strict=True):
        bits.values(mask, column, rest)
    coordinates, lengths, remainders = _projected([span for span, _ in each], rests)
    combinations = _combinations(mask, each, coordinates, lengths, remainders)
    extensions: list[Extension] = []
    places: dict[int, int] = {}
    first = 0
    for directions, columns in parts:
        new = _New(mask, directions.span, places, rests[first : first + len(columns)])
        projections = [
            Projection(coordinates[j], 0.0, combinations[j])
            if j in combinations
            else new.project(j - first, column, float(lengths[j]), coordinates[j])
            for j, column in enumerate(columns, first)
        ]
        gain = directions.factor * new.squares()
        extensions.append(Extension(directions, columns, tuple(projections), gain))
        first += len(columns)
    return tuple(extensions)
