"""What the scores accept and refuse: layouts, dtypes, threads, ISA levels, shapes, bad values."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import Reference, _core, scores

N = 50
KWARGS: dict[str, dict[str, Any]] = {
    "replace": {},
    "noise": {"noise_std": 0.1},
    "add-remove": {"neighbours": "add-remove"},
}


def diagonal(score: Callable[..., Any], **kwargs: Any) -> Callable[..., Any]:
    return lambda x, z, p, **more: score(x, z, Reference(p, p * (1 - p)), N, **kwargs, **more)


def full(score: Callable[..., Any], **kwargs: Any) -> Callable[..., Any]:
    def call(x, z, p, **more):
        root = np.sqrt(p * (1 - p))
        cov = 0.3 * root * root[:, None] + np.diag(0.7 * root**2)
        return score(x, z, Reference(p, cov), N, **kwargs, **more)

    return call


def low_rank(score: Callable[..., Any], **kwargs: Any) -> Callable[..., Any]:
    def call(x, z, p, **more):
        variances = p * (1 - p)
        factor = np.sqrt(0.3 * variances)[:, None]
        return score(x, z, Reference.low_rank(p, 0.7 * variances, factor), N, **kwargs, **more)

    return call


SCORES: dict[str, Callable[..., Any]] = {
    "bernoulli": scores.bernoulli_llr,
    "scalar": scores.scalar_product,
    **{f"covariance {k}": diagonal(scores.covariance_score, **v) for k, v in KWARGS.items()},
    **{f"gaussian {k}": diagonal(scores.gaussian_llr, **v) for k, v in KWARGS.items()},
    **{f"full {k}": full(scores.gaussian_llr, **v) for k, v in KWARGS.items()},
    **{f"low-rank {k}": low_rank(scores.gaussian_llr, **v) for k, v in KWARGS.items()},
}
every_score = pytest.mark.parametrize("name", SCORES)
DENSE = ("full", "low-rank")
compiled = pytest.mark.parametrize("name", [k for k in SCORES if not k.startswith(DENSE)])


@cache
def data(rows: int, dim: int, targets: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.25, 0.75, dim)
    x = rng.binomial(N, p, size=(rows, dim)).clip(1, N - 1) / N
    z = (rng.random((targets, dim)) < p).astype(np.float64)
    for values in (x, z, p):
        values.flags.writeable = False
    return x, z, p


def same_rows(x: np.ndarray, tmp_path) -> dict[str, np.ndarray]:
    wide = np.zeros((2 * len(x), 3 * x.shape[1]), dtype=x.dtype)
    wide[::2, 1::3] = x
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
    np.save(tmp_path / "x.npy", x)
    frozen = x.copy()
    frozen.flags.writeable = False
    return {
        "read-only": frozen,
        "Fortran": np.asfortranarray(x),
        "strided": wide[::2, 1::3],
        "reversed": x[::-1, ::-1].copy()[::-1, ::-1],
        "broadcast": np.broadcast_to(x, (2, *x.shape))[1],
        "byte-swapped": x.astype(x.dtype.newbyteorder()),
        "unaligned": unaligned,
        "memory map": np.load(tmp_path / "x.npy", mmap_mode="r"),
    }


@every_score
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("targets", [3, 20])
def test_any_layout_gives_the_same_numbers(name, dtype, targets, tmp_path) -> None:
    x, z, p = data(70, 30 if "full" in name else 2500, targets)
    x = x.astype(dtype)
    expected = SCORES[name](x, z, p)
    exact = 0.0 if targets == 3 and not name.startswith(DENSE) else 1e-12
    for layout, view in same_rows(x, tmp_path).items():
        before = view.tobytes()
        result = SCORES[name](view, z, p)
        np.testing.assert_allclose(result, expected, rtol=exact, atol=exact, err_msg=layout)
        assert view.tobytes() == before
    for layout, view in same_rows(z, tmp_path).items():
        result = SCORES[name](x, view, p)
        np.testing.assert_allclose(result, expected, rtol=exact, atol=exact, err_msg=layout)


@every_score
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64, np.float16])
def test_other_dtypes_are_converted(name, dtype) -> None:
    x, z, p = data(9, 40)
    x = np.round(x) if name == "bernoulli" else np.round(100 * x)
    for targets in (z, np.repeat(z, 7, axis=0)):
        expected = SCORES[name](x, targets, p)
        result = SCORES[name](x.astype(dtype), targets.astype(dtype), p)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    np.testing.assert_allclose(SCORES[name](x.tolist(), z.tolist(), p), SCORES[name](x, z, p))


@compiled
@pytest.mark.parametrize("shape", [(1, 300_000), (3000, 90), (67, 5000), (500_000, 1)])
@pytest.mark.parametrize("paired", [False, True])
def test_any_number_of_threads_gives_the_same_bits(name, shape, paired) -> None:
    x, z, p = data(*shape, targets=shape[0] if paired else 2)
    results = []
    for threads in (1, 8):
        leakscore.set_num_threads(threads)
        results.append(SCORES[name](x, z, p, paired=paired))
    np.testing.assert_array_equal(*results)


@every_score
def test_every_isa_level_gives_the_same_numbers(name, isa) -> None:
    x, z, p = data(30, 400)
    result = SCORES[name](x, z, p)
    _core.select_isa("")
    np.testing.assert_allclose(result, SCORES[name](x, z, p), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in SCORES if name not in ("bernoulli", "scalar")])
@pytest.mark.parametrize("targets", [1, 30])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_float32_loses_nothing_to_an_offset(name, targets, offset) -> None:
    """Error below 2e-6 standard deviations of the score, against float64 on the same values."""
    rng = np.random.default_rng(1)
    dim, n = (60 if "full" in name else 5000), 1000
    kwargs = KWARGS[name.split()[1]]
    mean = rng.normal(size=dim) + offset
    reference = Reference(mean, np.ones(dim) if "full" not in name else np.eye(dim) + 0.2)
    if "low-rank" in name:
        reference = Reference.low_rank(mean, 1.0, np.full((dim, 1), 0.4))
    z = (mean + rng.normal(size=(targets, dim))).astype(np.float32)
    x = (mean + rng.normal(size=(40, dim)) / np.sqrt(n)).astype(np.float32)
    score = scores.covariance_score if "covariance" in name else scores.gaussian_llr
    single = score(x, z, reference, n, **kwargs)
    double = score(x.astype(np.float64), z.astype(np.float64), reference, n, **kwargs)
    m = leakscore.leakage.leakage_score(z, reference, n, **kwargs)
    assert (np.abs(single - double) / np.sqrt(m)).max() < 2e-6


@every_score
@pytest.mark.parametrize("targets", [1, 20])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_not_finite_is_refused(name, targets, bad, dtype) -> None:
    x, z, p = data(5, 33, targets)
    x, z = x.astype(dtype), z.astype(dtype)
    where = x.copy()
    where[3, 32] = bad
    with pytest.raises(ValueError, match="observed"):
        SCORES[name](where, z, p)
    where = z.copy()
    where[-1, 0] = bad
    with pytest.raises(ValueError, match="target"):
        SCORES[name](x, where, p)
    if "covariance" in name or name == "scalar":  # a weight of 0 does not hide it
        where = x.copy()
        where[0, 4] = bad
        at_mean = np.broadcast_to(p, z.shape)
        with pytest.raises(ValueError, match="observed"):
            SCORES[name](where, at_mean, p)


@every_score
def test_shapes_that_do_not_fit_are_refused(name) -> None:
    x, z, p = data(4, 6)
    for bad in (x[:, :5], x[:0], x[:, :0], x[np.newaxis], 0.5):
        with pytest.raises(ValueError, match="observed"):
            SCORES[name](bad, z, p)
        with pytest.raises(ValueError, match="target"):
            SCORES[name](x, bad, p)
    for one, two in ((x, z[0]), (x[0], z[0]), (x, z[:3]), (x[:3], x)):
        with pytest.raises(ValueError, match="paired"):
            SCORES[name](one, two, p, paired=True)
    for bad in (x.astype(complex), x.astype(object), x.astype(str), np.longdouble(x), None):
        with pytest.raises(TypeError, match="observed"):
            SCORES[name](bad, z, p)


@pytest.mark.parametrize("score", [scores.covariance_score, scores.gaussian_llr])
def test_parameters_out_of_range_are_refused(score) -> None:
    x, z, p = data(4, 6)
    reference = Reference(p, p)
    for n in (1, 0, -3):
        with pytest.raises(ValueError, match=f"n={n} must be >= 2"):
            score(x, z, reference, n)
    for n in (10.0, True, "10"):
        with pytest.raises(TypeError, match="n="):
            score(x, z, reference, n)
    for noise_std in (-0.1, np.nan, np.inf, np.full(5, 0.1), np.full(6, -0.1)):
        with pytest.raises(ValueError, match="noise_std"):
            score(x, z, reference, 10, noise_std=noise_std)
    with pytest.raises(ValueError, match="neighbours='add'"):
        score(x, z, reference, 10, neighbours="add")
    with pytest.raises(TypeError, match="reference"):
        score(x, z, p, 10)
    with pytest.raises(TypeError, match="paired"):
        score(x, z, reference, 10, paired=1)


def test_overflow_is_refused_or_infinite() -> None:
    reference = Reference(np.zeros(2), np.full(2, 1e-300))
    assert scores.gaussian_llr([1e10, 0.0], [0.0, 0.0], reference, 10) == -np.inf
    with pytest.raises(ValueError, match="overflow"):
        scores.covariance_score([1e10, 1e10], [1e10, -1e10], reference, 10)
    full = Reference(np.zeros(2), np.eye(2))
    far = np.full((1, 2), 1e299)
    for more in ({"paired": True}, {}):  # inf - inf
        with pytest.raises(ValueError, match="so small that the score does not overflow"):
            scores.gaussian_llr(far, far, full, 10, neighbours="add-remove", **more)
    for score in (scores.covariance_score, scores.gaussian_llr, scores.glir):
        with pytest.raises(ValueError, match=r"noise_std=1e\+200 must have"):
            score([1.0, 0.0], [0.0, 1.0], full, 10, noise_std=1e200)
