"""BLAS on one thread: on a block, two of them wait for each other longer than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """Return what limits the threads of BLAS, None if it is not installed."""
    try:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    except ImportError:
        return None
    import scipy.linalg.cython_blas  # noqa: F401  (its library must be there to be limited)

    return ThreadpoolController()


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Limit BLAS to one thread, if threadpoolctl is installed."""
    controller = _controller()
    if controller is None:
        yield
        return
    with controller.limit(limits=1, user_api="blas"):
        yield
