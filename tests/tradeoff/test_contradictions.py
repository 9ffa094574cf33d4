"""Curves about different relations are never compared; classes of users."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from leakscore import sequential, tradeoff
from leakscore.tradeoff import TradeOff
from tests.helpers.parts import Between

SAMPLED = (2.0, 0.25, 3)
WHOLE = (2.0, 1.0, 3)
REPLACED = sequential.game_tradeoff(2.0)


def test_contradictions_are_refused() -> None:
    sampled, mean = tradeoff.subsampled_gaussian(*SAMPLED), tradeoff.subsampled_mean(1.0, 0.5)
    for f in (sampled, sampled.inverse(), sampled.symmetrized(), sampled.lower):
        for g in (REPLACED, mean, mean.symmetrized()):
            for one, other in ((f, g), (g, f)):
                with pytest.raises(ValueError, match=f"other of neighbours='{other.neighbours}'"):
                    one.at_least_as_private_as(other)
                with pytest.raises(ValueError, match="the upper end of neighbours="):
                    Between((one, other))
    for curves in ([sampled, REPLACED], [REPLACED, (sampled, 2)]):
        with pytest.raises(ValueError, match=r"curves\[1\] of neighbours=.* as curves\[0\]"):
            tradeoff.compose(curves)
    with pytest.raises(ValueError, match=r"curves\[2\] of neighbours='replace'"):
        tradeoff.compose([tradeoff.laplace(1.0), sampled, REPLACED])
    found = sampled.at_least_as_private_as(tradeoff.gaussian(3.0))
    assert found.verdict
    assert (found.neighbours, found.assumptions) == ("add-remove", sampled.assumptions)
    assert found.to_dict()["assumptions"] == list(sampled.assumptions)
    with pytest.raises(ValueError, match="neighbours='replace'"):
        tradeoff.calibrate("subsampled_laplace", curve=REPLACED, sample_rate=0.5, num_steps=2)


def test_names_tell_curves_apart() -> None:
    replaced = tradeoff.subsampled_laplace(*WHOLE, neighbours="replace")
    assert "neighbours='replace'" in repr(replaced)
    assert repr(tradeoff.gaussian(2.0).subsample(0.5)) == "gaussian(mu=2.).subsample(0.5)"
    assert repr(tradeoff.subsampled_gaussian(*SAMPLED).subsample(0.5)).endswith(".subsample(0.5)")


class Mine(TradeOff):
    """A curve of a user: 1 - alpha, rounded up, of any arguments that the base takes."""

    def inverse(self) -> TradeOff:
        return self

    def symmetrized(self) -> TradeOff:
        return self

    def _beta(self, alpha: Any) -> Any:
        return np.nextafter(1.0 - alpha, 2.0)

    def _power(self, alpha: Any) -> Any:
        return alpha

    def _log_power(self, log_alpha: Any) -> Any:
        return log_alpha

    def _advantage(self) -> Any:
        return 0.0

    def _auc(self) -> Any:
        return 0.5

    def _delta(self, epsilon: Any) -> Any:
        return np.maximum(-np.expm1(epsilon), 0.0)

    def _epsilon(self, delta: Any) -> Any:
        return np.zeros_like(delta)

    def _alpha_per_power(self) -> Any:
        return np.ones(())


class Bare(Mine):
    """One that sets what it needs by itself."""

    def __init__(self) -> None:
        self.shape, self.kind, self.adversary = (), "guarantee", "informed"


def test_classes_of_users() -> None:
    for f in (Mine((), "guarantee", "informed"), Bare()):
        assert (f.neighbours, f.assumptions, f.best_of(2).neighbours) == (None, (), None)
        assert f.subsample(0.5).neighbours == "add-remove"
        assert float(f(0.25)) == 0.75
    f = Mine((), "attack", "informed", "replace", ["rounds of one seed"])
    assert (f.best_of(2).neighbours, f.assumptions) == ("replace", ("rounds of one seed",))
    assert pickle.loads(pickle.dumps(f)).assumptions == f.assumptions
    with pytest.raises(ValueError, match="neighbours='both'"):
        Mine((), "attack", "informed", "both")
    with pytest.raises(TypeError, match="assumptions='none'"):
        Mine((), "attack", "informed", None, "none")
