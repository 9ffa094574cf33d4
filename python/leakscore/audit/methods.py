"""The methods of `Audit.epsilon`, with tests at every threshold or at one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from leakscore import _core, validation
from leakscore.audit.bands import BAND_METHODS, Band, band, beta_bounds, indexes
from leakscore.audit.results import DELTA, ORDER, PRIOR, ROUNDS, ROUNDS_OF_COINS, THRESHOLD
from leakscore.audit.scores import (
    MAX_ROUNDS,
    ClassScores,
    RankedBits,
    Samples,
    ScoreHistogram,
    single,
)
from leakscore.distributions import clopper_pearson
from leakscore.numeric import sign_change
from leakscore.typing import Array, Counts, Doubles, Flags

MOST_OUTCOMES = 20_000  # most rounds of "four-outcomes": three seconds
MAX_EXPOSED = 0.1  # rounds times delta: with more, exposed rounds use up the confidence

_STEPS = 20  # values of epsilon per unit that are tested: 0.05, 0.1, ...
_CHUNK = 32  # of them are calibrated together

_ULP = float(np.finfo(np.float64).eps)
_BEYOND = 1e-19  # posterior mass beyond the range of integration, at either end
_PANELS = 16
_NODES = 20


@dataclass(eq=False, slots=True)  # frozen ones take a tenth of the time of an audit
class Proof:
    """Bounds on epsilon, one for each delta, and the tests that prove them.

    Attributes
    ----------
    forward : ndarray of bool
        Whether the bound follows from ``tpr <= e^epsilon fpr + delta``.
    counted : tuple of int
        Non-members and members among which errors were counted.
    flags_low : ndarray of bool
        Whether the test flags ``score < threshold``.
    """

    epsilon: Doubles
    threshold: Doubles
    forward: Flags
    false_positives: Counts
    false_negatives: Counts
    fpr_upper: Doubles
    fnr_upper: Doubles
    max_certifiable: Doubles
    flags_low: Flags
    algorithm: str
    counted: tuple[int, int]


_COMMON = ("algorithm", "counted")  # to all deltas


class EpsilonMethod:
    """Base class of the methods, which prove bounds by tests that flag high or low scores."""

    name: str

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true, beyond the scores, for the bound to hold."""
        return ROUNDS

    def _certify(self, samples: Samples, deltas: Doubles, confidence: float, both: bool) -> Proof:
        """Prove a bound for each delta; two orientations share 1 - confidence equally."""
        self._require(samples, deltas)
        miss = (1.0 - confidence) / (2.0 if both else 1.0)
        high = self._one_way(samples, deltas, miss, low=False)
        if not both:
            return high
        low = self._one_way(samples, deltas, miss, low=True)
        better = low.epsilon > high.epsilon
        columns = [field.name for field in fields(Proof) if field.name not in _COMMON]
        return Proof(
            **{name: np.where(better, getattr(low, name), getattr(high, name)) for name in columns},
            algorithm=low.algorithm if better.all() else high.algorithm,
            counted=high.counted,
        )

    def _require(self, samples: Samples, deltas: Doubles) -> None:
        """Refuse samples or deltas outside the method's range, by their number and size only."""

    def _one_way(self, samples: Samples, deltas: Doubles, miss: float, *, low: bool) -> Proof:
        """Prove bounds by tests of one orientation with failure probability `miss`."""
        raise NotImplementedError


