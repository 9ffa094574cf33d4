"""Composition: the curves of sub-sampled mechanisms over many steps, and of sequences of curves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from leakscore import validation
from leakscore.tradeoff.composition.ends import Ends, limit
from leakscore.tradeoff.composition.laws import StatedPair, stated_pair
from leakscore.tradeoff.composition.steps import (
    GaussianMagnitude,
    GaussianStep,
    LaplaceMagnitude,
    LaplaceStep,
    Part,
    Parts,
    Step,
)
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.gaussian_curves import GaussianTradeOff, gaussian
from leakscore.tradeoff.polygon import Polygon
from leakscore.tradeoff.premise import EXACT_NOISE, NEIGHBOURS, POISSON, Premise, joined
from leakscore.tradeoff.relaxed import (
    _Laplace,
    _RelaxedGaussian,
    compose_relaxed_gaussian,
    laplace,
)
from leakscore.tradeoff.shapes import Bracket

_MOST_STEPS = 10**7
_LEAST = -1e6  # the log of a rate below which no lattice reaches
_TOO_MANY = (
    ": the rounding of so many steps leaves nothing of the bounds; compose fewer, or take the "
    "central limit of a curve's `estimate`"
)

_ADVERSARIES = ("informed", "relaxed-aligned", "relaxed-unaligned")


class ComposedTradeOff(Bracket):
    """The curve of a sequence of mechanisms, between certified bounds; see `subsampled_gaussian`.

    Where no pair of laws is known to be that of the mechanism, a pair that is at least as
    informative gives the lower curve, and an attack the upper one. Each bound is computed once, on
    first use. f(alpha) is the lower bound; power, advantage, auc, delta and epsilon are the ends of
    larger leakage; `interval` gives both ends.

    Examples
    --------
    >>> from leakscore.tradeoff import subsampled_gaussian
    >>> f = subsampled_gaussian(1.0, 0.01, 1000)
    >>> bool(f.lower(0.1) == f(0.1) < f.upper(0.1))
    True
    """

    __slots__ = ("_attack", "_ends", "_parts")
    _computed = ("_ends",)

    def __init__(
        self,
        parts: Parts,
        name: str,
        premise: Premise,
        *,
        attack: Parts | None = None,
        kind: Literal["guarantee", "attack"] = "guarantee",
        adversary: str = "informed",
    ) -> None:
        super().__init__(kind, adversary, name, premise)
        self._parts, self._attack = list(parts), list(parts if attack is None else attack)
        self._ends = Ends(self._parts, self._attack, kind, adversary, premise)

    def _end(self, which: int) -> TradeOff:
        return self._ends(which)

    def _inverse(self) -> TradeOff:
        return self if self._symmetric() else super()._inverse()

    def _symmetrized(self) -> TradeOff:
        return self if self._symmetric() else super()._symmetrized()

    def _symmetric(self) -> bool:
        """Whether every step is one shift of a symmetric law, which the attacker knows."""
        laws = [part for part, _ in self._parts]
        plain = all(type(law) in (GaussianStep, LaplaceStep) and law.rate == 1.0 for law in laws)
        return plain and self.adversary == "informed"

    @property
    def estimate(self) -> TradeOff:
        """The central limit's curve: an approximation for many steps, not a bound.

        Of sequences of sub-sampled and plain mechanisms with Poisson sampling only.
        """
        steps = [(step, n) for step, n in self._parts if isinstance(step, Step)]
        if len(steps) < len(self._parts):
            raise AttributeError(
                f"{self!r} must be of Poisson sampling: other batches have no estimate; "
                "take interval()"
            )
        return limit(steps, self.adversary)._about(self._premise)


@validation.named_arguments
def subsampled_gaussian(
    noise_multiplier: float,
    sample_rate: float,
    num_steps: int,
    adversary: str = "informed",
    neighbours: str = "add-remove",
) -> TradeOff:
    """Return the trade-off curve of DP-SGD: Gaussian noise on Poisson samples, step after step.

    H0 is the data without the record and H1 the data with it. In every step the record is in the
    batch with probability `sample_rate`; the release is the sum of the batch's contributions, each
    of norm at most 1, with noise of standard deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution; positive.
    sample_rate : float
        Probability of a record to be in a step's batch, in (0, 1].
    num_steps : int
        Number of steps, 1 to 10^7; any number where there is a closed form.
    adversary : {"informed", "relaxed-aligned", "relaxed-unaligned"}
        ``"informed"`` knows the record's contribution in every step: the attacker of differential
        privacy. ``"relaxed-aligned"`` knows it up to one sign, the same in all steps.
        ``"relaxed-unaligned"`` uses only the magnitude of each step's projection, as if the signs
        changed at random from step to step.
    neighbours : {"add-remove", "replace"}
        ``"add-remove"``: H0 holds nothing in the record's place. ``"replace"``: H0 holds another
        record in its place, with the opposite contribution at worst; for `sample_rate` 1 only. The
        curve, and every curve made from it, carries the relation as `TradeOff.neighbours`, and
        cannot be compared with one of the other relation.

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds, or a closed form where there is one: at
        `sample_rate` 1 ``gaussian(sqrt(num_steps) / noise_multiplier)`` for the informed attacker,
        and ``compose_relaxed_gaussian`` for the aligned one. Direction
        "forward" is H1 against H0 (the record was removed), "reverse" H0 against H1 (added), and
        "both" the larger, which is the accountants' epsilon. epsilon(0) is inf. Of kind
        "guarantee", except against "relaxed-unaligned": "attack", since a sum over the steps does
        better than the product of their magnitudes. `TradeOff.assumptions` lists the assumptions:
        Poisson sampling and exact noise.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `neighbours` is "replace" at a rate below 1.

    Notes
    -----
    Every number of the curve assumes

    - Poisson sampling: an independent draw decides for each record and batch. Batches of a fixed
      size, and shuffled records, have other curves, and may leak more;
    - a record added or removed, unless `neighbours` is "replace". Replacing it is another claim: an
      audit of rounds with another record in its place may refute this one although it is true;
    - exact noise: real numbers. Noise in floating point has another law, and may leak more.

    The loss of a step, L = log(1 - p + p exp(mu x - mu^2/2)) with mu = 1/noise_multiplier, is put
    on a lattice twice: split between neighbouring points so that no test of the true laws beats
    the split ones (the lower curve), and rounded down, which an attacker can do (the upper one).
    Sums are composed by FFT; the bounds include the truncation and the rounding of all operations.
    At delta = 1e-5 both epsilons differ by some 4e-5 up to 1e4 steps and 2e-4 at 1e5 steps, or by
    this relative amount where epsilon is small; deltas below 1e-12 get wider bounds. Where a small
    rate makes rare losses huge, at rates below some 1e-4, the informed attacker's bounds come from
    a lattice of octaves (see `random_allocation`), which takes deltas down to 1e-25; for others
    losses of a mass below 1e-14 over all steps are cut off: epsilon is inf at smaller deltas. Where
    the noise is so small that epsilon is in the thousands, the bounds are wider, relatively by 1e-4
    for a few steps and by far more for 1e5 steps. Below a `noise_multiplier` of 1/1024 (1/8192 for
    Laplace noise) the upper end assumes that the attacker sees which batches hold the record: it is
    inf at a delta below 1 - (1 - sample_rate)^num_steps.

    Against "relaxed-aligned" the lower curve is the informed attacker's; the upper one is attained
    by the better of two tests: one tries both signs, one takes the absolute sum of all outputs.
    `ComposedTradeOff.estimate` is the central limit for the best test.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023), section
    4. The product of magnitudes there is no bound on an attacker who adds the steps' outputs.
    Doroshenko et al., "Connect the dots" (PETS 2022), for the splitting.

    Examples
    --------
    >>> f = subsampled_gaussian(10.5, 4096 / 50_000, 1000)
    >>> low, high = f.interval("epsilon", 1e-5)
    >>> print(round(low, 3), round(high, 3), bool(0.0 < high - low < 1e-4))
    0.92 0.92 True
    >>> subsampled_gaussian(2.0, 1.0, 16)
    gaussian(mu=2.)
    """
    given = _Sampling(noise_multiplier, sample_rate, num_steps, adversary, neighbours).checked()
    shift = given.mu * np.sqrt(given.num_steps)
    if given.sample_rate == 1.0 and given.adversary == "informed":
        return gaussian(shift)._about(given.premise)
    if given.sample_rate == 1.0 and given.adversary == "relaxed-aligned":
        return compose_relaxed_gaussian([shift], 1)._about(given.premise)
    return given.composed("subsampled_gaussian", GaussianStep, GaussianMagnitude)


@validation.named_arguments
def subsampled_laplace(
    noise_multiplier: float,
    sample_rate: float,
    num_steps: int,
    adversary: str = "informed",
    neighbours: str = "add-remove",
) -> TradeOff:
    """Return the trade-off curve of Laplace noise on Poisson samples, step after step.

    Like `subsampled_gaussian`, with noise of scale `noise_multiplier` on a released number to which
    each record contributes at most 1.

    Parameters
    ----------
    noise_multiplier : float
        Scale of the noise over the largest contribution; positive.
    sample_rate : float
        Probability of a record to be in a step's batch, in (0, 1].
    num_steps : int
        Number of steps, 1 to 10^7.
    adversary : {"informed", "relaxed-aligned", "relaxed-unaligned"}
        As in `subsampled_gaussian`.
    neighbours : {"add-remove", "replace"}
        As in `subsampled_gaussian`.

    Returns
    -------
    TradeOff
        As in `subsampled_gaussian`, with the same assumptions: Poisson sampling, a record added or
        removed, and exact (real-valued) noise. Losses are bounded: epsilon(0) is at most
        num_steps log(1 + sample_rate (exp(1/noise_multiplier) - 1)), and the bound here is inf.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `neighbours` is "replace" at a rate below 1.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023), for the
    magnitudes of Laplace noise.

    Examples
    --------
    >>> f = subsampled_laplace(2.0, 0.1, 100)
    >>> print(round(f.epsilon(1e-5), 2), f.adversary)
    1.89 informed
    """
    given = _Sampling(noise_multiplier, sample_rate, num_steps, adversary, neighbours).checked()
    if given.sample_rate == given.num_steps == 1 and given.adversary == "informed":
        return laplace(given.mu)._about(given.premise)
    return given.composed("subsampled_laplace", LaplaceStep, LaplaceMagnitude)


@dataclass(frozen=True)
class _Sampling:
    """The arguments of a mechanism on Poisson samples."""

    noise_multiplier: float
    sample_rate: float
    num_steps: int
    adversary: str
    neighbours: str

    def checked(self) -> _Sampling:
        noise = validation.scalar("noise_multiplier", self.noise_multiplier, 0.0, closed="neither")
        rate = validation.scalar("sample_rate", self.sample_rate, 0.0, 1.0, closed="right")
        steps = validation.steps("num_steps", self.num_steps)
        attacker = validation.choice("adversary", self.adversary, _ADVERSARIES)
        relation = validation.choice("neighbours", self.neighbours, NEIGHBOURS)
        if relation == "replace" and rate < 1.0:
            raise ValueError(
                f"neighbours must be 'add-remove' at sample_rate={rate!r}: with 'replace' the two "
                "laws of a sampled step are no such pair; it takes sample_rate=1"
            )
        return _Sampling(noise, rate, steps, attacker, relation)

    @property
    def premise(self) -> Premise:
        sampled = (POISSON,) if self.sample_rate < 1.0 else ()
        return Premise(self.neighbours, (*sampled, EXACT_NOISE))

    @property
    def mu(self) -> float:
        """How far a record moves a step's release, over the noise."""
        return (2.0 if self.neighbours == "replace" else 1.0) / self.noise_multiplier

    def composed(self, function: str, law: type[Step], magnitude: type[Step]) -> TradeOff:
        """Compose the steps that `function` is asked for; magnitudes have signs of their own."""
        validation.count("num_steps", self.num_steps, 1, _MOST_STEPS, why=_TOO_MANY)
        replaced = ", neighbours='replace'" if self.neighbours == "replace" else ""
        name = (
            f"{function}(noise_multiplier={self.noise_multiplier!r}, sample_rate="
            f"{self.sample_rate!r}, num_steps={self.num_steps}, adversary={self.adversary!r}"
            f"{replaced})"
        )
        unaligned = self.adversary == "relaxed-unaligned"
        kind: Any = "attack" if unaligned else "guarantee"
        parts: Parts = [
            ((magnitude if unaligned else law)(self.mu, self.sample_rate), self.num_steps)
        ]
        about = {"kind": kind, "adversary": self.adversary}
        return ComposedTradeOff(parts, name, self.premise, **about)


