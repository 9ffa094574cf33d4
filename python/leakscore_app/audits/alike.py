"""Whether members and non-members differ in what is known of them without the model.

Also how columns of numbers, dates and words become features, missing values and all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit import BlindCheck, blind_check
from leakscore_app._visible import listed
from leakscore_app.audits import words
from leakscore_app.audits.columns import ScoreColumns, columns_of
from leakscore_app.audits.model import percent
from leakscore_app.audits.scores import MEMBER_NAMES, plain_name
from leakscore_app.document import document as doc
from leakscore_app.document.checks import Check
from leakscore_app.document.document import Notice
from leakscore_app.document.findings import Findings
from leakscore_app.tables import files
from leakscore_app.tables.cells import ReadingOptions

Doubles: TypeAlias = npt.NDArray[np.float64]
Labels: TypeAlias = npt.NDArray[np.str_]

MOST_LEVELS = 300
"""Columns that are made of categories; rare levels share one."""

_MISMATCH = math.sqrt(0.5)  # two records of different levels are a unit apart


def levels_of(labels: Sequence[Labels], most: int = MOST_LEVELS) -> list[str]:
    """Return the levels of a category in several tables, rare ones beyond `most` left out."""
    values, counts = np.unique(np.concatenate(labels), return_counts=True)
    return sorted(values[np.argsort(-counts, kind="stable")[:most]].tolist())


def indicators(labels: Labels, levels: Sequence[str]) -> Doubles:
    """Return a column for each level; other labels have none."""
    return _MISMATCH * (labels[:, np.newaxis] == np.asarray(levels)[np.newaxis])


def filled(values: Doubles, centre: float, *, gaps: bool) -> Doubles:
    """Return a column of numbers; with `gaps`, also where they are missing."""
    missing = np.isnan(values)
    full = np.where(missing, centre, values)
    return np.column_stack([full, missing] if gaps else [full])


@dataclass(frozen=True, eq=False)
class Alike(Findings):
    """What is known without the model tells of membership.

    Attributes
    ----------
    input : dict
        The file, the column of memberships, how many there are, and notes on the reading.
    columns : tuple of str
        What was looked at.
    auc, p_values : tuple of float
        Of each column by itself, corrected for their number; of several features the smallest.
    test : BlindCheck
        Of all features together.
    verdict : {"refuted", "consistent", "cannot-tell"}
        Of the claim that they are alike.
    """

    command = "audit --blind"

    input: dict[str, Any]
    columns: tuple[str, ...]
    auc: tuple[float, ...]
    p_values: tuple[float, ...]
    test: BlindCheck
    confidence: float
    verdict: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return str(self.input["files"][0]["name"])

    @property
    def notices(self) -> Sequence[Notice]:
        """What must be known to read the p-values."""
        return (
            Notice(
                "note",
                "exact",
                "The p-values are exact if members are a random subset of the records, whatever "
                "the columns are: the same fit is made for re-labelled records. Of all columns "
                "together and of each, half of what may go wrong is spent.",
            ),
            Notice(
                "note",
                "only-these-columns",
                "A large p-value does not show that members and non-members are alike: only that "
                "these columns do not tell them apart.",
            ),
        )

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices."""
        rows = zip(self.columns, self.auc, self.p_values, strict=True)
        return {
            "input": self.input,
            "verdict": {"verdict": self.verdict},
            "confidence": self.confidence,
            "auc": self.test.auc,
            "p_value": self.test.p_value,
            "columns": [{"name": name, "auc": auc, "p_value": p} for name, auc, p in rows],
            "relabellings": self.test.relabellings,
            "seed": self.test.seed,
        }

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        rows = zip(self.columns, self.auc, self.p_values, strict=True)
        table = doc.TextTable(
            ["column", "AUC", "p-value"],
            [
                ["all together", f"{self.test.auc:.3f}", words.number(self.test.p_value, 3)],
                *([name, f"{auc:.3f}", words.number(p, 3)] for name, auc, p in rows),
            ],
            "Above 1/2: larger values for members. Exact, corrected for the number of columns",
        )
        return doc.Document(
            f"leakscore audit: {self.name}",
            [[doc.Heading(said(self.verdict, self.test.p_value)), doc.Paragraph(follows(self))]],
            (
                doc.Section("What tells members from non-members without the model", [table]),
                doc.Section("To know", [doc.Notices(self.notices)]),
                doc.Section("What was read", [doc.Definitions(list(self._read()))]),
            ),
        )

    def _read(self) -> Iterator[tuple[str, str]]:
        yield "file", self.name
        yield "sha256", self.input["files"][0]["sha256"]
        yield "records", f"{self.test.members} members, {self.test.nonmembers} non-members"
        for note in self.input["notes"]:
            yield "note", note
        yield "made by", f"leakscore {self.tool_version}, seed {self.test.seed}"

    def check(self) -> Check:
        """Return what other programs are told."""
        return Check(
            name="members and non-members are alike",
            verdict=self.verdict,
            message=f"{said(self.verdict, self.test.p_value)} {follows(self)}",
            files=(self.name,),
            properties={
                "auc": self.test.auc,
                "p_value": self.test.p_value,
                "members": self.test.members,
                "nonmembers": self.test.nonmembers,
            },
            version=self.tool_version,
        )


