"""Which tests run which lines, and how long they take: kept below build/mutants."""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib
import json
import os
import re
import sys
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper, cache
from pathlib import Path
from typing import NoReturn

import coverage
import pytest

from mutation.sites import DEFINITIONS, Mutant, text_of

# Of a test that passes: its seconds, and of every file the lines it runs (or a header's changes).
Seen = tuple[float, dict[str, list[int]]]


@dataclass
class Tests:
    """The tests of a run, with what each touches."""

    root: Path
    folder: Path  # of the notes
    watched: set[str]  # modules of which the notes say which lines run
    seen: dict[str, Seen] = field(default_factory=dict)
    unwatched: list[str] = field(default_factory=list)  # files for which there was no time
    by_line: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    loaded: set[tuple[str, int]] = field(default_factory=set)  # lines that run at import

    def load(self, items: list[pytest.Item]) -> list[pytest.Item]:
        """Read what is noted of these tests; return those of files that changed since."""
        fresh: list[pytest.Item] = []
        for file, group in files_of(items).items():
            note = self.note(file)
            kept = json.loads(note.read_text()) if note.exists() else {"key": "", "tests": {}}
            if kept["key"] == self.key(file, kept["tests"]):
                self.take(kept["tests"])
            else:
                fresh += group
        return fresh

    def save(self, file: str, tests: dict[str, Seen]) -> None:
        """Note what the tests of a file touch."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.note(file).write_text(json.dumps({"key": self.key(file, tests), "tests": tests}))

    def take(self, tests: dict[str, Seen]) -> None:
        self.seen.update(tests)
        for test, (_, files) in tests.items():
            for file, lines in files.items():
                for line in lines:
                    self.by_line[file, line].add(test)

    def note(self, file: str) -> Path:
        return self.folder / f"{file.replace('/', '.')}.json"

    def key(self, file: str, tests: dict[str, Seen]) -> str:
        """Hash a test file and all that its tests touch."""
        digest = hashlib.sha256(repr(sorted(self.watched)).encode())
        for name in sorted({file, *(name for _, files in tests.values() for name in files)}):
            path = self.root / name
            digest.update(path.read_bytes() if path.exists() else b"")
        return digest.hexdigest()

    def of(self, mutant: Mutant) -> set[str]:
        """Find the tests that may see a mutant."""
        if mutant.names:
            return self.of_names(mutant)
        if mutant.number:
            return self.by_line.get((mutant.file, mutant.lines[0]), set())
        if self.runs_at_import(mutant):
            return self.of_file(mutant)
        return self.of_lines(mutant.file, range(mutant.lines[0], mutant.lines[1] + 1))

    def of_lines(self, file: str, lines: Iterable[int]) -> set[str]:
        return set().union(*(self.by_line.get((file, line), ()) for line in lines))

    def of_file(self, mutant: Mutant) -> set[str]:
        return {test for test, (_, files) in self.seen.items() if mutant.file in files}

    def runs_at_import(self, mutant: Mutant) -> bool:
        """Whether a module calls the changed function while it is loaded."""
        lines = range(mutant.lines[0], mutant.lines[1] + 1)
        return not mutant.names and any((mutant.file, line) in self.loaded for line in lines)

    def of_names(self, mutant: Mutant) -> set[str]:
        """Choose the tests that run a line with a name bound at import, or else any of its file.

        A name in the head of a function, as a default, is used where its body runs.
        """
        chosen = self.of_lines(mutant.file, body_at(text_of(self.root / mutant.file), mutant.line))
        names, done = list(mutant.names), set(mutant.names)
        touched = sorted({file for file, _ in self.by_line if file.endswith(".py")})
        while names:
            word = re.compile(rf"\b{re.escape(names.pop())}\b")
            for file in touched:
                text = text_of(self.root / file)
                for place, line in enumerate(text.splitlines(), 1):
                    if not word.search(line):
                        continue
                    chosen |= self.of_lines(file, (place, *body_at(text, place)))
                    bound = re.match(r"(_?[A-Z][A-Z_0-9]+)\s*[:=]", line)
                    if bound and bound[1] not in done:
                        done.add(bound[1])
                        names.append(bound[1])
        return chosen or self.of_file(mutant)


@cache
def heads(text: str) -> list[tuple[range, range]]:
    """Give the lines of each function's head, which run at import, and those of its body."""
    functions = [one for one in ast.walk(ast.parse(text)) if isinstance(one, DEFINITIONS[:2])]
    return [
        (range(one.lineno, body + 1), range(body, (one.end_lineno or body) + 1))
        for one in functions
        for body in [one.body[0].lineno]
    ]


