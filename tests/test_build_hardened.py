"""The built module is laid out so that a memory error is hard to exploit: readelf says so."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from leakscore import _core

READELF = shutil.which("readelf")
MODULE = Path(_core.__file__)

pytestmark = pytest.mark.skipif(
    READELF is None or not MODULE.read_bytes().startswith(b"\x7fELF"),
    reason="needs readelf and an ELF module",
)


def readelf(option: str) -> str:
    command = [str(READELF), "--wide", option, str(MODULE)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


SYMBOLS = readelf("--dyn-syms") if READELF else ""
sanitized = pytest.mark.skipif(
    "__asan_init" in SYMBOLS or "__tsan_init" in SYMBOLS, reason="a build of another kind"
)


@sanitized
def test_the_linker_s_tables_are_read_only_before_any_code_runs() -> None:
    assert "GNU_RELRO" in readelf("--program-headers")
    assert "BIND_NOW" in readelf("--dynamic")


def test_no_memory_is_writable_and_executable() -> None:
    pattern = r"^ *(\w+) +(?:0x\w+ +){5}([R ][W ][E ]) "
    segments = re.findall(pattern, readelf("--program-headers"), flags=re.M)
    assert ("GNU_STACK", "RW ") in segments
    loaded = {flags for name, flags in segments if name == "LOAD"}
    assert "R E" in loaded
    assert "RWE" not in loaded


@sanitized
def test_frames_with_arrays_have_canaries() -> None:
    assert "__stack_chk_fail" in SYMBOLS
