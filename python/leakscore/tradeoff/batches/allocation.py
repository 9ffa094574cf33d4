"""Random allocation: every record is in the same number of an epoch's steps."""

from __future__ import annotations

import math

from leakscore import validation
from leakscore.tradeoff.composition.accounting import ComposedTradeOff
from leakscore.tradeoff.composition.caps import Parts
from leakscore.tradeoff.composition.losses import AllocatedSteps, GaussianStep
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.families.gaussian import gaussian
from leakscore.tradeoff.octaves.known import AllocatedEpoch
from leakscore.tradeoff.premise import ALLOCATION, EXACT_NOISE, Premise

# Of several steps, whose ratios are added up, and of one, whose loss is a log.
LEAST_NOISE, LEAST_ALONE = 0.06, 0.01
MOST_STEPS = 10**6
_MOST_EPOCHS = 10**5


def random_allocation(
    noise_multiplier: float,
    num_steps: int,
    *,
    selected: int = 1,
    num_epochs: int = 1,
    reallocate: bool = True,
) -> TradeOff:
    """Return the trade-off curve of DP-SGD where a record is in k of T steps, drawn uniformly.

    H0 is the data without the record and H1 the data with it. In an epoch of `num_steps` steps the
    record is in exactly `selected` of them, all sets as probable, independently of other records.
    The release of a step is the sum of the batch's contributions, each of norm at most 1, with
    noise of standard deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution; with several steps at least
        0.06, times sqrt(num_epochs) without `reallocate`.
    num_steps : int
        Number of steps of an epoch, 1 to 10^6.
    selected : int
        Number of steps that hold the record, 1 to `num_steps`.
    num_epochs : int
        Number of epochs, 1 to 10^5.
    reallocate : bool
        True: the steps are drawn anew in every epoch. False: once, and the same steps hold the
        record in every epoch (balls in bins).

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds of kind "guarantee", about a record added or
        removed; ``gaussian`` where every step holds the record. Both directions, and epsilon(0) is
        inf. There is no `ComposedTradeOff.estimate`.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, `selected` is above `num_steps`, or the noise is too small
        for the lattice.

    Notes
    -----
    Proved tight for `selected` 1: the pair is attained by constant gradients, so both bounds differ
    by the spacing of a lattice only, squared. At delta = 1e-5 their epsilons differ by less than
    1e-3 max(epsilon, 0.1).

    Proved, but not tight, for 1 < `selected` < `num_steps`: the lower curve reveals a random
    partition of the steps into `selected` blocks, one of whose steps each holds the record; the
    upper curve is the attack that adds up the log ratios of single steps. The curve lies between
    them, and finer arithmetic does not narrow that gap.

    A curve of random allocation may lie below that of Poisson sampling at the rate
    selected / num_steps in one direction and above in the other.

    Without `reallocate` all epochs of a bin add up: it is one epoch at noise_multiplier /
    sqrt(num_epochs).

    References
    ----------
    Feldman & Shenfeld, "Privacy amplification by random allocation" (arXiv 2502.08202).
    Chua et al., "Balls-and-bins sampling for DP-SGD" (arXiv 2412.16802).

    Examples
    --------
    >>> f = random_allocation(1.0, 100)
    >>> low, high = f.interval("epsilon", 1e-5)
    >>> print(round(low, 3), round(high, 3), f.neighbours)
    0.621 0.621 add-remove
    >>> print(round(random_allocation(1.0, 100, num_epochs=10).epsilon(1e-5), 2))
    1.7
    """
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    slots = validation.steps("num_steps", num_steps)
    hits = validation.steps("selected", selected)
    epochs = validation.steps("num_epochs", num_epochs)
    again = validation.flag("reallocate", reallocate)
    if hits > slots:
        raise ValueError(f"Expected selected={hits} <= num_steps={slots}")
    premise = Premise("add-remove", (ALLOCATION, EXACT_NOISE))
    if hits == slots:
        return gaussian(math.sqrt(hits * epochs) / noise)._about(premise)
    validation.count("num_steps", slots, 1, MOST_STEPS, why=": compose fewer steps")
    validation.count("num_epochs", epochs, 1, _MOST_EPOCHS, why=": compose fewer epochs")
    mu, turns = (1.0 / noise, epochs) if again else (math.sqrt(epochs) / noise, 1)
    moved = 1.0 if again else math.sqrt(epochs)
    require_noise(noise, moved, slots, "gaussian(sqrt(selected * num_epochs) / noise_multiplier)")
    name = (
        f"random_allocation(noise_multiplier={noise!r}, num_steps={slots}, selected={hits}, "
        f"num_epochs={epochs}, reallocate={again})"
    )
    parts = allocated(mu, slots, hits, turns)
    attack: Parts | None = None
    if hits > 1:
        attack = [(AllocatedSteps(mu, hits / slots, slots=slots, hits=hits), slots * turns)]
    return ComposedTradeOff(parts, "guarantee", "informed", name, premise, attack)


def require_noise(noise: float, moved: float, slots: int, guarantee: str) -> None:
    """Refuse noise whose ratios overflow, and name a curve that holds for the same batches.

    A record moves the output by `moved` times what it contributes.
    """
    least = (LEAST_NOISE if slots > 1 else LEAST_ALONE) * moved
    if noise < least:
        raise ValueError(
            f"Expected noise_multiplier={noise!r} >= {least:.4g} with num_steps={slots}: the "
            f"ratios of smaller noise overflow; take {guarantee} as a guarantee, which lets the "
            "attacker see the batches"
        )


def allocated(mu: float, slots: int, hits: int, epochs: int) -> Parts:
    """Give the epochs of one step each whose product dominates k of T."""
    longer = slots % hits
    parts: Parts = []
    for size, count in ((slots // hits + 1, longer), (slots // hits, hits - longer)):
        if not count:
            continue
        epoch = AllocatedEpoch(mu=mu, slots=size) if size > 1 else GaussianStep(mu, 1.0)
        parts.append((epoch, count * epochs))
    return parts
