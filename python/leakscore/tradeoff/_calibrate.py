"""The least noise that meets a requirement on a trade-off curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import signature
from math import inf, isnan, log, nextafter, sqrt
from typing import Any

from leakscore import validation
from leakscore.numeric import crossed
from leakscore.tradeoff.batches import (
    LEAST_NOISE,
    correlated_gaussian,
    fixed_batch_gaussian,
    random_allocation,
    shuffled_gaussian,
    truncated_poisson_gaussian,
)
from leakscore.tradeoff.composed import subsampled_gaussian, subsampled_laplace
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.gaussian_curves import gaussian
from leakscore.tradeoff.relaxed import laplace, relaxed_gaussian, relaxed_laplace

Family = Callable[..., TradeOff]

# Composed again for every noise. Batches take no less noise than their lattices do.
_BATCHES: dict[str, Family] = {
    "random_allocation": random_allocation,
    "fixed_batch_gaussian": fixed_batch_gaussian,
    "truncated_poisson_gaussian": truncated_poisson_gaussian,
    "shuffled_gaussian": shuffled_gaussian,
}
_SLOW: dict[str, Family] = {
    "subsampled_gaussian": subsampled_gaussian,
    "subsampled_laplace": subsampled_laplace,
    **_BATCHES,
}


def _shift(noise: float) -> float:
    """Return 1 over the noise, rounded up: a delta of 1e-12 would show a rounding to nearest."""
    return nextafter(1.0 / noise, inf)


# How the noise gives a curve; other arguments are those of the constructor of that name.
_FAMILIES: dict[str, Family] = {
    "gaussian": lambda noise: gaussian(_shift(noise)),
    "laplace": lambda noise: laplace(_shift(noise)),
    "relaxed_gaussian": lambda noise, dim=1: relaxed_gaussian(_shift(noise), dim),
    "relaxed_laplace": lambda noise: relaxed_laplace(_shift(noise)),
    **_SLOW,
    "correlated_gaussian": lambda noise, strategy_matrix, participation: correlated_gaussian(
        strategy_matrix, participation, noise
    ),
}
_CLOSED: list[Any] = [gaussian, laplace, relaxed_gaussian, relaxed_laplace, correlated_gaussian]
_CONSTRUCTORS = frozenset((*_CLOSED, *_SLOW.values()))
_REQUIREMENTS = ("epsilon", "delta"), ("advantage",), ("power", "alpha"), ("curve",)

_LOWEST, _HIGHEST = 1e-6, 1e12
_LOWEST_SLOW, _HIGHEST_SLOW = 0.05, 1e6
_CLOSE, _CLOSE_SLOW = 1e-13, 1e-7  # relative width of the final bracket
_LEAST, _MOST = 1e-300, 1e300  # excess, between which a search draws lines


def calibrate(
    family: str | Family,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    advantage: float | None = None,
    power: float | None = None,
    alpha: float | None = None,
    curve: TradeOff | None = None,
    **fixed: Any,
) -> float:
    """Return the least noise, per unit of sensitivity, at which a mechanism meets a requirement.

    Exactly one requirement is given: `epsilon` with `delta`, `advantage`, `power` with `alpha`, or
    ``curve``.

    Parameters
    ----------
    family : str or callable
        "gaussian", "laplace", "relaxed_gaussian" (with `dim`), "relaxed_laplace",
        "subsampled_gaussian" or "subsampled_laplace" (with `sample_rate`, `num_steps`,
        `adversary` and `neighbours`), "random_allocation", "fixed_batch_gaussian",
        "truncated_poisson_gaussian", "shuffled_gaussian" or "correlated_gaussian" (with the further
        arguments of the function of that name), or the constructor of one of them; or any function
        of the noise, and of the arguments in `fixed`, that makes a curve of shape () which leaks
        less with more noise.
    epsilon : float, optional
        With `delta`: delta(epsilon), in both directions, must be at most `delta`. At least 0.
    delta : float, optional
        In [0, 1].
    advantage : float, optional
        The largest power(a) - a allowed; in [0, 1].
    power : float, optional
        With `alpha`: the largest power at this false positive rate; in [0, 1].
    alpha : float, optional
        In [0, 1].
    curve : TradeOff, optional
        A curve of shape () that the result must dominate: the mechanism's curve is nowhere below
        it by more than the tolerance of `TradeOff.at_least_as_private_as`, 1e-9. Its `neighbours`
        are those of the family, or None.
    **fixed
        Further arguments of the family.

    Returns
    -------
    float
        Scale of the noise (the standard deviation of Gaussian noise, the scale of Laplace noise)
        over the sensitivity. It meets the requirement itself (judged by the end of larger leakage
        where a curve is known within bounds), and is above the least such noise by at most 1e-13 of
        it (1e-7 for curves that are composed numerically, and for functions of your own). If noise
        of 1e-6 (0.05 for these, the least that its function takes for other batches) meets the
        requirement, that is the result.

    Raises
    ------
    TypeError
        If not exactly one requirement is given, the family is unknown or makes no curve, or
        ``curve`` is not a curve.
    ValueError
        If an argument is out of its range, the family and ``curve`` are about different
        `neighbours`, or no noise meets the requirement (the message names the best value).

    Notes
    -----
    Noise for a relaxed attacker does not protect against other attackers: see ``TradeOff.kind`` and
    ``TradeOff.adversary`` of the curve. The noise of a sub-sampled family is enough under Poisson
    sampling, for a record added or removed, with exact (real-valued) noise. Batches of another
    kind, a replaced record or rounded noise need other noise: see `TradeOff.neighbours` and
    `TradeOff.assumptions` of the curve.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023), section
    7.3. With `curve=` this is the larger of the two noises of their sandwich. Kulynych et al.,
    "Attack-aware noise calibration for differential privacy" (NeurIPS 2024, arXiv 2407.02191),
    calibrate to an attack's risk instead of an epsilon, as `advantage` and `power` do; their
    "Unifying re-identification, attribute inference, and data reconstruction risks in differential
    privacy" (NeurIPS 2025, arXiv 2507.06969) bound other attacks by the same curve.

    Examples
    --------
    >>> from leakscore.tradeoff import calibrate, gaussian
    >>> sigma = calibrate("gaussian", epsilon=1.0, delta=1e-5)
    >>> print(round(sigma, 4), gaussian(1 / sigma).delta(1.0) <= 1e-5)
    3.7306 True
    >>> print(round(calibrate("relaxed_gaussian", power=0.1, alpha=0.01, dim=10), 4))
    0.4557
    """
    make, name = _family(family)
    _require_fitting(family, make, fixed)
    numbers = {"epsilon": epsilon, "delta": delta, "advantage": advantage, "power": power}
    requirement = _requirement(numbers | {"alpha": alpha, "curve": curve})
    slow = name in _SLOW or not name

    @cache  # of the last bracket's ends, too
    def excess(noise: float) -> float:
        curve: object = make(noise, **fixed)
        if not isinstance(curve, TradeOff) or curve.shape:
            raise TypeError(f"family={family!r} must make one TradeOff, not {curve!r}")
        return requirement.excess(curve)

    low, high = (_LOWEST_SLOW, _HIGHEST_SLOW) if slow else (_LOWEST, _HIGHEST)
    if name in _BATCHES:
        low = _least_noise(name, fixed)
    bracket = _bracket(excess, low, high)
    if bracket is None:
        best = requirement.reached(make(high, **fixed))
        raise ValueError(f"{requirement.words} must be reachable: {best} at noise {high:g}")
    return crossed(excess, *bracket, _CLOSE_SLOW if slow else _CLOSE)[1]


def _least_noise(name: str, fixed: dict[str, Any]) -> float:
    """Give the least noise that the lattice of a family takes."""
    if name == "random_allocation" and fixed.get("reallocate") is False:
        return (
            1.001 * LEAST_NOISE * sqrt(validation.steps("num_epochs", fixed.get("num_epochs", 1)))
        )
    replaced = name == "shuffled_gaussian" and fixed.get("neighbours", "replace") == "replace"
    return 1.001 * LEAST_NOISE * (2.0 if replaced else 1.0)


@dataclass(frozen=True)
class _Requirement:
    """A requirement on a curve: a number of it that must be at most the target."""

    words: str
    measured: str
    measure: Callable[[TradeOff], float]
    target: float

    def excess(self, curve: TradeOff) -> float:
        """Return the excess over the target, below 0 where the curve meets it.

        In logarithms, unless a number is 0 or infinite; a sign where 0 alone meets the target.
        """
        value = self.measure(curve)
        if isnan(value):
            raise RuntimeError(f"{curve!r} has no value to compare with {self.words}")
        if self.target == 0.0:
            return 1.0 if value > 0.0 else -1.0
        logs = 0.0 < value < inf
        size = log(value) - log(self.target) if logs else value - self.target
        return min(size, -_LEAST) if value <= self.target else min(max(size, _LEAST), _MOST)

    def reached(self, curve: TradeOff) -> str:
        """Describe the curve's value of the required quantity."""
        return f"the least {self.measured} is {self.measure(curve):.6g}"


