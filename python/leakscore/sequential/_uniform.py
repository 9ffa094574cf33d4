"""Certified bounds of the error rates of the average ratio over the steps.

Two methods bound them, and the better ends are taken: `_octaves`, for rates down to 1e-12 and any
number of steps, and this one, which is narrower for few steps and rates that are not small.

The ratios LR_t of the steps are independent, and identically distributed under H0. So two laws are
enough: that of S = sum_t v_t LR_t under H0 and, since a likelihood ratio is a change of measure,
that of one step's ratio under H1. Round the scaled ratios of all steps but one down to multiples of
h, with sum L; S is between L + X and L + X + (T-1) h, X the last step's. L has a law on a lattice,
found by FFT, and the last step is exact: P(S <= c) is between the means of F(c - L - (T-1) h) and
of F(c - L), with the distribution function F of X under H0 (alpha) or H1 (beta).

Only L <= c matters, so the lattice ends at c. Many records make all ratios close to 1, so it starts
at a `low` below every LR_t, except with a probability of 1e-15: the sum is over v_t (LR_t - low),
and c - low is the threshold. The bounds are those of thresholds that differ by (T+1) h,
h = (c - low) / cells. They also include the rounding of all operations:

- An FFT of length N has a relative error in the 2-norm of at most 8 u log2(N) (u = 2^-53; Higham,
  Accuracy and Stability of Numerical Algorithms, theorem 24.2), so a convolution of two laws has an
  error in the 2-norm of that times the sum of both norms and the smaller one; errors of the factors
  pass through unchanged (Young's inequality). The error of a mean of F over L is then at most the
  product of that error and the 2-norm of F.
  - Distribution functions are assumed to err by 1e-13, once a step, and by their change over some
    ulps of the logarithm of a ratio.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.distributions import ncx2
from leakscore.numeric import by_squaring
from leakscore.sequential._hidden import probabilities
from leakscore.sequential._octaves import Ratio, average, rates
from leakscore.sequential._rates import error_rates, require_reach
from leakscore.typing import Doubles, Indices

_U = 2.0**-53
_LAW = 1e-13
_CELLS, _LEAST_CELLS, _MOST_CELLS = 2**14, 2**16, 2**20
_ALL_CELLS = 2**22
_BELOW = 1e-15
_ULPS = 8.0 * _U
# Steps, distinct weights and rates up to, or from which the even lattice is the narrower one.
_SHORT, _FEW, _RARE = 1000, 64, 1e-8


class Interval(NamedTuple):
    """Certified ends of a number, or of each of an array.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.sequential.Interval(0.1, 0.2).upper
    0.2
    """

    lower: Doubles | float
    upper: Doubles | float


class ErrorBrackets(NamedTuple):
    """Certified ends of both error rates; `uniform_error_rates` makes it.

    Examples
    --------
    >>> import leakscore
    >>> alpha, beta = leakscore.sequential.uniform_error_rates(99.0, 9.0, 10, 1, num_steps=5)
    >>> print(alpha.upper, beta.lower)
    0.0 1.0
    """

    alpha: Interval
    beta: Interval


def uniform_error_rates(
    threshold: npt.ArrayLike,
    squared_mahalanobis: float,
    n: int,
    dim: int,
    num_steps: int,
    prior: npt.ArrayLike | None = None,
) -> ErrorBrackets:
    """Error rates of `semi_uniform`, for a target in one of the steps by a prior: certified bounds.

    The test says member if `semi_uniform` of the steps' ratios, with the same prior, is above the
    threshold. The target's step is drawn from that prior.

    Parameters
    ----------
    threshold : array_like
        Thresholds gamma on the log-likelihood ratio; -inf and inf are legal, NaN gives NaN.
        Thresholds within log 2 of each other share the work.
    squared_mahalanobis : float
        M = (z - mean)' C^-1 (z - mean) of the target, at least 0.
    n : int
        Number of records in every batch, at least 2.
    dim : int
        Number of coordinates d, at least 1.
    num_steps : int
        Number of steps T, at least 1.
    prior : (T,) array_like, optional
        Probability that the target is in each step, at least 0, of sum 1. None: all the same.

    Returns
    -------
    alpha, beta : Interval
        Named pairs ``(lower, upper)`` of the shape of `threshold`, type I and type II error:
        certified ends, for any prior. For equal probabilities and rates down to 1e-12 they differ
        by a factor of at most 1.5 up to 20,000 steps and 1.8 at 100,000, mostly by far less, and
        absolutely by some 1e-4 for a few steps. Of more than 64 different probabilities similar
        ones are bounded together. They are equal where only one step has a probability above 0.

    Raises
    ------
    ValueError
        If an argument is out of range, one other than `threshold` is NaN, or `prior` is not a
        distribution over T steps.

    Notes
    -----
    The paper has the test but no law for it. The largest log-likelihood ratio is that of one step,
    (M - d log(1 - 1/n)) / 2: at thresholds from this value on alpha is 0 and beta 1.

    The bounds hold for any `n`; rounded densities and sums are moved outwards, which matters from
    some 10^9 records on: 2.4 between the ends at 10^10 records, 10^5 steps and 10^-12.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, theorem 3.10.

    Examples
    --------
    >>> import leakscore
    >>> alpha, beta = leakscore.sequential.uniform_error_rates(0.5, 9.0, 10, 1, num_steps=5)
    >>> print(f"{alpha.lower:.5f} {alpha.upper:.5f} {beta.lower:.3f} {beta.upper:.3f}")
    0.10115 0.10119 0.788 0.788
    """
    gamma = validation.interval("threshold", threshold, nan=True)
    distance = validation.scalar("squared_mahalanobis", squared_mahalanobis, 0.0)
    n = validation.count("n", n, 2, why=validation.ONE)
    step = Ratio(distance, n, validation.count("dim", dim, 1))
    weights = probabilities("prior", prior, validation.steps("num_steps", num_steps))
    require_reach(np.asarray(distance), np.asarray(float(n)))
    weights = weights[weights > 0.0]
    if weights.size == 1:
        alpha, beta = error_rates(gamma, distance, n, step.dim)
        return ErrorBrackets(Interval(alpha, alpha), Interval(beta, beta))
    ends = np.full((4, gamma.size), np.nan)
    flat = gamma.ravel()
    ends[:, flat == -np.inf] = np.array([[1.0], [1.0], [0.0], [0.0]])
    ends[:, flat >= step.largest] = np.array([[0.0], [0.0], [1.0], [1.0]])
    between = (flat > -np.inf) & (flat < step.largest)
    if between.any():
        ends[:, between] = _bounds(step, weights, flat[between])
    bounds = [end.reshape(gamma.shape)[()] for end in ends]
    return ErrorBrackets(Interval(*bounds[:2]), Interval(*bounds[2:]))


def _bounds(step: Ratio, weights: Doubles, gamma: Doubles) -> Doubles:
    """Return the ends of alpha and of beta, (4, k), by both methods.

    The even lattice is used only where it can narrow the bounds.
    """
    ends = np.repeat([[0.0], [1.0], [0.0], [1.0]], gamma.size, axis=1)
    curves = average(step, weights)
    values, counts = np.unique(weights, return_counts=True)
    improvable = np.full(gamma.size, True)
    if curves is not None:
        ends = rates(*curves, gamma)
        short = weights.size <= _SHORT and values.size <= _FEW
        improvable &= short and (np.minimum(ends[1], ends[3]) > _RARE)
    indices = np.flatnonzero(improvable)
    for shared in _groups_by_lattice(gamma[improvable], step):
        place = indices[shared]
        other = _Lattice(step, values, counts, gamma[place].max()).ends(gamma[place])
        ends[0::2, place] = np.maximum(ends[0::2, place], other[0::2])
        ends[1::2, place] = np.minimum(ends[1::2, place], other[1::2])
    return np.asarray(ends + 0.0)  # no -0.0


def _groups_by_lattice(gamma: Doubles, step: Ratio) -> Iterator[Indices]:
    """Yield the indices of thresholds in one lattice's upper half, the largest first."""
    remaining = np.argsort(-gamma)
    while remaining.size:
        top = gamma[remaining[0]]
        near = np.exp(gamma[remaining] - top) >= 0.5 * (1.0 + _start_share(step, top))
        yield remaining[near]
        remaining = remaining[~near]


