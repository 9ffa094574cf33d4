"""One cluster of two processes on this machine for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _in_this_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compute without threads or workers where a test asks for no cluster."""
    if {"client", "scheduler"} & set(request.fixturenames):
        yield
        return
    dask = pytest.importorskip("dask", reason="dask is not installed")
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Start workers when the first test asks for them; one that is killed is started anew."""
    from leakscore.dask import cluster

    with cluster.opened(workers=2) as client:
        yield client
