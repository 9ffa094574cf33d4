"""Attacks that are easy to beat: ranks in a population or among models, and the mere difficulty."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.shadow.sides import arrays, moments
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import Sides
from leakscore.typing import Array, Doubles

REMEDY = "use more models"
OUT = "a model OUT at least for each record"


def population_rank(observed: npt.ArrayLike, population_observed: npt.ArrayLike) -> Doubles:
    """Rank a target's signals at records among those at a population (attack P).

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        Signals of a target model, or of S of them, at N records.
    population_observed : (Z,) or (S, Z) array_like
        The same at Z records on which no target was trained.

    Returns
    -------
    (N,) or (S, N) ndarray
        Share of the population below, and half of the share that ties.

    Raises
    ------
    ValueError
        If signals are NaN or infinite; if shapes do not fit.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.shadow.population_rank([0.5, 2.0], [0.0, 1.0, 2.0, 3.0])
    array([0.25 , 0.625])
    """
    x = validation.rows("observed", observed)
    z = validation.rows("population_observed", population_observed)
    if x.ndim != z.ndim or x.shape[:-1] != z.shape[:-1]:
        raise ValueError(
            f"Expected population_observed of shape {z.shape} to be of the targets of observed, "
            f"of shape {x.shape}: (Z,) with (N,), (S, Z) with (S, N)"
        )
    arrays.finite("observed", x)
    arrays.finite("population_observed", z)
    pairs = zip(np.atleast_2d(x), np.sort(np.atleast_2d(z), axis=-1), strict=True)
    result = np.array([_midrank(line, population) for line, population in pairs])
    return result.reshape(x.shape)


def _midrank(x: Array, population: Array) -> Doubles:
    wide, doubles = x.astype(np.float64), population.astype(np.float64)
    below = np.searchsorted(doubles, wide, "left") + np.searchsorted(doubles, wide, "right")
    return np.asarray(below / (2.0 * population.size))


def reference_rank(
    observed: npt.ArrayLike, signals: npt.ArrayLike, included: npt.ArrayLike
) -> Doubles:
    """Rank a target's signal at each record among those of the models OUT (attack R).

    Parameters
    ----------
    observed : (N,), (N, A), (S, N) or (S, N, A) array_like
        Signals of a target model, or of S of them, at N records (with A augmentations).
    signals : (K, N) or (K, N, A) array_like
        The same of K shadow models, read where they lie.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.

    Returns
    -------
    (N,) or (S, N) ndarray
        Share of the OUT models below, and half of the share that ties.

    Raises
    ------
    ValueError
        If a record has no model OUT; if signals are NaN or infinite; if shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.reference_rank([1.0, 0.5], signals, included)
    array([0.75, 0.5 ])
    """
    shadow = arrays.read(signals, included)
    targets = arrays.targets(observed, shadow)
    arrays.finite("signals", shadow.signals)
    return targets.finish(ranks(targets.values, shadow))


def ranks(x: Array, shadow: Shadow) -> Doubles:
    """Return the share of the models OUT below each of the signals (S, N[, A]), ties by half."""
    count = counts_out(shadow)
    arrays.refuse_few(count < 1, OUT, REMEDY)
    return np.asarray(below(x, shadow) / count.reshape(-1, *[1] * (x.ndim - 2)))


def counts_out(shadow: Shadow) -> Doubles:
    """Return the number of models OUT of each record."""
    inside: Doubles = shadow.included[shadow.rows].sum(axis=0, dtype=np.float64)
    return shadow.models - inside


def below(x: Array, shadow: Shadow) -> Doubles:
    """Return how many models OUT are below each of the signals (S, N[, A]), ties by half."""
    parts = []
    for index, (table, shape) in enumerate(shadow.tables()):
        whole = len(shape) == x.ndim - 1  # every augmentation
        some = x.reshape(len(x), -1) if whole else x[:, :, index]
        ranks = _core.shadow_ranks(table, shadow.included, shadow.rows, some)
        parts.append(ranks.reshape(len(x), *shape))
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)


def difficulty(observed: npt.ArrayLike, signals: npt.ArrayLike, included: npt.ArrayLike) -> Doubles:
    """Score a target's signal at each record less the mean of the models OUT.

    Parameters
    ----------
    observed : (N,), (N, A), (S, N) or (S, N, A) array_like
        As in `reference_rank`.
    signals : (K, N) or (K, N, A) array_like
        As in `reference_rank`.
    included : (K, N) array_like of bool
        As in `reference_rank`.

    Returns
    -------
    (N,) or (S, N) ndarray
        Scores, larger for members; with augmentations their mean over these.

    Raises
    ------
    ValueError
        As `reference_rank` does.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.difficulty([2.5, 0.5], signals, included)
    array([2., 0.])
    """
    shadow = arrays.read(signals, included)
    targets = arrays.targets(observed, shadow)
    return targets.finish(easier(targets.values, moments.of(shadow)))


def easier(x: Doubles, sides: Sides) -> Doubles:
    """Return signals less the mean OUT."""
    arrays.refuse_few(sides.outside.count < 1, OUT, REMEDY)
    return sides.outside.centred(x)
