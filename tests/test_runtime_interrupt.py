"""Ctrl-C: long calls end within a second, nothing runs on, and the next call is right."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

import leakscore
from leakscore import _core, _dense, audit, distributions, games, scores

RNG = np.random.default_rng(0)
LIMIT = 2.0  # seconds; on an idle machine it is 0.2
NO_NOISE = np.zeros(1)
Call = Callable[[], object]


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Python's own handler of Ctrl-C, whatever the tests run under."""
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

    def __init__(self, after: float = 0.2, which: signal.Signals = signal.SIGINT) -> None:
        self.sent = 0.0
        self._which = which
        self._timer = threading.Timer(after, self._send)

    def _send(self) -> None:
        self.sent = time.perf_counter()
        os.kill(os.getpid(), self._which)

    def __enter__(self) -> Signal:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.join()


def seconds_to_end(call: Call, error: type[BaseException] = KeyboardInterrupt) -> float:
    """Return how long after Ctrl-C a call has ended."""
    with Signal() as sent, pytest.raises(error):  # noqa: PT012 - the signal has to arrive in here
        call()
        time.sleep(60)
    return time.perf_counter() - sent.sent


def many_rows(rows: int, cols: int, dtype: type = np.float64) -> npt.NDArray[np.float64]:
    """Return a large table that takes the memory of one row."""
    return np.broadcast_to(np.linspace(-1, 1, cols).astype(dtype), (rows, cols))


def kolmogorov(size: int = 3_000_000) -> Call:
    q = RNG.random(size)
    return lambda: distributions.kolmogorov.ppf(q, 100.0)


def kolmogorov_broadcast() -> Call:
    # numpy calls the loop for one row at a time
    q = RNG.random((2_000_000, 2))[:, :1]
    return lambda: distributions.kolmogorov.ppf(q, np.array([20.0, 100.0]))


def kolmogorov_where() -> Call:
    q, out = RNG.random(4_000_000), np.zeros(4_000_000)
    where = q > 0.1  # the loops are a few elements long
    return lambda: distributions.kolmogorov.ppf(q, 100.0, out=out, where=where)


def kolmogorov_cast() -> Call:
    q = RNG.random(3_000_000).astype(np.float16)  # through numpy's buffer
    return lambda: distributions.kolmogorov.ppf(q, 100)


def chi2() -> Call:
    q = RNG.random(15_000_000)
    return lambda: distributions.chi2.isf(q, 3.0)


def edgeworth() -> Call:
    q, cumulants = RNG.random(8_000_000), np.array([0.0, 1.0, 0.1, 0.1])
    return lambda: distributions.edgeworth.ppf(q, cumulants)


def gx2() -> Call:
    # one point
    weights = RNG.random(1_000_000)
    ones, zeros = np.ones(weights.size), np.zeros(weights.size)
    return lambda: _core.gx2_ppf(np.array([0.3]), weights, ones, zeros, 0.0, 0.0)


def clopper_pearson() -> Call:
    k = RNG.integers(0, 10_000, 10_000_000)
    return lambda: distributions.clopper_pearson(k, 10_000, 0.95)


def gaussian_llr() -> Call:
    x, (mean, variance) = many_rows(4_000_000, 5000), np.ones((2, 5000))
    return lambda: _core.gaussian_llr(x, x[:1], mean, variance, NO_NOISE, 100.0, False)


def gaussian_llr_of_many() -> Call:
    x, z = many_rows(2000, 500_000), many_rows(1000, 500_000)
    mean, variance = np.ones((2, 500_000))
    return lambda: _core.gaussian_llr(x, z, mean, variance, NO_NOISE, 100.0, False)


def bernoulli_llr() -> Call:
    x, z = np.full((70, 2000), 0.3), RNG.integers(0, 2, (60_000, 2000), dtype=np.uint8)
    p = np.full(2000, 0.4)
    return lambda: scores.bernoulli_llr(x, z, p)


