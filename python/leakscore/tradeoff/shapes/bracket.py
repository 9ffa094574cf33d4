"""A curve that is known to lie between two others."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.premise import UNSTATED, Premise, joined
from leakscore.typing import Doubles


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
    def _end(self, which: int) -> TradeOff:
        """Give the lower curve (0) or the upper one (1), computed when it is first asked for."""

    @property
    def lower(self) -> TradeOff:
        """The curve below which no attacker of this kind gets."""
        return self._end(0)._about(self._premise)

    @property
    def upper(self) -> TradeOff:
        """The curve that an attacker of this kind attains."""
        return self._end(1)._about(self._premise)

    def _inverse(self) -> TradeOff:
        return Turned(self, "inverse")

    def _symmetrized(self) -> TradeOff:
        return Turned(self, "symmetrized")

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

    def _end(self, which: int) -> TradeOff:
        return self._ends[which]


class Turned(Bracket):
    """The inverse of a bracket, or its symmetrized one, end by end."""

    __slots__ = ("_made", "_source", "_turn")

    def __init__(self, source: Bracket, turn: Literal["inverse", "symmetrized"]) -> None:
        name = f"{source!r}.{turn}()"
        super().__init__(source.kind, source.adversary, name, source._premise)
        self._source = source
        self._turn = turn
        self._made: dict[int, TradeOff] = {}

    def _end(self, which: int) -> TradeOff:
        if which not in self._made:
            curve = self._source._end(which)
            self._made[which] = curve.inverse() if self._turn == "inverse" else curve.symmetrized()
        return self._made[which]
