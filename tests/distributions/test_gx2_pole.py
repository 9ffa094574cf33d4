"""Quantiles of the generalised chi-square law where its density has a pole, or nearly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.distributions import gx2
from leakscore.shadow import online_power
from tests.oracles import gx2 as oracle

pytestmark = pytest.mark.usefixtures("digits")

POLES: list[dict[str, Any]] = [
    {"weights": [1.0, -1.0], "df": [1, 1], "nc": [0, 0]},
    {"weights": [1.0, -1.0], "df": [0.3, 0.3], "nc": [0, 0]},
    {"weights": [1.0, -2.0], "df": [0.6, 0.6], "nc": [0, 0]},
    {"weights": [1.0, 0.5, -3.0], "df": [0.05, 0.1, 1], "nc": [2, 0, 1]},
    {"weights": [1.0, -2.0], "df": [1.5, 2], "nc": [0, 1]},
    {"weights": [1.0, -2.0], "df": [0.6, 0.6], "nc": [0, 0], "sigma": 1e-30},
]


def upper_tail(x: float, law: dict[str, Any]) -> Any:
    upper, tail, _ = oracle.tail_and_density(x, **law)
    return tail if upper else 1 - tail


@pytest.mark.parametrize("law", POLES)
def test_quantiles_beside_a_pole(law: dict[str, Any]) -> None:
    tail_at = cache(lambda x: upper_tail(x, law))  # both inverses may go back to one double
    for x in (-1e-3, -1e-10, 1e-14, 1e-3):
        upper = tail_at(x)
        for inverse, tail in ((gx2.isf, upper), (gx2.ppf, 1 - upper)):
            back = inverse(float(tail), **law)
            reached = tail_at(float(back)) if back else gx2.sf(0.0, **law)
            reached = reached if tail is upper else 1 - reached
            assert abs(reached / mpf(float(tail)) - 1) < 1e-12, (x, back)


def test_the_median_of_a_symmetric_law(isa: str) -> None:
    """The density of a difference of two chi-square variables of 1 is K_0(|x|/2)/(2 pi)."""
    for df in (0.05, 0.6, 1.0, 2.0):
        for offset in (0.0, 4.0):
            median = gx2.isf(0.5, [1.5, -1.5], df, 0, offset=offset)
            assert abs(median - offset) < 1e-12, (df, offset)
    beyond = mp.quad(lambda y: mp.besselk(0, y / 2), [0, mpf("1e-13"), mpf("1e-12")]) / (2 * mp.pi)
    assert 0 < gx2.isf(float(0.5 - beyond), [1.0, -1.0], 1, 0) < 2e-12


def test_quantiles_far_from_the_guess_of_an_end(isa: str) -> None:
    """The saddle's guess is hundreds of powers of ten too near to the end of the support."""
    law = {"weights": [1.0, 1e-8], "df": [0.001, 0.1], "nc": [0, 0]}
    for q in (0.2, 0.4, 0.75):
        point = gx2.isf(q, **law)
        assert abs(upper_tail(point, law) / mpf(q) - 1) < 1e-12
        ulp = float(np.spacing(1e-3))
        moved = gx2.isf(q, **law, offset=-1e-3) + 1e-3
        assert abs(moved - point) <= 2 * ulp


@pytest.mark.parametrize("models", [1, 2, 10, 1000])
def test_the_power_of_an_attack_without_a_shift(models: int) -> None:
    for shift in (0.0, 1e-300, 1e-20):
        assert online_power(0.5, shift, models, models) == pytest.approx(0.5, rel=1e-12)
