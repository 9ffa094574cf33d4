"""Good calls of the relaxed attackers' curves and of the algebra, for contract_table.py."""

from __future__ import annotations

import numpy as np

from leakscore import tradeoff
from tests.contract import inputs as good
from tests.contract.inputs import Call

BETTER = tradeoff.gaussian(1.0)
DIM = (3, (0, -1, 2.5, "3", good.NAN, 1j))

CURVES: dict[str, list[Call]] = {
    "tradeoff.approximate_dp": [
        Call(
            lambda epsilon=1.0, delta=0.0: tradeoff.approximate_dp(epsilon, delta).power(0.1),
            scalars={
                "epsilon": (1.0, (-0.1, good.NAN, float("inf"), "1", None, 1j)),
                "delta": (0.1, (-0.1, 1.0, good.NAN, "0", None, 1j)),
            },
        )
    ],
    "tradeoff.averaged_gaussian_attack": [
        Call(
            lambda num_records=100, sample_rate=0.1, num_steps=2, dimension=5: (
                tradeoff.averaged_gaussian_attack(
                    num_records, sample_rate, num_steps, dimension
                ).power([0.1, 0.5])
            ),
            scalars={
                "num_records": (100, good.NO_COUNT),
                "sample_rate": (0.1, (0.0, 1.1, good.NAN, "0.1", None, 1j)),
                "num_steps": (2, good.NO_COUNT),
                "dimension": (5, good.NO_COUNT),
            },
        )
    ],
    "tradeoff.last_iterate": [
        Call(
            lambda noise=1.0, num_steps=5, contraction=0.9, sensitivity=1.0: tradeoff.last_iterate(
                noise,
                num_steps=num_steps,
                contraction=contraction,
                sensitivity=sensitivity,
            ).power([0.1, 0.5]),
            scalars={
                "noise": (1.0, (0.0, *good.NO_POSITIVE)),
                "num_steps": (5, good.NO_COUNT),
                "contraction": (0.9, (-0.1, 1.1, good.NAN, "0.9", None, 1j)),
                "sensitivity": (1.0, (0.0, *good.NO_POSITIVE)),
            },
        )
    ],
    "tradeoff.from_profile": [
        Call(
            lambda epsilon, delta: tradeoff.from_profile(epsilon, delta).power([0.1, 0.5]),
            {"epsilon": np.arange(64.0) / 16, "delta": np.arange(64.0, 0.0, -1.0) / 128},
        )
    ],
    "tradeoff.from_pld": [
        Call(
            lambda pld, probabilities: tradeoff.from_pld(pld, probabilities).power([0.1, 0.5]),
            {"pld": np.arange(64.0) / 16, "probabilities": np.full(64, 1 / 64)},
        )
    ],
    "tradeoff.from_rdp": [
        Call(
            lambda orders=2.0, epsilons=1.0: tradeoff.from_rdp([orders], [epsilons]).power(0.1),
            scalars={
                "orders": (2.0, (1.0, 0.5, good.NAN, "2", None, 1j)),
                "epsilons": (1.0, (-0.1, float("inf"), good.NAN, "2", None, 1j)),
            },
        )
    ],
    "tradeoff.from_zcdp": [
        Call(
            lambda rho=0.5, xi=0.0: tradeoff.from_zcdp(rho, xi).power([0.1, 0.5]),
            scalars={
                "rho": (0.5, good.NO_POSITIVE),
                "xi": (0.1, good.NO_POSITIVE),
            },
        )
    ],
    "tradeoff.TradeOff.bayes": [Call(good.CURVE.bayes, {"prior": good.SHARES}, kind="curve")],
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
    "tradeoff.shifted_gaussian": [
        Call(
            lambda shift, scale: tradeoff.shifted_gaussian(shift, scale).power([0.1, 0.5]),
            {"shift": good.FEW[:999], "scale": good.POSITIVE[:999]},
            kind="curve",
        )
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
    "tradeoff.discrete_laplace": [
        Call(
            lambda scale=2.0, shift=3, relaxed=True: tradeoff.discrete_laplace(
                scale, shift, relaxed=relaxed
            ).power([0.01, 0.3]),
            scalars={
                "scale": (2.0, (0.0, *good.NO_POSITIVE)),
                "shift": (3, (*good.NO_COUNT, 10**6 + 1)),
                "relaxed": (True, ("yes", None, 2)),
            },
        )
    ],
    "tradeoff.discrete_gaussian": [
        Call(
            lambda sigma=2.0, shift=3, relaxed=True: tradeoff.discrete_gaussian(
                sigma, shift, relaxed=relaxed
            ).power([0.01, 0.3]),
            scalars={
                "sigma": (2.0, (0.0, 0.01, 1e5, *good.NO_POSITIVE)),
                "shift": (3, (*good.NO_COUNT, 121)),
                "relaxed": (True, ("yes", None, 2)),
            },
        )
    ],
    "tradeoff.TradeOff.subsample": [
        Call(
            lambda sample_rate: tradeoff.laplace(1.5).subsample(sample_rate).power([0.01, 0.3]),
            scalars={"sample_rate": (0.3, (0.0, -0.1, 1.1, good.NAN, "0.5", None, 1j))},
        )
    ],
    "tradeoff.TradeOff.best_of": [
        Call(
            lambda T: tradeoff.gaussian(1.5).best_of(T).power([0.01, 0.3]),
            scalars={"T": (3, good.NO_COUNT)},
        )
    ],
    "tradeoff.TradeOff.at_least_as_private_as": [
        Call(
            lambda other=BETTER, tolerance=1e-9: tradeoff.gaussian(2.0).at_least_as_private_as(
                other, tolerance=tolerance
            ),
            scalars={
                "other": (BETTER, (1.0, None, "gaussian")),
                "tolerance": (1e-9, (0.0, -1.0, 1e-13, 1.0, good.NAN, "1", 1j)),
            },
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
        Call(
            lambda family="gaussian", curve=BETTER: tradeoff.calibrate(family, curve=curve),
            scalars={
                "family": ("laplace", ("normal", None, 1)),
                "curve": (BETTER, (1.0, "gaussian", tradeoff.gaussian([1.0, 2.0]))),
            },
        ),
    ],
}
