"""`scripts/mutants` on a small package: what it makes, what it catches, what it prints."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("coverage", "tree_sitter", "tree_sitter_cpp")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not all(map(importlib.util.find_spec, TOOLS)),
    reason="needs the extra lint, and fork",
)

SOURCE = '''"""A bound."""
import math
from functools import lru_cache

_ERROR = 1e-9


def upper(x, margin):
    """Sum, rounded up."""
    total = x + margin  # never below
    return math.nextafter(
        total,
        math.inf,
    )


def best(values, *, largest=True):
    chosen = max(values)
    return chosen + _ERROR if largest else 0.0


@lru_cache
def kept(value):
    return value - 4


def endless(steps):
    if steps < 0:
        raise ValueError
    while steps > 0:
        steps -= 1
    return steps
'''
TESTS = """
import pytest
from leakscore.tradeoff.bound import best, endless, kept, upper
@pytest.fixture(scope="module")
def shared():
    return kept(9)
def test_that_fills_a_cache(shared):
    assert kept(7)
def test_what_a_cache_holds(shared):
    assert (kept(7), shared) == (3, 5)
def test_upper():
    assert upper(1.0, 0.5) > 1.5
def test_no_less():
    assert upper(1.0, 0.0) > 0.5
def test_best():
    assert best([1, 2]) == 2 + 1e-9
def test_endless():
    assert endless(3) == 0
def test_that_fails():
    assert False
"""
EQUIVALENT = "\t".join(
    (
        "python/leakscore/tradeoff/bound.py",
        "while steps > 0:",
        "steps > 0 -> steps >= 0",
        "a reason",
    )
)
HEADER = """
#include <algorithm>
namespace leakscore {
inline constexpr double slack = 1e-9;
constexpr int fixed(int n) { return n + 1; }
template <int N> double low(const double* x, int i) {
  static_assert(N > 0);
  constexpr int step = 2;
  const double* end = x + i;
  return std::min(x[0], *end) - 3.0 * slack;  // a - b
}
inline double use(const double* x) { return low<2>(x, fixed(0)); }
}
"""

PROGRAM = """
#include <cstdio>
int main() {
  const double x[] = {1.0, 2.0, 3.0};
  for (int one = 0; one < 12; ++one) {
    leakscore_mutant = one;
    std::printf("%.17g\\n", one == 1 || one == 2 ? 0.0 : leakscore::use(x));
  }
}
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[str]]:
    return tried(tmp_path_factory.mktemp("small"), SOURCE, TESTS, EQUIVALENT)


