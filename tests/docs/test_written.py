"""What programs write into the documentation and the package is as they would write it now."""

from __future__ import annotations

import json
import re
import runpy
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import audit, games, leakage, statistics, tradeoff
from leakscore_app import audit_synthetic, report
from leakscore_app.audits import Claim, Setting
from leakscore_app.cli import main
from tests import ROOT
from tests.helpers.parts import blind, judge, read_scores

DOCS = ROOT / "docs"
SCHEMAS = files("leakscore_app") / "data" / "schemas"


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))


def test_the_page_of_the_command_line_is_that_of_the_parsers() -> None:
    page = (DOCS / "reference" / "cli.md").read_text("utf-8")
    assert page == script("write_cli_page")["page"](), "run scripts/write_cli_page.py"


def test_the_page_of_the_figures_is_that_of_the_registry() -> None:
    page = (DOCS / "reference" / "figures.md").read_text("utf-8")
    assert page == script("write_figures_page")["page"](), "run scripts/write_figures_page.py"


def test_the_pictures_are_those_of_the_pages() -> None:
    for path, drawn in script("picture_pages")["pictures"]():
        assert path.read_text("utf-8") == drawn, "run scripts/picture_pages.py"


def test_the_page_of_the_json_is_that_of_the_examples() -> None:
    """To the digits that no processor changes."""
    schemas = [json.loads(path.read_text("utf-8")) for path in sorted(Path(str(SCHEMAS)).iterdir())]
    made = {each["title"]: each for each in schemas}
    page = (DOCS / "reference" / "json.md").read_text("utf-8")
    assert page == script("write_schemas")["page"](made), "run scripts/write_schemas.py"