def _start_share(step: Ratio, top: float) -> float:
    """Return the start of the lattice that ends at exp(top), as a share of its end.

    A ratio below it is improbable under H1, too, whose law is the ratio (< 1) times that of H0.
    """
    furthest = ncx2.isf(_BELOW, step.dim, step.n * step.distance)
    least = float(step.log(np.asarray(furthest)))
    start = float(np.exp(min(least - top, 0.0)))
    return start if start < 1.0 - 1e-6 else 0.0  # cells are far above the rounding of 1


class _Sum(NamedTuple):
    """The law of a sum on the lattice, and a bound on the 2-norm of its error."""

    masses: Doubles
    error: float

    def plus(self, other: _Sum) -> _Sum:
        cells = self.masses.size
        size = 1 << (2 * cells - 2).bit_length()
        spectrum = np.fft.rfft(self.masses, size)
        spectrum *= spectrum if other is self else np.fft.rfft(other.masses, size)
        masses = np.maximum(np.fft.irfft(spectrum, size)[:cells], 0.0)
        norms = [float(np.sqrt(np.square(law.masses).sum())) for law in (self, other)]
        error = 8.0 * _U * np.log2(size) * (sum(norms) + min(norms))
        return _Sum(masses, error + self.error + other.error)


class _Lattice:
    """Multiples k h of a cell, 0 <= k <= cells, up to the largest of some thresholds."""

    def __init__(self, step: Ratio, weights: Doubles, counts: Indices, top: float) -> None:
        self.weights, self.counts, self.steps = weights, counts, int(counts.sum())
        fine = min(_CELLS * self.steps, _MOST_CELLS, _ALL_CELLS // weights.size)
        cells = max(_LEAST_CELLS, 1 << fine.bit_length() - 1) - 2  # for a FFT of twice as many
        self.top, self.low = top, _start_share(step, top)
        self.cell = (1.0 - self.low) / cells
        self.laws, self.slack = [], 0.0
        for weight in weights:
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                logs = np.log(self.low + np.arange(cells + 2.0) * (self.cell / weight)) + top
                widths = np.fmax(np.diff(logs), 1e-300)
                self.laws.append(step.at_most(logs))
                slope = max(float((np.diff(law) / widths).max()) for law in self.laws[-1])
            ulps = _ULPS * (1.0 + abs(step.largest) + abs(top))
            self.slack = max(self.slack, _LAW + _BELOW + ulps * slope)

    def ends(self, gamma: Doubles) -> Doubles:
        """Return the ends of alpha and of beta at every threshold, (4, k)."""
        low, high = self.places(gamma)
        ends = np.zeros((4, gamma.size))
        slack = self.steps * self.slack
        rests = self._all_but_one()
        shares = self.weights * self.counts
        for share, (_, under_h1), rest in zip(shares, self.laws, rests, strict=True):
            ends[2] += share * _means(rest, under_h1, low, -slack)
            ends[3] += share * _means(rest, under_h1, high, slack)
        ends[0] = 1.0 - _means(rests[-1], self.laws[-1][0], high, slack)
        ends[1] = 1.0 - _means(rests[-1], self.laws[-1][0], low, -slack)
        return np.clip(ends, 0.0, 1.0)

    def places(self, gamma: Doubles) -> tuple[Indices, Indices]:
        """Return the points c and c' of the lattice with P(L + X <= c) <= P(S <= e^gamma).

        The latter is at most P(L + X <= c'). c' is at least the threshold, and c is at least T - 1
        cells below it. Both include the possible error of a threshold's place: five units of 1, in
        cells (d e^-d u for e^-d, with d = top - gamma; exp; a difference, a quotient, a sum).
        """
        place = (np.exp(gamma - self.top) - self.low) / self.cell
        rounding = _ULPS / self.cell
        low = np.maximum(np.floor(place - rounding).astype(int) - (self.steps - 1), -1)
        high = np.maximum(np.ceil(place + rounding).astype(int), 0)
        return low, high

    def _all_but_one(self) -> list[_Sum]:
        """Return the law of the sum of all steps but one of each weight."""
        ones = [_Sum(np.maximum(np.diff(under_h0), 0.0), 0.0) for under_h0, _ in self.laws]
        fewer = [
            by_squaring(law, count - 1, _Sum.plus) if count > 1 else None
            for law, count in zip(ones, self.counts.tolist(), strict=True)
        ]
        alike = [_plus(law, rest) for law, rest in zip(ones, fewer, strict=True)]
        before, after = _running(alike[:-1]), _running(alike[:0:-1])[::-1]
        rests = [
            _plus(_plus(first, alike_less_one), second)
            for first, alike_less_one, second in zip(before, fewer, after, strict=True)
        ]
        return [rest for rest in rests if rest is not None]


def _plus(first: _Sum | None, second: _Sum | None) -> _Sum | None:
    """Return the law of the sum; None is the law of 0."""
    if first is None or second is None:
        return first or second
    return first.plus(second)


def _running(laws: list[_Sum | None]) -> list[_Sum | None]:
    """Return the laws of the sums of the first none, one, two, ..."""
    sums: list[_Sum | None] = [None]
    for law in laws:
        sums.append(_plus(sums[-1], law))
    return sums


def _means(rest: _Sum, law: Doubles, places: Indices, slack: float) -> Doubles:
    """Return bounds on P(L + X <= c), c at these places, on the side of the slack's sign."""
    result = np.empty(places.size)
    norms = np.sqrt(np.cumsum(law**2))
    for i, place in enumerate(places.tolist()):  # one sum of up to 2^20 products each
        masses = rest.masses[: place + 1]
        shares = law[: place + 1][::-1][: masses.size]
        error = np.copysign(rest.error * norms[place], slack)
        result[i] = masses @ shares + error + slack if place >= 0 else 0.0
    return np.clip(result, 0.0, 1.0)
