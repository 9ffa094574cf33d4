"""Reports on tables of dask: those of the same numbers in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore_app import report

dask = pytest.importorskip("dask", reason="dask is not installed")
arrays = pytest.importorskip("dask.array")

VALUES = np.random.default_rng(8).normal(size=(70_000, 2))
ASKED: dict[str, Any] = {"rounds": 400, "worst": 1, "audit": False}


def numbers(table: Any) -> dict[str, Any]:
    with dask.config.set(scheduler="synchronous"):
        found = report.analyse(table, **ASKED).to_dict()
    return {key: found[key] for key in ("verdict", "records", "game", "remedies")}


def test_arrays_and_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    expected = numbers(VALUES)
    assert numbers(arrays.from_array(VALUES, chunks=(23_457, 1))) == expected
    frame = pandas.DataFrame(VALUES, columns=["column 1", "column 2"])
    assert numbers(frames.from_pandas(frame, npartitions=3)) == expected


@pytest.mark.parametrize("shape", [(5,), (5, 2, 2)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"table of shape .* must be 2-D"):
        report.analyse(arrays.zeros(shape))


def test_other_collections_are_refused() -> None:
    with pytest.raises(TypeError, match="table must be a frame or array of dask, not Delay"):
        report.analyse(dask.delayed(3))
