"""Frames of polars with words in dictionaries are read as those with plain words."""

from __future__ import annotations

import numpy as np
import pytest

import leakscore_app

polars = pytest.importorskip("polars")


@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
def test_words_in_a_dictionary(kind: str) -> None:
    words = ["a", "b", "c", None, "a"] * 10
    values = np.random.default_rng(0).normal(size=50)
    plain = polars.DataFrame({"x": values, "w": words})
    of = polars.Categorical() if kind == "Categorical" else polars.Enum(["a", "b", "c"])
    frame = plain.with_columns(polars.col("w").cast(of))
    left = leakscore_app.analyse(plain, rounds=200).input.columns_left_out
    assert [column.name for column in left] == ["w"]
    assert leakscore_app.analyse(frame, rounds=200).input.columns_left_out == left
