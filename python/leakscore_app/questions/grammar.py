"""The selection of a question: ``sex = F and (age >= 40 or not city in (Rome, 'New York'))``.

Comparisons of a column with a number or a word, joined by and, or, not and parentheses. A word with
blanks or signs stands in quotes; what stands in quotes is text, also if it looks like a number.
Nothing is evaluated but this.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible

__all__ = ["Comparison", "Node", "columns_of", "parse", "selected"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<sign><=|>=|!=|<>|==|[=<>(),])|(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")"""
    r"""|(?P<word>[^\s=<>!(),'"]+))"""
)
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SAME = {"==": "=", "<>": "!="}
_WORDS = ("and", "or", "not", "in")
_DEEPEST = 100

Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Comparison:
    """A column and what it is compared with: any of the values."""

    column: str
    sign: str
    values: tuple[float | str, ...]

    @property
    def of_text(self) -> bool:
        """Whether it compares words, not numbers."""
        return isinstance(self.values[0], str)


@dataclass(frozen=True)
class Negation:
    """What holds where a part does not."""

    part: Node


@dataclass(frozen=True)
class Junction:
    """What holds where all parts do, or any of them."""

    all: bool
    parts: tuple[Node, ...]


Node: TypeAlias = Comparison | Negation | Junction


@dataclass(frozen=True)
class _Token:
    text: str
    kind: str
    place: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.lower() in words


def parse(text: str) -> Node:
    """Return the tree of a selection; refuse, with the place, what is none."""
    parser = _Parser(text)
    node = parser.junction(0)
    parser.expect_end()
    return node


class _Parser:
    """Reads a selection from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._token
        self._at += token.kind != "end"
        return token

    def _refuse(self, expected: str) -> ValueError:
        token = self._token
        shown = "its end" if token.kind == "end" else f"{visible(token.text)[:40]!r}"
        return ValueError(
            f"--where: expected {expected} in place of {shown} (character {token.place + 1})"
        )

    def _sign(self, *signs: str) -> str | None:
        """Return the next token if it is one of the signs."""
        token = self._token
        return self._next().text if token.kind == "sign" and token.text in signs else None

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._refuse("and, or, or the end")

    def junction(self, depth: int, words: tuple[str, ...] = ("or", "and")) -> Node:
        """Read parts joined by a word; those of "or" are joined by "and"."""
        if depth > _DEEPEST:
            raise ValueError(f"--where: more than {_DEEPEST} parentheses and negations deep")
        word, *inner = words

        def part() -> Node:
            return self.junction(depth, tuple(inner)) if inner else self._part(depth)

        parts = [part()]
        while self._token.is_word(word):
            self._next()
            parts.append(part())
        return parts[0] if len(parts) == 1 else Junction(word == "and", tuple(parts))

    def _part(self, depth: int) -> Node:
        if self._token.is_word("not"):
            self._next()
            if depth > _DEEPEST:
                raise ValueError(f"--where: more than {_DEEPEST} parentheses and negations deep")
            return Negation(self._part(depth + 1))
        if self._sign("("):
            node = self.junction(depth + 1)
            if not self._sign(")"):
                raise self._refuse("and, or, or a closing parenthesis")
            return node
        return self._comparison()

    def _comparison(self) -> Node:
        column = self._word("a column")
        if self._token.is_word("not", "in"):
            negated = self._next().is_word("not")
            if negated and not self._token.is_word("in"):
                raise self._refuse("in")
            if negated:
                self._next()
            comparison = self._members(column)
            return Negation(comparison) if negated else comparison
        sign = self._sign(*_SIGNS, *_SAME)
        if sign is None:
            raise self._refuse("one of = != < <= > >= in")
        sign = _SAME.get(sign, sign)
        value = self._value()
        if isinstance(value, str) and sign not in ("=", "!="):
            raise ValueError(
                f"--where: {visible(column)!r} {sign} {visible(value)!r} compares text by size: "
                "only numbers have one"
            )
        return Comparison(column, sign, (value,))

    def _members(self, column: str) -> Comparison:
        """Read the list after in."""
        if not self._sign("("):
            raise self._refuse("a list in parentheses")
        values = [self._value()]
        while self._sign(","):
            values.append(self._value())
        if not self._sign(")"):
            raise self._refuse("a comma or a closing parenthesis")
        if len({isinstance(value, str) for value in values}) > 1:
            raise ValueError(f"--where: the list of {visible(column)!r} mixes numbers and text")
        return Comparison(column, "=", tuple(values))

    def _word(self, expected: str) -> str:
        token = self._token
        if token.kind == "quoted":
            quote = token.text[0]
            return self._next().text[1:-1].replace(2 * quote, quote)
        if token.kind != "word" or token.is_word(*_WORDS):
            raise self._refuse(expected)
        return self._next().text

    def _value(self) -> float | str:
        quoted = self._token.kind == "quoted"
        word = self._word("a number or a word")
        if quoted:
            return word
        try:
            number = float(word)
        except ValueError:
            return word
        return number if math.isfinite(number) and "_" not in word else word


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            reason = "a quote that is not closed" if text[place] in "'\"" else "no sign of it"
            raise ValueError(
                f"--where: {visible(text[place])!r} (character {place + 1}) is {reason}"
            )
        kind = str(match.lastgroup)
        yield _Token(match[kind], kind, match.start(kind))
        place = match.end()
    yield _Token("", "end", len(text))


def columns_of(node: Node) -> Iterator[Comparison]:
    """Yield the comparisons of a selection."""
    if isinstance(node, Comparison):
        yield node
        return
    for part in (node.part,) if isinstance(node, Negation) else node.parts:
        yield from columns_of(part)


def selected(
    node: Node, numbers: Mapping[str, npt.NDArray[np.float64]], words: Mapping[str, Any]
) -> Flags:
    """Return which records a selection holds.

    A comparison with a missing value is neither true nor false, and nor is its negation: such a
    record is selected if the rest of the selection decides it.

    Parameters
    ----------
    node : Node
    numbers : mapping
        Column -> (N,) numbers, NaN where a value is missing.
    words : mapping
        Column -> (N,) ndarray of str, "" where a value is missing.
    """
    return _truth(node, numbers, words)[0]


def _truth(
    node: Node, numbers: Mapping[str, npt.NDArray[np.float64]], words: Mapping[str, Any]
) -> tuple[Flags, Flags]:
    """Return where a selection is true and where it is false."""
    if isinstance(node, Negation):
        true, false = _truth(node.part, numbers, words)
        return false, true
    if isinstance(node, Junction):
        parts = [_truth(part, numbers, words) for part in node.parts]
        every, some = np.logical_and.reduce, np.logical_or.reduce
        first, second = (every, some) if node.all else (some, every)
        return first([true for true, _ in parts]), second([false for _, false in parts])
    values = words[node.column] if node.of_text else numbers[node.column]
    present = values != "" if node.of_text else ~np.isnan(values)
    holds = np.zeros(len(values), dtype=np.bool_)
    for value in node.values:
        holds |= _SIGNS[node.sign](values, value)
    return holds & present, ~holds & present
