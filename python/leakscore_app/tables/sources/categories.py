"""Columns of categories that are read a batch at a time: their levels, and the number of each cell.

Levels are collected while a table is looked at first; memory grows with them, not with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app._visible import visible
from leakscore_app.tables.cells import ReadingOptions, plain
from leakscore_app.tables.columns import MOST as MOST_SHARES
from leakscore_app.tables.columns import reason_of, require_other_names, with_names
from leakscore_app.tables.conventions import MISSING
from leakscore_app.tables.formats.arrow import is_number, is_text, kind_of, words_of
from leakscore_app.tables.numbers import Survey, survey_of

MOST_GROUPS = 5001
"""Levels of a column by which records are grouped: more than a statistic may have features."""


@dataclass(frozen=True)
class Coded:
    """What the cells of one column of categories are numbered by.

    Attributes
    ----------
    file, name : str
        Of the column, for messages.
    levels : tuple of str
        In alphabetical order.
    absent : frozenset of str
        Words, in lower case, that stand for a missing value beside blanks.
    """

    file: str
    name: str
    levels: tuple[str, ...]
    absent: frozenset[str] = frozenset()

    @property
    def shares(self) -> dict[str, Share]:
        """The columns of 0 and 1 for the levels but the first, which follows from them."""
        return {f"{self.name}={level}": Share(self, k) for k, level in enumerate(self.levels) if k}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {level: k for k, level in enumerate(self.levels)}

    def codes(self, column: Any) -> Doubles:
        """Return the number of the level of each cell of a pyarrow array, NaN where none is."""
        words, places = _different(column)
        return np.array([*(self._code(word) for word in words), np.nan])[places]

    def _code(self, word: str | None) -> float:
        level = _level(word, self.absent)
        if level is None:
            return np.nan
        if level not in self._numbers:
            raise ValueError(
                f"{self.file} changed while it was read: column {visible(self.name)!r} had no "
                f"{visible(level)[:40]!r} at first"
            )
        return self._numbers[level]


@dataclass(frozen=True)
class Share:
    """A column of 1 where a record has the level of this number, 0 where it has another."""

    coded: Coded
    level: int


Levels: TypeAlias = Mapping[str, Coded | Share]
"""Name of a column -> the categories in its place."""


def read_for(names: Iterable[str], levels: Levels) -> list[str]:
    """Return the columns of a file from which these columns are made."""
    categories = ((name, levels.get(name)) for name in names)
    read = (each.coded.name if isinstance(each, Share) else name for name, each in categories)
    return list(dict.fromkeys(read))


def rows_of(
    columns: Mapping[str, Any],
    names: Sequence[str],
    levels: Levels,
    numbers: Callable[[Any], Doubles],
) -> Doubles:
    """Return columns of pyarrow as rows: `numbers`, of `levels` the number of each, or 0 and 1."""
    values = np.empty((len(next(iter(columns.values()), ())), len(names)))
    codes: dict[str, Doubles] = {}
    for place, name in enumerate(names):
        category = levels.get(name)
        if category is None:
            values[:, place] = numbers(columns[name])
            continue
        coded = category.coded if isinstance(category, Share) else category
        if coded.name not in codes:
            codes[coded.name] = coded.codes(columns[coded.name])
        values[:, place] = codes[coded.name]
        if isinstance(category, Share):
            of_level = codes[coded.name] == category.level
            values[:, place] = np.where(np.isnan(codes[coded.name]), np.nan, of_level)
    return values


def _level(word: str | None, absent: frozenset[str]) -> str | None:
    """Return the level that a cell tells, None where it tells none."""
    level = "" if word is None else word.strip()
    return None if not level or level.lower() in absent else level


def _different(column: Any) -> tuple[list[str | None], npt.NDArray[np.int64]]:
    """Return the different cells of a column as words, and which of them each cell is.

    Null cells are -1; of a dictionary, words that no cell has are not there.
    """
    import pyarrow
    import pyarrow.compute as compute

    array = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    if isinstance(array, pyarrow.ChunkedArray):  # some versions return it with one chunk
        array = array.chunk(0)
    if not pyarrow.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    given = array.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    used = np.flatnonzero(np.bincount(given + 1, minlength=1)[1:])
    places = np.full(len(array.dictionary) + 1, -1, np.int64)
    places[used] = np.arange(len(used))
    kind = pyarrow.float64() if is_number(array.dictionary.type) else pyarrow.string()
    words = compute.take(array.dictionary.cast(kind, safe=False), pyarrow.array(used))
    if kind == pyarrow.string():
        return words.to_pylist(), places[given]
    numbers = words.fill_null(np.nan).to_pylist()
    return [None if np.isnan(each) else plain(each) for each in numbers], places[given]


@dataclass(eq=False)
class Categories:
    """The columns of categories of a table, and the levels that are found in its files.

    Attributes
    ----------
    groups : dict
        Name of a column that divides the records -> its levels.
    shares : dict
        Name of a column of which the share of each level is published -> its levels.
    absent : frozenset of str
        Words, in lower case, that stand for a missing value of `shares`.
    """

    groups: dict[str, set[str]] = field(default_factory=dict)
    shares: dict[str, set[str]] = field(default_factory=dict)
    absent: frozenset[str] = MISSING

    @classmethod
    def of(cls, options: ReadingOptions) -> Categories:
        """Look for the columns that `ask` names."""
        return cls(absent=MISSING | options.words_for_missing)

    def ask(self, file: str, columns: Sequence[str], options: ReadingOptions) -> ReadingOptions:
        """Return the options with the names of the columns, and note those of categories."""
        options = with_names(file, columns, options)
        for name in options.groups:
            self.groups.setdefault(name, set())
        for name in options.proportions:
            if name not in options.groups and name not in options.exclude:
                self.shares.setdefault(name, set())
        return options

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return *self.groups, *self.shares

    def require_words(self, file: str, name: str, kind: Any) -> None:
        """Refuse a column of a type of pyarrow that holds neither words nor numbers."""
        if not (is_text(kind) or is_number(kind)):
            why = "holds no words (--proportions)"
            if name in self.groups:
                why = "cannot group records (--group-by)"
            raise ValueError(f"{file}: column {visible(name)!r} {why}")

    def add(self, file: str, name: str, column: Any) -> None:
        """Add the levels of some rows of a column; refuse more than can be published."""
        grouping = name in self.groups
        levels = self.groups[name] if grouping else self.shares[name]
        absent = frozenset[str]() if grouping else self.absent
        levels.update(
            level for word in _different(column)[0] if (level := _level(word, absent)) is not None
        )
        most = MOST_GROUPS if grouping else MOST_SHARES
        if len(levels) > most:
            why = "they are no categories (--proportions)"
            if grouping:
                why = "too many groups to publish anything of them (--group-by)"
            raise TooManyLevelsError(
                f"{file}: column {visible(name)!r} has more than {most} levels, {why}: join them "
                "to coarser ones, or leave the column out"
            )

    def coded(self, file: str, columns: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Coded]]:
        """Return what cells are numbered by, in columns of groups and in those of shares."""
        groups = {name: Coded(file, name, tuple(sorted(of))) for name, of in self.groups.items()}
        shares = {
            name: Coded(file, name, tuple(sorted(of)), self.absent)
            for name, of in self.shares.items()
        }
        for name, coded in shares.items():
            require_other_names(file, name, coded.shares, columns)
        return groups, shares


class TooManyLevelsError(ValueError):
    """A column of categories has more levels than can be published."""


def of_other_kinds(schema: Any, names: Iterable[str]) -> dict[str, str]:
    """Say of columns that hold neither numbers nor text why they are not judged."""
    kinds = {name: schema.field(name).type for name in names}
    return {name: reason_of(kind_of(kind)) for name, kind in kinds.items() if not is_text(kind)}


def texts_in(
    batches: Iterable[Any],
    file: str,
    texts: Sequence[str],
    categories: Categories,
    options: ReadingOptions,
) -> dict[str, str] | None:
    """Collect levels, and say why columns of text are not judged.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        With the columns of text and of categories.
    file : str
        Its name.
    texts : sequence of str
        Columns of text that are published.
    categories : Categories
    options : ReadingOptions

    Returns
    -------
    dict or None
        Name -> why. None if some column may hold numbers: then all of it is read at once.
    """
    import pyarrow

    missing = options.words_for_missing
    seen = {name: Survey() for name in texts}
    rows = 0
    for batch in batches:
        for name in categories.names:
            categories.add(file, name, batch.column(name))
        for name, surveyed in seen.items():
            cells = pyarrow.chunked_array([words_of(batch.column(name))])
            surveyed.add(survey_of(cells, words=options.words, missing=missing), rows)
        rows += batch.num_rows
    excluded = {}
    for name, surveyed in seen.items():
        if surveyed.odd or surveyed.numeric() or surveyed.bad is None:
            return None
        excluded[name] = surveyed.words(f"record {surveyed.bad + 1}", surveyed.bad_cell)
    return excluded
