"""What is no table and no option is refused, before data are read where that is possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, SingularCovarianceError
from tests.runtime.test_isa import run_python

da = pytest.importorskip("dask.array", reason="dask is not installed")

from leakscore import dask as room  # noqa: E402

X = np.random.default_rng(1).normal(size=(40, 3))
GOOD = da.from_array(X, chunks=(9, 2))
REFERENCE = Reference.fit(X)


def never(part: Any) -> Any:
    raise AssertionError("data were read")


UNREAD = GOOD.map_blocks(never, dtype=np.float64, meta=np.empty((0, 0)))
UNEVEN = da.from_array(np.where(np.arange(120).reshape(40, 3) == 119, np.nan, X), chunks=9)


@pytest.mark.parametrize("call", [room.moments, room.fit, lambda data: room.leave_one_out(data, 5)])
@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (X, TypeError, "data of type ndarray must be a dask array or frame"),
        ([[1.0]], TypeError, "data of type list"),
        (GOOD[:, 0], ValueError, "data of shape .* must have 2 axes"),
        (GOOD[:0], ValueError, "data of shape .* must have a row"),
        (GOOD[:, :0], ValueError, "data of shape .* and a column"),
        (GOOD.astype(complex), TypeError, "data must hold real numbers, not dtype complex128"),
        (GOOD.astype(str), TypeError, "data must hold real numbers"),
        (UNEVEN, ValueError, "X must be finite"),
    ],
)
def test_no_tables(call: Any, data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(data)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: room.moments(data, "low-rank"), "cov='low-rank'"),
        (lambda data: room.fit(data, "none"), "cov='none'"),
        (lambda data: room.fit(data, shrinkage=2.0), "shrinkage"),
        (lambda data: room.fit(data, "diagonal", shrinkage="oas"), "shrinkage"),
        (lambda data: room.fit(data, "low-rank", shrinkage="oas"), "shrinkage"),
        (lambda data: room.fit(data, ridge=-1.0), "ridge"),
        (lambda data: room.fit(data, "low-rank", ddof=40), "ddof"),
        (lambda data: room.fit(data, ddof=40), "ddof"),
        (lambda data: room.fit(data[:1]), "at least 2 rows"),
        (lambda data: room.leave_one_out(data, 1), "n=1"),
        (lambda data: room.leave_one_out(data, 5, population="all"), "population"),
        (lambda data: room.leave_one_out(data, 40, population="finite"), "n=40 must be < 40"),
        (lambda data: room.score("glir", X, data, REFERENCE, 5), "name='glir'"),
        (lambda data: room.score("gaussian_llr", X, data, REFERENCE, 1), "n=1"),
        (lambda data: room.score("gaussian_llr", X[:, :2], data, REFERENCE, 5), "observed"),
        (lambda data: room.score("gaussian_llr", X, data[:, :2], REFERENCE, 5), "target"),
        (
            lambda data: room.score("gaussian_llr", X[:9], data, REFERENCE, 5, paired=True),
            "both the same, if paired",
        ),
        (
            lambda data: room.score("gaussian_llr", X, data, REFERENCE, 5, noise_std=-1.0),
            "noise_std",
        ),
    ],
)
def test_wrong_options_are_refused_before_data_are_read(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(UNREAD)


def test_scores_of_no_dask_array() -> None:
    with pytest.raises(TypeError, match=r"leakscore\.scores\.gaussian_llr"):
        room.score("gaussian_llr", X, X, REFERENCE, 5)
    with pytest.raises(TypeError, match="reference"):
        room.score("gaussian_llr", X, GOOD, X, 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="target must be finite"):
        room.score("gaussian_llr", X, UNEVEN, REFERENCE, 5).compute()


def test_singular_tables() -> None:
    with pytest.raises(SingularCovarianceError, match=r"column\(s\) 3"):
        room.leave_one_out(da.concatenate([GOOD, 0 * GOOD[:, :1]], axis=1), 5)
    with pytest.raises(ValueError, match="more than the 3 rows"):
        room.fit(GOOD[:3])


@pytest.mark.parametrize("call", ["moments(None)", "audit([1.0], [1])"])
def test_without_dask_the_remedy_is_named(call: str) -> None:
    done = run_python(
        f"import sys; sys.modules['dask'] = None; import leakscore.dask as room; room.{call}"
    )
    assert done.returncode != 0
    assert "ImportError: leakscore.dask needs dask: pip install 'leakscore[dask]'" in done.stderr
