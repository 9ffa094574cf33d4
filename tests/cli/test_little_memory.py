"""Little memory: one line and exit code 1, never an endless run or the end of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leakscore_app.cli import main
from leakscore_app.tables import files

resource = pytest.importorskip("resource")


@pytest.mark.parametrize("mebibytes", [390, 450, 500, 590, 1000])
def test_limited_addresses(tmp_path: Path, mebibytes: int) -> None:
    path = tmp_path / "t.csv"
    np.savetxt(path, np.random.default_rng(1).normal(size=(60, 2)), delimiter=",", header="a,b")
    done = subprocess.run(
        [sys.executable, "-m", "leakscore_app", "report", str(path), "--rounds", "200"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20,) * 2),
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"leakscore: error: too little memory: this process may have {mebibytes} MiB, and the "
        "libraries alone take up to 1 GiB (ulimit -v)\n"
    )


def test_memory_that_a_library_lacks_need_not_be_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def fail(*_: object, **__: object) -> None:
        raise pyarrow.ArrowMemoryError("malloc of size 32576 failed")

    path = str(tmp_path / "t.parquet")
    parquet.write_table(pyarrow.table({"a": [1.5, 2.0, 4.0]}), path)
    monkeypatch.setattr(parquet, "ParquetFile", fail)
    assert main(["report", path, "--quiet"]) == 1
    line = "t.parquet is damaged, or needs more memory than there is: malloc of size 32576 failed"
    assert capsys.readouterr().err == f"leakscore: error: {line}\n"


@pytest.mark.parametrize(
    ("size", "words"),
    [(1000, "1000 bytes"), (1023 << 20, "1023 MiB"), (3 << 29, "1.5 GiB"), (999 << 10, "999 KiB")],
)
def test_sizes_have_no_exponent(size: int, words: str) -> None:
    assert files.shown_size(size) == words
