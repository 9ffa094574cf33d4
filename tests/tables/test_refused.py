"""Damaged and odd files: one refusal that names the file, no other exception, no traceback."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app import read_table
from leakscore_app.cli import main
from tests.helpers.parts import read_scores
from tests.helpers.versions import OLD_NUMPY
from tests.tables.test_limits import READERS, described, npy, npz


def edited(data: bytes, entry: str, **changes: Any) -> bytes:
    """Write an archive again, with a directory that says something else of an entry."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(file, "w") as archive:
        for name in before.namelist():
            archive.writestr(name, before.read(name))
        for attribute, value in changes.items():
            setattr(archive.getinfo(entry), attribute, value)
    return file.getvalue()


ONE = described("(1, 1)", body=bytes(8))
REFUSED: dict[str, tuple[bytes, str]] = {
    "csv of an empty cell": (b'""', "is empty"),
    "csv of empty cells": (b'""\n""\n \n', "is empty"),
    "csv of blanks": (b" " * 70_000 + b"\n\t\n", "is empty"),
    "an open quote": (b'a,b\n1,"2\n3,4\n', "unexpected end of data"),
    "an open quote far from the end": (
        b'"a","b"\n1,2\n3,"4\n5,6\n7,8\n',
        "line 5: unexpected end of data",
    ),
    "a wrong quote below others": (b'"a","b"\n1,2\n3,"4"5\n7,8\n', "line 3: ',' expected after"),
    "a wrong quote": (b'a,b\n1,"2"3\n', "expected after"),
    "feather of version 1": (b"FEA1\0\0\0\0\x08\0\0\0FEA1", "neither csv"),
    "nul bytes": (b"a,b\n1,\x002\n", "neither csv"),
    "npy cut in its magic": (b"\x93NUMPY", "none that numpy writes"),
    "npy cut in its version": (b"\x93NUMPY\x01", "none that numpy writes"),
    "npy cut in its length": (b"\x93NUMPY\x01\x00\x76", "none that numpy writes"),
    "npy cut in its header": (ONE[:40], "none that numpy writes"),
    "npy cut in its data": (ONE[:-1], "announces shape (1, 1) of float64, it has 7 bytes"),
    "npy with more": (ONE + b"x", "announces shape (1, 1) of float64, it has 9 bytes"),
    "npy twice": (ONE + ONE, "announces shape"),
    "npy of a later version": (npy("{}", version=9), "none that numpy writes"),
    "npy of a header past the end": (npy("{}", length=60_000), "none that numpy writes"),
    "npy of a long header": (npy("{}", version=2, length=2**32 - 1), "none that numpy writes"),
    "npy of no dict": (npy("[1, 2]"), "none that numpy writes"),
    "npy of other keys": (npy("{'descr': '<f8', 'shape': (1, 1)}"), "none that numpy writes"),
    "npy of a call": (npy("__import__('os').getcwd()"), "none that numpy writes"),
    "npy of a sum": (npy("{'shape': (1+1,)}"), "none that numpy writes"),
    "npy of many signs": (npy("-" * 9000 + "1"), "none that numpy writes"),
    "npy of many brackets": (npy("(" * 9000 + ")" * 9000), "none that numpy writes"),
    "npy of many dicts": (npy("{1:" * 9000, version=2), "none that numpy writes"),
    "npy of an unhashable key": (npy("{[]: 1}"), "none that numpy writes"),
    "npy of a long number": (described(f"({'9' * 5000},)"), "none that numpy writes"),
    "npy of a negative shape": (described("(-1, 1)"), "none that numpy writes"),
    "npy of a negative pair": (described("(-2, -2)", body=bytes(32)), "none that numpy writes"),
    "npy of a truth value": (described("(True, 1)", body=bytes(8)), "none that numpy writes"),
    "npy of a list": (described("[1, 1]", body=bytes(8)), "none that numpy writes"),
    "npy of an overflow": (described("(4294967296, 4294967296)"), "max_memory"),
    "npy of 2**62": (described("(4611686018427387904, 1)"), "max_memory"),
    "npy of many sides": (described(f"({'1, ' * 40})", body=bytes(8)), "announces shape (1, 1"),
    "npy of objects": (described("(1, 1)", "'|O'", bytes(8)), "holds Python objects"),
    "npy of hidden objects": (described("(1,)", "[('a', [('b', '|O')])]"), "Python objects"),
    "npy of nothing": (described("(9, 9)", "'|V0'"), "none that numpy writes"),
    "npy of no text": (described("(9, 9)", "'<U0'"), "none that numpy writes"),
    "npy of no dtype": (described("(1, 1)", "'nonsense'"), "none that numpy writes"),
    "npy of a number for a dtype": (described("(1, 1)", "17"), "none that numpy writes"),
    "npy of a wide dtype": (described("(1, 1)", "'|S3000000000'"), "none that numpy writes"),
    **(
        {}
        if OLD_NUMPY
        else {  # which takes it for a narrower one
            "npy of a wider dtype": (
                described("(1, 1)", "'|S99999999999'"),
                "none that numpy writes",
            ),
        }
    ),
    "npy of fields twice": (
        described("(1,)", "[('a', '<f8'), ('a', '<f8')]"),
        "none that numpy writes",
    ),
    "npy of odd truth values": (described("(2, 1)", "'|b1'", b"\0\2"), "neither 0 nor 1"),
    "npy of no characters": (described("(1, 1)", "'<U1'", b"\xff" * 4), "no character"),
    "npy of dates": (described("(1, 1)", "'<M8[s]'", bytes(8)), "datetime64"),
    "npz of no npy": (npz(scores=b"no array at all"), "none that numpy writes"),
    "npz of an empty entry": (npz(scores=b""), "none that numpy writes"),
    "npz of a cut entry": (npz(scores=ONE[:-1]), "announces shape"),
    "npz of objects": (npz(scores=described("(1, 1)", "'|O'", bytes(8))), "Python objects"),
    "npz that is encrypted": (edited(npz(scores=ONE), "scores.npy", flag_bits=1), "encrypted"),
    "npz by another method": (edited(npz(scores=ONE), "scores.npy", compress_type=12), "damaged"),
    "npz of another sum": (edited(npz(scores=ONE), "scores.npy", CRC=1), "Bad CRC-32"),
    "npz of another size": (edited(npz(scores=ONE), "scores.npy", file_size=9), "scores"),
    "npz of a far directory": (b"PK\x05\x06" + b"\xff" * 18, "is damaged"),
    "parquet of a lie": (b"PAR1" + b"\xff" * 20 + b"PAR1", "is damaged"),
    "parquet of nothing": (b"PAR1", "is damaged"),
}
JSON_REFUSED: dict[str, tuple[str, str]] = {
    "a key twice": (
        '{"score": [1, 2], "score": [2, 1], "member": [0, 1]}',
        "the key 'score' twice",
    ),
    "a key twice inside": ('{"primitives": {"a": 1, "a": 2}}', "the key 'a' twice"),
    "31 digits": (
        f'{{"score": [{"9" * 31}, 1], "member": [0, 1]}}',
        "row 1: a whole number",
    ),
    "31 digits alone": (
        f'{{"score": {"9" * 31}, "member": [0, 1]}}',
        "row 1: a whole number",
    ),
    "31 digits of a member": (f'{{"score": [1, 2], "member": [0, {"1" * 31}]}}', "row 2: a whole"),
    "31 digits of counts": (f'{{"tp": {"1" * 31}, "fp": 1, "tn": 1, "fn": 1}}', "'tp', row 1"),
    "5000 digits": (f'{{"score": [{"9" * 5000}]}}', "is no JSON"),
    "rounded": ('{"score": [9007199254740993, 0.5], "member": [0, 1]}', "would be rounded"),
    "NaN": ('{"score": [NaN, 1], "member": [0, 1]}', "row 1: the score is missing or NaN"),
    "null": ('{"score": [1, null], "member": [0, 1]}', "row 2: null is not a number"),
    "objects": ('{"score": [1, {}], "member": [0, 1]}', "row 2: an object is not a number"),
    "deep": ('{"score": ' + "[" * 100_000 + "]" * 100_000 + "}", "too deep"),
    "rather deep": (
        '{"score": ' + "[" * 80 + "1" + "]" * 80 + ', "member": [1]}',
        "column 'score'",
    ),
    "surrogates": ('{"\\ud800": [1, 2], "b": [0, 3]}', "neither 1"),
    "no UTF-8": ('{"score": [1, 2], "\udcff": 1}', "is no JSON"),
    "nothing": ('{"score": [], "member": []}', "no members"),
    "no counts": ('{"tp": [], "fp": [], "tn": [], "fn": []}', "no counts"),
    "infinite counts": ('{"tp": Infinity, "fp": 1, "tn": 1, "fn": 1}', "no counts"),
}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize("case", sorted(REFUSED))
def test_refused(tmp_path: Path, case: str, reader: Any) -> None:
    content, message = REFUSED[case]
    path = tmp_path / "t.data"
    path.write_bytes(content)
    options = {"score": "scores", "member": "scores"} if case.startswith("npz") else {}
    with pytest.raises(ValueError) as refused:
        reader(str(path), **(options if reader is read_scores else {}))
    assert type(refused.value) is ValueError
    assert str(refused.value).startswith("t.data")
    if reader is read_table or not (case.startswith("npz") or "dates" in case):
        assert message in str(refused.value)


