"""Steps s = sigma(-t) of the models IN, and all models pulled back by g s: sums without a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakscore import _core
from leakscore.shadow.sides import moments
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import LEAST_LEFT, Side, Sides
from leakscore.typing import Counts, Doubles


@dataclass(frozen=True)
class Steps:
    """Over the models IN of each record: mean of s, its squares, and products with t, centred.

    Products are never above 0, as s falls where t rises.
    """

    mean: Doubles
    squares: Doubles
    products: Doubles


def sigmoid(t: Doubles) -> Doubles:
    """Return 1 / (1 + exp(-t)), relatively accurate in both tails."""
    from scipy.special import expit

    return np.asarray(expit(t))


def of(shadow: Shadow, sides: Sides) -> Steps:
    """Sum over all models that count: one read of the signals."""
    packed = sides.packed()
    return Steps(*_core.shadow_steps(shadow.signals, shadow.included, shadow.rows, packed))


def without(shadow: Shadow, sides: Sides, steps: Steps, group: Counts) -> Steps:
    """Leave the models of a group out."""
    inside = sides.inside
    mean, squares, products = steps.mean, steps.squares, steps.products
    for row in group:
        t, mine = moments.line(shadow, row)
        left = np.maximum(inside.count - mine, 1.0)
        s = np.where(mine, sigmoid(-t) - mean, 0.0)
        scaled = s * (inside.count / left)
        some, several = inside.count - mine > 0, inside.count - mine > 1
        mean = np.where(some, mean - s / left, 0.0)
        squares = np.where(several, np.maximum(squares - scaled * s, 0.0), 0.0)
        products = np.where(several, np.minimum(products - scaled * inside.centred(t), 0.0), 0.0)
        inside = moments.side_without(inside, t, mine)
    return Steps(mean, squares, products)


def pulled_back(sides: Sides, steps: Steps, g: Doubles) -> Side:
    """Return the sums of t - g s IN and t OUT, over both sides.

    Squares within the sides and between their means: of terms that are not negative.
    """
    inside, outside = sides.inside, sides.outside
    count = inside.count + outside.count
    share = inside.count / count
    alone = outside.count == 0.0
    between = np.where(alone | (inside.count == 0.0), 0.0, sides.gain - g * steps.mean)
    within = inside.squares + g * (g * steps.squares - 2.0 * steps.products)
    squares = within + outside.squares + share * outside.count * between * between
    return Side(
        count,
        np.where(alone, inside.centre, outside.centre),
        np.where(alone, inside.rest - g * steps.mean, outside.rest + share * between),
        squares,
    )


@dataclass(frozen=True)
class Pulled:
    """All models of each record but those of a group, to be pulled back by any g."""

    shadow: Shadow
    sides: Sides
    steps: Steps
    before: Steps  # with the group: what has lost its digits is summed anew

    def back(self, g: Doubles) -> Side:
        """Return the sums of all models as models OUT."""
        side = pulled_back(self.sides, self.steps, g)
        lost = side.squares < LEAST_LEFT * g * g * self.before.squares
        which = np.flatnonzero(lost & (self.steps.squares < self.before.squares))
        if not which.size:
            return side
        few = self.shadow.columns(which)
        sides = moments.of(few)
        squares = pulled_back(sides, of(few, sides), g[which]).squares
        return Side(side.count, side.centre, side.rest, moments.put(side.squares, which, squares))


def all_models(shadow: Shadow) -> Pulled:
    """Sum over all models."""
    sides = moments.of(shadow)
    steps = of(shadow, sides)
    return Pulled(shadow, sides, steps, steps)


def left_out(shadow: Shadow, every: Pulled, group: Counts) -> Pulled:
    """Leave the models of a group out."""
    rest = shadow.without(group)
    left = moments.without(shadow, every.sides, group)
    steps = without(shadow, every.sides, every.steps, group)
    if left.anew.size:
        few = rest.columns(left.anew)
        anew = of(few, moments.of(few))
        steps = Steps(
            moments.put(steps.mean, left.anew, anew.mean),
            moments.put(steps.squares, left.anew, anew.squares),
            moments.put(steps.products, left.anew, anew.products),
        )
    return Pulled(rest, left.sides, steps, every.steps)
