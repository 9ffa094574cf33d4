"""Which convention the numbers of a file follow: all columns of numbers have a say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from leakscore_app.tables.grammar.conventions import ALL, CONVENTIONS, conventions_of
from leakscore_app.tables.grammar.numbers import Survey


@dataclass(frozen=True)
class Vote:
    """The outcome.

    Attributes
    ----------
    convention : int
        Index of the convention in which the columns are read.
    doubtful : dict
        Column -> (row, mark) of a number that the conventions left read differently.
    contrary : tuple of str
        Two columns, or one twice, whose numbers follow no common convention; empty if all do.
    told : bool
        Whether the reader should be told: other than decimal points are used.
    """

    convention: int
    doubtful: Mapping[str, tuple[int, str]]
    contrary: tuple[str, ...]
    told: bool


def vote_of(surveys: Mapping[str, Survey], decimal: str | None, thousands: str | None) -> Vote:
    """Count what the columns of numbers leave.

    A point alone is the decimal mark unless something speaks against it: another column with
    decimal commas, `decimal`, or whole numbers in the same column beside points that all stand
    before three digits. All else that may be read in two ways is doubtful.
    """
    allowed = conventions_of(decimal, thousands)
    left = ALL
    for survey in surveys.values():
        left &= survey.conventions
    if not left and allowed == ALL:
        return Vote(_first(allowed), {}, _contrary(surveys), False)
    if not left & allowed:  # the options make bad cells of some numbers
        return Vote(_first(allowed, surveys.values()), {}, (), True)
    left &= allowed
    doubtful = _doubtful(surveys, left)
    if doubtful and all(mark == "." and not surveys[n].bare for n, (_, mark) in doubtful.items()):
        points = left & conventions_of(".", None)
        left, doubtful = points or left, {} if points else doubtful
    convention = _first(left)
    marked = any(survey.conventions != ALL for survey in surveys.values())
    told = marked and CONVENTIONS[convention] != CONVENTIONS[0]
    return Vote(convention, doubtful, (), told)


def _first(left: int, surveys: Collection[Survey] = ()) -> int:
    """Return the first of the conventions that most columns follow."""
    indices = (i for i in range(len(CONVENTIONS)) if left >> i & 1)
    return max(indices, key=lambda i: sum(one.conventions >> i & 1 for one in surveys))


def _contrary(surveys: Mapping[str, Survey]) -> tuple[str, ...]:
    names = list(surveys)
    for name in names:
        if not surveys[name].conventions:
            return (name, name)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            if not surveys[first].conventions & surveys[second].conventions:
                return (first, second)
    return tuple(names[:2])


def _doubtful(surveys: Mapping[str, Survey], left: int) -> dict[str, tuple[int, str]]:
    """Return the columns whose numbers differ between the conventions that are left."""
    doubtful: dict[str, tuple[int, str]] = {}
    chosen = [CONVENTIONS[i] for i in range(len(CONVENTIONS)) if left >> i & 1]
    for name, survey in surveys.items():
        for mark, row in survey.three.items():
            readings = {convention.decimal == mark for convention in chosen}
            if len(readings) > 1:
                doubtful[name] = (row, mark)
    return doubtful