@dataclass(frozen=True)
class RateBands(EpsilonMethod):
    """Bounds on both error rates that hold at all thresholds at once; see `Audit.epsilon`.

    Parameters
    ----------
    name : str
        "weighted-ell", "ell", "berk-jones", "bonferroni", "ks", "dkw" or "dkw-two-sided".

    Raises
    ------
    ValueError
        If there is no such band.

    Examples
    --------
    >>> from leakscore.audit import Audit, RateBands
    >>> audit = Audit(range(1000, 2000), range(1000))
    >>> audit.epsilon(method=RateBands("dkw")) == audit.epsilon(method="dkw")
    True
    """

    name: str = "weighted-ell"

    def __post_init__(self) -> None:
        validation.choice("name", self.name, BAND_METHODS)

    def _one_way(self, samples: Samples, deltas: Doubles, miss: float, *, low: bool) -> Proof:
        """Bound both error rates, each with half of the miss.

        A test that flags low scores is the complement of one that flags high scores, with the
        classes swapped; the two inequalities of differential privacy are symmetric in this swap.
        """
        sizes = samples.n_nonmembers, samples.n_members
        bands = [band(self.name, n, 0.5 * miss) for n in sizes]
        classes = samples.swapped() if low else samples
        ahead, behind = bands[::-1] if low else bands
        value, threshold, forward, errors0, errors1, fpr, fnr, cap = classes.epsilon(
            ahead, behind, deltas
        )
        if low:
            threshold = samples.next_above(threshold)
            forward, errors0, errors1, fpr, fnr = ~forward, errors1, errors0, fnr, fpr
        return Proof(
            epsilon=value,
            threshold=threshold,
            forward=forward,
            false_positives=errors0,
            false_negatives=errors1,
            fpr_upper=fpr,
            fnr_upper=fnr,
            max_certifiable=cap,
            flags_low=np.full(deltas.shape, low),
            algorithm="; ".join(dict.fromkeys(each.algorithm for each in bands)),
            counted=sizes,
        )


class _CountMethod(EpsilonMethod):
    """Refutes epsilon = 0.05, 0.1, ... at one delta by counts of right guesses; bounds no rate."""

    most_rounds: int
    remedy: str

    def _require(self, samples: Samples, deltas: Doubles) -> None:
        """Refuse several deltas, too many rounds and too large a delta."""
        rounds, method = samples.n_members + samples.n_nonmembers, self.name
        if deltas.size != 1:
            raise ValueError(
                f"delta of shape {deltas.shape} must be one number for {method=}, whose "
                "bounds do not hold for several deltas at once; methods that bound error rates do"
            )
        if rounds > self.most_rounds:
            raise ValueError(
                f"rounds must be at most {self.most_rounds} for {method=}, not {rounds}; "
                f"{self.remedy}"
            )
        delta = deltas.item()
        if rounds * delta > MAX_EXPOSED * (1.0 + 1e-12):
            raise ValueError(
                f"delta={delta!r} must be <= {MAX_EXPOSED}/rounds = {MAX_EXPOSED / rounds:g} for "
                f"{method=}: with more it bounds little; use a method that bounds error rates"
            )

    def _proof(self, samples: Samples, words: str, **columns: float) -> Proof:
        """Return the proof for one delta."""
        return Proof(
            **{name: np.array([value]) for name, value in columns.items()},
            fpr_upper=np.ones(1),
            fnr_upper=np.ones(1),
            algorithm=f"exact crossing probability; {words}",
            counted=(samples.n_nonmembers, samples.n_members),
        )


