"""What is kept of scores at the edges: as many rounds as may be ranked, one score, zeros."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore.audit import Audit, scores
from tests.helpers.sizes import sizes

ROUNDS = 60


def rounds(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(80)
    member = rng.random(count) < 0.5
    return rng.normal(4.0 * member), member


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_rounds_as_may_be_ranked(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limit at 60, 60 rounds have what they have without one; 61 are refused."""
    each, member = rounds(ROUNDS + more)

    def audits() -> list[Audit]:
        whole = Audit.from_rounds(each, member, random_bits=True)
        parts = [
            Audit.from_rounds(each[part], member[part], random_bits=True)
            for part in (slice(30), slice(30, None))
        ]
        return [whole, parts[0].merge(parts[1])]

    usual = [float(audit.epsilon(method="sorted-bits")) for audit in audits()]
    assert min(usual) > 0.5
    sizes(monkeypatch, kept_rounds=ROUNDS)
    for audit, epsilon in zip(audits(), usual, strict=True):
        again = Audit.from_bytes(audit.to_bytes())
        for one in (audit, again) if not more else ():
            assert float(one.epsilon(method="sorted-bits")) == epsilon
        assert again.epsilon() == audit.epsilon()


def test_one_score_of_a_class() -> None:
    audit = Audit([1.0], [0.0])
    assert Audit.from_bytes(audit.to_bytes()).to_bytes() == audit.to_bytes()


@pytest.mark.parametrize(
    ("members", "nonmembers", "constant"),
    [
        ([1, 1], [1, 1], True),
        *(([1, 1, 2], [1, 1], False), ([1, 1], [1, 1, 2], False)),
        *(([0, 1, 1], [1, 1], False), ([1, 1], [0, 1, 1], False)),
    ],
)
def test_constant_scores(members: list[int], nonmembers: list[int], constant: bool) -> None:
    assert Audit(members, nonmembers).constant is constant


def test_no_threshold_is_a_negative_zero() -> None:
    scores_of = [-1.0] * 30, [-0.0] * 30
    found = [
        Audit(*scores_of).epsilon(method="dkw", orientation="both").threshold,
        Audit(*scores_of[::-1]).band().thresholds,
    ]
    for threshold in found:
        assert not np.signbit(np.asarray(threshold)[np.asarray(threshold) == 0.0]).any()
        assert 0.0 in np.atleast_1d(threshold)


@pytest.mark.parametrize("members", [[0.0, 2.0, 1.0], [1.0, 0.0, 2.0], [np.nan], [0.0, np.nan]])
def test_scores_that_do_not_ascend_are_refused(members: list[float]) -> None:
    odd = np.zeros(1, dtype=np.uint8)
    with pytest.raises(ValueError, match="ascending scores"):
        scores.samples_of([np.array(members), odd, np.zeros(1), odd])
