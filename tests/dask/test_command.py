"""``leakscore report`` with ``--workers`` and ``--scheduler``: the same bytes, or one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leakscore_app.cli import main
from tests.helpers.sizes import sizes

pytest.importorskip("distributed", reason="dask.distributed is not installed")

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def report(folder: Path, name: str, *words: str) -> int:
    played = ("--rounds", "500", "--n", "1000", "--quiet", "--json", str(folder / name))
    return main(["report", str(folder / "part-*.*"), *played, *words])


def test_workers_write_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes(monkeypatch, long=1000)
    rng = np.random.default_rng(5)
    np.save(tmp_path / "part-0.npy", rng.normal(size=(500, 2)))
    lines = [
        "column 1;column 2",
        *map("%.3f;%.6g".__mod__, map(tuple, rng.normal(size=(70_000, 2)))),
    ]
    (tmp_path / "part-1.csv").write_text("\n".join(lines).replace(".", ","))  # three blocks in all
    assert report(tmp_path, "one.json") == 0
    assert report(tmp_path, "two.json", "--workers", "2") == 0
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "one.json").read_bytes()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workers", "0"), "--workers 0 must be in [1, 1024]"),
        (("--workers", "2", "--scheduler", "tcp://127.0.0.1:9"), "give it or --scheduler"),
        (("--scheduler", "tcp://127.0.0.1:9"), "No dask scheduler answers at tcp://127.0.0.1:9"),
    ],
)
def test_no_cluster_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.setattr("leakscore.dask.cluster._PATIENCE", "1s")
    np.save(tmp_path / "part-1.npy", np.zeros((3, 2)))
    assert report(tmp_path, "none.json", *words) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert message in told.err
    assert not (tmp_path / "none.json").exists()


@pytest.mark.parametrize(
    "address", ["foo", "", "http://a:1", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:0", "tcp://a"]
)
def test_addresses_that_nothing_can_answer_at(
    capsys: pytest.CaptureFixture[str], address: str
) -> None:
    assert main(["report", "--scheduler", address]) == 1
    refusal = f"leakscore: error: --scheduler {address!r} must be an address as tcp://host:8786\n"
    assert capsys.readouterr().err == refusal


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no masks of signals")
def test_an_interrupt_of_all_processes_is_one_line(tmp_path: Path) -> None:
    """A terminal sends it to the whole group of processes."""
    path = tmp_path / "table.npy"
    np.save(path, np.random.default_rng(0).normal(size=(70_000, 2)))
    told = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program = told + "from leakscore_app.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["report", str(path), "--workers", "2", "--progress"]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        assert "reading the table" in process.stderr.readline()  # the workers have begun
        os.killpg(process.pid, signal.SIGINT)
        text, errors = process.communicate(timeout=120)
    assert (process.returncode, text) == (130, "")
    lines = errors.splitlines()
    assert lines[-1] == "leakscore: interrupted"
    assert all("%" in line for line in lines[:-1])  # how far the work was, no traceback
