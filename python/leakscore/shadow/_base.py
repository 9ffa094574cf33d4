"""BASE and RMIA: the target's confidence against the mean confidence of the shadow models."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.shadow.sides import arrays, confidences
from leakscore.shadow.sides.arrays import Shadow, Targets
from leakscore.shadow.sides.confidences import ConfidenceMean, ConfidenceSums
from leakscore.typing import Array, Doubles


def base(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    kind: Literal["online", "offline"] = "online",
    a: float = 0.3,
    signal: Literal["margin", "log-confidence"] = "margin",
) -> Doubles:
    """Score records by their confidence in the target over their mean confidence elsewhere.

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        Signals of a target model, or of S of them, at N records.
    signals : (K, N) array_like
        The same of K shadow models, read where they lie. Augmentations are not taken.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    kind : {"online", "offline"}
        The mean of the models IN and that of the models OUT, half each; or what the models OUT
        alone say, ((1 + a) mean + (1 - a)) / 2.
    a : float
        In [0, 1], for "offline" only: how the mean IN follows from that OUT. The usual .3 can be
        far from the best.
    signal : {"margin", "log-confidence"}
        What signals are: logit margins, or logarithms of confidences.

    Returns
    -------
    (N,) or (S, N) ndarray
        log p of the target - log of the mean p: larger for members.

    Raises
    ------
    ValueError
        If a record has no model on a side that is needed; if signals are NaN or infinite, or
        log-confidences above 0; if `a` is out of its range; if shapes do not fit.

    Notes
    -----
    The logarithm of the ratio behind `rmia`, which for one target model is a non-decreasing
    function of this score, the same for all records: no ROC curve of RMIA lies above this one's.
    All is in logarithms, so that p = exp(-800) is no zero.

    References
    ----------
    .. [1] M. Lassila et al., "Practical Bayes-Optimal Membership Inference Attacks" (2025).

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.base([2.5, 0.5], signals, included).round(4)
    array([ 0.1875, -0.2076])
    """
    mean = confidences.mean_of(kind, a, signal)
    shadow = arrays.read(signals, included, augmented=False)
    targets = _targets("observed", observed, shadow, mean)
    return targets.finish(scored(targets.values, shadow, confidences.added(shadow, mean), mean))


def _targets(name: str, observed: object, shadow: Shadow, mean: ConfidenceMean) -> Targets:
    found = arrays.targets(observed, shadow)
    confidences.refuse_positive(name, found.values, mean.margins)
    return found


def scored(x: Doubles, shadow: Shadow, sums: ConfidenceSums, mean: ConfidenceMean) -> Doubles:
    """Return log p - log pbar."""
    return confidences.log_confidences(x, mean.margins) - confidences.log_mean(shadow, sums, mean)


def rmia(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    population_observed: npt.ArrayLike,
    population_signals: npt.ArrayLike,
    *,
    gamma: float = 1.0,
    kind: Literal["online", "offline"] = "online",
    a: float = 0.3,
    signal: Literal["margin", "log-confidence"] = "margin",
) -> Doubles:
    """Rank records by their ratio of confidences among those of a population.

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        As in `base`.
    signals : (K, N) array_like
        As in `base`.
    included : (K, N) array_like of bool
        As in `base`.
    population_observed : (Z,) or (S, Z) array_like
        The targets' signals at Z other records, on which no model was trained.
    population_signals : (K, Z) array_like
        The shadow models' signals there.
    gamma : float
        Above 0: by what factor a record must beat another one of the population.
    kind : {"online", "offline"}
        As in `base`, for a record's mean confidence. That of the population is the mean over all
        models, with the same `a` for "offline".
    a : float
        As in `base`.
    signal : {"margin", "log-confidence"}
        As in `base`.

    Returns
    -------
    (N,) or (S, N) ndarray
        Share of the population whose ratio times `gamma` is below the record's, strictly.

    Raises
    ------
    ValueError
        As `base` does; if records are in the population too; if `gamma` is out of its range.

    Notes
    -----
    At one target model the score orders records as `base` does, in Z + 1 levels: no false-positive
    rate below 1 / Z is left. The population makes scores of several targets comparable; the score
    of a non-member is uniform for "offline", where records and population are treated alike, and
    not for "online". O((N + Z) log Z).

    References
    ----------
    .. [1] S. Zarifzadeh, P. Liu and R. Shokri, "Low-Cost High-Power Membership Inference Attacks"
       (ICML 2024).

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.rmia(
    ...     [2.5, 0.5], signals, included, [1.0, 0.0], [[1.1, 0.2], [0.8, 0.1]] * 2
    ... )
    array([1., 0.])
    """
    ratio = validation.scalar("gamma", gamma, 0.0, closed="neither")
    mean = confidences.mean_of(kind, a, signal)
    shadow = arrays.read(signals, included, augmented=False)
    targets = _targets("observed", observed, shadow, mean)
    population, others = _population(population_observed, population_signals, targets, mean, shadow)
    _refuse_overlap(targets.values, shadow.signals, others, population.signals)
    x = scored(targets.values, shadow, confidences.added(shadow, mean), mean)
    counted = confidences.sums(population, "margin" if mean.margins else "log")
    # Every model is OUT: their mean, in the place of both sides' too.
    both = ConfidenceSums(counted.count_out, counted.sum_out, counted.count_out, counted.sum_out)
    of_all = ConfidenceMean(False, 1.0 if mean.online else mean.a, mean.margins)
    z = scored(others, population, both, of_all)
    threshold = x - np.log(ratio)
    below = [np.searchsorted(np.sort(zs), xs) for zs, xs in zip(z, threshold, strict=True)]
    return targets.finish(np.array(below, dtype=np.float64) / others.shape[1])


def _population(
    observed: object, signals: object, targets: Targets, mean: ConfidenceMean, shadow: Shadow
) -> tuple[Shadow, Doubles]:
    """Check the population's signals; no model was trained on it."""
    values = validation.matrix("population_signals", signals)
    if values.shape[0] != shadow.signals.shape[0]:
        turned = values.shape[1] == shadow.signals.shape[0]
        raise ValueError(
            f"Expected population_signals of shape {values.shape} to be (K, Z) with the "
            f"K={shadow.signals.shape[0]} models of signals"
            + (": population_signals is transposed" if turned else "")
        )
    others = validation.real_array("population_observed", observed)
    wanted = (values.shape[1],) if targets.single else (len(targets.values), values.shape[1])
    if others.shape != wanted:
        raise ValueError(
            f"Expected population_observed of shape {others.shape} to be {wanted}: the targets of "
            "observed at the records of population_signals"
        )
    arrays.finite("population_observed", others)
    arrays.finite("population_signals", values)
    for name, array in (("population_observed", others), ("population_signals", values)):
        confidences.refuse_positive(name, array, mean.margins)
    nobody = np.broadcast_to(np.zeros(1, dtype=np.uint8), values.shape)
    models = np.arange(values.shape[0], dtype=np.int64)
    return Shadow(values, nobody, models), others.astype(np.float64).reshape(-1, values.shape[1])


