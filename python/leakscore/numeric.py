"""Roots of monotone functions, Gauss's rule on panels, repetition by squaring, and norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles, Flags

__all__ = [
    "bisect",
    "by_squaring",
    "crossed",
    "doubled",
    "falling_root",
    "frozen",
    "gauss_panels",
    "norms",
    "settled_area",
    "sign_change",
]

Element = TypeVar("Element")
Scalar = TypeVar("Scalar", bound=np.generic)

_STEPS = 400
_PASSED = 1.01  # of the way to where a line is 0: it passes the root of what is nearly a line
_LEAST_STEP, _LARGEST_STEP = 1.25, 8.0  # of an upper end


def frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Make an array read-only, and return it."""
    array.setflags(write=False)
    return array


def bisect(
    before: Callable[[float], bool],
    low: float,
    high: float,
    *,
    steps: int = 2000,
    close: Callable[[float, float], bool] | None = None,
) -> tuple[float, float]:
    """Bisect for the point up to which `before` is true, and return the last bracket.

    Stop after `steps` steps, when the ends are `close`, or when no double lies between them.
    """
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if middle in (low, high) or (close is not None and close(low, high)):
            break
        low, high = (middle, high) if before(middle) else (low, middle)
    return low, high


def crossed(
    function: Callable[[float], float], low: float, high: float, share: float
) -> tuple[float, float]:
    """Narrow a bracket of positive numbers to a share of itself.

    It begins with function(low) > 0 >= function(high). By the line between the ends, whose value is
    reduced at an end that stays (Anderson and Bjorck, BIT 13, 1973), so that a bend at the root
    takes few steps, too, and by halving after three steps that did not halve the bracket. No closer
    to an end than a third of the final width, so that both come close.
    """
    at_low, at_high, stayed, slow = function(low), function(high), 0, 0
    above, below = at_low, at_high
    while (width := high - low) > share * high:
        x = 0.5 * (low + high)
        if slow < 3:
            least = share * high / 3.0
            x = min(max(low + width * above / (above - below), low + least), high - least)
        value = function(x)
        if value > 0.0:
            below *= _remaining(value, at_low) if stayed > 0 else 1.0
            low, above, at_low, stayed = x, value, value, 1
        else:
            above *= _remaining(value, at_high) if stayed < 0 else 1.0
            high, below, at_high, stayed = x, value, value, -1
        slow = 0 if slow == 3 or high - low <= 0.5 * width else slow + 1
    return low, high


def _remaining(value: float, before: float) -> float:
    """Return the factor on the value at the end that stays, when the other end is replaced."""
    share = 1.0 - value / before if before else 0.0
    return share if share > 0.0 else 0.5


def doubled(high: Doubles, short: Callable[[Doubles], Flags]) -> Doubles:
    """Double the numbers that are `short` until none is, for the upper end of a bracket."""
    while (small := short(high)).any():
        high = np.where(small, 2.0 * high, high)
    return high


def by_squaring(
    element: Element, count: int, times: Callable[[Element, Element], Element]
) -> Element:
    """Combine `count` >= 1 copies of something by an associative operation."""
    while count % 2 == 0:
        element, count = times(element, element), count // 2
    result = element
    while count := count // 2:
        element = times(element, element)
        if count % 2:
            result = times(result, element)
    return result


