"""``leakscore audit --one-run`` and the verdict for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from leakscore.audit import Audit, one_run
from tests.helpers.audited import MEMBER, SCORES, parsed, run, write_scores


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_scores(tmp_path)


def test_bounds_are_those_of_the_library(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    found = parsed(capsys, file, "--one-run", "--delta", "1e-5,0", "--seed", 7)
    for bound, delta in zip(found["bounds"], (1e-5, 0.0), strict=True):
        expected = one_run(SCORES, MEMBER, k="all", delta=delta, rng=7)
        assert bound == json.loads(expected.to_json())
    assert found["verdict"] is None
    assert found["input"]["members"] == int(MEMBER.sum())
    turned = parsed(capsys, file, "--one-run", "--lower-is-member")
    assert turned["bounds"][0]["epsilon"] == float(one_run(-SCORES, MEMBER, k="all", delta=1e-5))


def test_verdicts(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    bound = one_run(SCORES, MEMBER, k="all", delta=1e-5)
    assert 1.0 < bound.epsilon < bound.max_certifiable
    for claimed, code, word in (
        (0.0, 2, "refuted"),
        (bound.epsilon - 0.01, 2, "refuted"),
        (bound.epsilon, 0, "consistent"),
        (bound.max_certifiable, 3, "cannot-tell"),
    ):
        option = ("--one-run", "--claimed-epsilon", claimed)
        assert parsed(capsys, file, *option, code=code)["verdict"]["verdict"] == word
        assert run(capsys, file, *option, "--quiet") == (code, "", "")
        text = run(capsys, file, *option)[1]
        assert {"refuted": "REFUTED", "cannot-tell": "INCONCLUSIVE"}.get(word, "CONS") in text
        assert "600 canaries" in text
    assert "<html" in run(capsys, file, "--one-run", "--html", "-")[1]


def test_equal_scores_are_no_evidence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("score,member\n" + "1,1\n1,0\n" * 100)
    code, text, told = run(capsys, path, "--one-run", "--claimed-epsilon", 1)
    assert (code, "all scores are alike" in text) == (3, True)
    assert "All scores are equal" in told
    assert run(capsys, path, "--one-run", "--quiet")[0] == 3


@pytest.mark.parametrize(("members", "said"), [(150, True), (90, False)])
def test_unfair_coins_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, members: int, said: bool
) -> None:
    rows = [f"{i},{int(i < members)}" for i in range(200)]
    path = tmp_path / "c.csv"
    path.write_text("\n".join(["score,member", *rows]))
    _, _, told = run(capsys, path, "--one-run", "--lower-is-member")
    assert ("are no fair coins: the bound does not hold" in told) == said


def test_refused(capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart.npz"
    np.savez(apart, members=[1.0, 2.0], nonmembers=[0.0])
    for options, said in (
        ((file, "--one-run", "--claimed-mu", 1), "bounds no mu"),
        ((apart, "--one-run"), "no membership for each score"),
        ((file, "--one-run", "--watch"), "not allowed with"),
        ((file, "--one-run", "--method", "ell"), "--method means nothing with --one-run"),
        ((file, "--one-run", "--nonmembers", file), "--nonmembers means nothing with --one-run"),
        ((file, "--one-run", "--claimed-epsilon", -1), "claimed epsilon"),
        ((file, "--one-run", "--confidence", 1), "confidence"),
        ((file, "--state", "s"), "--state means nothing without --watch"),
        (
            (file, "--sarif", "-", "--junit", "-"),
            "only one of the outputs can go to",
        ),
        ((file, "--sarif", file), "one of the files that are read"),
    ):
        code, out, told = run(capsys, *options)
        assert (code, out) == (1, ""), options
        assert said in told, told


@pytest.mark.parametrize("kind", [(), ("--one-run",), ("--watch", "--idle", 0)])
@pytest.mark.parametrize(("claimed", "code"), [(0.2, 2), (30, 3)])
def test_the_verdict_for_other_programs(
    capsys: pytest.CaptureFixture[str], file: Path, kind: tuple, claimed: float, code: int
) -> None:
    written = [file.parent / name for name in ("v.sarif", "v.xml")]
    options = ("--claimed-epsilon", claimed, "--sarif", written[0], "--junit", written[1])
    assert run(capsys, file, *kind, *options, "--quiet") == (code, "", "")
    (result,) = json.loads(written[0].read_text())["runs"][0]["results"]
    assert result["kind"] == {0: "pass", 2: "fail", 3: "open"}[code]
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == str(file)
    (suite,) = ElementTree.parse(written[1]).getroot()
    assert suite.get("failures") == str(int(code == 2))
    assert suite[0].get("name") == f"claim of ({claimed:g}, 1e-05)-differential privacy"
    if not kind:
        bound = Audit(SCORES[MEMBER], SCORES[~MEMBER]).epsilon(1e-5)
        assert result["properties"]["epsilon"] == float(bound)
