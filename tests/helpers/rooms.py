"""The imports between modules of a package, with lazy imports and imports for types."""

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


def read(folder: Path) -> Package:
    """Parse every module below a package's folder."""
    files = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    imports = {module: set(_targets(folder.name, path, files)) for module, path in files.items()}
    return Package(folder.name, files, imports)


def _targets(package: str, path: Path, modules: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
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
