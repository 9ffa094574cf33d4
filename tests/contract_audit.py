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
AUDITS_WITHOUT_ARGUMENTS = {"audit.Audit.advantage", "audit.Audit.auc", "audit.Audit.roc"}
AUDIT_RESULTS = {"audit.EpsilonBound", "audit.Roc"}
