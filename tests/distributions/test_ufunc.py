"""The contract of the elementwise functions: what they read, write, refuse and leave alone."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import leakscore
from leakscore import _core
from leakscore.distributions import norm

FUNCTIONS = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "ilogcdf", "ilogsf"]
ARGUMENT = dict.fromkeys(FUNCTIONS, "x") | {
    "ppf": "q",
    "isf": "q",
    "ilogcdf": "logp",
    "ilogsf": "logp",
}

rng = np.random.default_rng(7)


def inputs(name: str, shape: tuple[int, ...] | int) -> np.ndarray:
    if ARGUMENT[name] == "q":
        return rng.uniform(0, 1, shape)
    if ARGUMENT[name] == "logp":
        return -rng.exponential(3, shape)
    return rng.normal(size=shape) * 3


@pytest.fixture(params=FUNCTIONS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_signature_and_names(name: str) -> None:
    function = getattr(norm, name)
    assert isinstance(function.ufunc, np.ufunc)
    assert function.ufunc is getattr(_core, f"norm_{name}")
    assert list(inspect.signature(function).parameters) == [ARGUMENT[name], "out", "where", "dtype"]
    x = inputs(name, 5)
    np.testing.assert_array_equal(function(**{ARGUMENT[name]: x}), function(x))
    for section in ("Parameters", "Returns", "Raises", "Notes", "Examples"):
        assert f"\n{section}\n---" in function.__doc__


def test_pickle(name: str) -> None:
    function = getattr(norm, name)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function.ufunc, protocol)) is function.ufunc
        assert pickle.loads(pickle.dumps(norm, protocol)) is norm
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function


def test_a_stray_positional_array_is_not_written(name: str) -> None:
    x, other = inputs(name, 5), np.zeros(5)
    with pytest.raises(TypeError, match=f"norm.{name}"):
        getattr(norm, name)(x, other)
    with pytest.raises(TypeError, match=f"norm.{name}"):
        getattr(norm, name)()
    with pytest.raises(TypeError, match="scale"):
        getattr(norm, name)(x, scale=other)
    assert (other == 0).all()


def test_layouts_give_the_same_bits(name: str) -> None:
    function = getattr(norm, name)
    x = inputs(name, (61, 53))
    expected = np.array([[float(function(float(v))) for v in row] for row in x])
    base = np.zeros((122, 106))
    base[::2, ::2] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    layouts = {
        "C": x,
        "Fortran": np.asfortranarray(x),
        "strided": base[::2, ::2],
        "reversed": x[::-1, ::-1].copy()[::-1, ::-1],
        "byte-swapped": x.astype(x.dtype.newbyteorder()),
        "read-only": read_only,
        "unaligned": unaligned.reshape(x.shape),
        "list": x.tolist(),
    }
    for layout, array in layouts.items():
        np.testing.assert_array_equal(function(array), expected, err_msg=layout)
    scalar = function(x[0, 0])
    assert isinstance(scalar, np.float64)
    assert function(np.array(x[0, 0])) == scalar
    for empty in (np.empty(0), np.empty((3, 0)), []):
        assert function(empty).shape == np.shape(empty)
    np.testing.assert_array_equal(function(np.broadcast_to(x[0], (4, 53))), [expected[0]] * 4)


def test_dtypes(name: str) -> None:
    function = getattr(norm, name)
    x = inputs(name, 1000).astype(np.float32)
    expected = function(x.astype(np.float64))
    assert function(x).dtype == np.float64
    np.testing.assert_array_equal(function(x), expected)
    single = function(x, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, expected.astype(np.float32))
    np.testing.assert_array_equal(function(x.astype(">f4")), expected)
    half = x.astype(np.float16)
    np.testing.assert_array_equal(function(half), function(half.astype(np.float64)))
    for dtype in ("i1", "u1", "i4", "i8", "u8"):
        whole = np.array([0, 1], dtype=dtype)
        assert function(whole).dtype == np.float64
        np.testing.assert_array_equal(function(whole), function([0.0, 1.0]))
    for dtype in ("f4", "<f8", ">f8", float, np.dtype(np.float32)):
        assert function(x, dtype=dtype).dtype == np.dtype(dtype).newbyteorder("=")


def test_refuses_what_is_not_real(name: str) -> None:
    function, argument = getattr(norm, name), ARGUMENT[name]
    refused = [
        *(True, np.True_, [True, False], np.zeros(3, bool), 1j, np.zeros(2, complex), "0.5"),
        *(["0.5"], None, object(), np.array([0.5], object), [0.5, None], b"1", [[1.0], [1.0, 2.0]]),
        *(np.zeros(2, "M8[s]"), np.zeros(2, "m8[s]"), np.longdouble(0.5), 10**400),
    ]
    for value in refused:
        with pytest.raises(TypeError, match=rf"\b{argument}\b"):
            function(value)
    for dtype in (int, complex, "f2", np.longdouble, object, "nonsense"):
        with pytest.raises(TypeError, match="dtype"):
            function(0.5, dtype=dtype)
    for where in ("a", 1, [0.5], None):
        with pytest.raises(TypeError, match="where"):
            function(0.5, where=where)


def test_out_and_where(name: str) -> None:
    function = getattr(norm, name)
    x = inputs(name, 3000)
    expected = function(x)
    out = np.empty(3000)
    assert function(x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert function(x, out=(out,)) is out
    single = np.empty(3000, np.float32)
    assert function(x, out=single) is single
    np.testing.assert_array_equal(single, expected.astype(np.float32))
    mask = x > np.median(x)
    out[:] = -7
    function(x, out=out, where=mask)
    np.testing.assert_array_equal(out, np.where(mask, expected, -7))
    np.testing.assert_array_equal(function(x, where=mask), np.where(mask, expected, np.nan))
    assert np.isnan(function(x[0], where=False))
    assert function(x, where=mask, dtype=np.float32).dtype == np.float32
    same = x.copy()
    function(same, out=same)  # in place
    np.testing.assert_array_equal(same, expected)
    shifted = x.copy()
    function(shifted[:-1], out=shifted[1:])  # overlapping
    np.testing.assert_array_equal(shifted[1:], expected[:-1])
    wide = np.zeros((3000, 2))
    function(x, out=wide[:, 1])
    np.testing.assert_array_equal(wide[:, 1], expected)
    assert (wide[:, 0] == 0).all()
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        function(x, out=out)


def test_flags_stay_clean(name: str) -> None:
    ends = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 0.5, 2.0, -1.0, 5e-324, -5e-324, 1e-310]
    hard = np.array(ends + [40.0, -40.0, 38.0, 1e300, -1e300, -700.0, 1 - 2.0**-53] * 50)
    function = getattr(norm, name)
    with np.errstate(all="raise"):
        for array in (hard, hard[::2], hard.astype(">f8"), hard[:5]):
            function(array)
        function(np.float32([np.nan, np.inf, 1e-45, 0.5, -3e38]), dtype=np.float32)
        for value in hard[:20]:
            function(value)
        with pytest.raises(FloatingPointError):
            np.sqrt(np.array([-1.0]))  # the mask itself still works
    assert np.isnan(function(np.nan))


@pytest.mark.parametrize("threads", [2, 8])
def test_threads_give_the_same_bits(name: str, threads: int) -> None:
    function = getattr(norm, name)
    x = inputs(name, 3 * 65536 + 17)
    leakscore.set_num_threads(1)
    alone, single = function(x), function(x.astype(np.float32))
    leakscore.set_num_threads(threads)
    np.testing.assert_array_equal(function(x), alone)
    np.testing.assert_array_equal(function(x.astype(np.float32)), single)
    np.testing.assert_array_equal(function(x[::-1])[::-1], alone)
    in_place = x.copy()
    np.testing.assert_array_equal(function(in_place, out=in_place), alone)


class Chunked:
    """Holds its values in pieces and takes ufuncs over, as dask arrays do."""

    def __init__(self, *chunks: np.ndarray) -> None:
        self.chunks = chunks

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: object, **kwargs: object):
        assert method == "__call__"
        assert set(kwargs) <= {"dtype"}
        return Chunked(*(ufunc(chunk, **kwargs) for chunk in self.chunks))


def test_other_holders_of_arrays_keep_their_type(name: str) -> None:
    function = getattr(norm, name)
    x = inputs(name, 10)
    result = function(Chunked(x[:4], x[4:]))
    assert isinstance(result, Chunked)
    np.testing.assert_array_equal(np.concatenate(result.chunks), function(x))
    assert function(Chunked(x), dtype="f4").chunks[0].dtype == np.float32
    masked = function(np.ma.array(x, mask=x > np.median(x)))
    assert isinstance(masked, np.ma.MaskedArray)
    np.testing.assert_array_equal(masked.compressed(), function(x[x <= np.median(x)]))


def test_import_loads_no_other_room() -> None:
    code = (
        "import sys, leakscore.distributions as d; d.norm.cdf(0.0); "
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('leakscore', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    loaded -= {name for name in loaded if name.startswith("leakscore.distributions.")}
    core = ("_core", "_runtime", "distributions", "typing", "validation")
    assert loaded == {"leakscore", *(f"leakscore.{name}" for name in core)}


def test_repr_names_the_law() -> None:
    assert repr(norm) == "<leakscore.distributions.norm>"
