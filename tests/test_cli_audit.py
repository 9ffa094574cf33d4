"""``leakscore audit`` from end to end: verdicts, exit codes, options, errors."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from leakscore.audit import Audit
from leakscore.cli import main

RNG = np.random.default_rng(5)
MEMBER = RNG.integers(0, 2, 600).astype(bool)
SCORES = RNG.normal(3.0 * MEMBER).round(4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    lines = (f"{score},{int(bit)}\n" for score, bit in zip(SCORES, MEMBER, strict=True))
    path.write_text("score,member\n" + "".join(lines))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["audit", *(str(argument) for argument in arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def parsed(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found, out, err = run(capsys, *arguments, "--json", "-")
    assert (found, err) == (code, "")
    result: dict[str, Any] = json.loads(out, parse_constant=refuse)
    return result


def test_exit_codes_are_the_verdict(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    bound = Audit.from_rounds(SCORES, MEMBER).epsilon(1e-5)
    certified, cap = float(bound), float(bound.max_certifiable)
    assert 1.0 < certified < cap
    for claimed, code, verdict in (
        (0, 2, "refuted"),
        (np.nextafter(certified, 0), 2, "refuted"),
        (certified, 0, "consistent"),
        (np.nextafter(cap, 0), 0, "consistent"),
        (cap, 3, "cannot-tell"),
        (100, 3, "cannot-tell"),
    ):
        option = ("--claimed-epsilon", repr(float(claimed)))
        result = parsed(capsys, file, *option, code=code)
        assert result["verdict"]["verdict"] == verdict
        assert result["verdict"]["certified"] == certified
        assert result["claim"] == {"epsilon": claimed, "delta": 1e-5}
        assert run(capsys, file, *option, "--quiet") == (code, "", "")
        text = run(capsys, file, *option)[1]
        assert {"refuted": "REFUTED", "cannot-tell": "INCONCLUSIVE"}.get(verdict, "CONS") in text
    assert parsed(capsys, file)["verdict"] is None


def test_as_a_program(file: Path) -> None:
    """Also where nobody reads the end of the output, the verdict is the exit code."""
    command = [sys.executable, "-m", "leakscore", "audit", str(file), "--claimed-epsilon", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("epsilon >= ")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), error) == (2, b"")


def test_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for said in ("2  the claim is refuted", "3  inconclusive", "1  an error", "ever unpickled"):
        assert said in out


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
        assert bound["false_positives"] == (flagged & ~MEMBER).sum()
        assert bound["false_negatives"] == (~flagged & MEMBER).sum()
        assert bound["fpr"] == bound["false_positives"] / (~MEMBER).sum()
        assert bound["fnr"] == bound["false_negatives"] / MEMBER.sum()
        with mpmath.workdps(40):
            fpr, fnr = mpmath.mpf(bound["fpr_upper"]), mpmath.mpf(bound["fnr_upper"])
            if bound["direction"] == "reverse":
                fpr, fnr = fnr, fpr
            exact = mpmath.log((1 - mpmath.mpf(bound["delta"]) - fnr) / fpr)
            if bound["epsilon"] > 0:
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


def test_what_the_file_does_not_say_is_recorded(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    told = ("--neighbours", "add-remove", "--threat-model", "sees <all> steps & more")
    result = parsed(capsys, file, *told, "--seed", "7", "--claimed-epsilon", "0", code=2)
    assert result["setting"] == {
        "neighbours": "add-remove",
        "threat_model": "sees <all> steps & more",
        "random_bits": False,
        "seed": 7,
    }
    assert "neighbours" not in {notice["code"] for notice in result["notices"]}
    assert "sees <all> steps & more" in run(capsys, file, *told)[1]


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
    edges = np.linspace(-4.0, 7.0, 23)
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


def parts() -> dict[str, np.ndarray]:
    return {"members": SCORES[MEMBER], "nonmembers": SCORES[~MEMBER]}


def test_only_names_are_told(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    """No path: it may name people, and the same file gives the same bytes anywhere."""
    for option in ((), ("--json", "-"), ("--html", "-")):
        assert str(file.parent) not in run(capsys, file, *option)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "best"], "Expected method='best' to be one of"),
        (["--confidence", "1"], "Expected confidence=1.0"),
        (["--delta", "1"], "not in [0, 1)"),
        (["--delta", "nan"], "not in [0, 1)"),
        (["--delta", "x"], "no list of numbers"),
        (["--claimed-epsilon", "-1"], "claimed"),
        (["--claimed-epsilon", "nan"], "claimed"),
        (["--seed", "-1"], "seed"),
        (["--score", "x"], "no column 'x'"),
        (["--json", "/nowhere/x.json"], "cannot write /nowhere/x.json"),
        (["--json", "-", "--html", "-"], "only one of"),
        (["--nonmembers", "nowhere.csv"], "nowhere.csv: No such file"),
        (["--nonsense"], "unrecognized arguments"),
    ],
)
def test_errors_are_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], file: Path, arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, file, *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_bad_file_is_no_verdict(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("score,member\n1,0\nnan,1\n")
    code, out, err = run(capsys, path, "--claimed-epsilon", "1")
    assert (code, out) == (1, "")
    assert err == ("leakscore: error: t.csv, column 'score', row 2: the score is missing or NaN\n")
    assert run(capsys, tmp_path)[0] == 1
    assert run(capsys, tmp_path / "nowhere.npz")[0] == 1
