"""The compiled core before it has a BLAS: an error, not the end of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "call",
    ["cholesky(numpy.eye(3))", "solve_rows(numpy.eye(3), numpy.eye(3))"],
)
def test_matrices_before_blas_is_set(call: str) -> None:
    program = (
        "import numpy\nfrom leakscore import _core\n"
        f"try: _core.{call}\nexcept RuntimeError as error: print(error)"
    )
    words = [sys.executable, "-c", program]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("set_blas must be called before")
