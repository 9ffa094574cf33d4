"""A watched audit: rounds that come one after the other, until their evidence suffices.

What it counts is kept between two runs as one JSON object of numbers and of the bytes of monitors,
which are checked; nothing in it is run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from leakscore.audit import Monitor
from leakscore.tradeoff import gaussian
from leakscore.typing import Doubles, Flags
from leakscore_app.audits import words
from leakscore_app.audits.model import Claim, Setting
from leakscore_app.audits.rounds import LineStream, RoundParser, opened
from leakscore_app.audits.scores import Read, Samples, require_direction
from leakscore_app.document import Check
from leakscore_app.document import document as doc
from leakscore_app.document.document import Findings
from leakscore_app.tables import files, outputs

_BLOCK = 64  # lines between two looks
_GROWTH = 1.15  # rounds from one line of evidence to the next
_SECONDS = 10.0  # or this long, if there are new rounds
_SAVED = 1.0  # seconds between two states at least
_SHARE = 20.0  # and so many times those that the last one took: long histories are tens of MB

Show = Callable[[str], None]


@dataclass(frozen=True)
class WatchOptions:
    """How rounds are read and what is held against them.

    Attributes
    ----------
    form : dict
        score, member, delimiter and decimal of the file, or None.
    lower_is_member : bool or None
        Whether small scores speak for a member.
    claim : Claim or None
    delta, confidence : float
    inclusion : float
        Probability with which a coin says member.
    setting : Setting
        `random_bits`: memberships are coins; otherwise rounds are paired.
    idle : float
        Seconds without a round after which a file is taken to be at its end.
    state : str or None
        Where to keep what is counted.
    """

    form: Mapping[str, str | None]
    lower_is_member: bool | None
    claim: Claim | None
    delta: float
    confidence: float
    inclusion: float
    setting: Setting
    idle: float
    state: str | None


# --- what is counted, between two runs -----------------------------------------------------------


_WHAT = "leakscore audit --watch"
_SETTINGS = ("claim", "confidence", "delta", "design", "epsilons", "mus", "inclusion", "history")


@dataclass
class State:
    """Where a watched audit is.

    Attributes
    ----------
    monitor : Monitor
        Of the scores.
    perfect : Monitor
        Of scores that separate the same rounds perfectly: what so many rounds can show.
    counted : int
        Bytes of the file whose rounds are counted; 0 of a stream.
    sha256 : str or None
        Of these bytes; None of a stream.
    least, most : float or None
        Of the scores; None before the first.
    lower_is_member : bool
        Whether scores are reversed.
    columns : dict
        What was read -> the name of its column.
    """

    monitor: Monitor
    perfect: Monitor
    counted: int
    sha256: str | None
    least: float | None
    most: float | None
    lower_is_member: bool
    columns: dict[str, str]

    @property
    def constant(self) -> bool:
        """Whether all scores are equal."""
        return self.least is not None and self.least == self.most

    def save(self, path: str) -> None:
        """Write the state, whole or not at all."""
        plain = {
            "what": _WHAT,
            "monitor": base64.b64encode(self.monitor.to_bytes()).decode("ascii"),
            "perfect": base64.b64encode(self.perfect.to_bytes()).decode("ascii"),
            "counted": self.counted,
            "sha256": self.sha256,
            "scores": [None if x is None else repr(x) for x in (self.least, self.most)],
            "lower_is_member": self.lower_is_member,
            "columns": self.columns,
        }
        outputs.write(path, json.dumps(plain) + "\n")


def load(path: str, fresh: State, *, grows: bool) -> State:
    """Return the saved state, or `fresh` if there is none yet.

    A state that was made with other options, or of a file where this is a stream, is refused.
    """
    if not Path(path).exists():
        return fresh
    file = files.open_file(path)
    try:
        saved = _state_of(files.load_json(file))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file.name} is no state of {_WHAT}: {error}") from None
    differing = [
        name for name in _SETTINGS if getattr(saved.monitor, name) != getattr(fresh.monitor, name)
    ]
    if saved.lower_is_member != fresh.lower_is_member:
        differing.append("the sign of the scores")
    if differing:
        raise ValueError(
            f"{file.name} was begun with another {', '.join(differing)}: repeat its options, or "
            "begin anew with another --state"
        )
    if grows != (saved.sha256 is not None):
        raise ValueError(
            f"{file.name} was begun with a {'stream' if grows else 'file'}: its rounds cannot be "
            f"told from those of this {'file' if grows else 'stream'}"
        )
    return saved


def _state_of(plain: Any) -> State:
    if plain["what"] != _WHAT:
        raise ValueError("it is something else")
    monitor, perfect = (
        Monitor.from_bytes(base64.b64decode(plain[name], validate=True))
        for name in ("monitor", "perfect")
    )
    least, most = (None if x is None else float(x) for x in plain["scores"])
    counted, sha256, columns = plain["counted"], plain["sha256"], plain["columns"]
    if type(counted) is not int or counted < 0 or not isinstance(sha256, (str, type(None))):
        raise ValueError("it does not say how much was counted")
    if not isinstance(columns, dict) or type(plain["lower_is_member"]) is not bool:
        raise ValueError("it does not say what was counted")
    if monitor.rounds != perfect.rounds or perfect.claim != monitor.claim:
        raise ValueError("its parts are not of one audit")
    return State(monitor, perfect, counted, sha256, least, most, plain["lower_is_member"], columns)


# --- the loop ------------------------------------------------------------------------------------


def watch(path: str, options: WatchOptions, show: Show) -> Evidence:
    """Read rounds until the claim is refuted or no more come.

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
        After Ctrl-C that of the rounds counted so far, which says so.

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
        return _Watch(options, lines, rows, begun, show=show).run()


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