def compose(curves: Iterable[TradeOff | tuple[TradeOff, int]]) -> TradeOff:
    """Return the trade-off curve of a sequence of mechanisms, each with fresh randomness.

    Parameters
    ----------
    curves : iterable of TradeOff or (TradeOff, num_steps)
        Curves of `gaussian`, `laplace`, `compose_relaxed_gaussian` in one dimension,
        `subsampled_gaussian`, `subsampled_laplace`, `random_allocation`, `fixed_batch_gaussian`,
        `truncated_poisson_gaussian`, `shuffled_gaussian`, `correlated_gaussian` or `compose`, or
        stated guarantees (`from_profile`, `from_pld`, `from_rdp`, `from_zcdp`, `approximate_dp`,
        `lower` of a bracket), all of one `adversary` and `kind` and of shape (); a pair is a curve
        and its number of repetitions. All have the same hypotheses, in the same order: `neighbours`
        are the same, or None.

    Returns
    -------
    TradeOff
        ``gaussian`` if all are Gaussian, with mu the root of the sum of squares; otherwise a
        `ComposedTradeOff`, of which stated guarantees leave the lower end alone. It has the curves'
        relation and all their assumptions: for sub-sampled curves Poisson sampling, drawn anew in
        every step, a record added or removed, and exact (real-valued) noise. The bounds of more
        than 8 different mechanisms are wider, relatively to those of `subsampled_gaussian` by a
        factor of up to 20 from 100 on.

    Raises
    ------
    TypeError
        If an entry is not such a curve.
    ValueError
        If there is no curve, if a number of steps is below 1, if the steps are more than 10^7
        without a closed form, if kinds, adversaries, shapes or `neighbours` differ, or if H0 of a
        curve is not "without" the record: compose first, then invert.

    Examples
    --------
    >>> from leakscore.tradeoff import gaussian
    >>> compose([gaussian(0.6), (gaussian(0.4), 4)])
    gaussian(mu=1.)
    >>> f = compose([subsampled_gaussian(10.5, 0.08, 500), subsampled_gaussian(8.0, 0.04, 500)])
    >>> print(round(f.epsilon(1e-5), 2))
    0.75
    """
    entries = [_entry(index, item) for index, item in enumerate(_listed(curves))]
    if not entries:
        raise ValueError("curves must hold at least one curve")
    first = entries[0][0]
    for index, (curve, _) in enumerate(entries):
        described, expected = (curve.kind, curve.adversary), (first.kind, first.adversary)
        if described != expected:
            raise ValueError(f"curves[{index}] of {described} must be of {expected}, as curves[0]")
    premise = joined((f"curves[{i}]", curve._premise) for i, (curve, _) in enumerate(entries))
    leakage = sum(
        repeats * float(curve.leakage)
        for curve, repeats in entries
        if isinstance(curve, GaussianTradeOff)
    )
    steps, attack = (_together(entries, leakage, part) for part in (0, 1))
    if not steps:
        given = gaussian(leakage=leakage)._parameters
        return GaussianTradeOff(given, first.kind, first.adversary, premise)
    total = sum(count for _, count in steps)
    validation.count("the steps in curves", total, 1, _MOST_STEPS, why=_TOO_MANY)
    name = f"compose of {len(entries)} curves"
    about: Any = {"kind": first.kind, "adversary": first.adversary}
    if any(isinstance(step, StatedPair) for step, _ in steps):  # which no attack is known to attain
        return ComposedTradeOff(steps, name, premise, attack=[], **about).lower
    return ComposedTradeOff(steps, name, premise, attack=attack, **about)


