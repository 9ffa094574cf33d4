"""Good calls of the audits, for contract_table.py."""

from __future__ import annotations

from functools import partial

import numpy as np

from leakscore import audit, tradeoff
from tests.contract import inputs as good
from tests.contract.inputs import Call

NO_CONFIDENCE = (0.0, 1.0, good.NAN, "0.9", None, 1j)
NO_METHOD = ("best", None, 1)
NO_DELTA = (-0.1, 1.0, good.NAN, "0", None, 1j)
NO_CURVE = (1.0, None, "gaussian", tradeoff.gaussian([1.0, 2.0]))
BAND = {"confidence": (0.9, NO_CONFIDENCE), "method": ("dkw-two-sided", NO_METHOD)}
TEST = BAND | {"orientation": ("both", ("low", None, 1))}

AUDITS: dict[str, list[Call]] = {
    "audit.Audit": [
        Call(
            lambda members, nonmembers: audit.Audit(members, nonmembers).epsilon(),
            {"members": good.POINTS[:4000] + 1, "nonmembers": good.POINTS[4000:7000]},
            kind="scores",
        )
    ],
    "audit.Audit.from_rounds": [
        Call(
            lambda scores, rng=0: audit.Audit.from_rounds(
                scores, np.arange(4000) % 2 == 0, rng=rng
            ).roc(),
            {"scores": good.POINTS[:4000]},
            kind="scores",
            scalars={"rng": (0, (-1, 1.5, "0", True))},
        ),
        Call(
            lambda scores, random_bits=True, rng=0: audit.Audit.from_rounds(
                scores, np.arange(4000) % 2 == 0, random_bits=random_bits, rng=rng
            ).epsilon(1e-6, method="sorted-bits"),
            {"scores": good.POINTS[:4000]},
            kind="scores",
            scalars={"random_bits": (True, (None, 1, "yes"))},
        ),
    ],
    "audit.blind_check": [
        Call(
            partial(audit.blind_check, relabellings=20),
            {"features": good.TABLE[:100, :5], "member": np.arange(100) % 3 == 0},
            any_shape=True,  # any number of columns
            scalars={"rng": (0, (-1, 1.5, "0", True)), "ridge": (0.5, good.NO_POSITIVE)},
        )
    ],
    "audit.rank_test": [
        Call(
            lambda score: audit.rank_test(score, good.TABLE[:30]),
            {"score": good.POINTS[:30]},
            kind="scores",
        )
    ],
    "audit.Audit.from_bytes": [
        Call(
            lambda members: audit.Audit.from_bytes(
                audit.Audit(members, good.POINTS[4000:7000]).to_bytes()
            ).epsilon(),
            {"members": good.POINTS[:4000] + 1},
            kind="scores",
        )
    ],
    "audit.epsilons": [
        Call(
            lambda scores, delta=0.1, **options: audit.epsilons(
                scores, np.arange(50) % 2 == 0, delta, **options
            ),
            {"scores": good.TABLE[:700]},
            kind="scores",
            any_shape=True,
            scalars={
                "delta": (1e-5, (-0.1, 1.0, good.NAN, "0", None, 1j)),
                "confidence": (0.9, (0.0, 1.0, good.NAN, "0.9", None, 1j)),
                "method": ("dkw-two-sided", ("best", None, 1, "split")),
                "orientation": ("both", ("low", None, 1)),
            },
        )
    ],
    "audit.Audit.epsilon": [
        Call(
            good.ROUNDS.epsilon,
            scalars={
                "delta": (1e-5, (-0.1, 1.0, good.NAN, "0", None, 1j)),
                "confidence": (0.9, (0.0, 1.0, good.NAN, "0.9", None, 1j)),
                "method": ("dkw-two-sided", ("best", 1)),
                "orientation": ("both", ("low", None, 1)),
            },
        ),
        *(
            Call(
                partial(good.ROUNDS.epsilon, method=method),
                scalars={"threshold": (0.5, (good.NAN, float("inf"), "0", True, 1j, [0.5]))},
            )
            for method in ("split", "credible")
        ),
    ],
    **{
        f"audit.{method.__name__}": [
            Call(
                lambda threshold=0.5, method=method: (
                    good.ROUNDS.epsilon(1e-5, method=method(threshold)).epsilon
                ),
                scalars={"threshold": (0.5, (good.NAN, float("inf"), "0", True, 1j, [0.5]))},
            )
        ]
        for method in (audit.Split, audit.Credible)
    },
    "audit.Audit.mu": [Call(good.ROUNDS.mu, scalars=TEST)],
    "audit.Audit.epsilon_if_gaussian": [
        Call(good.ROUNDS.epsilon_if_gaussian, scalars={"delta": (1e-5, NO_DELTA), **TEST})
    ],
    "audit.Audit.parameter_lower_bound": [
        Call(
            good.ROUNDS.parameter_lower_bound,
            scalars={
                "family": (tradeoff.laplace, (1.0, None, "laplace")),
                "low": (0.0, (good.NAN, float("inf"), "0", None, 1j)),
                "high": (9.0, (0.0, -1.0, good.NAN, "9", None, 1j)),
                "neighbours": ("add-remove", ("both", 1)),
                **TEST,
            },
        )
    ],
    "audit.Audit.compare": [
        Call(
            good.ROUNDS.compare,
            scalars={
                "tradeoff": (tradeoff.gaussian(0.5), NO_CURVE),
                "neighbours": ("add-remove", ("both", 1)),
                **TEST,
            },
        ),
        Call(
            lambda neighbours=None: good.ROUNDS.compare(
                tradeoff.subsampled_gaussian(2.0, 0.25, 3), neighbours=neighbours
            ),
            scalars={"neighbours": (None, ("replace",))},
        ),
    ],
    "audit.critical_value": [
        Call(
            audit.critical_value,
            scalars={
                "n": (50, (0, -1, 2.5, "1", None, True, 10**12 + 1)),
                "confidence": (0.9, NO_CONFIDENCE),
                "method": ("ell", ("best", None, 1)),
            },
        )
    ],
    "audit.required_rounds": [
        Call(
            audit.required_rounds,
            scalars={
                "tradeoff": (tradeoff.gaussian(3.0), NO_CURVE),
                "epsilon": (1.0, (-0.1, 16.7, good.NAN, float("inf"), "1", None, 1j)),
                "delta": (1e-5, NO_DELTA),
                "power": (0.5, NO_CONFIDENCE),
                "neighbours": ("replace", ("both", 1)),
                **BAND,
            },
        )
    ],
    "audit.Audit.tpr_at": [Call(good.ROUNDS.tpr_at, scalars={"fpr": (0.01, good.NO_SHARE)})],
}
AUDITS |= {
    "audit.Audit.from_counts": [
        Call(
            lambda member_counts, nonmember_counts: audit.Audit.from_counts(
                np.arange(41) / 8, member_counts, nonmember_counts, below=(0, 0), above=(0, 0)
            ),
            {
                "member_counts": np.round(np.abs(good.POINTS[:40]) * 8),
                "nonmember_counts": np.round(np.abs(good.POINTS[40:80]) * 4),
            },
        )
    ],
    "audit.Audit.merge": [
        Call(good.ROUNDS.merge, scalars={"other": (good.OTHER_ROUNDS, (None, 1.0, "audit"))})
    ],
    "audit.Audit.band": [
        Call(
            good.ROUNDS.band,
            scalars={
                "confidence": (0.9, (0.0, 1.0, good.NAN, "0.9", None, 1j)),
                "method": ("dkw", ("split", None, 1)),
            },
        )
    ],
    "audit.RocBand.tpr_at": [
        Call(good.ROUNDS.band(method="dkw").tpr_at, scalars={"fpr": (0.01, good.NO_SHARE)})
    ],
    "audit.Audit.bootstrap": [
        Call(
            good.ROUNDS.bootstrap,
            scalars={
                "statistic": ("tpr_at", ("mean", None, 1)),
                "fpr": (0.1, good.NO_SHARE),
                "confidence": (0.9, (0.0, 1.0, good.NAN, "0.9", None, 1j)),
                "resamples": (20, good.NO_COUNT),
                "rng": (0, good.NO_RNG),
            },
        )
    ],
}
AUDITS_WITHOUT_ARGUMENTS = {
    "audit.Audit.advantage",
    "audit.Audit.auc",
    "audit.Audit.roc",
    "audit.Audit.to_bytes",
    "audit.RocBand.advantage",
    "audit.RocBand.auc",
}
AUDIT_RESULTS = {
    "audit.RateBands",
    "audit.SortedBits",
    "audit.BlindCheck",
    "audit.RankTest",
    "audit.FourOutcomes",
    "audit.BootstrapInterval",
    "audit.Comparison",
    "audit.EpsilonBound",
    "audit.GaussianEpsilon",
    "audit.MuBound",
    "audit.ParameterBound",
    "audit.RequiredRounds",
    "audit.Roc",
    "audit.RocBand",
}
