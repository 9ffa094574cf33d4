"""Ctrl-C: long calls end within a second, nothing runs on, and the next call is right."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import leakscore
from leakscore import _core, distributions
from tests.helpers.long_calls import CALLS, NO_NOISE, RNG, Call, gaussian_llr, kolmogorov

# Seconds of work after the signal; on an idle machine there are 0.2. They are those of the CPU, as
# other processes may take most of its time. A sanitizer makes a block tens of times as long.
LIMIT = 40.0 if "san.so" in os.environ.get("LD_PRELOAD", "") else 2.0
STUCK = 50.0 + LIMIT  # seconds of the clock, for a call that waits without work


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Python's handler of Ctrl-C, in any environment of the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = leakscore.get_num_threads()
    leakscore.set_num_threads(request.param)
    yield request.param
    leakscore.set_num_threads(before)


class Signal:
    """A signal sent to this process by another thread after a while."""

    def __init__(self, after: float = 0.1, which: signal.Signals = signal.SIGINT) -> None:
        self._sent, self._worked = 0.0, 0.0
        self._which = which
        self._timer = threading.Timer(after, self._send)

    def _send(self) -> None:
        self._sent, self._worked = time.perf_counter(), time.process_time()
        os.kill(os.getpid(), self._which)

    def work_since(self) -> float:
        """Return the CPU time of this process since the signal, unless it was stuck."""
        worked = time.process_time() - self._worked
        assert self._sent
        assert time.perf_counter() - self._sent < STUCK
        return worked

    def __enter__(self) -> Signal:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.join()


def work_to_end(call: Call) -> float:
    """Return how much CPU time a call takes after Ctrl-C."""
    with Signal() as sent:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the signal has to arrive in here
            call()
            time.sleep(2.0 * STUCK)
        return sent.work_since()


@pytest.mark.parametrize("make", CALLS)
def test_a_long_call_ends_within_a_second(make: Callable[[], Call], threads: int) -> None:
    q = np.linspace(0, 1, 1001)
    before = distributions.kolmogorov.ppf(q, 50)
    assert work_to_end(make()) < LIMIT
    assert distributions.kolmogorov.ppf(q, 50).tobytes() == before.tobytes()


def test_nothing_runs_on(threads: int) -> None:
    work_to_end(kolmogorov())
    used = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - used < 0.2


def test_the_exception_is_that_of_the_handler(threads: int) -> None:
    class OutOfTimeError(Exception):
        pass

    def out_of_time(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, out_of_time)
    try:
        for call in (kolmogorov(), gaussian_llr()):
            with Signal(which=signal.SIGALRM) as sent, pytest.raises(OutOfTimeError):
                call()
            assert sent.work_since() < LIMIT
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_handler_that_returns_changes_nothing(threads: int) -> None:
    # It may use the library itself, at any place of a call.
    q, x = RNG.random(150_000), RNG.random((40, 3000))
    target, mean, variance = RNG.random((30, 3000)), np.zeros(3000), np.ones(3000)
    arguments = (x, target, mean, variance, NO_NOISE, 9.0, False)
    quantiles = distributions.kolmogorov.ppf(q, 100.0)
    expected = _core.gaussian_llr(*arguments)[0].tobytes()
    found = []

    def handle(*_: object) -> None:
        found.append(_core.gaussian_llr(*arguments)[0].tobytes())
        signal.setitimer(signal.ITIMER_REAL, 0.05)  # not before: it would be called within itself

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        again = distributions.kolmogorov.ppf(q, 100.0)
        for _ in range(20):
            assert _core.gaussian_llr(*arguments)[0].tobytes() == expected
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert again.tobytes() == quantiles.tobytes()
    assert found
    assert set(found) == {expected}


def test_other_threads_are_not_interrupted() -> None:
    q = RNG.random(100_000)
    expected = distributions.kolmogorov.ppf(q, 100.0)
    results = []
    worker = threading.Thread(
        target=lambda: results.extend(distributions.kolmogorov.ppf(q, 100.0) for _ in range(3))
    )
    with Signal(), pytest.raises(KeyboardInterrupt):  # noqa: PT012
        worker.start()
        time.sleep(60)
    worker.join()
    assert [result.tobytes() for result in results] == [expected.tobytes()] * 3


def test_a_forked_child_is_interrupted_too() -> None:
    call = kolmogorov()
    distributions.kolmogorov.ppf(np.full(200_000, 0.5), 100.0)  # the parent has a pool
    # From a thread: in the child it is the main one.
    status: list[int] = []
    forking = threading.Thread(target=lambda: status.append(_status_of_child(call)))
    forking.start()
    forking.join()
    assert status == [0]


def _status_of_child(call: Call) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(int(3.0 * STUCK))
        try:
            os._exit(0 if work_to_end(call) < LIMIT else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
