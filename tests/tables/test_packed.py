"""Packed, encoded and foreign files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app import read_table
from tests.tables.test_reading import read

NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "opener"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed(tmp_path: Path, name: str, opener: Any) -> None:
    table = read(tmp_path, opener(b"a,b\n1,2\n3,4\n"), f"t.{name}")
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match=r"t\.cut is damaged"):
        read(tmp_path, opener(b"a,b\n1,2\n3,4\n" * 99)[:-9], "t.cut")


def test_archives_of_files(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in/a.csv", "a,b\n1,2\n3,4\n")
        archive.writestr("__MACOSX/in/._a.csv", "x")
    assert read_table(str(path)).values.tolist() == [[1, 2], [3, 4]]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.csv", "a;b\n5;6\n7;8\n")
    with pytest.raises(ValueError, match=r"several files.* --key: in/a\.csv, b\.csv"):
        read_table(str(path))
    assert read_table(str(path), key="b.csv").values.tolist() == [[5, 6], [7, 8]]
    with pytest.raises(ValueError, match="no file 'c'"):
        read_table(str(path), key="c")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html><table><tr><td>1</td></tr></table>", "a web page"),
        (b"  <html>", "a web page"),
        (b"<?xml version='1.0'?><a/>", "XML"),
        (b"%PDF-1.7", "PDF"),
        (b"\x28\xb5\x2f\xfd....", "zstandard"),
        (b'{"a": [1, 2]}', "JSON"),
        (b"a,b\n\x81,2\n", "neither UTF-8 nor cp1252.*--encoding"),
        (b"a,b\n1,\x002\n", "csv, npz"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content, "t.xls")


def test_a_file_that_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from leakscore_app.tables import files

    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    whole = files.read_bounded

    def grown(*arguments: Any) -> bytes:
        data = whole(*arguments)
        with path.open("a") as file:
            file.write("3,4\n")
            os.fsync(file.fileno())
        return data

    monkeypatch.setattr(files, "read_bounded", grown)
    with pytest.raises(ValueError, match=r"t\.csv changed while it was read"):
        read_table(str(path))


def test_encodings_by_name(tmp_path: Path) -> None:
    data = "\u00e4,b\n1,2\n".encode("utf-16-le")
    with pytest.raises(ValueError, match="--encoding"):
        read(tmp_path, data)
    assert read(tmp_path, data, encoding="utf-16-le").columns == ("\u00e4", "b")
    with pytest.raises(ValueError, match="encoding='nonsense'"):
        read(tmp_path, data, encoding="nonsense")
    with pytest.raises(ValueError, match="not written in ascii"):
        read(tmp_path, "\u00e4,b\n1,2\n".encode(), encoding="ascii")


@pytest.mark.parametrize("encoding", ["cp500", "cp037"])
def test_ebcdic_has_as_many_bytes_as_ascii(tmp_path: Path, encoding: str) -> None:
    data = "a,b\n1,2\n3,5\n".encode(encoding)
    table = read(tmp_path, data, encoding=encoding)
    assert table.columns == ("a", "b")
    assert table.values.tolist() == [[1, 2], [3, 5]]


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_is_read_whole_or_refused(tmp_path: Path, kind: str) -> None:
    """Cut off between two batches, the first ones alone would pass for the table."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc

    sink, values = pyarrow.BufferOutputStream(), np.arange(30.0) ** 2
    table = pyarrow.table({"a": values, "b": np.sin(values)})
    with getattr(ipc, f"new_{kind}")(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    data = sink.getvalue().to_pybytes()
    assert len(read(tmp_path, data, "t.arrow").values) == 30
    *_, last, _ = (at for at in range(0, len(data), 8) if data.startswith(b"\xff" * 4, at))
    with pytest.raises(ValueError, match=r"t\.arrow is damaged"):
        read(tmp_path, data[:last], "t.arrow")
