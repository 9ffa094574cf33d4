"""Results say what they take for granted, and what happens where it is not so."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from leakscore.audit import Audit, one_run, one_run_fdp
from leakscore.tradeoff import gaussian
from tests.helpers.audited import MEMBER, SCORES, parsed, run, write_scores

AUDIT = Audit.from_rounds(SCORES, MEMBER, random_bits=True)

BANDS = ["independent", "one pair of neighbouring", "fixed before", "No score was left out"]
COINS = [
    "independent",
    "fair coin of its own",
    "neighbours of the kind",
    "fixed before",
    "No score",
]
CANARIES = [
    "fair coin of its own",
    "without the coins",
    "numbers of guesses",
    "No canary and no score",
]
DPSGD = "Poisson sampling, a record that is added or removed, and exact noise"

RESULTS: dict[str, tuple[Any, list[str]]] = {
    "bands": (AUDIT.epsilon(1e-5, method="weighted-ell"), BANDS),
    "by default": (AUDIT.epsilon(1e-5), [*BANDS, "Delta was fixed"]),
    "many deltas": (AUDIT.epsilon([0.0, 1e-5], method="dkw", orientation="both"), BANDS),
    "sorted bits": (AUDIT.epsilon(1e-5, method="sorted-bits"), [*COINS, "Delta was fixed"]),
    "split": (AUDIT.epsilon(method="split"), [*BANDS, "every other one"]),
    "credible": (AUDIT.epsilon(method="credible"), [*BANDS, "every other one", "prior"]),
    "at a threshold": (
        AUDIT.epsilon(method="split", threshold=1.5),
        [*BANDS, "threshold was fixed before"],
    ),
    "mu": (AUDIT.mu(), BANDS),
    "if Gaussian": (AUDIT.epsilon_if_gaussian(1e-5), [*BANDS, "exactly Gaussian"]),
    "parameter": (
        AUDIT.parameter_lower_bound(gaussian, method="dkw"),
        [*BANDS, DPSGD, "of the family"],
    ),
    "compare": (AUDIT.compare(gaussian(1.0)), [*BANDS, DPSGD]),
    "band": (AUDIT.band(), BANDS),
    "bootstrap": (AUDIT.bootstrap("auc", rng=0, resamples=10), BANDS),
    "one run": (one_run(SCORES, MEMBER, 20, 20), CANARIES),
    "one run, curve": (one_run_fdp(SCORES, MEMBER, 20, 20, gaussian(1.0)), [*CANARIES, DPSGD]),
    "one run, family": (
        one_run_fdp(SCORES, MEMBER, 20, 20, gaussian),
        [*CANARIES, DPSGD, "of the family"],
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_says_them_all_and_no_others(name: str) -> None:
    result, expected = RESULTS[name]
    assert len(result.assumptions) == len(expected)
    for sentence, words in zip(result.assumptions, expected, strict=True):
        assert words in sentence
        assert sentence.endswith(".")
    plain = result.to_dict()
    assert list(plain)[-1] == "assumptions"
    assert plain["assumptions"] == list(result.assumptions)
    assert json.loads(result.to_json())["assumptions"] == plain["assumptions"]
    assert "assumptions" not in repr(result)


@pytest.mark.parametrize("method", ["weighted-ell", "sorted-bits", "split"])
@pytest.mark.parametrize("claim", [(), ("--claimed-epsilon", 0.1)])
def test_the_command_says_them_beside_the_bound(
    method: str, claim: tuple[object, ...], capsys: Any, tmp_path: Any
) -> None:
    """Every bound of the JSON; text and page say those of the chosen method."""
    options = (write_scores(tmp_path), "--method", method, "--random-bits", *claim)
    found = parsed(capsys, *options, code=2 if claim else 0)
    bounds = [*found["bounds"], *(bound for row in found["methods"] for bound in row["bounds"])]
    bounds += [found["mu"]] if found["mu"] else []
    assert {bound["method"] for bound in bounds} > {"weighted-ell", "sorted-bits", "split"}
    for bound in bounds:
        assert bound["assumptions"] == list(AUDIT.epsilon(method=bound["method"]).assumptions)
    assert any(DPSGD in notice["message"] for notice in found["notices"]) == bool(claim)
    for text in (run(capsys, *options)[1], run(capsys, *options, "--html", "-")[1]):
        words = " ".join(text.split())
        assert all(sentence in words for sentence in found["bounds"][0]["assumptions"])
        assert (DPSGD in words) == bool(claim)


def test_easy_targets_as_members_certify_what_does_not_leak() -> None:
    """Independent rounds are not enough: one pair of neighbours, too."""
    rng = np.random.default_rng(0)
    # The score uses the target and not the training: no mechanism leaks less.
    easy, hard = rng.normal(6.0, 1.0, 400), rng.normal(0.0, 1.0, 400)
    assert Audit(easy, hard).epsilon().epsilon > 3.5
    targets = rng.permutation(np.concatenate([easy, hard]))
    assert Audit(targets[:400], targets[400:]).epsilon().epsilon == 0.0


def test_looking_again_and_again_refutes_the_truth() -> None:
    """The number of rounds is fixed, or each look is another audit; nominal 20 %."""
    rng, audits, looks = np.random.default_rng(1), 150, range(40, 401, 40)
    wrong = {"once": 0, "at any look": 0}
    for _ in range(audits):
        bits = rng.random(400) < 0.5
        scores = rng.laplace(bits)
        found = [
            Audit.from_rounds(scores[:n], bits[:n], random_bits=True).epsilon(
                0.0, 0.8, "sorted-bits"
            )
            for n in looks
        ]
        wrong["once"] += found[-1].epsilon > 1.0
        wrong["at any look"] += any(bound.epsilon > 1.0 for bound in found)
    error = math.sqrt(0.2 * 0.8 / audits)
    assert wrong["once"] / audits < 0.2 + 4 * error
    assert wrong["at any look"] / audits > 0.2 + 4 * error
