"""The JSON of ``leakscore audit``: its bounds can be checked, and are those of the library."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from leakscore.audit import Audit
from tests.helpers.audited import MEMBER, SCORES, parsed, run, write_scores


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_scores(tmp_path)


@pytest.mark.parametrize("options", [(), ("--lower-is-member",), ("--orientation", "both")])
def test_the_json_can_be_checked(
    capsys: pytest.CaptureFixture[str], file: Path, options: tuple[str, ...]
) -> None:
    """Counts from the scores, and epsilon from the bounds on the rates, by other means."""
    deltas = (1e-5, 0.0, 0.05)
    result = parsed(capsys, file, "--delta", ",".join(map(str, deltas)), *options)
    assert result["schema_version"] == 1
    assert result["input"]["files"] == [
        {"name": "scores.csv", "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    ]
    assert (result["input"]["members"], result["input"]["nonmembers"]) == (
        MEMBER.sum(),
        (~MEMBER).sum(),
    )
    rows = [result["bounds"], *(other["bounds"] for other in result["methods"])]
    assert [len(row) for row in rows if row] == [3] * len([row for row in rows if row])
    for bound in (bound for row in rows for bound in row):
        side, _, _ = bound["flags"].removeprefix("score ").partition(" ")
        threshold = float(bound["threshold"])
        flagged = threshold < SCORES if side == ">" else threshold > SCORES
        assert side == ("<" if options == ("--lower-is-member",) else ">")
        every = slice(1, None, 2) if bound["method"] in ("split", "credible") else slice(None)
        errors, misses = flagged[~MEMBER][every], ~flagged[MEMBER][every]
        assert bound["false_positives"] == errors.sum()
        assert bound["false_negatives"] == misses.sum()
        assert (bound["nonmembers_counted"], bound["members_counted"]) == (errors.size, misses.size)
        assert bound["fpr"] == pytest.approx(errors.mean(), rel=1e-15)
        assert bound["fnr"] == pytest.approx(misses.mean(), rel=1e-15)
        assert (bound["formula"] is not None) == (
            bound["method"] != "credible" or bound["epsilon"] == 0
        )
        with mpmath.workdps(40):
            fpr, fnr = mpmath.mpf(bound["fpr_upper"]), mpmath.mpf(bound["fnr_upper"])
            if bound["direction"] == "reverse":
                fpr, fnr = fnr, fpr
            exact = mpmath.log((1 - mpmath.mpf(bound["delta"]) - fnr) / fpr)
            if bound["epsilon"] > 0 and bound["formula"] is not None:
                assert 0 <= exact - bound["epsilon"] < 1e-12
    if options == ("--lower-is-member",):
        assert result["bounds"][0]["epsilon"] == 0
    assert [bound["delta"] for bound in result["bounds"]] == list(deltas)


def test_the_bounds_are_those_of_the_library(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    audit = Audit.from_rounds(SCORES, MEMBER)
    result = parsed(capsys, file, "--confidence", "0.9", "--delta", "0.001", "--method", "ks")
    bound = audit.epsilon(0.001, 0.9, "ks")
    assert result["method"] == "ks"
    assert result["confidence"] == 0.9
    for name, value in bound.to_dict().items():
        assert result["bounds"][0][name] == value, name
    assert result["roc"]["auc"]["observed"] == audit.auc()
    assert result["roc"]["advantage"]["observed"] == audit.advantage()
    rates = [row["fpr"] for row in result["roc"]["tpr_at_fpr"]]
    assert rates == [0, 0.01, 0.1]
    assert [row["observed"] for row in result["roc"]["tpr_at_fpr"]] == list(audit.tpr_at(rates))
    names = [other["method"] for other in result["methods"]]
    assert "dkw" in names
    assert "ks" not in names
    only = parsed(capsys, file, "--method", "ks", "--only-method")
    assert only["methods"] == []


def test_turned_scores(capsys: pytest.CaptureFixture[str], tmp_path: Path, file: Path) -> None:
    """Losses with --lower-is-member are what the negated losses are without it."""
    turned = tmp_path / "losses.npz"
    np.savez(turned, scores=(-SCORES).astype(np.float32), memberships=MEMBER)
    expected = parsed(capsys, file)
    found = parsed(capsys, turned, "--lower-is-member")
    assert found["input"]["dtype"] == "float32"
    assert found["input"]["lower_is_member"] is True
    assert found["bounds"][0]["epsilon"] == expected["bounds"][0]["epsilon"]
    assert found["bounds"][0]["flags"] == "score < threshold"
    assert found["bounds"][0]["threshold"] == pytest.approx(-expected["bounds"][0]["threshold"])
    codes = {notice["code"] for notice in parsed(capsys, turned)["notices"]}
    assert "auc-below-half" in codes
    assert "auc-below-half" not in {notice["code"] for notice in found["notices"]}


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int16])
def test_turned_integers_do_not_wrap(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, dtype: type
) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, score=np.array([0, 0, 1, 1] * 50, dtype=dtype), member=[1, 1, 0, 0] * 50)
    found = parsed(capsys, path, "--lower-is-member")
    assert found["roc"]["auc"]["observed"] == 1.0
    assert found["bounds"][0]["threshold"] == 1.0


def test_two_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, file: Path) -> None:
    first, second = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(first, SCORES[MEMBER])
    np.save(second, SCORES[~MEMBER])
    found = parsed(capsys, first, "--nonmembers", second)
    assert found["bounds"] == parsed(capsys, file)["bounds"]
    assert [entry["name"] for entry in found["input"]["files"]] == ["in.npy", "out.npy"]


def test_counts_are_the_audit_of_their_bins(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Bins are scores; with --lower-is-member the lowest bin is the likeliest member."""
    edges = np.concatenate([[-np.inf], np.linspace(-4.0, 6.0, 21), [np.inf]])
    counts = {name: np.histogram(part, edges)[0] for name, part in parts().items()}
    histogram, binned = tmp_path / "h.npz", tmp_path / "b.npz"
    np.savez(histogram, edges=edges, **{f"{name[:-1]}_counts": n for name, n in counts.items()})
    np.savez(binned, **{name: np.repeat(edges[:-1], n) for name, n in counts.items()})
    for options in ((), ("--lower-is-member",), ("--orientation", "both")):
        found, expected = (parsed(capsys, path, *options) for path in (histogram, binned))
        assert found["roc"]["auc"]["observed"] == pytest.approx(expected["roc"]["auc"]["observed"])
        bound, other = found["bounds"][0], expected["bounds"][0]
        assert bound["epsilon"] == other["epsilon"]
        if bound["epsilon"] > 0:
            inside, outside = (
                (edges[:-1] < bound["threshold"]) == (bound["flags"] == "score < threshold")
                for _ in counts
            )
            assert bound["false_positives"] == counts["nonmembers"][outside].sum()
            assert bound["false_negatives"] == counts["members"][~inside].sum()
    turned = {name: np.histogram(-part, -edges[::-1])[0] for name, part in parts().items()}
    np.savez(binned, edges=-edges[::-1], **{f"{name[:-1]}_counts": n for name, n in turned.items()})
    bound = parsed(capsys, binned, "--lower-is-member")["bounds"][0]
    assert bound["epsilon"] == parsed(capsys, histogram)["bounds"][0]["epsilon"] > 1
    assert bound["flags"] == "score < threshold"


