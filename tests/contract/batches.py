"""Good calls of the curves of batches that are not Poisson samples, for the contract tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore import tradeoff
from tests.contract import inputs as good
from tests.contract.composition import NO_NOISE, NO_RATE
from tests.contract.inputs import Call

NOISE = (2.0, (0.01, *NO_NOISE))
POWERS = [0.01, 0.1, 0.5]


def _count(value: int, *bad: Any) -> tuple[int, tuple[Any, ...]]:
    return value, (*good.NO_COUNT, float(value), *bad)


BATCHES: dict[str, list[Call]] = {
    "tradeoff.random_allocation": [
        Call(
            lambda **given: tradeoff.random_allocation(**given).power(POWERS),
            scalars={
                "noise_multiplier": NOISE,
                "steps_per_epoch": _count(6, 10**7),
                "selected": _count(2, 7),
                "num_epochs": _count(2, 10**7),
                "reallocate": (True, (1, "yes", None)),
            },
        )
    ],
    "tradeoff.fixed_batch_gaussian": [
        Call(
            lambda **given: tradeoff.fixed_batch_gaussian(**given).power(POWERS),
            scalars={
                "noise_multiplier": NOISE,
                "batch_size": _count(2, 9),
                "num_records": _count(8),
                "num_steps": _count(3, 10**7),
            },
        )
    ],
    "tradeoff.truncated_poisson_gaussian": [
        Call(
            lambda **given: tradeoff.truncated_poisson_gaussian(**given).power(POWERS),
            scalars={
                "noise_multiplier": NOISE,
                "sample_rate": (0.25, NO_RATE),
                "max_batch_size": _count(2),
                "num_records": _count(8),
                "num_steps": _count(3, 10**7),
            },
        )
    ],
    "tradeoff.shuffled_gaussian": [
        Call(
            lambda **given: tradeoff.shuffled_gaussian(**given).interval("power", POWERS)[0],
            scalars={
                "noise_multiplier": NOISE,
                "steps_per_epoch": _count(5, 10**7),
                "num_epochs": _count(2, 10**7),
                "neighbours": ("zero-out", ("add-remove", "both", None, 1)),
            },
        )
    ],
    "tradeoff.correlated_gaussian": [
        Call(
            lambda **given: tradeoff.correlated_gaussian(**given).power(POWERS),
            scalars={
                "strategy_matrix": (
                    np.array([[1.0, 0.0], [0.5, 1.0]]),
                    (np.ones((2, 2)), np.zeros((2, 2)), np.ones((2, 3)), "ab", None, good.NAN),
                ),
                "participation": (
                    np.array([[1.0, 1.0]]),
                    ([[1.0]], [[0.5, 1.0]], [[0.0, 0.0]], [], [1.0, 1.0], "ab", None),
                ),
                "noise_multiplier": (2.0, NO_NOISE),
            },
        )
    ],
    "tradeoff.strategy_matrix": [
        Call(
            tradeoff.strategy_matrix,
            scalars={
                "kind": ("banded", ("optimal", None, 1)),
                "num_steps": _count(5, 10**5),
                "bands": (3, (0, 6, 1.5, True, "3", None)),
            },
        )
    ],
    "tradeoff.participation_patterns": [
        Call(
            tradeoff.participation_patterns,
            scalars={"num_steps": _count(6, 5), "num_epochs": _count(2, 4)},
        )
    ],
}
