"""A pytest plugin that tries mutants: each in a fork of one process that has loaded all tests."""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import NoReturn

import pytest

from mutation.schemata import compiled_look, switch_on
from mutation.sites import DEFINITIONS, Mutant, text_of
from mutation.touched import (
    Tests,
    caches,
    covered_look,
    forget,
    in_turn,
    lines_at_import,
    module_of,
    watch,
)

QUICK = 3.0  # seconds of tests of every mutant; those of what survives run after all have had these
QUIET = [
    "--assert=plain",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:terminal",
    "-p",
    "no:faulthandler",
    "-o",
    "tmp_path_retention_policy=none",
]
QUIET += ["-W", "ignore:Module already imported", "-o", "addopts=", "-m", "not slow"]
MEMORY = 8 << 30  # bytes of a fork


class Trial:
    """Watch the tests, then try the mutants and count what becomes of them."""

    def __init__(
        self,
        root: Path,
        mutants: list[Mutant],
        jobs: int,
        until: float,
        each: float,  # seconds of tests of one mutant; the longest are left out
        built: dict[int, Mutant],  # all that a build of C++ holds, by number
        again: bool,  # try those, too, that an earlier run has killed
        watched: set[str],  # modules in which is noted what a test runs: a later run may try them
    ) -> None:
        self.root, self.jobs, self.until, self.each = root, jobs, until, each
        self.mutants = sorted(mutants, key=lambda one: bool(one.names))  # these take longest
        self.built = built
        self.failed = False
        self.outcomes: dict[str, Counter[str]] = defaultdict(Counter)  # of each file
        self.survivors: list[tuple[Mutant, str]] = []
        self.again, self.watched = again, watched
        self.keys: dict[Mutant, str] = {}
        self.passed: dict[Mutant, set[str]] = {}  # of what survived the quick tests
        # By test, of each file ("") and of each of its functions.
        self.tries: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.kills: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.direct: dict[str, set[str]] = {}
        self.doubted: set[str] = set()  # tests that fail alone, without a mutant
        self.trusted: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def run(self, item: pytest.Item, later: pytest.Item | None) -> bool:
        """Run a test, and return whether it passed."""
        self.failed = False
        item.ihook.pytest_runtest_protocol(item=item, nextitem=later)
        return not self.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        folder = self.root / "build" / "mutants" / ("cpp" if self.built else "python")
        self.tests = Tests(self.root, folder, self.watched)
        now = time.monotonic()
        half = now + 0.5 * (self.until - now)
        self.items = {item.nodeid: item for item in session.items}
        import_all({self.root / one.file for one in self.mutants})
        fresh = self.tests.load(self.by_name(session.items))
        if self.built:
            look = compiled_look(self.run, self.built)
        else:
            look = covered_look(self.tests, self.run)
            self.tests.loaded = lines_at_import(self.root, {one.file for one in self.mutants})
        watch(self.tests, fresh, look, (self.jobs, half))
        self.waiting = deque(self.kept_apart(folder / "killed.txt"))
        self.functions = live_functions({str(self.root / one.file) for one in self.mutants})
        if self.tests.unwatched:
            count = len(self.tests.unwatched)
            print(f"no time to watch {count} files of tests, the first {self.tests.unwatched[0]}")
        for each in caches():
            each.cache_clear()
        gc.collect()
        gc.freeze()  # no fork walks through, and so copies, what all share
        self.try_all()
        if self.doubted:
            print("not used, as they fail when they run alone:", *sorted(self.doubted), sep="\n  ")
        return True

    def kept_apart(self, killed: Path) -> list[Mutant]:
        """Count mutants that an earlier run killed, and return the others; both are kept there."""
        self.killed = killed
        for one in self.mutants:
            words = f"{one.file}\n{around(self.root, one)}\n{one.before} -> {one.after}\n{one.nth}"
            self.keys[one] = hashlib.sha256(words.encode()).hexdigest()[:24]
        before = set(killed.read_text().split()) if killed.exists() and not self.again else set()
        waiting = [one for one in self.mutants if self.keys[one] not in before]
        for one in self.mutants:
            self.outcomes[one.file]["killed"] += self.keys[one] in before
        return waiting

    def by_name(self, items: list[pytest.Item]) -> list[pytest.Item]:
        """Sort tests: first the files that name a module, as there may not be time for all."""
        names = {Path(one.file).stem.strip("_") for one in self.mutants}
        texts = {item.path: item.path.read_text("utf-8") for item in items}
        named = {path for path, text in texts.items() if any(name in text for name in names)}
        return sorted(items, key=lambda item: item.path not in named)

    def try_all(self) -> None:
        """Keep as many forks busy as there are jobs."""
        running: dict[int, tuple[Mutant, list[str], int]] = {}
        waiting = self.waiting
        while waiting or running:
            if waiting and len(running) < self.jobs and time.monotonic() < self.until:
                mutant = waiting.popleft()
                chosen = self.chosen(mutant)
                if not chosen:
                    self.survived(mutant)
                else:
                    pid, pipe = self.fork(mutant, chosen)
                    running[pid] = mutant, chosen, pipe
            elif running:
                pid, status = os.wait()
                self.judge(*running.pop(pid), status)
            else:
                for mutant in waiting:
                    if mutant in self.passed:
                        self.survived(mutant)
                    else:
                        self.outcomes[mutant.file]["not tried"] += 1
                return

    def chosen(self, mutant: Mutant) -> list[str]:
        """Choose tests, the most kills a second first: quick ones, and of a survivor all others."""
        direct, passed = self.importing(mutant.file), self.passed.get(mutant, set())
        (tries, kills), (tries_near, kills_near) = (
            (self.tries[mutant.file, place], self.kills[mutant.file, place])
            for place in ("", f"in {mutant.place}")
        )

        def price(test: str) -> float:
            seconds, files = self.tests.seen[test]  # tests of few modules see more
            likely = 1.0 if test.split("::")[0] in direct else 1.0 / len(files)
            likely = (kills[test] + likely) / (tries[test] + 1.0)
            likely = (kills_near[test] + 2.0 * likely) / (tries_near[test] + 2.0)
            return (0.005 + seconds) / likely

        usable = (self.tests.of(mutant) - passed - self.doubted) & self.items.keys()
        limit = self.each if mutant in self.passed else min(QUICK, self.each)
        chosen, total = [], sum(self.tests.seen[test][0] for test in passed)
        for test in sorted(sorted(usable), key=price):
            seconds = self.tests.seen[test][0]
            if total + seconds < limit or not (chosen or passed):
                chosen.append(test)
                total += seconds
        return chosen

    def importing(self, file: str) -> set[str]:
        """Find the files of tests that import a module's own names."""
        if file not in self.direct:
            words = "from {} import".format(".".join(Path(file).with_suffix("").parts[1:]))
            tests = {test.split("::")[0] for test in self.items}
            self.direct[file] = {test for test in tests if words in text_of(self.root / test)}
        return self.direct[file]

    def fork(self, mutant: Mutant | None, chosen: list[str]) -> tuple[int, int]:
        """Start a process that tries a mutant; its pipe tells which test fails."""
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(read)
            self.attempt(mutant, chosen, write)
        os.close(write)
        return pid, read

    def attempt(self, mutant: Mutant | None, chosen: list[str], pipe: int) -> NoReturn:
        """Run tests with a mutant up to the first that fails; a fork never comes back."""
        code = 3
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            items = [self.items[test] for test in chosen]
            if mutant is not None and mutant.number:
                switch_on(mutant)
            elif mutant is not None and not self.swap(mutant):
                limit = 30.0 + 10.0 * sum(self.tests.seen[test][0] for test in chosen)
                signal.setitimer(signal.ITIMER_PROF, limit)
                os._exit(at_import(self.root, mutant, chosen))
            code = 0
            for item, later in in_turn(items):
                limit = 1.0 + 10.0 * self.tests.seen[item.nodeid][0]  # CPU time
                signal.setitimer(signal.ITIMER_PROF, limit)
                signal.setitimer(signal.ITIMER_REAL, 20.0 * limit)
                if not self.run(item, later):
                    os.write(pipe, item.nodeid.encode())
                    code = 1
                    break
        except SyntaxError:
            code = 4
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)

    def judge(self, mutant: Mutant, chosen: list[str], pipe: int, status: int) -> None:
        """Count how a mutant ended; a test that stops one must pass alone without it."""
        with os.fdopen(pipe) as end:
            test = end.read()
        if os.WIFSIGNALED(status):
            late = os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF, signal.SIGKILL)
            self.count(mutant, "timed out" if late else "killed")
        elif os.WEXITSTATUS(status) == 0:
            self.note(mutant, chosen)
            self.passed.setdefault(mutant, set()).update(chosen)
            self.waiting.append(mutant)  # to be tried with slower tests
        elif os.WEXITSTATUS(status) > 1:
            self.count(mutant, "no program" if os.WEXITSTATUS(status) == 4 else "not run")
        elif test and not self.passes_alone(test):
            self.doubted.add(test)
            self.waiting.append(mutant)
        else:
            if test:
                self.note(mutant, chosen[: chosen.index(test) + 1], test)
            self.count(mutant, "killed")

    def note(self, mutant: Mutant, tried: list[str], killer: str = "") -> None:
        """Remember which tests saw a mutant of this function and file, and which did not."""
        for place in ("", f"in {mutant.place}"):
            self.tries[mutant.file, place].update(tried)
            self.kills[mutant.file, place].update([killer] if killer else [])

    def survived(self, mutant: Mutant) -> None:
        """Say how many tests did not see a mutant."""
        count, passed = len(self.tests.of(mutant)), len(self.passed.get(mutant, ()))
        more = f" of {count}" if count > passed else ""
        self.count(mutant, "survived", f"{passed}{more} tests" if passed else "no test runs it")

    def passes_alone(self, test: str) -> bool:
        if test not in self.trusted:
            pid, pipe = self.fork(None, [test])
            if os.waitpid(pid, 0)[1] == 0:
                self.trusted.add(test)
            os.close(pipe)
        return test in self.trusted

    def count(self, mutant: Mutant, outcome: str, why: str = "") -> None:
        if outcome == "survived" and self.tests.unwatched:
            outcome = "undecided"
        kind = "survived the quickest tests" if " of " in why else outcome
        self.outcomes[mutant.file][kind] += 1
        if outcome in ("killed", "timed out"):
            with self.killed.open("a") as file:
                print(self.keys[mutant], file=file)
        if outcome == "survived":
            self.survivors.append((mutant, why))
            print(f"{mutant}  ({why})", flush=True)

    def swap(self, mutant: Mutant) -> bool:
        """Give the functions of a module their changed code; False if it runs at import."""
        if mutant.names:
            return rebind(self.root, mutant)
        if self.tests.runs_at_import(mutant):
            return False
        path = str(self.root / mutant.file)
        changed: dict[tuple[str, int], CodeType] = {}
        parts = [compile(mutant.source(self.root), path, "exec", dont_inherit=True)]
        while parts:
            code = parts.pop()
            key = code.co_name, code.co_firstlineno
            if key in changed and "<" not in code.co_name:
                return False
            changed[key] = code
            parts += [one for one in code.co_consts if isinstance(one, CodeType)]
        for function in self.functions[path]:
            key = function.__code__.co_name, function.__code__.co_firstlineno
            if key not in changed or function.__code__ == changed[key]:
                continue
            if len(function.__code__.co_freevars) != len(changed[key].co_freevars):
                return False
            function.__code__ = changed[key]
        return True


