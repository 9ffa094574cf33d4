"""A ledger of questions: what all answers about one table tell together of each of its records.

An answer is a sum over the records of a selection S: of the features 1{S} and 1{S} x. All answers
so far are one release of these features, and a record's leakage is that of the release, with the
record left out. In an orthonormal basis u_1, u_2, ... of the centred features it is t / (1 - t),
with t = N/(N-1) times the sum of u_k[i]^2: each direction adds its own. Noise of v times the
variance of the sum along a direction divides what the direction adds by 1 + v. Two answers that
differ in one record have a direction that is this record alone, t = 1: the leakage is infinite.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.leakage._noise import largest_leakage
from leakscore.leakage._span import ONES, FeatureSpan, Projection
from leakscore.leakage.wish import SAFE
from leakscore.results import Result
from leakscore.typing import Doubles, Flags, Seed

__all__ = ["Answer", "Ledger", "Refusal"]

_WHAT = "leakscore.leakage.Ledger"
_VERSION = 1
_STATISTICS = ("count", "sum", "mean")
# 1 - t of a record that has a direction of its own, to rounding.
_ALONE = 1e-9
# Of a sum of earlier features, in units of their columns: from which coefficient on one is named.
_NAMED = 0.5
# Noise of so many standard errors is rounding.
_NOTHING = 1e-12
_CELLS = 4_000_000  # numbers of a block of all features
# How far the length of a direction may be from 1.
_DAMAGED = 1e-4


@dataclass(frozen=True, eq=False)
class Answer(Result):
    """An answer of a `Ledger`.

    Attributes
    ----------
    number : int
        Of the answer, from 1. That of the next answer if it is a preview.
    statistic : str
    columns : tuple of int
    values : (k,) ndarray
        The count, or the sums or means of the columns, with their noise; empty of a preview.
    count : float or None
        Of a mean, how many records the selection has, with noise: a mean is taken to be published
        with its count, and is the noisy sum over the noisy count, which counts as 1 at least.
    noise_std : (k,) ndarray
        Standard deviation of all noise in each value, that of earlier answers included.
    standard_errors : float
        The same in units of the value's own standard error, of the value where that is largest.
    leakage : float
        The largest leakage of a record after this answer.
    free : bool
        Whether it follows from earlier answers and tells nothing new.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import leakage
    >>> table = np.random.default_rng(0).normal(size=(1000, 2))
    >>> answer = leakage.Ledger(table, max_advantage=0.1).ask(table[:, 0] > 0, "mean", [1])
    >>> answer.number, answer.free, answer.noise_std.tolist()
    (1, False, [0.0])
    """

    number: int
    statistic: str
    columns: tuple[int, ...]
    values: Doubles
    count: float | None
    noise_std: Doubles
    standard_errors: float
    leakage: float
    free: bool


@dataclass(frozen=True, eq=False)
class Refusal(Result):
    """A question that a `Ledger` does not answer. Nothing was recorded.

    Attributes
    ----------
    statistic : str
    columns : tuple of int
    exceeding : int
        How many records would leak more than the limit without noise.
    leakage : float
        The largest leakage of a record without noise; +inf if it would give itself away.
    standard_errors : float
        The noise that an answer would need, in units of its own standard error; more than
        `max_noise`. +inf if no noise is enough.
    collides : tuple of int
        Numbers of the earlier answers from which, with this one, the worst record follows. Empty if
        the answer would tell too much of it alone.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import leakage
    >>> table = np.random.default_rng(0).normal(size=(1000, 2))
    >>> ledger = leakage.Ledger(table, max_advantage=0.1)
    >>> _ = ledger.ask(np.ones(1000, dtype=bool), "sum", [1])
    >>> refusal = ledger.ask(np.arange(1000) > 0, "sum", [1])
    >>> refusal.exceeding, refusal.leakage, refusal.collides
    (1, inf, (1,))
    """

    statistic: str
    columns: tuple[int, ...]
    exceeding: int
    leakage: float
    standard_errors: float
    collides: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Question:
    """A question whose features have extended the basis.

    Attributes
    ----------
    statistic, columns
    mask : (N,) ndarray of bool
    features : tuple of int
        Column of each feature.
    projections : tuple of Projection
    before : int
        Directions of the basis before.
    gain : (N,) ndarray
        What the new directions add to t without noise.
    """

    statistic: str
    columns: tuple[int, ...]
    mask: Flags
    features: tuple[int, ...]
    projections: tuple[Projection, ...]
    before: int
    gain: Doubles

    @property
    def new(self) -> int:
        """How many directions the features add."""
        return sum(p.remainder > 0 for p in self.projections)

    @property
    def coordinates(self) -> Doubles:
        """Of all features in the extended basis, (k, r)."""
        result = np.zeros((len(self.projections), self.before + self.new))
        at = self.before
        for row, projection in zip(result, self.projections, strict=True):
            row[: len(projection.coordinates)] = projection.coordinates
            if projection.remainder:
                row[at] = projection.remainder
                at += 1
        return result


class Ledger:
    """Answers questions about a table until a record would leak too much.

    All answers are judged together. What follows from earlier answers costs nothing, and has the
    same noise again.

    Parameters
    ----------
    table : (N, d) array_like
        A record a row, N >= 3. A copy is kept.
    max_advantage, epsilon, delta, max_power, max_leakage, at_fpr : float, optional
        The limit for every record; exactly one, as in `noise_for`.
    max_noise : float
        The most noise of an answer, in units of its own standard error; with 0, what would need
        noise is refused.
    share : float in (0, 1]
        What part of the leakage that remains to a record an answer with noise may take; with 1 it
        has the least noise, and the worst record can be in no later answer.

    Raises
    ------
    TypeError, ValueError
        If an argument is not what it should be.

    Notes
    -----
    The N records of the table are the release's, each a draw from a population that the attacker
    knows by its mean and covariance, as in `leave_one_out` with n = N; the law is Gaussian as the
    selections grow, and counts of small cells tell a little less. Masks are the attacker's. A mean
    is judged as a count and a sum, as by `statistics.GroupMeans`. Records of one person are judged
    one by one.

    The decision looks at the values, so it can tell of them itself: refusals are not simulatable
    (K. Kenthapadi, N. Mishra and K. Nissim, Simulatable auditing, PODS 2005). The sizes of the
    noise are of the same kind. Do not show `preview`, `leakage` or the reasons of a refusal to whom
    the answers are for.

    A column of a question takes three or four passes over the N records, each with a look-up for
    every eight features so far: of 1e6 records about 0.2 s of CPU after 100 features, 0.8 s after
    1,000; the memory is the table, one byte of each record for eight features, and K^2 numbers for
    K. `from_bytes` takes N K^2 multiplications.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import leakage
    >>> table = np.random.default_rng(0).normal(size=(1000, 2))
    >>> ledger = leakage.Ledger(table, max_advantage=0.1)
    >>> ledger.ask(table[:, 0] > 0, "mean", [1]).free
    False
    >>> ledger.ask(table[:, 0] > 0, "sum", [1]).free
    True
    >>> float(ledger.leakage.max()) <= ledger.limit
    True
    """

    def __init__(
        self,
        table: npt.ArrayLike,
        *,
        max_advantage: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        max_power: float | None = None,
        max_leakage: float | None = None,
        at_fpr: float = 0.01,
        max_noise: float = 0.0,
        share: float = 0.5,
    ) -> None:
        self._limit = largest_leakage(max_advantage, epsilon, delta, max_power, at_fpr, max_leakage)
        self._max_noise = validation.scalar("max_noise", max_noise, 0.0)
        self._share = validation.scalar("share", share, 0.0, 1.0, closed="right")
        rows = validation.finite("table", validation.matrix("table", table, min_rows=3))
        self._sha256 = _digest_of(rows)
        columns = np.array(rows.T, dtype=np.float64, order="C")
        self._powers = np.frexp(np.abs(columns).max(axis=1))[1] - 1
        np.ldexp(columns, -self._powers[:, np.newaxis], out=columns)  # so that no square overflows
        self._span = FeatureSpan(columns)
        self._used: Doubles = np.zeros(len(rows))  # t
        self._span.add(np.ones(len(rows), dtype=np.bool_), ONES)
        # Of every feature its answer, and what was published; of its direction the noise and its
        # variance. How many records the table has is public.
        self._owner, self._published = [0], np.array([float(len(rows))])
        self._noise, self._variances = np.zeros(1), np.zeros(1)
        self._labels: list[str] = []
        self._lines = [_chained("", self._head())]

    @property
    def limit(self) -> float:
        """The largest leakage of a record that is allowed."""
        return self._limit

    @property
    def max_noise(self) -> float:
        """The most noise of an answer, in units of its own standard error."""
        return self._max_noise

    @property
    def share(self) -> float:
        """What part of what remains to a record an answer with noise may take."""
        return self._share

    @property
    def answers(self) -> int:
        """How many questions were answered."""
        return len(self._labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of every answer."""
        return tuple(self._labels)

    @property
    def leakage(self) -> Doubles:
        """Leakage of every record by all answers so far, (N,)."""
        return _leakage_of(self._used)

    def ask(
        self,
        where: npt.ArrayLike | Callable[[Doubles], npt.ArrayLike],
        statistic: str,
        columns: Sequence[int] = (),
        *,
        rng: Seed = None,
        label: str = "",
    ) -> Answer | Refusal:
        """Answer a question, with noise if it must be, or refuse it.

        Parameters
        ----------
        where : (N,) array_like of bool, or callable
            The selection, or what returns it for the table, (N, d) of float64.
        statistic : {"count", "sum", "mean"}
        columns : sequence of int
            Of the sums or means; of a count none.
        rng : Generator, BitGenerator, SeedSequence, int or None
            Of the noise. It must stay secret: None takes a seed of the system. An int gives each
            answer of the ledger other numbers.
        label : str
            Kept in the ledger with the answer, such as the selection in words.

        Returns
        -------
        Answer or Refusal

        Raises
        ------
        TypeError, ValueError
            If an argument is not what it should be, or the selection is empty.
        """
        generator, seed = validation.seeded("rng", rng)
        if seed is not None:  # two questions with one seed have independent noise
            generator = np.random.default_rng([seed, self.answers])
        question, verdict, excess = self._judged(where, statistic, columns)
        if isinstance(verdict, Refusal):
            return verdict
        variance = self._per_direction * excess
        drawn = np.zeros(question.new)
        if excess:
            drawn = np.sqrt(variance) * generator.standard_normal(drawn.size)
        published = self._values_of(question, drawn)
        count, values = self._of_features(question, published)
        std, _ = self._noise_of(question, excess, published)
        line = self._line(question, published, variance, drawn) | {"label": str(label)}
        self._used = self._used + question.gain / (1.0 + excess)
        self._append(line)
        return replace(verdict, values=values, count=count, noise_std=std)

    def preview(
        self,
        where: npt.ArrayLike | Callable[[Doubles], npt.ArrayLike],
        statistic: str,
        columns: Sequence[int] = (),
    ) -> Answer | Refusal:
        """Return what `ask` would, without values; nothing is answered or recorded.

        Parameters
        ----------
        where : (N,) array_like of bool, or callable
        statistic : {"count", "sum", "mean"}
        columns : sequence of int

        Returns
        -------
        Answer or Refusal
        """
        return self._judged(where, statistic, columns)[1]

    def _selected(self, where: npt.ArrayLike | Callable[[Doubles], npt.ArrayLike]) -> Flags:
        """Return the selection, (N,)."""
        if callable(where):
            where = where(np.ldexp(self._span.features.columns.T, self._powers))
        mask = np.asarray(validation.mask("where", where))
        if mask.shape != self._used.shape:
            raise ValueError(
                f"Expected where of shape {mask.shape} to be {self._used.shape}, one for each "
                "record"
            )
        if not mask.any():
            raise ValueError("Expected where to select a record: it selects nobody")
        return np.ascontiguousarray(mask)

    def _checked(self, statistic: str, columns: Sequence[int]) -> tuple[int, ...]:
        """Return the columns of a question."""
        validation.choice("statistic", statistic, _STATISTICS)
        if np.ndim(columns) != 1:
            raise ValueError(f"Expected columns={columns!r} to be a list of numbers")
        last = len(self._powers) - 1
        numbers = tuple(validation.count("columns", column, 0, last) for column in columns)
        if (statistic == "count") != (not numbers):
            needed = "no columns" if numbers else "columns"
            raise ValueError(f"Expected {needed} with statistic={statistic!r}")
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"Expected columns={numbers} to differ")
        return numbers

    def _judged(
        self,
        where: npt.ArrayLike | Callable[[Doubles], npt.ArrayLike],
        statistic: str,
        columns: Sequence[int],
    ) -> tuple[_Question, Answer | Refusal, float]:
        """Return a question that has extended the basis, what becomes of it, and its noise."""
        numbers = self._checked(statistic, columns)
        features = numbers if statistic == "sum" else (ONES, *numbers)
        mask, before = self._selected(where), len(self._noise)
        self._span.truncate(before)  # of what the last question added, if it was not answered
        projections, gain = [], np.zeros(len(mask))
        for column in features:
            projection = self._span.add(mask, column)
            if projection.direction is not None:
                gain += self._per_direction * projection.direction
            projections.append(replace(projection, direction=None))
        parts = (tuple(projections), before, gain)
        question = _Question(statistic, numbers, mask, features, *parts)
        return question, *self._verdict(question)

    @property
    def _per_direction(self) -> float:
        return len(self._used) / (len(self._used) - 1)

    def _verdict(self, question: _Question) -> tuple[Answer | Refusal, float]:
        most = self._limit / (1.0 + self._limit) * SAFE
        room = most - self._used
        over = question.gain > room
        excess, errors, std = 0.0, 0.0, np.zeros(1)
        if over.any():
            adds = question.gain > 0
            with np.errstate(divide="ignore"):
                parts = question.gain[adds] / np.maximum(self._share * room[adds], 0.0)
            excess = max(float(parts.max()) - 1.0, 0.0) * (1.0 + 1e-12)
        if excess < np.inf:
            published = self._values_of(question, np.zeros(question.new))
            std, errors = self._noise_of(question, excess, published)
            after = self._used + question.gain / (1.0 + excess)
        if over.any() and not (errors <= self._max_noise and excess < np.inf):
            worst = int(np.argmax(np.where(over, self._used + question.gain, 0.0)))
            return Refusal(
                question.statistic,
                question.columns,
                exceeding=int(np.count_nonzero(over)),
                leakage=float(_leakage_of(self._used + question.gain).max()),
                standard_errors=errors if excess < np.inf else np.inf,
                collides=self._collisions(question, worst, most),
            ), excess
        return Answer(
            self.answers + 1,
            question.statistic,
            question.columns,
            values=np.zeros(0),
            count=None,
            noise_std=std,
            standard_errors=errors,
            leakage=float(_leakage_of(after).max()),
            free=not question.new,
        ), excess

    def _values_of(self, question: _Question, drawn: Doubles) -> Doubles:
        """Return what is published of every feature, (k,), with the noise of its directions."""
        noise = np.concatenate([self._noise, drawn])
        published = self._published
        values, new = [], len(self._noise)
        for column, projection in zip(question.features, question.projections, strict=True):
            if projection.combination is not None:
                values.append(float(projection.combination @ published))
                continue
            feature = self._span.features.values(question.mask, column)
            value = float(feature.sum() + projection.coordinates @ noise[:new])
            if new < len(noise):  # else it is refused
                value += projection.remainder * noise[new]
            values.append(value)
            published, new = np.append(published, value), new + 1
        return np.array(values)

    def _of_features(self, question: _Question, published: Doubles) -> tuple[float | None, Doubles]:
        """Return the count of a mean, and the statistic's values."""
        powers = self._powers[list(question.columns)]
        if question.statistic == "count":
            return None, published
        if question.statistic == "sum":
            return None, np.ldexp(published, powers)
        return float(published[0]), np.ldexp(published[1:] / max(published[0], 1.0), powers)

    def _noise_of(
        self, question: _Question, excess: float, published: Doubles
    ) -> tuple[Doubles, float]:
        """Return the noise's deviation in every value, and the largest in standard errors."""
        weights = np.eye(len(published))
        if question.statistic == "mean":  # of a ratio: by the delta method
            count = max(published[0], 1.0)
            weights[1:, 0] = -published[1:] / count
            weights[1:] /= count
        coordinates = weights @ question.coordinates
        variances = np.full(coordinates.shape[1], self._per_direction * excess)
        variances[: question.before] = self._variances
        std = np.sqrt(np.square(coordinates) @ variances)
        spread = np.sqrt(self._per_direction) * np.linalg.norm(coordinates[:, 1:], axis=1)
        std[std <= _NOTHING * spread] = 0.0
        ratios = np.divide(std, spread, out=np.where(std > 0, np.inf, 0.0), where=spread > 0)
        if question.columns:
            powers = self._powers[list(question.columns)]
            std = np.ldexp(std[-len(powers) :], powers)
        return std, float(ratios.max())

    def _collisions(self, question: _Question, worst: int, most: float) -> tuple[int, ...]:
        """Return the answers from which a record follows; none if from this answer alone."""
        away = np.array(
            [
                self._span.features.values(question.mask, column)[worst]
                for column in question.features
            ]
        )
        coordinates = question.coordinates
        away -= coordinates[:, 0] / np.sqrt(len(self._used))
        lengths = np.linalg.norm(coordinates[:, 1:], axis=1)
        varies = lengths > 0
        centred = coordinates[varies, 1:] / lengths[varies, np.newaxis]
        away = away[varies] / lengths[varies]
        alone = away @ np.linalg.pinv(centred @ centred.T, rcond=1e-12, hermitian=True) @ away
        if self._per_direction * alone > most:
            return ()
        columns = self._span.features.columns
        sizes = np.append(np.linalg.norm(columns, axis=1), np.sqrt(len(self._used)))  # ONES is last
        sizes = np.maximum(sizes, 1.0)  # a column of zeros
        shares = np.zeros(question.before)
        for column, projection in zip(question.features, question.projections, strict=True):
            coefficients = np.abs(self._span.weights(projection.coordinates)[: question.before])
            of = sizes[self._span.features.origins[: question.before]] / sizes[column]
            shares = np.maximum(shares, coefficients * of)
        shares[0] = 0.0
        named = np.flatnonzero(shares >= min(_NAMED, max(shares.max(), 1e-300)))
        return tuple(sorted({self._owner[j] for j in named.tolist()}))

    # --- as bytes ------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the ledger as lines of JSON, each with a digest of all before.

        They hold selections, values and noise: they are as secret as the table. The digests show
        damage. They are no signature, and an earlier state of the same ledger is whole as well.

        Returns
        -------
        bytes
        """
        lines = [*self._lines, _chained(self._lines[-1], {"end": self.answers})]
        return "".join(f"{line}\n" for line in lines).encode("ascii")

    @classmethod
    def from_bytes(cls, raw: bytes, table: npt.ArrayLike) -> Ledger:
        """Return the ledger of a table that `to_bytes` wrote.

        Parameters
        ----------
        raw : bytes
        table : (N, d) array_like
            The same records in the same order.

        Returns
        -------
        Ledger

        Raises
        ------
        TypeError
            If `raw` is no bytes.
        ValueError
            If a line is damaged or missing, or the table is another one.
        """
        if not isinstance(raw, bytes):
            raise TypeError(f"Expected raw of type {type(raw).__name__} to be bytes")
        head, *lines = _unchained(raw)
        if head.get("what") != _WHAT or head.get("version") != _VERSION:
            raise ValueError(f"Expected raw to be a ledger of version {_VERSION} of {_WHAT}")
        if not {"limit", "max_noise", "share", "sha256"} <= set(head):
            raise ValueError("Expected raw to be a ledger whose first line says its limit")
        ledger = cls(
            table, max_leakage=head["limit"], max_noise=head["max_noise"], share=head["share"]
        )
        if head["sha256"] != ledger._sha256:
            raise ValueError("Expected table to be that of the ledger: its digest is another")
        for number, line in enumerate(lines, 2):
            try:
                ledger._restore(line)
            except (KeyError, TypeError, ValueError, zlib.error):
                raise ValueError(
                    f"Expected raw to be what a ledger wrote: line {number} is no answer"
                ) from None
        ledger._used = ledger._measured()
        return ledger

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bytes` to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            A new file, or one that holds an earlier state of this ledger.

        Raises
        ------
        ValueError
            If the file holds anything else, as answers of another program; or if another program
            is writing it.
        """
        target = Path(os.path.realpath(path))
        new = target.with_name(target.name + ".new")
        try:
            file = new.open("xb")
        except FileExistsError:
            raise ValueError(
                f"Expected path={str(path)!r} to have one writer: {new.name!r} is there; remove it "
                "if no program is writing"
            ) from None
        try:
            with file:
                self._require_earlier(target)
                file.write(self.to_bytes())
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                new.chmod(target.stat().st_mode & 0o7777)
            new.replace(target)
        finally:
            new.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str], table: npt.ArrayLike) -> Ledger:
        """Return the ledger of a table that `save` wrote; as `from_bytes` of the file.

        Parameters
        ----------
        path : path-like
        table : (N, d) array_like
            The same records in the same order.

        Returns
        -------
        Ledger
        """
        return cls.from_bytes(Path(path).read_bytes(), table)

    def _require_earlier(self, target: Path) -> None:
        """Refuse a file that holds no earlier state of this ledger."""
        if target.exists():
            lines = target.read_bytes().decode("latin-1").splitlines()[:-1]
            if not lines or lines != self._lines[: len(lines)]:
                raise ValueError(
                    f"Expected path={str(target)!r} to hold an earlier state of this ledger: it "
                    "holds other answers, or another file"
                )

    def _head(self) -> dict[str, Any]:
        return {
            "what": _WHAT,
            "version": _VERSION,
            "sha256": self._sha256,
            "limit": self._limit,
            "max_noise": self._max_noise,
            "share": self._share,
        }

    def _line(
        self, question: _Question, published: Doubles, variance: float, drawn: Doubles
    ) -> dict[str, Any]:
        """Return what the ledger keeps of an answer."""
        basis = self._span.basis[:, question.before :]
        return {
            "answer": self.answers + 1,
            "statistic": question.statistic,
            "columns": question.columns,
            "where": _text(zlib.compress(np.packbits(question.mask).tobytes())),
            "published": published.tolist(),
            "new": [p.combination is None for p in question.projections],
            "basis": _text(np.ascontiguousarray(basis, dtype="<f8").tobytes()),
            "lengths": self._span.lengths(question.before).tolist(),
            "variance": variance,
            "noise": drawn.tolist(),
        }

    def _append(self, line: dict[str, Any]) -> None:
        """Count an answer, whose features are in the basis."""
        new = np.flatnonzero(line["new"])
        self._labels.append(line["label"])
        self._owner += [self.answers] * new.size
        self._published = np.append(self._published, np.array(line["published"])[new])
        self._noise = np.append(self._noise, line["noise"])
        self._variances = np.append(self._variances, np.full(new.size, line["variance"]))
        self._lines.append(_chained(self._lines[-1], line))

    def _restore(self, line: dict[str, Any]) -> None:
        """Add the features of an answer to the basis, and count it."""
        size = -(-len(self._used) // 8)  # no more is unpacked, whatever the line holds
        packed = zlib.decompressobj().decompress(base64.b64decode(line["where"]), size)
        bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=len(self._used))
        mask = bits.view(np.bool_)
        columns = self._checked(line["statistic"], line["columns"])
        features = columns if line["statistic"] == "sum" else (ONES, *columns)
        new = [column for column, is_new in zip(features, line["new"], strict=True) if is_new]
        sizes = [len(line[name]) for name in ("published", "noise", "lengths")]
        if sizes != [len(features), len(new), len(new)] or not line["variance"] >= 0:
            raise ValueError(f"Expected numbers for {len(features)} features")
        size = self._span.size + len(new)
        basis = np.frombuffer(base64.b64decode(line["basis"]), dtype="<f8").reshape(size, len(new))
        for j, column in enumerate(new):
            part = basis[: self._span.size + 1, j]
            self._span.restore(mask, column, part, line["lengths"][j])
        self._append(line)

    def _measured(self) -> Doubles:
        """Return t of every record, in one pass."""
        used, lengths = np.zeros(len(self._used)), np.zeros(self._span.size)
        weights = 1.0 / (1.0 + self._variances / self._per_direction)
        weights[0] = 0.0
        step = max(_CELLS // self._span.size, 1)
        for start in range(0, len(used), step):
            part = slice(start, start + step)
            squares = np.square(self._span.basis.T @ self._span.features.rows(part))
            used[part] = self._per_direction * (weights @ squares)
            lengths += squares.sum(axis=1)
        if not (np.abs(lengths - 1.0) < _DAMAGED).all():
            raise ValueError("Expected raw to be a ledger of this table: its directions are others")
        return used


def _leakage_of(used: Doubles) -> Doubles:
    """Return t / (1 - t), +inf for a direction of the record's own."""
    rest = 1.0 - used
    return np.asarray(np.divide(used, rest, out=np.full(len(used), np.inf), where=rest > _ALONE))


def _digest_of(rows: npt.NDArray[Any]) -> str:
    """Return the digest of a table as float64, row after row."""
    digest = hashlib.sha256(repr(rows.shape).encode())
    for start in range(0, len(rows), 4096):
        digest.update(np.ascontiguousarray(rows[start : start + 4096], dtype="<f8").tobytes())
    return digest.hexdigest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _chained(last: str, content: dict[str, Any]) -> str:
    """Return a line: the content, and the digest of the line before with it."""
    body = json.dumps(content, allow_nan=False)
    digest = hashlib.sha256((last + body).encode()).hexdigest()
    return f'{body[:-1]}, "digest": "{digest}"}}'


def _unchained(raw: bytes) -> list[dict[str, Any]]:
    """Return the content of every line but the last; refuse what is damaged, by its number."""
    lines = raw.decode("latin-1").split("\n")
    contents, last = [], ""
    for number, line in enumerate(lines[:-1], 1):
        try:
            content = json.loads(line)
            del content["digest"]
            whole = _chained(last, content) == line
        except (ValueError, TypeError, KeyError, RecursionError):
            whole = False
        if not whole:
            raise ValueError(f"Expected raw to be a whole ledger: line {number} is damaged")
        contents.append(content)
        last = line
    if lines[-1] or not contents or contents[-1] != {"end": len(contents) - 2}:
        raise ValueError(f"Expected raw to be a whole ledger: it is cut after line {len(contents)}")
    return contents[:-1]
