"""What modules of a package take from each other: imports, lazy ones and those for types too,
and attributes that are private to the room that defines them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """The modules of a package by their dotted names below it, and what each imports of it."""

    name: str
    files: dict[str, Path]
    imports: dict[str, set[str]]
    names: dict[str, set[str]]
    """Dotted names that a module imports of other packages."""

    def folders(self) -> dict[str, list[str]]:
        """Names of the modules in each folder, `__init__` not counted."""
        made: dict[str, list[str]] = {}
        for module, path in self.files.items():
            if path.name != "__init__.py":
                made.setdefault(str(path.parent), []).append(module)
        return made

    def rooms(self) -> dict[str, set[str]]:
        """What each room imports of the others; each module at the root counts as a room."""
        made: dict[str, set[str]] = {}
        for module, targets in self.imports.items():
            room = _room(module)
            made.setdefault(room, set()).update(_room(target) for target in targets)
        return {room: targets - {room} for room, targets in made.items()}

    def trespasses(self) -> set[tuple[str, str]]:
        """Imports of a module that is private to another room."""
        return {
            (module, target)
            for module, targets in self.imports.items()
            for target in targets
            if _room(module) != _room(target)
            and any(part.startswith("_") for part in target.split(".")[1:])
        }


def _room(module: str) -> str:
    return module.partition(".")[0]


def private_uses(*packages: Package) -> set[tuple[str, str]]:
    """Uses (module, attribute) of a private attribute that only other rooms define.

    A room defines what its functions, its classes' fields and slots, and `self` are given. An
    attribute of `self` or `cls` is the room's. A name that two rooms define is taken for the
    user's; so is one that no room defines, as those of other libraries.
    """
    defined: dict[str, set[str]] = {}
    uses: list[tuple[str, str, str]] = []
    for package in packages:
        for module, path in package.files.items():
            room = f"{package.name}.{_room(module)}"
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                for name in _defines(node):
                    defined.setdefault(name, set()).add(room)
                if (
                    isinstance(node, ast.Attribute)
                    and _is_private(node.attr)
                    and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
                ):
                    uses.append((room, f"{package.name}.{module}", node.attr))
    return {(module, name) for room, module, name in uses if room not in defined.get(name, {room})}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in _NAMEDTUPLE


_NAMEDTUPLE = {"_replace", "_asdict", "_fields", "_make"}


def _defines(node: ast.AST) -> Iterator[str]:
    """Names of private attributes that a statement defines."""
    names: list[str] = []
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        names = [node.name]
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        names = [node.target.id]
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            names = [node.attr]
    elif isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "__slots__" for target in node.targets
    ):
        names = [str(part) for part in ast.literal_eval(node.value)]
    yield from filter(_is_private, names)


def not_public(user: Package, library: Package) -> set[tuple[str, str]]:
    """Names (module, name) that a package imports of a library whose `__all__` lacks them.

    The path of a public name has no part that begins with ``_``, and the module that is named
    lists it in `__all__`; modules and packages are public by their path alone.
    """
    listed = {
        module: set(ast.literal_eval(node.value))
        for module, path in library.files.items()
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
    }
    refused = set()
    for module, names in user.names.items():
        for name in names:
            first, _, rest = name.partition(".")
            if first != library.name or not rest:
                continue
            home, _, last = rest.rpartition(".")
            private = any(
                part.startswith("_") and part != "__version__" for part in rest.split(".")
            )
            if private or (rest not in library.files and last not in listed.get(home, set())):
                refused.add((module, name))
    return refused


def read(folder: Path) -> Package:
    """Parse every module below a package's folder."""
    files = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    imported = {module: set(_imported(path)) for module, path in files.items()}
    imports = {module: set(_targets(folder.name, imported[module], files)) for module in files}
    others = {
        module: {name for name in names if name.partition(".")[0] != folder.name}
        for module, names in imported.items()
    }
    return Package(folder.name, files, imports, others)


def _imported(path: Path) -> Iterator[str]:
    """Dotted names of all that a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _targets(package: str, names: set[str], modules: dict[str, Path]) -> Iterator[str]:
    """Modules of a package among imported names."""
    for name in names:
        first, _, rest = name.partition(".")
        if first != package:
            continue
        # The longest part that is a module; the rest is a name in it.
        while rest and rest not in modules:
            rest = rest.rpartition(".")[0]
        yield rest


def cycles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one node (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for target in sorted(arrows.get(node, ())):
            if target not in order:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], order[target])
        if low[node] == order[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(arrows):
        if node not in order:
            visit(node)
    return found