def tried(root: Path, source: str, tests: str, equivalent: str) -> tuple[int, list[str]]:
    """Run the program on a package of one module."""
    shutil.copytree(ROOT / "scripts" / "mutation", root / "scripts" / "mutation")
    shutil.copy(ROOT / "scripts" / "mutants", root / "scripts")
    (root / "scripts" / "equivalent_mutants.txt").write_text(f"{equivalent}\n")
    module = root / "python" / "leakscore" / "tradeoff"
    module.mkdir(parents=True)
    for folder in (module, module.parent):
        (folder / "__init__.py").touch()
    (module / "bound.py").write_text(source)
    folder = root / "tests" / "tradeoff"
    folder.mkdir(parents=True)
    for one in (folder, folder.parent):
        (one / "__init__.py").touch()
    (folder / "test_bound.py").write_text(tests)
    (root / "tests" / "sequential").mkdir()
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow']\n")
    done = subprocess.run(
        [sys.executable, "scripts/mutants", "--python"],
        cwd=root,
        env=dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_what_survives_is_what_no_test_sees(outcome: tuple[int, list[str]]) -> None:
    code, lines = outcome
    assert code == 1
    survivors = {line.partition("bound.py:")[2].rpartition("  (")[0] for line in lines[1:-2]}
    assert survivors == {"19: 0.0 -> 1.0"}


def test_counts_add_up(outcome: tuple[int, list[str]]) -> None:
    last, of_file = outcome[1][-1], outcome[1][-2]
    assert last.startswith("python: ")
    assert last.partition(": ")[2] == of_file.partition("bound.py: ")[2]
    counts = dict(reversed(part.split(" ", 1)) for part in last[len("python: ") :].split(", "))
    made = int(counts.pop("made"))
    assert made == sum(map(int, counts.values()))
    assert counts["equivalent"] == "1"
    assert counts["timed out"] == "3"


def test_equivalent_mutants_are_made() -> None:
    """No row is left of a line that has changed, or of a function that is no longer tried."""
    program = loaded()
    rows = (ROOT / "scripts" / "equivalent_mutants.txt").read_text("utf-8").splitlines()
    listed = {tuple(row.split("\t")[:3]) for row in rows if not row.startswith("#")}
    assert all(row.split("\t")[3:] for row in rows if not row.startswith("#"))
    assert len(listed) == sum(not row.startswith("#") for row in rows)
    both = (*python_mutants(), *program.cpp_mutants())
    made = {key for mutant, _ in both for key in program.keys(mutant)}
    assert not listed - made


@cache
def loaded() -> ModuleType:
    """Import the program, which has no suffix."""
    loader = SourceFileLoader("mutants_program", str(ROOT / "scripts" / "mutants"))
    spec = importlib.util.spec_from_file_location(loader.name, loader.path, loader=loader)
    assert spec is not None
    program = importlib.util.module_from_spec(spec)
    loader.exec_module(program)
    return program


python_mutants = cache(lambda: [*loaded().python_mutants()])


def test_modules_are_where_the_program_looks() -> None:
    program = loaded()
    tops = {"python": (program.PYTHON, "py"), "cpp/include": (program.CPP, "hpp")}
    files = [
        str(path.relative_to(ROOT / top / "leakscore"))
        for top, (_, suffix) in tops.items()
        for path in (ROOT / top / "leakscore").rglob(f"*.{suffix}")
    ]
    for begins in (*program.PYTHON, *program.CPP, *program.ESTIMATES):
        module, _, place = begins.partition(":")
        assert any(file.startswith(module) for file in files), begins
        if place:
            made = program.mutants_of(ROOT, f"python/leakscore/{module}.py")
            assert any(f"{one.place}.".startswith(f"{place}.") for one in made), begins
    every = {one.place for one in program.mutants_of(ROOT, "python/leakscore/audit/roc.py")}
    tried = {one.place for one, _ in python_mutants() if one.file.endswith("audit/roc.py")}
    assert every - tried == {
        "Rates.bootstrap", "tpr_resamples", "curve_resamples", "_Draws.__init__", "_Draws.resample"
    }  # fmt: skip
    for top, (rooms, suffix) in tops.items():
        paths = program.certified(top, suffix, rooms)
        assert not any("required" in path for path in paths)
        for folders in paths.values():
            assert all((ROOT / "tests" / folder).is_dir() for folder in folders)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_changes_of_a_header(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Terms, constants and directions that are computed when it runs; the text compiles."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    schemata = importlib.import_module("mutation.schemata")
    (tmp_path / "a.hpp").write_text(HEADER)
    header = schemata.Header(tmp_path, "a.hpp", 1)
    changes = {f"{one.before} -> {one.after}" for one in header.mutants}
    assert changes == {
        "x + i -> x - i",
        "x + i -> x",
        "x + i -> i",
        "std::min(x[0], *end) - 3.0 * slack -> std::min(x[0], *end) + 3.0 * slack",
        "std::min(x[0], *end) - 3.0 * slack -> std::min(x[0], *end)",
        "std::min(x[0], *end) -> std::max(x[0], *end)",
        "0 -> (0 + 1)",
        "3.0 -> 2.0 * 3.0",
        "slack -> 0.0",
        "slack -> 10.0 * slack",
    }
    pointers = {one.number for one in header.mutants if str(one).endswith("x + i -> i")}
    text = header.rewritten(pointers)
    assert text.count("\n") == HEADER.count("\n")
    program = f"{schemata.HEADER % 99}{text}" + PROGRAM
    (tmp_path / "a.cpp").write_text(program.replace("#pragma once", ""))
    subprocess.run(["g++", "-std=c++20", "-o", "a", "a.cpp"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "a"], capture_output=True, text=True, check=True)
    values = [float(one) for one in done.stdout.split()]
    numbers = {str(one).partition(": ")[2]: one.number for one in header.mutants}
    assert values[0] == 1.0 - 3e-9
    assert values[numbers["slack -> 0.0"]] == 1.0
    assert values[numbers["3.0 -> 2.0 * 3.0"]] == 1.0 - 6e-9
    assert values[numbers["std::min(x[0], *end) -> std::max(x[0], *end)"]] == 2.0 - 3e-9
