"""``leakscore audit --one-run`` and the verdict for other programs."""

from __future__ import annotations

import json
import re
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
    assert (code, "all scores are equal" in text) == (3, True)
    assert "All scores are equal" in told
    assert run(capsys, path, "--one-run", "--quiet")[0] == 3


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (150, "150 members and 50 non-members are no fair coins: --one-run certifies nothing"),
        (100, "exactly half of 200 canaries are in. .*say --random-bits"),
        (90, ""),
    ],
)
def test_no_fair_coins_no_bound(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, members: int, said: str
) -> None:
    rows = [f"{i},{int(i < members)}" for i in range(200)]
    path = tmp_path / "c.csv"
    path.write_text("\n".join(["score,member", *rows]))
    options = (path, "--one-run", "--lower-is-member", "--claimed-epsilon", 0.1)
    code, text, told = run(capsys, *options)
    assert (code, bool(text)) == ((1, False) if said else (2, True))
    assert re.search(said, told)
    # Coins may give exactly half: who says that they were coins is believed.
    assert run(capsys, *options, "--random-bits")[0] == (1 if members == 150 else 2)


@pytest.mark.parametrize("fixed", [True, False])
def test_shadow_models_of_equal_size_are_no_coins(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fixed: bool
) -> None:
    """Every model, the target too, holds exactly so many records: whatever is said of coins."""
    rng = np.random.default_rng(5)
    masks = rng.random((13, 300)) < 0.5
    if fixed:
        masks = rng.permuted(np.tile(np.arange(300) < 130, (13, 1)), axis=1)
    signals = rng.normal(size=(13, 300)) + 3.0 * masks
    path = tmp_path / "models.npz"
    np.savez(path, signals=signals[1:], included=masks[1:], observed=signals[0], member=masks[0])
    options = (path, "--one-run", "--attack", "base", "--claimed-epsilon", 0.5, "--random-bits")
    code, text, told = run(capsys, *options)
    if fixed:
        assert (code, text) == (1, "")
        assert "the target and all 12 shadow models hold exactly 130 of 300 records" in told
    else:
        assert code == 2


@pytest.mark.parametrize("kind", [(), ("--one-run",)])
@pytest.mark.parametrize("claimed", [(), ("--claimed-epsilon", 0.5)])
def test_scores_that_are_turned_round_are_no_evidence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: tuple, claimed: tuple
) -> None:
    rng = np.random.default_rng(1)
    member = rng.random(300) < 0.5
    scores = rng.normal(-2.0 * member)
    path = write_scores(tmp_path, scores, member)
    code, text, told = run(capsys, path, *kind, *claimed, "--higher-is-member")
    assert code == (3 if claimed else 0)
    assert "score lower than non-members" in " ".join(told.split())
    if claimed:
        assert "INCONCLUSIVE" in text
        assert "as if scores were reversed" in " ".join(text.split())
    code = run(capsys, path, *kind, *claimed, "--lower-is-member", "--quiet")[0]
    assert code == (2 if claimed else 0)
    watched = run(capsys, path, "--watch", "--idle", 0, "--claimed-epsilon", 0.5, "--quiet")
    assert watched[0] == 2  # a monitor learns what the scores mean


@pytest.mark.parametrize("first", ["", "score,member\n"])
@pytest.mark.parametrize("claimed", [(), ("--claimed-epsilon", 0.5)])
def test_a_watched_file_without_rounds_is_no_evidence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, first: str, claimed: tuple
) -> None:
    path = tmp_path / "r.csv"
    path.write_text(first)
    code, text, told = run(capsys, path, "--watch", "--idle", 0, *claimed)
    assert code == 3
    assert "There is no round: that is no evidence" in text
    assert "There is no round" in told


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
