"""Margins against many digits."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import shadow
from tests.shadow.test_scores import close

LOSSES = np.concatenate(
    [
        np.geomspace(1e-300, 800, 400),
        np.log(2.0)
        * (1 + np.concatenate([-np.geomspace(1e-16, 0.3, 40), np.geomspace(1e-16, 0.3, 40)])),
        [5e-324, 1e300],
    ]
)


def relative(found: Any, expected: list[Any]) -> float:
    exact = zip(np.ravel(found), expected, strict=True)
    return max(float(abs(mp.mpf(float(f)) - e) / abs(e)) for f, e in exact)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_loss_margin(dtype: Any) -> None:
    losses = LOSSES[LOSSES < 1e38].astype(dtype)
    losses = losses[losses > 0]
    with mp.workdps(700):
        expected = [
            -mp.log(mp.expm1(mp.mpf(float(x)))) if x < 1e3 else -mp.mpf(float(x)) for x in losses
        ]
    assert relative(shadow.loss_margin(losses), expected) < 1e-12
    np.testing.assert_array_equal(shadow.loss_margin([0.0, np.inf]), [np.inf, -np.inf])
    assert np.isnan(shadow.loss_margin(np.nan))
    with pytest.raises(ValueError, match=r"loss must be >= 0: 1 of 2 .*loss\[1\]=-1e-09"):
        shadow.loss_margin([1.0, -1e-9])


def test_log_confidence() -> None:
    margins = np.concatenate([LOSSES, -LOSSES])
    with mp.workdps(60):
        expected = [
            mp.mpf(t) if t < -700 else -(mp.log1p(mp.exp(-mp.mpf(t))) if t < 700 else mp.exp(-t))
            for t in margins
        ]
    found = shadow.log_confidence(margins)
    normal = np.array([abs(e) > 1e-300 for e in expected])
    kept = [e for e, keep in zip(expected, normal, strict=True) if keep]
    assert relative(found[normal], kept) < 1e-12
    assert (np.abs(found[~normal]) < 1e-299).all()
    np.testing.assert_array_equal(shadow.log_confidence([np.inf, -np.inf]), [0.0, -np.inf])


def test_confidence_margin() -> None:
    p = np.concatenate([np.geomspace(1e-300, 0.5, 50), 1 - np.geomspace(1e-16, 0.5, 50)])
    expected = [mp.log(mp.mpf(x)) - mp.log(1 - mp.mpf(x)) for x in p]
    close(shadow.confidence_margin(p), expected, 1e-12)
    expected = [mp.log(mp.mpf(x)) - mp.log(mp.mpf("1e-20")) for x in p]
    close(shadow.confidence_margin(p, complement=float(mp.mpf("1e-20"))), expected, 1e-12)
    np.testing.assert_array_equal(shadow.confidence_margin([0.0, 1.0]), [-np.inf, np.inf])
    with pytest.raises(ValueError, match=r"confidence\[1\]=1.5 must be in \[0, 1\]"):
        shadow.confidence_margin([0.5, 1.5])
    with pytest.raises(ValueError, match="must not be 0 both"):
        shadow.confidence_margin([0.0], complement=[0.0])


@pytest.mark.parametrize("scale", [1.0, 40.0, 3000.0])
def test_logit_margin(scale: float) -> None:
    rng = np.random.default_rng(0)
    logits, labels = scale * rng.normal(size=(6, 5, 7)) + scale, rng.integers(7, size=5)
    found = shadow.logit_margin(logits, labels)
    with mp.workdps(60):
        expected = [
            [
                mp.mpf(row[y])
                - mp.log(mp.fsum(mp.exp(mp.mpf(z)) for j, z in enumerate(row) if j != y))
                for row, y in zip(rows, labels, strict=True)
            ]
            for rows in logits
        ]
        close(found, expected, 1e-12)
    coarse = logits.astype(np.float32)
    np.testing.assert_array_equal(
        shadow.logit_margin(coarse, labels), shadow.logit_margin(coarse.astype(float), labels)
    )


def test_probabilities_and_masked_classes() -> None:
    p = np.array([[1 - 3e-17, 1e-17, 2e-17], [0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    expected = [mp.log(mp.mpf(p[0, 0])) - mp.log(mp.mpf(1e-17) + mp.mpf(2e-17)), mp.mpf(0)]
    found = shadow.logit_margin(p, 0, kind="probabilities")
    close(found[:2], expected, 1e-12)
    np.testing.assert_array_equal(found[2:], [np.inf, -np.inf])
    masked = np.array([[1.0, -np.inf, 3.0], [1.0, -np.inf, -np.inf], [-np.inf, 0.0, 1.0]])
    np.testing.assert_array_equal(shadow.logit_margin(masked, 0), [-2.0, np.inf, -np.inf])


@pytest.mark.parametrize(
    ("outputs", "labels", "options", "message"),
    [
        ([[1.0, np.nan]], 0, {}, r"must hold no NaN: 1 of 2.*outputs\[0, 1\]"),
        ([[1.0, np.inf]], 0, {}, "below inf"),
        ([[-np.inf, -np.inf]], 0, {}, "inf - inf"),
        ([[1.0, 2.0]], 2, {}, r"labels must be in \[0, 1\].*the first 2 at 0"),
        ([[1.0, 2.0]], -1, {}, r"labels must be in \[0, 1\]"),
        ([[1.0], [2.0]], 0, {}, r"stack \(0, z\)"),
        ([[1.0, 2.0]], [0, 1], {}, r"labels of shape \(2,\) must broadcast to \(1,\)"),
        ([[0.5, 0.6]], 0, {"kind": "probabilities"}, "row 0, sums to 1.1; pass logits"),
        ([[1.5, -0.5]], 0, {"kind": "probabilities"}, r"outputs must be in \[0, 1\]: 2 of 2"),
        (np.zeros((0, 3)), 0, {}, "must not be empty"),
    ],
)
def test_bad_outputs(outputs: Any, labels: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shadow.logit_margin(outputs, labels, **options)


def test_labels_are_integers() -> None:
    with pytest.raises(TypeError, match="labels must hold integers, not dtype float64"):
        shadow.logit_margin([[1.0, 2.0]], [0.0])
