"""The law of an average of ratios on a lattice of octaves, and the error rates that follow from it.

S = sum_t v_t LR_t is a likelihood ratio. Two functions of its law under H0,

    G(c) = E0 (S - c)_+,    H(c) = E0 (c - S)_+ = c - 1 + G(c),

have the rates of the test S > c as slopes: alpha = -G'(c), 1 - alpha = H'(c). Both lie between what
the tests of an attacker's statistic attain and the same function of a pair that dominates S
(`tradeoff.octaves.law`), and both are convex. So for all b < c < d

    (G_low(c) - G_up(d)) / (d - c) <= alpha <= (G_up(b) - G_low(c)) / (c - b),

and alike for H; beta is the slope of r H(1/r) = E1 (1/S - r)_+ at r = 1/c, with the sign changed.
Bounds of probabilities of the lattice itself would be none: a split is not ordered.

Many records make all ratios nearly 1: the power of a test is then its false positives and a little
more. That excess is carried along, as a law of its own, so that G_low is no difference of numbers
that are nearly the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from leakscore.distributions import ncx2
from leakscore.tradeoff.composition.octaves import (
    MEAN,
    Octaves,
    changed,
    in_use,
    joined,
    masses,
    offsets,
    rows_of,
    weighted,
)
from leakscore.typing import Doubles, Indices

Areas: TypeAlias = Callable[[Doubles, Doubles], tuple[Doubles, Doubles]]
_U = 2.0**-53
_BEYOND = 3e-36  # the mass of one step's ratio that is left out at an end
_PDF = 1e-14  # the relative error of a density, at the double that it is given
_SUMS = 2e-11  # that of a running sum of at most 1e5 masses
_FINEST, _COARSEST = 2048, 256
_WORK = 4e7  # octaves times n^2 of one law
_LARGEST = 1e130  # a ratio
_NEARLY_1 = 0.05  # total variation of a step, below which a test's excess of power is kept
_MOST_CENTRE, _MOST_DIM = 1e14, 1e6  # noncentrality and dimensions with the accuracy of `_PDF`
_RUNS = 64  # of weights that are taken as equal
_NEGLIGIBLE = 1e-30  # a weight, as a share of the largest
_LEAST, _MOST = -500.0, 600.0  # thresholds beyond which tests are as at them
# Distances of b and of d from c, as shares of c: the best one depends on the gap.
_BEFORE = 2.0 ** np.arange(-40.0, 0.5, 0.5)
_AFTER = 2.0 ** np.arange(-40.0, 8.0, 0.5)
_AT_ONCE = 4096  # thresholds
_ONE = 1e-15  # the rounding of 1 less a rate


class Ratio:
    """The ratio of one step, exp(largest - X / (2 (n-1))), X noncentral chi-square with n M."""

    def __init__(self, distance: float, n: int, dim: int) -> None:
        self.distance, self.n, self.dim = distance, n, dim
        self.largest = 0.5 * (distance - dim * float(np.log1p(-1.0 / n)))

    def laws(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return noncentrality and scale of X under H0 and under H1."""
        others = self.n - 1.0
        return (self.n * self.distance, 1.0), (others * self.distance, others / self.n)

    def value(self, x: Doubles) -> Doubles:
        """Return the ratio at X = x."""
        return np.asarray(np.exp(self.log(x)))

    def log(self, x: Doubles) -> Doubles:
        return np.asarray(self.largest - x / (2.0 * (self.n - 1.0)))

    def at_most(self, log_ratio: Doubles) -> tuple[Doubles, Doubles]:
        """Return the probability of a log-ratio at most `log_ratio`, under H0 and under H1."""
        others = self.n - 1.0
        with np.errstate(over="ignore"):
            room = np.maximum(2.0 * (self.largest - log_ratio), 0.0)
            near, far = others * room, self.n * room
        under_h0 = ncx2.sf(near, self.dim, self.n * self.distance)
        return under_h0, ncx2.sf(far, self.dim, others * self.distance)


