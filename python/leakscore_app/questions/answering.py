"""From a table, a ledger and a question to an answer, or to a refusal, in words."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from leakscore import Reference
from leakscore.leakage import Answer, Ledger, Refusal
from leakscore.typing import Doubles, Flags
from leakscore_app._visible import counted, listed, no_column, visible
from leakscore_app.document import document as doc
from leakscore_app.document.document import Findings
from leakscore_app.passes.lattices import ColumnSteps, OffLattice, lattices_of, max_off_share
from leakscore_app.passes.rows import JudgedRows
from leakscore_app.questions import grammar
from leakscore_app.tables import outputs
from leakscore_app.tables.table import Table, read_table

_LIMITS = ("max_advantage", "max_power", "epsilon", "max_leakage")
_NOTICES = {
    "exact": doc.Notice(
        "note",
        "not-simulatable",
        "Whether an answer is refused, and how much noise it has, depends on the values, so both "
        "can tell of them: pass on the answer, and not what stands here. With --rule public they "
        "follow from what is public.",
    ),
    "public": doc.Notice(
        "note",
        "simulatable",
        "Whether an answer is refused, why, and how much noise it has follow from the selections, "
        "the bounds and the reference alone: this text tells nothing of the values but the answer, "
        "and who has one. The limit holds if values are draws of the reference in every selection.",
    ),
}
_SECRET = doc.Notice(
    "note",
    "secret",
    "The ledger holds selections, values and noise. It is as secret as the table, and only answers "
    "that are in it are counted.",
)


@dataclass(frozen=True)
class Question:
    """A statistic of columns over a selection, in words."""

    where: str | None
    statistic: str
    columns: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The question as a phrase."""
        of = f" of {listed(self.columns)}" if self.columns else ""
        where = "of all records" if self.where is None else f"where {self.where}"
        return f"the {self.statistic}{of} {where}"


