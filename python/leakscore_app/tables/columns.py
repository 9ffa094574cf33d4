"""What the columns of a file mean: numbers, categories, names of rows; and what must be settled.

A column that cannot be read without a guess gets a refusal, which is raised when it is to be
judged: a column that is left out may hold what it likes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import listed, nearest, visible
from leakscore_app.tables import doubts, summaries
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, plain
from leakscore_app.tables.conventions import CONVENTIONS, MISSING
from leakscore_app.tables.numbers import Survey, Vote, survey_of, vote_of
from leakscore_app.tables.summaries import INDEX, Columns, names_people, spread_of, summed_up

ASKED = "not to be published, as asked"
OWNER = "it tells who a record belongs to"
GROUP = "it tells which group a record belongs to"
NOT_PUBLISHED = frozenset({ASKED, INDEX, OWNER, GROUP})


@dataclass
class Column:
    """One column that is understood.

    Attributes
    ----------
    name : str
    values : (N,) ndarray of float64
        NaN where a value is missing or is no number.
    excluded : str
        Why it is not judged; empty if it can be.
    refused : str
        What must be settled before it can be judged; empty if nothing.
    remedy : str
        What settles it.
    """

    name: str
    values: npt.NDArray[np.float64]
    excluded: str = ""
    refused: str = ""
    remedy: str = ""


@dataclass
class DecodedTable:
    """The columns of a table, who its records belong to, and notes on how it was read.

    `shared` are columns that may tell whom records belong to, and how many they name.
    """

    columns: list[Column]
    ids: npt.NDArray[np.str_] | None = None
    groups: dict[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)


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
    options = with_names(grid.name, names, options)
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
        elif name in options.proportions:
            levels = proportions_of(name, cells, grid, options)
            require_other_names(grid.name, name, levels, names)
            columns.extend(Column(level, values) for level, values in levels.items())
        else:
            columns.append(_column(grid, name, cells, surveys.get(name), vote, options))
    notes.extend(_notes_on({name: surveys[name] for name in numeric}, options))
    codes = _leave_out(columns, names, grid, options)
    for column in columns:
        column.remedy = above.get(column.name, column.remedy)
    doubts.refuse_marks(columns, surveys, vote, grid)
    doubts.refuse_codes(columns, codes, grid, complete=options.complete)
    ids = None if options.id is None else ids_of(grid, names[options.id], options.id)
    groups = {name: groups_of(grid, names[name], name) for name in options.groups}
    named = {*(options.columns or ()), *options.groups}
    unasked = {name: cells for name, cells in names.items() if name not in named}
    owners = {} if options.id is not None else shared(grid, unasked)
    return DecodedTable(columns, ids, groups, notes, owners)


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


def with_names(file: str, names: Collection[str], options: ReadingOptions) -> ReadingOptions:
    """Return the options with the names of the file; a name may be given as messages show it."""
    shown = {visible(name): name for name in names}

    def finite(option: str, given: Sequence[str]) -> tuple[str, ...]:
        for name in given:
            if name not in names and name not in shown:
                near = nearest(name, names)
                raise ValueError(
                    f"{file} has no column '{visible(name)}'{near and f' ({near})'}; it has "
                    f"{listed(list(names))} ({option})"
                )
        return tuple(name if name in names else shown[name] for name in given)

    return replace(
        options,
        columns=None if options.columns is None else finite("--columns", options.columns),
        exclude=finite("--exclude", options.exclude),
        proportions=finite("--proportions", options.proportions),
        groups=finite("--group-by", options.groups),
        id=None if options.id is None else finite("--id", (options.id,))[0],
    )


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
        *(f"{plain(code)} is read as missing, as asked" for code in missing),
        *read_as_missing({name: survey.absent for name, survey in surveys.items()}),
    ]


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


def require_other_names(
    file: str, name: str, levels: Iterable[str], names: Collection[str]
) -> None:
    """Refuse a column that has the name of a level of another."""
    for level in levels:
        if level in names:
            raise ValueError(
                f"{file}: column {visible(level)!r} has the name of a level of column "
                f"{visible(name)!r} (--proportions): rename it"
            )


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
    codes = {}
    if "none" not in map(str.lower, options.missing_values):
        each_code = (summary.code_of(j) for j in range(len(judged)))
        codes = {
            column.name: code
            for column, code in zip(judged, each_code, strict=True)
            if code is not None
        }
    _leave_out_names_of_rows(judged, summary, names, grid, options)
    if options.skip_last != 0:
        labelled = [names[column.name] for column in columns if column.name in names]
        numbered = [j for j, column in enumerate(judged) if not column.excluded]
        spreads = np.array([spread_of(judged[j].values) for j in numbered])
        summed = summed_up(summary.chosen(numbered), grid.rows, spreads)
        doubts.require_no_summary(grid, labelled, summed)
    return codes


def _leave_out_names_of_rows(
    columns: Sequence[Column],
    summary: Columns,
    names: Mapping[str, Cells],
    grid: Grid,
    options: ReadingOptions,
) -> None:
    """Leave out a column that counts or names the records, unless it is asked for by name."""
    for j, column in enumerate(columns):
        cells = names.get(column.name)
        if cells is None or column.name in (options.columns or ()):
            continue
        column.excluded = summaries.why_left(summary, j, cells, column.values, grid)
        if column.excluded:
            column.refused = ""


# --- columns of words ---------------------------------------------------------------------------


MOST = 1000
"""Levels of a column whose shares are published, at most."""


def levels_of(
    labels: Sequence[str | None], missing: Collection[str]
) -> dict[str, npt.NDArray[np.float64]] | None:
    """Return level -> 1 where a record has it, 0 where it has another, NaN where none is known.

    Levels are in alphabetical order; the first is left out, since it follows from the others. None
    is returned if there are more than 1000.
    """
    absent = MISSING | set(missing)
    words = [None if word is None or word.lower() in absent else word for word in labels]
    levels = sorted({word for word in words if word is not None})
    if len(levels) > MOST:
        return None
    place = {level: k for k, level in enumerate(levels)}
    codes = np.array([-1 if word is None else place[word] for word in words], dtype=np.int64)
    given = codes >= 0
    return {
        level: np.where(given, (codes == k).astype(np.float64), np.nan)
        for k, level in enumerate(levels)
        if k
    }


_MOST_OF_ONE = 20  # records of a person, on average: whose have more is no person, but a hospital


def proportions_of(
    name: str, cells: Cells, grid: Grid, options: ReadingOptions
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the columns of 0 and 1 that stand for the levels of a column, but the first.

    Parameters
    ----------
    name : str
    cells : Cells
    grid : Grid
    options : ReadingOptions

    Returns
    -------
    dict
        Name and level -> column.

    Raises
    ------
    ValueError
        If the cells are no words, or more than 1000 different ones.
    """
    labels = _labels(cells, grid.rows)
    if labels is None:
        raise ValueError(f"{grid.name}: column {visible(name)!r} holds no words (--proportions)")
    levels = levels_of(labels, options.words_for_missing)
    if levels is None:
        raise ValueError(
            f"{grid.name}: column {visible(name)!r} has more than 1000 levels: they are no "
            "categories (--proportions)"
        )
    return {f"{name}={level}": values for level, values in levels.items()}


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


def shared(grid: Grid, names: Mapping[str, Cells]) -> dict[str, int]:
    """Return the columns whose name is that of an identifier, and which several records share.

    They come with the number of their different values.
    """
    owners = {}
    for name, cells in names.items():
        labels = _labels(cells, grid.rows) if names_people(name) else None
        if labels is None or None in labels:
            continue
        different = len(set(labels))
        if different < grid.rows < _MOST_OF_ONE * different:
            owners[name] = different
    return owners


def groups_of(grid: Grid, cells: Cells, name: str) -> npt.NDArray[np.str_]:
    """Return which group each record belongs to, "" where the cell is blank."""
    labels = _labels(cells, grid.rows)
    if labels is None:
        raise ValueError(f"{grid.name}: column {visible(name)!r} cannot group records (--group-by)")
    return np.array([label or "" for label in labels], np.str_)


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
