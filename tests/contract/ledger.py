"""Good calls of the ledger of questions, for contract_table.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore import Reference, leakage
from leakscore.leakage import Ledger
from tests.contract import inputs as good
from tests.contract.inputs import Call

TABLE = good.TABLE[:400, :4]
HALF = np.arange(400) % 2 == 0
KEPT = Ledger(TABLE, max_leakage=1.0)
KEPT.ask(HALF, "mean", [1])


def _asked(table: Any = TABLE, **given: Any) -> Any:
    ledger = Ledger(table, **({"max_leakage": 1.0} | given))
    return [ledger.ask(HALF, "mean", [1, 2], rng=0), ledger.leakage]


WITHIN = {1: (-1e3, 1e3), 2: (-1e3, 1e3)}
QUESTION = {
    "where": (HALF, (None, "all", HALF[1:], HALF[None], HALF * 1.0, HALF & False)),
    "statistic": ("mean", ("median", None, 1)),
    "columns": ([0, 3], (1, None, [4], [-1], [0.5], [True], [0, 0], [])),
}
LEDGER: dict[str, list[Call]] = {
    "leakage.Ledger": [
        Call(
            lambda table, **given: [x.leakage for x in _asked(table, **given)[:1]],
            {"table": TABLE},
            any_shape=True,
            scalars={
                "max_leakage": (0.5, good.NO_POSITIVE),
                "max_noise": (2.0, good.NO_POSITIVE),
                "share": (0.5, (0.0, *good.NO_SHARE)),
            },
        ),
        Call(
            lambda table, **given: [x.leakage for x in _asked(table, **given)[:1]],
            {"table": TABLE},
            any_shape=True,
            scalars={
                "rule": ("public", ("exact", "both", 1)),
                "bounds": (WITHIN, (None, [], {}, {4: (0, 1)}, {1: 0.0}, {1: (0, 0)}, {1: (2, 3)})),
                "reference": ("uniform", (None, "normal", 1.0, Reference([0.0], [1.0]))),
            },
        ),
    ],
    "leakage.Ledger.ask": [
        Call(
            lambda **given: Ledger(TABLE, max_leakage=1.0).ask(**given),
            scalars=QUESTION | {"rng": (3, good.NO_RNG)},
        )
    ],
    "leakage.Ledger.preview": [
        Call(
            lambda **given: Ledger(TABLE, max_leakage=1.0).preview(**given),
            scalars=QUESTION,
        )
    ],
    "leakage.Ledger.least_noise": [
        Call(
            lambda **given: KEPT.least_noise(**given),
            scalars={"record": (2, (-1, len(TABLE), 0.5, None)), "column": (1, (-1, 4, 0.5, None))},
        )
    ],
    "leakage.Ledger.noisy_selections": [
        Call(
            lambda column: np.array(list(KEPT.noisy_selections(column))),
            scalars={"column": (1, (-1, 4, 0.5, None))},
        )
    ],
    "leakage.Ledger.from_bytes": [
        Call(
            lambda raw, table: Ledger.from_bytes(raw, table).leakage,
            scalars={
                "raw": (KEPT.to_bytes(), (b"", b"x" * 99, "text", None, 1)),
                "table": (TABLE, (TABLE[::-1], TABLE[:, 0], None)),
            },
        )
    ],
}
LEDGER_WITHOUT_ARGUMENTS = {"leakage.Ledger.to_bytes"}
LEDGER_RESULTS = {f"leakage.{kind.__name__}" for kind in (leakage.Answer, leakage.Refusal)}
