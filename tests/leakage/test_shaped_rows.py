"""Which rows shaped noise looks at: the last of many, those next to the limit, and bad ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from leakscore import Reference
from leakscore.leakage import _noise, noise_for
from tests.helpers.parts import solve
from tests.leakage.test_shaped import SHAPES

both = pytest.mark.parametrize("shape", SHAPES)
LIMIT: Any = {"max_advantage": 0.1}


@both
@pytest.mark.parametrize("row", [0, 4095, 4096, 4199])
def test_a_constant_column_in_which_one_row_varies(shape: Any, row: int) -> None:
    """Without noise on that column all would know of this row."""
    targets = np.zeros((4200, 2))
    targets[row] = 0.0, 5.0
    noise = noise_for(
        targets, Reference([0.0, 0.0], [1.0, 0.0]), 10, shape=shape, weights=[1, 1], **LIMIT
    )
    assert noise.std[1] ** 2 >= 25.0 / 100 / noise.max_leakage * (1.0 - 1e-9)
    assert (noise.worst, noise.active.tolist()) == (row, [row])


@both
def test_rows_within_a_ten_thousandth_of_the_limit_are_active(shape: Any) -> None:
    """The leakage of one direction grows as the square of the distance."""
    away = np.sqrt([1.0, 1.0 - 5e-5, 1.0 - 1.5e-4, 0.5])
    noise = noise_for(40.0 * away[:, np.newaxis], Reference([0.0], [1.0]), 10, shape=shape, **LIMIT)
    assert noise.active.tolist() == [0, 1]


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused(shape: Any, bad: float) -> None:
    targets = np.array([[1.0, 2.0], [3.0, bad]])
    with pytest.raises(ValueError, match="targets must be finite"):
        noise_for(targets, Reference([0.0, 0.0], [1.0, 1.0]), 10, shape=shape, **LIMIT)


@both
def test_sums_of_one_column_that_overflow_are_refused(shape: Any) -> None:
    targets = np.array([[1.0, 1e308], [1.0, 1e308], [0.0, 1.0]])
    with pytest.raises(ValueError, match="must have sums"):
        noise_for(
            targets, Reference([0.0, 0.0], [1.0, 1.0]), 10, shape=shape, ids=[0, 0, 1], **LIMIT
        )


@both
def test_prices_of_small_variances_are_refused_too(shape: Any) -> None:
    reference = Reference([0.0, 0.0], [0.5, 1.0])
    with pytest.raises(ValueError, match=r"weights\[0\]=1e\+120 times the variance"):
        noise_for([[1.0, 9.0]], reference, 10, shape=shape, weights=[1e120, 1.0], **LIMIT)


@both
def test_the_radius_without_noise(shape: Any) -> None:
    """Leakage is the squared distance over n."""
    noise = noise_for(
        [[1.0, 0.0]], Reference([0.0, 0.0], [1.0, 1.0]), 100, shape=shape, max_leakage=0.5
    )
    assert noise.factor.shape == (2, 0)
    assert 50.0 * (1.0 - 1e-9) <= noise.protected_radius**2 <= 50.0


@both
@pytest.mark.parametrize("more", [1e-13, 1e-9, 1e-4])
def test_noise_grows_until_the_limit_is_met_as_leakage_is_computed(
    monkeypatch: pytest.MonkeyPatch, shape: Any, more: float
) -> None:
    """Leakage that is larger than that of the problem; the variance grows by about as much."""
    targets, reference = [[40.0, 1.0], [0.1, 0.2]], Reference([0.0, 0.0], [1.0, 1.0])
    plain = noise_for(targets, reference, 10, shape=shape, **LIMIT)

    def computed(task: Any) -> Any:
        larger = replace(task, leakage=lambda factor: task.leakage(factor) * (1.0 + more))
        return solve(larger)

    monkeypatch.setattr(_noise, "solve", computed)
    noise = noise_for(targets, reference, 10, shape=shape, **LIMIT)
    assert noise.leakage_after <= noise.max_leakage
    assert plain.cost <= noise.cost <= plain.cost * (1.0 + 4.0 * more)
