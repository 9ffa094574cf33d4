"""The search for roots of many monotone functions at once, and what brackets and repeats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from leakscore.numeric import by_squaring, crossed, doubled, falling_root, sign_change
from leakscore.typing import Doubles


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


SMOOTH: tuple[tuple[Callable[[Doubles], Doubles], float, float], ...] = (
    (lambda x: np.cos(x) - x, 0.0, 1.0),
    (lambda x: 1.0 / (1.0 + x) - 0.3, 0.0, 10.0),
    (lambda x: np.exp(-x) - 1e-3, 0.0, 64.0),
    (lambda x: 2.0 - x**3, 0.0, 4.0),
    (lambda x: 0.3**9 - x**9, 0.0, 1.0),
    (lambda x: np.tanh(x - 3.0), 0.0, 50.0),
    (lambda x: np.log(x) - 7.0, 1.0, 1e4),
    (lambda x: np.log1p(-x) + 3.0, 0.0, 0.999999),
    (lambda x: 1.0 / x - 1.0 / 7.0 - 0.01 * x, 1e-3, 90.0),
)


def test_smooth_functions_take_few_evaluations() -> None:
    """Bisection takes 460, and interpolation with a wrong term at least 129."""
    count = 0
    for function, low, high in SMOOTH:

        def counted(x: Doubles, function: Callable[[Doubles], Doubles] = function) -> Doubles:
            nonlocal count
            count += 1
            return function(x)

        sign_change(counted, np.array([low]), np.array([high]))
    assert count <= 112


def test_the_end_with_the_value_nearer_to_0() -> None:
    root = sign_change(lambda x: 2.0 - x**3, np.zeros(1), np.full(1, 4.0), rtol=1e-3)
    np.testing.assert_allclose(root, np.cbrt(2.0), rtol=1e-4)


def test_a_value_of_1_ends_no_search() -> None:
    root = sign_change(lambda x: 4.0 * (0.75 - x), np.zeros(1), np.ones(1))
    np.testing.assert_allclose(root, 0.75, rtol=2.0**-47)


def step_at(root: float, above: float, below: float) -> Callable[[Doubles], Doubles]:
    return lambda x: np.where(x < root, above, below)


def test_steps_are_within_the_width() -> None:
    """The end with the smaller value is the far one for half of the steps."""
    root = np.linspace(1.0, 2.0, 400)[1:-1]
    for above, below in ((1e300, -1e-300), (1e-300, -1e300)):
        at = [
            sign_change(step_at(r, above, below), np.ones(1), np.full(1, 2.0), rtol=2.0**-12)[0]
            for r in root
        ]
        np.testing.assert_allclose(at, root, rtol=2.0**-11)


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


@pytest.mark.parametrize("slopes", [(36.0, 1.0), (1.0, 36.0)])
def test_a_bend_at_the_root_takes_few_evaluations(slopes: tuple[float, float]) -> None:
    """Values that are halved take 139 and 116, halving the bracket 41."""
    asked = []

    def bent(x: float) -> float:
        asked.append(x)
        return slopes[0] * max(1.3 - x, 0.0) + slopes[1] * min(1.3 - x, 0.0)

    low, high = crossed(bent, 1.0, 2.0, 1e-12)
    assert low < 1.3 <= high <= low + 1e-12 * high
    assert len(asked) <= 38


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


def test_roots_of_what_falls_from_0() -> None:
    """At any scale and shape, at the furthest end at most, and 0 of what is below 0 at once."""
    c = 10.0 ** np.arange(-12, 13, 2.0)
    for power in (0.3, 1.0, 2.0, 7.0):
        root = falling_root(lambda x, p=power: c**p - x**p, np.ones(c.size))  # type: ignore[misc]
        np.testing.assert_allclose(root, c, rtol=2.0**-46)
    ends = falling_root(
        lambda x: np.array([3.0, 3.0, -1.0, 0.0]) - x, np.ones(4), [2.0, 9.0, 9.0, 9.0]
    )
    np.testing.assert_allclose(ends, [2.0, 3.0, 0.0, 0.0], rtol=1e-14, atol=1e-300)


FAR = ((np.square, 13), (np.exp, 8), (np.asarray, 8))


@pytest.mark.parametrize(("of", "most"), FAR)
def test_a_far_root_takes_few_evaluations(of: Callable[[Doubles], Doubles], most: int) -> None:
    """Doubling the upper end, and a search from 0, take 18, 19 and 14."""
    asked = []

    def falling(x: Doubles) -> Doubles:
        asked.append(x)
        return of(np.full(1, 40.0)) - of(x)

    np.testing.assert_allclose(falling_root(falling, np.full(1, 0.1)), 40.0, rtol=1e-13)
    assert len(asked) <= most
