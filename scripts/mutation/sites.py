"""Mutants of a Python module: each changes one token or term of it, as a text."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

# What takes the place of a name that is called, or of a direction given as a string.
SWAPS = {
    "min": "max",
    "minimum": "maximum",
    "fmin": "fmax",
    "argmin": "argmax",
    "floor": "ceil",
    "left": "right",
    "lower": "upper",
    "any": "all",
    "sf": "cdf",
    "logsf": "logcdf",
}
SWAPS |= {new: old for old, new in SWAPS.items()}
COMPARISONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<")}
COMPARISONS |= {"==": ("!=",), "!=": ("==",)}
TINY = 1e-6  # constants below bound an error: without it, and with ten times as much
# Arguments on which no number depends.
FLAGS = {"strict", "frozen", "eq", "repr", "slots", "order", "writeable"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@cache
def text_of(path: Path) -> str:
    """Read a file once: it may be edited while its mutants are tried."""
    return path.read_text("utf-8")


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the texts before and after, and the lines whose tests may see it."""

    file: str
    line: int
    before: str
    after: str
    lines: tuple[int, int]  # of the statement, up to the change
    edit: tuple[int, int, str]  # bytes from, to, and what takes their place
    names: tuple[str, ...] = ()  # bound by a statement that runs at import
    number: int = 0  # in the build of C++ mutants
    nth: int = 1  # of all that change this line in these words
    place: str = ""  # the function it is in: what kills one there is likely to kill the next

    def source(self, root: Path) -> str:
        """Return the whole text of the changed file."""
        raw = text_of(root / self.file).encode()
        start, stop, new = self.edit
        return (raw[:start] + new.encode() + raw[stop:]).decode()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before} -> {self.after}"


def number(text: str) -> tuple[str, ...]:
    """What takes the place of a numeric constant."""
    value = ast.literal_eval(text)
    if isinstance(value, int):
        return (str(value + 1), *(["0"] if value == 1 else []))
    if value == 0.0:
        return ("1.0",)
    return ("0.0", f"{10.0 * value!r}") if value < TINY else (f"{2.0 * value!r}",)