@dataclass(frozen=True, eq=False)
class Reply(Findings):
    """What ``leakscore ask`` returns.

    Attributes
    ----------
    question : Question
    limit : float
        The largest leakage of a record that is allowed.
    rule : {"exact", "public"}
        Whether the values decide, or what is public alone.
    outcome : Answer or Refusal
        Its columns are numbers of the ledger's table; the question names them.
    collides : tuple of (int, str)
        Earlier answers and their questions.
    preview : bool
        Whether nothing was answered.
    input : dict
        The table; by the exact rule its digest and notes on the reading, which tell of values.
    remainders : tuple of doc.Notice
        By the exact rule, of records that sums show by their remainders.
    """

    command = "ask"

    question: Question
    limit: float
    rule: str
    outcome: Answer | Refusal
    collides: tuple[tuple[int, str], ...]
    preview: bool
    input: Mapping[str, Any]
    remainders: tuple[doc.Notice, ...] = ()

    @property
    def notices(self) -> Sequence[doc.Notice]:
        """What must be known to read the numbers."""
        return (*self.remainders, _NOTICES[self.rule], _SECRET)

    @property
    def refused(self) -> bool:
        """Whether the question is refused."""
        return isinstance(self.outcome, Refusal)

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices."""
        return {
            "input": self.input,
            "question": self.question,
            "limit": self.limit,
            "rule": self.rule,
            "preview": self.preview,
            "answer": None if self.refused else self.outcome,
            "refusal": self.outcome if self.refused else None,
            "collides": [{"number": k, "question": words} for k, words in self.collides],
        }

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        head: list[doc.Part] = []
        verb = "Would be refused" if self.preview else "Refused"
        if isinstance(self.outcome, Refusal):
            details = _refusal(self, self.outcome)
        else:
            verb = "Would be answered" if self.preview else f"Answer {self.outcome.number}"
            head += [] if self.preview else [_values(self.question, self.outcome)]
            details = [doc.Paragraph(_costs(self))]
        title = "For the keeper of the table alone" if self.rule == "exact" else "What it costs"
        secret = doc.Section(title, [*details, doc.Notices(self.notices)])
        return doc.Document(
            "leakscore: an answer",
            [[doc.Heading(f"{verb}: {self.question.words}"), *head]],
            [secret],
        )


def _values(question: Question, answer: Answer) -> doc.Part:
    names = [*question.columns] or ["records"]
    rows = [
        [visible(name), f"{value:.10g}", _number(std)]
        for name, value, std in zip(names, answer.values, answer.noise_std, strict=True)
    ]
    if answer.count is not None:
        rows.append(["records", f"{answer.count:.10g}", ""])
    caption = "noise: the standard deviation of the Gaussian noise in the value"
    return doc.TextTable(["column", question.statistic, "noise"], rows, caption)


def _costs(reply: Reply) -> str:
    answer = reply.outcome
    costs = (
        f"With it a record leaks at most {_number(answer.leakage)}; "
        f"{_number(reply.limit)} is allowed."
    )
    if isinstance(answer, Answer) and answer.free:
        counted_free = reply.rule == "public" and reply.question.statistic == "count"
        origin = "the selection, which is public," if counted_free else "earlier answers"
        costs = f"It follows from {origin} and tells nothing new. {costs}"
    if answer.standard_errors:
        costs += f" Its noise is {_number(answer.standard_errors)} of its own standard errors."
    return costs


def _refusal(reply: Reply, refusal: Refusal) -> list[doc.Part]:
    records, leakage = counted(refusal.exceeding, "record"), _number(refusal.leakage)
    if reply.rule == "public":
        records += ", if their values lie at the bounds"
    reason = f"{'Together with earlier answers' if reply.collides else 'By itself'} it would "
    reason += f"tell too much of {records}: leakage {leakage}, {_number(reply.limit)} allowed"
    reason += ":" if reply.collides else "."
    noise = "No noise is enough."
    if refusal.standard_errors < np.inf:
        size = f"{_number(refusal.standard_errors)} of its own standard errors"
        noise = f"It would take noise of {size}, more than the ledger allows."
    earlier = [doc.Definitions([(str(k), words) for k, words in reply.collides])]
    return [doc.Paragraph(reason), *(earlier if reply.collides else []), doc.Paragraph(noise)]


def _number(value: float) -> str:
    return f"{value:.4g}"


def ask(
    path: str,
    ledger_path: str,
    question: Question,
    *,
    limits: Mapping[str, Any],
    preview: bool,
    reading: Mapping[str, Any],
) -> Reply:
    """Answer a question about the table of a file, and write the answer into its ledger first.

    Parameters
    ----------
    path, ledger_path : str
    question : Question
    limits : mapping
        Arguments of `Ledger` that were given; of a ledger that exists they must be its own. The
        bounds have names of columns, and the reference is a path or "uniform".
    preview : bool
        Whether nothing is answered.
    reading : mapping
        Arguments of `read_table`.
    """
    where = None if question.where is None else grammar.parse(question.where)
    table = read_table(path, **reading)
    numbers = [
        j for j in range(len(table.columns)) if j not in table.excluded and j not in table.refused
    ]
    if not numbers:
        raise ValueError(f"{table.name} has no column of numbers")
    chosen = [numbers.index(_number_column(table, name)) for name in question.columns]
    with opened(ledger_path) as file:
        options = dict(limits) | _numbered(limits, table, numbers)
        bounds = _bounds(file, options, len(numbers))
        _require_public(table, where, chosen, {numbers[j]: j for j in bounds})
        mask = _mask(table, where, path, reading)
        values = _values_of(table, numbers)
        missing = np.isnan(values)
        mask &= ~missing[:, chosen].any(axis=1)
        if not mask.any():
            raise ValueError("--where selects no record that has a value in every column")
        values[missing] = 0.0
        for j, (low, high) in bounds.items():  # no value that is missing is in an answer
            values[missing[:, j], j] = min(max(low, 0.0), high)
        if options.get("reference", "uniform") != "uniform":
            secret = [table.columns[numbers[j]] for j in sorted(bounds)]
            options["reference"] = _reference(options["reference"], secret, reading, table)
        parts, words = (mask, question.statistic, chosen), question.words
        with _named(table, numbers):
            ledger = _ledger(file, values, options)
            remainders = _Remainders.of(ledger, parts, values, missing)
            outcome = ledger.preview(*parts) if preview else ledger.ask(*parts, label=words)
        # What a ledger is begun with holds even if its first question is refused.
        if not preview and (isinstance(outcome, Answer) or file.content is None):
            file.write(ledger.to_bytes())
        names = [table.columns[number] for number in numbers]
        shown = () if isinstance(outcome, Refusal) else remainders.shown(ledger, names, preview)
    collides = outcome.collides if isinstance(outcome, Refusal) else ()
    # Whoever knows all values but one finds that by the digest.
    secret_input = {"sha256": table.sha256, "notes": table.notes}
    return Reply(
        question=question,
        limit=ledger.limit,
        rule=ledger.rule,
        outcome=outcome,
        collides=tuple((number, ledger.labels[number - 1]) for number in collides),
        preview=preview,
        input={"table": table.name} | (secret_input if ledger.rule == "exact" else {}),
        remainders=tuple(shown),
    )


@dataclass(frozen=True, eq=False)
class _Remainders:
    """Records off the steps of all others in a selection or the table, before a question.

    A sum of whole multiples of sums on steps is on them, so it shows such a record if its noise is
    less than a step. Noise is of all answers together, of any columns and of counts: two sums may
    have the same, and so may a sum and a count that somebody knows.
    """

    parts: tuple[Any, str, Any]
    off: Sequence[tuple[ColumnSteps, OffLattice]]
    before: Sequence[Doubles]

    @classmethod
    def of(
        cls, ledger: Ledger, parts: tuple[Any, str, Any], values: Doubles, missing: Flags
    ) -> _Remainders:
        """Look for them; by the public rule nothing is said of values."""
        mask, _, chosen = parts
        off: list[tuple[ColumnSteps, OffLattice]] = []
        for column in range(values.shape[1]) if ledger.rule == "exact" else ():
            each = [*ledger.noisy_selections(column), *([mask] if column in chosen else [])]
            for chosen_rows in [*each, ~missing[:, column]] if each else ():
                off += _off(column, chosen_rows, values)
        return cls(parts, off, [_noise_of(ledger, *each) for each in off])

    def shown(self, ledger: Ledger, names: Sequence[str], preview: bool) -> Iterator[doc.Notice]:
        """Warn of those that an answer holds or uncovers, unless noise of a step hides them."""
        mask, _, chosen = self.parts
        if preview and self.off:
            ledger.ask(*self.parts)  # for its noise alone: it is neither written nor shown
        messages: dict[str, None] = {}
        for (steps, off), before in zip(self.off, self.before, strict=True):
            noise = _noise_of(ledger, steps, off)
            new = (mask[off.rows] & (steps.column in chosen)) | (before >= steps.width)
            if ((noise < steps.width) & new).any():
                name = visible(names[steps.column])
                records = listed([str(row + 1) for row in off.rows])
                messages[
                    f"{name} goes in steps of {steps.width:g}, but for "
                    f"{counted(off.count, 'record')} ({records}): the answers can show by a "
                    "remainder who of these is in a sum, whatever the leakage. Round such values "
                    "before the first question."
                ] = None
        yield from (doc.warning("steps", message) for message in messages)


def _off(column: int, selected: Flags, values: Doubles) -> Iterator[tuple[ColumnSteps, OffLattice]]:
    """Yield the steps of a column in a selection, and the records of it that are off them."""
    rows = JudgedRows(np.flatnonzero(selected), values[selected, column, np.newaxis])
    share = max_off_share(len(rows.rows))
    for steps in lattices_of(rows, share, len(rows.rows)):
        records = OffLattice.of(steps, rows, at_hand=True)
        if 0 < records.count <= share * len(rows.rows):
            yield replace(steps, column=column), records


def _noise_of(ledger: Ledger, steps: ColumnSteps, off: OffLattice) -> Doubles:
    return np.array([ledger.least_noise(int(row), steps.column) for row in off.rows])


def _ledger(file: LedgerFile, values: Any, limits: Mapping[str, Any]) -> Ledger:
    """Return the ledger of a file; a new one if there is none yet."""
    budget = any(name in limits for name in _LIMITS)
    if file.content is None:
        default = {"max_noise": 1.0} if budget else {"max_noise": 1.0, "max_advantage": 0.2}
        if limits.get("rule") == "public" and "bounds" not in limits:
            raise ValueError("--rule public needs --bounds NAME=LOW:HIGH,...")
        if "bounds" in limits and limits.get("rule") != "exact" and "reference" not in limits:
            raise ValueError(
                "--bounds needs --reference FILE, a table of other records that is public, or "
                "--reference uniform"
            )
        return Ledger(values, **{**default, **limits})
    try:
        ledger = Ledger.from_bytes(file.content, values)
    except ValueError as error:
        raise ValueError(f"{visible(file.path)}: {error}") from None
    begun = _head(file.content)
    if limits.get("rule", "public" if "bounds" in limits else ledger.rule) != ledger.rule:
        raise _begun_otherwise(file, "rule")
    usual = {"max_noise": begun["max_noise"], "share": begun["share"]}
    usual |= {} if budget else {"max_leakage": begun["limit"]}
    if ledger.rule == "public":
        law = Reference(begun["mean"], begun["cov"])
        usual |= {"bounds": ledger.bounds, "reference": law}
    limits = {**usual, **limits}
    rows = np.zeros((3, values.shape[1]))
    for j, (low, _) in limits.get("bounds", {}).items():
        rows[:, j] = low
    for name, value in _head(Ledger(rows, **limits).to_bytes()).items():
        if begun.get(name) != value and name not in ("version", "sha256", "digest"):
            words = {"mean": "reference", "cov": "reference"}.get(name, name.replace("_", " "))
            shown = f", {begun[name]:.6g}" if isinstance(value, float) else ""
            raise _begun_otherwise(file, words + shown)
    return ledger


def _begun_otherwise(file: LedgerFile, words: str) -> ValueError:
    return ValueError(f"{visible(file.path)} was begun with another {words}: leave the option out")


# --- the ledger's file ---------------------------------------------------------------------------


class LedgerFile:
    """A ledger's file that is locked.

    Attributes
    ----------
    path : str
    content : bytes or None
        What it held when it was opened; None if it did not exist.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.content = self._read()

    def _read(self) -> bytes | None:
        try:
            return Path(self.path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, content: bytes) -> None:
        """Replace the file, unless another program has changed it without its lock."""
        if self._read() != self.content:
            raise ValueError(f"{visible(self.path)} was changed meanwhile: nothing is answered")
        outputs.write(self.path, content.decode("ascii"))
        self.content = content