def gauss_panels(starts: Doubles, widths: Doubles, order: int) -> tuple[Doubles, Doubles]:
    """Return nodes and weights of Gauss's rule on the panels that begin at `starts`."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    x = starts[:, np.newaxis] + (0.5 * (1.0 + nodes)) * widths[:, np.newaxis]
    return x.ravel(), np.outer(widths, 0.5 * weights).ravel()


def settled_area(function: Callable[[Doubles], Doubles], ends: Doubles) -> float:
    """Integrate by Gauss's rule on the panels between `ends`, halved until the result settles.

    At a bend panels get narrow; each may err by 1e-15 of the whole.
    """

    def areas(starts: Doubles, widths: Doubles) -> Doubles:
        x, shares = gauss_panels(starts, widths, 12)
        return np.asarray((shares * function(x)).reshape(-1, 12).sum(axis=-1))

    starts, widths = ends[:-1], np.diff(ends)
    before = areas(starts, widths)
    total = float(before.sum())
    for _ in range(50):
        widths = np.repeat(0.5 * widths, 2)
        starts = np.repeat(starts, 2)
        starts[1::2] += widths[1::2]
        halves = areas(starts, widths)
        change = halves[::2] + halves[1::2] - before
        total += float(change.sum())
        unlike = np.repeat(np.abs(change) > 1e-15 * np.abs(total), 2)
        if not unlike.any():
            break
        starts, widths, before = starts[unlike], widths[unlike], halves[unlike]
    return total


def falling_root(
    function: Callable[[Doubles], Doubles], first: Doubles, furthest: npt.ArrayLike = np.inf
) -> Doubles:
    """Return the root of a decreasing function, positive at 0, elementwise; at most `furthest`.

    The bracket ends at `first`, then where the line through the values at its ends is 0: beyond the
    root, if the function is concave.
    """
    low, high = np.zeros(first.shape), np.minimum(first, furthest)
    at_low, at_high = function(low), function(high)
    while (short := (at_high > 0.0) & (high < furthest)).any():
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            line = high + (high - low) * at_high / (at_low - at_high)
            far = np.fmax(np.fmin(_PASSED * line, _LARGEST_STEP * high), _LEAST_STEP * high)
        low, at_low = np.where(short, high, low), np.where(short, at_high, at_low)
        high = np.where(short, np.minimum(far, furthest), high)
        at_high = function(high)
    return _narrowed(function, (low, at_low), (high, at_high))


def sign_change(
    function: Callable[[Doubles], Doubles], low: Doubles, high: Doubles, rtol: float = 2.0**-48
) -> Doubles:
    """Return the sign change of a monotone function on [low, high], elementwise.

    Where it does not, the end at which it is nearer to 0: a root that rounding moved out.
    Chandrupatla's steps: inverse quadratic interpolation where three points allow it, bisection
    otherwise. Ends with a bracket of width `rtol`, relative to the root; raises RuntimeError if
    that does not happen.
    """
    a, b = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    return _narrowed(function, (a, function(a)), (b, function(b)), rtol)


def _narrowed(
    function: Callable[[Doubles], Doubles],
    low: tuple[Doubles, Doubles],
    high: tuple[Doubles, Doubles],
    rtol: float = 2.0**-48,
) -> Doubles:
    """Return the root between two points, with their values; see `sign_change`."""
    (a, at_a), (b, at_b) = low, high
    nearer, alike = np.where(np.abs(at_a) <= np.abs(at_b), a, b), np.sign(at_a) == np.sign(at_b)
    a, b = np.where(alike, nearer, a), np.where(alike, nearer, b)
    share = np.full(a.shape, 0.5)
    for _ in range(_STEPS):
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            x = a + share * (b - a)
            at_x = function(x)
            same = np.sign(at_x) == np.sign(at_a)
            c, at_c = np.where(same, a, b), np.where(same, at_a, at_b)
            b, at_b = np.where(same, b, a), np.where(same, at_b, at_a)
            a, at_a = x, at_x
            best = np.where(np.abs(at_a) < np.abs(at_b), a, b)
            width = np.abs(b - a)
            least = rtol * np.abs(best) + 5e-324
            if ((width <= 2.0 * least) | (at_a == 0.0)).all():
                return np.where(at_a == 0.0, a, best)
            xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
            inside = (1.0 - np.sqrt(1.0 - xi) < phi) & (phi < np.sqrt(xi))
            curved = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            curved += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
            share = np.where(inside & np.isfinite(curved), curved, 0.5)
            margin = np.minimum(least / width, 0.5)
            share = np.clip(np.where(at_a == 0.0, 0.0, share), margin, 1.0 - margin)
    raise RuntimeError("The search for a sign change did not end")


def norms(rows: Doubles) -> Doubles:
    """Return Euclidean norms over the last axis, also where squares overflow or vanish.

    NaN or inf if the row holds it or the norm is inf.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = np.asarray(np.einsum("...i,...i->...", rows, rows))
    lengths = np.asarray(np.sqrt(squares))
    extreme = np.asarray(~((squares > 1e-280) & (squares < 1e300)))
    if extreme.any():
        exponents = np.frexp(np.abs(rows[extreme]).max(axis=-1))[1]
        scaled = np.ldexp(rows[extreme], -exponents[:, np.newaxis])
        with np.errstate(over="ignore", under="ignore"):
            lengths[extreme] = np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), exponents)
    return lengths
