"""The plugin of pytest: seeds, rounds and verdicts of claims are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from leakscore.pytest_plugin import Privacy
from leakscore.testing import check_private

SUITE = """
CLAIM = (1.0, 0.0)

def noisy(data, rng):
    return data + rng.laplace()

def leaky(data, rng):
    return data + rng.laplace(scale=0.4)

def test_private(privacy):
    privacy.assert_private(noisy, 0.0, 1.0, claim=CLAIM, rounds=500)
    privacy.assert_private(noisy, 0.0, 1.0, claim=CLAIM, rounds=500)

def test_leaky(privacy):
    assert privacy.check(leaky, 0.0, 1.0, claim=CLAIM, rng=5, confidence=0.9).refuted
    privacy.assert_private(leaky, 0.0, 1.0, claim=CLAIM)

def test_nothing(privacy):
    pass
"""


def ran(folder: Path, *options: str) -> tuple[str, dict[str, dict[str, str]]]:
    """Return what a session printed, and the properties of its tests in JUnit's XML."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=j.xml", *options, "test_suite.py"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert found.returncode == 1, found.stdout + found.stderr
    cases = ElementTree.parse(folder / "j.xml").getroot().iter("testcase")
    kept = {
        str(case.get("name")): {
            str(each.get("name")): str(each.get("value")) for each in case.iter("property")
        }
        for case in cases
    }
    return found.stdout, kept


def noisy(data: float, rng) -> float:
    return data + rng.laplace()


def leaky(data: float, rng) -> float:
    return data + rng.laplace(scale=0.4)


def test_seeds_rounds_and_verdicts_are_kept(tmp_path: Path) -> None:
    said, kept = ran(tmp_path)
    private, leak = kept["test_private"], kept["test_leaky"]
    assert kept["test_nothing"] == {}
    assert private["privacy[0].verdict"] == "not refuted"
    assert leak["privacy[0].verdict"] == leak["privacy[1].verdict"] == "refuted"
    assert (leak["privacy[0].seed"], leak["privacy[0].confidence"]) == ("5", "0.9")
    assert private["privacy[0].seed"] != private["privacy[1].seed"]
    for mechanism, rounds, checks in ((noisy, 500, private), (leaky, 4000, leak)):
        seed = int(checks["privacy[1].seed"])
        again = check_private(mechanism, 0.0, 1.0, claim=(1.0, 0.0), rounds=rounds, rng=seed)
        assert str(again.p_value) == checks["privacy[1].p_value"]
        assert str(again.rounds) == checks["privacy[1].rounds"]
        assert f"rng={seed}" in said
    assert "AssertionError: the claim (1.0, 0.0) is refuted: number 1 of the output" in said
    assert "4 checks. If every claim were true, 0.25 refutations were expected" in said
    cached = json.loads((tmp_path / ".pytest_cache/v/leakscore/checks").read_text())
    assert [len(checks) for checks in cached.values()] == [2, 2]


def test_options_and_processes(tmp_path: Path) -> None:
    options = ("--privacy-rounds=600", "--privacy-seed=3", "-n1", "-p", "no:cacheprovider")
    said, kept = ran(tmp_path, *options)
    assert said.count("not refuted in 600 rounds") == 2
    seeds = []
    for seed in (3, 0):
        checks = Privacy("test_suite.py::test_private", seed, 100)
        checks.check(lambda data, rng: data + rng.laplace(), 0, 1, claim=(1.0, 0.0))
        seeds.append(checks.checks[0]["seed"])
    assert kept["test_private"]["privacy[0].seed"] == seeds[0] != seeds[1]


@pytest.mark.parametrize("name", ["numpy", "scipy"])
def test_nothing_heavy_is_loaded_for_other_tests(name: str) -> None:
    """The plugin takes what `import leakscore` takes."""
    code = f"import leakscore, sys; a = '{name}' in sys.modules; import leakscore.pytest_plugin; "
    code += f"assert ('{name}' in sys.modules) == a; assert 'leakscore.testing' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