@contextlib.contextmanager
def opened(path: str) -> Iterator[LedgerFile]:
    """Lock a ledger's file by a file beside it, which stays; refuse if another program has it.

    The system takes the lock from a program that ends, however it ends.
    """
    if Path(path).exists() and not Path(path).is_file():  # a device has no end
        raise ValueError(f"--ledger {visible(path)} must be a file")
    with Path(f"{path}.lock").open("ab") as file:
        try:
            _lock(file.fileno())
        except OSError:
            raise ValueError(
                f"{visible(path)} is open in another program: ask again when that has ended"
            ) from None
        yield LedgerFile(path)


def _lock(descriptor: int) -> None:
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _head(content: bytes) -> dict[str, Any]:
    """Return the first line of a ledger."""
    return dict(json.loads(content.split(b"\n", 1)[0]))


# --- columns -------------------------------------------------------------------------------------


def _numbered(limits: Mapping[str, Any], table: Table, numbers: Sequence[int]) -> dict[str, Any]:
    """Return the bounds, if there are any, by number of the ledger's column."""
    if "bounds" not in limits:
        return {}
    places = {numbers.index(_number_column(table, name)): name for name in limits["bounds"]}
    return {"bounds": {j: limits["bounds"][name] for j, name in places.items()}}


def _bounds(
    file: LedgerFile, options: Mapping[str, Any], columns: int
) -> Mapping[int, tuple[float, float]]:
    """Return the bounds by number of the ledger's column: those of the file, or of a new ledger."""
    if file.content is None:
        return dict(options.get("bounds", {}))
    try:
        ends = _head(file.content).get("bounds", ())
        return {j: (low, high) for j, low, high in ends if j < columns}
    except (ValueError, TypeError):
        return {}  # the ledger refuses it with the line


