"""Frames of polars with words in dictionaries are read as those with plain words."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_its_feather_files_are_read(tmp_path: Path, compression: str) -> None:
    path = str(tmp_path / "t.feather")
    values = np.random.default_rng(0).normal(size=(5000, 2))
    polars.DataFrame(values, schema=["x", "y"]).write_ipc(path, compression=compression)
    np.testing.assert_array_equal(leakscore_app.read_table(path).values, values)
    with pytest.raises(ValueError, match="--max-memory"):
        leakscore_app.read_table(path, max_memory=70_000)


def test_a_damaged_footer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.feather"
    polars.DataFrame({"x": [1.0, 2.0, 4.0]}).write_ipc(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match="is damaged"):
        leakscore_app.read_table(str(path))
