"""Messages of the library name arguments, never options of the command, which says its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import leakscore

ROOT = Path(leakscore.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# Options of pip, and those that the plugin adds to pytest.
OTHERS = {"--index-url", "--privacy-rounds", "--privacy-seed"}


def texts(source: str) -> Iterator[str]:
    """Yield all texts of a module but its docstrings: a message may be made anywhere."""
    tree = ast.parse(source)
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in documents else None
        if isinstance(text, str):
            yield text


def options_in(source: str) -> set[str]:
    return {name for text in texts(source) for name in OPTION.findall(text)} - OTHERS


def test_an_option_in_a_message_is_seen() -> None:
    lines = [
        "def f(x):",
        '    """Say --this."""',
        '    why = f"{x}: pass --that"',
        "    return why",
    ]
    assert options_in("\n".join(lines)) == {"--that"}


def test_the_library_names_no_option() -> None:
    modules = sorted(ROOT.rglob("*.py"))
    assert len(modules) > 100
    named = {path.name: options_in(path.read_text("utf-8")) for path in modules}
    assert {name: options for name, options in named.items() if options} == {}
