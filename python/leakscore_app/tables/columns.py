"""What the columns of a file mean: numbers, categories, names of rows; and what must be settled.

A column that cannot be read without a guess gets a refusal, which is raised when it is to be
judged: a column that is left out may hold what it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import listed, visible
from leakscore_app.tables import doubts
from leakscore_app.tables.categories import Categories, rows_of
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, plain, text_of
from leakscore_app.tables.conventions import CONVENTIONS
from leakscore_app.tables.doubts import Column
from leakscore_app.tables.numbers import Survey, Vote, survey_of, vote_of
from leakscore_app.tables.summaries import (
    INDEX,
    Columns,
    code_in,
    date_in,
    names_people,
    names_rows,
    spread_of,
    summed_up,
)

ASKED = "as asked"
OWNER = "it tells who a record belongs to"
GROUP = "it tells which group a record belongs to"
NOT_PUBLISHED = frozenset({ASKED, INDEX, OWNER, GROUP})


@dataclass
class DecodedTable:
    """The columns of a table, who its records belong to, and notes on how it was read.

    `shared` are columns that may tell whom records belong to, and how many they name. `shares` are
    those of `Table`.
    """

    columns: list[Column]
    ids: npt.NDArray[np.str_] | None = None
    groups: dict[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)
    shares: dict[str, tuple[str, ...]] = field(default_factory=dict)


def content_of(grid: Grid, options: ReadingOptions) -> DecodedTable:
    """Say what the columns of a file hold.

    Parameters
    ----------
    grid : Grid
    options : ReadingOptions

    Returns
    -------
    DecodedTable

    Raises
    ------
    ValueError
        If two columns have one name, a named column does not exist, or the last records sum up the
        others.
    """
    notes = list(grid.notes)
    names = _named(grid)
    categories = Categories.of(options, most_groups=None)
    options = categories.ask(grid.name, names, options)
    words = {name: _category(grid, name, names[name], categories) for name in categories.names}
    grouped, shares = categories.coded(grid.name, names)
    published = dict.fromkeys(name for name in names if _is_wanted(name, options))
    surveys = _surveys(names, published, options)
    numeric = {n: s for n, s in surveys.items() if s.numeric(_typed(names[n]))}
    vote, noted = voted(numeric, options)
    notes += noted
    typed = [name for name in published if name not in surveys and names[name].numbers is not None]
    numbers = {name: names[name] for name in (*numeric, *typed)}
    above = doubts.remedy_above(grid, numbers, surveys, options)
    columns = []
    for name, cells in names.items():
        if name not in published:
            columns.append(_empty(name, grid.rows, _why_not_wanted(name, options)))
        elif name in shares:
            levels = rows_of({name: words[name]}, list(shares[name].shares), shares[name].shares)
            columns.extend(map(Column, shares[name].shares, levels.T))
        else:
            columns.append(_column(grid, name, cells, surveys.get(name), vote, options))
    notes.extend(_notes_on({name: surveys[name] for name in numeric}, options))
    codes = _leave_out(columns, names, grid, options)
    for column in columns:
        column.remedy = above.get(column.name, column.remedy)
    doubts.refuse_marks(columns, surveys, vote, grid)
    doubts.refuse_codes(columns, codes, grid, complete=options.complete)
    ids = None if options.id is None else ids_of(grid, names[options.id], options.id)
    groups = {name: coded.labels(words[name]) for name, coded in grouped.items()}
    named = {*(options.columns or ()), *options.groups}
    unasked = {name: cells for name, cells in names.items() if name not in named}
    owners = {} if options.id is not None else shared(unasked, grid.rows)
    levels_of = {name: coded.columns for name, coded in shares.items() if name in published}
    return DecodedTable(columns, ids, groups, notes, owners, levels_of)


# --- which columns -------------------------------------------------------------------------------


def _named(grid: Grid) -> dict[str, Cells]:
    names: dict[str, Cells] = {}
    for index, cells in enumerate(grid.columns, start=1):
        name = cells.name.strip() or f"column {index}"
        if name in names:
            first = list(names).index(name) + 1
            above = " and --skip-lines"
            if grid.lines is not None and len(grid.lines):
                above = f" --skip-lines {grid.lines[0] - 1}"
            raise ValueError(
                f"{grid.name}: columns {first} and {index} are both named {visible(name)!r}: "
                f"rename one of them, or number them by --header no{above}"
            )
        names[name] = cells
    return names


def _is_wanted(name: str, options: ReadingOptions) -> bool:
    if name == options.id or name in options.exclude or name in options.groups:
        return False
    return options.columns is None or name in options.columns or name in options.proportions


def _why_not_wanted(name: str, options: ReadingOptions) -> str:
    if name in options.groups:
        return GROUP
    return OWNER if name == options.id else ASKED


def _empty(name: str, rows: int, excluded: str) -> Column:
    return Column(name, np.full(rows, np.nan), excluded)


def _surveys(
    names: Mapping[str, Cells], published: Iterable[str], options: ReadingOptions
) -> dict[str, Survey]:
    missing = options.words_for_missing
    return {
        name: survey_of(names[name].text, words=options.words, missing=missing)
        for name in published
        if names[name].text is not None
        and not names[name].other
        and name not in options.proportions
    }


def voted(surveys: Mapping[str, Survey], options: ReadingOptions) -> tuple[Vote, list[str]]:
    """Return the convention of all columns of numbers, and a note on it."""
    voters = {name: survey for name, survey in surveys.items() if survey.numbers}
    vote = vote_of(voters, options.decimal, options.thousands)
    words = CONVENTIONS[vote.convention].words
    return vote, [f"numbers are read with {words}"] * vote.noted


def _notes_on(surveys: Mapping[str, Survey], options: ReadingOptions) -> list[str]:
    """Say how numbers were understood, and what stands for missing values."""
    by_note: dict[str, list[str]] = {}
    for name, survey in surveys.items():
        for note in survey.notes:
            by_note.setdefault(note, []).append(name)
    missing = numbers_for_missing(options.missing_values)
    return [
        *(f"{listed(of)}: {note}" for note, of in by_note.items()),
        *missing_as_asked(missing),
        *read_as_missing({name: survey.absent for name, survey in surveys.items()}),
    ]


def missing_as_asked(codes: Iterable[float]) -> list[str]:
    """Say that numbers stand for missing values."""
    return [f"{plain(code)} is read as missing, as asked" for code in codes]


def read_as_missing(absent: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Say of words in columns of numbers that they stand for missing values, and in which cells.

    `absent` are the words of each column, and how many of its cells hold them.
    """
    notes = []
    for word in sorted({word for of in absent.values() for word in of}):
        counts = [
            f"{name} in {of[word]} cell{'s' * (of[word] > 1)}"
            for name, of in absent.items()
            if word in of
        ]
        notes.append(f"{word!r} is read as missing ({listed(counts)})")
    return notes


