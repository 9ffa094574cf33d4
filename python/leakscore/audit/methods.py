"""What the methods of `Audit.epsilon` share, and those that look at every threshold."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from leakscore import _core, validation
from leakscore.audit.bands import BAND_METHODS, band
from leakscore.audit.results import DELTA, ROUNDS, ROUNDS_OF_COINS
from leakscore.audit.scores import MAX_ROUNDS, ClassScores, RankedBits, Samples
from leakscore.typing import Array, Counts, Doubles, Flags

MOST_OUTCOMES = 20_000  # rounds of "four-outcomes": three seconds
MAX_EXPOSED = 0.1  # rounds times delta: with more, exposed rounds use up the confidence

_STEPS = 20  # values of epsilon per unit that are tested: 0.05, 0.1, ...
_CHUNK = 32  # of them are calibrated together


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
    """Base of the methods: each proves bounds for tests that flag high scores, or low ones."""

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
        """Refuse scores or deltas that the method is not for; only their numbers decide."""

    def _one_way(self, samples: Samples, deltas: Doubles, miss: float, *, low: bool) -> Proof:
        """Prove a bound for each delta by tests of one orientation, which fail with this miss."""
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


class _Refuter(EpsilonMethod):
    """Refutes 0.05, 0.1, ... in turn, of one delta, by counts of right guesses; bounds no rate."""

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
class SortedBits(_Refuter):
    """How well the scores guess bits that were fair coins; experimental, see `Audit.epsilon`.

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
        best = _most_refuted(key, sizes, *ends)
        most = _most_refuted(key, sizes, np.minimum(sizes, n1), np.minimum(sizes, n0))
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
    """The largest epsilon refuted and where: right guesses among `size` extreme scores."""

    steps: int  # epsilon in units of 1 / _STEPS
    highest: bool  # the highest scores, not the lowest
    size: int
    right: int
    critical: int


def _most_refuted(
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
    """One row for each of _CHUNK values of epsilon."""
    epsilons = np.arange(chunk * _CHUNK + 1, (chunk + 1) * _CHUNK + 1) / _STEPS
    return _core.sorted_bits_critical(rounds, delta, miss, epsilons)


def _threshold(scores: ClassScores, best: _Guesses, low: bool) -> float:
    """Between the extreme scores and the others: an observed score on the unflagged side.

    A test flags ``score > threshold`` (``score < threshold`` if it flags low scores).
    """
    # The flagged scores are the extreme ones if that end is flagged, else all others.
    rank = best.size if best.highest != low else best.size - 1
    end = slice(-rank - 1, None) if best.highest else slice(rank + 1)
    both = np.sort(np.concatenate([scores.members[end], scores.nonmembers[end]]))
    return float(both[-rank - 1 if best.highest else rank]) + 0.0


@dataclass(frozen=True)
class FourOutcomes(_Refuter):
    """Members above every threshold, against both error rates together; see `Audit.epsilon`.

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
        sought, others, above = (n0, n1, above0) if low else (n1, n0, above1)
        sizes = np.ascontiguousarray(above0 + above1, dtype=np.int64)
        counts = np.ascontiguousarray(above, dtype=np.int64)
        law = (sought, others, deltas.item(), miss)
        steps, place, critical = _core.four_outcomes_refuted(sizes, counts, *law, 1.0 / _STEPS)
        if place < 0:
            words = "nothing is refuted"
            place = int(np.argmax(counts * others - (sizes - counts) * sought))
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
            max_certifiable=_most(*law),
            flags_low=low,
        )


@lru_cache(maxsize=64)
def _most(sought: int, others: int, delta: float, miss: float) -> float:
    """Return the bound of separated scores, which have the largest counts."""
    sizes: Counts = np.arange(1, sought + others, dtype=np.int64)
    counts = np.minimum(sizes, sought)
    steps, _, _ = _core.four_outcomes_refuted(
        sizes, counts, sought, others, delta, miss, 1.0 / _STEPS
    )
    return float(steps / _STEPS)