@dataclass
class _Watch:
    """The loop of a watched audit, and its state between two blocks of lines."""

    options: WatchOptions
    lines: LineStream
    rows: RoundParser
    state: State
    show: Show
    hash: Any = field(default_factory=hashlib.sha256)  # of the lines that are counted
    shown_rounds: int = 0
    shown_at: float = 0.0
    save_from: float = field(default_factory=lambda: time.monotonic() + _SAVED)
    warned: list[str] = field(default_factory=list)

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
        self._require_columns()

    def _blocks(self) -> Iterator[list[bytes]]:
        for lines in self.lines(self.options.idle):
            for start in range(0, len(lines), _BLOCK):
                yield lines[start : start + _BLOCK]

    def _count(self, block: list[bytes]) -> None:
        scores, member = self.rows(block)
        if self.rows.format:
            self._require_columns()
        rounds = self._update(scores, member)
        if rounds < scores.size:  # what follows the refutation is not counted
            block = block[: self.rows.places[rounds - 1] + 1]
        self.hash.update(b"".join(block))
        if self.lines.grows:
            self.state.counted += sum(map(len, block))
            self.state.sha256 = self.hash.hexdigest()
        now, rounds = time.monotonic(), self.state.monitor.rounds
        if now >= self.save_from:
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
        """Look after each round: where the audit ends must not depend on how the lines arrive."""
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

    def _require_columns(self) -> None:
        """Refuse columns that a former run did not count; once, a loss, before a score counts."""
        if begun := self.state.columns:
            for role, name in self.rows.columns.items():
                if begun.get(role) != name:
                    raise ValueError(
                        f"the state was begun with the {role} from {begun.get(role)!r}, not "
                        f"{name!r}: repeat its options, or begin anew with another --state"
                    )
            return
        if self.options.lower_is_member is None:
            nothing = Samples(np.empty(0), np.empty(0))
            file, rows = files.File(self.lines.name, b""), self.rows
            read = Read((file,), rows.format, None, rows.columns, "float64", nothing, ())
            require_direction(read)
        self.state.columns = dict(self.rows.columns)

    def _show(self) -> None:
        if not self.shown_rounds:
            self.show(_title(self.options))
        self.show(_line(self.state, self.options))
        self.shown_rounds, self.shown_at = self.state.monitor.rounds, time.monotonic()

    def _save(self) -> None:
        begun = time.monotonic()
        if self.options.state is not None:
            self.state.save(self.options.state)
        now = time.monotonic()
        self.save_from = now + max(_SAVED, _SHARE * (now - begun))


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


# --- what the rounds have shown ------------------------------------------------------------------

_WIDTHS = (9, 9, 11, 10)


def _title(options: WatchOptions) -> str:
    """Return the names of what `_line` says."""
    columns = ["rounds", "members"]
    columns += ["e-value", "p-value"] if options.claim is not None else []
    named = "".join(f"{name:>{width}}" for name, width in zip(columns, _WIDTHS, strict=False))
    return f"{named}   epsilon at least"


def _line(state: State, options: WatchOptions) -> str:
    """Return the evidence now in one line."""
    monitor = state.monitor
    cells = [str(monitor.rounds), str(monitor.members)]
    if options.claim is not None:
        cells += [_e_value(monitor.log_e_value), words.upper_bound(monitor.p_value, 3)]
    shown = "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=False))
    return f"{shown}   {words.lower_bound(monitor.epsilon())}"


def _e_value(log: float) -> str:
    """Return an e-value, which a float may not hold, in few digits."""
    return (
        words.number(math.exp(log), 4) if log < 600.0 else f"1e{math.floor(log / math.log(10.0))}"
    )


