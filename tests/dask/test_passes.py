"""Reports with a cluster: the bytes of one process, and what is told when a worker fails."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed")
parquet = pytest.importorskip("pyarrow.parquet")

from leakscore import statistics  # noqa: E402
from leakscore_app import report  # noqa: E402
from tests.helpers.sizes import sizes  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SIZE, BLOCKS = 512, 24
ASKED: dict[str, Any] = {"n": 400, "rounds": 500, "noise_shape": "same", "records": "all"}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, long=1000, block=SIZE)


@pytest.fixture
def files(tmp_path: Path) -> str:
    """Two files, with gaps; blocks begin anew in the second."""
    import pyarrow

    values = np.random.default_rng(1).normal(size=(SIZE * BLOCKS + 100, 3))
    values[[3, 9000], [0, 1]] = np.nan
    np.save(tmp_path / "a.npy", values[:5000])
    frame = pyarrow.table({f"column {j + 1}": values[5000:, j] for j in range(3)})
    parquet.write_table(frame, tmp_path / "b.parquet", row_group_size=999)
    return str(tmp_path / "[ab].*")


class Steps:
    """How far each pass was after each task; what is to happen then."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.shares: dict[str, list[float]] = {}
        self.then = then

    def __call__(self, what: str, share: float) -> None:
        name, _, rows = what.rpartition(": ")
        if rows.endswith("records"):
            self.shares.setdefault(name, []).append(share)
            self.then()


def test_files_give_the_same_bytes_though_a_worker_dies(client: Any, files: str) -> None:
    opened = report.open_table(files)
    expected = report.analyse(opened, **ASKED).to_json()
    steps = Steps()
    assert report.analyse(opened, client=client, progress=steps, **ASKED).to_json() == expected
    for shares in steps.shares.values():
        assert shares == sorted(shares)
        assert len(shares) > 2
    victims = [next(iter(client.run(os.getpid).values()))]

    def kill() -> None:
        """End one of the cluster's own workers, which holds results that are not merged yet."""
        if victims:
            os.kill(victims.pop(), signal.SIGKILL)

    told = report.analyse(opened, client=client, progress=Steps(kill), **ASKED)
    assert told.to_json() == expected
    assert victims == []


def test_a_part_of_unknown_length_is_read_here(client: Any) -> None:
    values = np.random.default_rng(2).normal(size=(2000, 3))
    found = [
        report.analyse(lambda: iter([values[:700], values[700:]]), client=one, **ASKED).to_json()
        for one in (None, client)
    ]
    assert found[0] == found[1]


def test_files_that_workers_do_not_have(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.npy"
    np.save(path, np.random.default_rng(0).normal(size=(2000, 3)))
    lost = report.open_table(path)
    path.unlink()
    with pytest.raises(ValueError, match=r"c\.npy is not on the worker tcp://.* share$") as told:
        report.analyse(lost, client=client, **ASKED)
    assert "\n" not in str(told.value)
    np.save(path, np.zeros((2001, 3)))
    with pytest.raises(ValueError, match=r"c\.npy changed while it was read"):
        report.analyse(lost, client=client, **ASKED)


@pytest.mark.parametrize(
    "statistic", [statistics.Mean(), statistics.Covariance(), statistics.GroupMeans("by")]
)
def test_reports_are_the_same(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statistic: Any
) -> None:
    """Though workers are in another folder than the relative path is."""
    import pyarrow

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    values = rng.standard_t(4, size=(3000, 4)) @ rng.normal(size=(4, 4))
    columns = dict(zip("abcd", values.T, strict=True))
    groups = [] if statistic != statistics.GroupMeans("by") else ["by"]
    columns |= {name: rng.choice(["x", "y", "z"], 3000) for name in groups}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    opened = report.open_table("t.parquet", groups=groups)
    steps = Steps()
    asked = ASKED | {"statistic": statistic}
    alone = report.analyse(opened, **asked)
    found = report.analyse(opened, client=client, progress=steps, **asked)
    assert found.to_json() == alone.to_json()
    assert min(map(len, steps.shares.values())) > 1


def test_tables_with_categories_stay_in_this_process() -> None:
    """They are in memory: each pass would send them anew."""
    rng = np.random.default_rng(2)
    groups = {"kind": rng.choice(["x", "y", ""], 1500)}
    table = report.table_of(rng.normal(size=(1500, 2)), groups=groups)
    found = [
        report.analyse(table, statistic=statistics.Counts("kind"), client=one, **ASKED)
        for one in (None, object())
    ]
    assert found[0].to_json() == found[1].to_json()
