"""Random calls of every public function: odd layouts, dtypes, sizes and values.

The outcome is that of the same call on plain contiguous float64 copies, or a documented error.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import ColumnGram, SingularCovarianceError
from tests.contract.inputs import Array, Call
from tests.contract.table import CALLS
from tests.contract.test_arguments import numbers

MISALIGNED = True  # numpy makes such arrays of packed records, and of bytes from a file

CASES = [(name, call) for name, calls in CALLS.items() for call in calls if name[:4] != "set_"]
ELEMENTWISE = ("elementwise", "curve")
EXTREMES = (5e-324, 1e-320, 1e-300, 1e-154, -0.0, 0.0, 1e17, 1e100, 1e154, 1e200, 1e300, 1.7e308)
DTYPES = ("f8", "f8", "f8", "f4", "f2", "i8", "i4", "i1", "u8", "u1")
SIZES = (0, 1, 2, 7, 64, 64, 1023)
LARGE = (65535, 65536, 65537)
ODD = (
    *(None, True, np.True_, "3", b"3", 1j, 3.5, -1, 0, -0.0, np.nan, np.inf, -np.inf, 10**400),
    *(2**64, np.array(3), np.array([3]), np.array(3.0), np.array(True), np.array("3"), [3], {}),
    *(np.ma.masked, np.ma.masked_array(3, True), np.float32(0.5), np.int8(3), object()),
    *(np.datetime64(3, "s"), np.timedelta64(3, "s"), np.zeros(1, "f8,i4"), 1e-300, 1e300),
)
# Composition takes its time where a step says too much or too little.
SLOW = ("tradeoff.subsampled_gaussian", "tradeoff.subsampled_laplace", "tradeoff.compose")


def _strided(values: Array) -> Array:
    wide = np.zeros(tuple(3 * size for size in values.shape), dtype=values.dtype)
    view = wide[tuple(slice(1, None, 3) for _ in values.shape)]
    view[...] = values
    return view


def _reversed(values: Array) -> Array:
    turn = tuple(slice(None, None, -1) for _ in values.shape)
    return values[turn].copy()[turn]


def _misaligned(values: Array) -> Array:
    raw = np.zeros(values.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(values.dtype).reshape(values.shape)
    view[...] = values
    return view


def _read_only(values: Array) -> Array:
    held = values.copy()
    held.flags.writeable = False
    return held


def _repeated(values: Array) -> Array:
    """Strides of 0: all elements, or rows, are the first."""
    return np.broadcast_to(values[:1], values.shape) if values.size else values


def _mapped(values: Array) -> Array:
    with tempfile.TemporaryDirectory() as folder:  # the map outlives the name
        path = Path(folder) / "table.npy"
        np.save(path, values)
        return np.load(path, mmap_mode="r") if values.size else np.load(path)


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": _reversed,
    "repeated": _repeated,
    "byte-swapped": lambda values: values.astype(values.dtype.newbyteorder()),
    "read-only": _read_only,
    "mapped": _mapped,
} | ({"misaligned": _misaligned} if MISALIGNED else {})


def _sized(rng: np.random.Generator, call: Call) -> dict[str, Array]:
    """Give the arguments of a good call another size, where they may have one."""
    if call.kind in ELEMENTWISE:
        size = int(rng.choice(LARGE)) if rng.random() < 0.02 else int(rng.choice(SIZES))
        return {name: np.resize(values, size) for name, values in call.arrays.items()}
    rows = int(rng.choice((0, 1, 2, 7)))
    return {
        name: values[:rows] if values.ndim > 1 and rng.random() < 0.2 else values
        for name, values in call.arrays.items()
    }


def _valued(rng: np.random.Generator, values: Array) -> Array:
    """Put odd numbers among the good ones, or scale them."""
    how = rng.choice(("good", "good", "one", "few", "all", "scaled", "NaN", "inf"))
    values = np.array(values, dtype=np.float64)
    if how == "good" or not values.size:
        return values
    if how == "scaled":
        with np.errstate(all="ignore"):
            return values / max(np.abs(values).max(), 1e-300) * rng.choice(EXTREMES)
    finite = (*EXTREMES, *np.negative(EXTREMES))
    odd = {"NaN": (np.nan,), "inf": (np.inf, -np.inf)}.get(str(how), finite)
    share = {"few": 0.1, "all": 1.0}.get(str(how), 0.0)
    chosen = rng.random(values.shape) < share
    chosen.flat[rng.integers(values.size)] = True
    values[chosen] = rng.choice(odd, int(chosen.sum()))
    return values


def _typed(rng: np.random.Generator, values: Array) -> Array:
    dtype = np.dtype(rng.choice(DTYPES))
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = np.clip(np.nan_to_num(values), max(ends.min, -(2**53)), min(ends.max, 2**53))
    with np.errstate(all="ignore"):
        return values.astype(dtype)


class _Outcome:
    """Numbers, or what was raised."""

    def __init__(self, call: Call, given: dict[str, Any]) -> None:
        self.numbers, self.error = np.zeros(0), None
        good = {name: value for name, (value, _) in call.scalars.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", UserWarning)  # it says something to the user
                result = call.run(**(good | given))
            self.numbers = np.zeros(0) if isinstance(result, ColumnGram) else numbers(result)
        except Exception as error:
            self.error = error

    def is_documented(self) -> bool:
        """Whether the error is one of this package: it states what it expected."""
        kinds = (ValueError, TypeError, RuntimeError)
        text = str(self.error)
        said = " must " in text or text.startswith("gx2.") or " takes exactly one " in text
        singular = isinstance(self.error, SingularCovarianceError)
        return singular or (isinstance(self.error, kinds) and said)


def _told(name: str, given: dict[str, Any], layouts: dict[str, str]) -> str:
    parts = []
    for argument, value in given.items():
        text = repr(value) if not isinstance(value, int) or value < 2**70 else "10**400"
        if isinstance(value, np.ndarray):
            shown = np.array2string(value, threshold=8)
            text = f"{value.dtype}{value.shape} {layouts.get(argument, '')} {shown}"
        parts.append(f"{argument}={text}")
    return f"{name}({', '.join(parts)})"


def _try_scalar(rng: np.random.Generator, name: str, call: Call) -> None:
    argument = str(rng.choice(list(call.scalars)))
    value = ODD[rng.integers(len(ODD))]
    given: dict[str, Any] = {**call.arrays, argument: value}
    found = _Outcome(call, given)
    told = _told(name, {argument: value}, {})
    if found.error is not None:
        assert found.is_documented(), f"{told}: {found.error!r}"
    elif call.kind != "elementwise":
        assert not np.isnan(found.numbers).any(), f"{told}: NaN"


def _try_arrays(rng: np.random.Generator, name: str, call: Call) -> None:
    given, plain, layouts = {}, {}, {}
    for argument, values in _sized(rng, call).items():
        values = _typed(rng, _valued(rng, values) if rng.random() < 0.5 else values)
        layouts[argument] = str(rng.choice(list(LAYOUTS)))
        given[argument] = LAYOUTS[layouts[argument]](values)
        plain[argument] = np.array(given[argument], dtype=np.float64, order="C")
    told = _told(name, given, layouts)
    found, expected = _Outcome(call, given), _Outcome(call, plain)
    if found.error is not None:
        assert found.is_documented(), f"{told}: {found.error!r}"
    finite = all(np.isfinite(values).all() for values in plain.values())
    if call.kind != "elementwise" and finite:
        assert not np.isnan(found.numbers).any(), f"{told}: NaN"
    narrow = any(values.dtype != np.float64 for values in given.values())
    if expected.error is not None or found.error is not None:
        # float32 is worked on in float32 where BLAS does the work, and may overflow there.
        same = type(found.error) is type(expected.error)
        assert same or narrow, f"{told}: {found.error!r}, but of a plain copy {expected.error!r}"
        return
    largest = max(float(np.abs(values).max(initial=0.0)) for values in plain.values())
    _compare(told, call, found.numbers, expected.numbers, narrow, largest)


def _compare(
    told: str, call: Call, found: Array, expected: Array, narrow: bool, largest: float
) -> None:
    if call.kind in ELEMENTWISE and not narrow:
        assert found.tobytes() == expected.tobytes(), f"{told}: other bits than of a plain copy"
    elif largest < 1e15:  # beyond, sums in another order cancel otherwise
        rtol = 1e-5 if narrow else 1e-9
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        close = np.allclose(found, expected, rtol=rtol, atol=rtol * scale, equal_nan=True)
        assert close, f"{told}: {found} but of a plain copy {expected}"


def attempt(rng: np.random.Generator) -> None:
    """Call one public function; raise AssertionError with what was called if it is at fault."""
    name, call = CASES[rng.integers(len(CASES))]
    if call.scalars and name not in SLOW and (not call.arrays or rng.random() < 0.4):
        _try_scalar(rng, name, call)
    elif call.arrays:
        _try_arrays(rng, name, call)


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_random_calls(seed: int) -> None:
    for each in range(seed, seed + 20):
        attempt(np.random.default_rng(each))
