"""One Newton step of a convex fit: how much a record gains is known from its own margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.shadow import _laws, arrays
from leakscore.shadow._signals import sigmoid
from leakscore.shadow.arrays import ModelSums, Shadow, Side, Sides
from leakscore.typing import Counts, Doubles, Flags

Influence: TypeAlias = 'Literal["global", "per-record"] | npt.ArrayLike'

_LARGEST = 1e100  # influence whose squares do not overflow


def one_step(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    influence: Influence = "global",
) -> Doubles:
    """Score records by what one Newton step of a fit adds to the margin of a record it is made of.

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        Logit margins of a target model, or of S of them, at N records.
    signals : (K, N) array_like
        The same of K >= 2 shadow models, read where they lie. Augmentations are not taken.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    influence : {"global", "per-record"} or float or (N,) array_like
        How much a step adds, g >= 0: one for all records, fitted; one for each, fitted and drawn to
        the common one (from 64 models on); or as given, as `logistic_law` predicts it.

    Returns
    -------
    (N,) or (S, N) ndarray
        Scores, larger for members.

    Raises
    ------
    ValueError
        If there is one model only, or no record with models on both sides to fit the influence to;
        if signals are NaN or infinite, or most of them constant; if shapes do not fit.

    Notes
    -----
    A record that is added to a convex fit moves its margin from t_out to t_in = t_out + g
    sigma(-t_in), exactly so for ridge regression. So the margins of models IN, pulled back by it,
    tell of the law OUT as well, and the law IN is that law pushed forward. Four models may then do
    what hundreds do for `lira`: with weakly regularised logistic regressions and boosting. On
    networks g sigma(-t) is a poor model, and the score falls far below `lira` on most of them;
    below `base` under strong regularisation and on forests. `choose` finds out.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.one_step([2.5, 0.5], signals, included).round(4)
    array([  1.7694, -14.3047])
    """
    return arrays.scored(OneStep(influence), observed, signals, included)


@dataclass(frozen=True)
class OneStep:
    """The options of `one_step`."""

    influence: Influence = "global"

    augmented = False

    def fit(self, shadow: Shadow) -> Pulled:
        """Sum over all models."""
        _refuse_single(shadow)
        sums = arrays.sums(shadow)
        steps = steps_of(shadow, sums.sides)
        return Pulled(sums, steps, steps)

    def scores(self, x: Doubles, sums: Pulled) -> Doubles:
        """Score signals by a change of variables from the OUT law to the IN law."""
        g = self._influence(sums)
        side = sums.back(g)
        v, nu = _variance(side)
        scale2 = v * (1.0 + 1.0 / side.models)
        up, down = sigmoid(x), sigmoid(-x)
        after = side.centred(x)
        before = after - g * down
        ratio = _laws.log_ratio((before, scale2, nu), (after, scale2, nu))
        return arrays.decided(ratio + np.log1p(g * up * down))

    def _influence(self, sums: Pulled) -> Doubles:
        """Return the influence of each record."""
        if isinstance(self.influence, str):
            how = validation.choice("influence", self.influence, ("global", "per-record"))
            return _fitted(sums, per_record=how == "per-record")
        records = sums.sums.shadow.num_records
        g = validation.per_coordinate("influence", self.influence, records)
        if np.max(g) > _LARGEST:
            raise ValueError(f"influence must be <= {_LARGEST:g}, not {float(np.max(g))!r}")
        return np.broadcast_to(g, (records,))


def _refuse_single(shadow: Shadow) -> None:
    if shadow.models < 2:
        raise ValueError(
            f"signals must be of K >= 2 models, not {shadow.models}: a variance takes two"
        )


def _fitted(pulled: Pulled, *, per_record: bool) -> Doubles:
    inside, outside = pulled.sums.sides
    both = (inside.models > 0) & (outside.models > 0)
    if not both.any():
        raise ValueError(
            "included must have models IN and OUT for some record, to fit the influence to; "
            "give the influence, or use more models"
        )
    gain, e = pulled.sums.sides.gain[both], pulled.steps.mean[both]
    g = np.full(both.size, max(0.0, _quotient(gain.sum(), e.sum())))
    if not per_record:
        return g
    share = 1.0 / inside.models[both] + 1.0 / outside.models[both]
    for _ in range(3):
        g = _drawn(_variance(pulled.back(g))[0][both] * share, gain, e, both)
    return g


def _drawn(w: Doubles, gain: Doubles, e: Doubles, both: Flags) -> Doubles:
    """Return each record's influence, drawn to the common one; gain and e of records in `both`."""
    g0 = max(0.0, _quotient((gain * e / w).sum(), (e * e / w).sum()))
    squares = e * e / (w * w)
    excess = (((gain - g0 * e) ** 2 - w) * squares).sum()
    tau2 = max(0.0, _quotient(excess, (e * e * squares).sum()))
    g = np.full(both.size, g0)
    g[both] = np.maximum(0.0, (g0 + tau2 * gain * e / w) / (1.0 + tau2 * e * e / w))
    return g


