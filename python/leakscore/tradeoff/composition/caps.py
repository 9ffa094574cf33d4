"""Steps whose shift is too large for a lattice: a more and a less informative pair replace them.

- More informative: with probability `rate` the loss is infinite under H1, otherwise the step
  reveals nothing. Any pair H0, (1 - rate) H0 + rate H' is a post-processing of that one.
- Less informative: the same step with a smaller shift, because an attacker can shrink the output
  and add noise. Normal and Laplace laws are self-decomposable: cX + Y has the law of X for some Y
  that is independent of X. For a magnitude the attacker first adds a random sign.
"""

from __future__ import annotations

import math
from dataclasses import replace

from leakscore.tradeoff.composition.losses import Step
from leakscore.tradeoff.octaves.known import KnownLaw

Part = Step | KnownLaw
Parts = list[tuple[Part, int]]


def revealed(parts: Parts) -> tuple[Parts, float]:
    """Return the steps that fit a lattice, and log P(no infinite loss | H1) of the others.

    The curve of the sequence lies above that probability times the curve of the returned steps.
    """
    log_none = 0.0
    for step, count in parts:
        if step.far:
            log_none += -math.inf if step.rate == 1.0 else count * math.log1p(-step.rate)
    # Rounded down: a few units in the last place of each term.
    return [part for part in parts if not part[0].far], log_none * (1.0 + 1e-14)


def shrunk(parts: Parts) -> Parts:
    """Return steps that fit a lattice and are no more informative."""
    kept: dict[Part, int] = {}
    for step, count in parts:
        fitting = step
        if isinstance(step, Step) and step.far:
            fitting = replace(step, mu=step.largest)
        kept[fitting] = kept.get(fitting, 0) + count
    return list(kept.items())