def body_at(text: str, line: int) -> Iterable[int]:
    """Give the lines of the body of a function whose head has this line, or none."""
    return next((body for head, body in heads(text) if line in head), ())


def lines_at_import(root: Path, files: set[str]) -> set[tuple[str, int]]:
    """Watch which lines run while modules are loaded, in a fork that loads them again."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            forget("leakscore")
            paths = [str(root / file) for file in files]
            cover = coverage.Coverage(data_file=None, config_file=False, include=paths)
            cover.set_option("run:disable_warnings", ["no-data-collected"])
            cover.start()
            for file in sorted(files):
                importlib.import_module(module_of(file))
            cover.stop()
            data = cover.get_data()
            with os.fdopen(write, "w") as pipe:
                json.dump({file: data.lines(str(root / file)) or [] for file in files}, pipe)
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        found = json.load(pipe)
    os.waitpid(pid, 0)
    return {(file, line) for file, lines in found.items() for line in lines}


def module_of(file: str) -> str:
    name = Path(file).with_suffix("").parts[1:]
    return ".".join(name[:-1] if name[-1] == "__init__" else name)


def forget(*packages: str) -> None:
    """Let packages be loaded again, but for the compiled module."""
    for name in list(sys.modules):
        if name.partition(".")[0] in packages and name != "leakscore._core":
            del sys.modules[name]


def files_of(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """Group tests by file."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(item.nodeid.split("::")[0], []).append(item)
    return groups


Run = Callable[[pytest.Item, "pytest.Item | None"], bool]
Look = Callable[[list[pytest.Item]], dict[str, Seen]]
"""Runs the tests of a file, and returns what those that pass touch."""


def watch(tests: Tests, items: list[pytest.Item], look: Look, limits: tuple[int, float]) -> None:
    """Run the tests of each file in a fork, as many at once as there are jobs, until a time."""
    jobs, until = limits
    running: dict[int, str] = {}
    waiting = deque(files_of(items).items())
    while waiting or running:
        if waiting and len(running) < jobs and time.monotonic() < until:
            file, group = waiting.popleft()
            sys.stdout.flush()
            pid = os.fork()
            if not pid:
                watch_in_fork(tests, file, group, look)
            running[pid] = file
        elif running:
            pid, status = os.wait()
            file = running.pop(pid)
            if status:
                tests.unwatched.append(file)
            else:
                tests.take(json.loads(tests.note(file).read_text())["tests"])
        else:
            tests.unwatched += [file for file, _ in waiting]
            return


def watch_in_fork(tests: Tests, file: str, group: list[pytest.Item], look: Look) -> NoReturn:
    """Note what the tests of a file touch; a fork never comes back."""
    code = 1
    try:
        found = look(group)
        tests.save(file, found)
        seconds = sum(each for each, _ in found.values())
        print(f"{file}: {len(found)} of {len(group)} tests, {seconds:.0f} s", flush=True)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)


def covered_look(tests: Tests, run: Run) -> Look:
    """Watch Python code: coverage with a context for each test."""

    def look(group: list[pytest.Item]) -> dict[str, Seen]:
        cover = coverage.Coverage(
            data_file=None,
            config_file=False,
            include=[str(tests.root / file) for file in tests.watched],
        )
        cover.set_option("run:disable_warnings", ["no-data-collected"])
        seconds: dict[str, float] = {}
        cover.start()
        kept = caches()
        for item in group:
            for one in kept:
                one.cache_clear()
            cover.switch_context(item.nodeid)
            begun = time.process_time()
            if run(item, None):
                seconds[item.nodeid] = time.process_time() - begun
        cover.stop()
        found: dict[str, Seen] = {test: (each, {}) for test, each in seconds.items()}
        data = cover.get_data()
        for path in data.measured_files():
            name = str(Path(path).relative_to(tests.root))
            for line, contexts in data.contexts_by_lineno(path).items():
                for test in set(contexts) & seconds.keys():
                    found[test][1].setdefault(name, []).append(line)
        return found

    return look


def caches() -> list[_lru_cache_wrapper[object]]:
    """Find the caches: emptied before each test, so that it does its own work, as fixtures do."""
    return [
        cache
        for cache in gc.get_objects()
        if isinstance(cache, _lru_cache_wrapper)
        and str(cache.__module__).partition(".")[0] in ("leakscore", "tests")
    ]


def in_turn(group: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Every test with the one after it."""
    return zip(group, [*group[1:], None], strict=True)
