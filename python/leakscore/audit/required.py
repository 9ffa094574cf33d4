"""The number of rounds that an audit needs to certify an epsilon, before any is played."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leakscore import validation
from leakscore.audit.bands import BAND_METHODS, Band, band
from leakscore.audit.claims import one_curve
from leakscore.audit.monitor import Monitor, Setup, claim_of, make_setup
from leakscore.distributions import norm
from leakscore.results import Result
from leakscore.tradeoff import TradeOff
from leakscore.tradeoff.polygon import Polygon
from leakscore.tradeoff.premise import premise_in, settled
from leakscore.typing import Doubles, Flags, Indices

_REPS = (500, 2000)  # simulated audits of each number of rounds tried
_FINAL = 4  # times as many for the returned number of rounds
_DRAWS = 1_000_000  # simulated scores; if an audit has more, fewer audits are simulated
_BLOCK_SCORES = 1 << 20  # simulated scores in memory
_SPACING = 0.2  # of the simulated counts, in their standard deviations
_FAR = 5.0  # standard deviations; larger deviations of a rate are neglected
_CLOSE = 1.01  # ratio of the ends of the final bracket
_MOST = 10**7


_LONGEST = 200_000  # rounds of a simulated audit
_PILOTS = 16
_SEARCHED = (50, 400, 4_000_000)  # audits, and rounds of all of them together
_PLAYED = (50, 800, 8_000_000)
_FIRST, _SHARE = 4, 32  # rounds of a block: at least 4, or 1/32 of those played
_DRAWN_AT_ONCE = 8192  # rounds


@dataclass(frozen=True, eq=False)
class RequiredRounds(Result):
    """The number of rounds that an audit needs, and its power with them; see `required_rounds`.

    Attributes
    ----------
    rounds : int
        Rounds with the target, and as many without it; of a monitor half of all rounds.
    power : float
        Simulated probability that the bound exceeds `epsilon`.
    standard_error : float
        Of `power`, from the number of simulated audits.
    max_certifiable : float
        The bound that perfectly separated scores would give with these rounds.
    epsilon, delta, confidence : float
        As given.
    method : str
        As given.
    neighbours : {"replace", "add-remove"} or None
        What the planned rounds without the target hold instead: the stated relation, or that of the
        curve, if it has one.
    assumptions : tuple of str
        What the curve assumes about the mechanism, in words.

    Examples
    --------
    >>> from leakscore.audit import required_rounds
    >>> from leakscore.tradeoff import gaussian
    >>> plan = required_rounds(gaussian(3.0), epsilon=1.0, delta=1e-5, method="dkw")
    >>> int(plan) == plan.rounds, plan.max_certifiable > 1.0
    (True, True)
    """

    rounds: int
    power: float
    standard_error: float
    max_certifiable: float
    epsilon: float
    delta: float
    confidence: float
    method: str
    neighbours: str | None
    assumptions: tuple[str, ...]

    def __int__(self) -> int:
        return self.rounds


def required_rounds(
    tradeoff: TradeOff,
    *,
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.95,
    power: float = 0.8,
    method: str = "weighted-ell",
    neighbours: str | None = None,
) -> RequiredRounds:
    """Return how many rounds an audit needs for its bound to exceed `epsilon` with some power.

    Parameters
    ----------
    tradeoff : TradeOff
        The curve, of shape (), that the scores of the planned audit attain: that of the mechanism
        if they are the best possible, or that of the attack. For a curve that is known within
        bounds the upper curve counts, which an attacker attains.
    epsilon : float
        The value that ``Audit.epsilon(delta, confidence, method)`` must exceed; at least 0.
    delta : float
        In [0, 1).
    confidence : float
        Of the bound; in (0, 1).
    power : float
        Probability, in (0, 1), over the rounds, with which the bound exceeds `epsilon`.
    method : str
        The band around the error rates, as in `Audit.epsilon`: one that holds at all thresholds at
        once; its default, "four-outcomes", needs fewer rounds. Or ``"monitor"``: a `Monitor` of the
        claim (epsilon, delta) with fair coins, that is looked at after every round and ends when
        the claim is refuted.
    neighbours : {"replace", "add-remove"}, optional
        What the planned rounds without the target hold instead, as in `Audit.compare`: it must be
        the curve's relation.

    Returns
    -------
    RequiredRounds
        Always the same for the same arguments.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, the curve has another shape than () or is about other
        `neighbours`, or `epsilon` is at least the curve's epsilon(delta), which no number of rounds
        can show.
    RuntimeError
        If more than 1e7 rounds of each kind are needed; of a monitor, more than 1e5.

    Notes
    -----
    In n rounds without the target the false positive rates of the best scores are n uniform
    numbers; in n rounds with it the true positive rates are too. The bound exceeds `epsilon` iff
    for some k0 the threshold just below the (k0 + 1)-th largest non-member misses at most h(k0)
    members, where h follows from the band only: with order statistics U and W of n uniform numbers
    each,

    ``W_(n - h(k0)) <= power(U_(k0 + 1))``  for some k0.

    This is simulated, with a fixed seed, by drawing only the order statistics that matter (all of
    the first ranks, then at distances of 0.2 standard deviations). Secant steps on the logarithm
    search the number of rounds, to 1 %, with 500 to 2000 audits each, and the power of the result
    comes from four times as many other audits. The spacing makes the power too small, by less than
    0.01 wherever it was measured.

    Of a monitor whole audits are simulated, 50 to 400 until they refute, to 3 % or 4 rounds: the
    result is half of a quantile of theirs. 50 to 800 others give the power.

    Examples
    --------
    >>> from leakscore.tradeoff import gaussian
    >>> plan = required_rounds(gaussian(3.0), epsilon=2.0, delta=1e-5, method="dkw")
    >>> 250 < plan.rounds < 260, 0.75 < plan.power < 0.9, plan.standard_error < 0.005
    (True, True, True)
    >>> watched = required_rounds(gaussian(3.0), epsilon=1.0, delta=1e-5, method="monitor")
    >>> 10 < watched.rounds < 40, watched.standard_error < 0.02
    (True, True)
    """
    curve = one_curve("tradeoff", tradeoff).upper
    relation = settled(premise_in(curve), neighbours, tradeoff)
    goal = validation.scalar("epsilon", epsilon, 0.0)
    miss = validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    aim = validation.scalar("power", power, 0.0, 1.0, closed="neither")
    chosen = validation.choice("method", method, (*BAND_METHODS, "monitor"))
    true = float(curve.epsilon(miss))
    if goal >= true:
        raise ValueError(
            f"epsilon={goal!r} must be below the {true:.6g} of {tradeoff!r} at delta={miss!r}: no "
            "number of rounds shows more than there is"
        )
    claim: dict[str, Any] = {"curve": curve, "epsilon": goal, "delta": miss, "confidence": level}
    plan: WatchedPlan | BandPlan
    plan = WatchedPlan(**claim) if chosen == "monitor" else BandPlan(**claim, method=chosen)
    rounds = plan.search(aim)
    reached, error = plan.simulated(rounds)
    return RequiredRounds(
        rounds=rounds,
        power=reached,
        standard_error=error,
        max_certifiable=plan.cap(rounds),
        epsilon=goal,
        delta=miss,
        confidence=level,
        method=chosen,
        neighbours=relation,
        assumptions=curve.assumptions,
    )


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """Audits of a mechanism whose scores attain a curve, with a claim (epsilon, delta).

    Subclasses find the least number of rounds with a power (`search`), simulate the share of
    audits that succeed and its error (`simulated`), and compute the bound of separated scores
    (`cap`).
    """

    curve: TradeOff
    epsilon: float
    delta: float
    confidence: float


def _success_rate(successes: int, runs: int) -> tuple[float, float]:
    """Return a share and its standard error."""
    smoothed = (successes + 1.0) / (runs + 2.0)
    return successes / runs, math.sqrt(smoothed * (1.0 - smoothed) / runs)


@dataclass(frozen=True, kw_only=True)
class BandPlan(_Plan):
    """Audits of a fixed number of rounds."""

    method: str

    def _band(self, rounds: int) -> Band:
        return band(self.method, rounds, (1.0 - self.confidence) / 2.0)

    def cap(self, rounds: int) -> float:
        least = float(self._band(rounds)(np.zeros(1, dtype=np.intp))[0])
        return max(float(np.log(max(1.0 - self.delta - least, 0.0) / least)), 0.0)

    def _allowed_errors(self, rounds: int, errors: Indices) -> Indices:
        """Return the most errors of the other kind at which the bound exceeds epsilon, or -1.

        Both directions of the inequality are tried, as they are symmetric in the kinds.
        """
        band = self._band(rounds)
        bound = band(errors)
        limit = np.maximum(
            1.0 - self.delta - np.exp(self.epsilon) * bound,
            np.exp(-self.epsilon) * (1.0 - self.delta - bound),
        )
        low, high = np.full(errors.shape, -1), np.full(errors.shape, rounds)
        while (high - low > 1).any():  # the bound of `low` is below the limit, of `high` it is not
            middle = np.maximum((low + high) // 2, 0)
            below = band(middle) < limit
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low

    def corners(self, rounds: int) -> tuple[Indices, Indices]:
        """Return the maximal pairs of errors (false positives, false negatives) that suffice."""
        first = _spaced_counts(rounds)
        second = self._allowed_errors(rounds, first)
        possible = second >= 0
        second = second[possible]
        first = self._allowed_errors(rounds, second)  # the most, given these of the other kind
        pairs = np.unique(
            np.concatenate([np.stack([first, second]), np.stack([second, first])], axis=1), axis=1
        )
        return self._plausible_pairs(rounds, pairs)

    def _plausible_pairs(self, rounds: int, pairs: Indices) -> tuple[Indices, Indices]:
        """Leave out pairs that are farther from the curve than scores deviate by chance."""
        alpha, beta = (pairs + 1.0) / rounds
        far = _FAR / np.sqrt(rounds)
        alpha, beta = (
            np.minimum(rate + far * np.sqrt(rate) + far**2, 1.0) for rate in (alpha, beta)
        )
        possible = beta >= self.curve(alpha)
        return pairs[0, possible], pairs[1, possible]

    def simulated(self, rounds: int, effort: int = _FINAL, seed: int = 1) -> tuple[float, float]:
        false_positives, false_negatives = self.corners(rounds)
        if not false_positives.size:
            return 0.0, 0.0
        reps = effort * int(np.clip(_DRAWS // false_positives.size, *_REPS))
        rng = np.random.default_rng(seed)
        block = max(1, _BLOCK_SCORES // false_positives.size)
        successes = 0
        for start in range(0, reps, block):
            size = min(block, reps - start)
            outside = _order_statistics(rng, rounds, false_positives + 1, size)
            inside = _order_statistics(rng, rounds, rounds - false_negatives, size)
            successes += int((inside <= self.curve.power(outside)).any(axis=1).sum())
        return _success_rate(successes, reps)

    def search(self, aim: float) -> int:
        tried: dict[int, float] = {}

        def power(rounds: int) -> float:
            if rounds > _MOST:
                raise RuntimeError(f"More than {_MOST} rounds of each kind are needed")
            tried[rounds] = self.simulated(rounds, effort=1, seed=0)[0]
            return tried[rounds]

        low, high, factor = 0, self._first_guess(), 1.25
        while power(high) < aim:
            low, high, factor = high, int(np.ceil(high * factor)), factor * 1.25
        factor = 1.25
        while low == 0 and high > 1:
            below = int(high / factor)
            factor *= 1.25
            if below == 0:
                break
            low, high = (below, high) if power(below) < aim else (low, below)
        while low and high - low > 1 and high > _CLOSE * low:
            middle = _probit_interpolation((low, tried[low]), (high, tried[high]), aim)
            low, high = (middle, high) if power(middle) < aim else (low, middle)
        return high

    def _first_guess(self) -> int:
        """Return roughly the number of rounds at which the bound reaches epsilon."""
        alpha = norm.cdf(np.linspace(-8.0, 8.0, 321))
        beta = self.curve(alpha)
        level = max(-np.log1p(-self.confidence), 0.5)
        counts = 2.0 ** np.arange(0.0, 24.0, 0.25)[:, np.newaxis]
        fpr, fnr = (
            rate + np.sqrt(2.0 * level * rate * (1.0 - rate) / counts) + level / counts
            for rate in (alpha, beta)
        )
        forward = 1.0 - self.delta - fnr - np.exp(self.epsilon) * fpr
        reverse = 1.0 - self.delta - fpr - np.exp(self.epsilon) * fnr
        enough = (np.maximum(forward, reverse) > 0.0).any(axis=1)
        return int(counts[np.argmax(enough), 0]) if enough.any() else _MOST


def _probit_interpolation(below: tuple[int, float], above: tuple[int, float], aim: float) -> int:
    """Interpolate the rounds at the aimed power, linearly in probits of power over log rounds."""
    (low, under), (high, over) = below, above
    ends = norm.ppf(np.clip([under, aim, over], 0.5 / _REPS[1], 1.0 - 0.5 / _REPS[1]))
    share = (ends[1] - ends[0]) / (ends[2] - ends[0]) if ends[2] > ends[0] else 0.5
    middle = int(low * (high / low) ** float(np.clip(share, 0.1, 0.9)))
    return min(max(middle, low + 1), high - 1)


def _spaced_counts(rounds: int) -> Indices:
    """Return counts below `rounds`: all small and large ones, the others a deviation apart."""
    counts = [0]
    while counts[-1] < rounds - 1:
        last = counts[-1]
        deviation = np.sqrt(last * (rounds - last) / rounds)
        counts.append(min(last + max(1, int(_SPACING * deviation)), rounds - 1))
    return np.array(counts, dtype=np.intp)


def _order_statistics(rng: np.random.Generator, rounds: int, ranks: Indices, size: int) -> Doubles:
    """Draw the order statistics with these ranks, which may repeat, of uniform numbers."""
    distinct, column = np.unique(ranks, return_inverse=True)
    steps = np.diff(distinct, prepend=0, append=rounds + 1).astype(np.float64)
    sums = np.cumsum(rng.standard_gamma(steps, size=(size, steps.size)), axis=1)
    return np.asarray((sums[:, :-1] / sums[:, -1:])[:, column])


@dataclass(frozen=True, kw_only=True)
class WatchedPlan(_Plan):
    """Audits with fair coins by a `Monitor`, which stop at refutation."""

    def search(self, aim: float) -> int:
        rng = np.random.default_rng(0)
        times = [self._stopping_time(rng) for _ in range(_PILOTS)]
        runs = _num_runs(float(np.median(times)), _SEARCHED)
        times += [self._stopping_time(rng) for _ in range(runs - _PILOTS)]
        rounds = float(np.quantile(times, aim, method="inverted_cdf"))
        if not math.isfinite(rounds):
            raise RuntimeError(
                f"More than {_LONGEST // 2} rounds of each kind are needed, which are not simulated"
            )
        return math.ceil(rounds / 2.0)

    def simulated(self, rounds: int) -> tuple[float, float]:
        rng = np.random.default_rng(1)
        runs = _num_runs(2.0 * rounds, _PLAYED)
        times = (self._stopping_time(rng, 2 * rounds) for _ in range(runs))
        return _success_rate(sum(time <= 2 * rounds for time in times), runs)

    def cap(self, rounds: int) -> float:
        monitor = Monitor(None, delta=self.delta, confidence=self.confidence, design="pairs")
        member = np.arange(2 * rounds) % 2
        monitor.update(member, member)
        return monitor.epsilon()

    @cached_property
    def _inverse(self) -> TradeOff:
        return self.curve.inverse()

    @cached_property
    def _setup(self) -> Setup:
        claim = claim_of((self.epsilon, self.delta))
        level = self.confidence
        return make_setup(claim, confidence=level, inclusion=0.5, history=_LONGEST, epsilons=())

    def _stopping_time(self, rng: np.random.Generator, most: int | None = None) -> float:
        """Play one audit; return its rounds until refutation, up to a block, or infinity."""
        wealth = self._setup.wealth()
        enough = -math.log(1.0 - self.confidence)
        played, unused = 0, 0
        most = _LONGEST if most is None else most
        while played < most:
            block = min(max(_FIRST, played // _SHARE), most - played)
            if unused < block:
                scores, member = self._draw_rounds(rng, _DRAWN_AT_ONCE)
                unused = _DRAWN_AT_ONCE
            part = slice(_DRAWN_AT_ONCE - unused, _DRAWN_AT_ONCE - unused + block)
            wealth.add(scores[part], member[part])
            played, unused = played + block, unused - block
            if wealth.log_peaks()[0] >= enough:
                return played
        return math.inf

    def _draw_rounds(self, rng: np.random.Generator, rounds: int) -> tuple[Doubles, Flags]:
        """Draw rounds: scores, minus the rates at which the best test flags them, and memberships.

        A non-member's rate is uniform. A member's is at most alpha with probability 1 - f(alpha),
        as f^-1(V) is for a uniform V. Between two vertices the likelihood ratio is one number.
        """
        member = rng.random(rounds) < 0.5
        rates = rng.random(rounds)
        rates[member] = self._inverse(rates[member])
        if isinstance(self.curve, Polygon):
            rates = np.searchsorted(np.exp(self.curve.vertices[0]), rates).astype(np.float64)
        return -rates, member


def _num_runs(rounds: float, limits: tuple[int, int, int]) -> int:
    """Return the number of audits of this length to simulate."""
    least, most, together = limits
    return int(np.clip(together / rounds, least, most))
