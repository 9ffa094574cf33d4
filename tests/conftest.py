"""Settings of the whole suite: the same examples in every run, and one thread count per test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings
from mpmath import mp
from threadpoolctl import threadpool_limits

import leakscore
from leakscore import _core

# Beside other workers a BLAS that spreads small products over all cores waits more than it works.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for what tests start
    threadpool_limits(int(os.environ["OPENBLAS_NUM_THREADS"]), user_api="blas")

# Hypothesis draws the same examples every time; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_report_header() -> str:
    return (
        f"leakscore from {leakscore.__file__}, "
        f"ISA {leakscore.active_isa()} of {leakscore.supported_isas()}, "
        f"{leakscore.get_num_threads()} threads, numpy {np.__version__}"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need not run again on another ISA level."""
    for item in items:
        if "isa" in getattr(item, "fixturenames", ()):
            item.add_marker("every_isa")


@pytest.fixture(autouse=True)
def _restore_threads() -> Iterator[None]:
    """Give every test the number of threads it would have alone."""
    count = leakscore.get_num_threads()
    yield
    leakscore.set_num_threads(count)


@pytest.fixture(params=leakscore.supported_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test once on every ISA level of this machine."""
    before = leakscore.active_isa()
    _core.select_isa(request.param)
    yield request.param
    _core.select_isa(before)


@pytest.fixture
def digits() -> Iterator[None]:
    """Compute in mpmath with more digits than any double needs."""
    with mp.workdps(50):
        yield
