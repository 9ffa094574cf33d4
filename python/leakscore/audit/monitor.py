"""A monitor: evidence against a claim that is valid after every round.

A claim is a set of hockey sticks, and running bounds are grids of claims. The C++ core bets against
each. `Setup` has what is fixed before the first round, `Monitor` the state of the bets since.
"""

from __future__ import annotations

import dataclasses
import json
import math
import secrets
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import _core, results, validation
from leakscore.audit.results import of_monitor
from leakscore.tradeoff import GaussianTradeOff, TradeOff, gaussian
from leakscore.tradeoff.premise import premise_in, settled
from leakscore.typing import Array, Doubles, Flags

Rows = tuple[tuple[float, float, float], ...]
"""For each tangent: epsilon, and delta there in the forward and the reverse direction."""

# Where a curve's tangents touch: epsilon over mu, or delta over the total variation.
_OF_MU = (0.1, 0.5, 1.0, 1.5, 2.0, 3.0)
_OF_VARIATION = (1.0, 0.7, 0.4, 0.2, 0.05, 1e-2, 1e-4)

_RELATIVE, _ABSOLUTE = 1e-9, 1e-13  # more than the error of any curve's delta
_GRID = np.arange(1, 201) / 20.0
_MOST = 2**40  # largest `history`
_BLOCK = 1024  # rounds between two checks for Ctrl-C
_CHECK_EVERY = 16  # most rounds between two checks of the coins
_EVIDENCE = math.log(500.0)  # fair coins ever reach it with probability 1/500
_ORDERLY = 5.0  # standard deviations of the number of changes from member to non-member
_FEWEST, _MANY = 20, 2000  # rounds of which exactly half are members

_VERSION = 3  # of the bytes
_FORGED = (ValueError, TypeError, LookupError, OverflowError, AttributeError, RecursionError)


class WatchedClaim(NamedTuple):
    """A claim, as hockey sticks.

    Attributes
    ----------
    name : tuple or str or None
        (epsilon, delta) of a pair, or the name of a curve.
    tangents : tuple
        Hockey sticks to bet against; empty without a claim.
    delta : float or None
        Delta of a pair.
    assumptions : tuple of str
        Assumptions of a curve.
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
    delta : float or None
        Delta of `epsilons`.
    history : int
        Number of rounds after which the edges between groups are fixed.
    """

    claim: WatchedClaim
    confidence: float
    delta: float | None
    design: str
    epsilons: tuple[float, ...]
    mus: tuple[float, ...]
    inclusion: float
    history: int

    def wealth(self) -> _core.Wealth:
        """Return the wealth before the first round."""
        tangents = self.claim.tangents
        parts = [tangents] if tangents else []
        delta = self.delta or 0.0
        parts += [((epsilon, delta, delta),) for epsilon in self.epsilons]
        parts += [tangents_of(gaussian(mu)) for mu in self.mus]
        return _core.Wealth(
            np.array([row for part in parts for row in part], dtype=np.float64),
            [len(part) for part in parts],
            len(tangents[:1]),
            -float(np.log(1.0 - self.confidence)),
            self.design == "pairs",
            self.inclusion,
            self.history,
        )


