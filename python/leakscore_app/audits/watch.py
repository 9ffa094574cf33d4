"""Rounds that come one after the other: evidence as it grows, until it suffices."""

from __future__ import annotations

import hashlib
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from leakscore.audit import Monitor
from leakscore.tradeoff import gaussian
from leakscore.typing import Doubles, Flags
from leakscore_app.audits.evidence import Evidence, State, WatchOptions, line, load, title
from leakscore_app.audits.rounds import LineStream, RoundParser, opened
from leakscore_app.audits.scores import Read, Samples, require_direction
from leakscore_app.tables.files import File

_BLOCK = 64  # lines between two looks
_GROWTH = 1.15  # rounds from one line of evidence to the next
_SECONDS = 10.0  # or this long, if there are new rounds
_SAVED = 1.0  # seconds between two states at least
_SHARE = 20.0  # and so many times those that the last one took

Show = Callable[[str], None]


def watch(path: str, options: WatchOptions, show: Show) -> Evidence:
    """Read rounds until the claim is refuted or none comes any more.

    Parameters
    ----------
    path : str
        A text file, which may grow; ``-`` is the standard input.
    options : WatchOptions
    show : callable
        Is given each line of evidence.

    Returns
    -------
    Evidence
        Also of what was counted when Ctrl-C came: then it says so.

    Raises
    ------
    ValueError
        If a line holds no round, the file became shorter or is another one than that of the state,
        or an option is out of its range.
    """
    if not options.idle >= 0.0:
        raise ValueError(f"idle={options.idle!r} must be in [0, inf]")
    begun = _fresh(options)
    with opened(path) as lines:
        if options.state is not None:
            begun = load(options.state, begun, grows=lines.grows)
        rows = RoundParser(lines.name, **options.form)
        return _Watch(options, lines, rows=rows, state=begun, show=show).run()


def _fresh(options: WatchOptions) -> State:
    """Return the state before the first round."""
    claimed, setting = options.claim, options.setting
    against: Any = None
    if claimed is not None:
        against = (claimed.epsilon, claimed.delta)
        if claimed.mu is not None:
            against = gaussian(claimed.mu)
    given: dict[str, Any] = {
        "confidence": options.confidence,
        "delta": options.delta,
        "design": "coins" if setting.random_bits else "pairs",
        "inclusion": options.inclusion,
    }
    monitor = Monitor(against, **given)
    # Without a claim nothing is compared with what separated scores would show: one value is least.
    perfect = Monitor(against, **given, epsilons=[1.0] if against is None else ())
    return State(monitor, perfect, 0, None, None, None, bool(options.lower_is_member), {})


class _Watch:
    """The loop, and what it knows between two blocks."""

    def __init__(
        self,
        options: WatchOptions,
        lines: LineStream,
        *,
        rows: RoundParser,
        state: State,
        show: Show,
    ) -> None:
        self.options, self.state, self.show = options, state, show
        self.lines, self.rows = lines, rows
        self.hash = hashlib.sha256()
        self.shown_rounds, self.shown_at, self.saved_at = 0, 0.0, time.monotonic()
        self.saving = 0.0
        self.warned: list[str] = []

    def run(self) -> Evidence:
        """Count until it suffices, and keep the state whatever happens."""
        interrupted = False
        try:
            if self.lines.grows and self.state.counted:
                self._skip()
            if not self._suffices():
                for block in self._blocks():
                    with undisturbed():
                        self._count(block)
                    if self._suffices():
                        break
        except KeyboardInterrupt:
            interrupted = True
        finally:
            self._save()
        if self.state.monitor.rounds > self.shown_rounds:
            self._show()
        notes = list(self.warned)
        if self.lines.grows and self.lines.unfinished and not self._suffices():
            notes.append(f"The last line of {self.lines.name} has no end and was not counted.")
        return Evidence(
            name=self.lines.name,
            format=self.rows.format,
            state=self.state,
            options=self.options,
            notes=tuple(notes),
            interrupted=interrupted,
        )

    def _skip(self) -> None:
        """Read again what a former run has counted: it must be the same."""
        data = self.lines.until_now(self.state.counted)
        self.hash.update(data)
        if self.hash.hexdigest() != self.state.sha256:
            raise ValueError(
                f"{self.lines.name} is another file than that of the state, or was changed: its "
                f"first {self.state.counted} bytes differ"
            )
        self.rows.resume(data)
        self._require_direction()

    def _blocks(self) -> Iterator[list[bytes]]:
        for lines in self.lines(self.options.idle):
            for start in range(0, len(lines), _BLOCK):
                yield lines[start : start + _BLOCK]

    def _count(self, block: list[bytes]) -> None:
        scores, member = self.rows(block)
        if self.rows.format:
            self._require_direction()
        rounds = self._update(scores, member)
        if rounds < scores.size:  # what follows the refutation is not counted
            block = block[: self.rows.places[rounds - 1] + 1]
        self.hash.update(b"".join(block))
        if self.lines.grows:
            self.state.counted += sum(map(len, block))
            self.state.sha256 = self.hash.hexdigest()
        now, rounds = time.monotonic(), self.state.monitor.rounds
        if now - self.saved_at >= max(_SAVED, _SHARE * self.saving):
            self._save()
        due = rounds >= _GROWTH * self.shown_rounds or now - self.shown_at >= _SECONDS
        if rounds > self.shown_rounds and due:
            self._show()

    def _update(self, scores: Doubles, member: Flags) -> int:
        """Count rounds until the claim is refuted; return how many these are."""
        state = self.state
        if not scores.size:
            return 0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rounds = self._bet(-scores if state.lower_is_member else scores, member)
        self.warned += [str(warning.message) for warning in caught]
        low, high = float(scores[:rounds].min()), float(scores[:rounds].max())
        state.least = low if state.least is None else min(state.least, low)
        state.most = high if state.most is None else max(state.most, high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # told already
            state.perfect.update(np.where(member[:rounds], 1.0, 0.0), member[:rounds])
        return rounds

    def _bet(self, scores: Doubles, member: Flags) -> int:
        """Look after each round, so that the end does not depend on how the lines came."""
        if self.options.claim is None:
            self.state.monitor.update(scores, member)
            return int(scores.size)
        for i in range(scores.size):
            self.state.monitor.update(scores[i : i + 1], member[i : i + 1])
            if self.state.monitor.refuted:
                return i + 1
        return int(scores.size)

    def _suffices(self) -> bool:
        return self.options.claim is not None and self.state.monitor.refuted

    def _require_direction(self) -> None:
        """Refuse a loss by its name, once, before a score of it counts."""
        if self.state.columns:
            return
        if self.options.lower_is_member is None:
            nothing = Samples(np.empty(0), np.empty(0))
            columns = self.rows.columns
            file = File(self.lines.name, b"")
            require_direction(
                Read((file,), self.rows.format, None, columns, "float64", nothing, ())
            )
        self.state.columns = dict(self.rows.columns)

    def _show(self) -> None:
        if not self.shown_rounds:
            self.show(title(self.options))
        self.show(line(self.state, self.options))
        self.shown_rounds, self.shown_at = self.state.monitor.rounds, time.monotonic()

    def _save(self) -> None:
        if self.options.state is not None:
            begun = time.monotonic()
            self.state.save(self.options.state)
            self.saving = time.monotonic() - begun
        self.saved_at = time.monotonic()


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
