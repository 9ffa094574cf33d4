"""What a watched audit is told."""

from __future__ import annotations

from dataclasses import dataclass

from leakscore_app.audits.model import Claim, Setting


@dataclass(frozen=True)
class WatchOptions:
    """How rounds are read and what is held against them.

    Attributes
    ----------
    score, member, delimiter, decimal : str or None
        Of the file.
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

    score: str | None
    member: str | None
    delimiter: str | None
    decimal: str | None
    lower_is_member: bool | None
    claim: Claim | None
    delta: float
    confidence: float
    inclusion: float
    setting: Setting
    idle: float
    state: str | None
