"""Good calls of what is about synthetic tables, for contract_table.py."""

from __future__ import annotations

from functools import partial

import numpy as np

from leakscore import games, scores
from tests.contract import inputs as good
from tests.contract.inputs import Call

_POPULATION = games.Gaussian(good.MEANS, good.VARIANCES)

SYNTHETIC: dict[str, list[Call]] = {
    "games.synthetic": [
        Call(
            partial(
                games.synthetic,
                lambda table, rng: table + rng.normal(size=table.shape),
                _POPULATION,
                score=lambda table: float(table.mean()),
            ),
            {"target": good.TARGET},
            scalars={
                "n": (20, good.NO_COUNT),
                "rounds": (8, good.NO_COUNT),
                "rng": (5, good.NO_RNG),
            },
        )
    ],
    "scores.synthetic_scores": [
        Call(
            scores.synthetic_scores,
            {
                "targets": good.SMALL,
                "synthetic": good.TABLE[:70],
                "population": good.TABLE[100:190],
                "scale": np.asarray(good.VARIANCES),
            },
            scalars={"n": (50, good.NO_COUNT)},
        )
    ],
}
SYNTHETIC_RESULTS = {"scores.SyntheticScores"}
