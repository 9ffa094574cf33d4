"""Boost.Math as a peer: boost.cpp compiled on the fly against the headers of PyPI's cmeel-boost."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
import numpy.typing as npt

SOURCE = Path(__file__).with_name("boost.cpp")
POINTER = ctypes.POINTER(ctypes.c_double)


def include() -> Path | None:
    """Return the folder of Boost's headers: $BOOST_INCLUDE, or that of the installed package."""
    if "BOOST_INCLUDE" in os.environ:
        return Path(os.environ["BOOST_INCLUDE"])
    try:
        found = files("cmeel-boost") or []
    except PackageNotFoundError:
        return None
    headers = (f for f in found if f.name == "version.hpp" and f.parent.name == "boost")
    return next((Path(str(f.locate())).parents[1] for f in headers), None)


def version() -> str | None:
    """Return Boost's version, or None without its headers."""
    folder = include()
    if folder is None:
        return None
    text = (folder / "boost" / "version.hpp").read_text()
    number = int(text.split("#define BOOST_VERSION ")[1].split()[0])
    return f"{number // 100_000}.{number // 100 % 1000}"


@functools.cache
def _library() -> ctypes.CDLL:
    target = Path(tempfile.mkdtemp()) / "boost_laws.so"
    command = ["c++", "-std=c++17", "-O2", "-w", "-shared", "-fPIC", f"-I{include()}"]
    subprocess.run([*command, str(SOURCE), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


def evaluate(
    law: str, function: str, extended: bool, x: npt.ArrayLike, *parameters: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Evaluate at every element; NaN where Boost throws."""
    zeros = [0.0] * (2 - len(parameters))
    columns = np.broadcast_arrays(x, *parameters, *zeros)
    columns = [np.ascontiguousarray(c, dtype=np.float64) for c in columns]
    out = np.empty_like(columns[0])
    pointers = [c.ctypes.data_as(POINTER) for c in (*columns, out)]
    count = ctypes.c_ssize_t(out.size)
    _library().boost_evaluate(law.encode(), function.encode(), extended, *pointers, count)
    return out