@contextlib.contextmanager
def _named(table: Table, numbers: Sequence[int]) -> Iterator[None]:
    """Name the columns that errors number, and leave what else a message quotes, as a path."""

    def named(number: re.Match[str]) -> str:
        name = visible(table.columns[numbers[int(number[1] or number[2])]])
        return f"--bounds {name}=" if number[1] else f"column {name!r}"

    try:
        yield
    except ValueError as error:
        numbered = r"bounds\[(\d+)\]=|column (\d+)(?= must | holds )"
        raise ValueError(re.sub(numbered, named, str(error))) from error


def _require_public(
    table: Table, where: grammar.Selection | None, chosen: Sequence[int], secret: Mapping[int, int]
) -> None:
    """Refuse a selection by values that are secret, and a statistic of others."""
    if not secret:
        return
    of = {_place(table, c.column) for c in (() if where is None else where.conditions)}
    for column in of & set(secret):
        raise ValueError(
            f"--where: the values of column {visible(table.columns[column])!r} are secret, as it "
            "has bounds: select by other columns"
        )
    if not set(chosen) <= set(secret.values()):
        raise ValueError(
            f"--columns: only {listed([table.columns[j] for j in secret])} can be asked for, the "
            "columns with bounds"
        )


def _reference(
    path: str, columns: Sequence[str], reading: Mapping[str, Any], secret: Table
) -> Reference:
    """Return the law of columns in a public table."""
    table = read_table(path, **reading)
    if table.sha256 == secret.sha256:
        raise ValueError("--reference must be a table of others, whose values are no secret")
    values = table.values[:, [_number_column(table, name) for name in columns]]
    return Reference.fit(values[~np.isnan(values).any(axis=1)])


