"""Every shadow model in turn as the target, the others as its shadow models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.shadow import _base, _baselines, _bayes, _lira, _one_step, _paired
from leakscore.shadow.sides import arrays, confidences, moments, pairs, steps
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import Sides
from leakscore.typing import Counts, Doubles, Flags

Score: TypeAlias = Literal[
    "lira", "bayes", "one_step", "base", "paired", "difficulty", "reference_rank"
]
_SCORES = ("lira", "bayes", "one_step", "base", "paired", "difficulty", "reference_rank")
_WITHOUT_AUGMENTATIONS = ("one_step", "base", "paired")
OfSides: TypeAlias = Callable[[Doubles, Sides], Doubles]


def leave_one_model_out(
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    score: Score = "lira",
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
    score : {"lira", "bayes", "one_step", "base", "paired", "difficulty", "reference_rank"}
        Function of that name by which to score.
    groups : (K,) array_like of int, optional
        Models that are left out together: with each target, all of its group. Needed for balanced
        designs.
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
        pairs are left out together: ``groups=[0, 0, 1, 1, ...]``. A member keeps one IN model less
        than a non-member, the score sees the difference, and signals of pure noise score an AUC of
        .37 (K = 6), .44 (8) or .49 (16) by "lira" and of .42, .45 or .48 by "bayes", in the place
        of .50; of members that are one standard deviation away "lira" finds .004 (K = 8) or .032
        (16) at a false-positive rate of .01, where it finds .024 or .043 of fresh targets. Without
        such pairs, score targets that are none of the shadow models.

    Notes
    -----
    The same as K calls of the function, each without the target's group, its priors, influences,
    curves and pooled variances fitted anew. Sums are not added up anew but down-dated, but for
    those that would lose digits: the signals are read once for the sums, and once as targets.

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
    name = validation.choice("score", score, _SCORES)
    shadow = arrays.read(signals, included, augmented=name not in _WITHOUT_AUGMENTATIONS)
    together = group_rows(groups, shadow.models)
    if pairs.tell_members(shadow, together):
        warnings.warn(
            "The records are in as many models each, not by coins of their own: without the "
            "target, members are in one model less, and the scores see it; attacks are "
            "understated. Pass groups of models that leave every record in equally many, such as "
            "complementary pairs, or score targets that are none of the shadow models",
            stacklevel=2,
        )
    return scores_of(name, shadow, together, options)


def scores_of(
    name: str, shadow: Shadow, together: list[Counts], options: dict[str, Any]
) -> Doubles:
    """Score each model of each group by the models of the others."""
    if name == "lira":
        return _lira_scores(shadow, together, _lira.options(**options))
    if name == "bayes":
        chosen = _bayes.options(**options)
        return _each(shadow, together, lambda x, sides: _bayes.scored(x, sides, chosen))
    if name == "base":
        return _base_scores(shadow, together, options)
    if name == "one_step":
        return _one_step_scores(shadow, together, **options)
    if options:
        raise TypeError(f"Expected no options for score={name!r}, not {', '.join(options)}")
    if name == "paired":
        return _paired_scores(shadow, together)
    if name == "difficulty":
        return _each(shadow, together, _baselines.easier)
    return _rank_scores(shadow, together)


def group_rows(groups: npt.ArrayLike | None, models: int) -> list[Counts]:
    """Return the models of each group, in order."""
    if groups is None:
        return list(np.arange(models, dtype=np.int64).reshape(models, 1))
    array = validation.real_array("groups", groups)
    if array.shape != (models,):
        raise ValueError(f"Expected groups of shape {array.shape} to be ({models},), one a model")
    if array.dtype.kind not in "iu":
        raise TypeError(f"Expected groups to hold integers, not dtype {array.dtype}")
    found = [np.flatnonzero(array == group) for group in np.unique(array)]
    if len(found) < 2:
        raise ValueError("Expected two groups at least: without its group, a target has no models")
    return [rows.astype(np.int64) for rows in found]


def _result(shadow: Shadow) -> Doubles:
    return np.empty((shadow.models, shadow.num_records))


def _signals(shadow: Shadow, rows: Counts) -> Doubles:
    return shadow.signals[rows].astype(np.float64)


def _averaged(scores: Doubles) -> Doubles:
    return scores.mean(axis=-1) if scores.ndim == 3 else scores


def _down_dated(
    shadow: Shadow, together: list[Counts], sides: Sides
) -> Iterator[tuple[Counts, Sides]]:
    """Yield the sums of both sides without each group."""
    for rows in together:
        yield rows, moments.without(shadow, sides, rows).sides


def _each(shadow: Shadow, together: list[Counts], scored: OfSides) -> Doubles:
    """Score by sums that are down-dated."""
    result = _result(shadow)
    for rows, sides in _down_dated(shadow, together, moments.of(shadow)):
        result[rows] = _averaged(scored(_signals(shadow, rows), sides))
    return result


def _lira_scores(shadow: Shadow, together: list[Counts], chosen: _lira.LiraOptions) -> Doubles:
    sides = moments.of(shadow)

    def scored(x: Doubles, without: Sides) -> Doubles:
        return _lira.scored(x, without, chosen)

    if not chosen.medians:
        alone = all(rows.size == 1 for rows in together)
        counts = np.minimum(sides.inside.count, sides.outside.count)
        plain = shadow.signals.ndim == 2 and chosen.variance == "per-record"
        if alone and plain and counts.min() >= 3:
            return _in_one_pass(shadow, sides, chosen)
        return _each(shadow, together, scored)
    result = _result(shadow)
    middles = moments.middles(shadow)
    for rows, without in _down_dated(shadow, together, sides):
        located = _with_medians(shadow, rows, without, sides, middles)
        result[rows] = _averaged(scored(_signals(shadow, rows), located))
    return result


def _in_one_pass(shadow: Shadow, sides: Sides, chosen: _lira.LiraOptions) -> Doubles:
    """Score by each record's own variances: sums, down-dates and scores in C++."""
    online = chosen.kind == "online"
    result = _result(shadow)
    lost = _core.shadow_left_out(
        shadow.signals, shadow.included, shadow.rows, sides.packed(), online, result
    )
    for row in shadow.rows:
        which = np.flatnonzero(np.isnan(result[row])) if lost else shadow.rows[:0]
        if which.size:
            few = shadow.columns(which)
            x, anew = few.signals[row].astype(np.float64), moments.of(few.without(row))
            scored = _lira.scored if online else _lira.deviations
            result[row, which] = scored(x, anew, chosen)
        if not online:
            result[row] = _lira.from_deviations(result[row], chosen)
    return result


