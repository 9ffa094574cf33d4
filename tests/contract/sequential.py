"""Good calls on sequences of releases, for contract_table.py."""

from __future__ import annotations

from functools import partial

import numpy as np

from leakscore import sequential
from tests.contract import inputs as good
from tests.contract.inputs import Call

N = (50, good.NO_COUNT)
NOISE = (0.5, good.NO_POSITIVE)
STEPS = good.TABLE[:60].reshape(20, 3, good.DIM)
TARGETS = good.SMALL[:3]
FILTER = np.eye(3) + 0.5 * np.eye(3, k=-1)
PATTERNS = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
COUNTS = np.array([3.0, 5.0, 90.0])
PRIOR = np.array([0.25, 0.5, 0.25])
RATIOS = good.POINTS[:3000].reshape(1000, 3)
LOSSES = good.POSITIVE[:3000].reshape(1000, 3)
AXIS = (-1, (2, -3, 1.5, "0", None, True))
NEIGHBOURS = ("add-remove", ("both", None, 1))
THRESHOLDS = good.FEW[:301]

SEQUENTIAL: dict[str, list[Call]] = {
    "sequential.batch_means": [
        Call(sequential.batch_means, {"cumulative_means": STEPS}, any_shape=True),
        Call(partial(sequential.batch_means, STEPS), {"counts": COUNTS}, any_shape=True),
    ],
    "sequential.semi_uniform": [
        Call(
            sequential.semi_uniform,
            {"llr": RATIOS},
            kind="scores",
            scalars={"axis": AXIS},
            any_shape=True,
        ),
        Call(partial(sequential.semi_uniform, RATIOS), {"prior": PRIOR}, any_shape=True),
    ],
    "sequential.semi_max": [
        Call(
            sequential.semi_max,
            {"llr": RATIOS},
            kind="scores",
            scalars={"axis": AXIS},
            any_shape=True,
        )
    ],
    "sequential.allocation_llr": [
        Call(
            partial(sequential.allocation_llr, selected=2),
            {"llr": RATIOS},
            kind="scores",
            any_shape=True,
        ),
        Call(
            partial(sequential.allocation_llr, good.POINTS[:1200].reshape(200, 6)),
            scalars={
                "selected": (2, (7, *good.NO_COUNT)),
                "num_epochs": (2, (4, *good.NO_COUNT)),
                "reallocate": (False, (1, "yes", None)),
            },
        ),
    ],
    "sequential.poisson_llr": [
        Call(
            sequential.poisson_llr,
            {"llr": RATIOS},
            kind="scores",
            scalars={"sample_rate": (0.25, (0.0, 1.5, *good.NO_POSITIVE))},
            any_shape=True,
        )
    ],
    "sequential.correlated_llr": [
        Call(
            sequential.correlated_llr,
            {
                "releases": STEPS,
                "target_gradients": targets,
                "strategy_matrix": FILTER,
                "participation": PATTERNS,
            },
            scalars={"noise_std": (0.5, (0.0, *good.NO_POSITIVE))},
            any_shape=True,
        )
        for targets in (TARGETS, 0.5 * STEPS)
    ],
    "sequential.error_rates": [
        Call(
            lambda squared_mahalanobis: sequential.error_rates(0.5, squared_mahalanobis, 10, 3),
            {"squared_mahalanobis": np.abs(THRESHOLDS)},
            kind="curve",
        ),
        Call(
            lambda threshold: np.subtract(*sequential.error_rates(threshold, 4.0, 10, 3)),
            {"threshold": THRESHOLDS},
            kind="elementwise",
        ),
    ],
    "sequential.uniform_error_rates": [
        Call(
            lambda threshold: sequential.uniform_error_rates(threshold, 4.0, 10, 3, 2).alpha.lower,
            {"threshold": np.arange(-4, 5) / 16},
            kind="elementwise",
        ),
        Call(
            partial(sequential.uniform_error_rates, 0.5),
            scalars={
                "squared_mahalanobis": (4.0, good.NO_POSITIVE),
                "n": (10, good.NO_COUNT),
                "dim": (3, good.NO_COUNT),
                "num_steps": (2, good.NO_COUNT),
            },
        ),
    ],
    "sequential.gradient_llr": [
        Call(
            partial(sequential.gradient_llr, reference=reference),
            {"gradients": STEPS, "target_gradients": TARGETS},
            scalars={"n": N, "noise_std": NOISE, "neighbours": NEIGHBOURS},
            any_shape=True,
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ],
    "sequential.sgd_llr": [
        Call(
            partial(sequential.sgd_llr, reference=good.PLAIN),
            {"theta": STEPS, "target_gradients": TARGETS[:2]},
            scalars={
                "learning_rate": (0.5, (0.0, -1.0, good.NAN, "1", 1j)),
                "n": N,
                "noise_std": NOISE,
                "neighbours": NEIGHBOURS,
            },
            any_shape=True,
        )
    ],
    "sequential.dpsgd_error_rates": [
        Call(
            partial(sequential.dpsgd_error_rates, 0.5, reference=reference),
            {"target_gradient": good.TARGET},
            scalars={"n": N, "noise_std": NOISE, "neighbours": NEIGHBOURS},
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ]
    + [
        Call(
            lambda threshold: np.subtract(
                *sequential.dpsgd_error_rates(threshold, good.TARGET, good.PLAIN, 50, 0.5)
            ),
            {"threshold": THRESHOLDS},
            kind="elementwise",
        )
    ],
    "sequential.game_tradeoff": [
        Call(
            lambda noise_multiplier: sequential.game_tradeoff(noise_multiplier).power([0.1, 0.5]),
            {"noise_multiplier": good.POSITIVE[:999]},
            kind="curve",
        ),
        Call(
            lambda neighbours: sequential.game_tradeoff(1.0, neighbours).power(0.1),
            scalars={"neighbours": NEIGHBOURS},
        ),
    ],
    "sequential.split_t": [
        Call(
            lambda rows=good.TABLE[:200], observed=good.SMALL, target=good.TARGET, **given: (
                sequential.split_t(observed, target, rows, **given)
            ),
            {"observed": good.SMALL, "target": good.TARGET},
            scalars={"n": N, "split": (120, (50, 199, 1.5, "60", True))},
        )
    ],
    "sequential.hotelling": [
        Call(
            partial(sequential.hotelling, reference=reference),
            {"observed": good.SMALL},
            scalars={"n": N},
        )
        for reference in (good.PLAIN, good.FULL, good.TABLE[:200])
    ],
    "sequential.linear_regression": [
        Call(
            lambda theta, optimum, target, residual_std=0.5, response=1.0: (
                sequential.linear_regression(
                    theta, optimum, good.VARIANCES, residual_std, target, response
                )
            ),
            {"theta": good.SMALL, "optimum": good.SMALL[0], "target": good.TARGET},
            scalars={
                "residual_std": (0.5, good.NO_POSITIVE),
                "response": (1.0, (good.NAN, float("inf"), "1", 1j, None)),
            },
            any_shape=True,
        )
    ],
    "sequential.RegressionGradients.llr": [
        Call(
            sequential.linear_regression(
                good.SMALL, good.SMALL[0] + 1, good.VARIANCES, 0.5, good.TARGET, 1.0
            ).llr,
            {"gradients": good.SMALL},
            scalars={"n": N, "noise_std": NOISE},
        )
    ],
}
SEQUENTIAL_WITHOUT_ARGUMENTS = {"sequential.RegressionGradients.reference"}
SEQUENTIAL_RESULTS = {
    "sequential.ErrorBrackets",
    "sequential.Interval",
    "sequential.RegressionGradients",
    "sequential.Significance",
}