@pytest.mark.parametrize("case", sorted(JSON_REFUSED))
def test_json_refused(tmp_path: Path, case: str) -> None:
    content, message = JSON_REFUSED[case]
    path = tmp_path / "t.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError) as refused:
        read_scores(str(path))
    assert type(refused.value) is ValueError
    assert str(refused.value).startswith("t.json")
    assert message in str(refused.value)


def test_small_counts_do_not_wrap_around(tmp_path: Path) -> None:
    """200 + 100 members are 300, not 44."""
    path = tmp_path / "t.npz"
    counts = {"tp": [200], "fp": [10], "tn": [250], "fn": [100]}
    np.savez(path, **{name: np.array(value, np.uint8) for name, value in counts.items()})
    data: Any = read_scores(str(path)).data
    assert (data.members.size, data.nonmembers.size) == (300, 260)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**53 + 1])
def test_whole_numbers_are_kept(tmp_path: Path, value: int) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"score": [value, 1], "member": [0, 1]}))
    data: Any = read_scores(str(path)).data
    assert data.scores.tolist() == [value, 1]


def test_bytes_that_are_no_ascii_are_no_member(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, score=np.ones(2), member=np.array([b"in", b"\xe9"]))
    with pytest.raises(ValueError, match=r"t\.npz, column 'member', row 2"):
        read_scores(str(path))