@dataclass(frozen=True)
class SortedBits(_CountMethod):
    """Right guesses of bits that were fair coins; experimental, see `Audit.epsilon`.

    Notes
    -----
    docs/explanation/sorted-bits.md has the proof.

    Examples
    --------
    >>> from leakscore.audit import Audit, SortedBits
    >>> audit = Audit.from_rounds(range(40), [False] * 20 + [True] * 20, random_bits=True)
    >>> audit.epsilon(method=SortedBits()).epsilon
    1.55
    """

    name = "sorted-bits"
    most_rounds = MAX_ROUNDS
    remedy = "with so many, methods that bound error rates are as good"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of rounds whose memberships were coins."""
        return (*ROUNDS_OF_COINS, DELTA)

    def _require(self, samples: Samples, deltas: Doubles) -> None:
        """Refuse scores without random bits, too."""
        self._ranked(samples)
        super()._require(samples, deltas)

    def _one_way(self, samples: Samples, deltas: Doubles, miss: float, *, low: bool) -> Proof:
        """Count right guesses among the highest and the lowest scores, each with half the miss."""
        scores, bits = self._ranked(samples)
        n0, n1, sizes = scores.n_nonmembers, scores.n_members, bits.sizes
        key = (bits.rounds, deltas.item(), 0.5 * miss)
        inside, outside = bits.highest, bits.lowest
        ends = (sizes - inside, outside) if low else (inside, sizes - outside)
        best = _largest_refuted(key, sizes, *ends)
        most = _largest_refuted(key, sizes, np.minimum(sizes, n1), np.minimum(sizes, n0))
        forward = best.highest != low  # the guess is "member"
        wrong, missed = best.size - best.right, (n1 if forward else n0) - best.right
        return self._proof(
            samples,
            f"{best.right} right guesses of {best.size}, {best.critical} are critical",
            epsilon=best.steps / _STEPS,
            threshold=_threshold(scores, best, low),
            forward=forward,
            false_positives=wrong if forward else missed,
            false_negatives=missed if forward else wrong,
            max_certifiable=most.steps / _STEPS,
            flags_low=low,
        )

    def _ranked(self, samples: Samples) -> tuple[ClassScores, RankedBits]:
        if not isinstance(samples, ClassScores) or samples.ranked is None:
            raise ValueError(
                f"method={self.name!r} must have an audit from Audit.from_rounds(..., "
                "random_bits=True): it needs the random bit of each round; methods that bound "
                "error rates do not"
            )
        return samples, samples.ranked


class _Guesses(NamedTuple):
    """The largest refuted epsilon, and the right guesses among `size` extreme scores."""

    steps: int  # epsilon in units of 1 / _STEPS
    highest: bool  # the highest scores, not the lowest
    size: int
    right: int
    critical: int


def _largest_refuted(
    key: tuple[int, float, float], sizes: Counts, highest: Counts, lowest: Counts
) -> _Guesses:
    """Refute 0.05, 0.1, ... up to the first epsilon at which no count is critical.

    `highest` and `lowest` are the right guesses among the extreme scores of each size.
    """
    right = np.maximum(highest, lowest)
    steps = 0
    while True:
        refuted = (right >= _critical_counts(*key, steps // _CHUNK)).any(axis=1)
        if not refuted.all():
            steps += int(np.argmin(refuted))
            break
        steps += _CHUNK
    last = max(steps - 1, 0)
    critical = _critical_counts(*key, last // _CHUNK)[last % _CHUNK]
    # In units of the spread; sizes at which no count is critical come last.
    margin = np.where(critical <= sizes, (right - critical) / np.sqrt(sizes), -np.inf)
    j = int(np.argmax(margin))
    ahead = bool(highest[j] >= lowest[j])
    return _Guesses(steps, ahead, int(sizes[j]), int(right[j]), critical=int(critical[j]))


@lru_cache(maxsize=512)
def _critical_counts(rounds: int, delta: float, miss: float, chunk: int) -> Counts:
    """Return the critical counts, one row for each of _CHUNK values of epsilon."""
    epsilons = np.arange(chunk * _CHUNK + 1, (chunk + 1) * _CHUNK + 1) / _STEPS
    return _core.sorted_bits_critical(rounds, delta, miss, epsilons)


def _threshold(scores: ClassScores, best: _Guesses, low: bool) -> float:
    """Return the observed score, on the unflagged side, between the extreme scores and the others.

    A test flags ``score > threshold`` (``score < threshold`` if it flags low scores).
    """
    # The flagged scores are the extreme ones if that end is flagged, else all others.
    rank = best.size if best.highest != low else best.size - 1
    end = slice(-rank - 1, None) if best.highest else slice(rank + 1)
    merged = np.sort(np.concatenate([scores.members[end], scores.nonmembers[end]]))
    return float(merged[-rank - 1 if best.highest else rank]) + 0.0


@dataclass(frozen=True)
class FourOutcomes(_CountMethod):
    """Counts of members above every threshold, tested for both error rates; see `Audit.epsilon`.

    Notes
    -----
    docs/explanation/four-outcomes.md has the proof.

    Examples
    --------
    >>> from leakscore.audit import Audit, FourOutcomes
    >>> Audit(range(20, 40), range(20)).epsilon(method=FourOutcomes()).epsilon
    2.05
    """

    name = "four-outcomes"
    most_rounds = MOST_OUTCOMES
    remedy = "use a method that bounds error rates"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of rounds, and one delta."""
        return (*ROUNDS, DELTA)

    def _one_way(self, samples: Samples, deltas: Doubles, miss: float, *, low: bool) -> Proof:
        """Count members above every threshold; for low scores, non-members in their place."""
        n0, n1, points = samples.n_nonmembers, samples.n_members, samples.points()
        above0, above1 = points.nonmembers.counts, points.members.counts
        flagged, others, above = (n0, n1, above0) if low else (n1, n0, above1)
        sizes = np.ascontiguousarray(above0 + above1, dtype=np.int64)
        counts = np.ascontiguousarray(above, dtype=np.int64)
        law = (flagged, others, deltas.item(), miss)
        steps, place, critical = _core.four_outcomes_refuted(sizes, counts, *law, 1.0 / _STEPS)
        if place < 0:
            words = "nothing is refuted"
            place = int(np.argmax(counts * others - (sizes - counts) * flagged))
        else:
            kind = "non-members" if low else "members"
            words = f"{counts[place]} {kind} of the {sizes[place]} highest, {critical} critical"
        threshold: Array = points.thresholds[place : place + 1].astype(np.float64)
        false, missed = above0[place], n1 - above1[place]
        if low:
            threshold = samples.next_above(threshold)
            false, missed = n0 - above0[place], above1[place]
        return self._proof(
            samples,
            words,
            epsilon=steps / _STEPS,
            threshold=threshold.item() + 0.0,
            forward=(2 * sizes[place] <= n0 + n1) != low,
            false_positives=false,
            false_negatives=missed,
            max_certifiable=_separated(*law),
            flags_low=low,
        )