def ratio_law(ratio: Ratio, count: int, work: float = _WORK) -> Octaves | None:
    """Return the law of one step's ratio for a sum of `count`; None if doubles do not hold it."""
    law0, law1 = ratio.laws()
    low = min(scale * float(ncx2.ppf(_BEYOND, ratio.dim, c)) for c, scale in (law0, law1))
    high = max(scale * float(ncx2.isf(_BEYOND, ratio.dim, c)) for c, scale in (law0, law1))
    # All of `count` ratios are below `small` with a probability of at most 1e-20.
    usual = ncx2.isf([0.5, min(0.5, 10.0 ** (-20.0 / count))], ratio.dim, law0[0])
    with np.errstate(over="ignore", under="ignore"):
        least, middle, small, largest = ratio.value(np.array([high, *usual, low])).tolist()
    in_range = largest < _LARGEST and small > 1.0 / _LARGEST
    if not in_range or law0[0] > _MOST_CENTRE or ratio.dim > _MOST_DIM:
        return None
    narrow = middle - least <= least
    octaves = 1.0 if narrow else float(np.log2(largest / small)) + 1.0
    half = 64 * round(float(np.sqrt(work / octaves)) / 64)
    half = min(max(half, _COARSEST), _FINEST)
    origin, spacing = (least, (middle - least) / half) if narrow else (0.0, small / half)
    if spacing <= 0.0:
        return None
    points = origin + offsets(spacing, half, largest - origin)
    with np.errstate(divide="ignore"):
        room = np.maximum(ratio.largest - np.log(points), 0.0)
    # Nodes are in -sqrt(X), where no density has a pole and the ratio increases.
    edges = np.clip(-np.sqrt(2.0 * (ratio.n - 1.0) * room), -np.sqrt(high), -np.sqrt(low))

    def areas(u: Doubles, width: Doubles) -> tuple[Doubles, Doubles]:
        outside = ncx2.pdf(u * u, ratio.dim, law0[0]) * (-2.0 * u * width)
        return outside, ratio.value(u * u) * outside

    def beyond(u: Doubles, width: Doubles, sign: float) -> tuple[Doubles, Doubles]:
        outside, _ = areas(u, width)
        return outside, np.maximum(sign * np.expm1(ratio.log(u * u)), 0.0) * outside

    def integrate(of: Areas) -> tuple[list[Doubles], float]:
        return masses(points, edges, lambda u: ratio.value(u * u), of, (MEAN, MEAN))

    laws, terms = integrate(areas)
    laws += [integrate(partial(beyond, sign=sign))[0][1] for sign in (1.0, -1.0)]
    lost = [
        1.001 * float(ncx2.cdf(low / scale, ratio.dim, c) + ncx2.sf(high / scale, ratio.dim, c))
        for c, scale in (law0, law1)
    ]
    moved = 8.0 * _U * (2.0 + abs(ratio.largest) + high / (2.0 * (ratio.n - 1.0)))
    rounding = _PDF + (20.0 + terms) * _U + _steepness(ratio, low, high) * _U + moved
    under_h0, under_h1, more, less = (rows_of(law, half) for law in laws)
    tails = lost[0], lost[1]
    excess = (more, less) if float(more.sum()) < _NEARLY_1 else None
    return Octaves(origin, spacing, under_h0, under_h1, None, 1, rounding, moved, tails, excess)


def _steepness(ratio: Ratio, low: float, high: float) -> float:
    """Bound twice the relative change of a density over that of sqrt(X)."""
    v = np.linspace(np.sqrt(low), np.sqrt(high), 2001)[1:]
    logs = ncx2.logpdf(v * v, ratio.dim, ratio.n * ratio.distance) + np.log(v)
    slopes = np.abs(np.diff(logs) / np.diff(v)) * v[1:]
    return float(slopes.max()) + ratio.dim


