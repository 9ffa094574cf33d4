"""The compiled loops of the normal law: vectorised at every level, and fitted as stated."""

from __future__ import annotations

import operator
import platform
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests import ROOT
from tests.oracles import fit_normal

CPP = ROOT / "cpp"
GCC = shutil.which("g++")
# CMakeLists.txt compiles the kernels with these flags.
FLAGS = ["-std=c++20", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
FLAGS += ["-fno-exceptions", "-fno-rtti"]
LEVELS = {
    "v2": (["-march=x86-64-v2"], 16),
    "v3": (["-march=x86-64-v3"], 32),
    "v4": (["-march=x86-64-v4", "-mprefer-vector-width=512"], 64),
}
# How often each loop of the source is compiled, in the order of its lines: logpdf, cdf, sf; the
# stages but the last of pdf, logcdf, logsf, ppf, isf (one each) and of ilogcdf, ilogsf (two each);
# the last stages. Without fma ppf and isf have loops of their own: the last stage, for groups of
# either kind and for the rest of a tile (a compiler may copy it more often), and the logarithm.
STAGED = [3, 5 + 2 * 2, 7]
LOOPS = {"v2": [3, 3 + 2 * 2, 5, 3 * 2, 2], "v3": STAGED, "v4": STAGED}


@pytest.mark.skipif(
    GCC is None or platform.machine() not in ("x86_64", "AMD64"),
    reason="needs g++ for x86-64",
)
@pytest.mark.parametrize("level", LEVELS)
def test_loops_are_vectorised(level: str, tmp_path: Path) -> None:
    """Every loop works on whole vectors of the level's width: a lost one is five times slower."""
    flags, width = LEVELS[level]
    command = [GCC, *FLAGS, *flags, f"-DLEAKSCORE_ISA={level}", f"-I{CPP}", f"-I{CPP / 'include'}"]
    command += ["-fopt-info-vec", "-c", CPP / "kernels/normal.cpp", "-o", tmp_path / "normal.o"]
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    optimised = rf"normal\.cpp:(\d+):\d+: optimized: loop vectorized using {width} byte vectors"
    found = Counter(map(int, re.findall(optimised, done.stderr)))
    copies = [found[line] for line in sorted(found)]
    assert len(copies) == len(LOOPS[level])
    assert all(map(operator.ge, copies, LOOPS[level])), copies


@pytest.mark.slow
def test_coefficients_are_those_of_the_fit() -> None:
    header = CPP / "include/leakscore/special/normal_coefficients.hpp"
    assert header.read_text() == fit_normal.header()


def test_stated_fit_errors_are_small() -> None:
    text = (CPP / "include/leakscore/special/normal_coefficients.hpp").read_text()
    errors = [float(value) for value in re.findall(r"[Ee]rror (?:of a )?(\d\S*?e-\d+)", text)]
    assert len(errors) == 7
    assert max(errors) < 6e-17
