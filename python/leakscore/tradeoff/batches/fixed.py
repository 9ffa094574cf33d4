"""Batches of a fixed size, and Poisson batches that are cut to a largest size."""

from __future__ import annotations

import math

from leakscore import validation
from leakscore.tradeoff.batches.allocation import require_noise
from leakscore.tradeoff.composition.accounting import ComposedTradeOff, subsampled_gaussian
from leakscore.tradeoff.composition.caps import Parts
from leakscore.tradeoff.composition.losses import GaussianStep
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.families.gaussian import gaussian
from leakscore.tradeoff.octaves.known import MixedStep, ReplacedStep
from leakscore.tradeoff.octaves.one_step import Component
from leakscore.tradeoff.premise import EXACT_NOISE, FIXED_SAMPLE, TRUNCATED, Premise

_MOST_STEPS = 10**6
# In a full batch the record takes the place of another one, which moves the sum by 2.
_SEEN = "gaussian(2 * sqrt(num_steps) / noise_multiplier)"
_TAIL = 1e-11  # relative error of a binomial tail


def fixed_batch_gaussian(
    noise_multiplier: float, batch_size: int, num_records: int, num_steps: int
) -> TradeOff:
    """Return the trade-off curve of DP-SGD on batches of a fixed size, drawn without replacement.

    H0 is the data with another record in the record's place. Every step draws `batch_size` of the
    `num_records` records anew, all sets as probable, and releases the sum of their contributions,
    each of norm at most 1, with noise of standard deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution, at least 0.06 with several
        steps and 0.01 with one. A replaced record moves a sum by 2: accountants whose noise
        multiplier is relative to that sensitivity take half of this one.
    batch_size : int
        Number of records in a batch, 1 to `num_records`.
    num_records : int
        Number of records.
    num_steps : int
        Number of steps, 1 to 10^6.

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds, of kind "guarantee" and ``neighbours="replace"``;
        ``gaussian`` where a batch is all of the data. A record added or removed changes the number
        of records, and is not defined here.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `batch_size` is above `num_records`.

    Notes
    -----
    Proved, but not known to be tight. The lower curve is the product of the pairs that dominate a
    single step (Dong et al., theorem 4.2): they hold for the worst of both orders in every step.
    The upper curve is an attack on data whose other contributions are all the same. The worst data
    of a single step differ between both orders, and no product of one pair is known to be tight
    (Lebeda et al.): finer arithmetic does not narrow the gap. It would where batches hold less than
    a millionth of the records: the even lattice of losses then makes wide, certified intervals.

    References
    ----------
    Dong, Roth & Su, "Gaussian differential privacy" (arXiv 1905.02383).
    Lebeda et al., "Avoiding pitfalls for privacy accounting of subsampled mechanisms" (arXiv
    2405.20769).

    Examples
    --------
    >>> f = fixed_batch_gaussian(2.0, 100, 1000, 100)
    >>> low, high = f.interval("epsilon", 1e-5)
    >>> print(round(low, 2), round(high, 2), f.neighbours)
    7.05 7.8 replace
    """
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    records = validation.steps("num_records", num_records)
    batch = validation.steps("batch_size", batch_size)
    steps = validation.steps("num_steps", num_steps)
    if batch > records:
        raise ValueError(f"Expected batch_size={batch} <= num_records={records}")
    premise = Premise("replace", (FIXED_SAMPLE, EXACT_NOISE))
    mu, rate = 2.0 / noise, batch / records
    if batch == records:
        return gaussian(mu * math.sqrt(steps))._about(premise)
    validation.count("num_steps", steps, 1, _MOST_STEPS, why=": compose fewer steps")
    require_noise(noise, 1.0, steps, _SEEN)
    name = (
        f"fixed_batch_gaussian(noise_multiplier={noise!r}, batch_size={batch}, "
        f"num_records={records}, num_steps={steps})"
    )
    parts: Parts = [(ReplacedStep(mu=mu, sampled=rate), steps)]
    attack: Parts = [(GaussianStep(mu, rate), steps)]
    return ComposedTradeOff(parts, "guarantee", "informed", name, premise, attack)


