"""The rules of docs/architecture.md: rooms, what they import, and how large they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import leakscore
from tests import ROOT
from tests.helpers import rooms

PACKAGE = rooms.read(ROOT / "python" / "leakscore")
MOST_MODULES = 14


def test_no_folder_is_crowded() -> None:
    sizes = {folder: len(modules) for folder, modules in PACKAGE.folders().items()}
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def test_no_module_imports_itself_by_way_of_others() -> None:
    # The package's own module loads its rooms on first use, and nothing below needs a room of it.
    arrows = {module: targets - {""} for module, targets in PACKAGE.imports.items() if module}
    assert rooms.cycles(arrows) == []
    assert rooms.cycles({room: targets - {""} for room, targets in PACKAGE.rooms().items()}) == []


def test_no_room_enters_a_private_module_of_another() -> None:
    assert PACKAGE.trespasses() == set()


def test_rooms_import_what_the_drawing_says() -> None:
    """docs/architecture.md has a line for each room: what it imports, besides what all may use."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    drawn = {
        line[1]: set(re.findall(r"`(\w+)`", line[2]))
        for line in re.finditer(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", text, flags=re.M)
    }
    for_all = {module for module in PACKAGE.files if module.startswith("_") and "." not in module}
    real = {
        room: targets - for_all - {""}
        for room, targets in PACKAGE.rooms().items()
        if room and room not in for_all
    }
    assert drawn == real


def test_what_all_rooms_use_uses_no_room() -> None:
    for room, targets in PACKAGE.rooms().items():
        if room.startswith("_") and not room.startswith("__"):
            assert all(target.startswith("_") or target == "" for target in targets), room


def test_the_rules_see_the_package_that_is_tested() -> None:
    assert set(leakscore.__all__) & set(PACKAGE.rooms()) >= {"audit", "tradeoff", "reference"} - {
        "reference"
    }


@pytest.fixture
def broken(tmp_path: Path) -> rooms.Package:
    """A package in which every rule is broken."""
    for name, text in {
        "__init__": "",
        "one/__init__": "from broken.one._private import a\n",
        "one/_private": "def a():\n    from broken.two import b\n",
        "two/__init__": "from typing import TYPE_CHECKING\nb = 1\n"
        "if TYPE_CHECKING:\n    from broken.one._private import a\n",
        **{f"crowd/m{i}": "" for i in range(MOST_MODULES + 1)},
    }.items():
        path = tmp_path / "broken" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return rooms.read(tmp_path / "broken")


def test_the_rules_can_fail(broken: rooms.Package) -> None:
    assert rooms.cycles(broken.imports) == [["one._private", "two"]]
    assert rooms.cycles(broken.rooms()) == [["one", "two"]]
    assert broken.trespasses() == {("two", "one._private")}
    assert max(len(modules) for modules in broken.folders().values()) == MOST_MODULES + 1
