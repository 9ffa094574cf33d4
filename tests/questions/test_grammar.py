"""Selections against Python's own reading of the same expression, and what is none."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscore_app.questions import grammar

RNG = np.random.default_rng(0)
NUMBERS = {"a": RNG.integers(0, 5, 200).astype(float), "b c": RNG.normal(size=200).round(1)}
WORDS = {"s": np.array(["x", "y z", "it's"])[RNG.integers(0, 3, 200)]}

COMPARISONS = st.one_of(
    st.tuples(
        st.sampled_from(["a", '"b c"', "'b c'"]),
        st.sampled_from(["=", "==", "!=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from(["0", "1", "-0.5", "2e0", "3"]),
    ).map(" ".join),
    st.tuples(
        st.just("s"),
        st.sampled_from(["=", "!="]),
        st.sampled_from(["x", "'x'", "'y z'", '"it\'s"', "'it''s'"]),
    ).map(" ".join),
    st.sampled_from(["a in (0, 1,2)", "a not in (1)", "s IN (x, 'y z')", "s NOT in (x)"]),
)
SELECTIONS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" and ", " OR ", " or "]), inner).map("".join),
        inner.map("({})".format),
        inner.map("not ({})".format),
        inner.map("NOT {}".format),
    ),
    max_leaves=12,
)


def selected(text: str, columns: dict[str, Any]) -> np.ndarray:
    return grammar.parse(text).of(lambda condition: columns[condition.column])


def by_python(text: str) -> np.ndarray:
    """Translate token by token, and let Python parse."""
    words = {"and": "and", "or": "or", "not": "not", "in": "in", "=": "==", "<>": "!="}
    parts = []
    for token in re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|[<>=!]+|[(),]|[^\s()<>=!,]+", text):
        if token[0] in "'\"":
            plain = token[1:-1].replace("''", "'")
            parts.append("row['b c']" if plain == "b c" else repr(plain))
        elif token in ("a", "s"):
            parts.append(f"row['{token}']")
        else:
            parts.append("'x'" if token == "x" else words.get(token.lower(), token))
    code = " ".join(parts).replace("in ( 1 )", "in ( 1 , )").replace("in ( 'x' )", "in ( 'x' , )")
    columns = NUMBERS | WORDS
    rows = [{name: column[i] for name, column in columns.items()} for i in range(200)]
    return np.array([bool(eval(code, {"row": row})) for row in rows])


@given(SELECTIONS)
def test_selections_are_those_of_python(text: str) -> None:
    np.testing.assert_array_equal(selected(text, NUMBERS | WORDS), by_python(text))


@given(st.text(alphabet="as =<>!()'\",andortxi1.\\\n{}[]_", max_size=40))
def test_any_text_is_a_selection_or_refused(text: str) -> None:
    message = ""
    try:
        assert grammar.parse(text).conditions
    except ValueError as error:
        message = str(error)
    assert not message or message.startswith(("--where: ", "--where must have "))
    assert "\n" not in message


def test_missing_values_are_neither() -> None:
    numbers = {"a": np.array([1.0, np.nan, 3.0]), "b": np.array([0.0, 1.0, np.nan])}
    words = {"s": np.array(["x", "", "y"])}
    for text, expected in (
        ("a = 1", [True, False, False]),
        ("not a = 1", [False, False, True]),
        ("a != 1", [False, False, True]),
        ("not s in (x)", [False, False, True]),
        ("a = 1 or b = 1", [True, True, False]),
        ("not (a = 3 and b = 0)", [True, True, False]),
    ):
        assert selected(text, numbers | words).tolist() == expected, text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a column, not its end, at character 1 \("),
        ("a", "must have =, !=, <, <=, >, >= or in, not its end"),
        ("a = 1 b = 2", "and, or, or the end, not 'b', at character 7"),
        ("(a = 1", "a closing parenthesis, not its end"),
        ("not a = 1 not b = 2", "and, or, or the end, not 'not'"),
        ("a = 1)", "and, or, or the end, not"),
        ("a in 1", "a list in parentheses"),
        ("a in ()", "a number or a word"),
        ("a in (1, x)", "mixes numbers and text"),
        ("a not 1", "must have in, not '1'"),
        ("a = 'x", r"a quote that is closed, not \"'\", at character 5"),
        ("a ! 1", "or in, not '!', at character 3"),
        ("and = 1", "a column, not 'and'"),
        ("a < x", "compares text by size"),
        ("a < '1'", "compares text by size"),
        ("(" * 200 + "a = 1" + ")" * 200, "100 parentheses"),
        ("not " * 5000 + "a = 1", "100 parentheses"),
        ("__import__('os').system('ls')", "must have =, !="),
    ],
)
def test_what_is_no_selection(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grammar.parse(text)


def test_quotes_make_text() -> None:
    (condition,) = grammar.parse("code = '007'").conditions
    assert condition == grammar.Condition("code", "=", ("007",))
    (condition,) = grammar.parse("code = 007").conditions
    assert condition.values == (7.0,)
    (condition,) = grammar.parse("code = inf").conditions
    assert condition.values == ("inf",)
