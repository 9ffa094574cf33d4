"""Trade-off curves that one training with many canaries refutes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.audit.claims import AllRefutedError
from leakscore.audit.claims import Family as Curves
from leakscore.audit.results import CLAIM, FAMILY, ONE_RUN, Assuming, Bound
from leakscore.audit.training import Guesses, guesses_of, refuse_both
from leakscore.numeric import bisect, crossed
from leakscore.tradeoff import GaussianTradeOff, TradeOff, gaussian
from leakscore.tradeoff.premise import premise_in, settled
from leakscore.typing import Doubles

Family = Callable[[float], TradeOff]
Sizes = int | Sequence[int] | None

_LEAST_LEVEL = -690.0  # of a p-value, as a logarithm
_CLOSE_LEVEL, _CLOSE_PARAMETER = 2.0**-30, 2.0**-44


_LINES = 256  # to begin with
_ROUNDS = 200
_STEP = 2.0**-14  # of the slopes
_SHIFT = 1.0 - 1e-9  # to the left of the next pass's points, all roundings included
_SAFE = 1.0 - 1e-12  # more than the error of any curve
_SAFE_SLOPE = 1.0 - 2.0**-16  # that error over the step


@dataclass(frozen=True, eq=False)
class OneRunTest(Assuming):
    """Whether one training refutes a trade-off curve; see `one_run_fdp`.

    Attributes
    ----------
    refuted : bool
        Whether the training is not f-DP, at this confidence. False is no evidence for f-DP.
    p_value : float
        The least 1 - confidence at which the curve is refuted, rounded up, corrected for the grid;
        at most 1.
    tradeoff : TradeOff
        The curve f.
    canaries : int
        Their number m.
    k_plus, k_minus : int
        How many were guessed in and out; for a grid, the pair with the least p-value.
    correct : int
        How many of these guesses are right.
    confidence : float
        As given.
    neighbours : {"replace", "add-remove"} or None
        What was in the training in place of a canary that was out: as stated, or what the curve is
        about, if it says.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold; what the curve takes for granted.

    Examples
    --------
    >>> from leakscore.audit import one_run_fdp
    >>> from leakscore.tradeoff import gaussian
    >>> test = one_run_fdp(range(100), [False] * 50 + [True] * 50, 20, 0, gaussian(0.5))
    >>> test.refuted, round(test.p_value, 5), test.to_dict()["tradeoff"]
    (True, 0.00451, 'gaussian(mu=0.5)')
    """

    refuted: bool
    p_value: float
    tradeoff: TradeOff
    canaries: int
    k_plus: int
    k_minus: int
    correct: int
    confidence: float
    neighbours: str | None


@dataclass(frozen=True, eq=False)
class OneRunFamilyBound(Bound):
    """The largest parameter of a family of curves that one training refutes; see `one_run_fdp`.

    As a number it is `parameter`: ``float``, ``<`` and ``>=`` take it so.
    ``round(bound, 2)`` and ``f"{bound:.2f}"`` round down, since more would not be
    certified.

    Attributes
    ----------
    parameter : float
        The training is not f-DP for the curve of any smaller parameter, at this confidence; 0 if
        none is refuted.
    tradeoff : TradeOff or None
        The curve of this parameter, or None at 0. Its epsilon is a lower bound only if the curve of
        the training is one of the family; for another training, such as one with Laplace noise and
        the Gaussian family, it means nothing.
    max_certifiable : float
        The parameter if all guesses were right; inf if they then refuted every curve of the family.
    canaries : int
        Their number m.
    k_plus, k_minus : int
        How many were guessed in and out; for a grid, the pair with the largest parameter.
    correct : int
        How many of these guesses are right.
    confidence : float
        As given.
    neighbours : {"replace", "add-remove"} or None
        What was in the training in place of a canary that was out: as stated, or what the curve is
        about, if it says.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold; what the curve takes for granted.

    Examples
    --------
    >>> from leakscore.audit import one_run_fdp
    >>> from leakscore.tradeoff import gaussian
    >>> bound = one_run_fdp(range(100), [False] * 50 + [True] * 50, 20, 0, gaussian)
    >>> round(float(bound), 4), bound.tradeoff.kind
    (0.8686, 'guarantee')
    """

    parameter: float
    tradeoff: TradeOff | None
    max_certifiable: float
    canaries: int
    k_plus: int
    k_minus: int
    correct: int
    confidence: float
    neighbours: str | None

    _number = "parameter"


@overload
def one_run_fdp(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    k_plus: Sizes = None,
    k_minus: Sizes = None,
    tradeoff: TradeOff = ...,
    confidence: float = 0.95,
    *,
    k: str | None = None,
    neighbours: str | None = None,
) -> OneRunTest: ...
@overload
def one_run_fdp(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    k_plus: Sizes = None,
    k_minus: Sizes = None,
    tradeoff: Family = ...,
    confidence: float = 0.95,
    *,
    k: str | None = None,
    neighbours: str | None = None,
) -> OneRunFamilyBound: ...
def one_run_fdp(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    k_plus: Sizes = None,
    k_minus: Sizes = None,
    tradeoff: TradeOff | Family | None = None,
    confidence: float = 0.95,
    *,
    k: str | None = None,
    neighbours: str | None = None,
) -> OneRunTest | OneRunFamilyBound:
    """Refute a trade-off curve, or a family of them up to a parameter, by one training.

    The canaries and the guesses are those of `one_run`, but the claim is a whole curve, which is
    more than an (epsilon, delta) pair.

    Parameters
    ----------
    scores, included : array_like, shape (m,)
        As of `one_run`.
    k_plus, k_minus : int or sequence of int
        As of `one_run`: fixed before the scores are seen; sequences are a grid of pairs.
    k : {"all"}, optional
        Nothing is to be chosen: a preset grid of pairs, from both ends, from the highest and from
        the lowest scores, each with 8, 16, 32, ... guesses and as many as there can be, at an equal
        share of 1 - confidence.
    tradeoff : TradeOff or callable
        A convex curve f of shape (), of "out" against "in"; or a function of one positive number
        that makes such curves, which leak more the larger it is, such as `tradeoff.gaussian`.
    confidence : float
        Probability, in (0, 1), with which a true claim is not refuted.
    neighbours : {"replace", "add-remove"}, optional
        What was in the training in place of a canary that was out: another record, or none. It must
        be the claim's relation, `TradeOff.neighbours`; without it that relation is recorded.

    Returns
    -------
    OneRunTest
        For a curve: whether it is refuted, and the least level at which it is refuted.
    OneRunFamilyBound
        For a function: the largest parameter whose curve is refuted, within 1e-12 (relative) and
        never too large; 0 if it is below 1e-9.

    Raises
    ------
    ValueError
        If a number is outside its range, lengths differ, ``scores`` is empty or holds NaN,
        `included` anything but True/False or 1/0, or a curve has another shape than () or is about
        other `neighbours`.
    TypeError
        If an argument has the wrong type, or the function makes no `TradeOff`.
    RuntimeError
        If the curves of all parameters are refuted.

    Notes
    -----
    With p_j the probability that j of the g guesses are right, r_i the sum of p_j j / m and h_i of
    p_j (g - j) / m over j >= i, f-DP requires ``h_i >= s(r_(i+1))``, s the inverse of 1 - f. If
    P(at least v right) is 1 - confidence, this bounds every r_i and h_i from below, i from v - 1
    down to 0; f is refuted if the bound on ``r_0 + h_0`` is above g / m. For ``gaussian(mu)``, s(r)
    is ``norm.cdf(norm.ppf(r) - mu)``.

    If only inclusions, or only exclusions, are guessed, the same holds with m / 2 in place of m,
    which refutes more. With E the event that a canary is guessed in and j others are right,
    ``P(E and in) = P(E | in) / 2`` and ``P(E and out) = P(E | out) / 2``, so f-DP, averaged over
    the canaries, requires ``2 h_j >= s(2 r_(j+1))``.

    An inclusion guessed right is a true positive of f, an exclusion guessed right one of its
    inverse: if only inclusions (exclusions) are guessed, f (its inverse) is the curve in question,
    otherwise the lower convex hull of both, since the inequality is an average over the canaries
    and both curves are above the hull. A curve that is known within bounds is refuted if the lower
    curve is. Curves that are not Gaussian are replaced by lines below s, which are drawn again
    through the points at which s was evaluated until these points stay: every step is on the safe
    side. Their p-values have an absolute error of about 1e-15 m / correct.

    With ``k="all"`` the shares are added up: the recursion bounds one count of right guesses, and
    no law that dominates all of them at once, such as that of `one_run`, is known for a curve.

    Parameters of families are statements about the family: a bound on mu refutes "mu-GDP", but the
    epsilon of that mu is no bound for a mechanism that is not Gaussian.

    References
    ----------
    S. Mahloujifar, L. Melis and K. Chaudhuri, "Auditing f-differential privacy in one run" (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.audit import one_run_fdp
    >>> from leakscore.tradeoff import gaussian, laplace
    >>> rng = np.random.default_rng(0)
    >>> included = rng.random(2000) < 0.5
    >>> scores = rng.normal(1.5 * included)
    >>> bound = one_run_fdp(scores, included, 100, 100, gaussian)
    >>> round(float(bound), 2), round(bound.max_certifiable, 2)
    (1.11, 1.42)
    >>> one_run_fdp(scores, included, 100, 100, laplace(2.0)).refuted
    True
    >>> every = one_run_fdp(scores, included, tradeoff=gaussian, k="all")
    >>> round(float(every), 2), every.k_plus, every.k_minus
    (0.93, 0, 256)
    """
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    if not isinstance(tradeoff, TradeOff) and not callable(tradeoff):
        raise TypeError(f"tradeoff={tradeoff!r} must be a TradeOff or a function of one")
    refuse_both(k_plus, k_minus, k)
    if k is None and (k_plus is None or k_minus is None):
        raise TypeError(f"{k_plus=} and {k_minus=} must both be given, or k='all'")
    grid = guesses_of(scores, included, k_plus, k_minus)
    miss = 1.0 - level
    if isinstance(tradeoff, TradeOff):
        relation = settled(premise_in(tradeoff), neighbours, tradeoff)
        levels = [_p_value(Contradiction(tradeoff, guesses)) for guesses in grid]
        best = min(range(len(grid)), key=levels.__getitem__)
        p_value = min(1.0, len(grid) * levels[best])
        return OneRunTest(
            refuted=p_value < miss,
            p_value=p_value,
            tradeoff=tradeoff,
            **vars(grid[best]),
            confidence=level,
            neighbours=relation,
            assumptions=(*ONE_RUN, CLAIM, *tradeoff.assumptions),
        )
    family, share = Curves(tradeoff, neighbours), miss / len(grid)
    parameters = [_parameter(family, guesses, share) for guesses in grid]
    best = max(range(len(grid)), key=parameters.__getitem__)
    parameter = parameters[best]
    cap = max(_cap(family, guesses.perfect(), share) for guesses in grid)
    about = family.about(1.0)
    return OneRunFamilyBound(
        parameter=parameter,
        tradeoff=family(parameter) if parameter > 0.0 else None,
        max_certifiable=cap,
        **vars(grid[best]),
        confidence=level,
        neighbours=about.neighbours,
        assumptions=(*ONE_RUN, CLAIM, FAMILY, *about.assumptions),
    )


def _p_value(contradicted: Contradiction) -> float:
    """Return the least level at which the curve is refuted, from above."""
    low, high = _LEAST_LEVEL, 0.0
    if not contradicted(1.0):
        return 1.0
    _, high = bisect(
        lambda level: not contradicted(math.exp(level)),
        low,
        high,
        close=lambda low, high: high - low <= _CLOSE_LEVEL,
    )
    return math.exp(high)


def _parameter(family: Curves, guesses: Guesses, level: float) -> float:
    """Return the largest refuted parameter, from below; 0 if there is none."""

    def refuted(curve: TradeOff) -> bool:
        return Contradiction(curve, guesses)(level)

    low, high = family.bracket(refuted, 0.0, math.inf)
    if low == high:
        return low
    if family.is_of(gaussian):  # without a curve each time, which takes longer than the answer
        of_mu = Contradiction(gaussian(high), guesses)
        return crossed(lambda mu: of_mu.excess(mu, level), low, high, _CLOSE_PARAMETER)[0]
    return bisect(
        lambda parameter: refuted(family(parameter)),
        low,
        high,
        close=lambda low, high: high - low <= _CLOSE_PARAMETER * high,
    )[0]


def _cap(family: Curves, guesses: Guesses, level: float) -> float:
    """Return the largest refuted parameter; inf if the guesses refute all."""
    try:
        return _parameter(family, guesses, level)
    except AllRefutedError:
        return math.inf


class Contradiction:
    """Whether P(at least as many right guesses) = level contradicts a curve."""

    def __init__(self, curve: TradeOff, guesses: Guesses) -> None:
        if curve.shape:
            raise ValueError(f"A tradeoff of shape {curve.shape} must be of shape ()")
        # Theorem and proof in one_run_curve.hpp: guesses of one kind halve the number of canaries.
        self._counts = guesses.exposed, guesses.total, guesses.correct
        self._mu = float(curve.mu) if isinstance(curve, GaussianTradeOff) else None
        if self._mu is not None or guesses.k_plus == 0:
            self._inverse = curve  # of the curve's inverse
        elif guesses.k_minus == 0:
            self._inverse = curve.inverse()
        else:
            self._inverse = curve.symmetrized()

    def __call__(self, level: float) -> bool:
        if self._mu is not None:
            return self.excess(self._mu, level) > 0.0
        m, total, correct = self._counts
        if correct == 0:
            return False
        # Lines through points of s from below; then also through the points that a pass evaluates.
        first, last = level * correct / m * (1.0 - 1e-14), total / m
        at = start = np.geomspace(min(first, 1.0), min(last, 1.0), _LINES)
        before = np.zeros(1)
        for _ in range(_ROUNDS):
            contradicted, evaluated = _core.one_run_lines_contradiction(
                *self._counts, level, *self.lines(at)
            )
            if contradicted:
                return True
            if not _grows(evaluated, before):
                return False
            before, at = evaluated, np.sort(np.concatenate([start, evaluated * _SHIFT]))
        raise RuntimeError("The search for a contradiction did not end")

    def excess(self, mu: float, level: float) -> float:
        """Return by how much N(0, 1) against N(mu, 1) is contradicted: falling in mu."""
        return _core.one_run_gaussian_excess(*self._counts, level, mu)

    def lines(self, right: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Return arguments of s just below these, s and its slope from the left, from below."""
        beta, before = _misses(right), _misses(right * (1.0 - _STEP))
        value, less = np.asarray(self._inverse(beta)), np.asarray(self._inverse(before))
        width = before - beta  # exact, and so is 1 - beta, unlike 1 - right
        rise = np.divide(value - less, width, out=np.zeros_like(right), where=width > 0.0)
        return 1.0 - beta, value * _SAFE, np.maximum(rise, 0.0) * _SAFE_SLOPE


def _misses(right: Doubles) -> Doubles:
    """Return 1 - right, rounded up: s(right) is the least alpha with at most this beta."""
    return np.minimum(np.nextafter(1.0 - right, 2.0), 1.0)


def _grows(values: Doubles, before: Doubles) -> bool:
    """Whether the values of a pass are above the previous ones, anywhere or at the end."""
    both = min(values.size, before.size)
    larger = values[:both] > before[:both] * (1.0 + 1e-12)
    return bool(larger.any()) or bool(values[-1] > before[-1] * (1.0 + 1e-12))
