"""Reports on blocks of a table, held against those on the whole of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from leakscore_app.report import Report
from tests.helpers.parts import Tree
from tests.helpers.sizes import sizes


def assert_alike(found: Report, whole: Report) -> None:
    """Rows, leakages, input, release and remedies are the same."""
    np.testing.assert_array_equal(found.rows, whole.rows)
    for ours, plain in ((found.informed, whole.informed), (found.weaker, whole.weaker)):
        np.testing.assert_allclose(ours.leakage, plain.leakage, rtol=1e-9, atol=1e-12)
    assert found.release == whole.release
    for field in dataclasses.fields(found.input):
        if field.name not in ("notes", "sha256"):
            assert getattr(found.input, field.name) == getattr(whole.input, field.name), field.name
    told = [[(one.kind, one.what, one.above) for one in each.remedies] for each in (found, whole)]
    assert told[0] == told[1]


def joined(trees: Iterable[Tree[Any]]) -> Any:
    """Return the result of all blocks from the trees of spans, in any order."""
    whole: Tree[Any] = Tree()
    for tree in trees:
        whole.merge(tree)
    return whole.result()


def short_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take tables of more than 1000 rows for long ones, and read csv 16 kB at a time."""
    sizes(monkeypatch, long=1000, piece=1 << 14, piece_rest=1 << 10)