@lru_cache(maxsize=64)
def _separated(flagged: int, others: int, delta: float, miss: float) -> float:
    """Return the bound of perfectly separated scores, which have the largest counts."""
    sizes: Counts = np.arange(1, flagged + others, dtype=np.int64)
    counts = np.minimum(sizes, flagged)
    steps, _, _ = _core.four_outcomes_refuted(
        sizes, counts, flagged, others, delta, miss, 1.0 / _STEPS
    )
    return float(steps / _STEPS)


class ErrorCounts(NamedTuple):
    """Errors at one threshold, and the numbers of non-members and members."""

    false_positives: int
    n_nonmembers: int
    false_negatives: int
    n_members: int


class CertifiedEpsilon(NamedTuple):
    """The bound that counts prove."""

    epsilon: float
    fpr_upper: float
    fnr_upper: float


@dataclass(frozen=True)
class Split(EpsilonMethod):
    """Clopper-Pearson bounds at one threshold; see `Audit.epsilon`.

    Parameters
    ----------
    threshold : float, optional
        A threshold fixed before the scores were seen; all scores are counted at it. None: one half
        of the scores chooses the threshold, and the other half is counted.

    Raises
    ------
    ValueError
        If ``threshold`` is NaN.

    Examples
    --------
    >>> from leakscore.audit import Audit, Split
    >>> audit = Audit(range(1000, 2000), range(1000))
    >>> bound = audit.epsilon(method=Split(threshold=999.5))
    >>> bound == audit.epsilon(method="split", threshold=999.5), round(float(bound), 2)
    (True, 5.6)
    """

    threshold: float | None = None

    name = "split"
    algorithm = "closed form"

    def __post_init__(self) -> None:
        if self.threshold is not None:
            place = validation.scalar("threshold", self.threshold)
            object.__setattr__(self, "threshold", place)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of rounds, and of the choice of the threshold."""
        return (*ROUNDS, ORDER if self.threshold is None else THRESHOLD)

    def _certify(self, samples: Samples, deltas: Doubles, confidence: float, both: bool) -> Proof:
        """Let the even half of the scores choose tests, and count the odd half's errors.

        The choice may depend on delta and includes the orientation: it is made on other scores.
        """
        if self.threshold is not None:
            return super()._certify(samples, deltas, confidence, both)
        scores = single(samples, f"method={self.name!r} without a threshold")
        tests = _choices(*scores.half(odd=False), deltas, 1.0 - confidence, both=both)
        members, nonmembers = scores.half(odd=True)
        counted = [(*test, _errors(members, nonmembers, *test)) for test in tests]
        return self._proof(counted, (nonmembers.size, members.size), deltas, 1.0 - confidence)

    def _one_way(self, samples: Samples, deltas: Doubles, miss: float, *, low: bool) -> Proof:
        """Count all scores at the threshold."""
        test = (self.threshold or 0.0, low)
        if isinstance(samples, ScoreHistogram):
            counts = _binned_errors(samples, *test)
        else:
            counts = _errors(samples.members, samples.nonmembers, *test)
        sizes = (samples.n_nonmembers, samples.n_members)
        return self._proof([(*test, counts)] * deltas.size, sizes, deltas, miss)

    def _proof(
        self,
        counted: list[tuple[float, bool, ErrorCounts]],
        sizes: tuple[int, int],
        deltas: Doubles,
        miss: float,
    ) -> Proof:
        """Judge one test for each delta: its threshold, whether it flags low scores, its errors."""
        thresholds, lows, counts = zip(*counted, strict=True) if counted else ((), (), ())
        each = list(zip(counts, deltas.tolist(), strict=True))
        certificates = [self._judge(errors, delta, miss) for errors, delta in each]
        epsilon, fpr_upper, fnr_upper = np.reshape(certificates, (-1, 3)).T.copy()
        most = [
            self._judge(errors._replace(false_positives=0, false_negatives=0), delta, miss).epsilon
            for errors, delta in each
        ]
        return Proof(
            epsilon=epsilon,
            threshold=np.array(thresholds, dtype=np.float64),
            forward=fpr_upper <= fnr_upper,
            false_positives=np.array([errors.false_positives for errors in counts], dtype=np.int64),
            false_negatives=np.array([errors.false_negatives for errors in counts], dtype=np.int64),
            fpr_upper=fpr_upper,
            fnr_upper=fnr_upper,
            max_certifiable=np.array(most),
            flags_low=np.array(lows, dtype=np.bool_),
            algorithm=self.algorithm,
            counted=sizes,
        )

    def _judge(self, counts: ErrorCounts, delta: float, miss: float) -> CertifiedEpsilon:
        """Bound both rates by Clopper and Pearson, half of the miss each; round epsilon down.

        Epsilon is the log of (1 - delta - larger) / smaller of both upper bounds.
        """
        errors0, n0, errors1, n1 = counts
        if not n0 or not n1:
            return CertifiedEpsilon(0.0, 1.0, 1.0)  # a single score has no odd half
        bounds = [
            clopper_pearson(k, n, alpha=0.5 * miss) for k, n in ((errors0, n0), (errors1, n1))
        ]
        (low, _), (_, correct) = sorted(bounds)
        quotient = (correct - delta) / low
        epsilon = 0.0
        if quotient > 1.0:
            epsilon = max(0.0, float(np.log(quotient)) * (1.0 - 4.0 * _ULP) - 2.0 * _ULP)
        return CertifiedEpsilon(epsilon, float(bounds[0][0]), float(bounds[1][0]))


@dataclass(frozen=True)
class Credible(Split):
    """A credible bound at one threshold, and no confidence bound; see `Audit.epsilon`.

    Parameters
    ----------
    threshold : float, optional
        As of `Split`.

    Examples
    --------
    >>> from leakscore.audit import Audit, Credible
    >>> audit = Audit(range(1000, 2000), range(1000))
    >>> round(float(audit.epsilon(method=Credible(threshold=999.5))), 2)
    7.21
    """

    name = "credible"
    algorithm = "quadrature"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of `Split`, and the prior."""
        return (*super().assumptions, PRIOR)

    def _judge(self, counts: ErrorCounts, delta: float, miss: float) -> CertifiedEpsilon:
        """Find epsilon with posterior probability 1 - miss of a larger one, and bounds of rates.

        The marginal bounds of the rates are for the reader: epsilon does not use them.
        """
        from scipy.special import betainccinv

        errors0, n0, errors1, n1 = counts
        if not n0 or not n1:
            return CertifiedEpsilon(0.0, 1.0, 1.0)
        uppers = [
            float(betainccinv(k + 0.5, n - k + 0.5, 0.5 * miss))
            for k, n in ((errors0, n0), (errors1, n1))
        ]
        return CertifiedEpsilon(credible_epsilon(counts, delta, miss), *uppers)


