"""Shuffled records: a fresh permutation in every epoch."""

from __future__ import annotations

import math

from leakscore import validation
from leakscore.tradeoff.batches.allocation import MOST_STEPS, require_noise
from leakscore.tradeoff.composition.accounting import ComposedTradeOff
from leakscore.tradeoff.composition.caps import Parts
from leakscore.tradeoff.composition.losses import GaussianStep
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.families.gaussian import gaussian
from leakscore.tradeoff.octaves.known import AllocatedEpoch, LargestOutput
from leakscore.tradeoff.premise import EXACT_NOISE, SHUFFLED, Premise

_MOST_EPOCHS = 10**5
_RELATIONS = ("replace", "zero-out")


def shuffled_gaussian(
    noise_multiplier: float, num_steps: int, *, num_epochs: int = 1, neighbours: str = "replace"
) -> TradeOff:
    """Return the trade-off curve of DP-SGD on shuffled records, as data loaders make batches.

    In every epoch a fresh permutation of the records is cut into `num_steps` batches of equal size.
    A step releases the sum of the contributions, each of norm at most 1, with noise of standard
    deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution; with several steps at least
        0.06, or 0.12 for `neighbours` "replace".
    num_steps : int
        Number of steps of an epoch, 1 to 10^6.
    num_epochs : int
        Number of epochs, 1 to 10^5.
    neighbours : {"replace", "zero-out"}
        ``"replace"``: H0 holds another record in the record's place. ``"zero-out"``: a record whose
        contributions are 0. A record added or removed would change the size of a batch.

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds, of kind "guarantee": the lower curve holds for
        every data set, the upper one is attained by an attack on one. ``gaussian`` for one step.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range.

    Notes
    -----
    Proved, and believed to be loose. The lower curve reveals the permutation, so that one step an
    epoch holds the record and nothing hides in which one: no amplification by shuffling is proved
    at noise of this size. The upper curve is an attack on data whose other contributions are all
    the same: the average ratio of the steps for "replace", the largest output for "zero-out".
    Poisson accounting of a shuffled training claims less than this attack reaches: see
    ``interval``.

    References
    ----------
    Chua et al., "How private are DP-SGD implementations?" (arXiv 2403.17673) and "Scalable DP-SGD:
    shuffling vs. Poisson subsampling" (arXiv 2411.04205).

    Examples
    --------
    >>> low, high = shuffled_gaussian(1.0, 100).interval("epsilon", 1e-5)
    >>> print(round(low, 2), round(high, 2))
    5.4 10.0
    """
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    slots = validation.steps("num_steps", num_steps)
    epochs = validation.steps("num_epochs", num_epochs)
    relation = validation.choice("neighbours", neighbours, _RELATIONS)
    premise = Premise(relation, (SHUFFLED, EXACT_NOISE))
    moved = 2.0 if relation == "replace" else 1.0
    mu = moved / noise
    if slots == 1:
        return gaussian(mu * math.sqrt(epochs))._about(premise)
    validation.count("num_steps", slots, 1, MOST_STEPS, why=": compose fewer steps")
    validation.count("num_epochs", epochs, 1, _MOST_EPOCHS, why=": compose fewer epochs")
    twice = "2 * " if relation == "replace" else ""
    require_noise(noise, moved, slots, f"gaussian({twice}sqrt(num_epochs) / noise_multiplier)")
    name = (
        f"shuffled_gaussian(noise_multiplier={noise!r}, num_steps={slots}, num_epochs={epochs}, "
        f"neighbours={relation!r})"
    )
    parts: Parts = [(GaussianStep(mu * math.sqrt(epochs), 1.0), 1)]
    view = AllocatedEpoch if relation == "replace" else LargestOutput
    attack: Parts = [(view(mu=mu, slots=slots), epochs)]
    return ComposedTradeOff(parts, "guarantee", "informed", name, premise, attack)
