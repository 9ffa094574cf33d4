"""Play a mechanism against a privacy claim, and bet."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from leakscore import validation
from leakscore.audit import Monitor
from leakscore.audit.monitor import claim_of
from leakscore.results import Result
from leakscore.testing._attacks import (
    Event,
    Failures,
    Mechanism,
    Score,
    ScoreAttack,
    attacks,
    best_event,
    played,
    table,
)
from leakscore.tradeoff import TradeOff
from leakscore.typing import Doubles, Flags, Seed

_LEARNED = 0.3  # of the rounds; these are never bet on
_KEPT = 2  # attacks, each with its own monitor
_BLOCK = 20  # rounds between two looks
_FEWEST, _MOST = 100, 10_000_000


@dataclass(frozen=True, eq=False)
class PrivacyCheck(Result):
    """What playing a mechanism showed about a claim; see `check_private`.

    Attributes
    ----------
    refuted : bool
        Whether the claim is refuted at this confidence.
    p_value : float
        Valid although the rounds ended as soon as it was small enough.
    e_value : float
        The evidence at the end.
    rounds : int
        Rounds that were played, those that taught the attacks included.
    witness : str
        What distinguishes the two data sets; or that nothing did, in how many rounds.
    claim : tuple or str
        (epsilon, delta), or the name of the curve.
    confidence : float
        As given.
    seed : int or None
        As `rng` it repeats the check; None if `rng` was an object that its owner has.

    Examples
    --------
    >>> from leakscore.testing import check_private
    >>> found = check_private(lambda data, rng: data + rng.laplace(), 0.0, 1.0, claim=(1.0, 0.0))
    >>> found.refuted, found.witness
    (False, 'not refuted in 4000 rounds')
    """

    refuted: bool
    p_value: float
    e_value: float
    rounds: int
    witness: str
    claim: tuple[float, float] | str
    confidence: float
    seed: int | None = None

    def require_unrefuted(self, rng: object) -> None:
        """Raise AssertionError if the claim is refuted.

        Parameters
        ----------
        rng : object
            What repeats the check.

        Raises
        ------
        AssertionError
            With the claim, the event and how often it was seen, the p-value, the rounds and `rng`.

        Examples
        --------
        >>> from leakscore.testing import check_private
        >>> found = check_private(lambda data, rng: data, 0, 1, claim=(1.0, 0.0), rng=5)
        >>> found.require_unrefuted(rng=5)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        AssertionError: the claim (1.0, 0.0) is refuted: ... rng=5
        """
        __tracebackhide__ = True
        if self.refuted:
            raise AssertionError(
                f"the claim {self.claim} is refuted: {self.witness}; p-value {self.p_value:.3g} "
                f"after {self.rounds} rounds, confidence {self.confidence:g}, rng={rng}. This is "
                "about each answer given all earlier ones"
            )


def check_private(
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    *,
    claim: tuple[float, float] | TradeOff,
    rounds: int = 4000,
    confidence: float = 0.95,
    rng: Seed = 0,
) -> PrivacyCheck:
    """Try to refute that a mechanism keeps a privacy claim on two neighbouring data sets.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng)``, all randomness from `rng`, a `numpy.random.Generator`. Returns
        numbers, bools, strings, None, arrays, or tuples, lists and dicts of them. What it raises is
        an output too, but one round at least must return something.
    data, neighbour : object
        Two neighbouring data sets: those with and without the target. Each call gets a copy.
    claim : tuple of float or TradeOff
        ``(epsilon, delta)``, or a curve.
    rounds : int
        The most rounds to play, at least 100; fewer if the claim is refuted.
    confidence : float
        Probability, in (0, 1), with which a true claim is not refuted.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Of the coins and of the mechanism, each with a stream of its own; None: fresh entropy. The
        result keeps the seed.

    Returns
    -------
    PrivacyCheck
        If nothing is found, it says so; this never shows that the mechanism is private.

    Raises
    ------
    ValueError
        If a number is outside its range, or an output has more than 10,000 numbers or is nested
        too deeply. If nothing was tested: `data` and `neighbour` are alike, or no round returned
        anything but None or an empty container.
    TypeError
        If an argument has the wrong type, or an output is something else than the above.

    Warns
    -----
    UserWarning
        If the same data and the same state of `rng` give two different outputs: then the mechanism
        draws from elsewhere or keeps a state, and the check cannot be repeated. If less than a
        tenth of the rounds returned an output, and nothing was found.

    Notes
    -----
    The check holds if each answer keeps the claim given all earlier ones. A mechanism with a state
    does not, though each answer alone may: noise that is drawn once, or from a pool, is learned
    from earlier answers, and the claim is refuted.

    The first three tenths of the rounds teach: half of them fit attacks, half choose two. Two
    `Monitor`, whose e-values are averaged, bet on the other rounds only. The attacks look at exact
    values, single numbers, their ranges and low bits, and combinations.

    Examples
    --------
    >>> from leakscore.testing import check_private
    >>> def noisy_count(data, rng):
    ...     return sum(data) + rng.laplace(scale=0.5)  # 1 was meant
    >>> found = check_private(noisy_count, [1, 0, 1], [1, 0], claim=(1.0, 0.0))
    >>> found.refuted, found.rounds < 4000
    (True, True)
    """
    if not callable(mechanism):
        raise TypeError(f"mechanism={mechanism!r} must be a function of data and rng")
    if claim is None:
        raise TypeError("claim=None must be (epsilon, delta) or a leakscore.tradeoff.TradeOff")
    epsilons = np.unique([row[0] for row in claim_of(claim).tangents])
    most = validation.count("rounds", rounds, _FEWEST, _MOST)
    if _same(data, neighbour):
        raise ValueError("data and neighbour must differ: nothing would be tested")
    betting = Monitor(claim, confidence=confidence, epsilons=())
    generator, seed = validation.seeded("rng", rng)
    game = _CheckedGame.of(mechanism, data, neighbour, generator)
    if not game.repeats():
        warnings.warn(
            "mechanism gave two different outputs from the same data and the same state of rng: it "
            "draws from elsewhere, or keeps a state. The check holds if each answer keeps the "
            "claim given all earlier ones, and rng does not repeat it",
            stacklevel=2,
        )
    first = int(_LEARNED * most)
    member = game.toss(first)
    learned = table(game.play(member)[1])
    kept = _chosen(learned, member, epsilons)
    if kept:
        monitors = [Monitor(claim, confidence=confidence, epsilons=()) for _ in kept]
        bets = _bet(game, kept, monitors, rounds=most - first, learned=learned, epsilons=epsilons)
    else:
        words = f"not refuted in {first} rounds; all outputs were alike, and the check ended"
        bets = _Bets(first, words, refuted=False)
    return PrivacyCheck(
        refuted=bets.refuted,
        p_value=min(1.0, math.exp(-bets.peak)),
        e_value=math.exp(bets.now) if bets.now < 709.0 else math.inf,
        rounds=bets.rounds,
        witness=bets.witness + ("" if bets.refuted else game.failures.described(bets.rounds)),
        claim=betting.claim or "",
        confidence=betting.confidence,
        seed=seed,
    )


def _same(data: Any, neighbour: Any) -> bool:
    """Whether two data sets are one object, or alike to the last byte."""
    if data is neighbour:
        return True
    try:
        return pickle.dumps(data) == pickle.dumps(neighbour)
    except Exception:  # what cannot be pickled is not known to be alike
        return False


def assert_private(
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    *,
    claim: tuple[float, float] | TradeOff,
    rounds: int = 4000,
    confidence: float = 0.95,
    rng: Seed = 0,
) -> None:
    """Raise AssertionError if a mechanism is shown to break a privacy claim.

    Parameters
    ----------
    mechanism, data, neighbour, claim, rounds, confidence, rng
        As of `check_private`.

    Raises
    ------
    AssertionError
        If the claim is refuted: with the claim, the event and how often it was seen, the p-value,
        the rounds and `rng`.
    ValueError, TypeError
        As of `check_private`.

    Examples
    --------
    >>> from leakscore.testing import assert_private
    >>> assert_private(lambda data, rng: data + rng.laplace(), 0.0, 1.0, claim=(1.0, 0.0))
    """
    check = check_private(
        mechanism,
        data,
        neighbour,
        claim=claim,
        rounds=rounds,
        confidence=confidence,
        rng=rng,
    )
    check.require_unrefuted(check.seed if rng is None else rng)


@dataclass(frozen=True)
class _CheckedGame:
    """Rounds of a mechanism, with coins and noise of separate streams."""

    mechanism: Mechanism
    sides: tuple[Any, Any]
    coins: np.random.Generator
    noise: np.random.Generator
    failures: Failures = field(default_factory=Failures)

    @classmethod
    def of(
        cls, mechanism: Mechanism, data: Any, neighbour: Any, rng: np.random.Generator
    ) -> _CheckedGame:
        words = rng.integers(0, 2**32, (2, 4), dtype=np.uint64).tolist()
        coins, noise = (np.random.default_rng([stream, *seed]) for stream, seed in enumerate(words))
        return cls(mechanism, (neighbour, data), coins, noise)

    def repeats(self) -> bool:
        """Whether all randomness is that of the generator, as far as two calls tell."""
        same = (copy.deepcopy(self.noise), copy.deepcopy(self.noise))
        data = self.sides[1]
        first, again = (
            played(self.mechanism, copy.deepcopy(data), rng, Failures())[1] for rng in same
        )
        return first == again

    def toss(self, rounds: int) -> Flags:
        return np.asarray(self.coins.random(rounds) < 0.5)

    def play(self, member: Flags) -> tuple[list[object], list[list[float]]]:
        """Return one output for each coin; a mechanism may change its data, so it gets copies."""
        answers = [
            played(self.mechanism, copy.deepcopy(self.sides[side]), self.noise, self.failures)
            for side in member.astype(int).tolist()
        ]
        return [answer for answer, _ in answers], [numbers for _, numbers in answers]


def _chosen(rows: Doubles, member: Flags, epsilons: Doubles) -> list[tuple[ScoreAttack, Score]]:
    """Fit on the first half, rank on the second, and fit the best again on both."""
    half = len(rows) // 2
    if min(member[:half].sum(), (~member[:half]).sum()) == 0 or (rows == rows[0]).all():
        return []
    ranked = []
    for attack in attacks(rows[:half]):
        scores = _finite(attack.fit(rows[:half], member[:half])(rows[half:]))
        ranked.append((best_event(scores, member[half:], epsilons).log_wealth, attack))
    ranked.sort(key=lambda pair: -pair[0])
    return [(attack, attack.fit(rows, member)) for _, attack in ranked[:_KEPT]]


class _Bets(NamedTuple):
    """How many rounds were played, and the logarithm of the wealth: its peak, and in the end."""

    rounds: int
    witness: str
    refuted: bool
    peak: float = 0.0
    now: float = 0.0


def _bet(
    game: _CheckedGame,
    kept: list[tuple[ScoreAttack, Score]],
    monitors: list[Monitor],
    *,
    rounds: int,
    learned: Doubles,
    epsilons: Doubles,
) -> _Bets:
    """Bet on further rounds until the claim is refuted or all are played."""
    bits: list[Flags] = []
    scores: list[list[Doubles]] = [[] for _ in kept]
    ends: list[dict[bool, tuple[float, object]]] = [{} for _ in kept]  # of the scores
    played_rounds, peak, now = 0, 0.0, 0.0
    limit = -math.log(1.0 - monitors[0].confidence)
    while played_rounds < rounds and (peak < limit or not bits):
        member = game.toss(min(_BLOCK, rounds - played_rounds))
        answers, numbers = game.play(member)
        rows = table(numbers, learned.shape[1])
        for (_, score), monitor, seen, end in zip(kept, monitors, scores, ends, strict=True):
            seen.append(_finite(score(rows)))
            for highest, far in ((True, seen[-1]), (False, -seen[-1])):
                at = int(far.argmax())
                if highest not in end or far[at] > end[highest][0]:
                    end[highest] = (float(far[at]), answers[at])
            with warnings.catch_warnings():  # the coins are fair, however they look
                warnings.simplefilter("ignore", UserWarning)
                monitor.update(seen[-1], member)
        bits.append(member)
        played_rounds += member.size
        # Of averages: the largest of several e-values would be none.
        now = float(np.logaddexp.reduce([m.log_e_value for m in monitors]) - math.log(len(kept)))
        peak = max(peak, now - 2.0**-44 * played_rounds)
    total = len(learned) + played_rounds
    best = max(range(len(kept)), key=lambda i: monitors[i].log_e_value)
    words = f"not refuted in {total} rounds"
    if peak >= limit:
        seen_scores = np.concatenate(scores[best])
        event = best_event(seen_scores, np.concatenate(bits), epsilons)
        words = kept[best][0].event(
            event.threshold, ends[best][event.highest][1], highest=event.highest
        )
        words += _counted(event, seen_scores, np.concatenate(bits))
    return _Bets(total, words, refuted=peak >= limit, peak=peak, now=now)


def _counted(event: Event, scores: Doubles, member: Flags) -> str:
    """Say how often an event was seen with either data set."""
    hit = scores >= event.threshold if event.highest else scores <= event.threshold
    rates = f" in {int((hit & member).sum())} of {int(member.sum())} rounds with data, "
    return rates + f"{int((hit & ~member).sum())} of {int((~member).sum())} with neighbour"


def _finite(scores: Doubles) -> Doubles:
    return np.nan_to_num(scores, nan=0.0, posinf=1e308, neginf=-1e308)
