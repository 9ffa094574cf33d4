"""Columns of categories: their levels, and the number of each cell.

Levels are collected while a table is looked at first, at once or a batch at a time; memory grows
with them, not with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app._visible import no_column, visible
from leakscore_app.tables.cells import ReadingOptions, distinct, plain
from leakscore_app.tables.formats.arrow import is_number, is_text
from leakscore_app.tables.numbers import MISSING

MOST_GROUPS = 5001
"""Levels of a column by which records are grouped: more than a statistic may have features."""
MOST_SHARES = 1000
"""Levels of a column whose shares are published, at most."""


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
    def columns(self) -> tuple[str, ...]:
        """The names of a column of 0 and 1 for each level."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    @property
    def shares(self) -> dict[str, Share]:
        """The columns of 0 and 1 for the levels but the first, which follows from them."""
        return {name: Share(self, k) for k, name in enumerate(self.columns) if k}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {level: k for k, level in enumerate(self.levels)}

    def labels(self, column: Any) -> npt.NDArray[np.str_]:
        """Return the level of each cell, "" where none is."""
        return labels_of(self.levels, self.codes(column))

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


def labels_of(levels: Sequence[str], codes: Doubles) -> npt.NDArray[np.str_]:
    """Return the level of each number, "" of NaN."""
    return np.array(["", *levels])[np.where(np.isnan(codes), 0, codes + 1).astype(np.intp)]


def read_for(names: Iterable[str], levels: Levels) -> list[str]:
    """Return the columns of a file from which these columns are made."""
    categories = ((name, levels.get(name)) for name in names)
    read = (each.coded.name if isinstance(each, Share) else name for name, each in categories)
    return list(dict.fromkeys(read))


def rows_of(
    columns: Mapping[str, Any],
    names: Sequence[str],
    levels: Levels,
    numbers: Callable[[Any], Doubles] = np.asarray,
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

    cells, given = distinct(column)
    used = np.flatnonzero(np.bincount(given + 1, minlength=1)[1:])
    places = np.full(len(cells) + 1, -1, np.int64)
    places[used] = np.arange(len(used))
    kind = pyarrow.float64() if is_number(cells.type) else pyarrow.string()
    words = compute.take(cells.cast(kind, safe=False), pyarrow.array(used))
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
    most_groups : int, optional
        Levels of a column of `groups`.
    """

    groups: dict[str, set[str]] = field(default_factory=dict)
    shares: dict[str, set[str]] = field(default_factory=dict)
    absent: frozenset[str] = MISSING
    most_groups: int | None = MOST_GROUPS

    @classmethod
    def of(cls, options: ReadingOptions, most_groups: int | None = MOST_GROUPS) -> Categories:
        """Look for the columns that `ask` names."""
        absent = MISSING | options.words_for_missing
        return cls(absent=absent, most_groups=most_groups)

    def ask(self, file: str, columns: Collection[str], options: ReadingOptions) -> ReadingOptions:
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
        """Refuse a column of a type of pyarrow, or of none, that holds no words and no numbers."""
        if kind is None or not (is_text(kind) or is_number(kind)):
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
        most = self.most_groups if grouping else MOST_SHARES
        if most is not None and len(levels) > most:
            why = "they are no categories (--proportions)"
            if grouping:
                why = "too many groups to publish anything of them (--group-by)"
            raise TooManyLevelsError(
                f"{file}: column {visible(name)!r} has more than {most} levels, {why}: join them "
                "to coarser ones, or leave the column out"
            )

    def coded(
        self, file: str, columns: Collection[str]
    ) -> tuple[dict[str, Coded], dict[str, Coded]]:
        """Return what cells are numbered by, in columns of groups and in those of shares."""
        groups = {name: Coded(file, name, tuple(sorted(of))) for name, of in self.groups.items()}
        shares = {
            name: Coded(file, name, tuple(sorted(of)), self.absent)
            for name, of in self.shares.items()
        }
        for name, coded in shares.items():
            level = next((each for each in coded.shares if each in columns), None)
            if level is not None:
                raise ValueError(
                    f"{file}: column {visible(level)!r} has the name of a level of column "
                    f"{visible(name)!r} (--proportions): rename it"
                )
        return groups, shares


class TooManyLevelsError(ValueError):
    """A column of categories has more levels than can be published."""


def with_names(file: str, names: Collection[str], options: ReadingOptions) -> ReadingOptions:
    """Return the options with the names of the file; a name may be given as messages show it."""
    shown = {visible(name): name for name in names}

    def resolved(option: str, given: Sequence[str]) -> tuple[str, ...]:
        for name in given:
            if name not in names and name not in shown:
                raise ValueError(no_column(file, name, names, option))
        return tuple(name if name in names else shown[name] for name in given)

    options = replace(
        options,
        columns=None if options.columns is None else resolved("--columns", options.columns),
        exclude=resolved("--exclude", options.exclude),
        proportions=resolved("--proportions", options.proportions),
        groups=resolved("--group-by or --factors", options.groups),
        id=None if options.id is None else resolved("--id", (options.id,))[0],
    )
    for name in options.groups:
        if name in options.exclude:
            raise ValueError(
                f"{file}: column {visible(name)!r} must not be in --exclude: --group-by or "
                "--factors names it"
            )
    return options