def _choices(
    members: Array, nonmembers: Array, deltas: Doubles, miss: float, *, both: bool
) -> list[tuple[float, bool]]:
    """Choose for each delta the threshold and orientation with which these scores prove most.

    The threshold lies halfway between two scores.
    """
    best, choices = np.full(deltas.size, -1.0), [(0.0, False)] * deltas.size
    for low in (False, True) if both else (False,):
        inside, outside = (nonmembers, members) if low else (members, nonmembers)
        bands = _pointwise(outside.size, miss / 2.0), _pointwise(inside.size, miss / 2.0)
        value, below, *_ = _core.score_epsilon(
            outside, inside, deltas, bands[0].core, bands[1].core
        )
        for i in np.flatnonzero(value > best):
            best[i], choices[i] = value[i], (_middle(float(below[i]), inside, outside, low), low)
    return choices


@lru_cache(maxsize=8)
def _pointwise(n: int, miss: float) -> Band:
    """Return Clopper-Pearson bounds, each at level `miss`: valid at one threshold, not at all."""
    index = indexes(n)
    knots, values = np.append(index - 1, n), np.append(beta_bounds(index, n, miss)[0], 1.0)
    return Band("split", n, miss, "closed form", critical=miss, knots=knots, values=values)


def _middle(below: float, inside: Array, outside: Array, low: bool) -> float:
    """Return the middle between a score and the next one; if one is infinite, the other."""
    places = [np.searchsorted(x, x.dtype.type(below), side="right") for x in (inside, outside)]
    above = min(
        (float(x[at]) for x, at in zip((inside, outside), places, strict=True) if at < x.size),
        default=np.inf,
    )
    middle = 0.5 * below + 0.5 * above
    if low:  # score < threshold leaves the score below among the flagged
        return middle if below < middle < np.inf else above
    return middle if -np.inf < middle < above else below


