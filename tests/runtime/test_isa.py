"""The ISA level: named, forced by LEAKSCORE_ISA, never replaced silently."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

import leakscore
from leakscore import _core

ACTIVE_ISA = "import leakscore; print(leakscore.active_isa())"


def run_python(
    code: str, timeout: float | None = None, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, with environment variables set or (None) removed."""
    environment = {key: value for key, value in os.environ.items() if key not in variables}
    environment |= {key: value for key, value in variables.items() if value is not None}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=timeout
    )


def test_names_of_the_levels() -> None:
    names = leakscore.supported_isas()
    if platform.machine().lower() in ("x86_64", "amd64"):
        assert names == ["v2", "v3", "v4"][: len(names)]
    else:
        assert names == ["native"]
    assert leakscore.active_isa() in names


def test_the_level_that_was_asked_for_is_the_one_under_test() -> None:
    asked = os.environ.get("LEAKSCORE_ISA")
    assert leakscore.active_isa() == (asked or leakscore.supported_isas()[-1])


@pytest.mark.parametrize("isa", leakscore.supported_isas())
def test_environment_forces_a_level(isa: str) -> None:
    assert run_python(ACTIVE_ISA, LEAKSCORE_ISA=isa).stdout.split() == [isa]


@pytest.mark.parametrize("unset", [None, ""])
def test_without_the_variable_the_best_level_runs(unset: str | None) -> None:
    best = leakscore.supported_isas()[-1]
    assert run_python(ACTIVE_ISA, LEAKSCORE_ISA=unset).stdout.split() == [best]


@pytest.mark.parametrize("unknown", ["v5", "avx2", "V2", " v2", "generic"])
def test_an_unknown_level_is_an_error_that_lists_the_known(unknown: str) -> None:
    done = run_python(ACTIVE_ISA, LEAKSCORE_ISA=unknown)
    assert done.returncode != 0
    assert done.stdout == ""
    last_line = done.stderr.strip().splitlines()[-1]
    assert last_line.startswith(f"ValueError: LEAKSCORE_ISA={unknown!r} must be one of")
    for isa in leakscore.supported_isas():
        assert repr(isa) in last_line


def test_a_refused_level_changes_nothing() -> None:
    before = leakscore.active_isa()
    with pytest.raises(ValueError, match="LEAKSCORE_ISA='v99'"):
        _core.select_isa("v99")
    assert leakscore.active_isa() == before
