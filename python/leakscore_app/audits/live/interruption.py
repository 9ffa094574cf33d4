"""Ctrl-C between two steps of work, not within one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let a short step of work end before Ctrl-C does: it is done whole, or not at all."""
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted; a handler that Python did not install cannot be put back.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)