def edgeworth_score() -> Call:
    x, z, law = many_rows(1000, 4096), many_rows(20_000, 4096), np.ones(4096)
    return lambda: _core.edgeworth_second(x, z, law, law, law, law, 1000.0)


def moments() -> Call:
    x = many_rows(10_000_000, 5000, np.float32)
    return lambda: _core.column_moments(x)


def scatter() -> Call:
    _dense._use_blas()
    x = many_rows(20_000, 6000)
    return lambda: _core.scatter(x, np.zeros(6000), False)


def cholesky() -> Call:
    _dense._use_blas()
    matrix = np.eye(6000)
    return lambda: _core.cholesky(matrix)


def solve() -> Call:
    _dense._use_blas()
    lower, rows = np.eye(5000), np.ones((5000, 5000))
    return lambda: _core.solve_rows(lower, rows)


def gram() -> Call:
    _dense._use_blas()
    x, unit = many_rows(6000, 60_000, np.float32), np.ones(60_000)
    return lambda: _core.gram(x, unit, unit, True)


def combine() -> Call:
    x, vectors = many_rows(1_000_000, 20_000), np.zeros((7, 20_000))
    return lambda: _core.combine(x, 0, vectors[0], np.ones((7, 1_000_000)), vectors)


def row_sums() -> Call:
    x, included = many_rows(1000, 50_000), np.zeros(2, np.bool_)
    key, out = np.zeros(2, np.uint64), np.zeros((2, 50_000))
    return lambda: _core.row_sums(key, 0, included, 1_000_000, True, x, -1, True, out)


def fixed_target() -> Call:
    population, target = games.Bernoulli(np.full(5000, 0.3)), np.ones(5000)
    return lambda: games.fixed_target(
        population, target, games.EmpiricalMean(100), 200_000, rng=0, score=lambda x: x[:, 0]
    )


def one_run() -> Call:
    return lambda: _core.one_run_epsilon(1e13, 1e13, 6e12, 1e-19, 0.05, 0.95, 20.0)


def sorted_bits() -> Call:
    return lambda: _core.sorted_bits_critical(10_000_000, 1e-9, 0.05, np.ones(1))


def critical_value() -> Call:
    return lambda: audit.critical_value(20_000, 0.9123, method="berk-jones")


def auc() -> Call:
    same = np.zeros(600_000_000, np.float32)  # pages that nobody writes take no memory
    return lambda: _core.score_auc(same, same)


CALLS = [
    *(kolmogorov, kolmogorov_broadcast, kolmogorov_where, kolmogorov_cast, chi2, edgeworth, gx2),
    *(clopper_pearson, gaussian_llr, gaussian_llr_of_many, bernoulli_llr, edgeworth_score),
    *(moments, scatter, cholesky, solve, gram, combine, row_sums, fixed_target, one_run),
    *(sorted_bits, critical_value, auc),
]


@pytest.mark.parametrize("make", CALLS)
def test_a_long_call_ends_within_a_second(make: Callable[[], Call], threads: int) -> None:
    q = np.linspace(0, 1, 1001)
    before = distributions.kolmogorov.ppf(q, 50)
    assert seconds_to_end(make()) < LIMIT
    assert distributions.kolmogorov.ppf(q, 50).tobytes() == before.tobytes()


def test_nothing_runs_on(threads: int) -> None:
    seconds_to_end(kolmogorov())
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
            start = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(OutOfTimeError):
                call()
            assert time.perf_counter() - start < LIMIT
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
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

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.05)
        again = distributions.kolmogorov.ppf(q, 100.0)
        for _ in range(50):
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

    def in_child() -> int:
        return 0 if seconds_to_end(call) < LIMIT else 1

    # From a thread: in the child it is the main one.
    status = []
    forking = threading.Thread(target=lambda: status.append(_status_of(in_child)))
    forking.start()
    forking.join()
    assert status == [0]


def _status_of(work: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os._exit(work())
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