class Finder(ast.NodeVisitor):
    """The changes of a module, as positions and new texts."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.starts = [0]
        for line in text.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.raw = text.encode()
        self.mutants: list[Mutant] = []
        self.statement: ast.stmt | None = None
        self.alike: Counter[tuple[int, str, str]] = Counter()
        self.within: list[str] = []  # names of classes and functions
        self.depth = 0  # of functions
        self.names: tuple[str, ...] = ()

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends, in bytes."""
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return self.starts[first - 1] + begin, self.starts[last - 1] + end

    def add(self, node: ast.AST, start: int, stop: int, new: str, *, whole: bool = True) -> None:
        """Replace the bytes from start to stop, and show the node before and after."""
        old = self.raw[start:stop].decode()
        missing = old.count("\n") - new.count("\n")
        padded = new
        if missing > 0:  # later functions keep their lines
            padded = f"pass{chr(10) * missing}" if new == "pass" else f"({new}{chr(10) * missing})"
        begin, end = self.span(node) if whole else (start, stop)
        before = self.raw[begin:end].decode()
        after = self.raw[begin:start].decode() + new + self.raw[stop:end].decode()
        assert self.statement is not None
        lines = self.statement.lineno, node.end_lineno  # type: ignore[attr-defined]
        line = self.raw[:start].count(b"\n") + 1
        shown = [" ".join(one.split()) for one in (before, after)]
        names = () if self.depth else self.names
        edit, place = (start, stop, padded), ".".join(self.within)
        change = (line, shown[0], shown[1])
        self.alike[change] += 1
        made = Mutant(self.file, *change, lines, edit, names, nth=self.alike[change], place=place)
        self.mutants.append(made)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self.statement = node
        super().visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave messages alone."""

    visit_JoinedStr = visit_Import = visit_ImportFrom = visit_Raise  # type: ignore[assignment]

    def visit_Module(self, node: ast.Module) -> None:
        for one in node.body:
            targets = getattr(one, "targets", [getattr(one, "target", one)])
            self.names = tuple(
                part.id if isinstance(part, ast.Name) else part.name
                for target in targets
                for part in ast.walk(target)
                if isinstance(part, (ast.Name, *DEFINITIONS[:2], ast.ClassDef))
            )[:1]
            if self.names != ("__all__",):
                self.visit(one)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name == "__repr__" or (ast.get_docstring(node) or "").startswith("Warn "):
            return  # texts, and warnings
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.depth += 1
        self.within.append(node.name)
        for one in node.body:
            self.visit(one)
        self.within.pop()
        self.depth -= 1

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.within.append(node.name)
        self.generic_visit(node)
        self.within.pop()

    def visit_If(self, node: ast.If) -> None:
        """Leave ranges of public arguments alone, which tests/contract tries."""
        refuses = all(isinstance(one, (ast.Raise, ast.Assign)) for one in node.body)
        public = not any(name.startswith("_") for name in self.within)
        if not (refuses and isinstance(node.body[-1], ast.Raise) and public and not node.orelse):
            self.generic_visit(node)
        elif not is_range(node.test):
            self.visit(node.test)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and ast.unparse(node.annotation) != "TypeAlias":
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        begin, end = self.span(node)
        text = self.raw[begin:end].decode()
        if isinstance(node.value, bool):
            self.add(node, begin, end, str(not node.value))
        elif isinstance(node.value, (int, float)):
            for new in number(text.replace("_", "")):
                self.add(node, begin, end, new)
        elif isinstance(node.value, str) and node.value in SWAPS:
            self.add(node, begin, end, f'"{SWAPS[node.value]}"')

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        begin, _ = self.span(node)
        if isinstance(node.op, ast.USub):
            self.add(node, begin, begin + 1, "")
        elif isinstance(node.op, ast.Not):
            self.add(node, begin, begin + 3, "")
        self.generic_visit(node)

    def operator(self, left: ast.AST, right: ast.AST, pattern: str) -> re.Match[bytes] | None:
        """Find an operator between two operands."""
        start, stop = self.span(left)[1], self.span(right)[0]
        gap = re.sub(rb"#.*", lambda comment: b" " * len(comment[0]), self.raw[start:stop])
        return re.compile(pattern.encode()).search(b" " * start + gap)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, (ast.Add, ast.Sub)) and not has_text(node):
            place = self.operator(node.left, node.right, r"[+-]")
            assert place is not None
            begin, end = self.span(node)
            sign, middle = place[0].decode(), place.start()
            self.add(node, middle, middle + 1, "-" if sign == "+" else "+")
            self.add(node, begin, end, self.raw[begin:middle].decode().strip())
            if sign == "+":
                self.add(node, begin, end, self.raw[middle + 1 : end].decode().strip())
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.op, (ast.Add, ast.Sub)) and not has_text(node):
            place = self.operator(node.target, node.value, r"[+-]=")
            assert place is not None
            self.add(node, place.start(), place.end(), "-=" if place[0] == b"+=" else "+=")
            self.add(node, *self.span(node), "pass")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in FLAGS:
            self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, right in pairwise(operands):
            place = self.operator(left, right, r"[<>=!]=|[<>]")
            for new in COMPARISONS[place[0].decode()] if place else ():
                assert place is not None
                self.add(node, place.start(), place.end(), new)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function, (_, end) = node.func, self.span(node.func)
        name = getattr(function, "attr", getattr(function, "id", ""))
        if self.raw[slice(*self.span(function))].startswith(b"validation."):
            return  # ranges of arguments, which tests/contract tries
        if self.raw[slice(*self.span(function))] == b"warnings.warn":
            return
        if name in SWAPS:
            self.add(function, end - len(name), end, SWAPS[name])
        if name in ("nextafter", "logaddexp") and len(node.args) == 2:
            first, second = ((self.raw[slice(*self.span(one))].decode()) for one in node.args)
            self.add(node, *self.span(node), first)
            if name == "logaddexp":
                self.add(node, *self.span(node), second)
            elif second.endswith("inf"):
                self.add(node, *self.span(node.args[1]), f"-{second}".replace("--", ""))
        self.generic_visit(node)


def is_range(test: ast.expr) -> bool:
    """Whether a condition compares numbers or shapes with one another, and no curve or kind."""
    parts = list(ast.walk(test))
    named = any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)
    return not named and any(isinstance(part, ast.Compare) for part in parts)


def has_text(node: ast.AST) -> bool:
    """Whether a sum joins texts."""
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        or (isinstance(part, ast.BinOp) and has_text(part))
        for part in parts
    )


def mutants_of(root: Path, file: str) -> Iterator[Mutant]:
    """Make the mutants of a module."""
    text = text_of(root / file)
    finder = Finder(file, text)
    finder.visit(ast.parse(text))
    yield from finder.mutants
