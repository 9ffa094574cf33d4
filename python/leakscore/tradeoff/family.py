"""What a family of trade-off curves computes, on arrays that are in range."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, Literal, cast

import numpy as np

from leakscore.results import ByValue
from leakscore.tradeoff.premise import Premised, premise_of
from leakscore.typing import Doubles, Value

_LOG2 = float(np.log(2.0))


class CurveFamily(Premised, ByValue, ABC, Generic[Value]):
    """The quantities of a family's curves; what they mean is said in `TradeOff`."""

    __slots__ = ("adversary", "kind", "shape")
    _computed: ClassVar[tuple[str, ...]] = ()  # slots that say nothing of their own
    _rounded_down: ClassVar[bool] = False  # whether rounding never lifts `_beta` above 1 - alpha

    def __init__(
        self,
        shape: tuple[int, ...],
        kind: Literal["guarantee", "attack"],
        adversary: str,
        neighbours: str | None = None,
        assumptions: Iterable[str] = (),
        null: str = "without",
    ) -> None:
        self.shape = shape
        self.kind = kind
        self.adversary = adversary
        self._stated_premise = premise_of(neighbours, assumptions, null)

    def _values(self) -> dict[str, Any]:
        """Give what decides whether two curves of a class are equal: all that they hold."""
        names = (name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ()))
        return {name: getattr(self, name) for name in names if name not in self._computed}

    def __hash__(self) -> int:
        return hash((type(self), repr(self), self.kind, self.adversary))

    def _rates(self, log_alpha: Doubles, log_rest: Doubles) -> tuple[Doubles, Doubles]:
        """Give logs of power and beta where alpha and 1 - alpha have these logs."""
        raise NotImplementedError  # of a class that defines `_beta`, `_power` and `_log_power`

    def _rates_at(self, alpha: Doubles) -> tuple[Doubles, Doubles]:
        with np.errstate(divide="ignore"):
            return self._rates(np.log(alpha), np.log1p(-alpha))

    def _beta(self, alpha: Doubles) -> Value | Doubles:
        return cast("Value", np.exp(self._rates_at(alpha)[1])[()])

    def _power(self, alpha: Doubles) -> Value | Doubles:
        return cast("Value", np.exp(self._rates_at(alpha)[0])[()])

    def _log_power(self, log_alpha: Doubles) -> Value | Doubles:
        return cast("Value", self._rates(log_alpha, log_rest(log_alpha))[0][()])

    def _advantage(self) -> Value:
        return cast("Value", self._delta(np.zeros(())))

    @abstractmethod
    def _auc(self) -> Value: ...

    @abstractmethod
    def _delta(self, epsilon: Doubles) -> Value | Doubles:
        """Give max over alpha of 1 - f(alpha) - e^epsilon alpha."""

    @abstractmethod
    def _epsilon(self, delta: Doubles) -> Value | Doubles:
        """Give the least epsilon >= 0 with `_delta` at most delta."""

    def _alpha_per_power(self) -> Doubles:
        """Give the limit of alpha / power(alpha) as alpha -> 0, one over the largest ratio."""
        return np.asarray(np.exp(-np.asarray(self._epsilon(np.zeros(())))))

    def _touch(self, epsilon: float) -> tuple[float, float] | None:
        """Give alpha and beta where the slope of one curve is -exp(epsilon), or None."""
        del epsilon
        return None


def aligned(parameter: Doubles, argument: Doubles) -> Doubles:
    """Give the parameters' axes a place in front of the argument's."""
    return parameter.reshape(parameter.shape + (1,) * argument.ndim)


def log_rest(log_alpha: Doubles) -> Doubles:
    """Return log(1 - alpha), to its last digit at either end."""
    with np.errstate(divide="ignore"):
        near = np.log(-np.expm1(log_alpha))
        return np.where(log_alpha > -_LOG2, near, np.log1p(-np.exp(log_alpha)))
