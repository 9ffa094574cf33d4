"""What rounds must be of for a claim: a true one is not refuted by those of another relation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leakscore import audit, sequential, tradeoff
from leakscore.audit import Audit
from leakscore.tradeoff import TradeOff
from tests.helpers.parts import UNSTATED, about
from tests.helpers.public import public_functions
from tests.tradeoff.test_neighbours import hints, mentions_a_curve

NOISE, RATE, STEPS = 2.0, 0.5, 50
CLAIM = tradeoff.subsampled_gaussian(NOISE, RATE, STEPS)
REPLACED = sequential.game_tradeoff(0.7)
ROUNDS = Audit(range(1000, 2000), range(1000))
CANARIES = np.arange(100), np.arange(100) >= 50, 20, 10

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda f: f,
    "symmetrized": lambda f: f.symmetrized(),
    "inverse of the inverse": lambda f: f.inverse().inverse(),
    "hull of the inverse": lambda f: f.inverse().symmetrized(),
    "subsample": lambda f: f.subsample(0.9),
    "best_of": lambda f: f.best_of(2),
    "lower": lambda f: f.lower,
    "upper": lambda f: f.upper.symmetrized(),
    "estimate": lambda f: f.estimate,
    "compose": lambda f: tradeoff.compose([tradeoff.gaussian(0.1), f]).symmetrized(),
}

# Every public function that takes a curve or makers of curves, given rounds of this relation.
TAKERS: dict[str, Callable[[TradeOff, str | None], Any]] = {
    "audit.Audit.compare": lambda f, how: ROUNDS.compare(f, neighbours=how),
    "audit.Audit.parameter_lower_bound": lambda f, how: ROUNDS.parameter_lower_bound(
        lambda theta: f, high=1.0, neighbours=how
    ),
    "audit.required_rounds": lambda f, how: audit.required_rounds(
        f, epsilon=0.5, delta=0.01, power=0.1, method="dkw", neighbours=how
    ),
    "audit.one_run_fdp": lambda f, how: audit.one_run_fdp(*CANARIES, f, neighbours=how),
}
NO_ROUNDS = {  # tests/tradeoff/test_contradictions.py
    "tradeoff.TradeOff.at_least_as_private_as",
    "tradeoff.calibrate",
    "tradeoff.compose",
}
PLAYED = {"testing.assert_private", "testing.check_private"}  # of two data sets that are given


def test_every_reader_of_curves_is_here() -> None:
    found = set()
    for name, function in public_functions().items():
        given = hints(getattr(function, "__func__", function))
        if any(mentions_a_curve(given[key]) for key in given.keys() - {"self", "return"}):
            found.add(name)
    assert found == set(TAKERS) | NO_ROUNDS | PLAYED


@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize("f", [CLAIM, CLAIM.symmetrized(), REPLACED], ids=["f", "hull", "game"])
def test_rounds_are_those_of_the_claim(name: str, f: TradeOff) -> None:
    take, own = TAKERS[name], f.neighbours
    other = {"add-remove": "replace", "replace": "add-remove"}[str(own)]
    with pytest.raises(ValueError, match=f"neighbours='{own}'.*not '{other}'"):
        take(f, other)
    for how in (None, own):
        found = take(f, how)
        assert found.neighbours == own
        assert set(f.assumptions) <= set(found.assumptions)
    with pytest.raises(ValueError, match="neighbours='both'"):
        take(tradeoff.gaussian(1.0), "both")
    with pytest.raises(TypeError, match="neighbours=1"):
        take(tradeoff.gaussian(1.0), 1)  # type: ignore[arg-type]
    for how in ("replace", "add-remove"):
        assert take(tradeoff.gaussian(1.0), how).neighbours == how
    unknown = "replace" if name == "audit.Audit.compare" else None
    assert take(tradeoff.gaussian(1.0), None).neighbours == unknown


def sums(rng: np.random.Generator, contribution: float, rounds: int) -> Any:
    """Draw the sum over all steps of noise and, where it is sampled, of a contribution."""
    often = rng.binomial(STEPS, RATE, rounds)
    return rng.normal(contribution * often, NOISE * np.sqrt(STEPS))


def test_a_true_claim_is_not_refuted_by_a_replacement() -> None:
    """The Gaussian mechanism on Poisson samples, 2000 rounds with the record and as many without.

    Rounds without any record agree with the claim, which is true of them. Where another record
    takes its place, with the opposite contribution, they refute it far beyond chance: such rounds
    are no evidence, and whatever was made of the claim says so.
    """
    rng = np.random.default_rng(13)
    present = sums(rng, 1.0, 2000)
    removed, replaced = (Audit(present, sums(rng, x, 2000)) for x in (0.0, -1.0))
    assert removed.compare(CLAIM.symmetrized(), neighbours="add-remove").verdict == "consistent"
    nothing_known = about(CLAIM.symmetrized().lower, UNSTATED)
    false = replaced.compare(nothing_known, neighbours="replace")
    assert (false.verdict, false.margin > 0.2) == ("refuted", True)
    for operate in OPERATIONS.values():
        with pytest.raises(ValueError, match=r"neighbours='add-remove'.*not 'replace'"):
            replaced.compare(operate(CLAIM), neighbours="replace")
    # The right claim for a replacement, where every record is sampled.
    whole = tradeoff.subsampled_gaussian(NOISE, 1.0, STEPS, neighbours="replace")
    assert replaced.compare(whole, neighbours="replace").verdict != "refuted"


@pytest.mark.parametrize("operate", OPERATIONS.values(), ids=OPERATIONS)
def test_the_record_says_what_is_assumed(operate: Callable[[Any], Any]) -> None:
    record = json.loads(ROUNDS.compare(operate(CLAIM)).to_json())
    assert record["neighbours"] == "add-remove"
    assert [text.partition(":")[0] for text in record["assumptions"][-2:]] == [
        "Poisson sampling",
        "exact noise",
    ]


def test_families_are_about_one_relation() -> None:
    def family(theta: float) -> TradeOff:
        if theta == 1.0:
            return sequential.game_tradeoff(2.0)
        return tradeoff.subsampled_gaussian(1.0 / theta, 1.0, 1)

    for call in (
        lambda: ROUNDS.parameter_lower_bound(family),
        lambda: audit.one_run_fdp(*CANARIES, family),
    ):
        with pytest.raises(ValueError, match=r"family\(.*\) of neighbours='.*as family\("):
            call()
    hopeless = Audit([0.0], [1.0])  # refutes nothing, and asks for no curve
    with pytest.raises(ValueError, match="neighbours='add-remove'"):
        hopeless.parameter_lower_bound(lambda theta: CLAIM, neighbours="replace")
    assert hopeless.parameter_lower_bound(lambda theta: CLAIM).neighbours == "add-remove"

    def sampled(rate: float) -> TradeOff:
        return tradeoff.gaussian(30.0).subsample(rate)  # at rate 1 itself, about either

    found = ROUNDS.parameter_lower_bound(sampled, high=1.0)
    assert found.neighbours == "add-remove"
    assert found.to_dict()["assumptions"][-1].startswith("Poisson sampling")


@pytest.mark.parametrize("f", [CLAIM, CLAIM.symmetrized(), REPLACED], ids=["f", "hull", "game"])
def test_what_a_claim_assumes_is_told_by_its_monitor(f: TradeOff) -> None:
    plain = audit.Monitor(tradeoff.gaussian(1.0)).assumptions
    found = audit.Monitor(f)
    assert found.assumptions == (*plain, *f.assumptions)
    assert audit.Monitor.from_bytes(found.to_bytes()).assumptions == found.assumptions
