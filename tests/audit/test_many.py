"""Many audits at once: each row is the single audit's number, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore.audit import Audit, epsilons

RNG = np.random.default_rng(0)


def _alone(scores: np.ndarray, member: np.ndarray, **options: object) -> np.ndarray:
    rows = np.broadcast_to(member, scores.shape)
    return np.array(
        [
            Audit.from_rounds(row, inside).epsilon(**options).epsilon  # type: ignore[arg-type]
            for row, inside in zip(scores, rows, strict=True)
        ]
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.float16])
@pytest.mark.parametrize("orientation", ["high", "both"])
@pytest.mark.parametrize("method", ["weighted-ell", "dkw", "ks", "bonferroni"])
def test_rows_are_single_audits(dtype: type, orientation: str, method: str) -> None:
    member = RNG.random((40, 48)) < 0.5
    gain = np.linspace(-6, 6, 40)[:, np.newaxis]
    scores = (2 * (RNG.normal(size=(40, 48)) + gain * member)).astype(dtype)
    options = {"delta": [0.0, 0.05], "method": method, "orientation": orientation}
    many = epsilons(scores, member, **options)  # type: ignore[arg-type]
    alone = _alone(scores, member, **options)
    assert many.shape == (40, 2)
    assert many.tobytes() == alone.tobytes()
    assert (many > 0.3).sum() > 10


def test_one_mask_for_all_ties_and_infinite_scores() -> None:
    member = np.arange(30) % 3 == 0
    scores = np.round(RNG.normal(size=(25, 30)) + 2.0 * member)
    scores[3, 5], scores[4, ::2], scores[5] = -np.inf, np.inf, 1.0
    alone = _alone(scores, member, method="weighted-ell")
    assert epsilons(scores, member).tobytes() == alone.tobytes()
    wide = np.zeros((25, 60))
    wide[:, ::2] = scores
    assert epsilons(wide[:, ::2], member).tobytes() == epsilons(scores, member).tobytes()
    assert epsilons(scores, member.astype(int)).tobytes() == epsilons(scores, member).tobytes()


def test_many_blocks_are_as_few() -> None:
    member = RNG.random(64) < 0.5
    scores = RNG.normal(size=(3000, 64)) + member
    every = epsilons(scores, member)
    assert every[[0, 1023, 1024, 2999]].tobytes() == (
        epsilons(scores[[0, 1023, 1024, 2999]], member).tobytes()
    )


def test_one_member_is_enough() -> None:
    scores, member = RNG.normal(size=(3, 40)), np.arange(40) == 3
    assert (
        epsilons(scores, member).tobytes()
        == _alone(scores, member, method="weighted-ell").tobytes()
    )


@pytest.mark.parametrize(
    ("scores", "member", "words"),
    [
        (np.zeros((3, 4)), np.ones(4), r"member\[0\] must hold both"),
        (np.zeros((3, 4)), np.eye(4)[:3].T, "transposed"),
        (np.zeros((3, 4)), [0, 1, 2, 0], r"member must be in \{0, 1\}"),
        (np.zeros((0, 4)), [0, 1, 1, 0], "not empty"),
        (np.zeros(4), [0, 1, 1, 0], r"\(R, T\)"),
        ([[0.0, 1.0, np.inf, -np.inf], [0.0, 1.0, np.nan, 2.0]], [0, 1, 1, 0], r"\[1, 2\]"),
        ([[0.0, 1.0, 3.0, 4.0], [0.0, 1.0, np.nan, 2.0]], [0, 1, 1, 0], r"\[1, 2\]"),
        (np.zeros((2, 4)), [[0, 1, 1, 0], [0, 0, 0, 0]], r"member\[1\] must hold both"),
        (np.array([[2**53 + 1, 2**53, 1, 0]]), [0, 1, 1, 0], r"2\*\*53"),
    ],
)
def test_what_is_refused(scores: object, member: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        epsilons(scores, member)  # type: ignore[arg-type]


def test_rows_longer_than_a_block() -> None:
    member = RNG.random(70_000) < 0.5
    scores = (RNG.normal(size=(2, 70_000)) + member).astype(np.float32)
    assert epsilons(scores, member, method="dkw").tobytes() == (
        _alone(scores, member, method="dkw").tobytes()
    )