def _quotient(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0.0 else 0.0


def _variance(side: Side) -> tuple[Doubles, Doubles]:
    """Return the variances of all models, drawn to their prior, and the degrees of freedom."""
    prior = _laws.fitted(side, "at all")
    return _laws.shrunk(side.squares, side.dof, prior), prior.dof + side.dof


class NewtonSteps(NamedTuple):
    """Over the models IN of each record: mean of s = sigma(-t), its squares, and products with t.

    Centred; products are never above 0, as s falls where t rises.
    """

    mean: Doubles
    squares: Doubles
    products: Doubles


def steps_of(shadow: Shadow, sides: Sides) -> NewtonSteps:
    """Sum over all models that count: one read of the signals."""
    packed = sides.packed()
    return NewtonSteps(*_core.shadow_steps(shadow.signals, shadow.included, shadow.rows, packed))


@dataclass(frozen=True)
class Pulled:
    """All models of each record but those of a group, to be pulled back by any g."""

    sums: ModelSums
    steps: NewtonSteps
    before: NewtonSteps  # with the group: what has lost its digits is summed again

    def without(self, group: Counts) -> Pulled:
        """Leave the models of a group out."""
        remaining = self.sums.without(group)
        _refuse_single(remaining.shadow)
        steps = self._steps_without(group)
        if remaining.renewed.size:
            few = remaining.shadow.columns(remaining.renewed)
            again = steps_of(few, arrays.sums(few).sides)
            parts = zip(steps, again, strict=True)
            steps = NewtonSteps(*(arrays.put(a, remaining.renewed, b) for a, b in parts))
        return Pulled(remaining, steps, self.steps)

    def _steps_without(self, group: Counts) -> NewtonSteps:
        inside = self.sums.sides.inside
        mean, squares, products = self.steps
        for row in group:
            t, included = self.sums.shadow.line(row)
            count = inside.models - included
            remaining = np.maximum(count, 1.0)
            s = np.where(included, sigmoid(-t) - mean, 0.0)
            scaled = s * (inside.models / remaining)
            mean = np.where(count > 0, mean - s / remaining, 0.0)
            squares = np.where(count > 1, np.maximum(squares - scaled * s, 0.0), 0.0)
            products = np.minimum(products - scaled * inside.centred(t), 0.0)
            products = np.where(count > 1, products, 0.0)
            inside = inside.without(t, included)
        return NewtonSteps(mean, squares, products)

    def back(self, g: Doubles) -> Side:
        """Return the sums of t - g s IN and t OUT, over both sides: all models as models OUT."""
        side = _pulled_back(self.sums.sides, self.steps, g)
        lost = side.squares < arrays.LOST * g * g * self.before.squares
        which = np.flatnonzero(lost & (self.steps.squares < self.before.squares))
        if not which.size:
            return side
        few = self.sums.shadow.columns(which)
        sides = arrays.sums(few).sides
        squares = _pulled_back(sides, steps_of(few, sides), g[which]).squares
        return side._replace(squares=arrays.put(side.squares, which, squares))


def _pulled_back(sides: Sides, steps: NewtonSteps, g: Doubles) -> Side:
    """Sum squares within the sides and between their means: of terms that are not negative."""
    inside, outside = sides
    count = inside.models + outside.models
    share = inside.models / count
    alone = outside.models == 0.0
    between = np.where(alone | (inside.models == 0.0), 0.0, sides.gain - g * steps.mean)
    within = inside.squares + g * (g * steps.squares - 2.0 * steps.products)
    squares = within + outside.squares + share * outside.models * between * between
    return Side(
        count,
        np.where(alone, inside.centre, outside.centre),
        np.where(alone, inside.rest - g * steps.mean, outside.rest + share * between),
        squares,
    )
