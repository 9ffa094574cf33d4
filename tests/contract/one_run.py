"""Good calls of the audits with one training, for contract_table.py."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from leakscore import audit, tradeoff
from tests.contract import inputs as good
from tests.contract.inputs import Call

IN = (np.arange(4000) % 2 == 0) | (np.arange(4000) == 1)  # not exactly half
LEVEL = {
    "k_plus": (30, (-1, 4001, 2.5, "1", None)),
    "k_minus": (10, (-1, 3971, 2.5, "1", None)),
    "confidence": (0.9, (0.0, 1.0, good.NAN, "0.9", None, 1j)),
}


def _one_run_fdp(curve: Any, scores: Any, **given: Any) -> list[Any]:
    result = audit.one_run_fdp(scores, IN, tradeoff=curve, **given)
    return [value for value in result.to_dict().values() if not isinstance(value, str)]


ONE_RUNS: dict[str, list[Call]] = {
    "audit.one_run": [
        Call(
            partial(audit.one_run, included=IN),
            {"scores": good.POINTS[:4000]},
            "scores",
            {**LEVEL, "delta": (1e-6, (-0.1, 1.0, good.NAN, "0", None, 1j))},
        ),
        Call(
            lambda included: audit.one_run(good.POINTS[:4000], included, 30, 10),
            {"included": IN},
        ),
    ],
    "audit.one_run_fdp": [
        Call(
            partial(_one_run_fdp, curve),
            {"scores": good.POINTS[:4000]},
            "scores",
            {**LEVEL, "neighbours": ("add-remove", ("both", 1))},
        )
        for curve in (tradeoff.gaussian, tradeoff.laplace(0.1))
    ],
}
ONE_RUN_RESULTS = {"audit.OneRunBound", "audit.OneRunFamilyBound", "audit.OneRunTest"}