# --- one column ----------------------------------------------------------------------------------


def _column(
    grid: Grid, name: str, cells: Cells, survey: Survey | None, vote: Vote, options: ReadingOptions
) -> Column:
    if cells.other:
        return _empty(name, grid.rows, reason_of(cells.other))
    if survey is None:
        numbers = np.full(grid.rows, np.nan) if cells.numbers is None else cells.numbers
        return Column(name, _without_missing(numbers, options))
    if not survey.cells:
        values = np.full(grid.rows, np.nan) if cells.numbers is None else cells.numbers
        return Column(name, _without_missing(values, options))
    if not survey.numeric(typed := _typed(cells)):
        place, shown = grid.place(survey.bad or 0), visible(_cell(cells, survey.bad))
        return _empty(name, grid.rows, survey.words(place, shown, typed))
    return _numbers(grid, name, cells, survey, vote, options)


def reason_of(other: str) -> str:
    """Say why a column that holds neither numbers nor text is not judged."""
    return f"{other}, no numbers" if other == "dates" else f"it holds {other}, no numbers"


def _typed(cells: Cells) -> int:
    return 0 if cells.numbers is None else int((~np.isnan(cells.numbers)).sum())


def _cell(cells: Cells, row: int | None) -> str:
    return "" if row is None else str(cells.text[row].as_py()).strip()


def _numbers(
    grid: Grid, name: str, cells: Cells, survey: Survey, vote: Vote, options: ReadingOptions
) -> Column:
    values, bad = survey.values(vote.convention), survey.bad_rows(vote.convention)
    if cells.numbers is not None:
        values = np.where(np.isnan(values), cells.numbers, values)
    column = Column(name, _without_missing(values, options))
    if bad.any() and options.bad_cells == "refuse":
        total = survey.cells + _typed(cells)
        read = f" with {CONVENTIONS[vote.convention].words}" if survey.is_number(bad) else ""
        column.refused, column.remedy = doubts.bad_cells(
            grid, name, cells, bad, total, read=read, complete=options.complete
        )
    return column


