"""What is refused of a file before memory is taken, or at once: both commands, every format."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app.cli import main
from leakscore_app.report import read_table
from leakscore_app.tables import files
from tests.helpers.parts import read_scores

MIB = 1 << 20
READERS: list[Callable[..., Any]] = [read_table, read_scores]


def npy(header: str, body: bytes = b"", version: int = 1, length: int | None = None) -> bytes:
    """Write an npy file by hand."""
    size = len(header) if length is None else length
    packed = struct.pack("<H" if version == 1 else "<I", size)
    return b"\x93NUMPY" + bytes([version, 0]) + packed + header.encode() + body


def described(shape: str, descr: str = "'<f8'", body: bytes = b"", **options: Any) -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"
    return npy(header, body, **options)


def npz(**entries: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def parquet(**columns: Any) -> bytes:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Fail if Python or numpy take more than this."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size, f"{peak} bytes were taken"


def words(rows: int) -> bytes:
    """One long word and many short ones: as an array of strings each is as long as the longest."""
    cells = ["in", "out"] * (rows // 2)
    return json.dumps({"score": [0.5] * rows, "member": ["x" * 5000, *cells[1:]]}).encode()


# Small files, which take many times a mebibyte once they are unpacked.
def feather(**columns: Any) -> bytes:
    pa = pytest.importorskip("pyarrow")
    from pyarrow.feather import write_feather

    file = io.BytesIO()
    write_feather(pa.table(columns), file, compression="lz4")
    return file.getvalue()


def arrow_stream(**columns: Any) -> bytes:
    pa = pytest.importorskip("pyarrow")
    table, file = pa.table(columns), io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(file, table.schema, options=options) as writer:
        writer.write_table(table)
    return file.getvalue()


def announced(data: bytes) -> bytes:
    """Let the compressed buffers of a file announce a terabyte."""
    small = (8 * 65_536).to_bytes(8, "little")
    assert small in data
    return data.replace(small, (1 << 40).to_bytes(8, "little"))


BOMBS: dict[str, Callable[[], bytes]] = {
    "npz of zeros": lambda: npz(a=described("(8000000, 1)", body=bytes(64_000_000))),
    "npz announced": lambda: npz(a=described("(250000000, 1)")),
    "npz of scores": lambda: npz(scores=described("(8000000,)"), member=described("(1,)")),
    "npy announced": lambda: described("(250000000, 1)"),
    "npy 2**62": lambda: described("(4611686018427387904, 1)"),
    "npy of no rows": lambda: described("(0, 1000000000)"),
    "npy of no columns": lambda: described("(1000000000000, 0)"),
    "npy of wide fields": lambda: described("(1,)", "[('a', '<f8', (10000, 10000))]"),
    "npy of small numbers": lambda: described("(500, 1000)", "'|i1'", bytes(500_000)),
    "parquet of zeros": lambda: parquet(score=np.zeros(2_000_000), member=np.zeros(2_000_000)),
    "feather of zeros": lambda: feather(score=np.zeros(2_000_000), member=np.zeros(2_000_000)),
    "feather announced": lambda: announced(feather(score=np.zeros(100_000))),
    "stream of zeros": lambda: arrow_stream(score=np.zeros(2_000_000)),
    "csv of one line": lambda: b"," * 500_000,
    "csv of a second line": lambda: b"1,2\n" + b"," * 500_000,
    "csv of a quoted record": lambda: b"1,2\n" + b',"\n"' * 50_000,
    "csv of short lines": lambda: b"1\n" * 250_000,
    "json of objects": lambda: b'{"score": [' + b"[]," * 200_000 + b"[]]}",
    "json of numbers": lambda: b'{"score": [' + b"1," * 250_000 + b"1]}",
    "json of words": lambda: words(2000),
    "many entries": lambda: npz(**{f"a{k}": b"" for k in range(2000)}),
    "counts": lambda: b'{"tp": 1e12, "fp": 0, "tn": 1e12, "fn": 0}',
}
_ONLY_SCORES = {"counts", "json of objects", "json of numbers", "json of words", "npz of scores"}
_ONLY_TABLES = {"npy of small numbers", "npz of zeros", "npz announced"}


@pytest.mark.parametrize("bomb", sorted(BOMBS))
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_memory_is_refused_before_it_is_taken(
    tmp_path: Path, bomb: str, reader: Callable[..., Any]
) -> None:
    """Any other error of a reader about an unknown file."""
    path = tmp_path / "bomb.data"
    path.write_bytes(BOMBS[bomb]())
    assert path.stat().st_size < MIB
    message = ""
    with at_most(4 * MIB):
        try:
            reader(str(path), max_memory=MIB)
        except ValueError as error:
            message = str(error)
    if bomb not in (_ONLY_SCORES if reader is read_table else _ONLY_TABLES):
        assert message.startswith("bomb.data")
        assert "max_memory" in message, message


@pytest.mark.parametrize("command", ["report", "audit"])
def test_two_gigabytes_are_refused_unless_allowed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    path = tmp_path / "big.npz"
    entries = {"a": described("(250000000, 1)"), "b": described("(1, 1)")}
    path.write_bytes(npz(**entries))
    options = ["--key", "a"] if command == "report" else []
    assert main([command, str(path), *options]) == 1
    error = capsys.readouterr().err
    assert "needs 1.86 GiB of memory, more than the 1 GiB" in error
    assert "--max-memory" in error
    assert main([command, str(path), "--max-memory", "2G", *options]) == 1
    assert "memory" not in capsys.readouterr().err  # but damaged: it has not what it announces


def test_the_limit_is_lifted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("score,member\n" + "1.5,0\n2.5,1\n" * 200)
    for command in (["report", "--rounds", "200", "--quiet"], ["audit", "--quiet"]):
        arguments = [command[0], str(path), *command[1:], "--max-memory"]
        assert main([*arguments, "4K"]) == 1
        assert "--max-memory" in capsys.readouterr().err
        for size in ("64K", "0.1 MiB", "70000"):
            assert main([*arguments, size]) in (0, 1)
            assert "memory" not in capsys.readouterr().err
        for size in ("0", "-1", "4X", "1e9", "nan", "", "K", "9" * 400):
            assert main([*arguments, size]) == 1
            assert "is no size such as" in capsys.readouterr().err
    with pytest.raises(ValueError, match="max_memory"):
        read_table(str(path), max_memory=0)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_streams_are_read_up_to_the_limit(tmp_path: Path, reader: Callable[..., Any]) -> None:
    with at_most(MIB), pytest.raises(ValueError, match="zero is neither csv"):
        reader("/dev/zero")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def endless() -> None:
        with pipe.open("wb", buffering=0) as stream:
            try:
                while stream.write(b"1,2\n" * 1000):
                    pass
            except BrokenPipeError:
                pass

    writer = threading.Thread(target=endless)
    writer.start()
    with at_most(8 * MIB), pytest.raises(ValueError, match="pipe is larger: more than the 1 MiB"):
        reader(str(pipe), max_memory=MIB)
    writer.join(30)
    assert not writer.is_alive()


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_finite_pipe_is_read(tmp_path: Path, reader: Callable[..., Any]) -> None:
    content = "score,member\n" + "1.5,0\n2.5,1\n" * 20_000
    (tmp_path / "file").write_text(content)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(content))
    writer.start()
    found, expected = reader(str(tmp_path / "pipe")), reader(str(tmp_path / "file"))
    writer.join()
    if reader is read_table:
        np.testing.assert_array_equal(found.values, expected.values)
    else:
        np.testing.assert_array_equal(found.data.scores, expected.data.scores)


def test_what_is_read_is_what_the_limit_says(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(range(256)) * 9000
    for size in (0, 1, MIB - 1, MIB, MIB + 1, len(data)):
        assert files.read_bounded(io.BytesIO(data[:size]), "x", len(data)) == data[:size]
        assert (
            files.read_bounded(io.BytesIO(data[7:size]), "x", size, data[: min(7, size)])
            == (data[:size])
        )
    with pytest.raises(ValueError, match="x is larger"):
        files.read_bounded(io.BytesIO(data), "x", len(data) - 1)


def test_without_a_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    for command in ("audit", "report"):
        assert main([command, "-"]) == 1
        assert capsys.readouterr() == ("", "leakscore: error: standard input is closed\n")
