"""The leakage score of one record in one mean, of records together, and over several releases."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _validate_counts, validation
from leakscore.reference import Reference, covariances
from leakscore.reference.covariances import Table
from leakscore.reference.record import GaussianNoise, noise_given
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
    noise = noise_given(noise_std, noise_cov, noise_factor, reference.dim)
    rows = validation.rows("target", target, cols=reference.dim)
    result = leakages("target", rows, reference, n, noise=noise, neighbours=neighbours)
    return float(result[0]) if rows.ndim == 1 else result


def leakages(
    name: str,
    rows: Table,
    reference: Reference,
    n: int,
    *,
    noise: GaussianNoise,
    neighbours: Neighbours,
) -> Doubles:
    """Leakage score of every row, (k,), of validated arguments."""
    centre, per_record, divisor = game(reference, n, neighbours)
    return (
        covariances.distances(noise.added(reference, per_record).invertible(), name, rows, centre)
        / divisor
    )


def game(reference: Reference, n: int, neighbours: Neighbours) -> tuple[Doubles, float, int]:
    """Write both games as m = (z - centre)' (C + per_record S)^-1 (z - centre) / divisor."""
    if validation.choice("neighbours", neighbours, ("replace", "add-remove")) == "replace":
        return reference.mean, float(n), n
    return np.zeros(reference.dim), n * (n / (n - 1)), n - 1


def centred(name: str, rows: Table, centre: Doubles) -> Doubles:
    """Return rows less a centre, in float64."""
    result = np.asarray(rows - centre)
    if not np.isfinite(result).all():
        validation.finite(name, rows)
    return result


__all__ = ["release_modes"]


@of_rows
def release_leakage(
    target: npt.ArrayLike,
    reference: Reference,
    counts: npt.ArrayLike,
    *,
    step: int,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
) -> float | Doubles:
    """Joint leakage score of a sequence of cumulative means: a table and its updates.

    Records are added batch by batch, and after each batch the mean of all records so far is
    released. The attacker sees all these means; the target is in the batch of one step or nowhere.

    Parameters
    ----------
    target : (d,) or (k, d) array_like
        One record or several.
    reference : Reference
        Mean and covariance C of one record of the population.
    counts : (T,) array_like of int
        Numbers of records behind each mean, increasing, the first at least 1.
    step : int
        Which batch the target is in: 0 for the first, up to T - 1; counts[step] is the first count
        that includes it.
    noise_std : float or (d,) array_like
        Standard deviation of the independent Gaussian noise on each of the released means.
    noise_cov, noise_factor : array_like, optional
        Its covariance, or a factor of it, in place of `noise_std`; as in `leakage_score`.

    Returns
    -------
    float or (k,) ndarray
        Joint leakage score; without noise M / b with b the size of the batch, because the
        differences of the means reveal the mean of each batch. +inf for a batch of one record
        without noise: the record itself is revealed.

    Raises
    ------
    SingularCovarianceError
        If C is singular and there is no noise.
    ValueError
        If `counts` do not increase, `step` is not an index of `counts`, shapes do not fit, or a
        value is not finite.

    Notes
    -----
    The means are jointly Gaussian as batches grow: cov(x_s, x_t) = C / max(n_s, n_t), with the
    noise variances S added where s = t, and the target shifts x_t by (z - mean) / n_t from its step
    on. With the eigenvalues l_i of the matrix 1 / max(n_s, n_t) and c_i the coordinates of the
    vector of 1 / n_t, the score is the sum of (c_i^2 / l_i) (z - mean)' (C + S/l_i)^-1 (z - mean).
    It is never below the score of a single mean. For batch means see T. Michel, D. Basu and
    E. Kaufmann, sequential membership inference.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> leakscore.leakage.release_leakage([3.0, 0.0], reference, [100, 110], step=1)
    0.9
    >>> leakscore.leakage.leakage_score([3.0, 0.0], reference, 110)
    0.0818...
    """
    validation.instance("reference", reference, Reference)
    totals = _validate_counts.whole("counts", counts, 1)
    if totals.ndim != 1 or totals.size == 0:
        raise ValueError(f"counts of shape {totals.shape} must be (T,) with T >= 1")
    batches = np.diff(totals, prepend=0.0)
    if not (batches > 0).all():
        raise ValueError(f"counts={counts!r} must increase")
    step = validation.count("step", step, 0, totals.size - 1)
    noise = noise_given(noise_std, noise_cov, noise_factor, reference.dim)
    rows = validation.rows("target", target, cols=reference.dim)
    if batches[step] == 1 and not noise.any():  # the record as it is
        result = np.full(len(np.atleast_2d(rows)), np.inf)
    elif not noise.any():
        result = leakages(
            "target", rows, reference, int(batches[step]), noise=noise, neighbours="replace"
        )
    else:
        result = np.zeros(1 if rows.ndim == 1 else len(rows))
        scales, vectors = release_modes(totals)
        weights = vectors[step] ** 2 / batches[step]
        for scale, weight in zip(scales.tolist(), weights.tolist(), strict=True):
            noisy_reference = noise.added(reference, scale)
            result += weight * covariances.distances(
                noisy_reference.invertible(), "target", rows, reference.mean
            )
    return float(result[0]) if rows.ndim == 1 else result


def release_modes(
    totals: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return 1 / l_i, (T,), and c_i sqrt(b_step / l_i), (step, i), of the matrix 1 / max(n_s, n_t).

    Its inverse is B'B with the bidiagonal matrix B that has n_t / sqrt(b_t) and -n_s / sqrt(b_t),
    s = t - 1, in row t. B maps the vector of 1 / n_t to a unit vector over sqrt(b_step), so
    c_i / sqrt(l_i) is an entry of a singular vector over sqrt(b_step). LAPACK's gesvd finds all
    singular values of a bidiagonal matrix to full relative accuracy, however much they differ.
    """
    from scipy.linalg import svd

    batches = np.diff(totals, prepend=0.0)
    roots = np.sqrt(batches)
    upper = np.diag(totals / roots) - np.diag(totals[:-1] / roots[1:], 1)
    _, values, rows = svd(upper, lapack_driver="gesvd")
    return values**2, rows.T