def _requirement(given: dict[str, Any]) -> _Requirement:
    """Check that there is exactly one requirement."""
    if tuple(name for name, value in given.items() if value is not None) not in _REQUIREMENTS:
        raise TypeError(
            "calibrate() takes exactly one requirement: epsilon and delta, advantage, power and "
            "alpha, or curve"
        )
    if given["epsilon"] is not None:
        return _privacy(validation.scalar("epsilon", given["epsilon"], 0.0), given["delta"])
    if given["curve"] is not None:
        return _above(given["curve"])
    if given["advantage"] is not None:
        most = validation.scalar("advantage", given["advantage"], 0.0, 1.0)
        words = f"advantage={most!r}"
        return _Requirement(words, "advantage", lambda f: float(f.advantage()), most)
    most = validation.scalar("power", given["power"], 0.0, 1.0)
    level = validation.scalar("alpha", given["alpha"], 0.0, 1.0)
    words = f"power={most!r} at alpha={level!r}"
    return _Requirement(words, "power", lambda f: float(f.power(level)), most)


def _privacy(epsilon: float, delta: Any) -> _Requirement:
    """Require (epsilon, delta); if delta is 0, by epsilon, since a tiny delta may underflow."""
    most = validation.scalar("delta", delta, 0.0, 1.0)
    words = f"epsilon={epsilon!r} with delta={most!r}"
    if most == 0.0:
        return _Requirement(words, "epsilon", lambda f: float(f.epsilon(0.0)), epsilon)
    return _Requirement(words, "delta", lambda f: float(f.delta(epsilon)), most)


