"""Mutants of C++ headers, all in one build: a number chooses the one that is alive.

An expression a + b becomes (mutant(7) ? (a - b) : mutant(8) ? (a) : (a + b)), and `mutant` notes
that it ran: which tests reach which change is known exactly. What must be constant when it is
compiled stays as it is (constants are changed where they are used).
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pytest
import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from mutation.sites import COMPARISONS, SWAPS, TINY, Mutant
from mutation.touched import Look, Run, Seen, caches

HEADER = """#pragma once
extern "C" {
inline __attribute__((visibility("default"))) int leakscore_mutant = 0;
inline __attribute__((visibility("default"))) unsigned char leakscore_reached[%d] = {};
}
inline bool mutant(int number) {
  if (!leakscore_reached[number]) leakscore_reached[number] = 1;
  return leakscore_mutant == number;
}
"""
CONSTANT = {"static_assert_declaration", "template_argument_list", "enumerator", "attribute"}
CONSTANT |= {"preproc_include", "preproc_def", "preproc_if", "template_parameter_list"}
CONSTANT |= {"array_declarator", "requires_clause", "comment", "string_literal"}
FLOAT = re.compile(r"[.]|^0x.*p|^\d+e", re.IGNORECASE)


class Header:
    """The mutants of a header, and its text with all of them."""

    def __init__(self, root: Path, file: str, first: int) -> None:
        self.file, self.raw = file, (root / file).read_bytes()
        self.mutants: list[Mutant] = []
        self.first = first
        self.constants: list[tuple[str, str, Node]] = []  # name, value, and where it holds
        tree = Parser(Language(tree_sitter_cpp.language())).parse(self.raw)
        self.choices: dict[tuple[int, int, str], list[Mutant]] = {}
        self.find(tree.root_node)
        self.tree = tree

    def find(self, node: Node) -> None:
        """Visit what is computed when the program runs."""
        if node.type in CONSTANT or is_constant(node):
            declared = re.search(r"constexpr double (\w+) = ([^;]+);", self.text(node))
            if declared and node.parent and node.type == "declaration":
                self.constants.append((declared[1], declared[2], node.parent))
            return
        for after in self.changes(node):
            number = self.first + len(self.mutants)
            place = len(self.mutants)
            line = node.start_point[0] + 1
            shown = [" ".join(text.split()) for text in (self.text(node), after)]
            made = Mutant(self.file, line, *shown, (place, place), (0, 0, after))
            nth = 1 + sum(str(one) == str(made) for one in self.mutants)
            self.mutants.append(replace(made, number=number, nth=nth, place=self.function(node)))
            self.choices.setdefault((node.start_byte, node.end_byte, node.type), []).append(
                self.mutants[-1]
            )
        for child in node.named_children:
            self.find(child)

    def function(self, node: Node) -> str:
        """Name the outermost function around a node by its line."""
        place = ""
        while (around := node.parent) is not None:
            node, place = (
                around,
                str(around.start_point[0]) * (around.type == "function_definition") or place,
            )
        return place

    def text(self, node: Node | None) -> str:
        assert node is not None
        return re.sub(r"//.*", "", self.raw[node.start_byte : node.end_byte].decode())

    def changes(self, node: Node) -> Iterator[str]:
        """What may take the place of an expression."""
        text = self.text(node)
        parent = node.parent.type if node.parent else ""
        if node.type in ("true", "false"):
            yield "false" if node.type == "true" else "true"
        elif node.type == "number_literal" and FLOAT.search(text):
            yield from self.scaled(text, text)
        elif node.type == "number_literal" and parent not in ("initializer_list", "case_statement"):
            yield f"({text} + 1)"
            if text == "1":
                yield "0"
        elif node.type == "identifier" and parent != "qualified_identifier":
            for name, value, block in self.constants:
                if name == text and block.start_byte <= node.start_byte < block.end_byte:
                    yield from self.scaled(text, value)
        elif node.type == "unary_expression" and text.startswith("-"):
            yield text[1:]
        elif node.type in ("binary_expression", "assignment_expression"):
            yield from self.operations(node)
        elif node.type == "call_expression":
            yield from self.calls(node, text)

    def scaled(self, text: str, value: str) -> Iterator[str]:
        """Nothing and ten times as much of what bounds an error, twice as much of the rest."""
        plain = value.replace("'", "")
        hexadecimal = plain.startswith("0x")
        try:
            size = float.fromhex(plain) if hexadecimal else float(plain)
        except ValueError:
            size = 0.0 if "epsilon" in plain else 1.0
        if plain in ("0.0", "0."):
            yield "1.0"
        else:
            yield from ("0.0", f"10.0 * {text}") if size < TINY else (f"2.0 * {text}",)

    def operations(self, node: Node) -> Iterator[str]:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = self.text(node.child_by_field_name("operator"))
        a, b = self.text(left), self.text(right)
        for new in COMPARISONS.get(sign, ()):
            yield f"{a} {new} {b}"
        if sign in ("+", "-", "+=", "-="):
            yield f"{a} {sign.translate(str.maketrans('+-', '-+'))} {b}"
            yield a
        if sign == "+":
            yield b

    def calls(self, node: Node, text: str) -> Iterator[str]:
        function = self.text(node.child_by_field_name("function"))
        name = re.search(r"(\w+)(<[^()]*>)?$", function)
        arguments = list(node.child_by_field_name("arguments").named_children)
        if name and name[1] in SWAPS and function.startswith("std::"):
            start = name.start(1)
            yield text[:start] + SWAPS[name[1]] + text[start + len(name[1]) :]
        elif function == "std::nextafter" and len(arguments) == 2:
            yield self.text(arguments[0])
            yield f"{function}({self.text(arguments[0])}, -({self.text(arguments[1])}))"
        elif text.endswith("limits<double>::epsilon()"):
            yield from ("0.0", f"10.0 * {text}")

    def rewritten(self, dropped: set[int]) -> str:
        """Return the text of the header with all mutants but those that do not compile."""
        top = self.tree.root_node
        return self.raw[: top.start_byte].decode() + self.chosen(top, dropped)

    def chosen(self, node: Node, dropped: set[int]) -> str:
        text, place = "", node.start_byte
        for child in node.children:
            text += self.raw[place : child.start_byte].decode() + self.chosen(child, dropped)
            place = child.end_byte
        text += self.raw[place : node.end_byte].decode()
        made = self.choices.get((node.start_byte, node.end_byte, node.type), [])
        made = [one for one in made if one.number not in dropped]
        if not made:
            return text
        cases = [f"mutant({one.number}) ? ({' '.join(one.edit[2].split())}) : " for one in made]
        return f"({''.join(cases)}({text}))"


def is_constant(node: Node) -> bool:
    """Whether a declaration, a function or a condition is evaluated when it is compiled."""
    if node.type == "if_statement":
        return False
    return node.type in ("declaration", "function_definition", "field_declaration") and any(
        child.text == b"constexpr" for child in node.children
    )


class Build:
    """A copy of the C++ code with all mutants, and its compiled module."""

    def __init__(self, root: Path, files: list[str]) -> None:
        self.root, self.folder = root, root / "build" / "mutants"
        self.headers: list[Header] = []
        self.compiled: set[str] = set()  # headers without errors
        first = 1
        for file in files:
            self.headers.append(Header(root, file, first))
            first += len(self.headers[-1].mutants)
        self.count = first
        text = b"".join(header.raw for header in self.headers) + Path(__file__).read_bytes()
        self.note = self.folder / f"dropped-{hashlib.sha256(text).hexdigest()[:16]}.json"
        self.dropped = set(json.loads(self.note.read_text()) if self.note.exists() else ())

    @cached_property
    def mutants(self) -> dict[int, Mutant]:
        return {one.number: one for header in self.headers for one in header.mutants}

    def write(self) -> None:
        """Bring the copy up to date; files that are the same keep their times."""
        tree = self.folder / "tree"
        changed = {header.file: header.rewritten(self.dropped) for header in self.headers}
        sources = [self.root / "CMakeLists.txt"]
        sources += [
            path
            for top in ("cpp", "cmake")
            for path in (self.root / top).rglob("*")
            if path.is_file()
        ]
        texts = {str(path.relative_to(self.root)): path.read_text("utf-8") for path in sources}
        room = self.count // 1000 * 1000 + 1000  # all files include it: it seldom changes
        texts |= changed | {"mutant.hpp": HEADER % room}
        for name, text in texts.items():
            path = tree / name
            if not path.exists() or path.read_text("utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")

    def compile(self) -> Path:
        """Build the module; mutants on lines that do not compile are dropped."""
        import pybind11

        made, tree = self.folder / "cmake", self.folder / "tree"
        for attempt in range(12):
            self.write()
            configure = [
                *("cmake", "-S", str(tree), "-B", str(made), "-G", "Ninja"),
                *("-DCMAKE_BUILD_TYPE=Debug", "-DLEAKSCORE_WERROR=OFF"),
                f"-DCMAKE_CXX_FLAGS_DEBUG=-O1 -w -include {tree / 'mutant.hpp'}",
                f"-DPython_EXECUTABLE={sys.executable}",
                f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
            ]
            words = self.check() or self.command(configure)
            words = words or self.command(["cmake", "--build", str(made), "--target", "_core"])
            if not words:
                self.note.write_text(json.dumps(sorted(self.dropped)))
                return made / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
            if not self.drop(words, attempt):
                raise SystemExit(words[-5000:])
        raise SystemExit("the mutants do not compile")

    def check(self) -> str:
        """Look for errors in each header alone, which takes seconds, until it has none."""
        words = ""
        for header in [one for one in self.headers if one.file not in self.compiled]:
            flags = ["-std=c++20", "-fsyntax-only", "-w", "-x", "c++", "-include", "mutant.hpp"]
            errors = self.command(["g++", *flags, "-Icpp/include", "-Icpp", header.file])
            words += errors
            self.compiled |= set() if errors else {header.file}
        return words

    def command(self, words: list[str]) -> str:
        done = subprocess.run(words, cwd=self.folder / "tree", capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode else ""

    def drop(self, words: str, attempt: int) -> bool:
        """Leave out the mutants before an error, and at last all of its line."""
        before = len(self.dropped)
        for file, line, column in re.findall(r"(cpp/include/\S+?):(\d+):(\d+): error", words):
            text = (self.folder / "tree" / file).read_text("utf-8").splitlines()[int(line) - 1]
            text = text.encode()[: int(column)].decode(errors="ignore") if attempt < 8 else text
            numbers = [int(one) for one in re.findall(r"mutant\((\d+)\)", text)]
            self.dropped.update(numbers[-1:] if attempt < 8 else numbers)
        return len(self.dropped) > before or attempt == 7


def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(sys.modules["leakscore._core"].__file__))


def switch_on(mutant: Mutant) -> None:
    """Let one mutant live."""
    ctypes.c_int.in_dll(library(), "leakscore_mutant").value = mutant.number


def compiled_look(run: Run, mutants: dict[int, Mutant]) -> Look:
    """Watch compiled code, which notes itself what it reaches."""

    def look(group: list[pytest.Item]) -> dict[str, Seen]:
        reached = (ctypes.c_ubyte * (max(mutants) + 1)).in_dll(library(), "leakscore_reached")
        found: dict[str, Seen] = {}
        kept = caches()
        for item in group:
            for cache in kept:
                cache.cache_clear()
            ctypes.memset(reached, 0, len(reached))
            begun = time.process_time()
            if run(item, None):
                places: dict[str, list[int]] = {}
                for number in (i for i, one in enumerate(bytes(reached)) if one):
                    places.setdefault(mutants[number].file, []).append(mutants[number].lines[0])
                found[item.nodeid] = time.process_time() - begun, places
        return found

    return look
