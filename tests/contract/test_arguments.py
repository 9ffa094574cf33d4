"""What every public function does with odd and with bad input, derived from contract_table.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import _core
from tests.contract.inputs import DIM, Array
from tests.contract.table import CALLS, NO_ARGUMENTS, RESULTS, Call
from tests.helpers.layouts import read_only
from tests.helpers.public import named, public_functions

CASES = {
    (f"{name}-{index}" if index else name): call
    for name, calls in CALLS.items()
    for index, call in enumerate(calls)
}
ARGUMENTS = [(name, argument) for name, call in CASES.items() for argument in call.arrays]
each_call = pytest.mark.parametrize("name", CASES)
each_array = pytest.mark.parametrize(("name", "argument"), ARGUMENTS)


def numbers(result: Any) -> Array:
    """All numbers of a result, in order."""
    if isinstance(result, leakscore.Reference):
        return np.concatenate([result.mean, result.cov.ravel()])
    if isinstance(result, leakscore.audit.Audit):
        return numbers(result.roc())
    if dataclasses.is_dataclass(result):
        return numbers([getattr(result, f.name) for f in dataclasses.fields(result)])
    if isinstance(result, (tuple, list)):
        return np.concatenate([numbers(part) for part in result] or [np.zeros(0)])
    if result is None or isinstance(result, str) or np.asarray(result).dtype.kind == "U":
        return np.zeros(0)
    return np.asarray(result, dtype=np.float64).ravel()


def run(call: Call, **changed: Any) -> Array:
    good = {name: value for name, (value, _) in call.scalars.items()}
    return numbers(call.run(**(call.arrays | good | changed)))


def spread(values: Array) -> Array:
    """The same values as every second element of a wider array filled with NaN."""
    wide = np.full(tuple(2 * size for size in values.shape), np.nan)
    view = wide[tuple(slice(None, None, 2) for _ in values.shape)]
    view[...] = values
    return view


LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "list": lambda values: values.tolist(),
    "Fortran": lambda values: np.asarray(values, order="F"),
    "strided": spread,
    "reversed": lambda values: values[::-1].copy()[::-1],
    "byteswapped": lambda values: values.astype(values.dtype.newbyteorder()),
    "read-only": read_only,
    "float32": lambda values: values.astype(np.float32),
    "float32 Fortran": lambda values: np.asarray(values, dtype=np.float32, order="F"),
    "float32 byteswapped": lambda values: values.astype(">f4"),
    "subclass": lambda values: values.view(type("Sub", (np.ndarray,), {})),
    "unmasked": lambda values: np.ma.masked_array(values, mask=False),
}


def test_every_public_function_has_an_entry() -> None:
    classes = {name for name, value in named().items() if isinstance(value, type)}
    public = set(public_functions()) | classes | {"tradeoff.TradeOff.__call__"}
    assert public == set(CALLS) | NO_ARGUMENTS | RESULTS


@cache
def expected_of(name: str) -> Array:
    """What a good call gives, which overwrites none of its arguments."""
    call = CASES[name]
    before = {argument: values.copy() for argument, values in call.arrays.items()}
    result = run(call)
    result.flags.writeable = False
    for argument, values in call.arrays.items():
        np.testing.assert_array_equal(values, before[argument])
    return result


@each_call
def test_good_call_gives_numbers_and_overwrites_no_argument(name: str) -> None:
    assert not np.isnan(expected_of(name)).any()


@each_array
def test_layout_and_dtype_do_not_matter(name: str, argument: str) -> None:
    call, expected = CASES[name], expected_of(name)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    for layout, changed in LAYOUTS.items():
        result = run(call, **{argument: changed(call.arrays[argument])})
        # A narrower dtype may be worked on in float32, block by block, where BLAS does the work.
        rtol = 2e-6 if layout.startswith("float32") else 1e-12
        np.testing.assert_allclose(result, expected, rtol, rtol * scale, err_msg=layout)


@each_array
def test_other_dtypes_are_read_by_value(name: str, argument: str) -> None:
    call = CASES[name]
    values = call.arrays[argument].astype(np.float64)
    whole = np.abs(np.round(values))
    whole_dtypes = ("i1", "u1", "i2", "i8", "u8")
    for plain, dtypes in ((values.astype(np.float16), ("f2",)), (whole, whole_dtypes)):
        try:
            expected = run(call, **{argument: plain.astype(np.float64)})
        except ValueError:  # rounded to integers, some arguments leave their range
            for dtype in dtypes:
                with pytest.raises(ValueError, match=argument):
                    run(call, **{argument: plain.astype(dtype)})
            continue
        for dtype in dtypes:
            result = run(call, **{argument: plain.astype(dtype)})
            np.testing.assert_allclose(result, expected, rtol=2e-6, atol=1e-9, err_msg=dtype)


@each_call
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    if name == "get_num_threads":
        return
    results = []
    for threads in (1, 8):
        leakscore.set_num_threads(threads)
        results.append(run(CASES[name]).tobytes())
    assert results[0] == results[1]


@each_call
def test_every_isa_level_gives_the_same_numbers(name: str) -> None:
    """But for the last digits: levels without fused multiply-adds round twice."""
    expected, active = expected_of(name), leakscore.active_isa()
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    for level in set(leakscore.supported_isas()) - {active}:
        _core.select_isa(level)
        try:
            result = run(CASES[name])
        finally:
            _core.select_isa(active)
        # The floor is for errors that a function states of itself.
        np.testing.assert_allclose(
            result, expected, 1e-12, max(1e-12 * scale, 1e-16), err_msg=level
        )


NO_NUMBERS: dict[str, Callable[[Array], Any]] = {
    "complex": lambda values: values.astype(complex),
    "str": lambda values: values.astype(str),
    "object": lambda values: values.astype(object),
    "datetime": lambda values: values.astype("M8[s]"),
    "text": lambda _: "text",
    "dict": lambda _: {"a": 1},
    "thing": lambda _: object(),
}


@each_array
def test_what_is_not_an_array_of_real_numbers(name: str, argument: str) -> None:
    call = CASES[name]
    for bad in NO_NUMBERS.values():
        with pytest.raises(TypeError, match=rf"\b{argument}\b"):
            run(call, **{argument: bad(call.arrays[argument])})


def poisoned(values: Array) -> Iterator[tuple[float, Array]]:
    for poison in (np.nan, np.inf, -np.inf):
        for index in (0, values.size // 2, values.size - 1):
            for dtype in (np.float64, np.float32):
                bad = values.astype(dtype)
                bad.ravel()[index] = poison
                yield poison, bad


@each_array
def test_non_finite_values(name: str, argument: str) -> None:
    call = CASES[name]
    for poison, bad in poisoned(call.arrays[argument]):
        if call.kind == "data" or (np.isnan(poison) and call.kind in ("scores", "curve")):
            with pytest.raises(ValueError, match=rf"\b{argument}\b"):
                run(call, **{argument: bad})
        elif np.isnan(poison):
            result = run(call, **{argument: bad})
            assert np.isnan(result).sum() == np.isnan(bad).sum()
        elif call.kind == "scores":
            assert not np.isnan(run(call, **{argument: bad})).any()


@each_array
def test_empty_arrays(name: str, argument: str) -> None:
    call = CASES[name]
    if call.kind in ("curve", "elementwise"):
        assert run(call, **{other: np.zeros(0) for other in call.arrays}).size == 0
        return
    for shape in {(0,) * call.arrays[argument].ndim, (0, DIM), (DIM, 0), (0,)}:
        with pytest.raises(ValueError, match=rf"\b{argument}\b"):
            run(call, **{argument: np.zeros(shape)})


@each_array
def test_wrong_shapes(name: str, argument: str) -> None:
    call = CASES[name]
    if call.kind in ("curve", "elementwise") or call.any_shape:
        return
    values = call.arrays[argument]
    wrong = [(1, 1, *values.shape)]
    if call.kind == "data" and argument != "X":  # a table may have any number of columns
        wrong += [(*values.shape[:-1], values.shape[-1] + 1)]
    for shape in wrong:
        # Where two arguments disagree, either may be named.
        with pytest.raises(
            ValueError, match=rf"\b({argument}|cov|target|observed|frequency|estimate)\b"
        ):
            run(call, **{argument: np.full(shape, 0.5)})


@each_array
def test_scalars_and_zero_dimensions(name: str, argument: str) -> None:
    call = CASES[name]
    if call.number_will_do:
        run(call, **{argument: np.array(0.5)})
    elif call.kind in ("curve", "elementwise"):
        singles = {other: values[3] for other, values in call.arrays.items()}
        expected = run(call, **singles)
        for convert in (float, np.array, np.float32):
            odd = {other: convert(value) for other, value in singles.items()}
            np.testing.assert_allclose(run(call, **odd), expected, rtol=2e-6)
    else:
        for bad in (0.5, np.array(0.5)):
            with pytest.raises(ValueError, match=rf"\b{argument}\b"):
                run(call, **{argument: bad})


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, scalar) for name, call in CASES.items() for scalar in call.scalars],
)
def test_bad_single_values_are_named(name: str, argument: str) -> None:
    for bad in CASES[name].scalars[argument][1]:
        with pytest.raises((ValueError, TypeError), match=rf"\b{argument}\b"):
            run(CASES[name], **{argument: bad})
