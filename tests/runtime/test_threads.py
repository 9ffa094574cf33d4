"""The number of threads: its default, its setters, and life after a fork."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import scores
from tests.runtime.test_isa import run_python

COUNT = "import leakscore; print(leakscore.get_num_threads())"


def test_default_is_every_core_the_process_may_use() -> None:
    expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for unset in (None, ""):
        done = run_python(COUNT, LEAKSCORE_NUM_THREADS=unset)
        assert done.stdout.split() == [str(expected)]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity on this system")
def test_default_respects_the_cpu_affinity() -> None:
    code = f"import os; os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}}); {COUNT}"
    assert run_python(code, LEAKSCORE_NUM_THREADS=None).stdout.split() == ["1"]


@pytest.mark.parametrize("text", ["1", "3", " 2 "])
def test_environment_sets_the_count(text: str) -> None:
    assert run_python(COUNT, LEAKSCORE_NUM_THREADS=text).stdout.split() == [text.strip()]


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1025", "9" * 30])
def test_environment_refuses_what_is_not_a_count(text: str) -> None:
    done = run_python(COUNT, LEAKSCORE_NUM_THREADS=text)
    assert done.returncode != 0
    last_line = done.stderr.strip().splitlines()[-1]
    assert last_line.startswith(f"ValueError: LEAKSCORE_NUM_THREADS={text!r}")
    assert "[1, 1024]" in last_line


@pytest.mark.parametrize("count", [1, 2, 1024, np.int32(3)])
def test_set_and_get(count: int) -> None:
    leakscore.set_num_threads(count)
    assert leakscore.get_num_threads() == count


@pytest.mark.parametrize("count", [0, -1, 1025, 2**70])
def test_refuses_counts_out_of_range(count: int) -> None:
    before = leakscore.get_num_threads()
    with pytest.raises(ValueError, match=rf"count={count} must be in \[1, 1024\]"):
        leakscore.set_num_threads(count)
    assert leakscore.get_num_threads() == before


@pytest.mark.parametrize("count", [True, 1.0, "2", None, np.array([2, 3])])
def test_refuses_what_is_not_an_integer(count: Any) -> None:
    with pytest.raises(TypeError, match="count="):
        leakscore.set_num_threads(count)


def _scores(seed: int = 0) -> list[float]:
    """Work that takes several blocks of the pool, at the number of threads in force."""
    observed = np.random.default_rng(seed).normal(size=(200, 4096))
    return scores.scalar_product(observed, observed[0], observed[1]).tolist()


can_fork = pytest.mark.skipif(
    sys.platform != "linux" or "TSAN_OPTIONS" in os.environ,
    reason="fork is safe with numpy on Linux only, and ThreadSanitizer knows no threads after it",
)
may_warn = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@can_fork
@may_warn
def test_pool_works_in_forked_children() -> None:
    leakscore.set_num_threads(4)
    expected = _scores()
    with multiprocessing.get_context("fork").Pool(3) as workers:
        assert workers.map_async(_scores, [0] * 6).get(timeout=60) == [expected] * 6
    assert _scores() == expected


@can_fork
@may_warn
def test_fork_while_another_thread_is_inside_the_pool() -> None:
    leakscore.set_num_threads(4)
    expected = _scores()
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            _scores()

    other = threading.Thread(target=keep_busy)
    other.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # a child that waits for ever is ended and counts as failed
                os._exit(0 if _scores() == expected else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        other.join()


def test_concurrent_callers_get_the_same_numbers() -> None:
    leakscore.set_num_threads(4)
    expected = [_scores(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(_scores, [0, 1, 2, 3] * 5)) == expected * 5
