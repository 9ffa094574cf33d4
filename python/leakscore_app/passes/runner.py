"""Passes over a source, here or on a cluster: blocks are merged in an order their numbers fix.

Node (level, index) stands for the blocks [index 2^level, (index + 1) 2^level). Two neighbours are
merged as soon as both are there, and what has no neighbour at the end is merged from the last block
to the first. Floating-point sums then have the same bits for any number of workers.
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
_EXPECTED = 5  # passes and games, for the share that is done


class Mergeable(Protocol):
    """What is known of some blocks."""

    def merge(self: M, other: M) -> M:
        """Return what is known of these blocks and of `other`, which follow them."""


M = TypeVar("M", bound=Mergeable)


P = TypeVar("P", bound="Fieldwise")


class Fieldwise:
    """What is known of some blocks, part by part: a dataclass whose fields merge or add up."""

    def merge(self: P, other: P) -> P:
        """Add later blocks."""
        each: Any = self
        names = [field.name for field in fields(each)]
        return type(self)(*(_both(getattr(self, name), getattr(other, name)) for name in names))


def _both(ours: Any, more: Any) -> Any:
    if isinstance(ours, tuple):
        return tuple(_both(a, b) for a, b in zip(ours, more, strict=True))
    if isinstance(ours, Moments):
        joined = copy.copy(ours)
        joined.merge(more)
        return joined
    return ours.merge(more) if hasattr(ours, "merge") else ours + more


class Tree(Generic[M]):
    """Results of blocks; each number may be added once, in any order.

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
            beside = self.nodes.pop((level, index ^ 1))
            result = result.merge(beside) if index % 2 == 0 else beside.merge(result)
            level, index = level + 1, index // 2
        if (level, index) in self.nodes:
            raise ValueError(f"block {index << level} was added twice")
        self.nodes[level, index] = result

    def result(self) -> M:
        """Merge what is left, the later, smaller nodes first; refuse lost and repeated blocks."""
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
        Called after each block with the rows that are done.
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
    """Runs one pass after another; says before and during each what is done.

    Parameters
    ----------
    progress : callable, optional
        Takes what is done, and the share of all the work that is done already.
    client : distributed.Client, optional
        Of the cluster whose workers read the table; otherwise this process does.
    """

    def __init__(self, progress: Progress | None = None, client: Any = None) -> None:
        self.progress, self.client, self.done = progress, client, 0
        self.rows: int | None = None

    def __call__(self, source: Source, measure: Callable[..., Any], what: str) -> Any:
        """Return the merged result of a pass."""
        total = source.rows or self.rows
        name = f"pass {self.done + 1}, {what}"

        def told(rows: int) -> None:
            self.rows = rows if total is None else self.rows
            of = f" of {total:,}" if total else ""
            self.say(f"{name}: {rows:,}{of} records", rows / total if total else 0.0)

        result = self._run(source, measure, told if self.progress else None)
        self.done += 1
        return result

    def _run(self, source: Source, measure: Callable[..., Any], progress: Any) -> Any:
        if self.client is not None:
            return run_on(self.client, source, measure, progress)
        with single_threaded_blas():
            return run(source, measure, progress=progress).result()

    def say(self, what: str, share: float = 0.0) -> None:
        """Tell what is done now, and the share of the present step that is done."""
        if self.progress is not None:
            self.progress(what, min((self.done + share) / _EXPECTED, 0.99))

    def step(self, what: str) -> None:
        """Tell what is done now, in one step without a pass."""
        self.say(what)
        self.done += 1


# --- on a cluster ---------------------------------------------------------------------------------

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
    from leakscore.dask import cluster

    if source.rows is None or any(getattr(part, "codes", None) for part in source.parts):
        with single_threaded_blas():
            return run(source, measure, progress=progress).result()
    with cluster.told(client), client.as_current():
        cluster.check_workers(client)
        # A task of its own, so that a worker receives both once, and again if it dies.
        given = client.submit(_pair, _absolute(source), measure, pure=False)
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


def _pair(source: Source, measure: Any) -> tuple[Source, Any]:
    return source, measure


def _span(span: Span, given: tuple[Source, Callable[[Block], M]]) -> Tree[M]:
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
