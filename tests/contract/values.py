"""Good calls of what a mean tells of one value."""

from __future__ import annotations

from functools import partial

from leakscore import leakage
from tests.contract import inputs as good
from tests.contract.inputs import Call

N = (50, good.NO_COUNT)

VALUES: dict[str, list[Call]] = {
    "leakage.attribute_leakage": [
        Call(
            partial(leakage.attribute_leakage, reference=reference),
            {"a": good.SMALL, "b": good.TARGET},
            scalars={
                "n": N,
                "known_members": (3, (-1, 50, 1.5, "0", None, True)),
                "noise_std": (0.5, good.NO_POSITIVE),
            },
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ],
    **{
        f"leakage.{function.__name__}": [
            Call(
                partial(function, reference, released=[4, 1, 7]),
                scalars={
                    "n": N,
                    "column": (1, (-1, good.DIM, 1.5, "0", None, True)),
                    "noise_std": (0.5, good.NO_POSITIVE),
                    **numbers,
                },
            )
            for reference in (good.PLAIN, good.FULL)
        ]
        for function, numbers in (
            (leakage.posterior_std, {"known_members": (3, (-1, 50, 1.5, "0", None, True))}),
            (leakage.members_to_disclose, {"width": (0.25, (0.0, *good.NO_POSITIVE))}),
        )
    },
}