def said(verdict: str, p_value: float) -> str:
    """Say whether they differ."""
    p = f"p-value {words.number(p_value, 3)} of all columns together"
    return {
        "refuted": f"Members and non-members DIFFER without the model ({p}).",
        "consistent": f"NO DIFFERENCE SHOWN between members and non-members ({p}).",
        "cannot-tell": "INCONCLUSIVE: no difference could have been shown.",
    }[verdict]


def follows(findings: Alike) -> str:
    """Say what follows from the verdict."""
    if findings.verdict == "refuted":
        return (
            "An audit of these scores says nothing of the model: an attack that never asks it "
            "tells them apart. Take non-members from the source of the members, decide at random "
            "who is trained on, and score again."
        )
    if findings.verdict == "consistent":
        return (
            "That does not prove that they are alike, but these columns are no reason against an "
            f"audit, with {percent(findings.confidence)} confidence."
        )
    return "There are too few records, or the columns do not vary: look at others."


def blind(
    path: str,
    columns: Sequence[str],
    *,
    member: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    options: ReadingOptions | None = None,
) -> Alike:
    """Tell whether columns of a file tell its members from its non-members.

    Parameters
    ----------
    path : str
        A table, or arrays by name, with a membership for each record.
    columns : sequence of str
        What is known without the model: numbers, dates as 2024-05-31, or words.
    member : str, optional
        The column of memberships; found by its name if not given.
    confidence : float
        Of the verdict.
    seed : int
        Of folds and re-labellings.
    options : ReadingOptions, optional
        How the file is to be read.

    Returns
    -------
    Alike

    Raises
    ------
    ValueError
        If the file cannot be read, a column is missing, or there are fewer than 8 records.
    """
    options = options or ReadingOptions()
    level = 1.0 - validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    file = files.open_file(path, options.max_memory)
    read = columns_of(file, options)
    chosen = _member(read.names, member, file.name)
    for name in columns:
        if name not in read.names or name == chosen:
            raise ValueError(
                f"{file.name} has no column {name!r} to look at beside the memberships "
                f"{chosen!r}; it has {listed(read.names)}"
            )
    inside = read.bits(chosen)
    text = tuple(name for name in columns if _is_text(read, name))
    if text and file.kind not in ("npy", "npz"):
        read = columns_of(file, replace(options, groups=text))
    parts = {}
    for name in dict.fromkeys(columns):
        values = read.get(name)
        if values.ndim not in (1, 2) or len(values) != len(inside):
            raise ValueError(
                f"Expected {read.where(name)} of shape {values.shape} to hold a value, or a row, "
                f"for each of {len(inside)} records"
            )
        parts[name] = _features(values)
    return _tested(read, parts, inside, chosen, level=level, seed=seed)


def _tested(
    read: ScoreColumns,
    parts: dict[str, Doubles],
    inside: npt.NDArray[np.bool_],
    member: str,
    *,
    level: float,
    seed: int,
) -> Alike:
    """Test the features of the columns; those of each column are joined at the end."""
    features = np.hstack(list(parts.values()))
    relabellings = max(999, 100 * features.shape[1])
    test = blind_check(features, inside, rng=seed, relabellings=relabellings)
    ends = np.cumsum([0, *(part.shape[1] for part in parts.values())])
    best = [
        start + int(np.argmin(test.column_p_values[start:stop])) for start, stop in pairwise(ends)
    ]
    p_values = test.column_p_values[best].tolist()
    labellings = math.comb(len(inside), int(inside.sum()))
    verdict = "consistent"
    if min(test.p_value, *p_values) <= 0.5 * level:
        verdict = "refuted"
    elif 0.5 * level * labellings < 1.0 or not np.ptp(features, axis=0).any():
        verdict = "cannot-tell"
    return Alike(
        input={
            "files": [{"name": read.file.name, "sha256": read.file.sha256}],
            "format": read.format,
            "columns": {"member": member},
            "members": test.members,
            "nonmembers": test.nonmembers,
            "notes": read.notes,
        },
        columns=tuple(parts),
        auc=tuple(test.column_auc[best].tolist()),
        p_values=tuple(p_values),
        test=test,
        confidence=1.0 - level,
        verdict=verdict,
    )


def _member(names: Sequence[str], given: str | None, file: str) -> str:
    """Return the column of memberships."""
    matches = [name for name in names if plain_name(name) in MEMBER_NAMES]
    matches = matches if given is None else [name for name in names if name == given]
    if len(matches) != 1:
        raise ValueError(
            f"{file} has the columns {listed(names)}: name the one of the memberships with --member"
        )
    return matches[0]


def _is_text(read: ScoreColumns, name: str) -> bool:
    try:
        return read.get(name).dtype.kind not in "fiub"
    except ValueError:
        return True


def _features(values: npt.NDArray[Any]) -> Doubles:
    """Return a column as numbers: words as levels, dates as seconds, and where it is missing."""
    if values.ndim == 2:
        return np.hstack([_features(column) for column in values.T])
    if values.dtype.kind == "S":
        values = np.char.decode(values, "latin-1")
    if values.dtype.kind in "fiub":
        numbers = values.astype(np.float64)
        missing = np.isnan(numbers)
        centre = 0.0 if missing.all() else float(np.nanmedian(numbers))
        return filled(numbers, centre, gaps=bool(missing.any()))
    labels = values.astype(np.str_)
    try:
        days = labels.astype("datetime64[s]")
    except ValueError:
        return indicators(labels, levels_of([labels]))
    seconds = np.where(np.isnat(days), np.nan, days.astype(np.float64))
    return _features(seconds)
