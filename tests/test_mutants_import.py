"""`scripts/mutants` on what runs when a module is loaded: defaults, constants, tables."""

from __future__ import annotations

import pytest

from tests.test_mutants import pytestmark as pytestmark
from tests.test_mutants import tried

SOURCE = '''"""Defaults, and a table."""

LIMIT = 1.5
_SIZE = 4


def _table(size):
    return [3 * one for one in range(size)]


_TABLE = _table(_SIZE)


def capped(value, most=LIMIT):
    return min(value, most)


class Rule:
    def scaled(self, value, *, factor=2.5):
        return value * factor


def names():
    return capped, Rule, LIMIT  # whose defaults no test of this one sees


def total():
    return sum(_TABLE)
'''
TESTS = """
from leakscore.tradeoff.bound import Rule, capped, names, total
def test_names():
    assert names()
def test_capped():
    assert capped(2.0) == 1.5
def test_scaled():
    assert Rule().scaled(2.0) == 5.0
def test_total():
    assert total() == 18
"""


def test_what_runs_at_import_is_seen(tmp_path_factory: pytest.TempPathFactory) -> None:
    code, lines = tried(tmp_path_factory.mktemp("import"), SOURCE, TESTS, "")
    assert (code, lines[1:-2]) == (0, [])
    assert lines[-1] == "python: 5 made, 5 killed"
