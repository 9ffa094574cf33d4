"""Passes over a table on the workers of a cluster: the bits of one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakscore import single_threaded_blas
from leakscore.dask import cluster
from leakscore_app.passes.runner import M, Tree, run
from leakscore_app.tables.sources.blocks import Block, Source, Span

_BLOCKS = 16
"""Blocks of a task, at most: 1,048,576 rows, as a row group of parquet usually has."""
_TASKS = 2
"""Tasks a thread, at least, where the table is long enough."""


def run_on(
    client: Any,
    source: Source,
    measure: Callable[[Block], M],
    progress: Callable[[int], None] | None = None,
) -> M:
    """Return the merged result of a pass, as ``run(source, measure).result()`` does.

    Parameters
    ----------
    client : distributed.Client
    source : Source
        Its files must be at the same paths on every worker. A part that does not tell how many rows
        it has cannot be cut, and one with categories is in memory: then the pass runs in this
        process.
    measure : callable
        The result of a block; a pure function, which may run anywhere and twice.
    progress : callable, optional
        Called after each task with the rows that are done.
    """
    if source.rows is None or any(getattr(part, "codes", None) for part in source.parts):
        with single_threaded_blas():
            return run(source, measure, progress=progress).result()
    with cluster.told(client), client.as_current():
        cluster.check_workers(client)
        # A task of its own, so that a worker receives both once, and again if it dies.
        given = client.submit(_both, _absolute(source), measure, pure=False)
        spans = source.spans(_blocks(source, sum(client.nthreads().values())))
        futures = client.map(_span, spans, [given] * len(spans), pure=False)
        sizes = (span.last - span.first for span in spans)
        rows = dict(zip((future.key for future in futures), sizes, strict=True))
        tree: Tree[M] = Tree()
        done = 0
        for future in cluster.distributed().as_completed(futures):
            tree.merge(future.result())
            done += rows[future.key]
            future.release()
            if progress is not None:
                progress(done)
        return tree.result()


def _blocks(source: Source, threads: int) -> int:
    """Return how many blocks a task has; the bits do not depend on it."""
    total = -(-(source.rows or 0) // source.size)
    return max(1, min(_BLOCKS, total // (_TASKS * max(threads, 1))))


def _absolute(source: Source) -> Source:
    """Return a source whose files are found from any working directory."""
    parts: list[Any] = [*source.parts]
    for at, part in enumerate(parts):
        if hasattr(part, "path"):
            parts[at] = replace(part, path=str(Path(part.path).absolute()))
    return replace(source, parts=tuple(parts))


def _both(source: Source, measure: Any) -> tuple[Source, Any]:
    return source, measure


def _span(span: Span, given: tuple[Source, Callable[[Block], M]]) -> Tree[M]:
    source, measure = given
    path = getattr(source.parts[span.part], "path", None)
    if path is not None and not Path(path).exists():
        worker = cluster.distributed().get_worker().address
        raise ValueError(
            f"{source.parts[span.part].name} is not on the worker {worker}: every worker reads "
            f"{path} itself, so put it on a disk that all of them share"
        )
    with single_threaded_blas():
        return run(source, measure, span)
