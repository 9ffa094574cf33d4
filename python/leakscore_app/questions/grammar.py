"""The selection of a question: ``sex = F and (age >= 40 or not city in (Rome, 'New York'))``.

Comparisons of a column with a number or a word, joined by and, or, not and parentheses. A word with
spaces or signs stands in quotes; what stands in quotes is text, also if it looks like a number.
Nothing is evaluated but this.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from leakscore.typing import Array, Flags
from leakscore_app._visible import visible

_TOKEN = re.compile(
    r"""\s*(?:(?P<sign><=|>=|!=|<>|==|[=<>(),])|(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")"""
    r"""|(?P<word>[^\s=<>!(),'"]+)|(?P<end>$)|(?P<other>.))""",
    re.DOTALL,
)
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    **{"=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne},
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
}
_DEEPEST = 100

Truth: TypeAlias = tuple[Flags, Flags]


@dataclass(frozen=True)
class Condition:
    """A column and what it is compared with: any of the values."""

    column: str
    sign: str
    values: tuple[float | str, ...]

    @property
    def of_text(self) -> bool:
        """Whether it compares words, not numbers."""
        return isinstance(self.values[0], str)

    def truth(self, column: Array) -> Truth:
        """Return where it is true and where it is false; where a value is missing it is neither."""
        present = column != "" if self.of_text else ~np.isnan(column)
        holds = np.zeros(len(column), dtype=np.bool_)
        for value in self.values:
            holds |= _SIGNS[self.sign](column, value)
        return holds & present, ~holds & present


Tree: TypeAlias = Callable[[Mapping[Condition, Truth]], Truth]


@dataclass(frozen=True)
class Selection:
    """A selection that was read."""

    conditions: tuple[Condition, ...]
    tree: Tree

    def of(self, column: Callable[[Condition], Array]) -> Flags:
        """Return which records are selected.

        A condition with a missing value is neither true nor false, and nor is its negation: such a
        record is selected if the rest of the selection decides it.

        Parameters
        ----------
        column : callable
            Returns the column of a condition, (N,): of text str, "" where a value is missing,
            otherwise numbers, NaN there.
        """
        return self.tree({part: part.truth(column(part)) for part in self.conditions})[0]


def parse(text: str) -> Selection:
    """Read a selection; refuse, with the place, what is none."""
    parser = _Parser(text)
    tree = parser.junction(0, "or", "and")
    if parser.kind != "end":
        raise parser.refusal("and, or, or the end")
    return Selection(tuple(dict.fromkeys(parser.conditions)), tree)


class _Parser:
    """Reads a selection from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.finditer(text)
        self.conditions: list[Condition] = []
        self._advance()

    def _advance(self) -> None:
        match = next(self._tokens)
        self.kind = str(match.lastgroup)
        self._text, self._place = match[self.kind], match.start(self.kind) + 1

    def refusal(self, expected: str) -> ValueError:
        """Return the error of the next token."""
        shown = "its end" if self.kind == "end" else f"{visible(self._text)[:40]!r}"
        if self.kind == "other" and self._text in "'\"":
            expected = "a quote that is closed"
        return ValueError(
            f"--where must have {expected}, not {shown}, at character {self._place} (names with "
            "spaces stand in quotes)"
        )

    def _take(self, *texts: str) -> str:
        """Return the next token if it is one of these signs or words, otherwise nothing."""
        text = self._text.lower() if self.kind in ("sign", "word") else ""
        if text not in texts:
            return ""
        self._advance()
        return text

    def junction(self, depth: int, word: str, *inner: str) -> Tree:
        """Read parts joined by a word; those of "or" are joined by "and"."""
        parts = [self.junction(depth, *inner) if inner else self._part(depth)]
        while self._take(word):
            parts.append(self.junction(depth, *inner) if inner else self._part(depth))
        every, some = np.logical_and.reduce, np.logical_or.reduce
        first, second = (every, some) if word == "and" else (some, every)

        def tree(truths: Mapping[Condition, Truth]) -> Truth:
            true, false = zip(*(part(truths) for part in parts), strict=True)
            return first(true), second(false)

        return tree

    def _part(self, depth: int) -> Tree:
        if depth > _DEEPEST:
            raise ValueError(f"--where: more than {_DEEPEST} parentheses and negations deep")
        if self._take("not"):
            return _negated(self._part(depth + 1))
        if not self._take("("):
            return self._condition()
        tree = self.junction(depth + 1, "or", "and")
        if not self._take(")"):
            raise self.refusal("and, or, or a closing parenthesis")
        return tree

    def _condition(self) -> Tree:
        column = str(self._value("a column", as_text=True))
        negated = bool(self._take("not"))
        if self._take("in"):
            sign, values = "=", self._members()
        elif not negated and (sign := self._take(*_SIGNS)):
            values = [self._value()]
        else:
            raise self.refusal("in" if negated else "=, !=, <, <=, >, >= or in")
        if len({isinstance(value, str) for value in values}) > 1:
            raise ValueError(f"--where: the list of {visible(column)!r} mixes numbers and text")
        condition = Condition(column, sign, tuple(values))
        if condition.of_text and sign[0] in "<>" and sign != "<>":
            raise ValueError(
                f"--where: {visible(f'{column} {sign} {values[0]}')!r} compares text by size"
            )
        self.conditions.append(condition)
        return _negated(lambda truths: truths[condition], negated)

    def _members(self) -> list[float | str]:
        if not self._take("("):
            raise self.refusal("a list in parentheses")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        if not self._take(")"):
            raise self.refusal("a comma or a closing parenthesis")
        return values

    def _value(self, what: str = "a number or a word", *, as_text: bool = False) -> float | str:
        """Return a quoted text, a word or a number."""
        kind, text = self.kind, self._text
        if kind not in ("quoted", "word") or text.lower() in ("and", "or", "not", "in"):
            raise self.refusal(what)
        self._advance()
        if kind == "quoted":
            return text[1:-1].replace(2 * text[0], text[0])
        try:
            number = float(text)
        except ValueError:
            return text
        return text if as_text or "_" in text or not math.isfinite(number) else number


def _negated(tree: Tree, really: bool = True) -> Tree:
    return (lambda truths: tree(truths)[::-1]) if really else tree
