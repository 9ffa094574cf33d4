"""Reading scores for ``leakscore audit``: every format, every form, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore.audit import Audit
from tests.helpers.parts import BinCounts, Rounds, Samples, read_scores

SCORES = np.array([0.25, -1.5, 3.0, np.inf, -np.inf, 0.25, 1e-300, 7.0])
MEMBER = np.array([1, 0, 1, 1, 0, 0, 0, 1], dtype=bool)


def rows(bits: list[str], header: str = "score,member\n", mark: str = ",") -> str:
    lines = zip(map(str, SCORES.tolist()), bits, strict=True)
    return header.replace(",", mark) + "".join(f"{mark.join(line)}\n" for line in lines)


def words(yes: str, no: str) -> list[str]:
    return [yes if bit else no for bit in MEMBER]


def save_npz(path: Path, **arrays: Any) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def save_parquet(path: Path, **columns: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)


def save_npy(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.save(file, array)


def fields() -> np.ndarray:
    array = np.empty(8, dtype=[("score", float), ("member", bool)])
    array["score"], array["member"] = SCORES, MEMBER
    return array


WRITERS: dict[str, Callable[[Path], Any]] = {
    "csv": lambda path: path.write_text(rows(words("1", "0"))),
    "csv-true": lambda path: path.write_text(rows(words("True", "False"))),
    "csv-words": lambda path: path.write_text(rows(words("member", "non-member"))),
    "csv-tab": lambda path: path.write_text(rows(words("in", "out"), mark="\t")),
    "csv-bare": lambda path: path.write_text(rows(words("member", "non-member"), header="")),
    "csv-names": lambda path: path.write_text(rows(words("1", "0"), header="Scores,Is-Member\n")),
    "csv-other-names": lambda path: path.write_text(rows(words("1", "0"), header="a,b\n")),
    "csv-index": lambda path: path.write_text(
        rows([f"{bit},{row}" for row, bit in enumerate(words("1", "0"))], "score,member,\n")
    ),
    "csv-bom": lambda path: path.write_text(rows(words("1.0", "0.0")), encoding="utf-8-sig"),
    "npz": lambda path: save_npz(path, scores=SCORES, memberships=MEMBER),
    "npz-int": lambda path: save_npz(path, score=SCORES[:, None], member=MEMBER.astype(np.int8)),
    "npz-words": lambda path: save_npz(path, score=SCORES, member=np.array(words("yes", "no"))),
    "npy": lambda path: save_npy(path, np.column_stack([SCORES, MEMBER])),
    "npy-fields": lambda path: save_npy(path, fields()),
    "parquet": lambda path: save_parquet(path, score=SCORES, member=MEMBER),
    "parquet-words": lambda path: save_parquet(path, score=SCORES, member=words("in", "out")),
    "json": lambda path: path.write_text(
        json.dumps({"scores": SCORES.tolist(), "member": MEMBER.tolist()})
    ),
}


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_every_format_and_spelling(tmp_path: Path, form: str) -> None:
    path = tmp_path / "attack.data"  # told by content, not by name
    WRITERS[form](path)
    read = read_scores(str(path))
    assert isinstance(read.data, Rounds)
    np.testing.assert_array_equal(read.data.scores, SCORES)
    np.testing.assert_array_equal(read.data.member, MEMBER)
    assert (read.dtype, read.format) == ("float64", form.partition("-")[0])
    assert [file.name for file in read.files] == ["attack.data"]


def test_chosen_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,loss,score,target\n1,0.5,9,1\n2,2.5,8,0\n")
    read = read_scores(str(path), score="loss", member="target")
    assert isinstance(read.data, Rounds)
    assert read.data.scores.tolist() == [0.5, 2.5]
    assert read.data.member.tolist() == [True, False]
    assert read.columns == {"score": "loss", "member": "target"}
    with pytest.raises(ValueError, match="--member"):
        read_scores(str(path))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int16, np.uint8])
def test_dtypes_are_kept(tmp_path: Path, dtype: type) -> None:
    path = tmp_path / "t.npz"
    save_npz(path, scores=np.array([1, 2, 3], dtype=dtype), memberships=np.array([0, 1, 1]))
    read = read_scores(str(path))
    assert isinstance(read.data, Rounds)
    assert read.data.scores.dtype == dtype
    assert read.dtype == np.dtype(dtype).name


def test_members_beside_nonmembers(tmp_path: Path) -> None:
    inside, outside = [3.0, 2.0, 5.0], [1.0, 0.5]
    csv, npz = tmp_path / "t.csv", tmp_path / "t.npz"
    csv.write_text("members,nonmembers\n3,1\n2,0.5\n5,\n")
    save_npz(npz, members=np.array(inside), nonmembers=np.array(outside))
    for path in (csv, npz):
        data = read_scores(str(path)).data
        assert isinstance(data, Samples)
        assert (data.members.tolist(), data.nonmembers.tolist()) == (inside, outside)


def test_blank_is_not_nan(tmp_path: Path) -> None:
    """Blank cells below the shorter column are no scores; a NaN there is one that is refused."""
    path = tmp_path / "t.csv"
    for last in ("nan", "NA"):
        path.write_text(f"members,nonmembers\n3,1\n2,0.5\n5,{last}\n6,\n")
        with pytest.raises(ValueError, match=r"column 'nonmembers', line 4: the score is missing"):
            read_scores(str(path))


def test_two_files(tmp_path: Path) -> None:
    first, second = tmp_path / "in.npy", tmp_path / "out.csv"
    np.save(first, np.array([3.0, 2.0], dtype=np.float32))
    second.write_text("score\n1.5\n0.5\n0.25\n")
    read = read_scores(str(first), nonmembers=str(second))
    assert isinstance(read.data, Samples)
    assert read.data.members.tolist() == [3.0, 2.0]
    assert read.data.nonmembers.tolist() == [1.5, 0.5, 0.25]
    assert [file.name for file in read.files] == ["in.npy", "out.csv"]
    third = tmp_path / "both.csv"
    third.write_text(rows(words("1", "0")))
    with pytest.raises(ValueError, match=r"both.csv has memberships of its own"):
        read_scores(str(first), nonmembers=str(third))
    with pytest.raises(ValueError, match="means nothing"):
        read_scores(str(first), nonmembers=str(second), member="m")
    with pytest.raises(ValueError, match="--nonmembers"):
        read_scores(str(first))


def test_privacy_meter(tmp_path: Path) -> None:
    """The keys, shapes and dtypes of its `get_audit_results`."""
    path = tmp_path / "attack_result_0.npz"
    rng = np.random.default_rng(0)
    save_npz(
        path,
        fpr=np.array([0.0, 1.0]),
        tpr=np.array([0.0, 1.0]),
        auc=np.float64(0.5),
        one_tenth_fpr=np.float64(0.0),
        zero_fpr=np.float64(0.0),
        scores=rng.random(50),
        memberships=rng.random(50) < 0.5,
    )
    read = read_scores(str(path))
    assert read.writer == "Privacy Meter"
    assert isinstance(read.data, Rounds)
    np.testing.assert_array_equal(read.data.scores, np.load(path)["scores"])
    np.testing.assert_array_equal(read.data.member, np.load(path)["memberships"])


def leakpro(**changes: Any) -> str:
    """A result as `MIAResult.save` of LeakPro 0.1.0 writes it, keys in the order of its schema."""
    result = {
        "result_name": "lira", "result_type": "MIAResult", "id": "lira-0f3c",
        "tpr": [0.5, 1.0], "fpr": [0.0, 1.0], "roc_auc": 0.75, "accuracy": [0.75, 0.5],
        "fixed_fpr": {"TPR@10%FPR": 0.5}, "signal_values": [2.5, 0.5, 0.25, 1.0],
        "true_labels": [1, 1, 0, 0], "config": {"online": True},
        "tp": [1, 2], "fp": [0, 2], "tn": [2, 0], "fn": [1, 0],
    }  # fmt: skip
    return json.dumps(result | changes)


def test_leakpro(tmp_path: Path) -> None:
    path = tmp_path / "lira.json"
    path.write_text(leakpro())
    read = read_scores(str(path))
    assert (read.writer, read.format) == ("LeakPro", "json")
    assert isinstance(read.data, Rounds)
    assert read.data.scores.tolist() == [2.5, 0.5, 0.25, 1.0]
    assert read.data.member.tolist() == [True, True, False, False]
    path.write_text(json.dumps({"resulttype": "x", "primitives": json.loads(leakpro())}))
    assert isinstance(read_scores(str(path)).data, Rounds)
    path.write_text(leakpro(signal_values=[2.5, float("-inf"), 0.5, float("nan")]))
    with pytest.raises(ValueError, match="column 'signal_values', row 4: the score is missing"):
        read_scores(str(path))
    path.write_text(leakpro(signal_values=[2.5, 1.0, None, 2.0]))
    with pytest.raises(ValueError, match="column 'signal_values', row 3: null"):
        read_scores(str(path))


def test_leakpro_without_signals_has_counts(tmp_path: Path) -> None:
    """An audit of the counts has the ROC of the decisions."""
    path = tmp_path / "decisions.json"
    counts = {"tp": [40, 10, 60], "fp": [5, 0, 35], "fn": [30, 60, 10], "tn": [45, 50, 15]}
    path.write_text(leakpro(signal_values=None, true_labels=[1] * 70 + [0] * 50, **counts))
    read = read_scores(str(path))
    assert isinstance(read.data, Samples)
    roc = Audit(read.data.members, read.data.nonmembers).roc()
    np.testing.assert_array_equal(roc.tpr, np.array([0, 10, 40, 60, 70]) / 70)
    np.testing.assert_array_equal(roc.fpr, np.array([0, 0, 5, 35, 50]) / 50)
    one = {"tp": 10, "fp": 3, "fn": 5, "tn": 8}  # a single decision, written as numbers
    path.write_text(leakpro(signal_values=None, **one))
    data = read_scores(str(path)).data
    assert isinstance(data, Samples)
    assert (data.members.sum(), data.members.size) == (10, 15)
    assert (data.nonmembers.sum(), data.nonmembers.size) == (3, 11)
    for change, message in (
        ({"tp": [40, 10, 39]}, "differ between decisions"),
        ({"tp": [40, 10, 39], "fn": [30, 60, 31]}, "no thresholds on one score"),
        ({"tp": [40, 10, 60.5]}, "no counts"),
        ({"tp": [40, 10]}, "no counts"),
    ):
        path.write_text(leakpro(signal_values=None, **(counts | change)))
        with pytest.raises(ValueError, match=message):
            read_scores(str(path))


def test_counts_between_edges(tmp_path: Path) -> None:
    edges, inside, outside = [-np.inf, 0.0, 1.5, np.inf], [0, 10, 40], [30, 15, 0]
    csv, npz, strict = tmp_path / "t.csv", tmp_path / "t.npz", tmp_path / "t.json"
    csv.write_text("edges,member_counts,nonmember_counts\n-inf,0,30\n0,10,15\n1.5,40,0\ninf,,\n")
    save_npz(npz, edges=edges, member_counts=inside, nonmember_counts=outside)
    words = ["-inf", 0.0, 1.5, "inf"]
    strict.write_text(
        json.dumps({"edges": words, "member_counts": inside, "nonmember_counts": outside})
    )
    for path in (csv, npz, strict):
        data = read_scores(str(path)).data
        assert isinstance(data, BinCounts)
        assert data.edges.tolist() == edges
        assert (data.members.tolist(), data.nonmembers.tolist()) == (inside, outside)
        assert (data.below, data.above) == (None, None)


@pytest.mark.parametrize("names", [("train", "test"), ("logit_train", "logit_test")])
def test_train_and_test_are_samples(tmp_path: Path, names: tuple[str, str]) -> None:
    save_npz(tmp_path / "s.npz", **dict(zip(names, ([1.5, 2.5], [0.5]), strict=True)))
    data = read_scores(str(tmp_path / "s.npz")).data
    assert isinstance(data, Samples)
    assert (data.members.tolist(), data.nonmembers.tolist()) == ([1.5, 2.5], [0.5])
