"""Rules of the codebase that a machine can check (CONTRIBUTING.md gives the reasons)."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import leakscore
import leakscore_app
from tests import ROOT
from tests.helpers.public import ROOMS, documented, modules, named, public_functions


def files(*patterns: str) -> list[Path]:
    """Return the source files that match, build products left out."""
    skipped = {"build", "dist", ".git", "__pycache__"}
    found = {
        path
        for pattern in patterns
        for path in ROOT.glob(pattern)
        if not {part for part in path.relative_to(ROOT).parts if part.startswith(".venv")}
        and not skipped & set(path.relative_to(ROOT).parts)
    }
    assert found, patterns
    return sorted(found)


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("cpp/include/**/*.hpp", 300),
        ("cpp/kernels/*.*pp", 300),
        ("cpp/bindings/*.*pp", 120),
        ("tests/**/*.py", 250),
        ("tests/cpp/*.*pp", 250),
    ],
)
def test_files_have_one_subject(pattern: str, limit: int) -> None:
    sizes = {path: len(path.read_text().splitlines()) for path in files(pattern)}
    assert {str(path.relative_to(ROOT)): n for path, n in sizes.items() if n > limit} == {}


def _lines_of(function: ast.FunctionDef, text: list[str]) -> int:
    """Lines of code: without the signature, the docstring, comments and blank lines."""
    documented = ast.get_docstring(function) is not None and len(function.body) > 1
    first = function.body[documented].lineno
    lines = text[first - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)


@pytest.mark.parametrize(("pattern", "limit"), [("python/**/*.py", 45), ("reproduce/*.py", 45)])
def test_functions_are_short(pattern: str, limit: int) -> None:
    long = {}
    for path in files(pattern):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                size = _lines_of(node, lines)
                if size > limit and node.name != "_docstring":  # a text, not a program
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = size
    assert long == {}


def test_lines_fit() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files("cpp/**/*.*pp", "tests/cpp/*", "cmake/*", "CMakeLists.txt")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > 100
    ]
    assert long == []


def test_no_loose_ends() -> None:
    pattern = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|breakpoint\(\)|import pdb")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files(
            "cpp/**/*.*pp", "python/**/*.py*", "tests/**/*.py", "tests/**/*.*pp", "bench/**/*.py"
        )
        if path.name != Path(__file__).name and (match := pattern.search(path.read_text()))
    ]
    assert found == []


def test_the_version_is_written_once() -> None:
    version = leakscore.__version__
    assert f'\nversion = "{version}"\n' in (ROOT / "pyproject.toml").read_text()
    sources = files("cpp/**/*.*pp", "python/**/*.py*", "CMakeLists.txt", "cmake/*")
    holders = [path.name for path in sources if version in path.read_text()]
    assert holders == []


def test_the_core_knows_no_python() -> None:
    for path in files("cpp/include/**/*.hpp", "cpp/kernels/*.*pp"):
        includes = re.findall(r'#include [<"]([^>"]+)', path.read_text())
        assert not [name for name in includes if re.match("pybind11|Python|numpy|bindings", name)]


def test_the_kernels_are_plain_cpp() -> None:
    for path in files("cpp/**/*.*pp"):
        text = path.read_text()
        assert not re.search(r"immintrin|arm_neon|_mm\d*_|target_clones|ffast-math", text), path
        assert not re.search(r"\babort\(|\bassert\(|std::cout|std::cerr|\bprintf\(", text), path


def test_bindings_take_arrays_from_one_header() -> None:
    """Only arrays.hpp names pybind11: it takes arrays strictly, in one way."""
    for path in files("cpp/bindings/*"):
        if path.name != "arrays.hpp":
            assert "#include <pybind11" not in path.read_text(), path


def test_nothing_is_refused_by_assert() -> None:
    """python -O removes it."""
    for path in files("python/leakscore/**/*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        assert not [node for node in nodes if isinstance(node, ast.Assert)], path


def test_every_module_lists_its_public_names() -> None:
    for room in ROOMS:
        module = getattr(leakscore, room)
        assert sorted(module.__all__) == module.__all__, room
        for name in module.__all__:
            assert hasattr(module, name), f"{room}.{name}"


@pytest.mark.parametrize("name", sorted(documented()))
def test_docstring_is_complete(name: str) -> None:
    value = documented()[name]
    doc = inspect.getdoc(value)
    assert doc, f"{name} has no docstring"
    sections = re.findall(r"^([A-Z][A-Za-z ]+)\n-{3,}$", doc, flags=re.M)
    if name in named():  # the methods of a class may share its example
        assert "Examples" in sections
        assert doctest.DocTestParser().get_examples(doc), f"{name} has no doctest"
    if inspect.isclass(value):
        return
    signature = inspect.signature(value)
    arguments = {argument for argument in signature.parameters if argument != "self"}
    if name in named() or arguments:
        assert arguments == _described(doc, "Parameters"), "Parameters are not the signature's"
    if arguments and signature.return_annotation not in (None, "None"):
        assert "Returns" in sections


def _described(doc: str, section: str) -> set[str]:
    """Return the arguments that a numpydoc section describes."""
    match = re.search(
        rf"^{section}\n-+\n(.*?)(?=\n\n[A-Z][A-Za-z ]+\n-+\n|\Z)", doc, flags=re.M | re.S
    )
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*?)(?: : .*)?$", match[1], flags=re.M) if match else []
    return {name.strip(" *") for head in heads for name in head.split(",")}


@pytest.mark.parametrize("name", sorted(public_functions()))
def test_every_argument_has_a_type(name: str) -> None:
    signature = inspect.signature(public_functions()[name])
    missing = [
        argument.name
        for argument in signature.parameters.values()
        if argument.annotation is argument.empty and argument.name not in ("self", "cls")
    ]
    assert missing == []
    assert signature.return_annotation is not signature.empty


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "module",
    [*modules(leakscore), *modules(leakscore_app)],
    ids=lambda module: module.__name__,
)
def test_doctests(module: ModuleType) -> None:
    if module.__name__ == "leakscore.torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    if module.__name__.startswith("leakscore.dask"):
        pytest.importorskip("dask.array", reason="dask is not installed")
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testmod(module, optionflags=flags)
    assert result.failed == 0
