"""The post-build check of the kernel objects: what it lets pass, and what it stops."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "cmake" / "check_kernel_symbols.cmake"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
CMAKE = shutil.which("cmake", path=sysconfig.get_path("scripts")) or shutil.which("cmake")
NM = shutil.which("nm")

pytestmark = pytest.mark.skipif(
    not (COMPILER and CMAKE and NM) or sysconfig.get_platform().startswith("macosx"),
    reason="needs a C++ compiler, cmake and GNU nm",
)

GOOD = """
namespace leakscore::v3 {
namespace { double square(double x) { return x * x; } }
static inline double twice(double x) { return 2 * x; }
extern const double table;
const double table = square(twice(3));
double half(double x) { return x / 2; }
}
"""

BAD = {
    "inline function, merged across levels": (
        "namespace leakscore::v3 { inline double f(double x) { return x; }"
        " double (*const volatile g)(double) = f; }",
        "f",
    ),
    "template of the standard library": (
        "#include <vector>\nnamespace leakscore::v3 { int f(std::vector<int>& v)"
        " { v.push_back(1); return v[0]; } }",
        "_Z",
    ),
    "outside the namespace": ("namespace leakscore { double f(double x) { return x; } }", "f"),
    "namespace of another level": (
        "namespace leakscore::v2 { double f(double x) { return x; } }",
        "f",
    ),
    "namespace only in the type of an argument": (
        "namespace leakscore::v3 { struct T {}; } void g(leakscore::v3::T) {}",
        "g",
    ),
    "C function": ('extern "C" double plain(double x) { return x; }', "plain"),
    "weak attribute": (
        "namespace leakscore::v3 { [[gnu::weak]] double f(double x) { return x; } }",
        "f",
    ),
}


def check(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Compile a source as if it were a v3 kernel and check its symbols."""
    file = folder / "kernel.cpp"
    file.write_text(source)
    objects = [folder / "first.o", folder / "second.o"]
    (folder / "empty.cpp").write_text("")
    for code, built in zip((folder / "empty.cpp", file), objects, strict=True):
        command = [COMPILER, "-std=c++20", "-O0", "-c", code, "-o", built]
        subprocess.run([str(part) for part in command], check=True)
    command = [CMAKE, f"-DNM={NM}", "-DISA=v3", f"-DOBJECTS={objects[0]}|{objects[1]}"]
    command += ["-P", SCRIPT]
    arguments = [str(part) for part in command]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def test_a_clean_kernel_passes(tmp_path: Path) -> None:
    done = check(GOOD, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", BAD)
def test_a_symbol_that_could_be_merged_is_stopped(source: str, tmp_path: Path) -> None:
    code, symbol = BAD[source]
    done = check(code, tmp_path)
    assert done.returncode != 0
    assert "weak or outside" in " ".join(done.stderr.split())
    assert symbol in done.stderr


def test_a_missing_object_is_an_error(tmp_path: Path) -> None:
    command = [str(CMAKE), f"-DNM={NM}", "-DISA=v3", f"-DOBJECTS={tmp_path / 'none.o'}"]
    done = subprocess.run([*command, "-P", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "nm failed" in done.stderr