def truncated_poisson_gaussian(
    noise_multiplier: float,
    sample_rate: float,
    max_batch_size: int,
    num_records: int,
    num_steps: int,
) -> TradeOff:
    """Return the trade-off curve of DP-SGD on Poisson batches that are cut to a largest size.

    H0 is the data without the record and H1 the data with it. In every step each record comes with
    probability `sample_rate`; where more than `max_batch_size` come, a uniform subset of that many
    is kept. The release is the sum of the contributions, each of norm at most 1 and not divided by
    the size of the batch, with noise of standard deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution, at least 0.06 with several
        steps and 0.01 with one.
    sample_rate : float
        Probability of a record to come, in (0, 1].
    max_batch_size : int
        The largest size of a batch, at least 1. From `num_records` on nothing is cut.
    num_records : int
        Number of records, with the record in question.
    num_steps : int
        Number of steps, 1 to 10^6.

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds, of kind "guarantee", about a record added or
        removed; ``subsampled_gaussian`` where nothing is cut.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range.

    Notes
    -----
    Proved, but not known to be tight. The lower curve reveals in every step whether a batch was
    full without the record: the record then takes another one's place, which moves the sum by 2.
    The upper curve is an attack on data whose other contributions are 0. Where batches are hardly
    ever cut, both are the curve of Poisson sampling.

    References
    ----------
    Annamalai et al. on truncated Poisson sampling (arXiv 2508.15089).

    Examples
    --------
    >>> f = truncated_poisson_gaussian(1.0, 0.01, 200, 10_000, 100)
    >>> low, high = f.interval("epsilon", 1e-5)
    >>> print(round(low, 3), round(high, 3))
    0.718 0.718
    """
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    most = validation.steps("max_batch_size", max_batch_size)
    records = validation.steps("num_records", num_records)
    steps = validation.steps("num_steps", num_steps)
    if most >= records:
        return subsampled_gaussian(noise, rate, steps)
    validation.count("num_steps", steps, 1, _MOST_STEPS, why=": compose fewer steps")
    mu = 1.0 / noise
    require_noise(noise, 1.0, steps, _SEEN)
    name = (
        f"truncated_poisson_gaussian(noise_multiplier={noise!r}, sample_rate={rate!r}, "
        f"max_batch_size={most}, num_records={records}, num_steps={steps})"
    )
    components, drawn = _cases(mu, rate, most, records)
    parts: Parts = [(MixedStep(components=components, error=2.0 * _TAIL), steps)]
    attack: Parts = [(GaussianStep(mu, drawn), steps)]
    premise = Premise("add-remove", (TRUNCATED, EXACT_NOISE))
    return ComposedTradeOff(parts, "guarantee", "informed", name, premise, attack)


def _cases(mu: float, rate: float, most: int, records: int) -> tuple[tuple[Component, ...], float]:
    """Give the cases of a step: room in the batch, or none; and how often the record is in it.

    Without room it takes the place of another one with a probability of B/n P(Bin(n, q) > B) /
    P(Bin(n-1, q) >= B). The rate of the attack is rounded down.
    """
    from scipy.special import betainc, betaincc

    full = float(betainc(most, records - most, rate))
    room = float(betaincc(most, records - most, rate))
    beyond = float(betainc(most + 1, records - most, rate))
    cases = []
    if room > 0.0:
        cases.append(Component(room, mu, rate))
    if full > 0.0:
        replaced = min(most / records * (beyond / full), 1.0)
        cases.append(Component(full, 2.0 * mu, replaced))
    drawn = sum(case.weight * case.rate for case in cases)
    return tuple(cases), min(drawn, 1.0) * (1.0 - 2.0 * _TAIL)
