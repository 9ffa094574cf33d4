"""Curves and results compare by value, hash accordingly, and have a short repr."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from leakscore import shadow, tradeoff
from leakscore.tradeoff import TradeOff

MAKERS: dict[str, Callable[[float], TradeOff]] = {
    "gaussian": lambda mu: tradeoff.gaussian(mu),
    "several": lambda mu: tradeoff.gaussian([mu, 1.0]),
    "inverse": lambda mu: tradeoff.subsampled_gaussian(mu, 0.1, 1).inverse(),
    "laplace": lambda mu: tradeoff.laplace(mu),
    "composed": lambda mu: tradeoff.subsampled_gaussian(mu, 0.1, 5),
    "turned": lambda mu: tradeoff.subsampled_gaussian(mu, 0.1, 5).symmetrized(),
    "allocated": lambda mu: tradeoff.random_allocation(mu, 5),
    "profile": lambda mu: tradeoff.from_profile([0.0, mu], [0.5, 0.1]),
    "approximate": lambda mu: tradeoff.approximate_dp(mu, 1e-5),
    "mean": lambda mu: tradeoff.gaussian_mean(mu, 10, 3),
}


@pytest.mark.parametrize("name", MAKERS)
def test_curves_compare_by_value(name: str) -> None:
    first, same, other = (MAKERS[name](mu) for mu in (2.0, 2.0, 2.0 + 2.0**-40))
    assert first == same
    assert hash(first) == hash(same)
    assert first == pickle.loads(pickle.dumps(first))
    assert first != other
    assert first != 2.0
    assert len({first, same, other}) == 2
    first.power(0.1)  # what was computed does not count
    assert first == same


def test_the_premise_counts() -> None:
    relations = ("replace", "add-remove")
    curves = [tradeoff.subsampled_gaussian(1.0, 1.0, 2, neighbours=each) for each in relations]
    assert curves[0] != curves[1]


def test_long_arrays_are_shown_by_their_shape() -> None:
    rng = np.random.default_rng(1)
    included = rng.random((20, 300)) < 0.5
    found = shadow.risk(rng.normal(size=(20, 300)), included)
    assert len(repr(found)) < 600
    assert "shift=<array (1, 300)>" in repr(found)
