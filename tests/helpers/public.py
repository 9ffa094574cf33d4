"""The public names, from `__all__`: tests of all public names include every new one."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import leakscore

ROOMS = [name for name in leakscore.__all__ if inspect.ismodule(getattr(leakscore, name))]


def modules(package: ModuleType) -> list[ModuleType]:
    """Return every module of an installed package."""
    found = [package]
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.name.rpartition(".")[2] not in ("_core", "__main__"):
            found.append(importlib.import_module(info.name))
    return found


def named() -> dict[str, Any]:
    """Return every public object but the modules, by its full name."""
    found = {}
    for owner in [leakscore, *(getattr(leakscore, room) for room in ROOMS)]:
        prefix = owner.__name__.removeprefix("leakscore").lstrip(".")
        for name in owner.__all__:
            value = getattr(owner, name)
            if not inspect.ismodule(value):
                found[f"{prefix}.{name}".lstrip(".")] = value
    return found


def _methods(owner: object) -> dict[str, Callable[..., Any]]:
    """Return the public methods that our own classes and the parts in their room define."""
    kind = owner if isinstance(owner, type) else type(owner)
    if not kind.__module__.startswith("leakscore"):
        return {}
    room = ".".join(kind.__module__.split(".")[:2])
    exported = getattr(importlib.import_module(room), "__all__", ())
    members = dict(vars(kind)) if kind is owner else vars(kind) | vars(owner)
    for part in kind.__mro__[1:]:  # a public part has its own entry
        if part.__module__.startswith(f"{room}.") and part.__name__ not in exported:
            members = vars(part) | members
    return {
        name: getattr(owner, name)
        for name, value in members.items()
        if not name.startswith("_") and inspect.isfunction(getattr(value, "__func__", value))
    }


def public_functions() -> dict[str, Callable[..., Any]]:
    """Return every public function and every public method of a public class."""
    found = {}
    for name, value in named().items():
        if inspect.isfunction(value):
            found[name] = value
        else:
            found |= {f"{name}.{method}": f for method, f in _methods(value).items()}
    return found


def documented() -> dict[str, Any]:
    """Return what needs a whole docstring with a doctest: public classes, functions and methods."""
    classes = {name: value for name, value in named().items() if inspect.isclass(value)}
    return classes | public_functions()


def epsilon_methods() -> set[str]:
    """Return the methods of `Audit.epsilon`, as its refusal of another lists them."""
    try:
        leakscore.audit.Audit([1.0], [0.0]).epsilon(method="none of them")
    except ValueError as refusal:
        if methods := set(re.findall(r"[\w-]+", str(refusal).partition("must be one of")[2])):
            return methods
    raise AssertionError