def _above(curve: Any) -> _Requirement:
    """Require a curve that is certainly above another one."""
    if not isinstance(curve, TradeOff) or curve.shape:
        raise TypeError(f"curve={curve!r} must be one TradeOff")

    def shortfall(f: TradeOff) -> float:
        certificate = f.at_least_as_private_as(curve)
        return 0.0 if certificate else max(-certificate.gap, _LEAST)

    return _Requirement(f"a curve above {curve!r}", "shortfall of beta", shortfall, 0.0)


def _family(family: Any) -> tuple[Family, str]:
    """Return the function from noise to a curve, and the name of a built-in family."""
    if isinstance(family, str):
        name = validation.choice("family", family, tuple(_FAMILIES))
        return _FAMILIES[name], name
    if not callable(family):
        raise TypeError(f"family={family!r} must be a name or a function of the noise")
    if family not in _CONSTRUCTORS:
        return family, ""
    return _FAMILIES[family.__name__], family.__name__


def _require_fitting(family: object, make: Family, fixed: dict[str, Any]) -> None:
    """Refuse arguments that the family does not take, or lacks."""
    try:
        expected = signature(make)
    except (TypeError, ValueError):  # a callable without a signature
        return
    try:
        expected.bind(1.0, **fixed)
    except TypeError as error:
        raise TypeError(f"family={family!r} must have its further arguments: {error}") from None


def _bracket(
    excess: Callable[[float], float], lowest: float, highest: float
) -> tuple[float, float] | None:
    """Return noise that fails and noise that suffices; the lowest twice if it suffices.

    None if none suffices.
    """
    noise, below = max(1.0, lowest), 0.0
    while excess(noise) > 0.0:
        if noise >= highest:
            return None
        below, noise = noise, min(noise * 4.0, highest)
    while not below and noise > lowest:
        above, noise = noise, max(noise * 0.5, lowest)
        if excess(noise) > 0.0:
            return noise, above
    return below or noise, noise