def _refuse_overlap(x: Doubles, signals: Array, z: Doubles, others: Array) -> None:
    """Refuse records that are in the population too: equal in every model and target.

    Signals of few values, as of forests, agree by chance: where records agree with each other or
    the population with itself, nothing is concluded.
    """
    order = np.argsort(z[0], kind="stable")
    place = np.minimum(np.searchsorted(z[0], x[0], sorter=order), z.shape[1] - 1)
    which = np.flatnonzero(z[0][order[place]] == x[0])
    if not which.size:
        return
    partner = order[place[which]]
    same = (x[:, which] == z[:, partner]).all(axis=0)
    for ours, theirs in zip(signals, others, strict=True):
        same &= ours[which] == theirs[partner]
    which = which[same]
    if which.size and not (_repeats(x[0], signals) or _repeats(z[0], others)):
        raise ValueError(
            f"Expected population_signals and population_observed apart from the records: "
            f"{which.size} records of signals are among them, the first has index {which[0]}; "
            "take records on which no model was trained"
        )


def _repeats(x: Doubles, signals: Array) -> bool:
    """Whether two records look the same to the target and to every model."""
    order = np.argsort(x, kind="stable")
    again = np.flatnonzero(np.diff(x[order]) == 0.0)
    one, other = order[again], order[again + 1]
    same = np.ones(again.size, dtype=np.bool_)
    for line in signals:
        same &= line[one] == line[other]
        if not same.any():
            return False
    return True
