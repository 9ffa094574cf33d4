"""The grammar of numbers: every string of a few characters, and formatted numbers."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from tests.helpers.parts import ALL, CONVENTIONS, Convention, conventions_of, parse, shape_of

ALPHABET = "01.,' "


def well_formed(number: str, convention: Convention) -> bool:
    """The definition, one convention at a time: groups of three behind one to three digits."""
    decimal, mark = re.escape(convention.decimal), re.escape(convention.thousands)
    end = rf"(?:{decimal}[0-9]+)?"
    plain = rf"[0-9]+{end}|{decimal}[0-9]+" + (r"|[0-9]+\." if convention.decimal == "." else "")
    patterns = [plain]
    if convention.thousands:
        patterns.append(rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+{end}")
    return any(re.fullmatch(pattern, number) for pattern in patterns)


def written_numbers() -> list[str]:
    short = [
        "".join(word) for size in (1, 2, 3, 4) for word in itertools.product(ALPHABET, repeat=size)
    ]
    marks = [".", ",", "'", " "]
    groups = ["1", "12", "123", "012", "1234", "0"]
    long = [
        first + a + second + b + third
        for first in groups
        for second in groups
        for third in (*groups, "")
        for a in marks
        for b in (*marks, "")
    ]
    return [*short, *long]


@pytest.mark.parametrize("index", range(len(CONVENTIONS)))
def test_every_short_string_is_a_number_in_the_conventions_of_the_definition(index: int) -> None:
    convention = CONVENTIONS[index]
    for number in written_numbers():
        if number != number.strip():
            continue
        shape = shape_of(number)
        taken = shape is not None and bool(shape.conventions >> index & 1)
        assert taken == well_formed(number, convention), (number, convention)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_formatted_numbers_come_back(convention: Convention) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=2000) * 10.0 ** rng.integers(-4, 9, size=2000)
    for value in values.round(4).tolist():
        written = f"{value:,.4f}".translate(
            str.maketrans({",": convention.thousands, ".": convention.decimal})
        )
        shape = shape_of(written)
        assert shape is not None, written
        assert shape.conventions >> CONVENTIONS.index(convention) & 1
        assert parse(written, convention) == value


def test_ambiguity_is_the_mark_before_three_digits() -> None:
    """Two conventions read a number differently only where `three` names its mark."""
    for number in written_numbers():
        shape = shape_of(number)
        if shape is None:
            continue
        values = {
            parse(number, convention)
            for i, convention in enumerate(CONVENTIONS)
            if shape.conventions >> i & 1
        }
        assert (len(values) > 1) <= bool(shape.three), (number, values)
        if shape.three:
            assert number.count(shape.three) == 1


def test_other_digits_and_python_spellings_are_no_numbers() -> None:
    for text in (
        "\u0663",
        "1_0",
        "0x10",
        "1e",
        "e5",
        "--1",
        "1-",
        "\uff11",
        "1 e5",
        "",
        ".",
        "nan",
    ):
        assert shape_of(text) is None, text


def test_options_choose_conventions() -> None:
    assert conventions_of(None, None) == ALL
    chosen = [c for i, c in enumerate(CONVENTIONS) if conventions_of(",", None) >> i & 1]
    assert {c.decimal for c in chosen} == {","}
    assert conventions_of(".", "none") == 1 << CONVENTIONS.index(Convention(".", ""))
    assert conventions_of(",", ",") == 0
