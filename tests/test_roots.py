"""The search for roots of many monotone functions at once, and what brackets and repeats."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore.numeric import by_squaring, crossed, doubled, sign_change


def test_roots_of_any_size() -> None:
    """c - x - x^2 is 0 at 2c / (1 + sqrt(1 + 4c)), from 1e-60 to 1e60."""
    c = 10.0 ** np.arange(-60, 61, 3)
    root = sign_change(lambda x: c - x - x * x, np.zeros(c.size), c)
    np.testing.assert_allclose(root, 2 * c / (1 + np.sqrt(1 + 4 * c)), rtol=2.0**-48)


def test_a_root_beyond_either_end() -> None:
    away = np.array([-1e-16, 0.3, 1.0 + 1e-16, 1.1, -7.0])
    for sign in (-1.0, 1.0):
        root = sign_change(lambda x, sign=sign: sign * (away - x), np.zeros(5), np.ones(5))  # type: ignore[misc]
        np.testing.assert_allclose(root, [0.0, 0.3, 1.0, 1.0, 0.0], rtol=1e-14)


@pytest.mark.parametrize("root", [1.0 + 1e-9, 1.2345, 1.5, 2.0])
@pytest.mark.parametrize("power", [1, 3, 9])
def test_brackets_are_narrowed_from_both_ends(root: float, power: int) -> None:
    """In a few evaluations of a smooth function, in not many of one that is flat or steps."""
    asked = []

    def smooth(x: float) -> float:
        asked.append(x)
        return min(1.0, (root / x) ** power - 1.0)

    low, high = crossed(smooth, 1.0, 2.0, 1e-12)
    assert low < root <= high <= low + 1e-12 * high
    assert len(asked) < 20
    for shape in (lambda x: 1.0 if x < root else -1e-300, lambda x: 1e300 if x < root else 0.0):
        low, high = crossed(shape, 1.0, 2.0, 1e-12)
        assert low < root <= high <= low + 1e-12 * high


def test_brackets_grow_one_by_one() -> None:
    least = np.array([0.0, 1.0, 1.5, 1e9])
    high = doubled(np.ones(4), lambda high: high < least)
    np.testing.assert_array_equal(high, [1.0, 1.0, 2.0, 2.0**30])


@pytest.mark.parametrize("count", [1, 2, 3, 6, 64, 1023])
def test_copies_are_combined_in_order(count: int) -> None:
    used: list[int] = []

    def joined(left: str, right: str) -> str:
        used.append(1)
        return left + right

    assert by_squaring("ab", count, joined) == "ab" * count
    assert len(used) <= 2 * count.bit_length()
