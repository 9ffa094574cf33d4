"""One Newton step of a convex fit: how much a record gains is known from its own margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.shadow.sides import arrays, steps, student, variances
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import Side
from leakscore.shadow.sides.steps import Pulled
from leakscore.typing import Doubles, Flags

Influence: TypeAlias = 'Literal["global", "per-record"] | npt.ArrayLike'

_LARGEST = 1e100  # influence whose squares do not overflow


@dataclass(frozen=True)
class InfluenceSums:
    """What one influence g of each record makes of the models: all of them tell of the OUT law."""

    g: Doubles
    side: Side


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
    refuse_one(shadow)
    return targets.finish(scored(targets.values, known(steps.all_models(shadow), influence)))


def known(pulled: Pulled, influence: Influence) -> InfluenceSums:
    """Fit the influence, unless it is given, and pull all models back."""
    g = given(pulled, influence)
    return InfluenceSums(g, pulled.back(g))


def refuse_one(shadow: Shadow) -> None:
    """Refuse a single model."""
    if shadow.models < 2:
        raise ValueError(
            f"Expected signals of K >= 2 models, not {shadow.models}: a variance takes two"
        )


def given(pulled: Pulled, influence: Influence) -> Doubles:
    """Return the influence of each record."""
    if isinstance(influence, str):
        how = validation.choice("influence", influence, ("global", "per-record"))
        return _fitted(pulled, per_record=how == "per-record")
    records = pulled.shadow.num_records
    g = validation.per_coordinate("influence", influence, records)
    if np.max(g) > _LARGEST:
        raise ValueError(f"Expected influence <= {_LARGEST:g}, not {float(np.max(g))!r}")
    return np.broadcast_to(g, (records,))


def _fitted(pulled: Pulled, *, per_record: bool) -> Doubles:
    inside, outside = pulled.sides.inside, pulled.sides.outside
    both = (inside.count > 0) & (outside.count > 0)
    if not both.any():
        raise ValueError(
            "Expected included with models IN and OUT for some record, to fit the influence to; "
            "give the influence, or use more models"
        )
    gain, e = pulled.sides.gain[both], pulled.steps.mean[both]
    g = np.full(both.size, max(0.0, _quotient(gain.sum(), e.sum())))
    if not per_record:
        return g
    share = 1.0 / inside.count[both] + 1.0 / outside.count[both]
    for _ in range(3):
        g = _drawn(_variance(pulled.back(g))[0][both] * share, gain, e, both)
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


def _variance(side: Side) -> tuple[Doubles, Doubles]:
    """Return the variances of all models, drawn to their prior, and the degrees of freedom."""
    prior = variances.fitted(side, "at all")
    return variances.shrunk(side.squares, side.dof, prior), prior.dof + side.dof


def scored(x: Doubles, model: InfluenceSums) -> Doubles:
    """Score signals by a change of variables from the OUT law to the IN law."""
    v, nu = _variance(model.side)
    scale2 = v * (1.0 + 1.0 / model.side.count)
    up, down = steps.sigmoid(x), steps.sigmoid(-x)
    after = model.side.centred(x)
    before = after - model.g * down
    ratio = student.log_ratio((before, scale2, nu), (after, scale2, nu))
    return arrays.decided(ratio + np.log1p(model.g * up * down))
