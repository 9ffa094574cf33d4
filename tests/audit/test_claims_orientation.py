"""Claims have H0 without the record: an inverted curve would refute what is true of a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leakscore import audit, tradeoff
from leakscore.audit import Audit, Monitor
from leakscore.testing import assert_private, check_private
from leakscore.tradeoff import TradeOff
from tests.helpers.parts import about, premise_in
from tests.tradeoff.test_orientation import ASYMMETRIC, SYMMETRIC

# What is true: N(0, 1) without the record, and N(6, 1) in half of the rounds with it.
TRUE = tradeoff.gaussian(6.0).subsample(0.5)
RNG = np.random.default_rng(4)
MEMBER = RNG.random(2000) < 0.5
SCORES = RNG.normal(size=2000) + 6.0 * (MEMBER & (RNG.random(2000) < 0.5))
ROUNDS = Audit(SCORES[MEMBER], SCORES[~MEMBER])
DATA = {"data": 6.0, "neighbour": 0.0, "rounds": 600}


def played(data: float, rng: np.random.Generator) -> float:
    return float(rng.normal() + data * (rng.random() < 0.5))


def watched(claim: TradeOff) -> bool:
    monitor = Monitor(claim)
    monitor.update(SCORES, MEMBER)
    return monitor.refuted


# Every use of a claim; of a true one each gives False.
CLAIMED: dict[str, Callable[[TradeOff], Any]] = {
    "compare": lambda f: ROUNDS.compare(f).verdict == "refuted",
    "parameter_lower_bound": lambda f: (
        float(ROUNDS.parameter_lower_bound(lambda _: f, high=1.0)) > 0
    ),
    "one_run_fdp": lambda f: audit.one_run_fdp(SCORES, MEMBER, 300, 0, f).refuted,
    "one_run_fdp of a family": lambda f: (
        audit.one_run_fdp(
            SCORES, MEMBER, 16, 0, lambda mu: f if mu <= 1 else tradeoff.gaussian(9.0)
        ).parameter
    ),
    "Monitor": watched,
    "check_private": lambda f: check_private(played, **DATA, claim=f).refuted,
    "assert_private": lambda f: assert_private(played, **DATA, claim=f),
}


@pytest.mark.parametrize("name", CLAIMED)
def test_what_is_true_is_claimed_in_one_order(name: str) -> None:
    claimed, f = CLAIMED[name], TRUE
    assert not claimed(f)
    assert not claimed(f.inverse().inverse())
    assert not claimed(f.symmetrized())
    with pytest.raises(ValueError, match="not 'with': claim the curve before `inverse`"):
        claimed(f.inverse())


def test_an_inverse_would_refute_what_is_true() -> None:
    """The same curve with its orders misstated: this is what the refusal spares."""
    misstated = about(TRUE.inverse(), premise_in(TRUE))
    for name in ("compare", "parameter_lower_bound", "one_run_fdp"):
        assert CLAIMED[name](misstated)


USES: dict[str, Callable[[TradeOff], Any]] = {
    "reconstruction": lambda f: f.reconstruction(0.1),
    "interval": lambda f: f.interval("reconstruction", 0.01),
    "compare": lambda f: ROUNDS.compare(f),
    "Monitor": lambda f: Monitor(f),
}


@pytest.mark.parametrize("name", ASYMMETRIC)
@pytest.mark.parametrize("use", USES)
def test_no_kind_of_curve_is_taken_with_h0_with_the_record(name: str, use: str) -> None:
    f = ASYMMETRIC[name]
    for whole in (f, f.symmetrized()):
        if f.kind == "attack" and use in ("reconstruction", "interval"):
            with pytest.raises(ValueError, match="of kind 'guarantee' for reconstruction"):
                USES[use](whole)
        else:
            USES[use](whole)
    for turned in (f.inverse(), f.inverse().lower, f.inverse().upper):
        with pytest.raises(ValueError, match=r"H0 'without' the record .*not 'with'"):
            USES[use](turned)
        with pytest.raises(ValueError, match="not 'with': claim the curve before"):
            audit.required_rounds(turned, epsilon=0.01, delta=0.01)


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("use", USES)
def test_a_symmetric_curve_is_its_inverse(name: str, use: str) -> None:
    USES[use](SYMMETRIC[name].inverse())


@pytest.mark.parametrize("most", [0.01, 1.0])
def test_a_family_of_a_training_leaks_more_with_a_larger_parameter(most: float) -> None:
    """Of curves that leak less, the number would mean nothing: whether or not the first is true."""
    for make in (tradeoff.gaussian, tradeoff.laplace):
        with pytest.raises(ValueError, match="leak more with a larger parameter"):
            audit.one_run_fdp(SCORES, MEMBER, 300, 0, lambda x, make=make: make(most / x))
