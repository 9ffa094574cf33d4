"""A test whether members and non-members differ without the model, as in dates or lengths.

Also the features of columns of numbers, dates and words, with missing values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit import BlindCheck, blind_check
from leakscore.typing import Doubles, Flags
from leakscore_app._visible import listed, no_column, visible
from leakscore_app.audits import words
from leakscore_app.audits.model import percent
from leakscore_app.audits.scores import ScoreColumns, columns_of, member_column
from leakscore_app.document import Check
from leakscore_app.document import document as doc
from leakscore_app.document.document import Findings
from leakscore_app.tables import ReadingOptions, files

Labels: TypeAlias = npt.NDArray[np.str_]

MOST_LEVELS = 300
"""Columns of indicators for one category, at most; rarer levels have none."""

_MISMATCH = math.sqrt(0.5)  # the distance of two records of different levels is 1


def levels_of(labels: Labels, most: int = MOST_LEVELS) -> list[str]:
    """Return the levels of a category, sorted; of more than `most` the most frequent."""
    values, counts = np.unique(labels, return_counts=True)
    return sorted(values[np.argsort(-counts, kind="stable")[:most]].tolist())


def indicators(labels: Labels, levels: Sequence[str]) -> Doubles:
    """Return an indicator column for each level; other labels have zeros."""
    equal = labels[:, np.newaxis] == np.asarray(levels)[np.newaxis]
    return np.where(equal, _MISMATCH, 0.0)


def fill_gaps(values: Doubles, centre: float, *, gaps: bool) -> Doubles:
    """Return numbers with gaps set to `centre`; with `gaps`, also a column that marks them."""
    missing = np.isnan(values)
    full = np.where(missing, centre, values)
    return np.column_stack([full, missing] if gaps else [full])


def dates_as_seconds(labels: Labels) -> Doubles | None:
    """Return dates as seconds, NaN for an empty label; None if a label is no date."""
    try:
        dates = labels.astype("datetime64[s]")
    except ValueError:
        return None
    return np.where(np.isnat(dates), np.nan, dates.astype(np.float64))


@dataclass(frozen=True)
class ColumnTest:
    """The test of one column; of several features that with the smallest corrected p-value."""

    name: str
    auc: float
    p_value: float


@dataclass(frozen=True, eq=False)
class BlindAudit(Findings):
    """What columns that need no model reveal about membership.

    Attributes
    ----------
    input : dict
        The file, the column of memberships, the numbers of each kind, and notes of the reader.
    columns : tuple of ColumnTest
        The test of each column by itself.
    test : BlindCheck
        The test of all features together.
    confidence : float
        Of the verdict.
    verdict : {"refuted", "consistent", "cannot-tell"}
        Verdict on the claim that members and non-members are alike.
    """

    command = "audit --blind"

    input: dict[str, Any]
    columns: tuple[ColumnTest, ...]
    test: BlindCheck
    confidence: float
    verdict: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return str(self.input["files"][0]["name"])

    @property
    def notices(self) -> Sequence[doc.Notice]:
        """What must be known to read the p-values."""
        return (
            doc.note(
                "only-these-columns",
                "The p-values are exact if members are a random subset of the records: the same "
                "fit is made of re-labelled ones. A large one does not show that members and "
                "non-members are alike: only that these columns do not tell them apart.",
            ),
        )

    def contents(self) -> dict[str, Any]:
        """Return the fields of the JSON besides envelope and notices."""
        return {
            "input": self.input,
            "verdict": {"verdict": self.verdict},
            "confidence": self.confidence,
            "auc": self.test.auc,
            "p_value": self.test.p_value,
            "columns": self.columns,
            "relabellings": self.test.relabellings,
            "seed": self.test.seed,
        }

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        rows = [ColumnTest("all together", self.test.auc, self.test.p_value), *self.columns]
        table = doc.TextTable.of(
            {
                "column": [row.name for row in rows],
                "AUC": [f"{row.auc:.3f}" for row in rows],
                "p-value": [words.number(row.p_value, 3) for row in rows],
            },
            "Above 1/2: larger values for members. Exact, corrected for the number of columns",
        )
        facts = [("sha256", self.input["files"][0]["sha256"])]
        facts += [("note", text) for text in self.input["notes"]]
        facts += [("made by", f"leakscore {self.tool_version}, seed {self.test.seed}")]
        members = f"{self.test.members} members, {self.test.nonmembers} non-members"
        return doc.Document(
            f"leakscore audit: {self.name}",
            [[doc.Heading(_verdict_line(self)), doc.Paragraph(_consequence(self))]],
            (
                doc.Section(f"What tells {members} apart", [table]),
                doc.Section("To know", [doc.Notices(self.notices)]),
                words.input_section([("file", self.name), *facts]),
            ),
        )

    def check(self) -> Check:
        """Return the verdict for other programs."""
        return Check(
            name="members and non-members are alike",
            verdict=self.verdict,
            message=f"{_verdict_line(self)} {_consequence(self)}",
            properties={"auc": self.test.auc, "p_value": self.test.p_value},
        )


def _verdict_line(findings: BlindAudit) -> str:
    """Return the verdict as a sentence."""
    p = f"(p-value {words.number(findings.test.p_value, 3)} of all columns together)"
    return {
        "refuted": f"Members and non-members DIFFER without the model {p}.",
        "consistent": f"NO DIFFERENCE SHOWN between members and non-members {p}.",
        "cannot-tell": "INCONCLUSIVE: no difference could have been shown.",
    }[findings.verdict]


def _consequence(findings: BlindAudit) -> str:
    """Return what follows from the verdict."""
    return {
        "refuted": "An audit of these scores says nothing of the model: an attack that never asks "
        "it tells them apart. Take non-members from the source of the members, decide at random "
        "who is trained on, and score again.",
        "consistent": "That does not prove that they are alike, but these columns are no reason "
        f"against an audit, with {percent(findings.confidence)} confidence.",
        "cannot-tell": "There are too few records, or the columns do not vary: look at others.",
    }[findings.verdict]


def blind(
    path: str,
    columns: Sequence[str],
    *,
    member: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    options: ReadingOptions | None = None,
) -> BlindAudit:
    """Test whether columns of a file distinguish its members from its non-members.

    Parameters
    ----------
    path : str
        A table, or arrays by name, with a membership for each record.
    columns : sequence of str
        Columns that need no model: numbers, dates as 2024-05-31, or words.
    member : str, optional
        The column of memberships; chosen by its name if not given.
    confidence : float
        Of the verdict.
    seed : int
        Decides folds and re-labellings.
    options : ReadingOptions, optional
        How to read the file.

    Returns
    -------
    BlindAudit

    Raises
    ------
    ValueError
        If the file cannot be read, a column is missing, or there are fewer than 8 records.
    """
    options = options or ReadingOptions()
    level = 1.0 - validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    file = files.open_file(path, options.max_memory)
    table = columns_of(file, options)
    chosen = member_column(table, member)
    if chosen is None:
        raise ValueError(
            f"{file.name} has the columns {listed(table.names)}: name the one of the memberships "
            "with --member"
        )
    for name in columns:
        if name == chosen:
            raise ValueError(f"--blind {visible(name)} must not be the column of the memberships")
        if name not in table.names:
            raise ValueError(no_column(file.name, name, table.names, "--blind"))
    inside = table.bits(chosen)
    text = tuple(name for name in columns if _is_text(table, name))
    if text and file.kind not in ("npy", "npz"):
        table = columns_of(file, replace(options, groups=text))
    parts = {}
    for name in dict.fromkeys(columns):
        values = table.get(name)
        if values.ndim not in (1, 2) or len(values) != len(inside):
            raise ValueError(
                f"{table.where(name)} of shape {values.shape} must hold a value, or a row, "
                f"for each of {len(inside)} records"
            )
        parts[name] = _features(values)
    return _test_features(table, parts, inside, chosen, level=level, seed=seed)


def _test_features(
    table: ScoreColumns,
    parts: dict[str, Doubles],
    inside: Flags,
    member: str,
    *,
    level: float,
    seed: int,
) -> BlindAudit:
    """Test all features together, and those of each column (`parts`) by themselves."""
    features = np.hstack(list(parts.values()))
    relabellings = max(999, 100 * features.shape[1])
    test = blind_check(features, inside, rng=seed, relabellings=relabellings)
    ends = np.cumsum([0, *(part.shape[1] for part in parts.values())])
    best = [k + int(np.argmin(test.column_p_values[k:stop])) for k, stop in pairwise(ends)]
    rows = zip(
        parts, test.column_auc[best].tolist(), test.column_p_values[best].tolist(), strict=True
    )
    judged = tuple(ColumnTest(*row) for row in rows)
    labellings = math.comb(len(inside), int(inside.sum()))
    verdict = "consistent"
    if min(test.p_value, *(row.p_value for row in judged)) <= 0.5 * level:
        verdict = "refuted"
    elif 0.5 * level * labellings < 1.0 or not np.ptp(features, axis=0).any():
        verdict = "cannot-tell"
    return BlindAudit(
        input={
            "files": [{"name": table.file.name, "sha256": table.file.sha256}],
            "format": table.format,
            "columns": {"member": member},
            "members": test.members,
            "nonmembers": test.nonmembers,
            "notes": table.notes,
        },
        columns=judged,
        test=test,
        confidence=1.0 - level,
        verdict=verdict,
    )


def _is_text(table: ScoreColumns, name: str) -> bool:
    try:
        return table.get(name).dtype.kind not in "fiub"
    except ValueError:
        return True


def _features(values: npt.NDArray[Any]) -> Doubles:
    """Return a column as numbers: indicators of words, seconds of dates, marks of gaps."""
    if values.ndim == 2:
        return np.hstack([_features(column) for column in values.T])
    if values.dtype.kind == "S":
        values = np.char.decode(values, "latin-1")
    if values.dtype.kind in "fiub":
        numbers = values.astype(np.float64)
        missing = np.isnan(numbers)
        centre = 0.0 if missing.all() else float(np.nanmedian(numbers))
        return fill_gaps(numbers, centre, gaps=bool(missing.any()))
    labels = values.astype(np.str_)
    dates = dates_as_seconds(labels)
    return indicators(labels, levels_of(labels)) if dates is None else _features(dates)