def _with_medians(
    shadow: Shadow, rows: Counts, without: Sides, sides: Sides, middles: Doubles
) -> Sides:
    """Return the sides without a group, about their medians."""
    if rows.size > 1:
        left = moments.middles(shadow.without(rows))[..., 1]
        inside, outside = left[..., 0], left[..., 1]
    else:
        x = shadow.signals[rows[0]].astype(np.float64)
        mine = (shadow.included[rows[0]] != 0).reshape(-1, *[1] * (x.ndim - 1))
        inside = _median_without(x, mine, sides.inside.count, middles[..., 0, :])
        outside = _median_without(x, ~mine, sides.outside.count, middles[..., 1, :])
    return moments.with_medians(without, inside, outside)


def _median_without(x: Doubles, mine: Flags, count: Doubles, middle: Doubles) -> Doubles:
    """Return the median without x where x is `mine`, from the values about the middle."""
    before, at, after = middle[..., 0], middle[..., 1], middle[..., 2]
    # Of an odd number, two values are left in the middle: x takes its place with it.
    low, high = np.where(x <= at, at, before), np.where(x < at, after, at)
    low, high = np.where(x == at, before, low), np.where(x == at, after, high)
    low, high = np.where(x < at, at, low), np.where(x > at, at, high)
    odd = 0.5 * low + 0.5 * high
    even = np.where(x <= before, after, before)
    return np.where(mine, np.where(count % 2 == 1, odd, even), at)


def _base_scores(shadow: Shadow, together: list[Counts], options: dict[str, Any]) -> Doubles:
    mean = confidences.mean_of(
        options.pop("kind", "online"), options.pop("a", 0.3), options.pop("signal", "margin")
    )
    if options:
        raise TypeError(f"Expected options of leakscore.shadow.base, not {', '.join(options)}")
    sums = confidences.with_rest(shadow, confidences.added(shadow, mean), mean)
    result = _result(shadow)
    for rows in together:
        others = confidences.without(shadow, sums, rows, mean)
        confidences.refuse_missing(others, mean)
        result[rows] = _base.scored(_signals(shadow, rows), shadow.without(rows), others, mean)
    return result


def _rank_scores(shadow: Shadow, together: list[Counts]) -> Doubles:
    arrays.finite("signals", shadow.signals)
    if any(rows.size > 1 for rows in together):
        result = _result(shadow)
        for rows in together:
            result[rows] = _averaged(_baselines.ranks(shadow.signals[rows], shadow.without(rows)))
        return result
    outside = shadow.included == 0
    count = _baselines.counts_out(shadow) - outside
    arrays.refuse_few((count < 1).any(axis=0), _baselines.OUT, _baselines.REMEDY)
    below = _baselines.below(shadow.signals, shadow)
    wide = (..., *[np.newaxis] * (below.ndim - 2))
    # A model OUT ties with itself, which counts half.
    return _averaged((below - 0.5 * outside[wide]) / count[wide])


def _one_step_scores(
    shadow: Shadow, together: list[Counts], influence: _one_step.Influence = "global"
) -> Doubles:
    """Score by an influence that is given, or fitted to the models that are left."""
    every = steps.all_models(shadow)
    result = _result(shadow)
    for rows in together:
        rest = steps.left_out(shadow, every, rows)
        _one_step.refuse_one(rest.shadow)
        result[rows] = _one_step.scored(_signals(shadow, rows), _one_step.known(rest, influence))
    return result


def _paired_scores(shadow: Shadow, together: list[Counts]) -> Doubles:
    every, masks = _paired.whole(shadow), pairs.masks(shadow)
    result = _result(shadow)
    for rows in together:
        rest = _paired.left_out(shadow, every, masks, rows)
        result[rows] = _paired.scored(_signals(shadow, rows), _paired.laws(rest))
    return result
