"""Mutated files, fed to the readers of ``leakscore report`` and ``leakscore audit``.

A file is read or refused: a refusal is a ValueError that names the file. No other exception, no
warning, no hang, and no more memory than the limit allows.
"""

from __future__ import annotations

import base64
import contextlib
import io
import signal
import tempfile
import threading
import tracemalloc
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app import Table, read_table
from leakscore_app.cli import main
from leakscore_app.tables import ReadingOptions
from tests.fuzz.mutations import mutated
from tests.fuzz.seed_files import SEEDS
from tests.helpers.parts import BinCounts, LoadedScores, Rounds, Samples, read_scores

LIMIT = 1 << 20
_SLACK = 4 << 20  # what the interpreter and its modules take beside
_SECONDS = 60

NAME = "fuzzed.data"
_POOLS: list[Any] = []  # what pyarrow made of a file may live longer than the attempt
_GROUPS = [files for files in SEEDS.values() if files]
_FILES = [data for group in _GROUPS for data in group]


def attempt(rng: np.random.Generator) -> None:
    """Make one bad file and read it; an AssertionError holds the file."""
    group = [files for files in SEEDS.values() if files][
        int(rng.integers(sum(map(bool, SEEDS.values()))))
    ]
    data = mutated(rng, group[int(rng.integers(len(group)))], _FILES)
    dialect: dict[str, Any] = {}
    if group is SEEDS["csv"] and rng.random() < 0.3:
        dialect = {
            "delimiter": [None, ",", ";", "space", "1", "\t"][int(rng.integers(6))],
            "decimal": [None, ",", "."][int(rng.integers(3))],
            "header": ["auto", "yes", "no"][int(rng.integers(3))],
        }
    whole = rng.random() < 0.03
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(data)
        try:
            check(str(path), dialect, whole=whole)
        except AssertionError as error:
            packed = base64.b85encode(zlib.compress(data)).decode()
            raise AssertionError(f"{error}\ndialect={dialect}, b85 of zlib: {packed}") from error


def check(path: str, dialect: dict[str, Any], *, whole: bool = False) -> None:
    """Read a file as a table and as scores; with `whole` by the command line, too."""
    table = outcome(lambda: read_table(path, **dialect, max_memory=LIMIT))
    if isinstance(table, ValueError) and "choose one with --key" in str(table):
        key = str(table).rpartition(": ")[2].partition(", ")[0]
        table = outcome(lambda: read_table(path, key=key, max_memory=LIMIT))
    if isinstance(table, Table):
        assert table.values.dtype == np.float64
        assert table.values.shape[1:] == (len(table.columns),)
        assert len(set(table.columns)) == len(table.columns)
        assert {*table.excluded, *table.refused} <= set(range(len(table.columns)))
        assert len(table.lines if table.lines is not None else table.values) == len(table.values)
    read = outcome(lambda: read_scores(path, options=ReadingOptions(**dialect), max_memory=LIMIT))
    if isinstance(read, LoadedScores):
        _check_scores(read.data)
    if whole:
        command(["report", path, "--rounds", "200"])
        command(["audit", path, "--only-method", "--method", "dkw"])


def _check_scores(data: Rounds | Samples | BinCounts) -> None:
    if isinstance(data, Rounds):
        assert data.scores.shape == data.member.shape == (data.scores.size,)
        assert data.member.dtype == bool
        assert not np.isnan(data.scores.astype(np.float64)).any()
    elif isinstance(data, Samples):
        for scores in (data.members, data.nonmembers):
            assert scores.ndim == 1
            assert scores.size
            assert not np.isnan(scores.astype(np.float64)).any()


def outcome(read: Callable[[], Any]) -> Any:
    """Return what was read, or the refusal; anything else is a finding."""
    tracemalloc.start()
    try:
        with _no_hang(), _arrow_peak() as arrow, warnings.catch_warnings():
            warnings.simplefilter("error")
            found = read()
    except Exception as error:
        if type(error) is not ValueError or NAME not in str(error):
            raise AssertionError(f"{type(error).__name__}: {error}") from error
        found = error
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 2 * LIMIT + _SLACK, f"{peak} bytes were taken"
    assert arrow() < 2 * LIMIT + _SLACK, f"pyarrow took {arrow()} bytes"
    return found


def command(arguments: list[str]) -> None:
    """Run the program: it ends with a code and, of an error, with one line."""
    out, error = io.StringIO(), io.StringIO()
    try:
        with (
            _no_hang(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(error),
        ):
            warnings.simplefilter("error")
            code = main([*arguments, "--max-memory", str(LIMIT)])
    except Exception as problem:
        raise AssertionError(f"{arguments[0]}: {type(problem).__name__}: {problem}") from problem
    lines = error.getvalue().splitlines()
    assert code in (0, 1), f"{arguments[0]}: exit code {code}"
    assert len(lines) == code, f"{arguments[0]}: {lines}"
    assert all(line.isprintable() for line in [*lines, *out.getvalue().splitlines()])


@contextlib.contextmanager
def _no_hang() -> Iterator[None]:
    """Fail after a minute, where signals can tell."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def late(*_: Any) -> None:
        raise AssertionError(f"not done after {_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _arrow_peak() -> Iterator[Callable[[], int]]:
    """Count the memory that pyarrow takes, which Python does not see."""
    try:
        import pyarrow as pa
    except ImportError:
        yield lambda: 0
        return
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    _POOLS.append(pool)
    pa.set_memory_pool(pool)
    try:
        yield lambda: pool.max_memory() or 0
    finally:
        pa.set_memory_pool(before)


@pytest.mark.parametrize("seed", range(8))
def test_mutated_files_are_read_or_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        attempt(rng)


@pytest.mark.parametrize("kind", sorted(SEEDS))
def test_good_files_are_read(tmp_path: Path, kind: str) -> None:
    """Otherwise the room would only try what is refused."""
    if not SEEDS[kind]:
        pytest.skip("pyarrow is not installed")
    path = tmp_path / NAME
    read = 0
    for data in SEEDS[kind]:
        path.write_bytes(data)
        check(str(path), {}, whole=True)
        for reader in (read_table, read_scores):
            read += not isinstance(outcome(lambda reader=reader: reader(str(path))), ValueError)
    assert read >= len(SEEDS[kind]) - 2