def _errors(members: Array, nonmembers: Array, threshold: float, low: bool) -> ErrorCounts:
    """Count the errors of ``score > threshold``, or of ``score < threshold``."""
    below = [_count_below(x, threshold, strictly=low) for x in (nonmembers, members)]
    above = [nonmembers.size - below[0], members.size - below[1]]
    wrong = (below[0], above[1]) if low else (above[0], below[1])
    return ErrorCounts(wrong[0], nonmembers.size, wrong[1], members.size)


def _binned_errors(samples: ScoreHistogram, edge: float, low: bool) -> ErrorCounts:
    """Count the errors of ``score >= edge``, or of ``score < edge``."""
    n0, n1 = samples.n_nonmembers, samples.n_members
    above0, above1 = samples.above_edge("threshold", edge)
    wrong = (n0 - above0, above1) if low else (above0, n1 - above1)
    return ErrorCounts(wrong[0], n0, wrong[1], n1)


def _count_below(scores: Array, threshold: float, *, strictly: bool) -> int:
    """Count the scores below (or at) a threshold that their dtype may not represent."""
    with np.errstate(over="ignore"):
        cut = scores.dtype.type(threshold)
    if float(cut) == threshold:
        return int(np.searchsorted(scores, cut, side="left" if strictly else "right"))
    return int(np.searchsorted(scores, cut, side="right" if float(cut) < threshold else "left"))


