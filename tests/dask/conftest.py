"""One cluster of two processes on this machine for all tests of this folder."""

from __future__ import annotations

import logging
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
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    words = {
        "processes": True,
        "dashboard_address": "127.0.0.1:0",
        "silence_logs": logging.CRITICAL,
    }
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **words) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
