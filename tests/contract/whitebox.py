"""One good call of every function of `canaries` and `whitebox`, for contract_table.py."""

from __future__ import annotations

from functools import partial

from leakscore import canaries, whitebox
from tests.contract import inputs as good
from tests.contract.inputs import Call

NO_BOUND = (0.0, *good.NO_POSITIVE)
STEPS = good.POINTS[:4000].reshape(40, 100)
PATH = {"theta": good.SMALL[:6], "target_gradients": good.SMALL[20:25]}
RATES = (0.5, (0.0, *good.NO_POSITIVE, [0.5, 0.5]))

WHITEBOX: dict[str, list[Call]] = {
    "canaries.select": [
        Call(
            partial(canaries.select, reference=reference),
            {"candidates": good.TABLE},
            scalars={"k": (7, (*good.NO_COUNT, good.ROWS + 1))},
        )
        for reference in (good.PLAIN, good.FULL)
    ],
    "canaries.rank_sum": [
        Call(canaries.rank_sum, {"distances": STEPS}, "scores", {"k": (9, (*good.NO_COUNT, 101))})
    ],
    "canaries.canife_loss": [
        Call(
            canaries.canife_loss,
            {"g": good.TARGET, "U": good.SMALL},
            scalars={"C": (64.0, NO_BOUND)},
        )
    ],
    "whitebox.clip": [
        Call(whitebox.clip, {"g": values}, scalars={"c": (2.0, NO_BOUND)}, any_shape=True)
        for values in (good.TABLE, good.TARGET)
    ],
    "whitebox.covariance_attack": [
        Call(
            partial(whitebox.covariance_attack, reference=reference),
            PATH,
            scalars={
                "learning_rate": RATES,
                "n": (50, good.NO_COUNT),
                "noise_std": (0.5, good.NO_POSITIVE),
                "neighbours": ("add-remove", ("both", None)),
            },
        )
        for reference in (good.PLAIN, good.FULL, 5 * [good.PLAIN])
    ],
    "whitebox.aggregate": [
        Call(
            partial(whitebox.aggregate, batches=batches),
            {"steps": STEPS[0] if batches == "every-step" else STEPS},
            "scores",
            any_shape=True,
        )
        for batches in ("every-step", "one-epoch", "max")
    ]
    + [
        Call(
            partial(whitebox.aggregate, batches="poisson"),
            {"steps": STEPS},
            "scores",
            {"sample_rate": (0.25, (0.0, *good.NO_SHARE))},
            any_shape=True,
        ),
        Call(
            partial(whitebox.aggregate, good.SHARES),
            scalars={"batches": ("max", ("sum", "", None, 1))},
        ),
    ],
}
