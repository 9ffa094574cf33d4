"""Steps that hardly ever hold the record: one even lattice cannot span their losses.

Losses of a size of 20 that come once in a million steps, beside a usual loss of a millionth: a
lattice of octaves holds both. Its sums take only products of positive numbers, so that masses of
1e-30 are as certain as any.
"""

from __future__ import annotations

import numpy as np

from leakscore.tradeoff.composition.caps import Part, Parts
from leakscore.tradeoff.composition.losses import AllocatedSteps, GaussianStep
from leakscore.tradeoff.octaves.curves import Losses, log_losses
from leakscore.tradeoff.octaves.known import KnownLaw, MixedStep
from leakscore.tradeoff.octaves.law import joined, power
from leakscore.tradeoff.octaves.one_step import Component, loss_step

_MOST_SHIFT = 16.0  # beyond, a lattice takes too many octaves
_MOST_RATE = 1e-3  # beyond, an even lattice is the finer one
_WORK = 1e7  # octaves times n^2 of one law


def fits(parts: Parts) -> bool:
    """Whether all steps are hardly ever sampled steps with Gaussian noise."""
    return all(_fits(part) for part, _ in parts)


def _fits(part: Part) -> bool:
    if isinstance(part, AllocatedSteps) or not isinstance(part, (GaussianStep, MixedStep)):
        return False
    return all(one.rate <= _MOST_RATE and one.mu <= _MOST_SHIFT for one in _components(part))


def _components(part: GaussianStep | MixedStep) -> tuple[Component, ...]:
    if isinstance(part, MixedStep):
        return part.components
    return (Component(1.0, part.mu, part.rate),)


def rare_losses(parts: Parts) -> Losses:
    """Give the law of the loss of the whole sequence."""
    statistic = not any(isinstance(part, KnownLaw) and part.guarantee for part, _ in parts)
    laws, start = [], 0.0
    for part, count in parts:
        components = _components(part)  # type: ignore[arg-type]
        widest = max(one.mu * (25.0 + one.mu) - np.log(one.rate) for one in components)
        half = 64 * round(float(np.sqrt(_WORK / (widest / np.log(2.0) + 10.0))) / 64)
        half = min(max(half, 128), 1024)
        one, least = loss_step(list(components), count, half, statistic)
        laws.append(power(one, count))
        start += count * least
    total = laws[0]
    for law in laws[1:]:
        total = joined(total, law)
    return log_losses(total, start)
