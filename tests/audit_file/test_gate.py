"""``leakscore audit`` as a gate: what is no evidence does not pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.audited import parsed, run

MEMBER = np.arange(400) % 2
CLAIM = ("--claimed-epsilon", 1)

Files = tuple[object, ...]


def noise(size: int = 400, seed: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size)


def table(folder: Path, name: str, scores: np.ndarray) -> Path:
    path = folder / "t.csv"
    lines = (f"{score!r},{bit}\n" for score, bit in zip(scores.tolist(), MEMBER, strict=True))
    path.write_text(f"{name},member\n" + "".join(lines))
    return path


def constants(folder: Path, kind: str) -> Files:
    """Return files of 400 scores that are all one value."""
    path = folder / f"t.{'npz' if kind != 'counts' else 'json'}"
    if kind == "rounds":
        np.savez(path, scores=np.full(400, 0.25), memberships=MEMBER)
    elif kind == "zeros":
        np.savez(path, scores=np.where(MEMBER, 0.0, -0.0), memberships=MEMBER)
    elif kind == "infinite":
        np.savez(path, members=np.full(150, -np.inf), nonmembers=np.full(250, -np.inf))
    elif kind == "counts":
        counts = {"edges": ["-inf", 0, 1, "inf"], "member_counts": [0, 150, 0]}
        path.write_text(json.dumps(counts | {"nonmember_counts": [0, 250, 0]}))
    else:
        for name, size in (("in", 150), ("out", 250)):
            np.save(folder / f"{name}.npy", np.full(size, 7))
        return folder / "in.npy", "--nonmembers", folder / "out.npy"
    return (path,)


@pytest.mark.parametrize("options", [(), CLAIM, ("--claimed-mu", 0.5), ("--claimed-epsilon", 0)])
@pytest.mark.parametrize("kind", ["rounds", "zeros", "infinite", "counts", "files"])
def test_constant_scores_are_no_evidence(
    capsys: Any, tmp_path: Path, kind: str, options: tuple[object, ...]
) -> None:
    """Exit code 3 for any claim, and the text and the page begin with the reason."""
    files = constants(tmp_path, kind)
    said = f"All 400 scores {'lie in one bin' if kind == 'counts' else 'are equal'}."
    code, text, error = run(capsys, *files, *options)
    assert code == 3
    assert text.startswith(f"! {said}")
    assert "CONSISTENT" not in text
    assert ("INCONCLUSIVE" in text) == bool(options)
    assert error.startswith(f"leakscore: warning: {said}")
    found = parsed(capsys, *files, *options, code=3)
    assert found["notices"][0]["code"] == "constant-scores"
    assert (found["verdict"] or {"verdict": "cannot-tell"})["verdict"] == "cannot-tell"
    page = run(capsys, *files, *options, "--html", "-")[1]
    assert page.index(said) < page.index("<h1>")
    assert run(capsys, *files, *options, "--quiet")[:2] == (3, "")


@pytest.mark.parametrize("seed", range(6))
def test_luck_with_ties_refutes_nothing(capsys: Any, tmp_path: Path, seed: int) -> None:
    """Sorted-bits orders ties by lots, and one in twenty orders would refute."""
    path = tmp_path / "t.npz"
    np.savez(
        path, scores=np.zeros(400), memberships=np.random.default_rng(seed).integers(0, 2, 400)
    )
    options = ("--random-bits", "--method", "sorted-bits", "--seed", seed, "--claimed-epsilon", 0)
    assert parsed(capsys, path, *options, code=3)["verdict"]["verdict"] == "cannot-tell"


def test_two_values_are_evidence(capsys: Any, tmp_path: Path) -> None:
    """An attack that decides has one value for each class at best."""
    path = table(tmp_path, "score", MEMBER.astype(float))
    assert parsed(capsys, path, *CLAIM, code=2)["verdict"]["verdict"] == "refuted"
    one_class_is_constant = np.where(MEMBER, 1.0, np.arange(400) % 3)
    assert run(capsys, table(tmp_path, "score", one_class_is_constant), *CLAIM)[0] == 2


LOSSES = [
    *("loss", "Losses", "NLL", "val_loss", "crossEntropy", "cross-entropy", "logloss", "ModelLoss"),
    *("perplexity", "ppl", "mse", "HopSkipJumpDistance", "neg_log_likelihood", "target loss"),
]


@pytest.mark.parametrize("name", LOSSES)
def test_losses_need_a_direction(capsys: Any, tmp_path: Path, name: str) -> None:
    path = table(tmp_path, name, noise() - MEMBER)
    for options in ((), CLAIM, ("--score", name), ("--quiet", *CLAIM)):
        code, out, error = run(capsys, path, *options)
        assert (code, out) == (1, "")
        assert name in error
        for option in ("--lower-is-member", "--higher-is-member", "--orientation both"):
            assert option in error
    for stated in ("--lower-is-member", "--higher-is-member", ("--orientation", "both")):
        chosen = (stated,) if isinstance(stated, str) else stated
        found = parsed(capsys, path, *chosen)
        assert found["input"]["lower_is_member"] is (stated == "--lower-is-member")
        codes = {notice["code"] for notice in found["notices"]}
        assert ("auc-below-half" in codes) == (stated == "--higher-is-member")


@pytest.mark.parametrize(
    "name", ["score", "signal_values", "statistic", "log_likelihood", "closeness", "ace"]
)
def test_other_names_need_none(capsys: Any, tmp_path: Path, name: str) -> None:
    path = table(tmp_path, name, noise() + MEMBER)
    assert run(capsys, path)[0] == 0


def test_files_without_names_of_columns(capsys: Any, tmp_path: Path) -> None:
    """The files' own names stand for them; a table's file may be called as it likes."""
    inside, outside = tmp_path / "train_losses.npy", tmp_path / "test_losses.npy"
    np.save(inside, noise(300))
    np.save(outside, 1.0 + noise(300, seed=9))
    code, _, error = run(capsys, inside, "--nonmembers", outside)
    assert (code, "--lower-is-member" in error) == (1, True)
    assert run(capsys, inside, "--nonmembers", outside, "--lower-is-member")[0] == 0
    path = tmp_path / "losses.npz"
    np.savez(path, scores=MEMBER + noise(), memberships=MEMBER)
    assert run(capsys, path)[0] == 0


def test_both_directions_cannot_be_said(capsys: Any, tmp_path: Path) -> None:
    path = table(tmp_path, "score", MEMBER + noise())
    code, _, error = run(capsys, path, "--lower-is-member", "--higher-is-member")
    assert (code, "not allowed with" in error) == (1, True)


@pytest.mark.parametrize(
    ("sign", "option"), [(-1, ()), (-1, ("--higher-is-member",)), (1, ("--lower-is-member",))]
)
def test_turned_scores_are_said_first(
    capsys: Any, tmp_path: Path, sign: int, option: tuple[str, ...]
) -> None:
    """They are no evidence for a claim, and nobody can overlook it."""
    path = table(tmp_path, "score", sign * (noise() + 3.0 * MEMBER))
    code, text, error = run(capsys, path, *option, *CLAIM)
    assert code == 3
    assert text.startswith("! The AUC is 0.0")
    assert error.startswith("leakscore: warning: The AUC is 0.0")
    assert error.count("\n") == 1
    page = run(capsys, path, *option, "--html", "-")[1]
    assert page.index("The AUC is 0.0") < page.index("<h1>")
    assert run(capsys, path, "--orientation", "both")[2] == ""
