"""Verdicts for other programs: SARIF and JUnit's XML."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import leakscore
from leakscore_app.document import Check, junit, sarif

CHECK = Check(
    name='claim <1> & "2"',
    verdict="refuted",
    message="is REFUTED: <e> & \x1b[2J",
    files=("a folder/sc#ores.csv", "b.csv"),
    properties={"p_value": 0.01, "bound": math.inf, "method": "<ell>"},
)
KINDS = {
    "refuted": ("fail", "error", "failure"),
    "consistent": ("pass", "none", "system-out"),
    "cannot-tell": ("open", "none", "error"),
    None: ("informational", "none", "system-out"),
}


def refuse(constant: str) -> None:
    raise AssertionError(constant)


@pytest.mark.parametrize("verdict", KINDS)
def test_sarif(verdict: str | None) -> None:
    text = sarif(replace(CHECK, verdict=verdict))
    log = json.loads(text, parse_constant=refuse)
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert (result["kind"], result["level"]) == KINDS[verdict][:2]
    assert result["ruleId"] in [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert run["tool"]["driver"]["version"] == leakscore.__version__
    assert result["message"]["text"] == "is REFUTED: <e> & \\x1b[2J"
    places = [place["physicalLocation"]["artifactLocation"]["uri"] for place in result["locations"]]
    assert places == ["a%20folder/sc%23ores.csv", "b.csv"]
    assert result["properties"] == {"p_value": 0.01, "bound": "inf", "method": "<ell>"}


@pytest.mark.parametrize("verdict", KINDS)
def test_junit(verdict: str | None) -> None:
    root = ElementTree.fromstring(junit(replace(CHECK, verdict=verdict)))
    (suite,) = root
    (case,) = suite
    for counted in (root, suite):
        assert counted.get("tests") == "1"
        assert counted.get("failures") == str(int(verdict == "refuted"))
        assert counted.get("errors") == str(int(verdict == "cannot-tell"))
    assert case.get("name") == 'claim <1> & "2"'
    assert case.get("classname") == "a folder/sc#ores.csv and b.csv"
    properties, said = case
    found = {each.get("name"): each.get("value") for each in properties}
    assert found == {
        "p_value": "0.01",
        "bound": "inf",
        "method": "<ell>",
        "leakscore": leakscore.__version__,
    }
    assert said.tag == KINDS[verdict][2]
    assert "is REFUTED: <e> & \\x1b[2J" in (said.text or said.get("message") or "")
