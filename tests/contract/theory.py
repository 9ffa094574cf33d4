"""Good calls of the scores and leakages beyond the Gaussian mean, for contract_table.py."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from leakscore import Reference, leakage, scores, tradeoff
from tests.contract import inputs as good
from tests.contract.inputs import Call

N = (50, good.NO_COUNT)
RATE = (0.5, (0.0, 1.5, good.NAN, "1", None, 1j))
COPIES = np.random.default_rng(14).integers(0, 3, size=(20, good.DIM)).astype(float)
POOL = np.round(16 * good.RATES[:50]) / 16


def _groups_out(cov: Any, X: Any, **given: Any) -> Any:
    reference = Reference.fit(good.TABLE, cov)
    return leakage.leave_group_out(X, reference, groups=np.arange(good.ROWS) // 2, **given)


def _batched(X: Any, batches: Any) -> Any:
    reference, groups = Reference.fit(good.SMALL, "diagonal"), np.arange(60) % 7
    return leakage.leave_group_out(X, reference, [50, 60], groups, batches=batches)


THEORY: dict[str, list[Call]] = {
    "leakage.leave_group_out": [
        *(
            Call(
                partial(_groups_out, cov),
                {"X": good.TABLE},
                scalars={"n": N, "population": ("finite", ("all", None))},
            )
            for cov in ("diagonal", "full")
        ),
        Call(_batched, {"X": good.SMALL, "batches": np.arange(60.0) % 2}),
    ],
    "scores.edgeworth_llr": [
        Call(
            partial(scores.edgeworth_llr, reference=good.PLAIN, skewness=0.5, kurtosis=0.25),
            {"observed": good.TABLE, "target": target},
            scalars={"n": N, "order": (3, (1, 4, 2.5, "2", None, True))},
        )
        for target in (good.TARGET, good.SMALL[:3])
    ]
    + [
        Call(
            partial(scores.edgeworth_llr, good.SMALL, good.TARGET, good.PLAIN, 50, order=3),
            {"skewness": good.SMALL[0], "kurtosis": good.SMALL[1]},
            number_will_do=True,
        )
    ],
    "scores.subsampled_llr": [
        Call(
            lambda llr=0.5, sample_rate=0.5: scores.subsampled_llr(llr, sample_rate),
            {"llr": good.FEW},
            kind="curve",
        ),
        Call(
            lambda sample_rate: scores.subsampled_llr(0.5, sample_rate),
            {},
            "curve",
            {"sample_rate": RATE},
        ),
    ],
    "scores.glir": [
        Call(
            partial(scores.glir, reference=reference),
            {"observed": good.SMALL, "target": good.TARGET},
            scalars={"n": N, "noise_std": (0.5, good.NO_POSITIVE)},
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ],
    "scores.genotype_llr": [
        Call(
            partial(scores.genotype_llr, n=8),
            {"frequency": POOL, "genotype": COPIES, "p": good.MEANS},
            scalars={
                "ploidy": (2, good.NO_COUNT),
                "pseudocount": (0.5, (0.0, -1.0, good.NAN, "1", 1j)),
                "missing": (-1, ("none", 1j, 2, float("inf"))),
            },
        ),
        Call(
            partial(scores.genotype_llr, POOL, COPIES, good.MEANS),
            scalars={"n": (8, (0, -1, 2.5, True, "3", None, good.NAN, 1j, [5]))},
        ),
    ],
    "scores.homer_distance": [
        Call(
            scores.homer_distance,
            {"observed": good.RATES, "target": good.BITS, "p": good.MEANS},
        )
    ],
    "scores.z_estimator_llr": [
        Call(
            lambda n=50, **given: scores.z_estimator_llr(
                **({"estimate": good.SMALL, "influence": good.TARGET} | given),
                n=n,
            ),
            {
                "estimate": good.SMALL,
                "influence": good.TARGET,
                "influence_covariance": good.VARIANCES,
                "theta0": good.SMALL[2],
            },
            scalars={"n": N},
        )
    ],
    "leakage.cross_leakage": [
        Call(
            partial(leakage.cross_leakage, reference=reference),
            {"attack_target": good.SMALL, "true_target": good.TARGET},
            scalars={
                "n": N,
                "noise_std": (0.5, good.NO_POSITIVE),
                "neighbours": ("add-remove", ("both", None, 1)),
            },
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ],
    "leakage.second_order_leakage": [
        Call(
            partial(leakage.second_order_leakage, reference=good.PLAIN, skewness=0.5),
            {"target": good.SMALL},
            scalars={"n": N},
        ),
        Call(
            partial(leakage.second_order_leakage, good.SMALL, good.PLAIN, 50),
            {"skewness": good.SMALL[0]},
            number_will_do=True,
        ),
    ],
    "leakage.release_leakage": [
        Call(
            partial(leakage.release_leakage, reference=reference, counts=[10, 30, 35]),
            {"target": good.SMALL},
            scalars={
                "step": (1, (-1, 3, 1.5, "0", None, True)),
                "noise_std": (0.5, good.NO_POSITIVE),
            },
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ],
    "leakage.effective_leakage": [
        Call(
            lambda squared_mahalanobis: leakage.effective_leakage(
                squared_mahalanobis, 50, 20, n_reference=60, covariance="full"
            ),
            {"squared_mahalanobis": np.abs(good.FEW)},
            kind="curve",
        ),
        Call(
            lambda n=50, dim=20, n_reference=60, covariance="full", ridge=None: (
                leakage.effective_leakage(
                    30.0, n, dim, n_reference=n_reference, covariance=covariance, ridge=ridge
                )
            ),
            scalars={
                "n": N,
                "dim": (20, good.NO_COUNT),
                "n_reference": (60, good.NO_COUNT),
                "covariance": ("full", ("both", None)),
                "ridge": (0.5, (0.0, *good.NO_POSITIVE)),
            },
        ),
    ],
    "tradeoff.misspecified": [
        Call(
            lambda **given: tradeoff.misspecified(**given).power([0.1, 0.5]),
            {"m_targ": good.POSITIVE, "m_scal": good.FEW},
            kind="curve",
        )
    ],
    "tradeoff.gaussian_mean": [
        Call(
            lambda squared_mahalanobis: tradeoff.gaussian_mean(squared_mahalanobis, 20, 7).power(
                0.1
            ),
            {"squared_mahalanobis": np.abs(good.FEW)},
            kind="curve",
        ),
        Call(
            lambda n=20, dim=7, noise_ratio=0.0: tradeoff.gaussian_mean(
                30.0, n, dim, noise_ratio=noise_ratio
            ).power(0.1),
            scalars={
                "n": (20, (0, -1, 1, 2.5, "3", good.NAN, 1j)),
                "dim": (7, (0, -1, 2.5, "3", good.NAN, 1j)),
                "noise_ratio": (0.5, good.NO_POSITIVE),
            },
        ),
    ],
    "tradeoff.from_llr": [
        Call(
            lambda **given: tradeoff.from_llr(**given).power([0.01, 0.1, 0.5]),
            {name: good.POINTS[:4000]},
            kind="scores",
        )
        for name in ("llr_h0", "llr_h1")
    ],
}
