"""``leakscore audit`` from end to end: verdicts, exit codes, options, errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leakscore import tradeoff
from leakscore.audit import Audit
from leakscore_app.cli import main
from tests.helpers.audited import MEMBER, SCORES, parsed, run, write_scores
from tests.helpers.public import epsilon_methods


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_scores(tmp_path)


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
        assert result["claim"] == {"epsilon": claimed, "delta": 1e-5, "mu": None}
        assert run(capsys, file, *option, "--quiet") == (code, "", "")
        text = run(capsys, file, *option)[1]
        assert {"refuted": "REFUTED", "cannot-tell": "INCONCLUSIVE"}.get(verdict, "CONS") in text
    assert parsed(capsys, file)["verdict"] is None


def test_a_claimed_mu(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    """As `Audit.compare` judges the Gaussian curve."""
    audit = Audit.from_rounds(SCORES, MEMBER)
    bound = audit.mu()
    for claimed, code, verdict in (
        (bound.mu - 1e-6, 2, "refuted"),
        (bound.mu + 1e-6, 0, "consistent"),
        (bound.max_certifiable + 1e-6, 3, "cannot-tell"),
    ):
        assert audit.compare(tradeoff.gaussian(claimed)).verdict == verdict
        result = parsed(capsys, file, "--claimed-mu", repr(claimed), code=code)
        assert result["verdict"] == {
            "verdict": verdict,
            "certified": bound.mu,
            "max_certifiable": bound.max_certifiable,
            "claimed": claimed,
        }
        assert result["claim"] == {"epsilon": None, "delta": None, "mu": claimed}
        for name, value in bound.to_dict().items():
            assert result["mu"][name] == value
    assert "The claim of 1-GDP is REFUTED" in run(capsys, file, "--claimed-mu", "1")[1]


def test_claims_are_judged_as_by_the_library(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    audit = Audit.from_rounds(SCORES, MEMBER)
    for claimed in (0.0, 1.0, 2.0, 2.6, 50.0):
        for delta in (0.0, 0.1):
            options = ("--claimed-epsilon", claimed, "--delta", delta)
            expected = audit.compare(tradeoff.approximate_dp(claimed, delta)).verdict
            code = {"consistent": 0, "refuted": 2, "cannot-tell": 3}[expected]
            assert parsed(capsys, file, *options, code=code)["verdict"]["verdict"] == expected


def test_as_a_program(file: Path) -> None:
    """Where nobody reads the output, the verdict is the exit code still."""
    command = [sys.executable, "-m", "leakscore", "audit", str(file), "--only-method"]
    command += ["--claimed-epsilon", "0.5", "--method", "dkw"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), error) == (2, b"")


@pytest.mark.parametrize("output", [(), ("--json", "-"), ("--html", "-")])
def test_without_a_standard_output(
    monkeypatch: pytest.MonkeyPatch, file: Path, output: tuple[str, ...]
) -> None:
    """As Python starts where it was closed."""
    options = ["--only-method", "--method", "dkw", "--claimed-epsilon", "0.5", *output]
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["audit", str(file), *options]) == 2


def test_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for said in ("2  the claim is refuted", "3  inconclusive", "1  an error", "ever unpickled"):
        assert said in out
    assert max(map(len, out.splitlines())) <= 80
    assert all(method in out for method in epsilon_methods())


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
        "threshold": None,
    }
    assert "neighbours" not in {notice["code"] for notice in result["notices"]}
    assert "sees <all> steps & more" in run(capsys, file, *told)[1]


def test_only_names_are_told(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    """No path: it may name people, and the same file gives the same bytes anywhere."""
    for option in ((), ("--json", "-"), ("--html", "-")):
        assert str(file.parent) not in run(capsys, file, *option)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "best"], "--method 'best' must be one of"),
        (["--confidence", "1"], "--confidence 1.0"),
        (["--delta", "1"], "is no list of numbers in [0, 1)"),
        (["--delta", "nan"], "is no list of numbers in [0, 1)"),
        (["--delta", "x"], "no list of numbers"),
        (["--claimed-epsilon", "-1"], "claimed"),
        (["--claimed-epsilon", "nan"], "claimed"),
        (["--claimed-mu", "inf"], "claimed"),
        (["--claimed-mu", "1", "--claimed-epsilon", "1"], "not allowed with"),
        (["--seed", "-1"], "seed"),
        (["--score", "x"], "no column 'x'"),
        (["--json", "/nowhere/x.json"], "cannot write /nowhere/x.json"),
        (["--json", "-", "--html", "-"], "only one of"),
        (["--nonmembers", "nowhere.csv"], "nowhere.csv: No such file"),
        (["--nonsense"], "there is no option --nonsense"),
    ],
)
def test_errors_are_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], file: Path, arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, file, *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_no_file_is_written_over(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    """Neither that of the scores, by any name, nor the one of two outputs by the other."""
    before, link = file.read_bytes(), file.parent / "link"
    link.symlink_to(file)
    for target in (file, link, file.parent / ".." / file.parent.name / file.name):
        for option in ("--json", "--html"):
            code, out, error = run(capsys, file, option, target)
            assert (code, out, "cannot write" in error) == (1, "", True)
            assert file.read_bytes() == before
    code, _, error = run(capsys, file, "--json", "both", "--html", "both")
    assert (code, "cannot write both" in error) == (1, True)


def test_a_bad_file_is_no_verdict(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("score,member\n1,0\nnan,1\n")
    code, out, err = run(capsys, path, "--claimed-epsilon", "1")
    assert (code, out) == (1, "")
    assert err == ("leakscore: error: t.csv, column 'score', line 3: the score is missing or NaN\n")
    assert run(capsys, tmp_path)[0] == 1
    assert run(capsys, tmp_path / "nowhere.npz")[0] == 1


def test_numbers_near_one_are_not_rounded_to_it(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    text = run(capsys, file, "--confidence", "0.99999999", "--delta", "0.9999999")[1]
    assert text.startswith("epsilon >= 0.00 at delta = 0.9999999, with 99.999999 % confidence\n")
