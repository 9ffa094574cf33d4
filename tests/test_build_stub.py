"""The stub of the compiled core says what the built module holds: names, arguments, defaults."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np

import leakscore
from leakscore import _core

PACKAGE = Path(leakscore.__file__).parent
STUB = ast.parse((PACKAGE / "_core.pyi").read_text())

Signature = list[tuple[str, bool]]  # the arguments' names, and whether each has a default


def arguments_of(function: ast.FunctionDef) -> Signature:
    """Return the arguments as the caller sees them, `self` left out."""
    spec = function.args
    names = [argument.arg for argument in spec.posonlyargs + spec.args]
    optional = len(spec.defaults)
    found = [(name, index >= len(names) - optional) for index, name in enumerate(names)]
    keywords = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    found += [(argument.arg, default is not None) for argument, default in keywords]
    return [(name, default) for name, default in found if name != "self"]


def built_signatures(function: object) -> list[Signature]:
    """Return the signatures of all overloads from the line that pybind11 writes of each."""
    doc = function.__doc__ or ""
    lines = doc.splitlines()
    wanted = rf"(?:\d+\. )?({re.escape(function.__name__)}\(.*)"  # type: ignore[attr-defined]
    found = [match[1] for line in lines if (match := re.fullmatch(wanted, line.strip()))]
    if "Overloaded function." in lines:
        found = found[1:]
    signatures = []
    for line in found:
        # A default shown as <...> is no expression; only its being there counts.
        text = re.sub(r" = <[^>]*>", " = ...", line)
        (parsed,) = ast.parse(f"def {text}: ...").body
        assert isinstance(parsed, ast.FunctionDef)
        signatures.append(arguments_of(parsed))
    assert signatures, f"no signature in the docstring of {function!r}"
    return signatures


def stub_functions(body: list[ast.stmt]) -> dict[str, list[Signature]]:
    found: dict[str, list[Signature]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(arguments_of(node))
    return found


def public(names: object) -> set[str]:
    return {name for name in names if not name.startswith("_")}  # type: ignore[attr-defined]


def test_every_function_and_its_arguments() -> None:
    stub = stub_functions(STUB.body)
    is_function = {name for name in public(vars(_core)) if type(getattr(_core, name)) is BUILTIN}
    assert is_function == public(stub)
    for name in sorted(is_function):
        assert built_signatures(getattr(_core, name)) == stub[name], name


def test_every_ufunc_and_constant() -> None:
    annotated = {
        node.target.id: ast.unparse(node.annotation)
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    values = {
        name: value
        for name, value in vars(_core).items()
        if not name.startswith("_") and type(value) is not BUILTIN and not isinstance(value, type)
    }
    assert set(values) == {name for name in annotated if not name.startswith("_")} - {"TypeAlias"}
    for name, value in values.items():
        if isinstance(value, np.ufunc):
            assert annotated[name] in ("np.ufunc", "numpy.ufunc"), name


def test_every_class_and_its_methods() -> None:
    stub = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
    built = {name: value for name, value in vars(_core).items() if isinstance(value, type)}
    assert set(built) == set(stub)
    for name, value in built.items():
        methods = stub_functions(stub[name].body)
        members = public(vars(value))
        described = public(methods) | {
            node.target.id
            for node in stub[name].body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        assert members == described, name
        for method in public(methods):
            bound = vars(value)[method]
            if isinstance(bound, property):
                continue
            ours = [
                [argument for argument in signature if argument[0] != "self"]
                for signature in built_signatures(bound)
            ]
            assert ours == methods[method], f"{name}.{method}"


def test_the_stub_is_shipped_and_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


BUILTIN = type(len)


def test_the_comparison_notices_a_difference() -> None:
    (built,) = built_signatures(_core.select_isa)
    assert built == [("name", False)]
    for wrong in ("def f(): ...", "def f(isa): ...", "def f(name=''): ...", "def f(name, x): ..."):
        (parsed,) = ast.parse(wrong).body
        assert isinstance(parsed, ast.FunctionDef)
        assert arguments_of(parsed) != built