@lru_cache(maxsize=256)
def credible_epsilon(counts: ErrorCounts, delta: float, miss: float) -> float:
    """Return epsilon with P(the rates are possible under (epsilon, delta)-DP) = miss.

    The rates have independent posteriors Beta(1/2 + errors, 1/2 + others) (Zanella-Beguelin et al.
    2023), and the probability grows with epsilon. Return 0 if it exceeds miss already at 0.
    """
    possible = _possible(counts, delta)
    miss = min(miss, 1.0 - 2.0**-40)  # the largest probability within reach of rounding

    def excess(epsilon: Doubles) -> Doubles:
        return np.array([math.log(max(possible(float(epsilon[0])), 1e-300)) - math.log(miss)])

    low, high = np.zeros(1), np.ones(1)
    if excess(low)[0] >= 0.0:
        return 0.0
    while excess(high)[0] < 0.0:
        low, high = high, 2.0 * high
    return float(sign_change(excess, low, high)[0])


def _possible(counts: ErrorCounts, delta: float) -> Callable[[float], float]:
    """Return P(L(x) <= y <= U(x)) as a function of epsilon, x the FPR and y the FNR.

    With x = sin(t)^2 the density is sin(t)^(2 k) cos(t)^(2 (n - k)), smooth and log-concave. Panels
    end where L or U enters the range of y that has mass, where L or U bends, and where it ends.
    Within a panel a cubic change of variable, flat at the ends, makes square roots there smooth.
    """
    from scipy.special import betaincc

    k0, n0, k1, n1 = counts
    x_edges = _edges(k0, n0)
    y_edges = np.sin(_edges(k1, n1)) ** 2
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    nodes, weights = 0.5 + 0.5 * nodes, 0.5 * weights
    share, slope = nodes * nodes * (3.0 - 2.0 * nodes), 6.0 * nodes * (1.0 - nodes) * weights

    def possible(epsilon: float) -> float:
        steep, flat = math.exp(min(epsilon, 700.0)), math.exp(-epsilon)

        def least(x: Doubles) -> Doubles:
            return np.maximum(0.0, np.maximum(1.0 - delta - steep * x, (1.0 - delta - x) * flat))

        def crossings(y: Doubles) -> Doubles:
            """Return where least(x) = y, on both sides of the bend of `least`, and the bend."""
            bend = (1.0 - delta) / (1.0 + steep)
            return np.concatenate([(1.0 - delta - y) * flat, 1.0 - delta - steep * y, [bend]])

        cuts = np.concatenate([crossings(y_edges), 1.0 - crossings(1.0 - y_edges)])
        cuts = np.arcsin(np.sqrt(np.clip(cuts, 0.0, 1.0)))
        inside = cuts[(cuts > x_edges[0]) & (cuts < x_edges[-1])]
        ends = np.unique(np.concatenate([x_edges, inside]))
        width = np.diff(ends)[:, np.newaxis]
        t = ends[:-1, np.newaxis] + width * share
        logs = _log_density(t, k0, n0)
        density = np.exp(logs - logs.max()) * width * slope
        x, rest = np.sin(t) ** 2, np.cos(t) ** 2
        a, b = k1 + 0.5, n1 - k1 + 0.5
        between = betaincc(a, b, least(x)) - betaincc(a, b, 1.0 - least(rest))
        return float((density * np.maximum(between, 0.0)).sum() / density.sum())

    return possible


def _log_density(t: Doubles | float, errors: int, n: int) -> Doubles:
    """Return the log density of t, where the rate is sin(t)^2, up to a constant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first = 2.0 * errors * np.log(np.sin(t)) if errors else 0.0
        last = 2.0 * (n - errors) * np.log(np.cos(t)) if n > errors else 0.0
    return np.asarray(first + last)


def _edges(errors: int, n: int) -> Doubles:
    """Return panel edges over the part of [0, pi/2] that has the posterior mass."""
    from scipy.special import betaincinv

    low = betaincinv(errors + 0.5, n - errors + 0.5, _BEYOND)
    rest = betaincinv(n - errors + 0.5, errors + 0.5, _BEYOND)
    ends = math.asin(math.sqrt(low)), math.acos(math.sqrt(rest))
    return np.linspace(*ends, _PANELS + 1)
