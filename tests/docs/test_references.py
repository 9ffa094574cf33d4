"""Names in docstrings that the site makes links of: each must have a target there."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import pytest

import leakscore

ROOMS = [room.name for room in pkgutil.iter_modules(leakscore.__path__) if room.name[0] != "_"]
_LINK = re.compile(r"(?<![`:\w])`([A-Za-z_]\w*)`(?!`)")


@pytest.mark.parametrize("room", ROOMS)
def test_attributes_that_are_linked_are_described(room: str) -> None:
    """The page of a class lists methods and properties; other attributes stand in ``code``."""
    if room == "torch":
        pytest.importorskip("torch")
    module = importlib.import_module(f"leakscore.{room}")
    public = [getattr(module, name) for name in getattr(module, "__all__", ())]
    lost = {
        (where, word)
        for kind in filter(inspect.isclass, public)
        for where, text in _docstrings(kind)
        for word in _LINK.findall(text)
        if not _has_a_target(kind, word)
    }
    assert not lost


def _docstrings(kind: type) -> Iterator[tuple[str, str]]:
    yield kind.__name__, kind.__doc__ or ""
    for name in (name for name in dir(kind) if name[0] != "_" or name == "__call__"):
        yield f"{kind.__name__}.{name}", getattr(getattr(kind, name), "__doc__", None) or ""


def _has_a_target(kind: type, word: str) -> bool:
    found = getattr(kind, word, None)
    return found is None or callable(found) or isinstance(found, property)
