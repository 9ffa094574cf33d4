"""A monitor as bytes: its setup as JSON, the state of its bets, and a checksum."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from leakscore import _core
from leakscore.audit.watched.setup import Setup, WatchedClaim, assembled, claim_of

_FIRST = b"leakscore monitor 2\n"
_BEFORE = b"leakscore monitor 1\n"  # the same without identities
_FORGED = (ValueError, TypeError, LookupError, OverflowError, AttributeError)
_SUM = 16  # bytes of the checksum


def to_bytes(made: Setup, wealth: _core.Wealth, origins: frozenset[str]) -> bytes:
    """Return setup, identities of the rounds and state; no clock and no address is in them."""
    fields = dataclasses.asdict(made) | {"origins": sorted(origins)}
    head = json.dumps(fields, allow_nan=False).encode()
    body = _FIRST + head + b"\n" + wealth.state()
    return body + _checksum(body)


def from_bytes(raw: bytes) -> tuple[Setup, _core.Wealth, frozenset[str]]:
    """Return what `to_bytes` was given; nothing in the bytes is run."""
    body, checksum = raw[:-_SUM], raw[-_SUM:]
    first = body[: len(_FIRST)]
    if first not in (_FIRST, _BEFORE):
        raise ValueError("Expected raw to be the bytes of a monitor: they begin otherwise")
    if _checksum(body) != checksum:
        raise ValueError("Expected raw to be the bytes of a monitor: some are missing or changed")
    head, _, state = body[len(_FIRST) :].partition(b"\n")
    try:
        fields = json.loads(head)
        origins = fields.pop("origins") if first == _FIRST else None
        made = _setup(fields)
        wealth = made.wealth()
        wealth.restore(state)
        if origins is None:  # the checksum is alike for copies
            origins = [checksum.hex()] if wealth.counts()[0] else []
        if not isinstance(origins, list) or not all(isinstance(each, str) for each in origins):
            raise ValueError("the identities of its rounds are no strings")
        if bool(origins) != bool(wealth.counts()[0]):
            raise ValueError("its rounds have no identity")
    except (*_FORGED, RecursionError) as error:
        raise ValueError(f"Expected raw to be the bytes of a monitor: {error}") from None
    return made, wealth, frozenset(origins)


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
    return assembled(WatchedClaim(name, tangents, None, tuple(assumed)), **fields)
