"""Good calls of the laws of shadow models, for contract_table.py."""

from __future__ import annotations

import numpy as np

from leakscore import shadow
from tests.contract import inputs as good
from tests.contract.inputs import Call

X = good.SMALL[:, :4].copy()
CLASSES = (np.arange(60) % 3).astype(float)
LAW = shadow.logistic_law(X, CLASSES, train_fraction=0.5, ridge=1.0)
SCORES = good.TABLE[:40, :30].copy()
INCLUDED = np.add.outer(np.arange(40), np.arange(30)) % 3 == 0
RISK = shadow.risk(SCORES, INCLUDED)
NO_VARIANCE = ("shared", None, 1)
NO_OPEN_SHARE = (0.0, 1.0, good.NAN, "0.5", None, 1j)
NO_POSITIVE = (0.0, *good.NO_POSITIVE)

SHADOW_LAWS: dict[str, list[Call]] = {
    "shadow.offline_power": [
        Call(
            lambda shift, num_out=8, scale=1.25, variance="per-record": shadow.offline_power(
                0.01, shift, num_out, scale=scale, variance=variance
            ),
            {"shift": good.FEW[:500]},
            kind="curve",
            scalars={
                "num_out": (8, (1, 0, 2.5, good.NAN, "8")),
                "scale": (1.25, NO_POSITIVE),
                "variance": ("per-record", NO_VARIANCE),
            },
        ),
    ],
    "shadow.online_power": [
        Call(
            lambda alpha=0.01, shift=2.0, num_in=4, num_out=6: shadow.online_power(
                alpha, shift, num_in, num_out
            ),
            scalars={
                "alpha": (0.01, good.NO_SHARE[:4]),
                "shift": (2.0, (good.NAN, float("inf"), "2")),
                "num_in": (4, (0, 2.5, good.NAN, "8")),
                "num_out": (4, (0, 2.5, good.NAN, "8")),
            },
        )
    ],
    "shadow.required_models": [
        Call(
            lambda alpha=0.01, shift=2.0, scale=1.5, fraction=0.5, variance="pooled": (
                shadow.required_models(
                    alpha, shift, scale=scale, fraction=fraction, variance=variance
                )
            ),
            scalars={
                "alpha": (0.01, NO_OPEN_SHARE[:4]),
                "shift": (2.0, (good.NAN, float("inf"), "2")),
                "scale": (0.5, NO_POSITIVE),
                "fraction": (0.9, NO_OPEN_SHARE[:4]),
                "variance": ("per-record", NO_VARIANCE),
            },
        )
    ],
    "shadow.linear_law": [
        Call(
            lambda sigma=0.5, ridge=0.25, noise_std=0.1, **given: shadow.linear_law(
                given.get("design", X),
                given.get("target", X[0]),
                1.0,
                given.get("beta", X[1]),
                sigma=sigma,
                ridge=ridge,
                noise_std=noise_std,
            ),
            {"design": X, "target": X[0].copy(), "beta": X[1].copy()},
            any_shape=True,
            scalars={
                "sigma": (0.5, good.NO_POSITIVE),
                "ridge": (0.25, good.NO_POSITIVE),
                "noise_std": (0.25, good.NO_POSITIVE),
            },
        )
    ],
    "shadow.logistic_law": [
        Call(
            lambda X, train_fraction=0.5, ridge=1.0: shadow.logistic_law(
                X, CLASSES, train_fraction=train_fraction, ridge=ridge
            ),
            {"X": X},
            any_shape=True,
            scalars={
                "train_fraction": (0.25, NO_OPEN_SHARE),
                "ridge": (0.5, (-1.0, good.NAN, float("inf"), "1", 1j)),
            },
        )
    ],
    "shadow.risk": [
        Call(
            lambda scores=SCORES, fpr=0.1, least_power=0.5, confidence=0.9, delta=0.1: shadow.risk(
                scores,
                INCLUDED,
                fpr=fpr,
                least_power=least_power,
                confidence=confidence,
                delta=delta,
            ),
            {"scores": SCORES},
            any_shape=True,
            scalars={
                "fpr": (0.25, NO_OPEN_SHARE),
                "least_power": (0.25, NO_OPEN_SHARE),
                "confidence": (0.5, NO_OPEN_SHARE),
                "delta": (0.25, (-0.1, 1.0, good.NAN, "0.5", 1j)),
            },
        )
    ],
    "shadow.RecordRisk.top": [
        Call(
            RISK.top,
            scalars={"count": (3, good.NO_COUNT), "attack": (0, (-1, 1, 1.5, "0", None))},
        )
    ],
    "shadow.LogisticLaw.score": [
        Call(LAW.score, {"observed": good.POINTS[:60]}, any_shape=True),
    ],
}
SHADOW_LAWS_RESULTS = {
    "shadow.LinearLaw",
    "shadow.LogisticLaw",
    "shadow.RecordRisk",
}