def _together(entries: list[tuple[TradeOff, int]], leakage: float, which: int) -> Parts:
    """Collect the equal steps of all curves, of their guarantees or of their attacks."""
    steps = dict[Part, int]()
    for curve, repeats in entries:
        for step, count in _steps(curve)[which]:
            steps[step] = steps.get(step, 0) + repeats * count
    if steps and leakage > 0.0:
        noise = GaussianStep(float(np.sqrt(leakage)), 1.0)
        steps[noise] = steps.get(noise, 0) + 1
    return list(steps.items())


def _listed(curves: Any) -> list[Any]:
    if isinstance(curves, (TradeOff, np.ndarray)) or not isinstance(curves, Iterable):
        raise TypeError(f"curves={curves!r} must be a list of curves")
    return list(curves)


def _steps(curve: TradeOff) -> tuple[Parts, Parts]:
    """Give the laws behind a curve, of a guarantee and of an attack; none of a Gaussian one."""
    if isinstance(curve, ComposedTradeOff):
        return curve._parts, curve._attack
    if isinstance(curve, (_Laplace, _RelaxedGaussian)):
        law = LaplaceStep if isinstance(curve, _Laplace) else GaussianStep
        mu = float(curve._parameters[0])
        parts: Parts = [(law(mu, 1.0), 1)] if mu > 0.0 else []
        return parts, parts
    if isinstance(curve, Polygon):
        return [(stated_pair(*curve.vertices), 1)], []
    return [], []


