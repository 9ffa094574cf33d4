"""The rules of docs/architecture.md: two packages, their rooms, what these take of each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import leakscore
from tests import ROOT
from tests.helpers import rooms

LIBRARY = rooms.read(ROOT / "python" / "leakscore")
APPLICATION = rooms.read(ROOT / "python" / "leakscore_app")
BOTH = pytest.mark.parametrize("package", [LIBRARY, APPLICATION], ids=lambda one: one.name)
MOST_MODULES = 20


def drawn(package: rooms.Package) -> dict[str, set[str]]:
    """What each room imports, by the page: a line each, besides what all rooms may use."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    part = text.partition(f"\n## `{package.name}`")[2].partition("\n## ")[0]
    lines = re.finditer(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", part, flags=re.M)
    return {line[1]: set(re.findall(r"`(\w+)`", line[2])) for line in lines}


@BOTH
def test_no_folder_is_crowded(package: rooms.Package) -> None:
    sizes = {folder: len(modules) for folder, modules in package.folders().items()}
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}


@BOTH
def test_no_module_imports_itself_by_way_of_others(package: rooms.Package) -> None:
    # The package's own module loads its rooms on first use, and nothing below needs a room of it.
    arrows = {module: targets - {""} for module, targets in package.imports.items() if module}
    assert rooms.cycles(arrows) == []
    assert rooms.cycles({room: targets - {""} for room, targets in package.rooms().items()}) == []


@BOTH
def test_no_room_enters_a_private_module_of_another(package: rooms.Package) -> None:
    assert package.trespasses() == set()


def test_no_room_uses_a_private_attribute_of_another() -> None:
    assert rooms.private_uses(LIBRARY, APPLICATION) == set()


def test_the_library_imports_nothing_of_the_application() -> None:
    names = {name.partition(".")[0] for names in LIBRARY.names.values() for name in names}
    assert "numpy" in names
    assert "leakscore_app" not in names


def test_the_application_imports_public_names_of_the_library_alone() -> None:
    assert any("leakscore.audit.Audit" in names for names in APPLICATION.names.values())
    assert rooms.not_public(APPLICATION, LIBRARY) == set()


@BOTH
def test_rooms_import_what_the_drawing_says(package: rooms.Package) -> None:
    lines = drawn(package)
    real = {
        room: {target for target in targets if target in lines}
        for room, targets in package.rooms().items()
        if room in lines
    }
    assert lines == real
    folders = {module.partition(".")[0] for module in package.files if "." in module}
    assert folders - {"data"} <= set(lines)


@BOTH
def test_what_all_rooms_use_uses_no_room(package: rooms.Package) -> None:
    lines = drawn(package)
    for module, targets in package.imports.items():
        if module and "." not in module and module not in {*lines, "__main__"}:
            assert targets & set(lines) == set(), module


def test_the_rules_see_the_package_that_is_tested() -> None:
    assert set(leakscore.__all__) & set(LIBRARY.rooms()) >= {"audit", "tradeoff"}


@pytest.fixture
def broken(tmp_path: Path) -> rooms.Package:
    """A package in which every rule is broken."""
    for name, text in {
        "__init__": "",
        "one/__init__": "from broken.one._private import a\n",
        "one/_private": "def a():\n    from broken.two import b\n",
        "two/__init__": "from typing import TYPE_CHECKING\nb = 1\n"
        "if TYPE_CHECKING:\n    from broken.one._private import a\n",
        "three/__init__": "class A:\n    __slots__ = ('_held',)\n    def _do(self): ...\n",
        "four/__init__": "from broken.three import A\nA()._held\nA()._do()\nnumpy._other\n",
        "five/__init__": "from leakscore.audit import Audit, nothing\n"
        "from leakscore import _core, tradeoff\n",
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
    assert rooms.private_uses(broken) == {("broken.four", "_held"), ("broken.four", "_do")}
    assert rooms.not_public(broken, LIBRARY) == {
        ("five", "leakscore.audit.nothing"),
        ("five", "leakscore._core"),
    }
