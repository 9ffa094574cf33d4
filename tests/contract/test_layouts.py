"""Every public function reads arrays at odd addresses and with odd strides, to the same bit.

On x86 a load from an odd address succeeds, although C++ forbids it: ``scripts/sanitize address``
finds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import _core, tradeoff
from tests.contract import inputs as good
from tests.contract.inputs import Array
from tests.contract.test_arguments import ARGUMENTS, CASES, expected_of, numbers, run
from tests.helpers.layouts import misaligned, packed_field, unpickled

each_array = pytest.mark.parametrize(("name", "argument"), ARGUMENTS)

LAYOUTS = {"misaligned": misaligned, "packed field": packed_field, "unpickled": unpickled}
OBJECTS: dict[str, tuple[Any, Any]] = {
    **{
        f"Reference, {reference.kind}": (reference, lambda it: it.squared_mahalanobis(good.TABLE))
        for reference in (good.PLAIN, good.FULL, good.THIN)
    },
    "Audit": (good.ROUNDS, lambda it: (it.roc(), it.auc(), it.epsilon([0.0, 1e-3]))),
    "Gaussian trade-off": (good.CURVE, lambda it: it.power([0.1, 0.5])),
    "empirical trade-off": (
        tradeoff.from_llr(good.FEW[:50], good.FEW[:50] + 1),
        lambda it: it.power([0.3]),
    ),
    "composition": (
        tradeoff.compose([(tradeoff.subsampled_gaussian(1.0, 0.1, 2), 50)]),
        lambda it: it.interval("epsilon", 1e-5),
    ),
}


def test_the_layouts_are_what_they_are_called() -> None:
    values = np.arange(12.0).reshape(3, 4)
    for layout in LAYOUTS.values():
        odd = layout(values)
        np.testing.assert_array_equal(odd, values)
        assert not odd.flags.aligned
    assert misaligned(values).flags.c_contiguous
    assert packed_field(values).strides == (36, 9)
    assert not unpickled(values).flags.writeable


@each_array
def test_an_odd_address_changes_no_bit(name: str, argument: str) -> None:
    call = CASES[name]
    values = call.arrays[argument].astype(np.float64)
    for layout in LAYOUTS.values():
        result = run(call, **{argument: layout(values)})
        np.testing.assert_array_equal(result, expected_of(name), err_msg=layout.__name__)
    narrow = values.astype(np.float32)
    result, expected = (run(call, **{argument: given}) for given in (packed_field(narrow), narrow))
    np.testing.assert_array_equal(result, expected)


def outcome(name: str, argument: str, values: Array) -> tuple[Array, str]:
    """Return the numbers of a call, or the error that it ends with."""
    try:
        return run(CASES[name], **{argument: values}), ""
    except (ValueError, RuntimeError) as error:
        return np.zeros(0), repr(error)


# All zeros or ones as bits of canaries are no coins, of which one_run warns.
@pytest.mark.filterwarnings("ignore:.* canaries are in:UserWarning")
@each_array
def test_one_number_at_every_place(name: str, argument: str) -> None:
    values = CASES[name].arrays[argument]
    spread = np.broadcast_to(values.ravel()[values.size // 3], values.shape)  # strides of 0
    (result, error), (expected, usual) = (
        outcome(name, argument, given) for given in (spread, spread.copy())
    )
    assert error == usual
    np.testing.assert_allclose(result, expected, rtol=1e-13)  # sums by columns, in another order


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_from_buffers_at_odd_addresses(kind: str) -> None:
    value, result = OBJECTS[kind]
    np.testing.assert_array_equal(numbers(result(unpickled(value))), numbers(result(value)))


def test_memory_maps_at_odd_offsets(tmp_path: Path) -> None:
    (tmp_path / "table").write_bytes(b"!" + good.TABLE.tobytes())
    X = np.memmap(tmp_path / "table", np.float64, "r", offset=1, shape=good.TABLE.shape)
    assert not X.flags.aligned
    for reference in (good.PLAIN, good.FULL, good.THIN):
        expected = reference.squared_mahalanobis(good.TABLE)
        np.testing.assert_array_equal(reference.squared_mahalanobis(X), expected)


def test_results_are_never_written_to_a_copy() -> None:
    factor = np.linalg.cholesky(np.eye(3) + 0.5)
    rows = np.arange(6.0).reshape(2, 3)
    odd = np.zeros(rows.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(rows.shape)
    for refused in (odd, rows.astype(np.float32), np.asfortranarray(rows)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.solve_rows(factor, refused)
    expected = np.linalg.solve(factor @ factor.T, rows.T).T
    _core.solve_rows(misaligned(factor), rows)
    np.testing.assert_allclose(rows, expected, rtol=1e-13)