def make_setup(
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
    """Check the arguments of a monitor, except the claim (see `claim_of`)."""
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    chosen = validation.choice("design", design, ("coins", "pairs"))
    coin = validation.scalar("inclusion", inclusion, 1e-6, 1.0 - 1e-6)
    if chosen == "pairs" and coin != 0.5:
        raise ValueError(
            f"inclusion={coin!r} must be given with design='coins' only: pairs need no coins"
        )
    delta_of_bounds = (
        claim.delta if delta is None else validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    )
    if epsilons is not None:
        grid = _ascending("epsilons", epsilons)
        if grid.size and delta_of_bounds is None:
            raise ValueError("delta must be given: running bounds on epsilon are of one delta")
    else:
        grid = _GRID if delta_of_bounds is not None else np.empty(0)
    parameters = _ascending("mus", mus)
    if not (claim.tangents or grid.size or parameters.size):
        raise ValueError(
            "A claim, delta (for running bounds on epsilon) or mus must be given: there is "
            "nothing to bet against"
        )
    return Setup(
        claim=claim,
        confidence=level,
        delta=delta_of_bounds,
        design=chosen,
        epsilons=tuple(grid.tolist()),
        mus=tuple(parameters.tolist()),
        inclusion=coin,
        history=validation.count("history", history, 4, _MOST),
    )


def claim_of(claim: Any) -> WatchedClaim:
    """Check a user's claim."""
    if claim is None:
        return WatchedClaim(None, (), None)
    if isinstance(claim, TradeOff):
        settled(premise_in(claim), None, claim)
        return WatchedClaim(repr(claim), tangents_of(claim), None, claim.assumptions)
    if not isinstance(claim, (tuple, list)) or len(claim) != 2:
        raise TypeError(
            f"claim={claim!r} must be (epsilon, delta), a leakscore.tradeoff.TradeOff or None"
        )
    epsilon = validation.scalar("claim[0]", claim[0], 0.0)
    delta = validation.scalar("claim[1]", claim[1], 0.0, 1.0, closed="left")
    return WatchedClaim((epsilon, delta), ((epsilon, delta, delta),), delta)


def tangents_of(curve: TradeOff) -> Rows:
    """Return hockey sticks below a curve, with delta rounded up."""
    if curve.shape:
        raise ValueError(f"A claim of shape {curve.shape} must be one curve, of shape ()")
    least = curve.lower  # for a curve within bounds, the bound that allows more
    if isinstance(least, GaussianTradeOff):
        epsilons = float(least.mu) * np.array(_OF_MU)
    else:
        variation = float(least.advantage())
        epsilons = np.asarray(least.epsilon(variation * np.array(_OF_VARIATION)))
    epsilons = np.unique(epsilons[np.isfinite(epsilons)])
    if not epsilons.size:
        raise ValueError(f"claim={curve!r} must allow less than everything")
    forward, reverse = (
        _raised(np.asarray(least.delta(epsilons, way))) for way in ("forward", "reverse")
    )
    return tuple(zip(epsilons.tolist(), forward.tolist(), reverse.tolist(), strict=True))


def _raised(delta: Doubles) -> Doubles:
    return np.minimum(delta * (1.0 + _RELATIVE) + _ABSOLUTE, 1.0)


def _ascending(name: str, value: npt.ArrayLike) -> Doubles:
    """Check a grid of running bounds, which may be empty."""
    array = validation.doubles(name, value, ndim=1)
    if (array <= 0.0).any() or (np.diff(array) <= 0.0).any():
        raise ValueError(f"{name} must be positive and ascend")
    return array


class Monitor:
    """Evidence against a privacy claim that is valid at any time: look after each round, and stop.

    Each round is bet on with information from earlier rounds. If the claim is true, the wealth of
    these bets, the e-value, ever reaches ``1 / (1 - confidence)`` with probability at most
    ``1 - confidence``. No number of rounds is fixed beforehand.

    Parameters
    ----------
    claim : tuple of float, TradeOff or None
        ``(epsilon, delta)``, or a curve of shape () of "member" against "not a member"; None for
        running bounds only.
    confidence : float
        Probability, in (0, 1), with which a true claim is never refuted, and with which no running
        bound is ever above the truth.
    delta : float, optional
        Delta of the running bounds on epsilon, in [0, 1); None is that of the claim. Without any,
        there are no such bounds.
    design : {"coins", "pairs"}
        ``"coins"``: the membership of each round is a coin, thrown when the round is played; what
        else is played may depend on all that went before. ``"pairs"``: memberships in any order;
        the i-th round with the target is paired with the i-th without it. The two are alike, and no
        round after the first of them and up to the second depends on the first's score.
    epsilons : array_like, optional
        Ascending values that running bounds on epsilon take; None is 0.05, 0.1, ..., 10, and ``()``
        is none, which is faster.
    mus : array_like
        Ascending values that running bounds on mu take.
    inclusion : float
        Probability, in [1e-6, 1 - 1e-6], with which a coin says member.
    history : int
        After so many rounds, at least 4, the edges between groups of scores stay where they are,
        and scores are no longer kept.

    Attributes
    ----------
    rounds, members : int
        How many rounds there were, and those with the target.
    waiting : int
        Rounds that wait for the other half of their pair.
    e_value, log_e_value : float
        The evidence now, and its natural logarithm; 1 and 0 before any round.
    p_value : float
        1 over the largest e-value so far, rounded up, at most 1: valid at every moment.
    refuted : bool
        Whether ``p_value`` is at most 1 - confidence; stays true.
    claim : tuple, str or None
        (epsilon, delta), or the name of the curve.
    confidence, delta, design, epsilons, mus, inclusion, history
        As given.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold.

    Raises
    ------
    ValueError
        If a number is outside its range, a grid does not ascend, there is nothing to bet against,
        or `epsilons` are given without any delta.
    TypeError
        If an argument has the wrong type.

    Notes
    -----
    A share r of members is learned in groups of extreme scores and in bins. With q = e^epsilon / (1
    + e^epsilon) and r cut to [1 - q, q], the wealth grows by r over the cut share if the round has
    a member and by (1 - r) over the rest otherwise, and is divided by the most that delta can add
    to the mean of this factor. The wealths of 48 groups and of the bins are averaged with fixed
    weights. A curve is bet against by tangents, hockey sticks that it allows.

    The numbers do not depend on how rounds are cut into updates, nor on a monotone map of all
    scores. Scores that drift are valid, but useless; put them on one scale with what earlier rounds
    showed. Running bounds on epsilon hold for one delta; several need several monitors, each at its
    own share of 1 - confidence.

    References
    ----------
    J. Ville, "Etude critique de la notion de collectif" (1939). I. Waudby-Smith and A. Ramdas,
    "Estimating means of bounded random variables by betting" (2024). Other audits that may stop at
    any time: Gonzalez et al., "Sequentially auditing differential privacy" (NeurIPS 2025, arXiv
    2509.07055); Kutta et al., "Sequential auditing for f-differential privacy" (2026,
    arXiv 2602.06518), of curves.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.audit import Monitor
    >>> rng = np.random.default_rng(0)
    >>> monitor = Monitor((1.0, 1e-5))
    >>> while not monitor.refuted:
    ...     member = rng.random() < 0.5
    ...     monitor.update([rng.normal(2.0 * member)], [member])
    >>> 20 < monitor.rounds < 200, monitor.e_value >= 20.0, monitor.epsilon() >= 1.0
    (True, True, True)
    """

    __slots__ = ("_doubted", "_origins", "_setup", "_wealth")

    def __init__(
        self,
        claim: object,
        *,
        confidence: float = 0.95,
        delta: float | None = None,
        design: str = "coins",
        epsilons: npt.ArrayLike | None = None,
        mus: npt.ArrayLike = (),
        inclusion: float = 0.5,
        history: int = 1_000_000,
    ) -> None:
        self._setup = make_setup(
            claim_of(claim),
            confidence=confidence,
            delta=delta,
            design=design,
            epsilons=epsilons,
            mus=mus,
            inclusion=inclusion,
            history=history,
        )
        self._wealth = self._setup.wealth()
        self._origins: frozenset[str] = frozenset()
        self._doubted = design == "pairs"  # that the coins may be none

    @classmethod
    def _from_parts(cls, setup: Setup, wealth: _core.Wealth, origins: frozenset[str]) -> Monitor:
        monitor = cls.__new__(cls)
        monitor._setup, monitor._wealth, monitor._origins = setup, wealth, origins
        monitor._doubted = setup.design == "pairs"
        return monitor

    def update(self, scores: npt.ArrayLike, member: npt.ArrayLike) -> None:
        """Count rounds, one or many, in the order in which they were played.

        An update that is interrupted (Ctrl-C) has counted the first ``rounds``.

        Parameters
        ----------
        scores : array_like, shape (T,)
            One for each round; larger means member. Any real dtype; ``+-inf`` are legal. Only their
            order is used.
        member : array_like, shape (T,)
            Whether the target was a member in that round: bool, or 1 and 0. One class alone is no
            error.

        Raises
        ------
        ValueError
            If an argument is not 1-D, lengths differ, ``scores`` holds NaN, or `member` anything
            but True/False or 1/0. Nothing is counted then.
        TypeError
            If an argument is not an array of real numbers.

        Warns
        -----
        UserWarning
            Once, with coins: if the shares of members and non-members are hardly those of such
            coins, or if the first update has exactly as many members as non-members, in an order or
            a number that coins rarely give.

        Examples
        --------
        >>> from leakscore.audit import Monitor
        >>> monitor = Monitor((1.0, 0.0))
        >>> monitor.update([0.3, 2.0, -1.0], [False, True, False])
        >>> monitor
        Monitor((1.0, 0.0), rounds=3, e_value=1)
        """
        values = validation.real_array("scores", scores)
        if values.size or values.ndim != 1:
            values = validation.sample("scores", values)
        bits = validation.real_array("member", member)
        if bits.shape != values.shape:
            raise ValueError(
                f"scores of shape {values.shape} and member of shape {bits.shape} must have "
                "one entry for each round"
            )
        inside = validation.flags("member", bits, values.size)
        numbers = np.ascontiguousarray(values, dtype=np.float64)
        if np.isnan(numbers).any():
            raise ValueError("scores must hold no NaN")
        first = self.rounds == 0
        if numbers.size and not self._origins:  # copies of a monitor without rounds share none
            self._origins = frozenset({secrets.token_hex(16)})
        for start in range(0, numbers.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            self._wealth.add(numbers[block], np.ascontiguousarray(inside[block]))
        # Of updates of few rounds only some look at the coins, which takes as long as a bet.
        if not self._doubted and self.rounds % _CHECK_EVERY < numbers.size:
            self._doubted = self._doubt(inside if first else inside[:0])

    def _doubt(self, first: Flags) -> bool:
        return warn_of_unfair(self.members, self.rounds, self.inclusion) or (
            self.inclusion == 0.5 and warn_of_fixed(first)
        )

    @property
    def rounds(self) -> int:
        return self._wealth.counts()[0]

    @property
    def members(self) -> int:
        return self._wealth.counts()[1]

    @property
    def waiting(self) -> int:
        return self._wealth.counts()[2]

    @property
    def log_e_value(self) -> float:
        self._require_claim()
        return self._wealth.log_wealth(0)

    @property
    def e_value(self) -> float:
        log = self.log_e_value
        return math.exp(log) if log < 709.0 else math.inf

    @property
    def p_value(self) -> float:
        self._require_claim()
        return min(1.0, math.exp(-self._wealth.log_peaks()[0]))

    @property
    def refuted(self) -> bool:
        return self.p_value <= 1.0 - self.confidence

    def epsilon(self, delta: float | None = None) -> float:
        """Return the running lower bound on epsilon.

        Parameters
        ----------
        delta : float, optional
            That of the monitor; bounds of another delta would not hold together with these.

        Returns
        -------
        float
            With probability ``confidence`` it is at no time above the true epsilon: the last of
            `epsilons` up to which all were refuted, or 0. It never falls.

        Raises
        ------
        ValueError
            If the monitor has no `epsilons`, or another delta.

        Examples
        --------
        >>> from leakscore.audit import Monitor
        >>> monitor = Monitor(None, delta=0.0)
        >>> monitor.update(range(60), [False] * 30 + [True] * 20 + [False] * 2 + [True] * 8)
        >>> monitor.epsilon()
        0.95
        """
        if not self.epsilons:
            raise ValueError(
                "The monitor must have epsilons: pass delta=, of which running bounds are"
            )
        if delta is not None:
            at = validation.scalar("delta", delta, 0.0, 1.0, closed="left")
            if at != self.delta:
                raise ValueError(
                    f"delta={at!r} must be that of the monitor, {self.delta!r}: another "
                    "delta needs another monitor, and its share of 1 - confidence"
                )
        first = len(self._setup.claim.tangents[:1])
        return self._last_refuted(self.epsilons, first)

    def mu(self) -> float:
        """Return the running lower bound on mu, of the claims "mu-GDP".

        Returns
        -------
        float
            The last of ``mus`` up to which all were refuted, or 0. No mechanism that is mu-GDP for
            a smaller mu gives such scores, at this confidence.

        Raises
        ------
        ValueError
            If the monitor has no ``mus``.

        Examples
        --------
        >>> from leakscore.audit import Monitor
        >>> Monitor(None, mus=[0.5, 1.0, 2.0]).mu()
        0.0
        """
        if not self.mus:
            raise ValueError("The monitor must have mus, the values that the bound may take")
        return self._last_refuted(
            self.mus, len(self._setup.claim.tangents[:1]) + len(self.epsilons)
        )

    def merge(self, other: Monitor) -> Monitor:
        """Return a new monitor whose e-value is the product of both.

        The rounds of the parts are independent: other workers, other data. What to merge is decided
        before looking; a part's refutation no longer counts, only the product's. Halves of pairs
        that wait in either part are never bet on. The new monitor learns from the rounds of both.

        A monitor draws a random identity at its first round. Copies, bytes and merged monitors
        carry it, so that no round is counted twice. Copies of a monitor without rounds have none:
        send those to workers.

        Parameters
        ----------
        other : Monitor
            Of other rounds, with the same arguments.

        Returns
        -------
        Monitor

        Raises
        ------
        ValueError
            If `other` shares rounds with this monitor, as a copy does, merged or not, or was set up
            with other arguments.
        TypeError
            If `other` is not a Monitor.

        Examples
        --------
        >>> from leakscore.audit import Monitor
        >>> Monitor((1.0, 0.0)).merge(Monitor((1.0, 0.0)))
        Monitor((1.0, 0.0), rounds=0, e_value=1)
        """
        validation.instance("other", other, Monitor)
        if other is self or self._origins & other._origins:
            raise ValueError(
                "other must hold other rounds: it is the same monitor, or both hold rounds "
                "of one monitor and its copy"
            )
        differing = [
            name
            for name in Setup.__dataclass_fields__
            if getattr(self._setup, name) != getattr(other._setup, name)
        ]
        if differing:
            raise ValueError(f"other must have the same {', '.join(differing)}")
        origins = self._origins | other._origins
        return self._from_parts(self._setup, self._wealth.merged(other._wealth), origins)

    def to_bytes(self) -> bytes:
        """Return all that is needed to go on elsewhere, to the last bit.

        Returns
        -------
        bytes
            Of at most 17 bytes for each round that ``history`` keeps, and some kilobytes, with the
            random identity of the rounds: see `merge`.

        Examples
        --------
        >>> from leakscore.audit import Monitor
        >>> monitor = Monitor((1.0, 0.0))
        >>> Monitor.from_bytes(monitor.to_bytes())
        Monitor((1.0, 0.0), rounds=0, e_value=1)
        """
        fields = dataclasses.asdict(self._setup) | {"origins": sorted(self._origins)}
        parts = json.dumps(fields, allow_nan=False).encode(), self._wealth.state()
        return results.pack("monitor", _VERSION, [np.frombuffer(part, np.uint8) for part in parts])

    @classmethod
    def from_bytes(cls, data: bytes) -> Monitor:
        """Return the monitor from which `to_bytes` made these bytes. Nothing in them is run.

        Parameters
        ----------
        data : bytes
            Of `to_bytes`. Of a claim that was a curve the tangents are kept, and the name.

        Returns
        -------
        Monitor

        Raises
        ------
        ValueError
            If they are not the bytes of a monitor, or of another version, or some are missing or
            changed.
        TypeError
            If `data` is not bytes.
        """
        arrays = results.unpack("monitor", _VERSION, data, "Monitor.to_bytes()")
        try:
            return cls._from_parts(*_unpack_state(*arrays))
        except _FORGED as error:
            raise ValueError(f"data must hold a monitor: {error}") from None

    def __reduce__(self) -> tuple[Callable[[bytes], Monitor], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    @property
    def claim(self) -> tuple[float, float] | str | None:
        return self._setup.claim.name

    @property
    def confidence(self) -> float:
        return self._setup.confidence

    @property
    def delta(self) -> float | None:
        return self._setup.delta

    @property
    def design(self) -> str:
        return self._setup.design

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self._setup.epsilons

    @property
    def mus(self) -> tuple[float, ...]:
        return self._setup.mus

    @property
    def inclusion(self) -> float:
        return self._setup.inclusion

    @property
    def history(self) -> int:
        return self._setup.history

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (*of_monitor(self.design), *self._setup.claim.assumptions)

    def _require_claim(self) -> None:
        if not self._setup.claim.tangents:
            raise ValueError("The monitor must have a claim: this one has running bounds only")

    def _last_refuted(self, grid: tuple[float, ...], first: int) -> float:
        """Return the last value of the initial run of refuted values; later ones prove nothing."""
        peaks: Doubles = np.array(self._wealth.log_peaks()[first : first + len(grid)])
        open_ = np.append(peaks < -math.log(1.0 - self.confidence), True)
        run = int(np.argmax(open_))
        return grid[run - 1] if run else 0.0

    def __repr__(self) -> str:
        evidence = f", e_value={self.e_value:.4g}" if self._setup.claim.tangents else ""
        return f"Monitor({self.claim}, rounds={self.rounds}{evidence})"


def _unpack_state(head: Array, state: Array) -> tuple[Setup, _core.Wealth, frozenset[str]]:
    """Return setup, wealth and identities of the rounds, validated like a user's arguments."""
    fields = json.loads(head.tobytes())
    origins = fields.pop("origins")
    name, rows, _, assumptions = fields.pop("claim")
    for strings in (origins, assumptions):
        if not isinstance(strings, list) or not all(isinstance(text, str) for text in strings):
            raise ValueError("identities of rounds and assumptions must be strings")
    if isinstance(name, str):
        tangents = tuple((float(at), float(to), float(back)) for at, to, back in rows)
        if not tangents or not all(0.0 <= x < math.inf for row in tangents for x in row):
            raise ValueError("the claim has no tangents")
        claim = WatchedClaim(name, tangents, None, tuple(assumptions))
    else:
        claim = claim_of(name)
    setup = make_setup(claim, **fields)
    wealth = setup.wealth()
    wealth.restore(state.tobytes())
    if bool(origins) != bool(wealth.counts()[0]):
        raise ValueError("its rounds have no identity")
    return setup, wealth, frozenset(origins)


def warn_of_unfair(members: int, rounds: int, inclusion: float) -> bool:
    """Warn if the shares of members and non-members refute the coin; True if they do."""
    others = rounds - members
    # The mean over Beta(1/2, 1/2) of the likelihood ratio of a coin: a martingale, if it is fair.
    mixture = math.lgamma(members + 0.5) + math.lgamma(others + 0.5) - math.lgamma(rounds + 1.0)
    null = members * math.log(inclusion) + others * math.log1p(-inclusion)
    if mixture - math.log(math.pi) - null < _EVIDENCE:
        return False
    warnings.warn(
        f"{members} of {rounds} rounds have a member, which hardly happens with coins that say "
        f"member with probability {inclusion:g}: evidence from such rounds does not hold. Other "
        "coins: inclusion=; numbers fixed beforehand: design='pairs'",
        stacklevel=3,
    )
    return True


def warn_of_fixed(member: Flags) -> bool:
    """Warn if exactly half are members, in an order or a number that is rare; True if so."""
    rounds = member.size
    if rounds < _FEWEST or 2 * int(member.sum()) != rounds:
        return False
    changes = int((member[1:] != member[:-1]).sum())
    orderly = abs(changes - rounds / 2.0) > _ORDERLY * math.sqrt(rounds) / 2.0
    if not orderly and rounds < _MANY:
        return False
    warnings.warn(
        f"Exactly half of {rounds} rounds have a member: if these numbers were fixed beforehand, "
        "the memberships were no coins, and only design='pairs' is valid",
        stacklevel=3,
    )
    return True
