"""Scores of records: how much nearer a synthetic table is to them than the population is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Reference
from leakscore.scores.gaussian import covariance_score
from leakscore.typing import Doubles

_FARTHEST = 1e6  # units from the population's mean
_NEAREST = 1e-9  # units: a smaller distance counts as this one in a logarithm
_MOST_FEATURES = 500
_PARTS = 8
_BLOCK = 1 << 18  # squared distances at once: 2 MB
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class SyntheticScores:
    """Scores of targets in a synthetic table, larger for members; made by `synthetic_scores`.

    Attributes
    ----------
    moments : (T,) ndarray
        The covariance score of the mean of the columns and of their products, as if these means
        over the synthetic table were what was released. Of more than 500 of them, the columns and
        their squares, or the columns.
    distance : (T,) ndarray
        Minus the distance to the nearest synthetic record.
    density : (T,) ndarray
        How much nearer synthetic records are than those of the population: the difference of the
        logs of the distance to the nearest, averaged over 8 interleaved parts of each table (or as
        many as there are synthetic records). Up to a factor d and a constant it is the log of the
        ratio of two densities.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import scores
    >>> tables = np.random.default_rng(0).normal(size=(3, 100, 2))
    >>> scores.synthetic_scores(*tables, 100).distance.shape
    (100,)
    """

    moments: Doubles
    distance: Doubles
    density: Doubles


def synthetic_scores(
    targets: npt.ArrayLike,
    synthetic: npt.ArrayLike,
    population: npt.ArrayLike,
    n: int,
    *,
    scale: npt.ArrayLike | None = None,
) -> SyntheticScores:
    """Score targets by a synthetic table: by its moments, its nearest record, its density.

    Parameters
    ----------
    targets : (T, d) array_like
        Records whose membership in the generator's training table is asked for.
    synthetic : (M, d) array_like
        What the generator made.
    population : (R, d) array_like
        Other records of the population, at least 8: neither targets nor trained on.
    n : int
        Number of records of the training table, at least 2.
    scale : (d,) array_like, optional
        The unit of each column; the standard deviation in `population` by default. Of categories
        make a column for each level, 0 or the square root of 1/2: records that differ in one are
        a unit apart.

    Returns
    -------
    SyntheticScores

    Raises
    ------
    ValueError
        If shapes do not fit, there are too few rows, a value is not finite, or a unit is not
        positive.

    Notes
    -----
    Every score of a target is a function of that target and the other two tables. So if the
    generator ignores its training table, members and non-members that were drawn alike have
    exchangeable scores. The covariance of the moments is shrunk towards its diagonal by their
    number over R, at most 1. Values farther than a million units from the mean count as so far.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), eq. 10.
    .. [2] B. van Breugel, H. Sun, Z. Qian and M. van der Schaar, "Membership Inference Attacks
       against Synthetic Data through Overfitting Detection" (AISTATS 2023): the ratio of densities.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import scores
    >>> train, others, population = np.random.default_rng(0).normal(size=(3, 100, 2))
    >>> copied = scores.synthetic_scores(train, train, population, 100)
    >>> bool((copied.distance == 0).all()), bool((copied.density > 0).all())
    (True, True)
    """
    others = validation.finite(
        "population", validation.matrix("population", population, min_rows=8)
    )
    others = np.asarray(others, dtype=np.float64)
    centre, unit = others.mean(axis=0), _unit(others, scale)
    size = validation.count("n", n, low=2, high=1 << 53)
    tables = [_in_units(others, centre, unit)]
    for name, table in (("synthetic", synthetic), ("targets", targets)):
        rows = validation.finite(name, validation.matrix(name, table, cols=len(unit)))
        tables.append(_in_units(np.asarray(rows, dtype=np.float64), centre, unit))
    others, drawn, records = tables
    parts = min(_PARTS, len(drawn))
    nearest, away = _nearest(records, drawn, parts), _nearest(records, others, parts)
    logs = [np.log(np.maximum(each, _NEAREST)).mean(axis=1) for each in (away, nearest)]
    return SyntheticScores(
        moments=_moment_scores(records, drawn, others, size),
        distance=-nearest.min(axis=1),
        density=logs[0] - logs[1],
    )


def _unit(others: Doubles, scale: npt.ArrayLike | None) -> Doubles:
    """Return the unit of each column; 1 for a constant column."""
    if scale is not None:
        unit = validation.vector("scale", scale)
        if unit.size != others.shape[1]:
            raise ValueError(
                f"scale of shape {unit.shape} must have a unit for each column of "
                f"population of shape {others.shape}"
            )
        if not (unit > 0).all():
            raise ValueError(f"scale={unit.min()} must be positive")
        return unit
    spread = others.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _in_units(table: Doubles, centre: Doubles, unit: Doubles) -> Doubles:
    """Return a table in units from the population's mean."""
    return np.asarray(np.clip((table - centre) / unit, -_FARTHEST, _FARTHEST))


def _nearest(records: Doubles, table: Doubles, parts: int) -> Doubles:
    """Return the distance of each record to the nearest row of each interleaved part, (T, parts).

    The nearest row is that of the least |y|^2 - 2 x'y; its distance is computed from differences.
    """
    distances = np.empty((len(records), parts))
    for part in range(parts):
        rows = table[part::parts]
        squares = np.einsum("ij,ij->i", rows, rows)
        factor = np.vstack([-2.0 * rows.T, squares])
        step = max(1, _BLOCK // len(rows))
        for start in range(0, len(records), step):
            block = records[start : start + step]
            near = (np.column_stack([block, np.ones(len(block))]) @ factor).argmin(axis=1)
            away = block - rows[near]
            distances[start : start + step, part] = np.sqrt(np.einsum("ij,ij->i", away, away))
    return distances


def _moment_scores(records: Doubles, drawn: Doubles, others: Doubles, n: int) -> Doubles:
    """Return covariance scores of the mean of columns and products over the synthetic table."""
    columns = records.shape[1]
    pairs = np.triu_indices(columns)
    if columns + len(pairs[0]) > _MOST_FEATURES:
        pairs = (np.arange(columns),) * 2
    if 2 * columns > _MOST_FEATURES:
        pairs = (np.arange(0),) * 2

    def features(rows: Doubles) -> Doubles:
        return np.hstack([rows, rows[:, pairs[0]] * rows[:, pairs[1]]])

    law = features(others)
    centre, spread = law.mean(axis=0), law.std(axis=0)
    varies = spread > 1e-9 * (1.0 + np.abs(centre))
    if not varies.any():
        return np.zeros(len(records))
    centre, spread = centre[varies], spread[varies]

    def standard(rows: Doubles) -> Doubles:
        return np.asarray((features(rows)[:, varies] - centre) / spread)

    law = standard(others)
    shrinkage = min(1.0, law.shape[1] / len(law))
    covariance = (1.0 - shrinkage) * (law.T @ law) / len(law)
    covariance[np.diag_indices_from(covariance)] += shrinkage
    # The mean over M drawn records has the covariance C/n + C/M.
    reference = Reference(np.zeros(len(centre)), covariance * (1.0 + n / len(drawn)))
    blocks = [standard(drawn[k : k + _ROWS]).sum(axis=0) for k in range(0, len(drawn), _ROWS)]
    mean = np.sum(blocks, axis=0) / len(drawn)
    scores = [
        covariance_score(mean, standard(records[k : k + _ROWS]), reference, n)
        for k in range(0, len(records), _ROWS)
    ]
    return np.concatenate([np.atleast_1d(block) for block in scores])
