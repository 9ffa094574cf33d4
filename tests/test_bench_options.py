"""The options of ``python -m bench``."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("argument", "code", "told"),
    [("--help", 0, "--page"), ("--pages", 2, "unrecognized"), ("audits", 2, "bench_audits; there")],
)
def test_what_is_no_topic_runs_nothing(argument: str, code: int, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", argument], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert told in done.stdout + done.stderr
