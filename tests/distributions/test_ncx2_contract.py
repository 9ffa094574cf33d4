"""What chi2, ncx2 and Marcum's functions do at ends and outside; what they read, refuse, keep."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import leakscore
from leakscore import distributions
from leakscore.distributions import chi2, marcum_p, marcum_q, marcum_q_inv, ncx2

POINT = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"]
MASS = ["ppf", "isf", "ilogcdf", "ilogsf"]
INF, NAN = np.inf, np.nan

rng = np.random.default_rng(34)


def arguments(name: str, shape: tuple[int, ...] | int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    df, nc = 10 ** rng.uniform(-1, 4, shape), 10 ** rng.uniform(-2, 4, shape)
    if name in POINT:
        return (df + nc) * 10 ** rng.uniform(-0.5, 0.5, shape), df, nc
    q = rng.uniform(0, 1, shape)
    return (np.log(q) if name.startswith("i") and name != "isf" else q), df, nc


@pytest.fixture(params=POINT + MASS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (chi2.cdf, ["x", "df"]),
        (chi2.isf, ["q", "df"]),
        (ncx2.logsf, ["x", "df", "nc"]),
        (ncx2.ilogsf, ["logp", "df", "nc"]),
        (marcum_q, ["m", "a", "b"]),
        (marcum_p, ["m", "a", "b"]),
        (marcum_q_inv, ["m", "a", "q"]),
    ],
)
def test_names(function: distributions.Elementwise, names: list[str]) -> None:
    assert list(inspect.signature(function).parameters) == [*names, "out", "where", "dtype"]
    values = [0.5, 2.0, 0.25][: len(names)]
    if names[0] == "logp":
        values[0] = -1.0
    expected = function(*values)
    assert function(**dict(zip(names, values, strict=True))) == expected
    assert function(values[0], **dict(zip(names[1:], values[1:], strict=True))) == expected
    assert isinstance(expected, np.float64)
    assert pickle.loads(pickle.dumps(function)) is function
    assert pickle.loads(pickle.dumps(function.ufunc)) is function.ufunc
    for wrong in (values[:-1], [*values, 1.0]):
        with pytest.raises(TypeError, match=function.__name__):
            function(*wrong)
    for refused in (True, 1j, "1", None, [True], np.array([1.0], object)):
        with pytest.raises(TypeError, match=rf"\b{names[1]}\b"):
            function(values[0], refused, *values[2:])


def test_laws_pickle() -> None:
    for law in (chi2, ncx2):
        assert pickle.loads(pickle.dumps(law)) is law
    assert repr(ncx2) == "<leakscore.distributions.ncx2>"


def test_broadcasting_and_layouts(name: str) -> None:
    function = getattr(ncx2, name)
    x, df, nc = arguments(name, (7, 1)), arguments(name, 5), arguments(name, (3, 1, 1))
    got = function(x[0], df[1], nc[2])
    assert got.shape == (3, 7, 5)
    full = [np.ascontiguousarray(v) for v in np.broadcast_arrays(x[0], df[1], nc[2])]
    np.testing.assert_array_equal(got, function(*full))
    np.testing.assert_array_equal(got, function(*(np.asfortranarray(v) for v in full)))
    np.testing.assert_array_equal(got, function(*(v.astype(">f8") for v in full)))
    np.testing.assert_array_equal(got[..., ::2], function(*(v[..., ::2] for v in full)))
    assert function(np.empty((0, 5)), df[1], 1.0).shape == (0, 5)
    out = np.zeros((3, 7, 5))
    assert function(x[0], df[1], nc[2], out=out) is out
    np.testing.assert_array_equal(out, got)
    in_place = full[0].copy()
    function(in_place, full[1], full[2], out=in_place)
    np.testing.assert_array_equal(in_place, got)


def test_dtypes(name: str) -> None:
    function = getattr(ncx2, name)
    single = [v.astype(np.float32) for v in arguments(name, 700)]
    double = function(*(v.astype(np.float64) for v in single))
    assert function(*single).dtype == np.float64
    np.testing.assert_array_equal(function(*single), double)
    narrow = function(*single, dtype=np.float32)
    assert narrow.dtype == np.float32
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(narrow, double.astype(np.float32))
    whole = np.array([1, 2, 3])
    if name in POINT:
        np.testing.assert_array_equal(function(whole, whole, whole), function(*[whole / 1.0] * 3))


@pytest.mark.parametrize("threads", [2, 8])
def test_threads_give_the_same_bits(name: str, threads: int) -> None:
    function = getattr(ncx2, name)
    values = arguments(name, 66_000)
    leakscore.set_num_threads(1)
    alone = function(*values)
    leakscore.set_num_threads(threads)
    np.testing.assert_array_equal(function(*values), alone)


def test_flags_stay_clean(name: str) -> None:
    hard = np.array(
        [NAN, INF, -INF, 0.0, -0.0, 1.0, 0.5, 2.0, -1.0, 5e-324, -5e-324, 1e-310, 1e300, -1e300]
    )
    x, df, nc = (v.ravel() for v in np.meshgrid(hard, hard, hard))
    with np.errstate(all="raise"):
        got = getattr(ncx2, name)(x, df, nc)
        getattr(chi2, name)(x, df)
    valid = (df > 1e-289) & (df <= 1e60) & (nc >= 0) & (nc <= 1e60) & ~np.isnan(x)
    assert np.isnan(got[~valid]).all()
    if name in POINT:
        assert not np.isnan(got[valid]).any()


def test_outside_the_support() -> None:
    x = [-INF, -1.0, -5e-324, INF, NAN]
    wanted = {
        "pdf": [0, 0, 0, 0, NAN],
        "logpdf": [-INF, -INF, -INF, -INF, NAN],
        "cdf": [0, 0, 0, 1, NAN],
        "sf": [1, 1, 1, 0, NAN],
        "logcdf": [-INF, -INF, -INF, 0, NAN],
        "logsf": [0, 0, 0, -INF, NAN],
    }
    for name, values in wanted.items():
        for df, nc in ((0.05, 0.0), (3.0, 7.0), (2e7, 1e7)):
            np.testing.assert_array_equal(getattr(ncx2, name)(x, df, nc), values)
            np.testing.assert_array_equal(getattr(chi2, name)(x, df), values)


def test_density_at_zero() -> None:
    df = [1.0, 2.0, 2.5]
    np.testing.assert_array_equal(chi2.pdf(0.0, df), [INF, 0.5, 0.0])
    np.testing.assert_array_equal(chi2.logpdf(0.0, df), [INF, -np.log(2), -INF])
    np.testing.assert_allclose(ncx2.pdf(0.0, 2.0, 3.0), 0.5 * np.exp(-1.5), rtol=4e-16)
    np.testing.assert_allclose(ncx2.logpdf(0.0, 2.0, 3e4), -1.5e4 - np.log(2), rtol=4e-16)
    assert ncx2.cdf(0.0, 0.05, 0.0) == 0
    assert ncx2.logsf(-0.0, 0.05, 0.0) == 0


@pytest.mark.parametrize(("df", "nc"), [(0.05, 0.0), (1.0, 30.0), (500.0, 0.0), (1e7, 1e7)])
def test_far_ends(df: float, nc: float) -> None:
    """Logs to the largest double; powers of x down to the smallest one."""
    x = np.array([1e6, 1e9, 1e30, 1e150, 1e306, 1.7e308])
    log = ncx2.logsf(x, df, nc)
    far = x > 1e20 * (df + nc)
    np.testing.assert_allclose(log[far], -x[far] / 2, rtol=2e-10)
    np.testing.assert_allclose(ncx2.logpdf(x, df, nc)[far], -x[far] / 2, rtol=2e-10)
    assert (np.diff(log) < 0).all()
    tiny = np.array([5e-324, 1e-320, 1e-300, 1e-250, 1e-212, 1e-210, 1e-200])
    log = ncx2.logcdf(tiny, df, nc)
    np.testing.assert_allclose(np.diff(log), df / 2 * np.diff(np.log(tiny)), rtol=1e-12)
    density = ncx2.logpdf(tiny, df, nc)
    np.testing.assert_allclose(
        density + np.log(tiny) - log, np.log(df / 2), rtol=0, atol=3e-13 + 1e-12 * df
    )
    assert (ncx2.sf(tiny, df, nc) <= 1).all()