def _composable(curve: object) -> bool:
    if isinstance(curve, _RelaxedGaussian):  # of a sign that all steps share
        line = bool((curve._parameters[1] == 1.0).all())
        return line and curve.adversary == "relaxed-aligned" and not curve._reversed
    if isinstance(curve, Polygon):
        return curve.kind == "guarantee" and curve.adversary == "informed" and curve._side < 1
    return isinstance(curve, (GaussianTradeOff, ComposedTradeOff, _Laplace))


def _entry(index: int, item: Any) -> tuple[TradeOff, int]:
    name = f"curves[{index}]"
    curve, repeats = item, 1
    if isinstance(item, tuple):
        if len(item) != 2:
            raise TypeError(f"{name} must be a curve or a pair (curve, num_steps)")
        curve, repeats = item[0], validation.steps(f"num_steps of {name}", item[1])
    if isinstance(curve, TradeOff):
        curve._require_null("compose", "compose first, then invert")
    if not _composable(curve):
        raise TypeError(
            f"{name}={curve!r} must be a curve of gaussian, laplace, subsampled_gaussian, "
            "subsampled_laplace, compose, compose_relaxed_gaussian in one dimension, of batches "
            "(random_allocation and the like), or a guarantee of from_profile, from_pld, from_rdp "
            "or from_zcdp; of a curve with an upper end take its `lower`"
        )
    if curve.shape:
        raise ValueError(f"{name} of shape {curve.shape} must be of shape ()")
    if isinstance(curve, Polygon):
        logs = np.concatenate(curve.vertices)
        if len(logs) == 2:
            raise ValueError(f"{name}={curve!r} must bound a test: under it everything can be told")
        if logs[np.isfinite(logs)].min() < _LEAST:
            raise ValueError(
                f"{name}={curve!r} must have no vertex with a coordinate below exp({_LEAST:g})"
            )
    return curve, repeats