def _place(table: Table, name: str) -> int:
    shown = {visible(column): column for column in table.columns}
    name = name if name in table.columns else shown.get(name, name)
    if name not in table.columns:
        raise ValueError(no_column(table.name, name, table.columns))
    return table.columns.index(name)


def _values_of(table: Table, numbers: Sequence[int]) -> Doubles:
    """Return columns; refuse numbers whose sums may be infinite."""
    values = np.array(table.values[:, numbers])
    largest = np.nan_to_num(np.abs(values), posinf=0.0).max(axis=0, initial=0.0)
    limit = np.finfo(float).max / max(len(values), 1)  # of a `Ledger`
    if largest.max() > limit:
        name = visible(table.columns[numbers[int(largest.argmax())]])
        raise ValueError(
            f"{table.name}: the values of column {name!r} must be at most {limit:g} in size, "
            f"not {largest.max():.3g}: give it in other units, or answer from a file without it"
        )
    return values


def _number_column(table: Table, name: str, *, published: bool = True) -> int:
    """Return a column of numbers, that can be published or at least compared."""
    at = _place(table, name)
    if at in table.refused:
        raise ValueError(f"column {visible(name)!r}: {table.refused[at]}")
    if published and at in table.excluded:
        raise ValueError(f"column {visible(name)!r} cannot be published: {table.excluded[at]}")
    if np.isnan(table.values[:, at]).all():
        raise ValueError(
            f"--where: column {visible(name)!r} holds no numbers: put what it is compared with in "
            "quotes"
        )
    return at


def _mask(
    table: Table, where: grammar.Selection | None, path: str, reading: Mapping[str, Any]
) -> Any:
    """Return which records a selection holds."""
    if where is None:
        return np.ones(len(table.values), dtype=np.bool_)
    texts = {
        c.column: table.columns[_place(table, c.column)] for c in where.conditions if c.of_text
    }
    labelled = (
        read_table(path, **{**reading, "groups": tuple(set(texts.values()))}) if texts else table
    )
    if labelled.sha256 != table.sha256:
        raise ValueError(f"{table.name} changed while it was read: wait until it is complete")

    def column(condition: grammar.Condition) -> Any:
        if not condition.of_text:
            return table.values[:, _number_column(table, condition.column, published=False)]
        labels = labelled.groups[texts[condition.column]]
        _require_words(table, condition, labels)
        return labels

    return where.of(column)


def _require_words(table: Table, condition: grammar.Condition, labels: Any) -> None:
    """Refuse a word that no record has: it is misspelt, or the column holds numbers."""
    present = sorted(set(labels.tolist()) - {""})
    at = _place(table, condition.column)
    content = listed(present) if at in table.excluded else "numbers"
    for value in condition.values:
        if value not in present:
            raise ValueError(
                f"--where: no record has {visible(str(value))!r} in column "
                f"{visible(condition.column)!r} of {table.name}; it has {content}"
            )
