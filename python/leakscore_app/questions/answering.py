"""From a table, a ledger and a question to an answer, or to a refusal, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakscore.leakage import Answer, Ledger, Refusal
from leakscore_app._visible import listed, visible
from leakscore_app.document import document as doc
from leakscore_app.document.document import Notice
from leakscore_app.document.findings import Findings
from leakscore_app.document.text import counted
from leakscore_app.questions import grammar, kept
from leakscore_app.tables.table import Table, read_table

__all__ = ["Question", "Reply", "ask"]

_LIMITS = ("max_advantage", "max_power", "epsilon", "max_leakage")
_NOTICES = (
    Notice(
        "note",
        "not-simulatable",
        "Whether an answer is refused, and how much noise it has, depends on the values, so both "
        "can tell of them: pass on the answer, and not what stands here.",
    ),
    Notice(
        "note",
        "secret",
        "The ledger holds selections, values and noise. It is as secret as the table, and only "
        "answers that are in it are counted.",
    ),
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
    outcome : Answer or Refusal
        Its columns are numbers of the ledger's table; the question names them.
    collides : tuple of (int, str)
        Earlier answers and their questions.
    preview : bool
        Whether nothing was answered.
    input : dict
        The table, the ledger, and notes on the reading.
    """

    command = "ask"

    question: Question
    limit: float
    outcome: Answer | Refusal
    collides: tuple[tuple[int, str], ...]
    preview: bool
    input: Mapping[str, Any]

    @property
    def notices(self) -> Sequence[Notice]:
        """What must be known to read the numbers."""
        return _NOTICES

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
            details = [doc.Paragraph(_costs(self.outcome, self.limit))]
        secret = doc.Section("For the keeper of the table alone", [*details, doc.Notices(_NOTICES)])
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


def _costs(answer: Answer, limit: float) -> str:
    costs = (
        f"With it a record leaks at most {_number(answer.leakage)}; {_number(limit)} is allowed."
    )
    if answer.free:
        costs = f"It follows from earlier answers and tells nothing new. {costs}"
    if answer.standard_errors:
        costs += f" Its noise is {_number(answer.standard_errors)} of its own standard error."
    return costs


def _refusal(reply: Reply, refusal: Refusal) -> list[doc.Part]:
    records, leakage = counted(refusal.exceeding, "record"), _number(refusal.leakage)
    reason = (
        f"It would tell too much of {records}: leakage {leakage}, {_number(reply.limit)} allowed"
    )
    reason += ", together with earlier answers:" if reply.collides else ", by itself."
    noise = "No noise is enough."
    if refusal.standard_errors < np.inf:
        noise = (
            f"With noise of {_number(refusal.standard_errors)} of its own standard error it could "
            "be answered, which is more than the ledger allows."
        )
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
        Arguments of `Ledger` that were given; of a ledger that exists they must be its own.
    preview : bool
        Whether nothing is answered.
    reading : mapping
        Arguments of `read_table`.
    """
    where = None if question.where is None else grammar.parse(question.where)
    table = read_table(path, **reading)
    names = [
        j for j in range(len(table.columns)) if j not in table.excluded and j not in table.refused
    ]
    if not names:
        raise ValueError(f"{table.name} has no column of numbers")
    chosen = [names.index(_number_column(table, name)) for name in question.columns]
    mask = _mask(table, where, path, reading)
    values = table.values[:, names]
    missing = np.isnan(values)
    mask &= ~missing[:, chosen].any(axis=1)
    if not mask.any():
        raise ValueError("--where: no record is selected that has a value in every column")
    with kept.opened(ledger_path) as file:
        ledger = _ledger(file, np.where(missing, 0.0, values), limits)
        parts = (mask, question.statistic, chosen)
        outcome = ledger.preview(*parts) if preview else ledger.ask(*parts, label=question.words)
        if isinstance(outcome, Answer) and not preview:
            file.write(ledger.to_bytes())
    numbers = outcome.collides if isinstance(outcome, Refusal) else ()
    return Reply(
        question=question,
        limit=ledger.limit,
        outcome=outcome,
        collides=tuple((number, ledger.labels[number - 1]) for number in numbers),
        preview=preview,
        input={"table": table.name, "sha256": table.sha256, "notes": table.notes},
    )


def _ledger(file: kept.LedgerFile, values: Any, limits: Mapping[str, Any]) -> Ledger:
    """Return the ledger of a file; a new one if there is none yet."""
    budget = any(name in limits for name in _LIMITS)
    if file.content is None:
        usual = {"max_noise": 1.0} if budget else {"max_noise": 1.0, "max_advantage": 0.2}
        return Ledger(values, **{**usual, **limits})
    try:
        ledger = Ledger.from_bytes(file.content, values)
    except ValueError as error:
        raise ValueError(f"{visible(file.path)}: {error}") from None
    fresh = Ledger(np.zeros((3, 1)), **(limits if budget else {**limits, "max_leakage": 1.0}))
    differs = {
        "limit": budget and fresh.limit != ledger.limit,
        "max_noise": "max_noise" in limits and fresh.max_noise != ledger.max_noise,
        "share": "share" in limits and fresh.share != ledger.share,
    }
    for name, other in differs.items():
        if other:
            raise ValueError(
                f"{visible(file.path)} was begun with another {name.replace('_', ' ')}, "
                f"{getattr(ledger, name):.6g}: leave the option out"
            )
    return ledger


# --- columns -------------------------------------------------------------------------------------


def _place(table: Table, name: str) -> int:
    shown = {visible(column): column for column in table.columns}
    name = name if name in table.columns else shown.get(name, name)
    if name not in table.columns:
        raise ValueError(
            f"{table.name} has no column '{visible(name)}'; it has {listed(list(table.columns))}"
        )
    return table.columns.index(name)


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
    """Refuse a word that no record has, as it is misspelt or the column holds numbers."""
    present = sorted(set(labels.tolist()) - {""})
    at = _place(table, condition.column)
    content = listed(present) if at in table.excluded else "numbers"
    for value in condition.values:
        if value not in present:
            raise ValueError(
                f"--where: no record has {visible(str(value))!r} in column "
                f"{visible(condition.column)!r} of {table.name}; it has {content}"
            )