class OctaveCurves:
    """Bounds of G and H of a law from below and from above; `numbers` are the pair's points."""

    def __init__(self, law: Octaves) -> None:
        outside, inside = in_use(law.under_h0), in_use(law.shifted)
        self.numbers = law.numbers / law.steps
        self.rounding = law.rounding + _SUMS
        self.moved = law.moved + 4.0 * _U
        self.lost = law.lost
        self.above, self.below = _above(outside), _below(outside)
        self.caught, self.missed = _above(inside), _below(inside)
        self.excess = None if law.excess is None else [in_use(part) for part in law.excess]
        gaps = np.diff(self.numbers)
        self.gain = _above(self.above[1:-1] * gaps)
        self.loss = _below(self.below[1:-1] * gaps)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(outside > 0.0, inside / outside, np.where(inside > 0.0, np.inf, 0.0))
        self.ratio = np.maximum.accumulate(ratio)

    def gain_up(self, c: Doubles) -> Doubles:
        """Bound G from above: by the mass above c times how far it is, from above."""
        moved = c / (1.0 + self.moved)
        k = np.searchsorted(self.numbers, moved, side="right")
        at = np.minimum(k, self.numbers.size - 1)
        beyond = self.gain[at] + self.above[k] * np.maximum(self.numbers[at] - moved, 0.0)
        wider = float(np.exp(self.rounding)) * (1.0 + self.moved)
        return np.asarray(beyond * wider + self.lost[1])

    def loss_up(self, c: Doubles) -> Doubles:
        """Bound H from above."""
        moved = c / (1.0 - self.moved)
        k = np.searchsorted(self.numbers, moved)
        at = np.maximum(k - 1, 0)
        short = self.loss[at] + self.below[k] * np.maximum(moved - self.numbers[at], 0.0)
        wider = float(np.exp(self.rounding))
        return np.asarray(short * wider + c * self.lost[0])

    def tests(self, c: Doubles) -> Indices:
        """Return the thresholds of the statistic that are best at c, or nearly so."""
        best = np.searchsorted(self.ratio, c, side="right")
        return np.asarray(np.clip(best[:, np.newaxis] + np.arange(-2, 3), 0, self.numbers.size))

    def gain_low(self, c: Doubles) -> Doubles:
        """Bound G from below by the tests' power less c times their false positives."""
        k, c = self.tests(c), c[:, np.newaxis]
        inside = self.caught[k]
        gain = inside * np.exp(-self.rounding) - c * (self.above[k] * np.exp(self.rounding))
        if self.excess is not None:
            more, less = (_above(part)[k] for part in self.excess)
            gain = np.maximum(gain, self._signed((1.0 - c) * self.above[k], more, less, inside))
        return np.asarray(gain.max(axis=1))

    def loss_low(self, c: Doubles) -> Doubles:
        """Bound H from below, by the same tests."""
        k, c = self.tests(c), c[:, np.newaxis]
        inside = self.missed[k]
        loss = c * (self.below[k] * np.exp(-self.rounding)) - inside * np.exp(self.rounding)
        if self.excess is not None:
            more, less = (_below(part)[k] for part in self.excess)
            loss = np.maximum(loss, self._signed((c - 1.0) * self.below[k], less, more, inside))
        return np.asarray(loss.max(axis=1))

    def _signed(self, rest: Doubles, more: Doubles, less: Doubles, inside: Doubles) -> Doubles:
        """Bound the power less c times the false positives from below.

        It is (1 - c) times the false positives, plus the excess of the power over them. The log of
        one step's ratio errs by `moved`, whatever the excess.
        """
        wide = float(np.expm1(self.rounding)) + 8.0 * _U
        certain = rest + more - less - wide * (np.abs(rest) + more + less)
        return np.asarray(certain - self.moved * (1.0 + wide) * inside)


def _above(values: Doubles) -> Doubles:
    """Return the sums of the values from index 0, 1, ... on; the last is 0."""
    return np.append(np.cumsum(values[::-1])[::-1], 0.0)


def _below(values: Doubles) -> Doubles:
    """Return the sums of the first 0, 1, ... values."""
    return np.append(0.0, np.cumsum(values))


def rates(low: OctaveCurves, high: OctaveCurves, gamma: Doubles) -> Doubles:
    """Return both ends of alpha and of beta, (4, k), of tests at k > 0 finite thresholds.

    G of `low` lies below that of the test, G of `high` above it.
    """
    parts = [
        _rates(low, high, np.clip(gamma[i : i + _AT_ONCE], _LEAST, _MOST))
        for i in range(0, gamma.size, _AT_ONCE)
    ]
    result = np.concatenate(parts, axis=1)
    # Rates are monotone in the threshold.
    result[1:3, gamma < _LEAST] = [[1.0], [0.0]]
    result[::3, gamma > _MOST] = [[0.0], [1.0]]
    return result


def _rates(low: OctaveCurves, high: OctaveCurves, gamma: Doubles) -> Doubles:
    # A threshold errs by some units in the last place; both rates are monotone in it.
    slack = 4.0 * _U * (2.0 + np.abs(gamma))
    least, most = np.exp(gamma) * (1.0 - slack), np.exp(gamma) * (1.0 + slack)
    upper, missed_low = _lines(low, high, least, -_BEFORE)
    lower, missed_up = _lines(low, high, most, _AFTER)
    upper = np.clip(upper.min(axis=1), 0.0, 1.0)
    lower = np.clip(lower.max(axis=1), 0.0, 1.0)
    # beta = 1 - G - c alpha
    others_low = 1.0 - high.gain_up(least) - least * upper - _ONE
    others_up = 1.0 - low.gain_low(most) - most * lower + _ONE
    missed_low = np.maximum(missed_low.max(axis=1), others_low)
    missed_up = np.minimum(missed_up.min(axis=1), others_up)
    return np.array([lower, upper, np.clip(missed_low, 0.0, 1.0), np.clip(missed_up, 0.0, 1.0)])


def _lines(
    low: OctaveCurves, high: OctaveCurves, c: Doubles, shares: Doubles
) -> tuple[Doubles, Doubles]:
    """Return alpha and beta of lines through the lower curve at c and the upper curve next to c.

    If the second point is on the left, they bound alpha from above and beta from below; if it is on
    the right, alpha from below and beta from above.
    """
    here = c[:, np.newaxis]
    shifted = here * (1.0 + shares)
    gap = shifted - here
    gain = (low.gain_low(c)[:, np.newaxis] - high.gain_up(shifted)) / gap
    short, loss = low.loss_low(c)[:, np.newaxis], high.loss_up(shifted)
    correct = (loss - short) / gap
    if shares[0] < 0.0:
        alpha = np.minimum(gain, 1.0 - correct + _ONE)
    else:
        alpha = np.maximum(gain, 1.0 - correct - _ONE)
    return alpha, (loss - (1.0 + shares) * short) / shares


