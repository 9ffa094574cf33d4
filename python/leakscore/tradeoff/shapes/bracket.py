"""A curve that is known to lie between two others."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

from leakscore._types import Doubles
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.premise import UNSTATED, Premise, joined


class Bracket(TradeOff):
    """A curve between `lower` and `upper`, on the safe side: every number is the lower curve's.

    f(alpha) is its least possible value; power, advantage, auc, delta and epsilon are the largest.
    """

    __slots__ = ("_name",)

    def __init__(
        self,
        kind: Literal["guarantee", "attack"],
        adversary: str,
        name: str,
        premise: Premise = UNSTATED,
    ) -> None:
        super().__init__((), kind, adversary, *premise)
        self._name = name

    def __repr__(self) -> str:
        return self._name

    @abstractmethod
    def _both(self) -> tuple[TradeOff, TradeOff]:
        """Give the lower and the upper curve."""

    @property
    def lower(self) -> TradeOff:
        """The curve below which no attacker of this kind gets."""
        return self._both()[0]._about(self._premise)

    @property
    def upper(self) -> TradeOff:
        """The curve that an attacker of this kind attains."""
        return self._both()[1]._about(self._premise)

    def _of(self, lower: TradeOff, upper: TradeOff, name: str) -> Bracket:
        return Between((lower, upper), self.kind, self.adversary, name)

    def inverse(self) -> TradeOff:
        return self._of(self.lower.inverse(), self.upper.inverse(), f"{self!r}.inverse()")

    def symmetrized(self) -> TradeOff:
        lower, upper = self.lower.symmetrized(), self.upper.symmetrized()
        return self._of(lower, upper, f"{self!r}.symmetrized()")

    def _beta(self, alpha: Doubles) -> Any:
        return self.lower._beta(alpha)

    def _power(self, alpha: Doubles) -> Any:
        return self.lower._power(alpha)

    def _log_power(self, log_alpha: Doubles) -> Any:
        return self.lower._log_power(log_alpha)

    def _advantage(self) -> Any:
        return self.lower._advantage()

    def _auc(self) -> Any:
        return self.lower._auc()

    def _delta(self, epsilon: Doubles) -> Any:
        return self.lower._delta(epsilon)

    def _epsilon(self, delta: Doubles) -> Any:
        return self.lower._epsilon(delta)

    def _alpha_per_power(self) -> Doubles:
        return self.lower._alpha_per_power()


class Between(Bracket):
    """A bracket of two given curves, with the premise of both."""

    __slots__ = ("_ends",)

    def __init__(
        self,
        ends: tuple[TradeOff, TradeOff],
        kind: Literal["guarantee", "attack"] = "guarantee",
        adversary: str = "informed",
        name: str = "bracket",
    ) -> None:
        named = zip(("the lower end", "the upper end"), ends, strict=True)
        premise = joined((end, curve._premise) for end, curve in named)
        super().__init__(kind, adversary, name, premise)
        self._ends = ends

    def _both(self) -> tuple[TradeOff, TradeOff]:
        return self._ends
