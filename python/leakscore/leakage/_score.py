"""The leakage score: Mahalanobis distance over the number of records."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Reference, forms
from leakscore.reference.covariances import Table
from leakscore.reference.noise import GaussianNoise
from leakscore.reference.noise import given as noise_given
from leakscore.typing import Doubles, of_rows

Neighbours = Literal["replace", "add-remove"]


@of_rows
def leakage_score(
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
    neighbours: Neighbours = "replace",
) -> float | Doubles:
    """Leakage score m of targets in the released mean of n records.

    Parameters
    ----------
    target : (d,) or (k, d) array_like
        One record or several, read where they are.
    reference : Reference
        Mean and covariance C of one record of the population.
    n : int
        Number of records averaged, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation of the Gaussian noise on the released **mean**, at least 0.
    noise_cov : (d, d) array_like, optional
        Covariance of that noise, in place of `noise_std`; symmetric and positive semidefinite.
    noise_factor : (d, r) array_like, optional
        F of its covariance F F', in place of both: no d x d matrix is made for a diagonal or
        low-rank reference.
    neighbours : {"replace", "add-remove"}
        "replace": one of n records of the population is replaced by the target (the papers' game).
        "add-remove": the target is added to n - 1 records of the population or not, and the sum is
        divided by the fixed n.

    Returns
    -------
    float or (k,) ndarray
        With S the covariance of the noise: (z - mean)' (C + n S)^-1 (z - mean) / n for "replace",
        and z' ((n - 1) C / n^2 + S)^-1 z / n^2 for "add-remove".

    Raises
    ------
    SingularCovarianceError
        If C + n S is singular.

    Notes
    -----
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), eqs. (7) and (12), with
    their C_gamma = n S. The noise row of their table 1, with one factor sigma^2 / (sigma^2 +
    gamma^2), holds only where that ratio is the same in every coordinate (1.655 in place of 1.619
    in their own setting); this is the general form, as in "Some Targets Are Harder to Identify than
    Others", theorem 4.1.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> leakscore.leakage.leakage_score([[3.0, 0.0], [3.0, 8.0]], reference, 10)
    array([0.9, 2.5])
    >>> leakscore.leakage.leakage_score([3.0, 0.0], reference, 10, noise_std=0.3)
    0.4736...
    """
    validation.instance("reference", reference, Reference)
    n = validation.count("n", n, low=2)
    validation.choice("neighbours", neighbours, ("replace", "add-remove"))
    noise = noise_given(noise_std, noise_cov, noise_factor, reference.dim)
    rows = validation.rows("target", target, cols=reference.dim)
    result = leakages("target", rows, reference, n, noise, neighbours)
    return float(result[0]) if rows.ndim == 1 else result


def leakages(
    name: str,
    rows: Table,
    reference: Reference,
    n: int,
    noise: GaussianNoise,
    neighbours: Neighbours,
) -> Doubles:
    """Leakage score of every row, (k,), of validated arguments."""
    centre, per_record, divisor = game(reference, n, neighbours)
    return (
        forms.distances(noise.added(reference, per_record).invertible(), name, rows, centre)
        / divisor
    )


def game(reference: Reference, n: int, neighbours: Neighbours) -> tuple[Doubles, float, int]:
    """Write both games as m = (z - centre)' (C + per_record S)^-1 (z - centre) / divisor."""
    if neighbours == "replace":
        return reference.mean, float(n), n
    return np.zeros(reference.dim), n * (n / (n - 1)), n - 1


def centred(name: str, rows: Table, centre: Doubles) -> Doubles:
    """Return rows less a centre, in float64."""
    result = np.asarray(rows - centre)
    if not np.isfinite(result).all():
        validation.finite(name, rows)
    return result
