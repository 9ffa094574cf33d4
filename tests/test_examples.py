"""The examples run, and what they show holds."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from leakscore import tradeoff
from leakscore_app.cli import main as leakscore

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLES / f"{name}.py")))


def test_privacy_onion() -> None:
    """The mean distance of the kept is d by algebra; before, it is what the outliers leave them."""
    onion = load("privacy_onion")
    X = onion.table(np.random.default_rng(5))
    layer = onion.peel(X, 0.05)
    assert len(layer.kept) == 3800
    assert layer.after.mean() == pytest.approx(20.0, rel=1e-12)
    # Variances 1 and 25 in the shares .95 and .05 make 2.2: the others are at 20/2.2 = 9.1.
    assert layer.before.mean() == pytest.approx(20 / 2.2, rel=0.06)
    assert np.all(layer.after > layer.before)
    inverse = np.linalg.inv(np.cov(X.T, ddof=0))
    centred = X - X.mean(axis=0)
    distances = np.einsum("ij,jk,ik->i", centred, inverse, centred)
    np.testing.assert_allclose(layer.before, distances[layer.kept], rtol=1e-10)
    assert np.delete(distances, layer.kept).min() >= layer.before.max()


def test_privacy_onion_prints(capsys: pytest.CaptureFixture[str]) -> None:
    load("privacy_onion").main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[4:7]] == ["3800", "3610", "3430"]
    assert lines[4].split()[2:4] == ["20.00", "100.0%"]


def test_tables_page_names_the_options_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Each option of the page is one of the command, and each one of the reading is on the page."""
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "read-your-table.md").read_text("utf-8")
    assert leakscore(["report", "--help"]) == 0
    options = capsys.readouterr().out
    named = set(re.findall(r"--[a-z][a-z-]+", page))
    assert named <= set(re.findall(r"--[a-z][a-z-]+", options))
    reading = options.partition("reading the file:")[2].partition("\nthe verdict")[0]
    assert set(re.findall(r"^  (--[a-z-]+)", reading, flags=re.M)) <= named


def test_glossary_states_what_the_library_computes(capsys: pytest.CaptureFixture[str]) -> None:
    """Every number that the block prints is in the prose, and so is every decimal of the prose."""
    text = (Path(__file__).parents[1] / "docs" / "reference" / "glossary.md").read_text()
    prose, block = text.split("```python\n")
    exec(block.split("```")[0], {})
    number = r"\d+(?:\.\d+)?"
    stated, printed = (set(re.findall(number, part)) for part in (prose, capsys.readouterr().out))
    assert printed <= stated
    given = {"0.8", "0.00001"}  # a correlation and a delta that the examples choose
    assert {word for word in stated if "." in word} - given <= printed


def test_the_page_of_shaped_noise_states_what_it_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (Path(__file__).parents[1] / "docs" / "how-to" / "choose-noise.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S):
        exec(block, names)
    prose = re.sub(r"^```python\n.*?^```", "", text, flags=re.M | re.S)
    printed = capsys.readouterr().out
    for number in ("0.73", "0.19", "0.27", "0.26", "1.32"):
        assert number in printed
        assert number in prose


def test_the_page_of_clusters_shows_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    dask = pytest.importorskip("dask", reason="dask is not installed")
    text = (Path(__file__).parents[1] / "docs" / "how-to" / "clusters.md").read_text("utf-8")
    names: dict[str, object] = {}
    with dask.config.set(scheduler="synchronous"):
        for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S):
            exec(block, names)
    shown = re.findall(r"^```text\n(.*?)^```", text, flags=re.M | re.S)
    assert capsys.readouterr().out == "".join(shown)
    given = names["rows"]
    np.testing.assert_allclose(names["whole"].mean, given.mean(axis=0), atol=1e-14)  # type: ignore[attr-defined]


def test_audit_scores(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = load("audit_scores")
    # The noise is right: a Gaussian curve of this mu has the claimed epsilon, and one of ten times
    # this mu has far more.
    mu = example.COLUMNS**0.5 / example.RECORDS / example.noise_std(0.01)
    assert tradeoff.gdp_epsilon(1e-5, mu) == pytest.approx(1.0, abs=1e-9)
    example.main(str(tmp_path / "kept.csv"))
    assert capsys.readouterr().out.splitlines() == [
        "noise for one column: exit code 2, refuted",
        "noise for all columns: exit code 0, consistent",
    ]
    assert example.audit(tmp_path / "kept.csv") == 2


def test_the_readme_audits_what_it_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The shell block with the audit, and the start of what it prints."""
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    commands, printed = re.findall(
        r"```sh\n.*?audit_scores.py scores.csv\n(.*?)```\n\n```text\n(.*?)```", readme, flags=re.S
    )[0]
    example = load("audit_scores")
    example.main(str(tmp_path / "scores.csv"))
    capsys.readouterr()
    program, *words = commands.split()
    assert program.endswith("leakscore")
    places = {"scores.csv": tmp_path / "scores.csv", "audit.html": tmp_path / "audit.html"}
    assert leakscore([str(places.get(word, word)) for word in words]) == 2
    assert capsys.readouterr().out.startswith(printed)
    assert (tmp_path / "audit.html").stat().st_size > 10_000


def test_stewards_see_what_the_guide_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command of the guide, and the verdict that it prints; all three of them are shown."""
    guide = (Path(__file__).parents[1] / "docs" / "tutorials" / "steward.md").read_text("utf-8")
    shown = re.findall(r"```sh\n(.*?)\n```\n\n```text\n(.*?)```", guide, flags=re.S)
    codes = []
    for command, printed in shown:
        program, *words = shlex.split(command)
        assert program == "leakscore"
        codes.append(leakscore([*words, "--check"]))
        first = capsys.readouterr().out.partition("\n\n")[0]
        assert first == printed.rstrip("\n")
    assert codes == [3, 2, 0]
    prose = re.sub(r"```.*?```|`[^`]*`", "", guide, flags=re.S)
    assert not re.search(r"[=^$\\]", prose), "a formula"
    assert len(guide.splitlines()) <= 100


def test_two_ellipses(capsys: pytest.CaptureFixture[str]) -> None:
    """Equal noise grows both axes; the best shape leaves the long one and costs a fraction."""
    example = load("two_ellipses")
    plain, equal, best = example.ellipses(example.table(np.random.default_rng(1)))
    assert plain.outside == 3
    assert equal.outside == best.outside == 0
    assert plain.cost == 0 < best.cost < 0.6 * equal.cost
    assert (equal.axes > plain.axes * 1.02).all()
    assert best.axes[1] == pytest.approx(plain.axes[1], rel=0.01)
    assert best.axes[0] == pytest.approx(equal.axes[0], rel=0.05)
    # The best is the smallest that holds the plain one and the records: no smaller multiple does.
    assert np.linalg.eigvalsh(best.K - plain.K)[0] >= -1e-9
    example.main()
    assert capsys.readouterr().out.count("\n") == 6
