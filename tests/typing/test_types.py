"""What a strict type checker says of a program that uses the package, and whether it is true."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.helpers.public import public_functions
from tests.runtime.test_isa import run_python

CONSUMER = ROOT / "tests" / "typing" / "consumer.py"
WRONG = """
import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type
import leakscore
from leakscore import distributions, tradeoff

assert_type(distributions.norm.cdf(0.5), npt.NDArray[np.float64])
assert_type(tradeoff.gaussian([1.0]).power(0.5), float)
distributions.norm.cdf(0.5).shape
leakscore.tradeof
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Run mypy once on both programs: most of its time is numpy's stubs."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    program = tmp_path_factory.mktemp("mypy") / "wrong.py"
    program.write_text(WRONG)
    options = ["--strict", "--python-version", "3.10", "--config-file", "", "--no-error-summary"]
    return run("mypy", *options, "--cache-dir", os.devnull, str(CONSUMER), str(program))


def pyright(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("basedpyright", reason="basedpyright is not installed")
    settings = {"typeCheckingMode": "strict", "include": [str(program)], "pythonVersion": "3.10"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return run("basedpyright", "--project", str(folder), "--pythonpath", sys.executable)


def run(checker: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a checker where no file of the checkout is in its way: it sees the installed package."""
    return subprocess.run(
        [sys.executable, "-m", checker, *arguments],
        capture_output=True,
        text=True,
        cwd=CONSUMER.parent,
        timeout=600,
        check=False,
    )


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    program = tmp_path / "wrong.py"
    program.write_text(WRONG)
    return program


def test_mypy_agrees_with_the_consumer(mypy: subprocess.CompletedProcess[str]) -> None:
    assert mypy.returncode == 1, mypy.stdout + mypy.stderr  # for the wrong program alone
    assert CONSUMER.name not in mypy.stdout


def test_mypy_finds_what_is_wrong(mypy: subprocess.CompletedProcess[str]) -> None:
    assert mypy.stdout.count("[assert-type]") == 2, mypy.stdout + mypy.stderr
    assert '"float" has no attribute "shape"' in mypy.stdout
    assert 'Module has no attribute "tradeof"' in mypy.stdout


def test_pyright_agrees_with_the_consumer(tmp_path: Path) -> None:
    done = pyright(CONSUMER, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_finds_what_is_wrong(wrong: Path) -> None:
    done = pyright(wrong, wrong.parent)
    assert done.stdout.count("reportAssertTypeFailure") == 2, done.stdout + done.stderr
    assert done.stdout.count("reportAttributeAccessIssue") == 2


def test_the_types_are_true() -> None:
    """At run time the consumer holds each type against the result."""
    done = run_python(f"import runpy; runpy.run_path({str(CONSUMER)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr


def test_the_run_can_fail() -> None:
    lines = (
        "from tests.typing.consumer import Doubles, assert_type",
        "import numpy as np",
        "for value, kind in ((1.0, Doubles), (np.ones(2), float), (np.ones(2, 'f4'), Doubles)):",
        "    try: assert_type(value, kind)",
        "    except AssertionError: print('found')",
    )
    done = run_python("\n".join(lines))
    assert done.stdout.split() == ["found"] * 3, done.stderr


# What a method returns decides what it is called with: its name is an argument.
OPEN = {"interval"}


def test_no_result_is_of_any_type() -> None:
    for name, function in public_functions().items():
        returned = inspect.signature(function).return_annotation
        text = returned if isinstance(returned, str) else str(returned)
        if name.rpartition(".")[2] not in OPEN:
            assert not text.removeprefix("typing.").removeprefix("tuple[").startswith("Any"), name
