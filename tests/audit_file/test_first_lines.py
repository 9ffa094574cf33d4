"""What a newcomer sees first: whence membership comes, and what is not certified at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakscore_app import audit_file
from leakscore_app.cli import main


def test_where_membership_comes_from_is_on_the_second_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("score,label\n" + "1.5,1\n0.5,0\n" * 30)
    lines = audit_file(str(path)).to_text().splitlines()
    assert lines[1].startswith("Membership is read from 'label', scores from 'score'.")


def test_losses_and_training_sets_are_known_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f"{i},{i % 7},{i % 2},3\n" for i in range(40))
    path.write_text("id,nll,in_train,class\n" + rows)
    found = audit_file(str(path), lower_is_member=True)
    assert found.input.columns == {"score": "nll", "member": "in_train"}
    assert "Membership is read" not in found.to_text()
    with pytest.raises(ValueError, match="say --lower-is-member"):
        audit_file(str(path))


def test_records_of_the_same_models_are_not_certified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    included = rng.random((24, 60)) < 0.5
    path = tmp_path / "models.npz"
    np.savez(path, signals=rng.normal(3.0 * included), included=included)
    assert main(["audit", str(path), "--only-method", "--attack", "base"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("NOT CERTIFIED, the rows are many records of the same shadow models")


def test_arrays_of_many_models_name_the_command_that_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    np.savez(path, scores=np.zeros((3, 4)), member=np.zeros((3, 4)))
    with pytest.raises(ValueError, match="scores in several models are for leakscore risk"):
        audit_file(str(path))
    np.savez(path, a=np.zeros(4), b=np.ones(4), c=np.ones(4))
    with pytest.raises(ValueError, match=r"--score COLUMN .* --member COLUMN .*train.*signals \(K"):
        audit_file(str(path))
