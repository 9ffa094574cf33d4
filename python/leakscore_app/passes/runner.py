"""Passes over a source, here or on a cluster, and how far they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from leakscore import single_threaded_blas
from leakscore_app.passes.tree import run
from leakscore_app.tables.sources.blocks import Source

Progress: TypeAlias = Callable[[str, float], None]
_EXPECTED = 5  # passes and games, for the share that is done


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
            from leakscore_app.passes.on_cluster import run_on

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
