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
    "tradeoff.calibrate": [
        Call(
            lambda advantage=0.125: tradeoff.calibrate("gaussian", advantage=advantage),
            kind="curve",
            scalars={"advantage": (0.125, (-0.1, 1.1, good.NAN, "0.5", 1j))},
        ),
        Call(
            lambda epsilon=1.0, delta=0.125: tradeoff.calibrate(
                "gaussian", epsilon=epsilon, delta=delta
            ),
            kind="curve",
            scalars={
                "epsilon": (1.0, (-0.1, good.NAN, "1", 1j)),
                "delta": (0.125, (-0.1, 1.1, good.NAN, "1", 1j)),
            },
        ),
        Call(
            lambda power=0.25, alpha=0.125: tradeoff.calibrate(
                "gaussian", power=power, alpha=alpha
            ),
            kind="curve",
            scalars={
                "power": (0.25, (-0.1, 1.1, good.NAN, "1", 1j)),
                "alpha": (0.125, (-0.1, 1.1, good.NAN, "1", 1j)),
            },
        ),
    ],
}
