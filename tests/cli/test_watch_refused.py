"""``leakscore audit --watch`` refuses what it cannot follow in one line, which names the remedy."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from tests.helpers.audited import run

NOW = ("--watch", "--idle", 0, "--claimed-epsilon", 2)


def test_what_is_not_watched_names_the_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = b"score,member\n" + b"0.5,1\n0.25,0\n" * 40
    for name, data, said in (
        ("r.csv.gz", gzip.compress(text), "unpack it into a pipe, as in 'gzip -dc FILE"),
        ("r.csv.bz2", bz2.compress(text), "is compressed, and --watch reads lines"),
        ("r.csv.xz", lzma.compress(text), "is compressed, and --watch reads lines"),
        ("r.zip", b"PK\3\4" + text, "is compressed, and --watch reads lines"),
        ("r.npy", b"\x93NUMPY\1\0v\0" + text, "are read whole, without --watch"),
        ("r.parquet", b"PAR1" + text, "are read whole, without --watch"),
    ):
        (tmp_path / name).write_bytes(data)
        code, out, told = run(capsys, tmp_path / name, *NOW)
        assert (code, out, told.count("\n")) == (1, "", 1)
        assert said in told
    path = tmp_path / "r.csv"
    path.write_bytes(text)
    told = run(capsys, path, *NOW, "--orientation", "both", "--confidence", 0.9)[2]
    assert "watch twice, once with --lower-is-member, each with --confidence 0.95\n" in told
    path.write_bytes(text.replace(b"score", b"loss"))
    told = run(capsys, path, *NOW)[2]
    assert ("--lower-is-member" in told, "--orientation" in told) == (True, False)


def test_a_claim_out_of_range_is_named_as_its_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b"score,member\n0.5,1\n")
    code, out, told = run(capsys, path, *NOW[:3], "--claimed-epsilon", "inf")
    assert (code, out) == (1, "")
    assert "claimed epsilon=inf" in told


def test_a_state_of_other_columns_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Rounds of one column are not gone on with in another: the verdict names one of them."""
    path, state = tmp_path / "r.csv", tmp_path / "state"
    path.write_text("first,second,member,other\n" + "0.5,0.25,1,0\n0.25,0.5,0,1\n" * 40)
    options = (*NOW, "--state", state)
    run(capsys, path, *options, "--score", "first", "--member", "member")
    before = state.read_bytes()
    for score, member, said in (
        ("second", "member", "the score from 'first', not 'second'"),
        ("first", "other", "the member from 'member', not 'other'"),
    ):
        code, out, told = run(capsys, path, *options, "--score", score, "--member", member)
        assert (code, out, told.count("\n")) == (1, "", 1)
        assert said in told
        assert state.read_bytes() == before
