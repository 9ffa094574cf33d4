"""A ledger of questions: what all answers about one table tell together of each of its records.

An answer is a sum over the records of a selection S: of the features 1{S} and 1{S} x. All answers
so far are one release of these features, and a record's leakage is that of the release, with the
record left out. In an orthonormal basis u_1, u_2, ... of the centred features it is t / (1 - t),
with t = N/(N-1) times the sum of u_k[i]^2: each direction adds its own. Noise of v times the
variance of the sum along a direction divides what the direction adds by 1 + v. Two answers that
differ in one record have a direction that is this record alone, t = 1: the leakage is infinite.

By the public rule (`answers.PublicLaw`) the features of a column are the selections alone, and each
column has a basis of its own.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.leakage import answers as laws
from leakscore.leakage._noise import largest_leakage
from leakscore.leakage._shaped import SAFE
from leakscore.leakage._span import ONES, Directions, Extension, FeatureBits, extend
from leakscore.leakage.answers import Answer, Refusal, law_of, least_excess, odds, public_of
from leakscore.reference import Reference
from leakscore.typing import Doubles, Flags, Seed

__all__ = ["Ledger"]

_WHAT = "leakscore.leakage.Ledger"
_VERSION = 3
_STATISTICS = ("count", "sum", "mean")
# Noise of so small a share of all that is added up is rounding.
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class _Question:
    """A question whose features have extended the spans."""

    statistic: str
    columns: tuple[int, ...]
    mask: Flags
    parts: tuple[Extension, ...]

    @property
    def new(self) -> int:
        """How many directions the features add."""
        return sum(part.new for part in self.parts)


class Ledger:
    """Answers questions about a table until a record would leak too much.

    All answers are judged together. What follows from earlier answers costs nothing, and has the
    same noise again.

    Parameters
    ----------
    table : (N, d) array_like
        A record a row, N >= 3. A copy is kept.
    max_advantage, epsilon, delta, max_power, max_leakage, at_fpr : float, optional
        The limit for every record, a leakage in [1e-100, 1e6]; exactly one, as in `noise_for`.
    max_noise : float
        The most noise of an answer, in units of its own standard error; with 0, what would need
        noise is refused.
    share : float in (0, 1]
        What part of the leakage that remains to a record an answer with noise may take; with 1 it
        has the least noise, and the worst record can be in no later answer.
    rule : {"exact", "public"}, optional
        What decides. "exact": the leakage of the table's own values. "public": the largest leakage
        that values within the bounds could have, whatever they are. By default "public" if there
        are bounds.
    bounds : mapping of int to (float, float), optional
        By the public rule: the columns whose values are secret, with what everybody knows to be
        their least and greatest values. Questions are about these, selections are by others.
    reference : Reference or "uniform", optional
        By the public rule: the law of the values of those columns, in their order; "uniform" within
        the bounds, each column by itself.

    Attributes
    ----------
    limit : float
        The largest leakage of a record that is allowed.
    max_noise, share : float

    Raises
    ------
    TypeError, ValueError
        If an argument is not what it should be, as bounds that do not hold every value.

    Notes
    -----
    The N records of the table are the release's, each a draw from a population that the attacker
    knows by its mean and covariance, as in `leave_one_out` with n = N; the law is Gaussian as the
    selections grow, and counts of small cells tell a little less. Masks are the attacker's. A mean
    is judged as a count and a sum, as by `statistics.GroupMeans`. Records of one person are judged
    one by one.

    The exact rule looks at the values, so its decision can tell of them itself: refusals are not
    simulatable (K. Kenthapadi, N. Mishra and K. Nissim, Simulatable auditing, PODS 2005). The sizes
    of the noise are of the same kind. Do not show `preview`, `leakage` or the reasons of a refusal
    to whom the answers are for.

    By the public rule decisions, noise and reasons are functions of selections, bounds and
    reference, so anybody can compute them. The selections are then public, so a count is free; and
    a mean is judged as a sum. A record leaks at most the sum over columns of r t / (1 - t) / l. Of
    a column t is as above, of the selections as they are; r = (x - mu)^2 / C_cc with x the bound
    farther from the mean, and l the smallest eigenvalue of the correlations: the largest leakage
    within the bounds if columns are independent, at least that if not. It holds if the other
    values are draws of the reference in every selection: where a selection foretells the values,
    as age does pensions, they vary less and hide less.

    The columns of a question take two passes over the N records or more, each with a look-up for
    every eight features so far: of 1e6 records about 0.1 s of CPU after 100 features, 0.25 s after
    1,000, and about four times as much for 20 columns at once. The memory is the table, one byte
    of each record for eight features, 24 bytes for each column of the question, and K^2 numbers for
    K features. `from_bytes` looks K up for every record, and measures 1,000 of them again.

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
        rule: Literal["exact", "public"] | None = None,
        bounds: Mapping[int, tuple[float, float]] | None = None,
        reference: Reference | Literal["uniform"] | None = None,
    ) -> None:
        self.limit: Final = laws.require_limit(
            largest_leakage(max_advantage, epsilon, delta, max_power, at_fpr, max_leakage)
        )
        self.max_noise: Final = validation.scalar("max_noise", max_noise, 0.0)
        self.share: Final = validation.scalar("share", share, 0.0, 1.0, closed="right")
        rows = validation.finite("table", validation.matrix("table", table, min_rows=3))
        self._sha256 = _digest_of(rows)
        self._law = law_of(rule, bounds, reference, rows)
        columns = np.array(rows.T, dtype=np.float64, order="C")
        largest = np.abs(columns).max(axis=1)
        limit = np.finfo(float).max / len(rows)
        if largest.max() > limit:
            raise ValueError(
                f"table must be in [{-limit:g}, {limit:g}], but column {largest.argmax()} "
                f"holds a number of size {largest.max():g}: its sums may be infinite"
            )
        self._powers = np.frexp(largest)[1] - 1
        np.ldexp(columns, -self._powers[:, np.newaxis], out=columns)  # so that no square overflows
        self._columns, self._rows = columns, len(rows)
        self._features = FeatureBits(columns)
        self._directions: dict[int, Directions] = {}  # by the exact rule all under ONES
        if self._law is None:
            self._directions[ONES] = Directions(self._features, len(rows) / (len(rows) - 1), 1.0)
            self._directions[ONES].begin()
        self._labels: list[str] = []
        self._lines = [_chained("", self._head())]

    @property
    def rule(self) -> str:
        """What decides: "exact" or "public"."""
        return "exact" if self._law is None else "public"

    @property
    def bounds(self) -> dict[int, tuple[float, float]]:
        """The bounds of the columns whose values are secret, by the public rule."""
        return {} if self._law is None else self._law.ends

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
        return self._leakage_with(())

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
        drawn = [np.zeros(part.new) for part in question.parts]
        if excess:
            drawn = [
                np.sqrt(part.directions.factor * excess) * generator.standard_normal(part.new)
                for part in question.parts
            ]
        published = [
            part.published(question.mask, noise)
            for part, noise in zip(question.parts, drawn, strict=True)
        ]
        count, values = self._of_features(question, published)
        std, _ = self._noise_of(question, excess, published)
        line = self._line(question, published, excess, drawn) | {"label": str(label)}
        for part in question.parts:
            part.directions.used = part.used(excess)
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

    def least_noise(self, record: int, column: int) -> float:
        """Return the least noise in which all answers hide a value from who knows all others.

        Parameters
        ----------
        record, column : int

        Returns
        -------
        float
            The standard deviation in the weighted sum of answers that has it; +inf if none has.
        """
        record = validation.count("record", record, 0, self._rows - 1)
        directions, column, origin = self._summed(column)
        unit = self._law.spread(column) if self._law else np.ldexp(1.0, self._powers[column])
        return float(unit * directions.least_noise(record, origin))

    def noisy_selections(self, column: int) -> Iterator[Flags]:
        """Return the selections over which sums of a column were answered with noise.

        Parameters
        ----------
        column : int

        Returns
        -------
        iterator of (N,) ndarray of bool
        """
        directions, _, origin = self._summed(column)
        return directions.noisy(origin)

    def _summed(self, column: int) -> tuple[Directions, int, int]:
        """Return the directions of a column's sums, the column, and what it is in their place."""
        column = validation.count("column", column, 0, len(self._powers) - 1)
        ((directions, (origin,)),) = self._directions_of("sum", self._checked("sum", (column,)))
        return directions, column, origin

    def _selected(self, where: npt.ArrayLike | Callable[[Doubles], npt.ArrayLike]) -> Flags:
        """Return the selection, (N,)."""
        if callable(where):
            if self._law is not None:
                raise ValueError(
                    "where must be a mask with rule='public', which looks at no values"
                )
            where = where(np.ldexp(self._columns.T, self._powers))
        mask = np.asarray(validation.mask("where", where))
        if mask.shape != (self._rows,):
            raise ValueError(
                f"where of shape {mask.shape} must be {(self._rows,)}, one for each record"
            )
        if not mask.any():
            raise ValueError("where must select a record: it selects nobody")
        return np.ascontiguousarray(mask)

    def _checked(self, statistic: str, columns: Sequence[int]) -> tuple[int, ...]:
        """Return the columns of a question."""
        validation.choice("statistic", statistic, _STATISTICS)
        if np.ndim(columns) != 1:
            raise ValueError(f"columns={columns!r} must be a list of numbers")
        last = len(self._powers) - 1
        numbers = tuple(validation.count("columns", column, 0, last) for column in columns)
        if (statistic == "count") != (not numbers):
            needed = "no columns" if numbers else "columns"
            raise ValueError(f"{needed} must be given with statistic={statistic!r}")
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"columns={numbers} must differ")
        if self._law is not None and not set(numbers) <= set(self._law.columns):
            raise ValueError(f"columns={numbers} must be in bounds={self.bounds}")
        return numbers

    def _directions_of(self, statistic: str, columns: Sequence[int]) -> list[Any]:
        """Return the directions that a question extends, with the columns of its features."""
        if self._law is None:
            return [(self._directions[ONES], (*[ONES] * (statistic != "sum"), *columns))]
        for column in columns:
            if column not in self._directions:
                reach = self._law.reach(column)
                self._directions[column] = Directions(self._features, 1.0, reach)
        return [(self._directions[column], (ONES,)) for column in columns]

    def _judged(
        self,
        where: npt.ArrayLike | Callable[[Doubles], npt.ArrayLike],
        statistic: str,
        columns: Sequence[int],
    ) -> tuple[_Question, Answer | Refusal, float]:
        """Return a question that has extended the spans, what becomes of it, and its noise."""
        numbers, mask = self._checked(statistic, columns), self._selected(where)
        laws.require_wide(self._columns, mask, () if self._law else numbers)
        parts = self._directions_of(statistic, numbers)
        self._forget()
        question = _Question(statistic, numbers, mask, extend(mask, parts))
        return question, *self._verdict(question)

    def _forget(self) -> None:
        """Take back what the last question added, if it was not answered."""
        each = self._directions.values()
        for directions in each:
            directions.span.truncate(directions.size)
        answered = (place for directions in each for place in directions.span.places)
        self._features.truncate(1 + max(answered, default=-1))

    def _leakage_with(self, parts: Sequence[Extension], excess: float = 0.0) -> Doubles:
        """Return the leakage of every record with an answer."""
        after = {id(part.directions): part.used(excess) for part in parts}
        total = np.zeros(self._rows)
        for each in self._directions.values():
            total += each.reach * odds(after.get(id(each), each.used))
        return total

    def _excess(self, question: _Question, leakage: Doubles) -> tuple[Flags, float]:
        """Return which records leak too much without noise, and the noise against it."""
        adds = np.logical_or.reduce([part.gain > 0 for part in question.parts])
        if self._law is not None:
            most = self.limit * SAFE
            over = adds & (leakage > most)
            if not over.any():
                return over, 0.0
            before = self.leakage[adds]
            parts = [
                (part.directions.reach, part.directions.used[adds], part.gain[adds])
                for part in question.parts
            ]
            allowed = before + self.share * np.maximum(most - before, 0.0)
            return over, least_excess(parts, allowed - before)
        part = question.parts[0]
        room = self.limit / (1.0 + self.limit) * SAFE - part.directions.used
        over = adds & (part.gain > room)
        if not over.any():
            return over, 0.0
        with np.errstate(divide="ignore"):
            times = part.gain[adds] / np.maximum(self.share * room[adds], 0.0)
        return over, max(float(times.max()) - 1.0, 0.0) * (1.0 + 1e-12)

    def _verdict(self, question: _Question) -> tuple[Answer | Refusal, float]:
        leakage = self._leakage_with(question.parts)
        over, excess = self._excess(question, leakage)
        exact = self._law is None and excess < np.inf
        if exact and question.parts[0].gives_ratios(question.mask, excess):  # which have no noise
            leakage[worst := int(leakage.argmax())], over[worst], excess = np.inf, True, np.inf
        errors, std = np.inf, np.zeros(1)
        if excess < np.inf:
            published = [p.published(question.mask, np.zeros(p.new)) for p in question.parts]
            std, errors = self._noise_of(question, excess, published)
        if over.any() and not errors <= self.max_noise:
            worst = int(np.argmax(np.where(over, leakage, 0.0)))
            return Refusal(
                question.statistic,
                question.columns,
                exceeding=int(np.count_nonzero(over)),
                leakage=float(leakage.max()),
                standard_errors=errors,
                collides=self._collisions(question, worst),
            ), excess
        return Answer(
            self.answers + 1,
            question.statistic,
            question.columns,
            values=np.zeros(0),
            count=None,
            noise_std=std,
            standard_errors=errors,
            leakage=float(
                (self._leakage_with(question.parts, excess) if excess else leakage).max()
            ),
            free=not question.new,
        ), excess

    def _of_features(
        self, question: _Question, published: list[Doubles]
    ) -> tuple[float | None, Doubles]:
        """Return the count of a mean, and the statistic's values."""
        powers = self._powers[list(question.columns)]
        if self._law is None:
            (values,) = published
            count, sums = values[0], values[len(values) - len(powers) :]
        else:
            count = float(np.count_nonzero(question.mask))
            sums = self._columns[list(question.columns)] @ question.mask
            for j, (column, (noise,)) in enumerate(zip(question.columns, published, strict=True)):
                sums[j] += np.ldexp(self._law.spread(column) * noise, -powers[j])
        if question.statistic == "mean":
            return float(count), np.ldexp(sums / max(count, 1.0), powers)
        return None, np.ldexp(sums, powers) if question.columns else np.array([count])

    def _noise_of(
        self, question: _Question, excess: float, published: list[Doubles]
    ) -> tuple[Doubles, float]:
        """Return the noise's deviation in every value, and the largest in standard errors."""
        stds, spreads, sizes = [np.zeros(1)], [np.ones(1)], [np.ones(1)]  # of a public count
        for part, values in zip(question.parts, published, strict=True):
            weights = np.eye(len(values))
            if question.statistic == "mean" and self._law is None:  # by the delta method
                count = max(values[0], 1.0)
                weights[1:, 0] = -values[1:] / count
                weights[1:] /= count
            stds.append(np.sqrt(np.square(weights @ part.coordinates) @ part.variances(excess)))
            sizes.append(np.abs(weights) @ np.linalg.norm(part.coordinates, axis=1))
            lengths = np.linalg.norm(weights @ part.varying, axis=1)
            spreads.append(np.sqrt(part.directions.factor) * lengths)
        std, spread = np.concatenate(stds), np.concatenate(spreads)
        std[std <= _NOTHING * np.concatenate(sizes)] = 0.0
        ratios = np.divide(std, spread, out=np.where(std > 0, np.inf, 0.0), where=spread > 0)
        std = std[-max(len(question.columns), 1) :]
        if self._law is None:
            scales = np.ldexp(1.0, self._powers[list(question.columns)])
        else:
            ratios /= self._law.standard_deviation
            scales = np.array([self._law.spread(column) for column in question.columns])
            scales /= np.count_nonzero(question.mask) if question.statistic == "mean" else 1
        return std * scales if question.columns else std, float(ratios.max())

    def _collisions(self, question: _Question, worst: int) -> tuple[int, ...]:
        """Return the answers from which a record follows; none if from this answer alone."""
        alone = 0.0
        for part in question.parts:
            t = np.array([part.alone(question.mask, worst)])
            alone += part.directions.reach * float(odds(t)[0])
        if alone > self.limit * SAFE:
            return ()
        return tuple(sorted(set().union(*(part.collides() for part in question.parts))))

    # --- as bytes ------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the ledger as lines of JSON, each with a digest of all before.

        They hold selections, values and noise: they are as secret as the table. The digests show
        damage. They are no signature, and an earlier state of the same ledger is whole as well.

        Returns
        -------
        bytes
        """
        used = b"".join(each.used.astype("<f8").tobytes() for each in self._answered())
        end = {"end": self.answers, "used": _text(used)}  # by it no record is looked at again
        lines = [*self._lines, _chained(self._lines[-1], end)]
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
            raise TypeError(f"raw of type {type(raw).__name__} must be bytes")
        head, *lines, end = _unchained(raw)
        if head.get("what") != _WHAT or head.get("version") != _VERSION:
            raise ValueError(f"raw must be a ledger of version {_VERSION} of {_WHAT}")
        if not {"limit", "max_noise", "share", "sha256"} <= set(head):
            raise ValueError("raw must be a ledger whose first line says its limit")
        if head["sha256"] != _digest_of(validation.matrix("table", table, min_rows=3)):
            raise ValueError("table must be that of the ledger: its digest is another")
        noise = {name: head[name] for name in ("max_noise", "share")}
        ledger = cls(table, max_leakage=head["limit"], **noise, **public_of(head))
        ledger._lines = [_chained("", head)]
        for number, line in enumerate(lines, 2):
            try:
                ledger._restore(line)
            except (KeyError, TypeError, ValueError, zlib.error):
                raise ValueError(
                    f"raw must be what a ledger wrote: line {number} is no answer"
                ) from None
        answered = ledger._answered()
        try:
            stored = np.frombuffer(base64.b64decode(end["used"]), dtype="<f8")
            every = stored.reshape(len(answered), ledger._rows)
        except (KeyError, TypeError, ValueError):
            raise ValueError("raw must be what a ledger wrote: its end is none") from None
        for directions, used in zip(answered, every, strict=True):
            directions.take(used)
        return ledger

    def _answered(self) -> list[Directions]:
        """Return the directions of which something was answered, by column."""
        return [each for _, each in sorted(self._directions.items()) if each.size]

    def _head(self) -> dict[str, Any]:
        head = {
            "what": _WHAT,
            "version": _VERSION,
            "sha256": self._sha256,
            "limit": self.limit,
            "max_noise": self.max_noise,
            "share": self.share,
            "rule": self.rule,
        }
        if self._law is not None:
            head["bounds"] = [[column, *ends] for column, ends in self.bounds.items()]
            head |= {"mean": self._law.mean.tolist(), "cov": self._law.cov.tolist()}
        return head

    def _line(
        self, question: _Question, published: list[Doubles], excess: float, drawn: list[Doubles]
    ) -> dict[str, Any]:
        """Return what the ledger keeps of an answer."""
        basis, lengths = [b""], []
        for part in question.parts:
            span, before = part.directions.span, part.directions.size
            new = np.ascontiguousarray(span.basis[:, before:], dtype="<f8")
            basis.append(new.tobytes())
            lengths += span.lengths(before).tolist()
        factor = self._directions[ONES].factor if self._law is None else 1.0
        projections = [p for part in question.parts for p in part.projections]
        return {
            "answer": self.answers + 1,
            "statistic": question.statistic,
            "columns": question.columns,
            "where": _text(zlib.compress(np.packbits(question.mask).tobytes())),
            "published": [value for values in published for value in values.tolist()],
            "new": [p.combination is None for p in projections],
            "basis": _text(b"".join(basis)),
            "lengths": lengths,
            "variance": factor * excess,
            "noise": [value for values in drawn for value in values.tolist()],
        }

    def _append(self, line: dict[str, Any]) -> None:
        """Count an answer, whose features are in the spans."""
        self._labels.append(line["label"])
        features = iter(zip(line["new"], line["published"], strict=True))
        noise = iter(line["noise"])
        for directions, columns in self._directions_of(line["statistic"], line["columns"]):
            new = [value for is_new, value in itertools.islice(features, len(columns)) if is_new]
            drawn = np.array(list(itertools.islice(noise, len(new))))
            directions.append(self.answers, np.array(new), drawn, line["variance"])
        self._lines.append(_chained(self._lines[-1], line))

    def _restore(self, line: dict[str, Any]) -> None:
        """Add the features of an answer to the spans, and count it."""
        size = -(-self._rows // 8)  # no more is unpacked, whatever the line holds
        packed = zlib.decompressobj().decompress(base64.b64decode(line["where"]), size)
        bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=self._rows)
        mask = bits.view(np.bool_)
        parts = self._directions_of(
            line["statistic"], self._checked(line["statistic"], line["columns"])
        )
        count, new = sum(len(columns) for _, columns in parts), sum(line["new"])
        sizes = [len(line[name]) for name in ("new", "published", "noise", "lengths")]
        if sizes != [count, count, new, new] or not line["variance"] >= 0:
            raise ValueError(f"line must hold numbers for {count} features")
        flags, lengths = iter(line["new"]), iter(line["lengths"])
        numbers = np.frombuffer(base64.b64decode(line["basis"]), dtype="<f8")
        places: dict[int, int] = {}
        for directions, columns in parts:
            added = [column for column in columns if next(flags)]
            size = directions.size + len(added)
            basis, numbers = np.split(numbers, [size * len(added)])
            basis = basis.reshape(size, len(added))
            for j, column in enumerate(added):
                if column not in places:
                    places[column] = self._features.size
                    self._features.append(mask, column)
                part = basis[: directions.span.size + 1, j]
                directions.span.restore(places[column], part, next(lengths))
        if numbers.size:
            raise ValueError("line must hold a basis of the new features alone")
        self._append(line)


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
    """Return the content of every line; refuse what is damaged, by its number."""
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
            raise ValueError(f"raw must be a whole ledger: line {number} is damaged")
        contents.append(content)
        last = line
    if lines[-1] or not contents or contents[-1].get("end") != len(contents) - 2:
        raise ValueError(f"raw must be a whole ledger: it is cut after line {len(contents)}")
    return contents