@dataclass(frozen=True, eq=False)
class Evidence(Findings):
    """What the watched rounds have shown.

    The JSON has the fields of an audit of rounds where they mean the same;
    `evidence` holds the rounds, those that wait for the other half of their pair, the e-value's
    logarithm now, the p-value, valid at every moment, and the running bound on epsilon.
    """

    command = "audit --watch"

    name: str
    format: str
    state: State
    options: WatchOptions
    notes: tuple[str, ...]
    interrupted: bool

    @property
    def void(self) -> str:
        """Why the scores are no evidence, if they are none: a monitor learns their direction."""
        return words.why_none(constant=self.state.constant, rounds=self.state.monitor.rounds)

    @property
    def verdict(self) -> str | None:
        """What becomes of the claim, as in other audits."""
        if self.options.claim is None:
            return words.outcome(None, self.void)
        if self.state.monitor.refuted:
            return "refuted"
        reachable = self.state.perfect.refuted and not self.void
        return "consistent" if reachable else "cannot-tell"

    @property
    def notices(self) -> tuple[doc.Notice, ...]:
        """What must be known to read the evidence, warnings first."""
        notices = [doc.warning("doubt", said) for said in self.notes] + words.no_evidence(self.void)
        if waiting := self.state.monitor.waiting:
            said = "rounds wait for the other half of their pair and count for nothing yet."
            notices.append(doc.note("waiting", f"{waiting} {said}"))
        if self.interrupted:
            notices.append(doc.note("interrupted", "Interrupted: more rounds may follow."))
        return tuple(notices)

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices."""
        monitor, claim = self.state.monitor, self.options.claim
        return {
            "input": {
                "files": [{"name": self.name, "sha256": self.state.sha256}],
                "format": self.format,
                "columns": self.state.columns,
                "members": monitor.members,
                "nonmembers": monitor.rounds - monitor.members,
                "lower_is_member": self.state.lower_is_member,
            },
            "setting": self.options.setting,
            "claim": claim,
            "verdict": claim and {"verdict": self.verdict},
            "confidence": monitor.confidence,
            "design": monitor.design,
            "inclusion": monitor.inclusion,
            "evidence": {
                "rounds": monitor.rounds,
                "waiting": monitor.waiting,
                "log_e_value": monitor.log_e_value if claim else None,
                "p_value": monitor.p_value if claim else None,
                "epsilon": monitor.epsilon(),
                "delta": monitor.delta,
            },
            "assumptions": monitor.assumptions,
        }

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        monitor, first = self.state.monitor, doc.Heading(_heading(self))
        notes = [notice for notice in self.notices if notice.level != "warning"]
        return doc.Document(
            f"leakscore audit: {self.name}",
            words.head(self.doubts, _said_of_claim(self), first),
            (
                *([doc.Section("What is open", [doc.Notices(notes)])] if notes else []),
                words.holds(monitor.assumptions),
                words.read(_read(self)),
            ),
        )

    def check(self) -> Check:
        """Return the verdict for other programs."""
        monitor, claim = self.state.monitor, self.options.claim
        properties: dict[str, float | int | str] = {
            "rounds": monitor.rounds,
            "epsilon": monitor.epsilon(),
            "delta": self.options.delta,
            "confidence": monitor.confidence,
            "design": monitor.design,
        }
        if claim is not None:
            properties |= {"p_value": monitor.p_value, "log_e_value": monitor.log_e_value}
        return Check(
            name=words.subject(claim),
            verdict=self.verdict,
            message=_said_of_claim(self) or _heading(self),
            properties=properties,
        )


def _heading(evidence: Evidence) -> str:
    monitor = evidence.state.monitor
    bound = words.bound_at(monitor.epsilon(), evidence.options.delta, monitor.confidence)
    return f"{bound} at every moment"


def _said_of_claim(evidence: Evidence) -> str:
    claim, monitor = evidence.options.claim, evidence.state.monitor
    if claim is None:
        return ""
    what = f"The claim of {words.claim(claim)}"
    if evidence.verdict == "refuted":
        p_value = words.upper_bound(monitor.p_value, 3)
        return (
            f"{what} is REFUTED after {monitor.rounds} rounds: p-value {p_value}, valid although "
            "the rounds ended when it was small enough."
        )
    if evidence.void:
        why = words.NO_EVIDENCE[evidence.void]
        return f"INCONCLUSIVE. {what} is neither refuted nor supported: {why}."
    if evidence.verdict == "consistent":
        return (
            f"{what} is CONSISTENT with these {monitor.rounds} rounds; that does not prove it. "
            "More rounds may follow."
        )
    return f"INCONCLUSIVE. {what} cannot be refuted by so few rounds, even of separated scores."


def _read(evidence: Evidence) -> Iterator[tuple[str, str]]:
    state, monitor = evidence.state, evidence.state.monitor
    yield "file", evidence.name
    if state.sha256 is not None:
        yield "sha256", f"{state.sha256} of the first {state.counted} bytes"
    yield "format", f"{evidence.format or 'none'}; {words.roles(state.columns) or 'no line'}"
    yield "rounds", f"{monitor.rounds}, {monitor.members} of them with a member"
    design = "coins" if monitor.design == "coins" else "pairs of a member and a non-member"
    yield "design", design + ("" if monitor.design == "coins" else " (coins: --random-bits)")
    yield "member if", f"the score is {'small' if state.lower_is_member else 'large'}"
    yield "neighbours", words.relation(evidence.options.setting.neighbours)
    yield "threat model", evidence.options.setting.threat_model or "not stated (--threat-model)"
    yield "made by", f"leakscore {evidence.tool_version}"
