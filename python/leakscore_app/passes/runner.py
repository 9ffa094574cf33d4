"""Passes over a source, in this process or on a cluster; block numbers fix the order of merges.

Node (level, index) stands for the blocks [index 2^level, (index + 1) 2^level). Two neighbours are
merged as soon as both exist. At the end, nodes without a neighbour are merged from the last block
to the first. So floating-point sums have the same bits for any number of workers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from leakscore import single_threaded_blas
from leakscore.reference import Moments
from leakscore_app.tables.sources.blocks import Block, Source, Span

Progress: TypeAlias = Callable[[str, float], None]
_EXPECTED_PASSES = 5  # and games, for the displayed progress


class Mergeable(Protocol):
    """A result for a part of the blocks."""

    def merge(self: M, other: M) -> M:
        """Return the result for these blocks and those of `other`, which follow them."""


M = TypeVar("M", bound=Mergeable)


P = TypeVar("P", bound="Fieldwise")


class Fieldwise:
    """A result for a part of the blocks: a dataclass whose fields merge or add up."""

    def merge(self: P, other: P) -> P:
        """Add later blocks."""
        each: Any = self
        names = [field.name for field in fields(each)]
        return type(self)(*(_merge(getattr(self, name), getattr(other, name)) for name in names))


def _merge(ours: Any, more: Any) -> Any:
    if isinstance(ours, tuple):
        return tuple(_merge(a, b) for a, b in zip(ours, more, strict=True))
    if isinstance(ours, Moments):
        joined = copy.copy(ours)
        joined.merge(more)
        return joined
    return ours.merge(more) if hasattr(ours, "merge") else ours + more


class Tree(Generic[M]):
    """Merges results of blocks; each number may be added once, in any order.

    Examples
    --------
    >>> from leakscore_app.passes.runner import Tree
    >>> class Text(str):
    ...     def merge(self, other):
    ...         return Text(f"({self}{other})")
    >>> tree = Tree()
    >>> for number in (2, 0, 1, 4, 3):
    ...     tree.add(number, Text(number))
    >>> tree.result()
    '(((01)(23))4)'
    """

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int], M] = {}

    def add(self, number: int, result: M) -> None:
        """Add the result of a block."""
        self._place(0, number, result)

    def merge(self, other: Tree[M]) -> None:
        """Add the blocks of another tree."""
        for (level, index), result in other.nodes.items():
            self._place(level, index, result)

    def _place(self, level: int, index: int, result: M) -> None:
        while (level, index ^ 1) in self.nodes:
            neighbour = self.nodes.pop((level, index ^ 1))
            result = result.merge(neighbour) if index % 2 == 0 else neighbour.merge(result)
            level, index = level + 1, index // 2
        if (level, index) in self.nodes:
            raise ValueError(f"block {index << level} was added twice")
        self.nodes[level, index] = result

    def result(self) -> M:
        """Merge the remaining nodes, last ones first; refuse missing and repeated blocks."""
        ordered = sorted(self.nodes.items(), key=lambda node: node[0][1] << node[0][0])
        if not ordered:
            raise ValueError("no block was added")
        merged = 0
        for (level, index), _ in ordered:
            if index << level != merged:
                what = "is missing" if index << level > merged else "was added twice"
                raise ValueError(f"block {min(merged, index << level)} {what}")
            merged = (index + 1) << level
        *rest, (_, result) = ordered
        for _, node in reversed(rest):
            result = node.merge(result)
        return result


def run(
    source: Source,
    measure: Callable[[Block], M],
    span: Span | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tree[M]:
    """Return the results of one pass over a span, or over the whole source.

    Parameters
    ----------
    source : Source
    measure : callable
        The result of a block; a pure function, which may run anywhere and twice.
    span : Span, optional
    progress : callable, optional
        Called after each block with the number of finished rows.
    """
    tree: Tree[M] = Tree()
    done = 0
    for block in source.blocks(span):
        tree.add(block.number, measure(block))
        done += block.rows
        if progress is not None:
            progress(done)
    return tree


class Passes:
    """Runs passes one after another, and reports their progress.

    Parameters
    ----------
    progress : callable, optional
        Takes the name of the present step, and the finished share of all the work.
    client : distributed.Client, optional
        A cluster whose workers read the table; by default this process does.
    """

    def __init__(self, progress: Progress | None = None, client: Any = None) -> None:
        self.progress, self.client, self.done = progress, client, 0
        self.rows: int | None = None

    def __call__(self, source: Source, measure: Callable[..., Any], what: str) -> Any:
        """Return the merged result of a pass."""
        total = source.rows or self.rows
        name = f"pass {self.done + 1}, {what}"

        def show_rows(rows: int) -> None:
            self.rows = rows if total is None else self.rows
            share = f" of {total:,}" if total else ""
            self.say(f"{name}: {rows:,}{share} records", rows / total if total else 0.0)

        result = self._run(source, measure, show_rows if self.progress else None)
        self.done += 1
        return result

    def _run(self, source: Source, measure: Callable[..., Any], progress: Any) -> Any:
        if self.client is not None:
            return run_on(self.client, source, measure, progress)
        with single_threaded_blas():
            return run(source, measure, progress=progress).result()

    def say(self, what: str, share: float = 0.0) -> None:
        """Report the present step, and its finished share."""
        if self.progress is not None:
            self.progress(what, min((self.done + share) / _EXPECTED_PASSES, 0.99))

    def step(self, what: str) -> None:
        """Report a step without a pass, and count it as finished."""
        self.say(what)
        self.done += 1


# --- on a cluster ---------------------------------------------------------------------------------

_BLOCKS = 16
"""Blocks of a task, at most: 1,048,576 rows, the usual size of a row group in parquet."""
_TASKS = 2
"""Tasks for each thread, at least, if the table is long enough."""


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
        Its files must be at the same paths on every worker. The pass runs in this process if a part
        has an unknown number of rows, which cannot be cut, or has categories, which are in memory.
    measure : callable
        The result of a block; a pure function, which may run anywhere and twice.
    progress : callable, optional
        Called after each task with the number of finished rows.
    """
    from leakscore.dask import cluster

    if source.rows is None or any(getattr(part, "codes", None) for part in source.parts):
        with single_threaded_blas():
            return run(source, measure, progress=progress).result()
    with cluster.explain_lost_cluster(client), client.as_current():
        cluster.check_workers(client)
        # One task for both: a worker receives them once, and its successor again if it dies.
        given = client.submit(_pair, _absolute(source), measure, pure=False)
        spans = source.spans(_blocks_per_task(source, sum(client.nthreads().values())))
        futures = client.map(_run_span, spans, [given] * len(spans), pure=False)
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


def _blocks_per_task(source: Source, threads: int) -> int:
    """Return the number of blocks of a task; the bits of results do not depend on it."""
    total = -(-(source.rows or 0) // source.size)
    return max(1, min(_BLOCKS, total // (_TASKS * max(threads, 1))))


def _absolute(source: Source) -> Source:
    """Return a source with absolute paths, which hold in any working directory."""
    parts: list[Any] = [*source.parts]
    for at, part in enumerate(parts):
        if hasattr(part, "path"):
            parts[at] = replace(part, path=str(Path(part.path).absolute()))
    return replace(source, parts=tuple(parts))


def _pair(source: Source, measure: Any) -> tuple[Source, Any]:
    return source, measure


def _run_span(span: Span, given: tuple[Source, Callable[[Block], M]]) -> Tree[M]:
    from leakscore.dask import cluster

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