@pytest.mark.parametrize(
    "command", ["report", "audit", "audit-synthetic", "risk", "ask", "epsilon"]
)
def test_every_option_is_on_the_page(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the help itself, which the page is not made of."""
    page = (DOCS / "reference" / "cli.md").read_text("utf-8")
    section = page.partition(f"## leakscore {command}\n")[2].partition("\n## ")[0]
    assert main([command, "--help"]) == 0
    options = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, flags=re.M))
    assert len(options) > 8
    assert {option for option in options if f"`{option}" not in section} == set()


def schema(name: str, version: int = 1) -> Any:
    validators = pytest.importorskip("jsonschema")
    made = json.loads((SCHEMAS / f"{name}-{version}.json").read_text("utf-8"))
    validators.Draft202012Validator.check_schema(made)
    return validators.Draft202012Validator(made)


def test_schemas_of_results_are_those_of_their_fields() -> None:
    made = script("write_schemas")
    kinds = {kind.__name__: kind for kind in made["results"]()}
    assert len(kinds) >= 16
    for name, kind in kinds.items():
        written = json.loads((SCHEMAS / f"{name}-1.json").read_text("utf-8"))
        assert written == made["of_result"](kind), f"{name}: run scripts/write_schemas.py"


def _results() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    member = rng.random(300) < 0.5
    scores = rng.normal(1.5 * member)
    played = audit.Audit.from_rounds(scores, member)
    curve = tradeoff.gaussian(0.5)
    X = rng.normal(size=(30, 2))
    reference = report.table_of(X, ["a", "b"])
    assert reference is not None
    from leakscore import Reference

    fitted = Reference.fit(X)
    ledger = leakage.Ledger(X, max_leakage=9.0)
    return {
        "answer": ledger.ask(np.ones(30, dtype=np.bool_), "mean", [0]),
        "refusal": ledger.ask(np.arange(30) > 0, "sum", [0]),
        "several deltas": played.epsilon([0.0, 1e-3]),
        "one delta": played.epsilon(0.5),
        "mu": played.mu(),
        "comparison": played.compare(curve),
        "Gaussian": played.epsilon_if_gaussian([1e-5, 1e-3]),
        "bootstrap": played.bootstrap("tpr_at", fpr=0.1, rng=np.random.default_rng(0), resamples=9),
        "roc": played.roc(),
        "band": played.band(),
        "parameter": played.parameter_lower_bound(tradeoff.laplace),
        "one run": audit.one_run(scores, member, 10, 10),
        "one run, curve": audit.one_run_fdp(scores, member, 10, 10, curve),
        "one run, family": audit.one_run_fdp(scores, member, 10, 10, tradeoff.gaussian),
        "alike": audit.blind_check(X, np.arange(30) < 15, rng=0, relabellings=9),
        "decoys": audit.rank_test(scores[:3], scores[3:9].reshape(3, 2)),
        "rounds": audit.required_rounds(curve, epsilon=0.3),
        "game": games.summarize(np.append(scores, -np.inf), np.append(member, False)),
        "noise": leakage.noise_for(X, fitted, 20, max_advantage=0.2),
        "shaped": leakage.noise_for(X, fitted, 20, max_advantage=0.2, shape="optimal"),
        "certificate": curve.at_least_as_private_as(tradeoff.laplace(1.0)),
    }


def test_results_meet_their_schemas_and_others_do_not() -> None:
    seen = set()
    for name, result in _results().items():
        validator = schema(type(result).__name__)
        document = json.loads(result.to_json())
        assert [error.message for error in validator.iter_errors(document)] == [], name
        field = next(iter(document))
        assert not validator.is_valid({key: document[key] for key in document if key != field})
        assert not validator.is_valid(document | {field: {"no": "such value"}})
        seen.add(type(result).__name__)
    names = {path.name.rpartition("-")[0] for path in SCHEMAS.iterdir()}
    assert seen == names - {
        "report",
        "audit",
        "audit-blind",
        "audit-synthetic",
        "risk",
        "ask",
        "epsilon",
    }


def test_reports_meet_their_schema() -> None:
    """Other tables and options than those that the schema was made of."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(50, 2))
    X[0] = 30.0
    table = report.table_of(X, ["x", "y"])
    cells = report.table_of(X, ["x", "y"], groups={"g": ["u", "v"] * 25})
    validator = schema("report", 2)
    for made in (
        report.analyse(table, n=50, rounds=400, epsilon=0.5),
        report.analyse(table, n=20, rounds=400, population="finite"),
        report.analyse(table, rounds=400, previous=[30]),
        report.analyse(table, rounds=400, noise_shape="independent"),
        report.analyse(cells, rounds=400, statistic=statistics.GroupMeans("g"), min_cell=30),
    ):
        document = json.loads(made.to_json())
        assert [error.message for error in validator.iter_errors(document)] == []
        assert document["schema_version"] == 2
    del document["verdict"]
    assert not validator.is_valid(document)


def test_findings_meet_their_schema(tmp_path: Path) -> None:
    validator = schema("audit")
    rng = np.random.default_rng(3)
    path = tmp_path / "scores.json"
    members, nonmembers = rng.normal(3.0, 1.0, 30).tolist(), rng.normal(size=60).tolist()
    path.write_text(json.dumps({"members": members, "nonmembers": nonmembers}))
    for words in ({"claim": Claim(mu=0.1)}, {"orientation": "both"}, {"method": "split"}):
        made = judge(read_scores(str(path)), setting=Setting(), **words)  # type: ignore[arg-type]
        document = json.loads(made.to_json())
        assert [error.message for error in validator.iter_errors(document)] == [], words
    included = np.tile([[True], [False]], (3, 1)) ^ (rng.random((1, 50)) < 0.5)
    models = str(tmp_path / "models.npz")
    np.savez(models, signals=rng.normal(1.0 * included), included=included)
    for attack in ("choose", "lira"):
        made = judge(read_scores(models, attack=attack), setting=Setting())
        document = json.loads(made.to_json())
        assert [error.message for error in validator.iter_errors(document)] == [], attack
    del document["bounds"]
    assert not validator.is_valid(document)


def test_synthetic_tables_meet_their_schema(tmp_path: Path) -> None:
    tables = np.random.default_rng(8).gamma(2.0, size=(4, 70, 3))
    paths = [str(tmp_path / f"{name}.npy") for name in ("t", "h", "s", "r")]
    for path, values in zip(paths, tables, strict=True):
        np.save(path, values)
    np.save(paths[2], np.vstack([tables[0][:40], tables[2]]))
    validator = schema("audit-synthetic")
    for words in ({}, {"reference": paths[3], "random_bits": True}):
        made = audit_synthetic(*paths[:3], **words)  # type: ignore[misc, arg-type]
        document = json.loads(made.to_json())
        assert [error.message for error in validator.iter_errors(document)] == []
    np.savez(tmp_path / "c.npz", member=np.arange(40) < 9, words=np.array(["a", "b"] * 20))
    document = json.loads(blind(str(tmp_path / "c.npz"), ["words"]).to_json())
    assert [error.message for error in schema("audit-blind").iter_errors(document)] == []


def test_inventories_are_those_of_the_table() -> None:
    made = script("write_inventories")
    for project in made["NAMES"]:
        path = DOCS / "_inventories" / f"{project}.inv"
        assert path.read_bytes() == made["inventory"](project), "run scripts/write_inventories.py"


def test_mathematics_is_served_from_the_site() -> None:
    script_path = DOCS / "_static" / "mathjax" / "tex-svg.js"
    assert 1_000_000 < script_path.stat().st_size < 3_000_000
    assert "cdn." not in script_path.read_text("utf-8")
    assert (script_path.parent / "LICENSE").is_file()


def test_the_gallery_has_one_idea_each() -> None:
    found = sorted((DOCS / "gallery_src").glob("plot_*.py"))
    assert len(found) >= 12
    for path in found:
        text = path.read_text("utf-8")
        assert re.match(r'"""\n[^\n]+\n=+\n\n\w', text), path.name
        assert max(map(len, text.splitlines())) <= 100, path.name
