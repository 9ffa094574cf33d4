"""When a monitor refutes a claim: simulated audits with the scores that attain a curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leakscore.audit.watched.monitor import Monitor
from leakscore.audit.watched.setup import Setup, assembled, claim_of
from leakscore.tradeoff import TradeOff
from leakscore.tradeoff.polygon import Polygon
from leakscore.typing import Doubles, Flags

_MOST = 200_000  # rounds of a simulated audit
_PILOTS = 16
_SEARCHED = (50, 400, 4_000_000)  # audits, and rounds of all of them together
_PLAYED = (50, 800, 8_000_000)
_FIRST, _SHARE = 4, 32  # rounds of a block: these, or one in so many of those played
_AT_ONCE = 8192  # that are drawn together


@dataclass(frozen=True)
class WatchedPlan:
    """Audits with fair coins, looked at as the rounds come.

    Attributes
    ----------
    curve : TradeOff
        That the scores attain.
    epsilon, delta, confidence : float
        Of the claim.
    """

    curve: TradeOff
    epsilon: float
    delta: float
    confidence: float

    def search(self, wanted: float) -> int:
        """Return half of the rounds within which a share `wanted` of the audits refute."""
        rng = np.random.default_rng(0)
        times = [self._stopped(rng) for _ in range(_PILOTS)]
        runs = _runs(float(np.median(times)), _SEARCHED)
        times += [self._stopped(rng) for _ in range(runs - _PILOTS)]
        rounds = float(np.quantile(times, wanted, method="inverted_cdf"))
        if not math.isfinite(rounds):
            raise RuntimeError(
                f"More than {_MOST // 2} rounds of each kind are needed, which are not simulated"
            )
        return math.ceil(rounds / 2.0)

    def simulated(self, rounds: int) -> tuple[float, float]:
        """Return the share of other audits that refute in time, and its standard error."""
        rng = np.random.default_rng(1)
        runs = _runs(2.0 * rounds, _PLAYED)
        successes = sum(self._stopped(rng, 2 * rounds) <= 2 * rounds for _ in range(runs))
        share = (successes + 1.0) / (runs + 2.0)
        return successes / runs, math.sqrt(share * (1.0 - share) / runs)

    def cap(self, rounds: int) -> float:
        """Return the bound of perfectly separated scores."""
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
        return assembled(claim, self.confidence, None, "coins", (), (), 0.5, _MOST)

    def _stopped(self, rng: np.random.Generator, most: int | None = None) -> float:
        """Play one audit, and return its rounds until refutation, to a block; or infinity."""
        wealth = self._setup.wealth()
        enough = -math.log(1.0 - self.confidence)
        played, ahead = 0, 0
        most = _MOST if most is None else most
        while played < most:
            block = min(max(_FIRST, played // _SHARE), most - played)
            if ahead < block:
                scores, member = self._drawn(rng, _AT_ONCE)
                ahead = _AT_ONCE
            part = slice(_AT_ONCE - ahead, _AT_ONCE - ahead + block)
            wealth.add(scores[part], member[part])
            played, ahead = played + block, ahead - block
            if wealth.log_peaks()[0] >= enough:
                return played
        return math.inf

    def _drawn(self, rng: np.random.Generator, rounds: int) -> tuple[Doubles, Flags]:
        """Draw rounds: minus the rates at which the best test flags them.

        A non-member's rate is uniform. A member's is at most alpha with probability 1 - f(alpha),
        as f^-1(V) is for a uniform V. Between two vertices the likelihood ratio is one number.
        """
        member = rng.random(rounds) < 0.5
        rates = rng.random(rounds)
        rates[member] = self._inverse(rates[member])
        if isinstance(self.curve, Polygon):
            rates = np.searchsorted(np.exp(self.curve.vertices[0]), rates).astype(np.float64)
        return -rates, member


def _runs(rounds: float, limits: tuple[int, int, int]) -> int:
    """Return how many audits of this length are simulated."""
    least, most, together = limits
    return int(np.clip(together / rounds, least, most))
