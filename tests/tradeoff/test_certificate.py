"""Whether a curve is nowhere below another: proofs, refutations, and what stays open."""

from __future__ import annotations

import json

import numpy as np
import pytest

from leakscore.tradeoff import (
    TradeOff,
    approximate_dp,
    discrete_gaussian,
    gaussian,
    laplace,
    relaxed_gaussian,
    relaxed_laplace,
    subsampled_gaussian,
)
from tests.helpers.parts import Polygon

ABOVE: list[tuple[TradeOff, TradeOff]] = [
    (gaussian(1.0), gaussian(1.0)),
    (gaussian(1.0), gaussian(1.0 + 1e-9)),
    (laplace(1.0), laplace(1.0)),
    (relaxed_gaussian(1.5), gaussian(1.5)),
    (relaxed_gaussian(1.5, 100), relaxed_gaussian(1.5, 3)),
    (relaxed_laplace(1.5), laplace(1.5)),
    (relaxed_laplace(1.5).inverse(), laplace(1.5)),
    (relaxed_laplace(1.5), relaxed_laplace(1.5).symmetrized()),
    (relaxed_gaussian(1.5).inverse(), relaxed_gaussian(1.5).symmetrized()),
    (relaxed_gaussian(1.5).subsample(0.3), relaxed_gaussian(1.5)),
    (gaussian(2.0), gaussian(2.0).best_of(1)),
    (gaussian(0.0), laplace(1e-7)),
    (gaussian(0.7), laplace(5.0)),
]
BELOW: list[tuple[TradeOff, TradeOff]] = [
    (gaussian(1.5), relaxed_gaussian(1.5)),
    (gaussian(1.0), gaussian(0.999999)),
    (relaxed_laplace(1.5), relaxed_laplace(1.4)),
    (relaxed_gaussian(1.5).inverse(), relaxed_gaussian(1.3).inverse()),
    (laplace(1.0), gaussian(1.0)),
    (gaussian(1.0), laplace(1.0)),
    (gaussian(np.inf), gaussian(1.0)),
    (laplace(1e-5), gaussian(0.0)),
    (discrete_gaussian(2.0, 3), gaussian(1.5)),
]


@pytest.mark.parametrize(("f", "g"), ABOVE)
def test_proofs(f: TradeOff, g: TradeOff) -> None:
    found = f.at_least_as_private_as(g)
    assert found.verdict is True
    assert bool(found)
    assert -1e-9 <= found.bound <= found.gap
    alpha = np.union1d(np.linspace(0, 1, 5001), np.geomspace(1e-300, 1, 2000))
    assert (f(alpha) - g(alpha)).min() >= found.bound - 1e-15
    assert f(found.alpha) - g(found.alpha) == pytest.approx(found.gap, abs=1e-15)


@pytest.mark.parametrize(("f", "g"), BELOW)
def test_refutations(f: TradeOff, g: TradeOff) -> None:
    found = f.at_least_as_private_as(g)
    assert found.verdict is False
    assert not found
    assert found.bound == -np.inf
    assert f(found.alpha) - g(found.alpha) == pytest.approx(found.gap, abs=1e-15)
    alpha = np.linspace(0, 1, 5001)
    assert found.gap <= 0.8 * (f(alpha) - g(alpha)).min()


def test_a_dip_between_the_points() -> None:
    """A polygon that a grid of a thousand points would not see below another one."""
    at = 0.123456789
    x = np.array([1e-300, at - 1e-7, at, at + 1e-7, 1.0])
    y = 1 - x
    y[2] -= 1e-8
    y[1] -= 0.5e-8
    y[3] -= 0.4e-8
    with np.errstate(divide="ignore"):
        dip = Polygon(np.r_[-np.inf, np.log(x[1:])], np.log(np.r_[1, y[1:]]), "guarantee")
    assert gaussian(0.0).at_least_as_private_as(dip).verdict is True
    found = dip.at_least_as_private_as(gaussian(0.0))
    assert found.verdict is not True
    wide = dip.at_least_as_private_as(gaussian(0.0), tolerance=1e-7)
    assert wide.verdict is True


def test_brackets_leave_it_open() -> None:
    f = subsampled_gaussian(1.0, 0.01, 1000)
    assert f.at_least_as_private_as(gaussian(2.0)).verdict is True
    assert f.at_least_as_private_as(gaussian(0.1)).verdict is False
    assert gaussian(0.1).at_least_as_private_as(f).verdict is True
    found = f.at_least_as_private_as(f)
    assert found.verdict is None
    assert not found
    assert found.gap < 0
    assert json.loads(found.to_json())["verdict"] is None


def test_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(2,\) must be of shape \(\)"):
        gaussian([1.0, 2.0]).at_least_as_private_as(gaussian(1.0))
    with pytest.raises(ValueError, match=r"shape \(2,\) must be of shape \(\)"):
        gaussian(1.0).at_least_as_private_as(gaussian([1.0, 2.0]))
    with pytest.raises(TypeError, match="other=1"):
        gaussian(1.0).at_least_as_private_as(1.0)  # type: ignore[arg-type]


def test_a_jump_at_alpha_0_alone() -> None:
    """At every positive double the other curve is far below: sf(3) at 1e-300."""
    found = approximate_dp(1.0, 0.5).at_least_as_private_as(gaussian(40.0))
    assert (found.verdict, found.alpha, found.gap) == (False, 0.0, -0.5)
