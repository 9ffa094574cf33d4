"""An array of curves that come in two kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore.tradeoff.curve import TradeOff
from leakscore.typing import Doubles, Flags

LARGEST = 2.0**200
"""The largest noncentrality of `ncx2`: beyond it curves have another form."""


def joined(far: Flags, near: Any, beyond: Any) -> Any:
    """Return the curves of the second kind where `far`, of the first elsewhere.

    Both are functions of a choice between the true parameter and a harmless one in its place,
    because only the chosen elements of each are used.
    """

    def all_true(true: Doubles, harmless: float) -> Doubles:  # noqa: ARG001
        return true

    if not far.any():
        return near(all_true)
    if far.all():
        return beyond(all_true)
    return _Joined(
        repr(near(all_true)),
        far,
        near(lambda true, harmless: np.where(far, harmless, true)),
        beyond(lambda true, harmless: np.where(far, true, harmless)),
    )


class _Joined(TradeOff[Any]):
    """One curve or another, element by element."""

    __slots__ = ("_beyond", "_far", "_name", "_near")

    def __init__(self, name: str, far: Flags, near: TradeOff[Any], beyond: TradeOff[Any]) -> None:
        super().__init__(near.shape, near.kind, near.adversary, *near._premise)
        self._name = name
        self._far, self._near, self._beyond = far, near, beyond

    def __repr__(self) -> str:
        return self._name

    def _inverse(self) -> TradeOff[Any]:
        turned = self._near.inverse(), self._beyond.inverse()
        end = ".inverse()"
        again = self._name.endswith(end)
        name = self._name.removesuffix(end) if again else self._name + end
        return _Joined(name, self._far, *turned)._about(self._premise)

    def _symmetrized(self) -> TradeOff[Any]:
        both = self._near.symmetrized(), self._beyond.symmetrized()
        name = f"{self._name}.symmetrized()"
        return _Joined(name, self._far, *both)._about(self._premise)

    def _chosen(self, beyond: Any, near: Any, like: Doubles) -> Any:
        far = self._far.reshape(self.shape + (1,) * like.ndim)
        return np.where(far, beyond, near)[()]

    def _beta(self, alpha: Doubles) -> Any:
        return self._chosen(self._beyond._beta(alpha), self._near._beta(alpha), alpha)

    def _power(self, alpha: Doubles) -> Any:
        return self._chosen(self._beyond._power(alpha), self._near._power(alpha), alpha)

    def _log_power(self, log_alpha: Doubles) -> Any:
        beyond, near = (curve._log_power(log_alpha) for curve in (self._beyond, self._near))
        return self._chosen(beyond, near, log_alpha)

    def _delta(self, epsilon: Doubles) -> Any:
        return self._chosen(self._beyond._delta(epsilon), self._near._delta(epsilon), epsilon)

    def _epsilon(self, delta: Doubles) -> Any:
        return self._chosen(self._beyond._epsilon(delta), self._near._epsilon(delta), delta)

    def _advantage(self) -> Any:
        return np.where(self._far, self._beyond._advantage(), self._near._advantage())[()]

    def _auc(self) -> Any:
        return np.where(self._far, self._beyond._auc(), self._near._auc())[()]

    def _alpha_per_power(self) -> Doubles:
        both = self._beyond._alpha_per_power(), self._near._alpha_per_power()
        return np.where(self._far, *both)
