"""Files that ``leakscore audit`` refuses, and what it says of them."""

from __future__ import annotations

import gzip
import io
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app.tables import ReadingOptions
from tests.helpers.parts import read_scores


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def zipped(name: str, data: bytes = b"x") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(name, data)
    return file.getvalue()


TWO = np.array([1.0, 2.0])
BITS = np.array([0, 1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"score,member\n", "there are no members"),
        (b"score,member\n1,1\n2,1\n", "there are no non-members"),
        (b"score,member\n1,0\n2,0\n", "there are no members"),
        (b"score,member\n1,0\n,1\n3,1\n", "column 'score', line 3: the score is missing or NaN"),
        (b"score,member\n1,0\n2,1\nnan,1\n", "column 'score', line 4: the score is missing or NaN"),
        (b"score,member\n1,0\nhigh,1\n", "line 3, column 'score': 'high' is no number"),
        (b"score,member\n1,0\n2,1\n3,2\n", "column 'member', line 4: 2.0 is neither 1"),
        (b"score,member\n1,0\n2,0.5\n", "column 'member', line 3: 0.5 is neither 1"),
        (b"score,member\n1,-1\n2,1\n", "column 'member', line 2: -1.0 is neither 1"),
        (
            b"score,member\n1,0\n2,maybe\n",
            r"line 3, column 'member': 'maybe' is no number.*\(a member.* no,",
        ),
        (b"score,member\n1,0\n2,\n3,1\n", "column 'member', line 3: nan is neither 1"),
        (b"score,member\n1,0\n2,1\n,1\n", "2 scores, but 3 memberships .blank cells at the end"),
        (b"score,member\n1,0\n2\n", "line 3: 1 cells"),
        (b"score,score\n1,0\n2,1\n", "both named 'score'"),
        (b"score,scores,member\n1,1,0\n2,2,1\n", "2 columns that might be the score"),
        (
            b"a,b,c\n1,2,0\n2,3,1\n",
            "the scores with --score COLUMN and who was in with --member COLUMN",
        ),
        (b"1\n2\n3\n", "holds one column only"),
        (b"\x89HDF\r\n\x1a\n\0\0\0", "is neither csv, npz, npy, parquet"),
        (b"{", "is no JSON"),
        (b"[1, 2]", "a JSON object of lists"),
        (b'{"score": {"0": 1}, "member": {"0": 1}}', "a JSON object of lists"),
        (gzip.compress(b"score,member\n1,0\n2,1\n", mtime=0)[:-9], "is damaged"),
        (b'{"score": [[1, 2], [3]], "member": [0, 1]}', "rows differ in length"),
        (b'{"score": [1, "x"], "member": [0, 1]}', "must hold numbers, not <U"),
        (b'{"score": [[1, 2], [3, 4]], "member": [0, 1]}', "one value per round"),
        (archive(scores=TWO, memberships=np.array([0, 1, 1])), "2 scores, but 3 memberships"),
        (archive(scores=np.array([1, np.nan]), memberships=BITS), "row 2: the score is missing"),
        (archive(scores=TWO.astype(object), memberships=BITS), "holds Python objects"),
        (archive(scores=TWO, memberships=BITS.astype(object)), "holds Python objects"),
        (archive(scores=TWO + 1j, memberships=BITS), "must hold numbers, not complex"),
        (
            archive(scores=TWO.astype(np.longdouble), memberships=BITS),
            "must hold numbers, not f",
        ),
        (archive(scores=TWO, memberships=np.array([1, 2])), "row 2: 2 is neither 1"),
        (archive(scores=TWO, memberships=np.array(["in", "?"])), r"row 2: '\?' is neither 1"),
        (archive(scores=np.eye(2), memberships=BITS), "one value per round"),
        (archive(members=TWO, nonmembers=np.empty(0)), "column 'nonmembers' is empty"),
        (archive(scores=TWO, memberships=BITS)[:-40], "damaged"),
        (zipped("xl/workbook.xml"), "is damaged"),
        (zipped("archive/data.pkl"), "is pickled"),
        (pickle.dumps({"scores": [1.0]}), "is pickled"),
        (b"PAR1 and nothing else", "damaged"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "t.data"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as refused:
        read_scores(str(path))
    assert "t.data" in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "x"}, "no column 'x'; it has score, member "),
        ({"member": "x"}, "no column 'x'; it has score, member "),
        ({"score": "member", "member": "member"}, "named as score and as membership"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, str], message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("score,member\n1,0\n2,1\n")
    with pytest.raises(ValueError, match=message):
        read_scores(str(path), **options)


def test_a_delimiter_is_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    path.write_bytes(archive(scores=TWO, memberships=BITS))
    with pytest.raises(ValueError, match="is no csv file"):
        read_scores(str(path), options=ReadingOptions(delimiter=";"))


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_is_unpickled(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "sprung"
    trap = Trap(mark)
    for name in ("t.pkl", "t.pickle", "t.joblib", "t.pt"):
        (tmp_path / name).write_bytes(pickle.dumps({"scores": trap}, protocol=protocol))
    objects = np.array([trap, trap], dtype=object)
    np.save(tmp_path / "t.npy", objects, allow_pickle=True)
    (tmp_path / "t.npz").write_bytes(archive(scores=objects, memberships=BITS))
    (tmp_path / "t.zip").write_bytes(zipped("t/data.pkl", pickle.dumps(trap)))
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(ValueError, match=r"pickled|Python objects"):
            read_scores(str(path))
    assert not mark.exists()
    pickle.loads(pickle.dumps(trap, protocol=protocol))
    assert mark.exists(), "the trap works"


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 whatever")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow \(pip install 'leakscore\[tables\]'"):
        read_scores(str(path))


def test_parquet_nulls_are_named(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    for scores, bits, message in (
        ([1.0, None], [True, False], "column 'score', record 2: the score is missing"),
        ([1, None], [True, False], "column 'score', record 2: the score is missing"),
        ([1.0, 2.0], [None, True], "column 'member', record 1: nan is neither"),
        ([1.0, 2.0], ["in", None], "column 'member', record 2: nan is neither"),
        (["a", "b"], [True, False], "holds no numbers: text in 2"),
    ):
        pq.write_table(pa.table({"score": scores, "member": bits}), path)
        with pytest.raises(ValueError, match=message):
            read_scores(str(path))