@pytest.mark.parametrize("options", [(), ("--lower-is-member",), ("--orientation", "both")])
def test_counts_outside_the_edges_are_bins(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Numbers below and above stand for a first bin from -inf and a last one to inf."""
    whole, inner = tmp_path / "whole.npz", tmp_path / "inner.npz"
    inside, outside = np.array([40, 50, 90, 200]), np.array([150, 80, 20, 10])
    edges = np.array([-np.inf, 0.0, 1.0, 2.0, np.inf])
    np.savez(whole, edges=edges, member_counts=inside, nonmember_counts=outside)
    np.savez(
        inner,
        edges=edges[1:-1],
        member_counts=inside[1:-1],
        nonmember_counts=outside[1:-1],
        below=[inside[0], outside[0]],
        above=[inside[-1], outside[-1]],
    )
    found, expected = (parsed(capsys, path, *options) for path in (inner, whole))
    assert {key for key in found if found[key] != expected[key]} == {"input"}
    assert found["input"]["members"] == expected["input"]["members"] == 380


def parts() -> dict[str, np.ndarray]:
    return {"members": SCORES[MEMBER], "nonmembers": SCORES[~MEMBER]}


def test_random_bits(capsys: pytest.CaptureFixture[str], tmp_path: Path, file: Path) -> None:
    """Stated, they admit the method that needs them; its bound follows from no rates."""
    assert "sorted-bits" in refused(parsed(capsys, file))
    result = parsed(capsys, file, "--random-bits", "--method", "sorted-bits", "--seed", 3)
    bound = Audit.from_rounds(SCORES, MEMBER, random_bits=True, rng=3).epsilon(
        1e-5, method="sorted-bits"
    )
    assert result["bounds"][0]["epsilon"] == float(bound) > 1
    assert result["bounds"][0]["formula"] is None
    assert result["bounds"][0]["algorithm"] == bound.algorithm
    assert result["mu"] is None
    assert result["setting"]["random_bits"] is True
    codes = {notice["code"] for notice in result["notices"]}
    assert "random-bits" in codes
    assert "no-fair-coins" not in codes
    text = run(capsys, file, "--random-bits", "--method", "sorted-bits", "--seed", 3)[1]
    assert bound.algorithm in " ".join(text.split())
    code, _, error = run(capsys, file, "--method", "sorted-bits")
    assert (code, "--random-bits" in error) == (1, True)
    beside = tmp_path / "t.npz"
    np.savez(beside, **parts())
    code, _, error = run(capsys, beside, "--random-bits")
    assert (code, "round by round" in error) == (1, True)
    code, _, error = run(
        capsys, file, "--random-bits", "--method", "sorted-bits", "--claimed-mu", "1"
    )
    assert (code, "bounds no mu" in error) == (1, True)


def refused(result: dict[str, Any]) -> set[str]:
    return {other["method"] for other in result["methods"] if other["refused"] is not None}


def test_one_threshold(capsys: pytest.CaptureFixture[str], tmp_path: Path, file: Path) -> None:
    """A given one is on the scale of the file; a chosen one needs rows in no order."""
    audit = Audit.from_rounds(SCORES, MEMBER)
    result = parsed(capsys, file, "--method", "split", "--threshold", "1.25")
    bound = result["bounds"][0]
    expected = audit.epsilon(1e-5, method="split", threshold=1.25)
    assert (bound["epsilon"], bound["threshold"]) == (float(expected), 1.25)
    assert bound["false_positives"] == (SCORES[~MEMBER] > 1.25).sum()
    assert bound["nonmembers_counted"] == (~MEMBER).sum()
    turned = tmp_path / "losses.npz"
    np.savez(turned, scores=-SCORES, memberships=MEMBER)
    options = ("--method", "split", "--threshold", "-1.25", "--lower-is-member")
    found = parsed(capsys, turned, *options)["bounds"][0]
    assert (found["epsilon"], found["threshold"]) == (float(expected), -1.25)
    assert run(capsys, file, "--threshold", "1")[0] == 1
    in_order = np.argsort(SCORES)
    np.savez(turned, scores=SCORES[in_order], memberships=MEMBER[in_order])
    assert {"split", "credible"} <= refused(parsed(capsys, turned))
    code, _, error = run(capsys, turned, "--method", "split")
    assert (code, "is sorted by score" in error) == (1, True)


def test_a_credible_bound_is_not_called_confident(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    text = run(capsys, file, "--method", "credible")[1]
    assert "with 95 % posterior probability, no confidence bound" in " ".join(text.split())
    code, text, _ = run(capsys, file, "--method", "credible", "--claimed-epsilon", "1")
    assert (code, "REFUTED" in text) == (2, True)
    assert " (posterior probability, no confidence bound). " in " ".join(text.split())
    notices = parsed(capsys, file, "--method", "credible")["notices"]
    assert {"level": "warning", "code": "credible"}.items() <= notices[0].items()
