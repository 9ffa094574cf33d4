"""What holds no records is refused, in words that say what does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app import report


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        (
            "a.parquet",
            r"must hold records, not be a path \(a.parquet\): pass leakscore_app.open_table",
        ),
        (Path("a.parquet"), "pass leakscore_app.open_table"),
        (iter([np.eye(3)]), "a list_iterator can be read once only, .* pass a function"),
        ({"a": [1.0, 2.0]}, "not a dict"),
        (None, "not a NoneType"),
    ],
)
def test_what_holds_no_records_is_refused(table: Any, remedy: str) -> None:
    with pytest.raises(TypeError, match=remedy):
        report.analyse(table)


def test_a_callable_returns_a_new_iterator() -> None:
    blocks = iter(np.array_split(np.random.default_rng(0).normal(size=(90, 2)), 9))
    with pytest.raises(ValueError, match="returned the same iterator again"):
        report.analyse(lambda: blocks)
