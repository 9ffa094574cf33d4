"""Clusters of processes on this machine: workers that die, schedulers that do, other versions."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")

from leakscore.dask import (  # noqa: E402
    ClusterError,
    audit,
    cluster,
    fit,
    leave_one_out,
    moments,
)

# What distributed leaves open when its processes are killed is not ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
BLOCKS = 8


def rows(block_id: tuple[int, int], folder: str = "") -> Any:
    """Make one chunk of a table; leave a file behind when it is asked for."""
    if folder:
        (Path(folder) / f"{os.getpid()}-{block_id[0]}").touch()
        time.sleep(0.05)
    return np.random.default_rng(block_id[0]).normal(size=(65_536, 3)) + block_id[0]


def table(folder: str = "") -> Any:
    return da.map_blocks(
        rows,
        chunks=((65_536,) * BLOCKS, (3,)),
        dtype=np.float64,
        meta=np.empty((0, 0)),
        folder=folder,
    )


def digest(data: Any) -> str:
    """Hash moments and all leakage scores."""
    scores = leave_one_out(data, 1000).compute()
    return hashlib.sha256(moments(data).to_bytes() + scores.tobytes()).hexdigest()


@pytest.fixture(scope="module")
def serial() -> str:
    """The hash of one process, whose chunks are others."""
    with dask.config.set(scheduler="synchronous"):
        return digest(table().rechunk((100_003, 2)))


def test_a_worker_that_dies_changes_no_bit(client: Any, serial: str, tmp_path: Path) -> None:
    victim = next(iter(client.run(os.getpid).values()))

    def kill() -> None:
        """End one of the cluster's own workers when it has made its second chunk."""
        while len(list(tmp_path.glob(f"{victim}-*"))) < 2:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with client.as_current():
        assert digest(table(str(tmp_path))) == serial
    killer.join(timeout=60)
    assert not killer.is_alive()
    owners = {path.name.split("-")[0] for path in tmp_path.iterdir()}
    assert len(owners) >= 2
    assert str(victim) in owners


def test_workers_do_what_this_process_does(client: Any) -> None:
    with client.as_current():
        on_the_cluster()


def on_the_cluster() -> None:
    member = da.from_array(np.arange(1000) % 2 == 0, chunks=300)
    scores = da.random.default_rng(1).normal(size=1000, chunks=70) + member
    inside = scores.compute(), member.compute()
    assert (
        audit(scores, member).to_bytes()
        == audit(da.from_array(inside[0], chunks=999), inside[1]).to_bytes()
    )
    wide = da.from_array(np.random.default_rng(2).normal(size=(6, 50)), chunks=(4, 9))
    assert fit(wide, "low-rank").kind == "low-rank"
    with pytest.raises(ValueError, match="X must be finite"):
        moments(table() * np.nan)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        moments(table("/nowhere/at/all"))


def start(*words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    if process.stdout is not None and not process.stdout.closed:
        process.communicate()


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler of its own process, and its address."""
    place = tmp_path / "scheduler.json"
    process = start(
        "distributed.cli.dask_scheduler",
        *("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"),
        *("--scheduler-file", str(place)),
    )
    while not place.exists():
        assert process.poll() is None
        time.sleep(0.05)
    yield process, str(place)
    end(process)


def test_lost_schedulers_and_other_versions_are_told(
    scheduler: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    process, place = scheduler
    other = tmp_path / "other" / "leakscore-9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: leakscore\nVersion: 9.9\n")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        distributed.Client(scheduler_file=place, set_as_default=False) as client,
        client.as_current(),
    ):
        with pytest.raises(ClusterError, match="the scheduler has none"):
            moments(table())
        worker = start(
            "distributed.cli.dask_worker",
            *("--scheduler-file", place, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
            PYTHONPATH=str(other.parent),
        )
        try:
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(ClusterError) as told:
                moments(table())
            assert f"Workers must have leakscore {version('leakscore')}" in str(told.value)
            assert "has 9.9" in str(told.value)
            end(process)
            with pytest.raises(ClusterError, match=r"was lost: its scheduler") as told:
                moments(table())
            assert "\n" not in str(told.value)
        finally:
            end(worker)


def test_workers_that_do_not_start_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is killed while it starts was reported as "Nanny failed to start." alone."""

    def started(**_: Any) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", started)
    with (
        pytest.raises(ClusterError, match=r"The 3 workers did not start .* fewer workers"),
        cluster.open_cluster(workers=3),
    ):
        pass
