"""action.yml: the steps of the composite action are run as a runner would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import ROOT
from tests.helpers.audited import write_scores

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def test_every_input_is_used_and_known() -> None:
    steps = ACTION["runs"]["steps"]
    used = set(re.findall(r"inputs\.([\w-]+)", str(steps)))
    assert used == set(ACTION["inputs"])
    for step in steps:  # an input in a script would be run as a part of it
        assert "${{" not in step["run"]
        assert set(re.findall(r"\$\{?([A-Z]+)", step["run"])) <= {*step["env"], "GITHUB"}


@pytest.mark.parametrize(
    ("epsilon", "arguments", "code", "verdict"),
    [
        ("0.5", "--one-run --seed 3", 2, "refuted"),
        ("4.5", "--only-method", 0, "consistent"),
        ("4.5", "--only-method --threat-model 'black box'", 0, "consistent"),
        ("3.9", "--threat-model 'black box", 1, "error"),
        ("$(touch broken)", "", 1, "error"),
    ],
)
def test_it_runs(tmp_path: Path, epsilon: str, arguments: str, code: int, verdict: str) -> None:
    write_scores(tmp_path)
    given = {"file": "scores.csv", "claimed-epsilon": epsilon, "arguments": arguments}
    step = ACTION["runs"]["steps"][-1]
    values = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | given
    environment = {
        name: values[re.search(r"inputs\.([\w-]+)", text)[1]]  # type: ignore[index]
        for name, text in step["env"].items()
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **environment, "PATH": path, "GITHUB_OUTPUT": str(tmp_path / "out")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.returncode == code, found.stderr
    assert (tmp_path / "out").read_text() == f"verdict={verdict}\n"
    assert (tmp_path / "leakscore.sarif").exists() == (code != 1)
    assert (tmp_path / "leakscore-junit.xml").exists() == (code != 1)
    assert not (tmp_path / "broken").exists()
