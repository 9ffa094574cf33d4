"""What a monitor bets against: claims as hockey sticks and grids of them; as bytes, too."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.tradeoff import GaussianTradeOff, TradeOff, gaussian
from leakscore.tradeoff.premise import settled
from leakscore.typing import Doubles

Rows = tuple[tuple[float, float, float], ...]
"""Of each tangent: epsilon, and delta at it in the forward and the reverse direction."""

# Where a curve's tangents touch: epsilon over mu, or delta over the total variation.
_OF_MU = (0.1, 0.5, 1.0, 1.5, 2.0, 3.0)
_OF_VARIATION = (1.0, 0.7, 0.4, 0.2, 0.05, 1e-2, 1e-4)

_RELATIVE, _ABSOLUTE = 1e-9, 1e-13  # more than the error of any curve's delta
_GRID = np.arange(1, 201) / 20.0
_MOST = 2**40  # rounds whose scores are kept, at most


_FIRST = b"leakscore monitor 2\n"
_BEFORE = b"leakscore monitor 1\n"  # the same without identities
_FORGED = (ValueError, TypeError, LookupError, OverflowError, AttributeError)
_SUM = 16  # bytes of the checksum


class WatchedClaim(NamedTuple):
    """What is claimed.

    Attributes
    ----------
    name : tuple or str or None
        (epsilon, delta) itself if it is such a pair; of a curve its name.
    tangents : tuple
        What is bet against.
    delta : float or None
        That of a pair.
    assumptions : tuple of str
        Of a curve.
    """

    name: tuple[float, float] | str | None
    tangents: Rows
    delta: float | None
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setup:
    """All that is fixed before the first round.

    Attributes
    ----------
    claim : tuple or str or None
        (epsilon, delta), or the name of a curve.
    tangents : tuple
        Of the claim; empty if there is none.
    delta : float or None
        Of `epsilons`.
    history : int
        Rounds after which edges stay where they are.
    assumed : tuple of str
        What the curve that is claimed assumes.
    """

    claim: tuple[float, float] | str | None
    tangents: Rows
    confidence: float
    delta: float | None
    design: str
    epsilons: tuple[float, ...]
    mus: tuple[float, ...]
    inclusion: float
    history: int
    assumed: tuple[str, ...]

    def wealth(self) -> _core.Wealth:
        """Return the wealth before the first round."""
        parts = [self.tangents] if self.tangents else []
        delta = self.delta or 0.0
        parts += [((epsilon, delta, delta),) for epsilon in self.epsilons]
        parts += [tangents_of(gaussian(mu)) for mu in self.mus]
        return _core.Wealth(
            np.array([row for part in parts for row in part], dtype=np.float64),
            [len(part) for part in parts],
            len(self.tangents[:1]),
            -float(np.log(1.0 - self.confidence)),
            self.design == "pairs",
            self.inclusion,
            self.history,
        )


def assembled(
    claim: WatchedClaim,
    *,
    confidence: float,
    inclusion: float,
    history: int,
    delta: float | None = None,
    design: str = "coins",
    epsilons: npt.ArrayLike | None = None,
    mus: npt.ArrayLike = (),
) -> Setup:
    """Check the arguments of a monitor, the claim apart (`claim_of`)."""
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    chosen = validation.choice("design", design, ("coins", "pairs"))
    coin = validation.scalar("inclusion", inclusion, 1e-6, 1.0 - 1e-6)
    if chosen == "pairs" and coin != 0.5:
        raise ValueError(
            f"inclusion={coin!r} must be given with design='coins' only: pairs need no coins"
        )
    at = (
        claim.delta if delta is None else validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    )
    if epsilons is not None:
        grid = _ascending("epsilons", epsilons)
        if grid.size and at is None:
            raise ValueError("delta must be given: running bounds on epsilon are of one delta")
    else:
        grid = _GRID if at is not None else np.empty(0)
    parameters = _ascending("mus", mus)
    if not (claim.tangents or grid.size or parameters.size):
        raise ValueError(
            "A claim, delta (for running bounds on epsilon) or mus must be given: there is "
            "nothing to bet against"
        )
    return Setup(
        claim=claim.name,
        tangents=claim.tangents,
        confidence=level,
        delta=at,
        design=chosen,
        epsilons=tuple(grid.tolist()),
        mus=tuple(parameters.tolist()),
        inclusion=coin,
        history=validation.count("history", history, 4, _MOST),
        assumed=claim.assumptions,
    )


def claim_of(claim: Any) -> WatchedClaim:
    """Check a claim as a user gives it."""
    if claim is None:
        return WatchedClaim(None, (), None)
    if isinstance(claim, TradeOff):
        settled(claim._premise, None, claim)
        return WatchedClaim(repr(claim), tangents_of(claim), None, claim.assumptions)
    if not isinstance(claim, (tuple, list)) or len(claim) != 2:
        raise TypeError(
            f"claim={claim!r} must be (epsilon, delta), a leakscore.tradeoff.TradeOff or None"
        )
    epsilon = validation.scalar("claim[0]", claim[0], 0.0)
    delta = validation.scalar("claim[1]", claim[1], 0.0, 1.0, closed="left")
    return WatchedClaim((epsilon, delta), ((epsilon, delta, delta),), delta)


def tangents_of(curve: TradeOff) -> Rows:
    """Return hockey sticks that a curve allows, rounded up."""
    if curve.shape:
        raise ValueError(f"A claim of shape {curve.shape} must be one curve, of shape ()")
    least = curve.lower  # of a curve that is known within bounds, the one that allows more
    if isinstance(least, GaussianTradeOff):
        epsilons = float(least.mu) * np.array(_OF_MU)
    else:
        variation = float(least.advantage())
        epsilons = np.asarray(least.epsilon(variation * np.array(_OF_VARIATION)))
    epsilons = np.unique(epsilons[np.isfinite(epsilons)])
    if not epsilons.size:
        raise ValueError(f"claim={curve!r} must allow less than everything")
    forward, reverse = (
        _up(np.asarray(least.delta(epsilons, direction))) for direction in ("forward", "reverse")
    )
    return tuple(zip(epsilons.tolist(), forward.tolist(), reverse.tolist(), strict=True))


def _up(delta: Doubles) -> Doubles:
    return np.minimum(delta * (1.0 + _RELATIVE) + _ABSOLUTE, 1.0)


def _ascending(name: str, value: npt.ArrayLike) -> Doubles:
    """Check a grid of running bounds, which may be empty."""
    array = validation.doubles(name, value, ndim=1)
    if (array <= 0.0).any() or (np.diff(array) <= 0.0).any():
        raise ValueError(f"{name} must be positive and ascend")
    return array


def to_bytes(setup: Setup, wealth: _core.Wealth, origins: frozenset[str]) -> bytes:
    """Return setup, identities of the rounds and state; no clock and no address is in them."""
    fields = dataclasses.asdict(setup) | {"origins": sorted(origins)}
    head = json.dumps(fields, allow_nan=False).encode()
    body = _FIRST + head + b"\n" + wealth.state()
    return body + _checksum(body)


def from_bytes(raw: bytes) -> tuple[Setup, _core.Wealth, frozenset[str]]:
    """Return what `to_bytes` was given; nothing in the bytes is run."""
    body, checksum = raw[:-_SUM], raw[-_SUM:]
    first = body[: len(_FIRST)]
    if first not in (_FIRST, _BEFORE):
        raise ValueError("raw must be the bytes of a monitor: they begin otherwise")
    if _checksum(body) != checksum:
        raise ValueError("raw must be the bytes of a monitor: some are missing or changed")
    head, _, state = body[len(_FIRST) :].partition(b"\n")
    try:
        fields = json.loads(head)
        origins = fields.pop("origins") if first == _FIRST else None
        setup = _setup(fields)
        wealth = setup.wealth()
        wealth.restore(state)
        if origins is None:  # the checksum is alike for copies
            origins = [checksum.hex()] if wealth.counts()[0] else []
        if not isinstance(origins, list) or not all(isinstance(each, str) for each in origins):
            raise ValueError("the identities of its rounds are no strings")
        if bool(origins) != bool(wealth.counts()[0]):
            raise ValueError("its rounds have no identity")
    except (*_FORGED, RecursionError) as error:
        raise ValueError(f"raw must be the bytes of a monitor: {error}") from None
    return setup, wealth, frozenset(origins)


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
