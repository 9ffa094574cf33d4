"""A monitor as bytes: its setup as JSON, the state of its bets, and a checksum."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from leakscore import _core
from leakscore.audit.watched.setup import Claim, Setup, assembled, claim_of

_FIRST = b"leakscore monitor 1\n"
_SUM = 16  # bytes of the checksum


def to_bytes(made: Setup, wealth: _core.Wealth) -> bytes:
    """Return setup and state; no clock and no address is in them."""
    head = json.dumps(dataclasses.asdict(made), allow_nan=False).encode()
    body = _FIRST + head + b"\n" + wealth.state()
    return body + _checksum(body)


def from_bytes(raw: bytes) -> tuple[Setup, _core.Wealth]:
    """Return what `to_bytes` was given; nothing in the bytes is run."""
    body, checksum = raw[:-_SUM], raw[-_SUM:]
    if not body.startswith(_FIRST):
        raise ValueError("Expected raw to be the bytes of a monitor: they begin otherwise")
    if _checksum(body) != checksum:
        raise ValueError("Expected raw to be the bytes of a monitor: some are missing or changed")
    head, _, state = body[len(_FIRST) :].partition(b"\n")
    try:
        made = _setup(json.loads(head))
        wealth = made.wealth()
        wealth.restore(state)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"Expected raw to be the bytes of a monitor: {error}") from None
    return made, wealth


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_SUM).digest()


def _setup(fields: dict[str, Any]) -> Setup:
    """Check the fields as if a user had given them."""
    name, rows, assumed = (fields.pop(key) for key in ("claim", "tangents", "assumed"))
    if not isinstance(name, str):
        return assembled(claim_of(name), **fields)
    if not isinstance(assumed, list) or not all(isinstance(each, str) for each in assumed):
        raise ValueError("the claim's assumptions are no sentences")
    tangents = tuple((float(at), float(forward), float(reverse)) for at, forward, reverse in rows)
    if not tangents or not all(0.0 <= x < float("inf") for row in tangents for x in row):
        raise ValueError("the claim has no tangents")
    return assembled(Claim(name, tangents, None, tuple(assumed)), **fields)
