"""One Newton step of a convex fit: how much a record gains is known from its own margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _validate
from leakscore._types import Doubles, Flags
from leakscore.shadow.sides import arrays, confidences, moments, student, variances
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import Sides

Influence: TypeAlias = 'Literal["global", "per-record"] | npt.ArrayLike'


@dataclass(frozen=True)
class Known:
    """What one influence g of each record makes of the models: all of them tell of the OUT law."""

    g: Doubles
    sides: Sides  # every model OUT


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
    shadow = arrays.read(signals, included, augmented=False)
    targets = arrays.targets(observed, shadow)
    return targets.finish(scored(targets.values, known(shadow, influence)))


def known(shadow: Shadow, influence: Influence) -> Known:
    """Fit the influence, unless it is given, and pull all models back."""
    refuse_one(shadow)
    g = given(shadow, influence)
    return Known(g, pulled_back(shadow, g))


def refuse_one(shadow: Shadow) -> None:
    """Refuse a single model."""
    if shadow.models < 2:
        raise ValueError(
            f"Expected signals of K >= 2 models, not {shadow.models}: a variance takes two"
        )


def given(shadow: Shadow, influence: Influence) -> Doubles:
    """Return the influence of each record."""
    if isinstance(influence, str):
        how = _validate.choice("influence", influence, ("global", "per-record"))
        return _fitted(shadow, per_record=how == "per-record")
    g = _validate.per_coordinate("influence", influence, shadow.num_records)
    return np.broadcast_to(g, (shadow.num_records,))


def pulled_back(shadow: Shadow, g: Doubles) -> Sides:
    """Sum t - included g sigma(-t) over all models, as models OUT."""
    parts = []
    models = np.arange(shadow.models, dtype=np.int64)
    for where, t, inside in shadow.blocks():
        u = np.where(inside, t - g[where] * sigmoid(-t), t)
        nobody = np.broadcast_to(np.zeros(1, dtype=np.uint8), u.shape)
        side = moments.of(Shadow(u, nobody, models)).outside
        parts.append(np.stack([side.centre, side.rest, side.squares]))
    centre, rest, squares = np.concatenate(parts, axis=1)
    count = np.full(centre.size, float(shadow.models))
    none = moments.Side(*np.zeros((4, centre.size)))
    return Sides(none, moments.Side(count, centre, rest, squares))


def sigmoid(t: Doubles) -> Doubles:
    """Return 1 / (1 + exp(-t)), relatively accurate in both tails."""
    from scipy.special import expit

    return np.asarray(expit(t))


def _fitted(shadow: Shadow, *, per_record: bool) -> Doubles:
    sides = moments.of(shadow)
    inside, outside = sides.inside, sides.outside
    both = (inside.count > 0) & (outside.count > 0)
    if not both.any():
        raise ValueError(
            "Expected included with models IN and OUT for some record, to fit the influence to; "
            "give the influence, or use more models"
        )
    sums = confidences.sums(shadow, "minus-margin")
    gain, e = sides.gain[both], sums.sum_in[both] / inside.count[both]
    g = np.full(both.size, max(0.0, _quotient(gain.sum(), e.sum())))
    if not per_record:
        return g
    share = 1.0 / inside.count[both] + 1.0 / outside.count[both]
    for _ in range(3):
        g = _drawn(_variance(pulled_back(shadow, g))[0][both] * share, gain, e, both)
    return g


def _drawn(w: Doubles, gain: Doubles, e: Doubles, both: Flags) -> Doubles:
    """Return each record's influence, drawn to the common one; gain and e of records in `both`."""
    g0 = max(0.0, _quotient((gain * e / w).sum(), (e * e / w).sum()))
    squares = e * e / (w * w)
    tau2 = max(
        0.0, _quotient((((gain - g0 * e) ** 2 - w) * squares).sum(), (e * e * squares).sum())
    )
    g = np.full(both.size, g0)
    g[both] = np.maximum(0.0, (g0 + tau2 * gain * e / w) / (1.0 + tau2 * e * e / w))
    return g


def _quotient(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0.0 else 0.0


def _variance(sides: Sides) -> tuple[Doubles, Doubles]:
    """Return the variances of all models, drawn to their prior, and the degrees of freedom."""
    side = sides.outside
    prior = variances.fitted(side, "at all")
    return variances.shrunk(side.squares, side.dof, prior), prior.dof + side.dof


def scored(x: Doubles, model: Known) -> Doubles:
    """Score signals by a change of variables from the OUT law to the IN law."""
    side = model.sides.outside
    v, nu = _variance(model.sides)
    scale = np.sqrt(v * (1.0 + 1.0 / side.count))
    up, down = sigmoid(x), sigmoid(-x)
    after = side.centred(x)
    before = after - model.g * down
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = student.log_kernel(before / scale, nu) - student.log_kernel(after / scale, nu)
    return arrays.decided(ratio + np.log1p(model.g * up * down))