def _without_missing(
    values: npt.NDArray[np.float64], options: ReadingOptions
) -> npt.NDArray[np.float64]:
    """Replace the numbers that stand for missing values."""
    codes = numbers_for_missing(options.missing_values)
    return np.where(np.isin(values, codes), np.nan, values) if codes else values


def numbers_for_missing(words: Iterable[str]) -> list[float]:
    """Return the numbers among what stands for missing values."""
    codes = []
    for word in words:
        try:
            codes.append(float(word.replace(",", ".")))
        except ValueError:
            continue
    return [code for code in codes if np.isfinite(code)]


# --- names of rows --------------------------------------------------------------------------------


def _leave_out(
    columns: Sequence[Column], names: Mapping[str, Cells], grid: Grid, options: ReadingOptions
) -> dict[str, float]:
    """Leave out names of rows, refuse sums of others; return what may be codes, by column."""
    judged = [column for column in columns if not column.excluded]
    summary = Columns.of_each([column.values for column in judged])
    codes = summary.codes([column.name for column in judged]) if options.codes else {}
    for j, column in enumerate(judged):
        if column.name in names and column.name not in (options.columns or ()):
            column.excluded = _names_rows(summary, j, column, names[column.name], grid)
            column.refused = "" if column.excluded else column.refused
    if options.skip_last != 0:
        labelled = [names[column.name] for column in columns if column.name in names]
        numbered = [j for j, column in enumerate(judged) if not column.excluded]
        spreads = np.array([spread_of(judged[j].values) for j in numbered])
        summed = summed_up(summary.chosen(numbered), grid.rows, spreads)
        doubts.require_no_summary(grid, labelled, summed)
    return codes


def _names_rows(summary: Columns, j: int, column: Column, cells: Cells, grid: Grid) -> str:
    """Say why a column is not judged unless it is asked for by name; empty if it is."""
    unnamed = not cells.name.strip() and grid.columns[0] is cells and grid.header != "no"
    if cells.index or names_rows(
        summary,
        j,
        cells.name,
        grid.rows,
        unnamed=unnamed,
        values=column.values,
    ):
        return INDEX
    whole = bool(summary.counts[j] and summary.whole[j])
    return (code_in(cells, grid) if whole else "") or date_in(summary, j)


# --- columns of words ---------------------------------------------------------------------------


_MOST_OF_ONE = 20  # records of a person, on average: whose have more is no person, but a hospital


def ids_of(grid: Grid, cells: Cells, name: str) -> npt.NDArray[np.str_]:
    """Return who each record belongs to; refuse a blank cell."""
    labels = _labels(cells, grid.rows)
    if labels is None:
        raise ValueError(f"{grid.name}: column {visible(name)!r} cannot label records (--id)")
    for row, label in enumerate(labels):
        if label is None:
            raise ValueError(
                f"{grid.name}, {grid.place(row)}: column {visible(name)!r} is blank, so that it is "
                "not known who the record belongs to (--id)"
            )
    return np.array(labels, np.str_)


def shared(names: Mapping[str, Cells], rows: int) -> dict[str, int]:
    """Return the columns whose name is that of an identifier, and which several records share.

    They come with the number of their different values.
    """
    owners = {}
    for name, cells in names.items():
        labels = _labels(cells, rows) if names_people(name) else None
        if labels is None or None in labels:
            continue
        different = len(set(labels))
        if different < rows < _MOST_OF_ONE * different:
            owners[name] = different
    return owners


def _category(grid: Grid, name: str, cells: Cells, categories: Categories) -> Any:
    """Return the words of a column of categories, once their levels are collected."""
    labels = _labels(cells, grid.rows)
    words = None if labels is None else text_of(labels)
    categories.require_words(grid.name, name, None if words is None else words.type)
    categories.add(grid.name, name, words)
    return words


def _labels(cells: Cells, rows: int) -> list[str | None] | None:
    """Return the cells as words, None where they are blank."""
    if cells.other and cells.text is None:
        return None
    words: list[str | None] = [None] * rows
    if cells.text is not None:
        words = [None if w is None or not w.strip() else w.strip() for w in cells.text.to_pylist()]
    if cells.numbers is None:
        return words
    return [
        word if word is not None or np.isnan(number) else plain(number)
        for word, number in zip(words, cells.numbers.tolist(), strict=True)
    ]
