"""The cluster that dask runs tasks on: its start, its checks, and its failures in one line."""

from __future__ import annotations

import importlib
import importlib.metadata
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

_PATIENCE = "10s"
_NETWORKS = ("tcp", "tls", "ws", "wss", "ucx")
_LAST_PORT = 65_535
_CRITICAL = 50  # level of logging: errors of the cluster reach the user as ClusterError


class ClusterError(RuntimeError):
    """The cluster cannot do the work: it was lost, or its workers have another leakscore.

    Examples
    --------
    >>> from leakscore.dask import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """

    __module__ = "leakscore.dask"  # where users find it, also in a traceback


def dask() -> Any:
    """Return dask; without it the error says how to install it."""
    try:
        import dask.array
    except ImportError as problem:
        raise ImportError("leakscore.dask needs dask: pip install 'leakscore[dask]'") from problem
    return dask


def distributed() -> Any:
    """Return dask.distributed, which the extra installs, too."""
    return importlib.import_module("distributed")


def compute(*tasks: Any) -> tuple[Any, ...]:
    """Return the results of tasks, on workers of this version of leakscore."""
    with explain_lost_cluster():
        check_workers()
        return tuple(dask().compute(*tasks))


def persist(collection: Any) -> Any:
    """Return a computed collection whose parts stay on the workers."""
    with explain_lost_cluster():
        check_workers()
        persisted = dask().persist(collection)[0]
        if current() is not None:
            distributed().wait(persisted)
            for future in distributed().futures_of(persisted):
                if future.status != "finished":
                    future.result()  # raises the task's error
        return persisted


def current() -> Any:
    """Return the client that dask uses; None if there is none."""
    if "distributed" not in sys.modules:
        return None
    try:
        return distributed().default_client()
    except ValueError:
        return None


@contextmanager
def open_cluster(*, workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Yield a client of a cluster: new processes on this machine, or a running scheduler.

    Parameters
    ----------
    workers : int, optional
        Processes of one thread each; they end with the block.
    scheduler : str, optional
        Address of a scheduler, as ``tcp://host:8786``.
    """
    dask()
    module = distributed()
    if scheduler is None:
        with _interrupts_blocked():
            try:
                local = module.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=_CRITICAL,
                    env={"LEAKSCORE_NUM_THREADS": "1"},
                )
            except RuntimeError as problem:  # a worker that died before it was one
                raise ClusterError(
                    f"The {workers or 'local'} workers did not start ({problem}): they may lack "
                    "memory, or were ended; try again, or with fewer workers"
                ) from problem
        with local, module.Client(local, set_as_default=False) as client:
            yield client
        return
    _require_address(scheduler)
    try:
        client = module.Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise ClusterError(f"No dask scheduler answers at {scheduler}") from problem
    with client:
        yield client


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C; threads and processes that start in this context never receive it.

    A terminal sends it to the workers, too, and each would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _require_address(address: str) -> None:
    """Refuse an invalid address now: a client that fails with it prints a traceback later."""
    module = distributed()
    try:
        scheme, place = module.comm.parse_address(address)
        port = module.comm.addressing.parse_host_port(place)[1] if scheme in _NETWORKS else 1
        valid = scheme in module.comm.registry.backends and 1 <= port <= _LAST_PORT
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(f"scheduler={address!r} must be an address as tcp://host:8786")


def check_workers(client: Any = None) -> None:
    """Refuse workers with another version of leakscore, or none."""
    client = current() if client is None else client
    if client is None:
        return
    ours = importlib.metadata.version("leakscore")
    try:
        # A function of the standard library: a worker without leakscore has it, too.
        versions = client.run(importlib.metadata.version, "leakscore", on_error="return")
    except OSError as problem:
        raise _cluster_error(client, problem) from problem
    if not versions:
        raise ClusterError(f"There must be workers at {_address(client)}: the scheduler has none")
    for worker, version in versions.items():
        if version != ours:
            theirs = "none" if isinstance(version, BaseException) else version
            raise ClusterError(
                f"Workers must have leakscore {ours}: the one at {worker} has {theirs}"
            )


@contextmanager
def explain_lost_cluster(client: Any = None) -> Iterator[None]:
    """Turn the errors of a lost cluster into one line; errors of tasks pass unchanged."""
    try:
        yield
    except Exception as problem:
        client = current() if client is None else client
        if client is None or not _is_lost(problem):
            raise
        raise _cluster_error(client, problem) from problem


def _is_lost(problem: BaseException) -> bool:
    module = distributed()
    return isinstance(
        problem, (module.CancelledError, module.KilledWorker, module.comm.core.CommClosedError)
    )


def _cluster_error(client: Any, problem: BaseException) -> ClusterError:
    if type(problem).__name__ == "KilledWorker":
        why = "several workers died at the same task, perhaps for want of memory"
    else:
        why = "its scheduler does not answer"
    return ClusterError(f"The cluster at {_address(client)} was lost: {why}")


def _address(client: Any) -> str:
    return str(getattr(client.scheduler, "address", "an unknown address"))
