"""Good calls of `shadow`, for contract_table.py."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from leakscore import shadow
from tests.contract import inputs as good
from tests.contract.inputs import Array, Call

MODELS, RECORDS = 12, 200  # a few strips
_RNG = np.random.default_rng(14)
_PAIRS = _RNG.random((MODELS // 2, RECORDS)) < 0.5
INCLUDED = np.stack([_PAIRS, ~_PAIRS], axis=1).reshape(MODELS, RECORDS)
SIGNALS = good.TABLE[: MODELS * RECORDS // good.DIM].reshape(MODELS, RECORDS) + INCLUDED
OBSERVED = good.POINTS[:RECORDS]
POPULATION = good.TABLE[1000 : 1000 + MODELS * 100 // good.DIM].reshape(MODELS, 100)
POPULATION_OBSERVED = good.POINTS[1000:1100]
PROBABILITIES = np.tile(np.full(16, 0.0625), (20, 1))
NO_A = (-0.1, 1.1, good.NAN, "0.5", None, 1j)
NO_CHOICE = ("both", None, 1)
STEPS = good.TABLE[: MODELS * 200 // good.DIM].reshape(MODELS, 50, 4)
CONFIDENCE = {
    "kind": ("online", NO_CHOICE),
    "a": (0.5, NO_A),
    "signal": ("margin", NO_CHOICE),
}


def _scored(function: Any, **scalars: Any) -> Call:
    """Return a call of a score, of which the mask has tests of its own."""

    def run(observed: Any, signals: Any, **given: Any) -> Array:
        return np.asarray(function(observed, signals, INCLUDED, **given))

    return Call(run, {"observed": OBSERVED, "signals": SIGNALS}, scalars=scalars)


def _with_population(observed: Any, signals: Any, **given: Any) -> Array:
    return shadow.rmia(observed, signals, INCLUDED, **given)


def _prior(**given: Any) -> list[float]:
    prior = shadow.Prior(**given)
    return list(shadow.bayes(OBSERVED, SIGNALS, INCLUDED, prior=(prior, prior)))


SHADOW: dict[str, list[Call]] = {
    "shadow.lira": [
        _scored(
            partial(shadow.lira, location=location),
            kind=("online", NO_CHOICE),
            variance=("per-record", NO_CHOICE),
            too_few=("raise", NO_CHOICE),
        )
        for location in ("mean", "median")
    ]
    + [_scored(partial(shadow.lira, variance="pooled"), location=("mean", NO_CHOICE))],
    "shadow.bayes": [
        _scored(
            shadow.bayes,
            kind=("offline", NO_CHOICE),
            prior=("empirical", NO_CHOICE),
            too_few=("raise", NO_CHOICE),
        )
    ],
    "shadow.Prior": [
        Call(
            _prior,
            scalars={
                "mean": (0.0, (good.NAN, float("inf"), 1e151, "0", None, 1j)),
                "strength": (1.0, good.NO_POSITIVE),
                "dof": (4.0, (0.0, -1.0, good.NAN, "1", 1j)),
                "variance": (2.0, (0.0, *good.NO_POSITIVE)),
            },
        )
    ],
    "shadow.one_step": [
        _scored(shadow.one_step),
        _scored(shadow.one_step, influence=("per-record", ("both", -1.0, good.NAN, [1.0, 2.0]))),
    ],
    "shadow.base": [_scored(shadow.base, **CONFIDENCE)],
    "shadow.rmia": [
        Call(
            _with_population,
            {
                "observed": OBSERVED,
                "signals": SIGNALS,
                "population_observed": POPULATION_OBSERVED,
                "population_signals": POPULATION,
            },
            scalars=CONFIDENCE | {"gamma": (1.5, (0.0, *good.NO_POSITIVE))},
            any_shape=True,
        )
    ],
    "shadow.innovations": [
        Call(
            lambda observed, signals, start=2: np.concatenate(
                [
                    part.reshape(-1)
                    for part in shadow.innovations(observed, signals, INCLUDED[:, :50], start=start)
                ]
            ),
            {"observed": STEPS[0] + 1, "signals": STEPS},
            scalars={"start": (1, (0, -1, 4, 1.5, "0", None, True))},
        )
    ],
    "shadow.paired": [_scored(shadow.paired)],
    "shadow.difficulty": [_scored(shadow.difficulty)],
    "shadow.leave_one_model_out": [
        Call(
            lambda signals, score="lira": shadow.leave_one_model_out(
                signals, INCLUDED, score=score, groups=np.arange(MODELS) // 2
            ),
            {"signals": SIGNALS},
            scalars={"score": (score, NO_CHOICE)},
        )
        for score in ("lira", "bayes", "one_step", "base", "paired", "difficulty")
    ],
    "shadow.choose": [
        Call(
            lambda signals, fpr=0.1: list(shadow.choose(signals, INCLUDED, fpr=fpr)[1].values()),
            {"signals": SIGNALS},
            scalars={"fpr": (0.1, (0.0, 1.0, good.NAN, "1", 1j))},
        )
    ],
    "shadow.logit_margin": [
        Call(
            partial(shadow.logit_margin, labels=3, kind="probabilities"),
            {"outputs": PROBABILITIES},
            any_shape=True,
        )
    ],
    "shadow.loss_margin": [
        Call(shadow.loss_margin, {"loss": np.abs(good.FEW) + 0.0625}, kind="elementwise")
    ],
    "shadow.confidence_margin": [
        Call(
            lambda confidence: shadow.confidence_margin(confidence),
            {"confidence": good.SHARES},
            kind="elementwise",
        )
    ],
    "shadow.log_confidence": [
        Call(shadow.log_confidence, {"margin": good.FEW}, kind="elementwise")
    ],
}
