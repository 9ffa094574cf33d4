"""A watched audit: rounds are counted as they arrive, until they refute the claim.

Between two runs the state lies in a file: one JSON object of numbers and of the monitors' bytes.
Loading checks it, and runs nothing in it.
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
from leakscore_app.audits.rounds import LineStream, RoundParser, open_lines
from leakscore_app.audits.scores import LoadedScores, Samples, require_direction
from leakscore_app.document import Check
from leakscore_app.document import document as doc
from leakscore_app.document.document import Findings
from leakscore_app.tables import files, outputs

_BLOCK = 64  # lines that are counted together
_GROWTH = 1.15  # ratio of rounds between two printed lines of evidence
_SECONDS = 10.0  # after which new rounds are printed at any ratio
_SAVED = 1.0  # least seconds between two saved states
_SHARE = 20.0  # least ratio of that time to the time of a save: long histories are tens of MB

Show = Callable[[str], None]


@dataclass(frozen=True)
class WatchOptions:
    """How to read rounds, and the claim to test.

    Attributes
    ----------
    form : dict
        score, member, delimiter and decimal of the file; None where the user named none.
    lower_is_member : bool or None
        Whether small scores mean a member.
    claim : Claim or None
    delta, confidence : float
        Of the running bound on epsilon.
    inclusion : float
        Probability of a member in each round.
    setting : Setting
        With `random_bits` memberships are coins; otherwise rounds are paired.
    idle : float
        Seconds without a round after which a file counts as complete.
    state : str or None
        Path of the state.
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


# --- the state between two runs ------------------------------------------------------------------


_STATE_KIND = "leakscore audit --watch"
_SETTINGS = ("claim", "confidence", "delta", "design", "epsilons", "mus", "inclusion", "history")


@dataclass
class State:
    """The state of a watched audit.

    Attributes
    ----------
    monitor : Monitor
        Fed with the scores.
    perfect : Monitor
        Fed with scores that separate the same rounds perfectly: the most that the rounds can show.
    counted : int
        Bytes of the file whose rounds are counted; 0 for a stream.
    sha256 : str or None
        Of these bytes; None for a stream.
    least, most : float or None
        The extreme scores; None before the first.
    lower_is_member : bool
        Whether scores are negated.
    columns : dict
        Role (score, member) -> name of the column.
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
        """Write the state to a file, completely or not at all."""
        plain = {
            "what": _STATE_KIND,
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

    Refuses a state of other options, and one of a stream for a file (`grows`) or of a file for a
    stream.
    """
    if not Path(path).exists():
        return fresh
    file = files.open_file(path)
    try:
        saved = _parse_state(files.load_json(file))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file.name} is no state of {_STATE_KIND}: {error}") from None
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


def _parse_state(plain: Any) -> State:
    if plain["what"] != _STATE_KIND:
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
    """Read rounds until they refute the claim or no more arrive.

    Parameters
    ----------
    path : str
        A text file, which may grow; ``-`` is the standard input.
    options : WatchOptions
    show : callable
        Takes each line of evidence.

    Returns
    -------
    Evidence
        After Ctrl-C, of the rounds counted so far, with a note.

    Raises
    ------
    ValueError
        If a line holds no round, the file became shorter or is not that of the state, or an option
        is out of its range.
    """
    if not options.idle >= 0.0:
        raise ValueError(f"idle={options.idle!r} must be in [0, inf]")
    state = _initial_state(options)
    with open_lines(path) as lines:
        if options.state is not None:
            state = load(options.state, state, grows=lines.grows)
        rows = RoundParser(lines.name, **options.form)
        return _WatchLoop(options, lines, rows, state, show=show).run()


def _initial_state(options: WatchOptions) -> State:
    """Return the state before the first round."""
    claimed, setting = options.claim, options.setting
    claim: Any = None
    if claimed is not None:
        claim = (claimed.epsilon, claimed.delta)
        if claimed.mu is not None:
            claim = gaussian(claimed.mu)
    arguments: dict[str, Any] = {
        "confidence": options.confidence,
        "delta": options.delta,
        "design": "coins" if setting.random_bits else "pairs",
        "inclusion": options.inclusion,
    }
    monitor = Monitor(claim, **arguments)
    # Without a claim nothing reads `perfect`: a monitor of one epsilon costs least.
    perfect = Monitor(claim, **arguments, epsilons=[1.0] if claim is None else ())
    return State(monitor, perfect, 0, None, None, None, bool(options.lower_is_member), {})


