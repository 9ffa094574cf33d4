"""The page on certified terms names files, tests and functions that exist."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests import ROOT

PAGE = (ROOT / "docs/explanation/certified-bounds.md").read_text("utf-8")
SUFFIXES = {".py", ".hpp", ".cpp"}


@cache
def sources() -> dict[str, str]:
    """Text of every source file by its path from the checkout, without a Python suffix."""
    paths = [path for part in ("python", "cpp") for path in (ROOT / part).rglob("*")]
    return {
        path.relative_to(ROOT).as_posix().removesuffix(".py"): path.read_text("utf-8")
        for path in paths
        if path.suffix in SUFFIXES
    }


def places() -> list[str]:
    """What stands in backticks in the column *where* of the page's tables."""
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| ")]
    return sorted({word for row in rows for word in re.findall(r"`([^`]+)`", row[1])})


def exists(place: str) -> bool:
    """Whether a file, what a module defines or a method of a class is in the tree."""
    home, _, name = place.partition(".")
    if name in ("hpp", "cpp"):
        return any(path.endswith(f"/{place}") for path in sources())
    files = {path: text for path, text in sources().items() if f"/{path}".endswith(f"/{home}")}
    classes = [text for text in sources().values() if re.search(rf"^class {home}\b", text, re.M)]
    if not name:
        defined = rf"^\s*(?:def|class) {home}\b|^{home}\b.* = "
        return bool(files) or any(re.search(defined, text, re.M) for text in sources().values())
    return any(
        all(re.search(rf"\b{part}\b", text) for part in name.split("."))
        for text in [*files.values(), *classes]
    )


def test_places_of_terms() -> None:
    assert len(places()) > 60
    assert [place for place in places() if not exists(place)] == []


@pytest.mark.parametrize(
    "place", ["nowhere.hpp", "sums.no_such_name", "monitor.Nobody", "no_such_name"]
)
def test_a_place_that_is_gone_is_seen(place: str) -> None:
    assert not exists(place)


def test_tests_of_terms() -> None:
    named = set(re.findall(r"`((?:tests/)[\w/]+\.py)`", PAGE))
    assert len(named) > 40
    assert [name for name in named if not (ROOT / name).is_file()] == []
