"""The score that does best on the shadow models themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.shadow import _left_out
from leakscore.shadow.sides import arrays, pairs
from leakscore.shadow.sides.arrays import Shadow
from leakscore.typing import Counts, Doubles, Flags

_ENOUGH_FOR_PAIRED = 8


def choose(
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    fpr: float | None = 0.01,
    groups: npt.ArrayLike | None = None,
) -> tuple[str, dict[str, float]]:
    """Choose between `base`, `one_step` and `paired` by leaving shadow models out: the default.

    Parameters
    ----------
    signals : (K, N) array_like
        Logit margins of K models at N records. Some thousand records do.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    fpr : float or None
        In (0, 1): the false-positive rate at which the true-positive rate counts. None: the AUC.
    groups : (K,) array_like of int, optional
        Models that are left out together. By default complementary pairs, if all models form such
        pairs, otherwise each model alone.

    Returns
    -------
    name : str
        "base", "one_step" or "paired": the function of this name.
    rates : dict
        The true-positive rate, or the AUC, of each score that could be computed.

    Raises
    ------
    ValueError
        If no score can be computed from the models that are left; if signals are NaN or infinite;
        if shapes do not fit.

    Notes
    -----
    Each group is scored by the others, and all K N scores are pooled with what is known of them: no
    label of a target is used. Ties go to the first of the three. "paired" is tried from eight
    models on. From there on the choice is as good as the better of `base` and `bayes`, within the
    noise, or better; with four models it may miss.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> rng = np.random.default_rng(0)
    >>> included = np.tile([[True], [False]], (8, 1)) ^ (rng.random((1, 500)) < 0.5)
    >>> signals = rng.normal(size=(16, 500)) + rng.normal(size=500) + 2 * included
    >>> name, rates = leakscore.shadow.choose(signals, included)
    >>> name == max(rates, key=rates.get)
    True
    """
    rate = None if fpr is None else validation.scalar("fpr", fpr, 0.0, 1.0, closed="neither")
    shadow = arrays.read(signals, included, augmented=False)
    arrays.finite("signals", shadow.signals)
    together = _groups(shadow, groups)
    members = shadow.included != 0
    if members.all() or not members.any():
        raise ValueError("Expected included to hold both records that were and were not trained on")
    names = ("base", "one_step", "paired")[: 3 if shadow.models >= _ENOUGH_FOR_PAIRED else 2]
    rates, reasons = {}, []
    for name in names:
        try:
            scores = _left_out.scores_of(name, shadow, together, {})
        except ValueError as error:
            reasons.append(f"{name}: {error}")
            continue
        rates[name] = _rate(scores, members, rate)
    if not rates:
        raise ValueError(
            f"Expected signals and included with models enough to leave some out; {reasons[0]}"
        )
    return max(rates, key=rates.__getitem__), rates


def _groups(shadow: Shadow, groups: npt.ArrayLike | None) -> list[Counts]:
    if groups is None:
        groups = pairs.groups(shadow)
    return _left_out.group_rows(groups, shadow.models)


def _rate(scores: Doubles, members: Flags, fpr: float | None) -> float:
    """Return the largest true-positive rate at a false-positive rate, or the AUC."""
    inside, outside = scores[members], np.sort(scores[~members])
    if fpr is None:
        twice = np.searchsorted(outside, inside, "left") + np.searchsorted(outside, inside, "right")
        return float(twice.mean() / (2.0 * outside.size))
    allowed = int(fpr * outside.size)
    return float((inside > outside[-1 - allowed]).mean())