def rebind(root: Path, mutant: Mutant) -> bool:
    """Give a private constant its changed value; False where something is made of it at import."""
    name = module_of(mutant.file)
    module = sys.modules.get(name)
    body = ast.parse(text_of(root / mutant.file)).body
    place = next(i for i, one in enumerate(body) if one.end_lineno >= mutant.line)
    bound = body[place]
    if not isinstance(bound, (ast.Assign, ast.AnnAssign)) or module is None:
        return False
    targets = bound.targets if isinstance(bound, ast.Assign) else [bound.target]
    names = {part.id for one in targets for part in ast.walk(one) if isinstance(part, ast.Name)}
    rest = body[:place] + body[place + 1 :]
    elsewhere = {part.id for part in at_top(rest) if isinstance(part, ast.Name)}
    copied = any(
        names & vars(other).keys()
        for title, other in list(sys.modules.items())
        if title != name and title.partition(".")[0] in ("leakscore", "tests")
    )
    if names & elsewhere or copied or not all(one.startswith("_") for one in names):
        return False
    changed = ast.parse(mutant.source(root)).body[place]
    exec(compile(ast.Module([changed], []), mutant.file, "exec"), vars(module))
    return True


def at_top(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    """Visit what runs when a module is imported, annotations included."""
    waiting: deque[ast.AST] = deque(nodes)
    while waiting:
        node = waiting.popleft()
        yield node
        inside = node.body if isinstance(node, (*DEFINITIONS,)) else ()
        inner = inside if isinstance(inside, (list, tuple)) else [inside]
        waiting.extend(one for one in ast.iter_child_nodes(node) if one not in inner)


def around(root: Path, mutant: Mutant) -> str:
    """Return what must stay as it is for a kill to count: a function, of C++ the whole file."""
    text = text_of(root / mutant.file)
    if mutant.number:
        return f"{mutant.line}\n{text}"
    for first, last in functions_of(text):
        if first <= mutant.line <= last:
            return "\n".join([str(mutant.line - first), *text.splitlines()[first - 1 : last]])
    return f"{mutant.line}\n{text}"


@cache
def functions_of(text: str) -> list[tuple[int, int]]:
    """Return first and last lines of all functions, the outer one before the inner."""
    nodes = [one for one in ast.walk(ast.parse(text)) if isinstance(one, DEFINITIONS[:2])]
    return [(one.lineno, one.end_lineno or one.lineno) for one in nodes]


def import_all(paths: set[Path]) -> None:
    """Import what functions import when they run, which would take each fork its time."""
    for path in paths:
        for node in ast.walk(ast.parse(text_of(path)) if path.suffix == ".py" else ast.Module()):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                with suppress(ImportError):
                    importlib.import_module(node.module)


def live_functions(paths: set[str]) -> dict[str, list[FunctionType]]:
    """Find the functions of modules, wherever they are kept."""
    found: dict[str, list[FunctionType]] = {path: [] for path in paths}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in found:
            found[one.__code__.co_filename].append(one)
    return found


class Changed(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Import one module from its changed text."""

    def __init__(self, root: Path, mutant: Mutant) -> None:
        self.path, self.text = str(root / mutant.file), mutant.source(root)
        self.name = module_of(mutant.file)

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_filename(self, name: str) -> str:
        return self.path

    def get_data(self, path: str) -> bytes:
        return self.text.encode()


class Order:
    """Choose and order the tests of a session inside a fork."""

    def __init__(self, chosen: list[str]) -> None:
        self.chosen = chosen

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        there = {item.nodeid: item for item in items}
        items[:] = [there[test] for test in self.chosen if test in there]


def at_import(root: Path, mutant: Mutant, chosen: list[str]) -> int:
    """Load library and tests again, one module of them changed, and run tests."""
    forget("leakscore", "tests")
    sys.meta_path.insert(0, Changed(root, mutant))
    files = sorted({test.split("::")[0] for test in chosen})
    code = pytest.main([*QUIET, "-x", *files], plugins=[Order(chosen)])
    return 3 if code == pytest.ExitCode.NO_TESTS_COLLECTED else min(1, int(code))
