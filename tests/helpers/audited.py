"""Scores of an attack in a file, and ``leakscore audit`` run on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore.audit import Audit, Credible
from leakscore_app.cli import main

_DOUBTS = ("constant-scores", "auc-below-half")
_RNG = np.random.default_rng(5)
MEMBER = _RNG.integers(0, 2, 600).astype(bool)
SCORES = _RNG.normal(3.0 * MEMBER).round(4)


def write_scores(folder: Path, scores: Any = SCORES, member: Any = MEMBER) -> Path:
    """Write a csv file of the scores."""
    path = folder / "scores.csv"
    lines = (f"{score},{int(bit)}\n" for score, bit in zip(scores, member, strict=True))
    path.write_text("score,member\n" + "".join(lines))
    return path


def write_models(folder: Path, **arrays: Any) -> str:
    path = folder / "models.npz"
    np.savez(path, **arrays)
    return str(path)


def run(
    capsys: pytest.CaptureFixture[str], *arguments: object, command: str = "audit"
) -> tuple[int, str, str]:
    code = main([command, *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def parsed(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> dict[str, Any]:
    """Return the JSON, which stands alone; doubts about the scores are repeated as warnings."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found, out, err = run(capsys, *arguments, "--json", "-")
    result: dict[str, Any] = json.loads(out, parse_constant=refuse)
    doubts = [note["message"] for note in result["notices"] if note["code"] in _DOUBTS]
    assert (found, err.splitlines()) == (code, [f"leakscore: warning: {note}" for note in doubts])
    return result


def credible_epsilon(counts: tuple[int, ...], delta: float, miss: float) -> float:
    """From false positives, non-members, false negatives and members at one threshold."""
    flagged, outside, missed, inside = counts
    audit = Audit.from_counts(
        [-np.inf, 0.0, np.inf], [missed, inside - missed], [outside - flagged, flagged]
    )
    return audit.epsilon(delta, 1.0 - miss, Credible(threshold=0.0)).epsilon