def test_long_doubles_beyond_float64_are_infinite(tmp_path: Path) -> None:
    if np.finfo(np.longdouble).maxexp <= 1024:
        pytest.skip("a long double is a double here")
    np.save(tmp_path / "t.npy", np.array([["1e4000"], ["1"]], np.longdouble))
    assert read_table(str(tmp_path / "t.npy")).values.tolist() == [[np.inf], [1.0]]


def test_signalling_nans_are_missing(tmp_path: Path) -> None:
    bits = np.array([[0x7F800001], [0x3F800000]], "<u4")
    np.save(tmp_path / "t.npy", bits.view("<f4"))
    values = read_table(str(tmp_path / "t.npy")).values
    assert np.isnan(values[0, 0])
    assert values[1, 0] == 1.0


def test_arrays_at_odd_addresses_are_moved(tmp_path: Path) -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }"
    for blanks in range(8):
        data = npy(header + " " * blanks + "\n", np.arange(3.0).tobytes())
        (tmp_path / "t.npy").write_bytes(data)
        values = read_table(str(tmp_path / "t.npy")).values
        assert values.flags.aligned
        assert values.tolist() == [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize("command", ["report", "audit"])
def test_what_is_no_file_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "empty").touch()
    for name in (".", "nowhere", "nowhere/x", "empty/x", "loop", "empty", "x" * 300):
        assert main([command, os.path.join(tmp_path, name)]) == 1  # noqa: PTH118
        out, error = capsys.readouterr()
        assert (out, error.count("\n")) == ("", 1)
        assert error.startswith("leakscore: error: ")
        assert name.strip(".") in error


@pytest.mark.parametrize("command", ["report", "audit"])
@pytest.mark.parametrize("case", ["csv of an empty cell", "npy of many signs", "npz of no npy"])
def test_refusals_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, case: str
) -> None:
    path = tmp_path / "t.data"
    path.write_bytes(REFUSED[case][0])
    assert main([command, str(path)]) == 1
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert error.startswith("leakscore: error: t.data")
