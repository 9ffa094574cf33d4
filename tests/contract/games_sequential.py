"""Good calls of games on sequences of releases, for contract_table.py."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from leakscore import games
from tests.contract import inputs as good
from tests.contract.inputs import Call

INSERTION = (2, (3, -1, 1.5, None, True, "last", [0.5, 0.5], 1j))
COUNT = (3, good.NO_COUNT)
NEITHER = tuple(bad for bad in good.NO_COUNT if bad is not None)  # None: the default
N = (50, (1, *good.NO_COUNT))
SEED = (5, good.NO_RNG)
NORMAL = games.Gaussian(good.MEANS, good.VARIANCES)
TRAINING = games.Training("linear", 20, 3, 0.0625, clip=2.0, noise_multiplier=0.5)
RECORDS = games.Empirical(good.SMALL)
DATA = games.Empirical(good.SMALL, replace=False)


def _bits(target: Any, rounds: int) -> Any:
    return games.sequential(games.Bernoulli(good.MEANS), target, 50, 3, 0, rounds, 5)[0]


def _trained(**given: Any) -> Any:
    fixed = {"n": 20, "num_steps": 3, "learning_rate": 0.0625, "clip": 2.0}
    training = games.Training("linear", **(fixed | given))
    return games.dpsgd(RECORDS, good.TARGET, training, 0, 30, 5)[0]


def _batched(kind: str, **given: Any) -> Any:
    batches = games.Batches(kind, **given)  # type: ignore[arg-type]
    training = games.Training("linear", 20, 6, 0.0625, clip=2.0, noise_multiplier=0.5)
    return games.dpsgd(DATA, good.TARGET, training, batches, 30, 5)[0]


def _filtered(strategy_matrix: Any) -> Any:
    return _trained(noise_multiplier=0.5, strategy_matrix=strategy_matrix)


SEQUENTIAL_GAMES: dict[str, list[Call]] = {
    "games.sequential": [
        Call(
            lambda target, n=50, num_steps=3, insertion=2, rounds=300, rng=5, **noise: (
                games.sequential(NORMAL, target, n, num_steps, insertion, rounds, rng, **noise)[0]
            ),
            {"target": good.TARGET},
            scalars={
                "n": N,
                "num_steps": COUNT,
                "insertion": INSERTION,
                "rounds": (300, good.NO_COUNT),
                "rng": SEED,
                "noise_std": (0.5, good.NO_POSITIVE),
            },
        ),
        Call(partial(_bits, rounds=99), {"target": good.BITS}),
    ],
    "games.Training": [
        Call(
            _trained,
            {"start": good.TARGET[:-1]},
            scalars={
                "n": (20, (1, *good.NO_COUNT)),
                "num_steps": COUNT,
                "learning_rate": (0.5, (0.0, *good.NO_POSITIVE)),
                "clip": (1.0, (0.0, *good.NO_POSITIVE)),
                "noise_multiplier": (0.5, (*good.NO_POSITIVE, None)),
                "classes": (2, (1, 3, 2.5, True, "3", None)),
            },
        ),
        Call(_filtered, {"strategy_matrix": np.eye(3) + np.eye(3, k=-1)}, any_shape=True),
    ],
    "games.Batches": [
        Call(
            partial(_batched, "truncated"),
            scalars={
                "sample_rate": (0.5, (0.0, 1.5, *good.NO_POSITIVE)),
                "max_batch_size": COUNT,
            },
        ),
        Call(
            partial(_batched, "allocated"),
            scalars={
                "selected": (2, (7, *NEITHER)),
                "num_epochs": (2, (4, *NEITHER)),
                "reallocate": (True, (1, "yes")),
            },
        ),
        Call(partial(_batched, "fixed"), scalars={"batch_size": (2, (10**6, *good.NO_COUNT))}),
        Call(
            partial(_batched, "patterns"),
            {"participation": np.tile([[1.0, 0.0], [0.0, 1.0]], 3)},
            any_shape=True,
        ),
    ],
    "games.Training.gradients": [
        Call(TRAINING.gradients, {"theta": good.TARGET[1:], "records": good.SMALL}, any_shape=True),
    ],
    "games.Training.losses": [
        Call(TRAINING.losses, {"theta": good.TARGET[1:], "records": good.SMALL}, any_shape=True),
    ],
    "games.Training.size": [Call(TRAINING.size, scalars={"inputs": (4, good.NO_COUNT)})],
    "games.dpsgd": [
        Call(
            lambda target, insertion=2, rounds=40, rng=5: games.dpsgd(
                RECORDS, target, TRAINING, insertion, rounds, rng
            )[0],
            {"target": good.TARGET},
            scalars={"insertion": INSERTION, "rounds": (40, good.NO_COUNT), "rng": SEED},
        ),
        Call(
            lambda other: games.dpsgd(
                DATA, good.TARGET, TRAINING, games.Batches("allocated"), 40, 5, other=other
            )[0],
            {"other": good.TARGET},
        ),
    ],
}