def average(ratio: Ratio, weights: Doubles) -> tuple[OctaveCurves, OctaveCurves] | None:
    """Return curves below and above those of a sum of ratios with these positive weights."""
    laws = []
    exact, counts = np.unique(weights, return_counts=True)
    exact_law = exact.size <= _RUNS and exact[0] > _NEGLIGIBLE * exact[-1]
    for parts, many, sure in [(exact, counts, 0.0)] if exact_law else _convex_bounds(weights):
        law = _sum(ratio, parts, many, sure)
        if law is None:
            return None
        laws.append(OctaveCurves(law))
    return laws[0], laws[-1]


def _sum(ratio: Ratio, weights: Doubles, counts: Indices, sure: float) -> Octaves | None:
    """Add up `counts` ratios of each weight, by binary powers, and the constant `sure`."""
    work = _WORK * min(1.0, 16.0 / weights.size)
    step = ratio_law(ratio, int(counts.sum()), work)
    if step is None:
        return None
    total: list[Octaves] = []
    for bit in reversed(range(int(counts.max()).bit_length())):
        twice = [joined(law, law) for law in total]
        terms = [weighted(step, float(weight)) for weight in weights[counts >> bit & 1 == 1]]
        total = _tree(twice + _tree(terms))
    law = total[0]
    if sure == 0.0:
        return law
    whole = law.steps + sure
    return replace(
        law,
        origin=law.origin + sure,
        steps=whole,
        # With the constant's share of the prior no step is shifted.
        under_h1=law.shifted * (law.steps / whole) + law.under_h0 * (sure / whole),
        excess=changed(law.excess, lambda step: step * (law.steps / whole)),
        rounding=law.rounding + 8.0 * _U,
        moved=law.moved + 8.0 * _U,
        lost=(law.lost[0], max(law.lost)),
    )


def _tree(laws: list[Octaves]) -> list[Octaves]:
    """Add up laws in pairs of about the same size, until one remains (or none)."""
    while len(laws) > 1:
        pairs = [joined(*laws[i : i + 2]) for i in range(0, len(laws) - 1, 2)]
        laws = pairs + laws[2 * len(pairs) :]
    return laws


def _convex_bounds(weights: Doubles) -> list[tuple[Doubles, Indices, float]]:
    """Return weights, counts and a constant of a smaller sum, and of a larger one, in convex order.

    In the convex order a sum of ratios is Schur-convex in its weights: it grows where two weights
    of the same sum move apart. A run of weights is replaced by its mean m, or half of it by m + a
    and half by m - a, with no weight beyond these. The least weights are replaced by their sum,
    without a ratio, or by as many of the largest of them as have that sum.
    """
    descending = np.sort(weights)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]

    def runs(allowed: float) -> list[int]:
        """Cut the weights into runs of 2^j whose squares change by no more than `allowed`."""
        last = int(np.searchsorted(-descending * rest, -allowed))
        cuts = [0]
        while cuts[-1] < last:
            first = cuts[-1]
            size = 1
            while first + 2 * size <= last:
                low = descending[first + 2 * size - 1]
                gap = descending[first] - low
                if gap > low or 2 * size * gap * gap > allowed:
                    break
                size *= 2
            cuts.append(first + size)
        return cuts

    low, high = 1e-12, 1.0
    for _ in range(30):
        middle = float(np.sqrt(low * high))
        many = len(runs(middle * float(descending @ descending))) > _RUNS
        low, high = (middle, high) if many else (low, middle)
    cuts = np.array(runs(high * float(descending @ descending)))
    starts, sizes = cuts[:-1], np.diff(cuts)
    means = np.add.reduceat(descending[: cuts[-1]], starts) / sizes
    reach = np.maximum(descending[starts] - means, means - descending[cuts[1:] - 1])
    single = sizes == 1
    tail = float(descending[cuts[-1] :].sum())
    spread = [(means[single], sizes[single])]
    for sign in (-1.0, 1.0):
        spread.append(((means + sign * reach)[~single], sizes[~single] // 2))
    if tail > 0.0:
        top = float(descending[cuts[-1]])
        whole = int(tail / top)
        spread.append((np.array([top, tail - whole * top]), np.array([whole, 1])))
    values, counts = (np.concatenate(part) for part in zip(*spread, strict=True))
    used = (values > 0.0) & (counts > 0)
    return [(means, sizes, tail), (values[used], counts[used], 0.0)]
