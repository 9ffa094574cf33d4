"""The table of a reproduced figure: which numbers pass, and the text about them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from reproduce._outcome import Above, Outcome, Row


@pytest.mark.parametrize(
    ("measured", "equal", "above", "z"),
    [
        (1.0, True, False, 0.0),
        (1.2, True, False, 2.0),
        (1.4, True, False, 4.0),
        (1.5, False, True, 5.0),
        (0.5, False, False, -5.0),
    ],
)
def test_agree_or_be_above(measured: float, equal: bool, above: bool, z: float) -> None:
    """The tolerance is 4 standard errors of what must agree, 2 of what must be above."""
    near, higher = Row("a", measured, 1.0, 0.4 + 1e-12), Above("a", measured, 1.0, 0.4 + 1e-12)
    assert (near.ok, higher.ok) == (equal, above)
    assert (near.z, higher.z) == pytest.approx((z, z / 2), abs=1e-9)
    assert str(higher).endswith("  ok" if above else "  FAILS")


def test_no_error_allowed() -> None:
    assert Row("a", 1.0, 1.0, 0.0).ok
    assert not Above("a", 1.0, 1.0, 0.0).ok
    assert Above("a", 1.0, 0.5, 0.0).ok
    distances = [Row("a", x, 1.0, 0.0).z for x in (0.5, 1.0, 1.5)]
    assert distances == [-np.inf, 0.0, np.inf]


def test_the_table_tells_notes_and_units() -> None:
    rows = (Row("first", 1.0, 1.1, 0.4), Above("second", 3.0, 1.0, 0.4))
    outcome = Outcome("title", 7, 1, rows, {}, ("a note",), "splits")
    lines = outcome.table().splitlines()
    assert lines[:3] == ["title", "7 splits, seed 1", "a note"]
    assert lines[-1] == (
        "2 numbers must agree within 4 standard errors, or be above by 2 (>): all do "
        "(largest distance 1.0)."
    )
    assert json.loads(outcome.to_json())["notes"] == ["a note"]
    plain = Outcome("title", 7, 1, rows[:1], {})
    assert plain.table().splitlines()[1] == "7 rounds per hypothesis and setting, seed 1"
    assert "above" not in plain.table()
    failing = Outcome("title", 7, 1, (Above("second", 1.0, 1.0, 0.4),), {})
    assert not failing.ok
    assert "1 of them do not" in failing.table()


@pytest.mark.parametrize("length", [1, 46, 80])
def test_columns_stand_under_each_other_whatever_the_names(length: int) -> None:
    rows = (Row("x" * length, 1.0, 1.1, 0.4), Above("y", 30.0, 1.0, 0.4))
    head, first, second, _ = Outcome("title", 7, 1, rows, {}).table().splitlines()[2:]
    ends = [head.index(word) + len(word) for word in ("measured", "theory", "allowed")]
    for line, numbers in ((first, "1.0000 1.1000 0.4000"), (second, "30.0000 1.0000 0.4000")):
        for end, number in zip(ends, numbers.split(), strict=True):
            assert line[:end].endswith(" " + number)
