"""Passes over files on a cluster: the bits of one process, and what is told when a worker fails."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed")
parquet = pytest.importorskip("pyarrow.parquet")

from leakscore import Moments  # noqa: E402
from leakscore.dask import ClusterError, cluster  # noqa: E402
from leakscore_app import report  # noqa: E402
from tests.helpers.parts import (  # noqa: E402
    Block,
    CallablePart,
    Categories,
    NpyPart,
    ParquetPart,
    ReadingOptions,
    Source,
    first,
    numbered,
    of_array,
    of_table,
    run,
    run_on,
)
from tests.helpers.sizes import sizes  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SIZE, BLOCKS = 512, 24


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Two files, with gaps; blocks begin anew in the second."""
    import pyarrow

    folder = tmp_path_factory.mktemp("files")
    values = np.random.default_rng(1).normal(size=(SIZE * BLOCKS + 100, 3))
    values[[3, 9000], [0, 1]] = np.nan
    np.save(folder / "a.npy", values[:5000])
    frame = pyarrow.table({f"column {j + 1}": values[5000:, j] for j in range(3)})
    parquet.write_table(frame, folder / "b.parquet", row_group_size=999)
    parts = (
        NpyPart.of(str(folder / "a.npy"), "a.npy"),
        ParquetPart.of(str(folder / "b.parquet"), "b.parquet", Categories(), ReadingOptions()),
    )
    return Source(parts, numbered(3), SIZE)


def told_by(result: Any) -> Any:
    """Return all numbers of a result, whatever its objects share."""
    if isinstance(result, np.ndarray):
        return result.dtype.str, result.shape, result.tobytes()
    if isinstance(result, Moments):
        return result.to_bytes()
    if isinstance(result, tuple):
        return tuple(map(told_by, result))
    if is_dataclass(result):
        return tuple(told_by(getattr(result, field.name)) for field in fields(result))
    assert isinstance(result, (int, float, str, type(None))), type(result)
    return repr(result)


@dataclass(frozen=True)
class Slow:
    """The first pass, which leaves a file behind for each block."""

    folder: str

    def __call__(self, block: Block) -> Any:
        (Path(self.folder) / f"{os.getpid()}-{block.number}").touch()
        time.sleep(0.05)
        return first(block)


def test_files_give_the_same_bits_though_a_worker_dies(
    client: Any, source: Source, tmp_path: Path
) -> None:
    expected = told_by(run(source, first).result())
    done: list[int] = []
    assert told_by(run_on(client, source, first, done.append)) == expected
    assert done == sorted(done)
    assert done[-1] == source.rows
    assert len(done) > 2
    victim = next(iter(client.run(os.getpid).values()))

    def kill() -> None:
        """End one of the cluster's own workers when it has read two blocks."""
        while len(list(tmp_path.glob(f"{victim}-*"))) < 2:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    assert told_by(run_on(client, source, Slow(str(tmp_path)))) == expected
    killer.join(timeout=60)
    assert not killer.is_alive()
    assert len({path.name.split("-")[0] for path in tmp_path.iterdir()}) >= 2


def test_a_part_of_unknown_length_is_read_here(client: Any) -> None:
    values = np.random.default_rng(2).normal(size=(2000, 3))
    part = CallablePart.of(lambda: iter([values[:700], values[700:]]))
    stream = Source((part,), part.columns, SIZE)
    expected = told_by(run(stream, first).result())
    assert told_by(run_on(client, stream, first)) == expected


def test_files_that_workers_do_not_have(client: Any, source: Source, tmp_path: Path) -> None:
    path = tmp_path / "c.npy"
    np.save(path, np.zeros((2000, 3)))
    lost = Source((NpyPart.of(str(path), "c.npy"),), numbered(3), SIZE)
    path.unlink()
    with pytest.raises(ValueError, match=r"c\.npy is not on the worker tcp://.* share$") as told:
        run_on(client, lost, first)
    assert "\n" not in str(told.value)
    np.save(path, np.zeros((2001, 3)))
    with pytest.raises(ValueError, match=r"c\.npy changed while it was read"):
        run_on(client, lost, first)


def test_a_report_is_the_same(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, long=1000)
    rng = np.random.default_rng(3)
    values = rng.standard_t(4, size=(3000, 4)) @ rng.normal(size=(4, 4))
    opened = of_array(values).with_size(SIZE)
    asked: dict[str, Any] = {"n": 400, "rounds": 2000, "noise_shape": "same", "records": "all"}
    steps: list[str] = []
    alone = report.analyse(opened, **asked)
    found = report.analyse(
        opened, client=client, progress=lambda what, _: steps.append(what), **asked
    )
    assert found.to_json() == alone.to_json()
    assert any("3,000 of 3,000 records" in step for step in steps)


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_PATIENCE", "1s")
    address = "tcp://127.0.0.1:9"
    with (
        pytest.raises(ClusterError, match=f"^No dask scheduler answers at {address}$"),
        cluster.opened(scheduler=address),
    ):
        raise AssertionError("a scheduler answered")


@pytest.mark.parametrize("address", ["nonsense://here", "127.0.0.1:what"])
def test_no_address(address: str) -> None:
    with (
        pytest.raises(ValueError, match=f"^scheduler='{address}' must be an address"),
        cluster.opened(scheduler=address),
    ):
        raise AssertionError("a scheduler answered")


def test_tables_with_categories_stay_in_this_process() -> None:
    """They are in memory: each pass would send them anew."""
    rng = np.random.default_rng(2)
    groups = {"kind": rng.choice(["x", "y", ""], 500)}
    opened = of_table(report.table_of(rng.normal(size=(500, 2)), groups=groups))
    source = replace(opened.source, columns=("kind", "column 1"), size=64)
    found = run_on(None, source, first)
    assert found.missing.count == int((groups["kind"] == "").sum()) > 0
    assert found.moments.to_bytes() == run(source, first).result().moments.to_bytes()
