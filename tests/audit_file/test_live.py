"""Rounds from lines, as they come: which are understood, and which are refused where."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from tests.helpers.parts import LineStream, RoundParser


def read(text: str, **options: str) -> tuple[list[float], list[bool]]:
    scores, member = RoundParser("r.csv", **options)(text.encode().splitlines(keepends=True))
    assert (scores.dtype, member.dtype) == (np.float64, np.bool_)
    return scores.tolist(), member.tolist()


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("score,member\n1.5,1\n-2,0\ninf,1\n", {}),
        ("\ufeffscore,member\r\n1.5,1\r\n\r\n-2e0,0\r\n+inf,true\r\n", {}),
        ("id;membership;score\n7;in;1.5\n8;out;-2\n9;Member;Infinity\n", {}),
        ("score\tis member\n1.5\tyes\n-2\tno\ninf\t 1 \n", {"member": "is member"}),
        ("score member\n1.5   1\n-2 0\ninf 1\n", {}),
        ('a,"b, c",d\n1,1.5,1\n2,-2.0,0\n3,inf,1.0\n', {"score": "b, c", "member": "d"}),
        ("score;member\n1,5;1\n-2,0;0\ninf;1\n", {"decimal": ",", "delimiter": ";"}),
        ('{"score": 1.5, "member": 1, "x": [1]}\n{"member": false, "score": -2}\n'
         '{"member": "in", "score": "inf"}\n', {}),
    ],
)  # fmt: skip
def test_rounds(text: str, options: dict[str, str]) -> None:
    assert read(text, **options) == ([1.5, -2.0, math.inf], [True, False, True])


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "1.5,1\n",
            {},
            "the first line must name the columns, score among them once, not 1.5, 1",
        ),
        ("score,loss\n", {}, "member among them"),
        ("a,a,member\n", {"score": "a"}, "score among them once, not a, a, member"),
        (
            "score,scores,member\n",
            {},
            "2 columns that might be the score: score, scores; choose one with --score",
        ),
        ("score,member\n", {"score": "loss"}, "no column 'loss'; it has score, member (--score)"),
        ("a,b\n", {"score": "a", "member": "a"}, "one column is named as score and as membership"),
        ("score,member\n1,1\n\n2\n", {}, "line 4: 1 cells, where the first line has 2"),
        ("score,member\n1,1,0\n", {}, "line 2: 3 cells"),
        ("score,member\nx,1\n", {}, "line 2: 'x' is no number"),
        ("score,member\n,1\n", {}, "line 2: '' is no number"),
        ("score,member\n1_0,1\n", {}, "line 2: '1_0' is no number"),
        ("score;member\n1.5;1\n", {"decimal": ","}, "line 2: '1.5' is no number"),
        ("score,member\nnan,1\n", {}, "line 2: 'nan' is no score"),
        ("score,member\n1,2\n", {}, "line 2: '2' is neither 1"),
        ("score,member\n1,\n", {}, "line 2: '' is neither 1"),
        ('score,member\n"1,1\n', {}, "line 2: unexpected end of data"),
        ('{"score": 1, "member": 1}\n{"score": 1}\n', {}, "line 2: there is no 'member'"),
        ('{"score": 1, "member": 1}\n[1, 1]\n', {}, "line 2: no JSON object"),
        ('{"score": 1, "member": 1}\n{"score": 1,\n', {}, "line 2 is no JSON"),
        ('{"score": true, "member": 1}\n', {}, "line 1: True is no number"),
        ('{"score": null, "member": 1}\n', {}, "line 1: None is no number"),
        ('{"score": NaN, "member": 1}\n', {}, "line 1: nan is no score"),
        ('{"score": 1, "member": 0.5}\n', {}, "line 1: 0.5 is neither 1"),
        ('{"score": 1, "score": 2, "member": 0}\n', {}, "line 1 has the key 'score' twice"),
        ('{"score": 1' + "0" * 5000 + ', "member": 0}\n', {}, "line 1"),
        ("[" * 100_000, {}, "the first line must name the columns"),
    ],
)
def test_refused(text: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=r"^r\.csv") as refused:
        read(text, **options)
    assert said in str(refused.value)


def test_batches_are_one_file() -> None:
    lines = [b"score,member\n", b"1,1\n", b"2,0\n", b"x,1\n"]
    rows = RoundParser("r.csv")
    parts = [rows([line]) for line in lines[:3]]
    assert [part[0].tolist() for part in parts] == [[], [1.0], [2.0]]
    with pytest.raises(ValueError, match="line 4: 'x'"):
        rows(lines[3:])
    again = RoundParser("r.csv")
    again.resume(b"".join(lines[:3]))
    with pytest.raises(ValueError, match="line 4: 'x'"):
        again(lines[3:])
    assert again.columns == {"score": "score", "member": "member"}


class Dripping(io.BytesIO):
    """A stream that gives a few bytes at a time, within lines."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read1(3)


def test_lines_are_whole() -> None:
    text = b"score,member\r\n1.25,1\n\n2,0\n33"
    found = [line for part in LineStream(Dripping(text), "s", grows=False)(60.0) for line in part]
    assert found == [b"score,member\r\n", b"1.25,1\n", b"\n", b"2,0\n", b"33"]


@pytest.mark.parametrize(
    ("start", "fault"),
    [
        (b"\x93NUMPY", "no text"),
        (b"a\0b", "no text"),
        (b"PAR1", "no text"),
        (b"PK\x03\x04", "compressed"),
        (b"\x1f\x8b\x08", "compressed"),
    ],
)
def test_what_is_no_text(start: bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=f"s is {fault}"):
        list(LineStream(io.BytesIO(start + b"xyz\n"), "s", grows=False)(60.0))


def test_a_line_without_end() -> None:
    with pytest.raises(ValueError, match="a line of more than"):
        list(LineStream(io.BytesIO(b"1" * (3 << 20)), "s", grows=False)(60.0))


def test_losses_are_known_by_their_name() -> None:
    assert read("Loss,is_train\n1.5,1\n-2,0\n") == ([1.5, -2.0], [True, False])
    assert read("loss,score,member\n9,1.5,1\n") == ([1.5], [True])
