"""What a watched audit keeps between two runs: its monitors, and how much of the file is counted.

The file is one JSON object. It holds numbers and the bytes of monitors, which are checked; nothing
in it is run.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscore.audit import Monitor
from leakscore_app.tables import files, outputs, strict_json

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
        Of scores that separate the same rounds perfectly, and its only.
    counted : int
        Bytes of the file whose rounds are counted; 0 of a stream.
    sha256 : str or None
        Of these bytes; None of a stream.
    least, most : float or None
        Of the scores; None before the first.
    lower_is_member : bool
        Whether scores are turned round.
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
        saved = _read(strict_json.load_json(file))
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


def _read(plain: Any) -> State:
    if plain["what"] != _WHAT:
        raise ValueError("it is something else")
    monitor, perfect = (Monitor.from_bytes(_bytes(plain[name])) for name in ("monitor", "perfect"))
    least, most = (None if x is None else float(x) for x in plain["scores"])
    counted, sha256, columns = plain["counted"], plain["sha256"], plain["columns"]
    if type(counted) is not int or counted < 0 or not isinstance(sha256, (str, type(None))):
        raise ValueError("it does not say how much was counted")
    if not isinstance(columns, dict) or type(plain["lower_is_member"]) is not bool:
        raise ValueError("it does not say what was counted")
    if monitor.rounds != perfect.rounds or perfect.claim != monitor.claim:
        raise ValueError("its parts are not of one audit")
    return State(monitor, perfect, counted, sha256, least, most, plain["lower_is_member"], columns)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
