"""Each shadow model in turn scored by the others, and the choice of a score by it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit import Audit
from leakscore.shadow import arrays
from leakscore.shadow._base import Base
from leakscore.shadow._gains import OneStep, Paired
from leakscore.shadow._laws import Bayes, Difficulty, Lira
from leakscore.shadow.arrays import Shadow, ShadowScore
from leakscore.typing import Counts, Doubles

Name: TypeAlias = Literal["lira", "bayes", "one_step", "base", "paired", "difficulty"]
_SCORES: dict[str, Callable[..., ShadowScore]] = {
    "lira": Lira,
    "bayes": Bayes,
    "one_step": OneStep,
    "base": Base,
    "paired": Paired,
    "difficulty": Difficulty,
}
_ENOUGH_FOR_PAIRED = 8


def leave_one_model_out(
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    score: Name = "lira",
    groups: npt.ArrayLike | None = None,
    **options: Any,
) -> Doubles:
    """Score each shadow model by the others.

    Parameters
    ----------
    signals : (K, N) or (K, N, A) array_like
        Signals of K models at N records, read where they lie.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    score : {"lira", "bayes", "one_step", "base", "paired", "difficulty"}
        Function of that name by which to score.
    groups : (K,) array_like of int, optional
        Groups of models: with each target, all models of its group are left out. Needed for
        balanced designs.
    **options
        Options of the function.

    Returns
    -------
    (K, N) ndarray
        Scores, larger for members.

    Raises
    ------
    ValueError
        As the function raises without the models left out; an `influence` per record must be given
        to "one_step" for all of them.

    Warns
    -----
    UserWarning
        In a balanced design, where each record is in exactly K / 2 models, unless complementary
        pairs are left out together: ``groups=[0, 0, 1, 1, ...]``. A member has one IN model fewer
        than a non-member, and the score depends on the difference. Signals of pure noise then score
        an AUC of .37 (K = 6), .44 (8) or .49 (16) by "lira" and of .42, .45 or .48 by "bayes",
        instead of .50. Of members that are one standard deviation away "lira" detects .004 (K = 8)
        or .032 (16) at a false-positive rate of .01, instead of .024 or .043 with fresh targets.
        Without such pairs, score targets that are not shadow models.

    Notes
    -----
    The same as K calls of the function, each without the target's group, and with priors,
    influences, curves and pooled variances fitted again. Sums are down-dated; only those that would
    lose digits are added up again. So the signals are read once for the sums, and once as targets.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> rng = np.random.default_rng(0)
    >>> included = np.tile([[True], [False]], (8, 1)) ^ (rng.random((1, 500)) < 0.5)
    >>> signals = rng.normal(size=(16, 500)) + included
    >>> scores = leakscore.shadow.leave_one_model_out(
    ...     signals, included, score="bayes", groups=np.arange(16) // 2
    ... )
    >>> bool(scores[included].mean() > scores[~included].mean())
    True
    """
    kind = _SCORES[validation.choice("score", score, tuple(_SCORES))]
    unknown = [name for name in options if name not in signature(kind).parameters]
    if unknown:
        raise TypeError(
            f"options must be of leakscore.shadow.{score}, which has no {', '.join(unknown)}"
        )
    rule = kind(**options)
    shadow = arrays.read(signals, included, augmented=rule.augmented)
    together = _groups(groups, shadow.models)
    _warn_of_design(shadow, together)
    return _score_groups(rule, shadow, together)


def _warn_of_design(shadow: Shadow, together: list[Counts]) -> None:
    """Warn the caller's caller if a record's number of models shows whether it is a member."""
    if arrays.counts_tell_members(shadow, together):
        warnings.warn(
            "The records are in as many models each, not by coins of their own: without the "
            "target, members are in one model less, and the scores see it; attacks are "
            "understated. Pass groups of models that leave every record in equally many, such as "
            "complementary pairs, or score targets that are none of the shadow models",
            stacklevel=3,
        )


def _score_groups(rule: ShadowScore, shadow: Shadow, groups: list[Counts]) -> Doubles:
    """Score each model of each group by the models of the others."""
    sums = rule.fit(shadow)
    if isinstance(rule, Lira) and all(rows.size == 1 for rows in groups):
        result = rule.left_out_in_one_pass(sums)
        if result is not None:
            return result
    result = np.empty((shadow.models, shadow.num_records))
    for rows in groups:
        scores = rule.scores(shadow.signals[rows].astype(np.float64), sums.without(rows))
        result[rows] = scores.mean(axis=-1) if scores.ndim == 3 else scores
    return result


def _groups(groups: npt.ArrayLike | None, models: int) -> list[Counts]:
    """Return the models of each group, in order."""
    if groups is None:
        return list(np.arange(models, dtype=np.int64).reshape(models, 1))
    array = validation.real_array("groups", groups)
    validation.require_size("groups", array, models, ", one a model")
    if array.dtype.kind not in "iu":
        raise TypeError(f"groups must hold integers, not dtype {array.dtype}")
    members = [np.flatnonzero(array == group).astype(np.int64) for group in np.unique(array)]
    if len(members) < 2:
        raise ValueError(
            "There must be two groups at least: without its group, a target has no models"
        )
    return members


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
        Logit margins of K models at N records. A few thousand records suffice.
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
        If no score can be computed from the remaining models; if signals are NaN or infinite; if
        shapes do not fit.

    Warns
    -----
    UserWarning
        In a balanced design without complementary pairs, as `leave_one_model_out` does: "one_step"
        is understated, .024 at a false-positive rate of .01 where fresh targets give .031 (K = 8).

    Notes
    -----
    Each group is scored by the others, and all K N scores are pooled with the known memberships: no
    label of a target is used. Ties go to the first of the three. "paired" is tried from eight
    models on. From there on the choice is as good as the better of `base` and `bayes`, within the
    noise, or better; with four models it may not be.

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
    together = _groups(arrays.pair_groups(shadow) if groups is None else groups, shadow.models)
    members = shadow.included != 0
    if members.all() or not members.any():
        raise ValueError("included must hold both records that were and were not trained on")
    names = ("base", "one_step", "paired")[: 3 if shadow.models >= _ENOUGH_FOR_PAIRED else 2]
    rates, reasons = {}, []
    for name in names:
        try:
            scores = _score_groups(_SCORES[name](), shadow, together)
        except ValueError as error:
            reasons.append(f"{name}: {error}")
            continue
        audit = Audit(scores[members], scores[~members])
        rates[name] = audit.auc() if rate is None else float(audit.tpr_at(rate))
    if not rates:
        raise ValueError(
            f"signals and included must have models enough to leave some out; {reasons[0]}"
        )
    _warn_of_design(shadow, together)
    return max(rates, key=rates.__getitem__), rates
