"""What the packaging files say is true of each other."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import ROOT

tomllib: Any = pytest.importorskip("tomllib")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]


@pytest.mark.parametrize("name", ["test", "lint", "docs", "bench", "accuracy"])
def test_groups_hold_what_the_extras_of_their_names_hold(name: str) -> None:
    """An extra may ask for another extra of this package, a group cannot."""
    assert sorted(GROUPS[name]) == sorted(set(packages(name)))


def packages(extra: str) -> list[str]:
    """Return what an extra asks for, of others too."""
    found = []
    for entry in EXTRAS[extra]:
        other = re.fullmatch(r"leakscore\[(\w+)\]", entry)
        found += packages(other[1]) if other else [entry]
    return found


def floors(entries: list[Any]) -> dict[str, str]:
    """Return the least version of each package."""
    found = {}
    for entry in entries:
        match = re.match(r"([\w.-]+)>=([\d.]+)$", entry) if isinstance(entry, str) else None
        if match:
            found[match[1]] = match[2]
    return found


def test_the_oldest_versions_are_the_floors() -> None:
    """A later patch stands for a floor that has no wheel for Python 3.10."""
    text = (ROOT / ".ci" / "oldest.txt").read_text("utf-8")
    own, _, theirs = text.partition("# What the oldest of the above need")
    assert theirs
    pinned = dict(re.findall(r"^([\w.-]+)==([\d.]+)$", own, flags=re.M))
    expected = floors(PROJECT["project"]["dependencies"]) | floors(packages("test"))
    assert sorted(pinned) == sorted(expected)
    for name, floor in expected.items():
        assert f"{pinned[name]}.".startswith(f"{floor}."), name


def test_actions_are_pinned_and_permissions_are_granted_by_job() -> None:
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert [path.stem for path in workflows] == ["ci", "docs", "nightly", "wheels"]
    for path in workflows:
        text = path.read_text("utf-8")
        assert "\npermissions: {}\n" in text
        for used in re.findall(r"uses: (\S+)(.*)", text):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", used[0]), used
            assert re.fullmatch(r" # v[\d.]+", used[1]), used
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_citation_has_no_version() -> None:
    """It is written once, in pyproject.toml."""
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert "cff-version: 1.2.0" in text
    assert not re.search(r"^version:", text, flags=re.M)
    assert text.count("  - type: ") == 4
