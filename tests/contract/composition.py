"""Good calls of the numerical compositions and of intervals, for contract_table.py."""

from __future__ import annotations

from leakscore import tradeoff
from tests.contract import inputs as good
from tests.contract.inputs import Call

NO_NOISE = (0.0, -1.0, good.NAN, float("inf"), "1", None, 1j, [1.0])
NO_RATE = (0.0, -0.1, 1.5, good.NAN, "1", None, 1j)
NO_ADVERSARY = ("relaxed", None, 1)
SCALARS = {
    "noise_multiplier": (2.0, NO_NOISE),
    "sample_rate": (0.25, NO_RATE),
    "num_steps": (3, (*good.NO_COUNT, 3.0)),
    "adversary": ("informed", NO_ADVERSARY),
    "neighbours": ("add-remove", ("replace", "both", None, 1)),
}
SEQUENCE = [(tradeoff.gaussian(0.5), 2), tradeoff.subsampled_gaussian(2.0, 0.25, 3)]

COMPOSITION: dict[str, list[Call]] = {
    "tradeoff.subsampled_gaussian": [
        Call(
            lambda **given: tradeoff.subsampled_gaussian(**given).power([0.01, 0.1, 0.5]),
            scalars=SCALARS,
        ),
        Call(
            lambda alpha: tradeoff.subsampled_gaussian(2.0, 0.25, 3).interval("beta", alpha),
            {"alpha": good.SHARES},
            kind="curve",
        ),
    ],
    "tradeoff.subsampled_laplace": [
        Call(
            lambda **given: tradeoff.subsampled_laplace(**given).power([0.01, 0.1, 0.5]),
            scalars=SCALARS,
        )
    ],
    "tradeoff.compose": [
        Call(
            lambda curves: tradeoff.compose(curves).power([0.01, 0.1, 0.5]),
            scalars={
                "curves": (
                    SEQUENCE,
                    (
                        *([], None, 1, "ab", tradeoff.gaussian(1.0), [1.0], [None]),
                        [tradeoff.gaussian([1.0, 2.0])],
                        [(tradeoff.gaussian(1.0), 0)],
                        [(tradeoff.gaussian(1.0), 1.5)],
                        [(tradeoff.gaussian(1.0), 1, 1)],
                        [tradeoff.gaussian(1.0), tradeoff.misspecified(4.0, 2.0)],
                    ),
                )
            },
        )
    ],
    "tradeoff.TradeOff.interval": [
        Call(
            lambda alpha, quantity="power": good.CURVE.interval(quantity, alpha),
            {"alpha": good.SHARES},
            kind="curve",
            scalars={"quantity": ("beta", ("both", "shape", None, 1))},
        )
    ],
}
