"""Threads and the ISA level: what the compiled core runs on; the command line's process."""

from __future__ import annotations

import os
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


def _is_command_line() -> bool:
    """Return whether this process is the program, `leakscore` or ``python -m leakscore``."""
    name = next(iter(getattr(sys, "argv", ())), "")
    if name == "-m":  # Python looks for the module
        return any(re.fullmatch(r"(-\w*m)?leakscore", word) for word in sys.orig_argv)
    return bool(re.fullmatch(r"(.*[/\\])?leakscore(\.\w+)?", name, re.DOTALL))  # pathlib is slow


def _prepare() -> None:
    """Set the command line's own process up, before numpy is loaded."""
    # Idle threads of OpenBLAS wait for work in a loop, 2^26 turns of it when they are made and
    # after each call: .2 s of CPU time of a command that loads scipy, on two cores.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


if _is_command_line():
    _prepare()

from leakscore import _core  # noqa: E402  (it loads numpy)

_MAX_THREADS = 1024


def _threads_from_environment() -> int:
    text = os.environ.get("LEAKSCORE_NUM_THREADS", "")
    if not text:
        return min(_available_cores(), _MAX_THREADS)
    if not (re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII) and 1 <= int(text) <= _MAX_THREADS):
        raise ValueError(
            f"LEAKSCORE_NUM_THREADS={text!r} must be an integer in [1, {_MAX_THREADS}]"
        )
    return int(text)


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(count: int) -> None:
    """Set how many threads a call may use, the calling one included.

    Results do not depend on it. It does not limit BLAS threads (see threadpoolctl for these).

    Parameters
    ----------
    count : int
        From 1 to 1024. The default is every core the process may run on, or the environment
        variable ``LEAKSCORE_NUM_THREADS``.

    Raises
    ------
    TypeError
        If `count` is not an integer.
    ValueError
        If `count` is not from 1 to 1024.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.set_num_threads(2)
    >>> leakscore.get_num_threads()
    2
    """
    from leakscore import validation  # here, as it is a third of the time of importing leakscore

    _core.set_num_threads(validation.count("count", count, low=1, high=_MAX_THREADS))


def get_num_threads() -> int:
    """Return how many threads a call may use.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()


def active_isa() -> str:
    """Return the instruction-set level whose kernels are in use.

    One of `supported_isas`: the best this CPU runs, unless the environment variable
    ``LEAKSCORE_ISA`` names another at import.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.active_isa() in leakscore.supported_isas()
    True
    """
    return _core.active_isa()


def supported_isas() -> list[str]:
    """Return the instruction-set levels that this build holds and this CPU runs, slowest first.

    ``v2``, ``v3`` and ``v4`` are the x86-64 microarchitecture levels; ``native`` is the only level
    on other processors.

    Examples
    --------
    >>> import leakscore
    >>> len(leakscore.supported_isas()) >= 1
    True
    """
    return _core.supported_isas()


@cache
def _controller() -> Any:
    """Return threadpoolctl's controller of BLAS threads, None if it is not installed."""
    try:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    except ImportError:
        return None
    import scipy.linalg.cython_blas  # noqa: F401  (its library must be there to be limited)

    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread within a block, if threadpoolctl is installed.

    On small blocks of rows, threads of BLAS wait for each other longer than they work.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import leakscore
    >>> with leakscore.single_threaded_blas():
    ...     leakscore.Reference([0.0], [4.0]).squared_mahalanobis([2.0])
    1.0
    """
    controller = _controller()
    limited: AbstractContextManager[Any] = nullcontext()
    return limited if controller is None else controller.limit(limits=1, user_api="blas")


def _configure() -> None:
    """Choose the kernels and the number of threads from the environment."""
    try:
        isa = os.environ.get("LEAKSCORE_ISA", "")
        _core.select_isa(isa.encode("utf-8", "backslashreplace").decode("utf-8"))
        _core.set_num_threads(_threads_from_environment())
    except (ValueError, RuntimeError) as error:
        if not _is_command_line():
            raise
        # The program has not started yet; its errors are one line here too.
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(error))
        raise SystemExit(f"leakscore: error: {line}") from None


_configure()
