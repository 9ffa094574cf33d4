"""The options of ``python -m bench``."""

from __future__ import annotations

import subprocess
import sys

import pytest

import leakscore


@pytest.mark.parametrize(
    ("argument", "code", "told"),
    [
        ("--help", 0, "--page"),
        ("--pages", 2, "unrecognized"),
        ("--isa=v1", 2, "invalid choice"),
        ("audits", 2, "bench_audits; there"),
    ],
)
def test_what_is_no_topic_runs_nothing(argument: str, code: int, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", argument], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert told in done.stdout + done.stderr


@pytest.mark.skipif("v2" not in leakscore.supported_isas(), reason="not an x86-64 processor")
def test_a_level_holds_for_both_sides() -> None:
    script = """
from bench.levels import hold, levels
hold("v2")
import numpy, threadpoolctl
found = numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
assert not {"X86_V3", "X86_V4", "AVX2", "AVX512F"} & set(found), found
blas = {library["architecture"] for library in threadpoolctl.threadpool_info()}
print(list(levels()), "Nehalem" in blas)
"""
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "['v2'] True\n"