@dataclass
class _WatchLoop:
    """The loop of a watched audit, and its state between two blocks of lines."""

    options: WatchOptions
    lines: LineStream
    rows: RoundParser
    state: State
    show: Show
    hash: Any = field(default_factory=hashlib.sha256)  # of the counted lines
    shown_rounds: int = 0
    shown_at: float = 0.0
    save_from: float = field(default_factory=lambda: time.monotonic() + _SAVED)
    messages: list[str] = field(default_factory=list)

    def run(self) -> Evidence:
        """Count rounds until the claim is refuted; save the state whatever happens."""
        interrupted = False
        try:
            if self.lines.grows and self.state.counted:
                self._skip_counted()
            if not self._is_refuted():
                for block in self._blocks():
                    with deferred_interrupts():
                        self._count(block)
                    if self._is_refuted():
                        break
        except KeyboardInterrupt:
            interrupted = True
        finally:
            self._save()
        if self.state.monitor.rounds > self.shown_rounds:
            self._show()
        notes = list(self.messages)
        if self.lines.grows and self.lines.unfinished and not self._is_refuted():
            notes.append(f"The last line of {self.lines.name} has no end and was not counted.")
        return Evidence(
            name=self.lines.name,
            format=self.rows.format,
            state=self.state,
            options=self.options,
            notes=tuple(notes),
            interrupted=interrupted,
        )

    def _skip_counted(self) -> None:
        """Read the bytes that an earlier run counted, and require that they are the same."""
        data = self.lines.read_counted(self.state.counted)
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
        if rounds < scores.size:  # later lines are not counted, and a next run reads them
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
        """Count rounds until the claim is refuted; return the number of counted rounds."""
        state = self.state
        if not scores.size:
            return 0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rounds = self._bet(-scores if state.lower_is_member else scores, member)
        self.messages += [str(warning.message) for warning in caught]
        low, high = float(scores[:rounds].min()), float(scores[:rounds].max())
        state.least = low if state.least is None else min(state.least, low)
        state.most = high if state.most is None else max(state.most, high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # `messages` has them
            state.perfect.update(np.where(member[:rounds], 1.0, 0.0), member[:rounds])
        return rounds

    def _bet(self, scores: Doubles, member: Flags) -> int:
        """Test after each round: the end must not depend on the blocks in which lines arrive."""
        if self.options.claim is None:
            self.state.monitor.update(scores, member)
            return int(scores.size)
        for i in range(scores.size):
            self.state.monitor.update(scores[i : i + 1], member[i : i + 1])
            if self.state.monitor.refuted:
                return i + 1
        return int(scores.size)

    def _is_refuted(self) -> bool:
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
            empty = Samples(np.empty(0), np.empty(0))
            file, rows = files.File(self.lines.name, b""), self.rows
            loaded = LoadedScores((file,), rows.format, None, rows.columns, "float64", empty, ())
            require_direction(loaded)
        self.state.columns = dict(self.rows.columns)

    def _show(self) -> None:
        if not self.shown_rounds:
            self.show(_evidence_header(self.options))
        self.show(_evidence_line(self.state, self.options))
        self.shown_rounds, self.shown_at = self.state.monitor.rounds, time.monotonic()

    def _save(self) -> None:
        start = time.monotonic()
        if self.options.state is not None:
            self.state.save(self.options.state)
        now = time.monotonic()
        self.save_from = now + max(_SAVED, _SHARE * (now - start))


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block, so that a short step of work is never half done."""
    handler = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted; a handler that Python did not install cannot be restored.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pending: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: pending.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if pending:
        signal.raise_signal(signal.SIGINT)


# --- the evidence --------------------------------------------------------------------------------

_WIDTHS = (9, 9, 11, 10)


def _evidence_header(options: WatchOptions) -> str:
    """Return the header of the lines of evidence."""
    columns = ["rounds", "members"]
    columns += ["e-value", "p-value"] if options.claim is not None else []
    aligned = "".join(f"{name:>{width}}" for name, width in zip(columns, _WIDTHS, strict=False))
    return f"{aligned}   epsilon at least"


def _evidence_line(state: State, options: WatchOptions) -> str:
    """Return the present evidence as a line."""
    monitor = state.monitor
    cells = [str(monitor.rounds), str(monitor.members)]
    if options.claim is not None:
        cells += [_e_value(monitor.log_e_value), words.upper_bound(monitor.p_value, 3)]
    aligned = "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=False))
    return f"{aligned}   {words.lower_bound(monitor.epsilon())}"


def _e_value(log: float) -> str:
    """Return an e-value in few digits, also one too large for a float."""
    return (
        words.number(math.exp(log), 4) if log < 600.0 else f"1e{math.floor(log / math.log(10.0))}"
    )


@dataclass(frozen=True, eq=False)
class Evidence(Findings):
    """The evidence of the watched rounds.

    The JSON shares its fields with an audit of rounds where they mean the same. `evidence` holds
    the number of rounds, of rounds that wait for the other half of their pair, the logarithm of the
    e-value now, the p-value, which is valid at every moment, and the running bound on epsilon.
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
        """A key of words.NO_EVIDENCE, or "". Reversed scores are evidence: a monitor adapts."""
        return words.no_evidence_key(constant=self.state.constant, rounds=self.state.monitor.rounds)

    @property
    def verdict(self) -> str | None:
        """The verdict on the claim, as in other audits."""
        if self.options.claim is None:
            return words.outcome(None, self.void)
        if self.state.monitor.refuted:
            return "refuted"
        reachable = self.state.perfect.refuted and not self.void
        return "consistent" if reachable else "cannot-tell"

    @property
    def notices(self) -> tuple[doc.Notice, ...]:
        """What must be known to read the evidence, warnings first."""
        notices = [doc.warning("doubt", note) for note in self.notes]
        notices += words.no_evidence_notices(self.void)
        if waiting := self.state.monitor.waiting:
            rest = "rounds wait for the other half of their pair and count for nothing yet."
            notices.append(doc.note("waiting", f"{waiting} {rest}"))
        if self.interrupted:
            notices.append(doc.note("interrupted", "Interrupted: more rounds may follow."))
        return tuple(notices)

    def contents(self) -> dict[str, Any]:
        """Return the fields of the JSON besides envelope and notices."""
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
            words.head(self.doubts, _claim_line(self), first),
            (
                *([doc.Section("What is open", [doc.Notices(notes)])] if notes else []),
                words.assumptions_section(monitor.assumptions),
                words.input_section(_input_facts(self)),
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
            name=words.check_name(claim),
            verdict=self.verdict,
            message=_claim_line(self) or _heading(self),
            properties=properties,
        )


def _heading(evidence: Evidence) -> str:
    monitor = evidence.state.monitor
    bound = words.bound_at(monitor.epsilon(), evidence.options.delta, monitor.confidence)
    return f"{bound} at every moment"


def _claim_line(evidence: Evidence) -> str:
    claim, monitor = evidence.options.claim, evidence.state.monitor
    if claim is None:
        return ""
    lead = f"The claim of {words.claim_name(claim)}"
    if evidence.verdict == "refuted":
        p_value = words.upper_bound(monitor.p_value, 3)
        return (
            f"{lead} is REFUTED after {monitor.rounds} rounds: p-value {p_value}, valid although "
            "the rounds ended when it was small enough."
        )
    if evidence.void:
        why = words.NO_EVIDENCE[evidence.void]
        return f"INCONCLUSIVE. {lead} is neither refuted nor supported: {why}."
    if evidence.verdict == "consistent":
        return (
            f"{lead} is CONSISTENT with these {monitor.rounds} rounds; that does not prove it. "
            "More rounds may follow."
        )
    return f"INCONCLUSIVE. {lead} cannot be refuted by so few rounds, even of separated scores."


def _input_facts(evidence: Evidence) -> Iterator[tuple[str, str]]:
    state, monitor = evidence.state, evidence.state.monitor
    yield "file", evidence.name
    if state.sha256 is not None:
        yield "sha256", f"{state.sha256} of the first {state.counted} bytes"
    yield "format", f"{evidence.format or 'none'}; {words.column_roles(state.columns) or 'no line'}"
    yield "rounds", f"{monitor.rounds}, {monitor.members} of them with a member"
    design = "coins" if monitor.design == "coins" else "pairs of a member and a non-member"
    yield "design", design + ("" if monitor.design == "coins" else " (coins: --random-bits)")
    yield "member if", f"the score is {'small' if state.lower_is_member else 'large'}"
    yield "neighbours", words.neighbours_phrase(evidence.options.setting.neighbours)
    yield "threat model", evidence.options.setting.threat_model or "not stated (--threat-model)"
    yield "made by", f"leakscore {evidence.tool_version}"
