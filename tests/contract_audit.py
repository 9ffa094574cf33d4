"""Good calls of the audits, for contract_table.py."""

from __future__ import annotations

import numpy as np

from leakscore import audit
from tests import contract_inputs as good
from tests.contract_inputs import Call

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
        )
    ],
    "audit.Audit.epsilon": [
        Call(
            good.ROUNDS.epsilon,
            scalars={
                "delta": (1e-5, (-0.1, 1.0, good.NAN, "0", None, 1j)),
                "confidence": (0.9, (0.0, 1.0, good.NAN, "0.9", None, 1j)),
                "method": ("dkw-two-sided", ("best", None, 1)),
                "orientation": ("both", ("low", None, 1)),
            },
        )
    ],
    "audit.Audit.tpr_at": [Call(good.ROUNDS.tpr_at, scalars={"fpr": (0.01, good.NO_SHARE)})],
}
AUDITS |= {
    "audit.Audit.from_counts": [
        Call(
            lambda member_counts, nonmember_counts: audit.Audit.from_counts(
                np.arange(41) / 8, member_counts, nonmember_counts
            ),
            {
                "member_counts": np.round(np.abs(good.POINTS[:40]) * 8),
                "nonmember_counts": np.round(np.abs(good.POINTS[40:80]) * 4),
            },
        )
    ],
    "audit.Audit.merge": [
        Call(good.ROUNDS.merge, scalars={"other": (good.ROUNDS, (None, 1.0, "audit"))})
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
    "audit.RocBand.advantage",
    "audit.RocBand.auc",
}
AUDIT_RESULTS = {"audit.BootstrapInterval", "audit.EpsilonBound", "audit.Roc", "audit.RocBand"}
