"""Which methods `leakscore audit` tries beside the one that is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore.audit import Audit
from tests.helpers.audited import parsed


def drawn(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    member = np.arange(rounds) % 2 == 0
    return rng.normal(2.0 * member), member


def row(result: dict[str, Any], method: str) -> dict[str, Any]:
    (found,) = (other for other in result["methods"] if other["method"] == method)
    return found


def codes(result: dict[str, Any]) -> set[str]:
    return {notice["code"] for notice in result["notices"]}


@pytest.mark.parametrize("rounds", [1000, 1001])
def test_a_slow_method_is_only_tried_on_few_rounds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rounds: int
) -> None:
    """As the default, or by its name, it takes more; wherever it is tried, whose proof it is."""
    path = tmp_path / "rounds.npz"
    scores, member = drawn(rounds)
    np.savez(path, score=scores, member=member)
    result = parsed(capsys, path, "--method", "weighted-ell")
    other = row(result, "four-outcomes")
    expected = Audit.from_rounds(scores, member).epsilon(1e-5, method="four-outcomes")
    tried = rounds == 1000
    assert ("four-outcomes" in codes(result)) == tried
    if tried:
        assert other["refused"] is None
        assert other["bounds"][0]["epsilon"] == float(expected)
    else:
        assert "--method four-outcomes" in other["refused"]
        assert not other["bounds"]
    default = parsed(capsys, path)
    assert default["method"] == "four-outcomes"
    assert default["mu"]["method"] == "weighted-ell"
    claimed = parsed(capsys, path, "--claimed-mu", "9", code=3)
    assert claimed["method"] == "weighted-ell"
    asked = parsed(capsys, path, "--method", "four-outcomes", "--only-method")
    assert asked["bounds"][0]["epsilon"] == float(expected) > 1.0
    assert asked["bounds"][0]["algorithm"] == expected.algorithm
    assert "four-outcomes" in codes(asked)
    assert asked["mu"] is None
