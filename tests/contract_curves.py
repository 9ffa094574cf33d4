"""Good calls of the relaxed attackers' curves and of the algebra, for contract_table.py."""

from __future__ import annotations

import numpy as np

from leakscore import tradeoff
from tests import contract_inputs as good
from tests.contract_inputs import Call

DIM = (3, (0, -1, 2.5, "3", good.NAN, 1j))

CURVES: dict[str, list[Call]] = {
    "tradeoff.laplace": [
        Call(
            lambda mu: tradeoff.laplace(mu).power(0.1),
            {"mu": np.abs(good.POINTS[:999])},
            kind="curve",
        )
    ],
    "tradeoff.relaxed_laplace": [
        Call(
            lambda mu: tradeoff.relaxed_laplace(mu).delta(0.1),
            {"mu": np.abs(good.POINTS[:999])},
            kind="curve",
        )
    ],
    "tradeoff.relaxed_gaussian": [
        Call(
            lambda mu: tradeoff.relaxed_gaussian(mu, 3).power([0.1, 0.5]),
            {"mu": np.abs(good.POINTS[:999])},
            kind="curve",
        ),
        Call(
            lambda dim=3: tradeoff.relaxed_gaussian(1.5, dim).delta(0.1),
            scalars={"dim": DIM},
        ),
    ],
    "tradeoff.compose_relaxed_gaussian": [
        Call(
            lambda mus, dim=3, weights="equal": tradeoff.compose_relaxed_gaussian(
                mus, dim, weights
            ).power(0.1),
            {"mus": np.abs(good.POINTS[:999]) / 30.0},
            any_shape=True,
            scalars={"dim": DIM, "weights": ("equal", ("best", None, 1))},
        )
    ],
}
