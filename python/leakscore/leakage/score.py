"""Leakage scores by formula: of a record in one mean or several, and to attackers who know less.

An attacker may aim at another record, see few records, or estimate the population.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Reference, covariances
from leakscore.reference.covariances import Table
from leakscore.reference.record import GaussianNoise, noise_given
from leakscore.scores.gaussian import cumulant, diagonal, slices
from leakscore.typing import Doubles, of_numbers, of_rows, of_two

__all__ = ["release_modes"]

Neighbours: TypeAlias = Literal["replace", "add-remove"]
Estimate: TypeAlias = Literal["known", "diagonal", "full"]


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
        unless there is noise in every direction: without it the record itself is revealed.

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
    totals = validation.whole("counts", counts, 1)
    if totals.ndim != 1 or totals.size == 0:
        raise ValueError(f"counts of shape {totals.shape} must be (T,) with T >= 1")
    batches = np.diff(totals, prepend=0.0)
    if not (batches > 0).all():
        raise ValueError(f"counts={counts!r} must increase")
    step = validation.count("step", step, 0, totals.size - 1)
    noise = noise_given(noise_std, noise_cov, noise_factor, reference.dim)
    rows = validation.rows("target", target, cols=reference.dim)
    if batches[step] == 1 and not noise.everywhere():  # a part of the record as it is
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


@of_two
def cross_leakage(
    attack_target: npt.ArrayLike,
    true_target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
    neighbours: Neighbours = "replace",
) -> float | Doubles:
    """Leakage of one record to an attack on another record, m_scal.

    Parameters
    ----------
    attack_target : (d,) or (k, d) array_like
        Records that the attack is designed for.
    true_target : (d,) or (l, d) array_like
        Records that are members or not.
    reference : Reference
        Mean and covariance C of one record of the population.
    n : int
        Number of records averaged, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation of the Gaussian noise on the released mean, at least 0.
    noise_cov, noise_factor : array_like, optional
        Its covariance, or a factor of it, in place of `noise_std`; as in `leakage_score`.
    neighbours : {"replace", "add-remove"}
        As in `leakage_score`.

    Returns
    -------
    float, (k,), (l,) or (k, l) ndarray
        (z_attack - mean)' (C + n S)^-1 (z_true - mean) / n with S the covariance of the noise; may
        be negative. Equal to `leakage_score` where the two records are the same.

    Raises
    ------
    SingularCovarianceError
        If C + n S is singular.
    ValueError
        If shapes do not fit, `n` < 2, or a value is not finite.

    Notes
    -----
    With m_targ = leakage_score(attack_target, ...), the attack has the trade-off curve
    `leakscore.tradeoff.misspecified` (m_targ, m_scal). With m the leakage of the true target, the
    cosine m_scal / sqrt(m_targ m) measures the cost of the mistake.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       theorem 4.5.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> leakscore.leakage.cross_leakage([3.0, 0.0], [[3.0, 8.0], [-1.0, 8.0]], reference, 10)
    array([ 0.9, -0.3])
    """
    validation.instance("reference", reference, Reference)
    n = validation.count("n", n, low=2)
    noise = noise_given(noise_std, noise_cov, noise_factor, reference.dim)
    attacks = validation.rows("attack_target", attack_target, cols=reference.dim)
    truths = validation.rows("true_target", true_target, cols=reference.dim)
    centre, per_record, divisor = game(reference, n, neighbours)
    noisy_reference = noise.added(reference, per_record)
    attacked = centred("attack_target", attacks, centre)
    true = centred("true_target", truths, centre)
    return noisy_reference.inner(attacked, true) / divisor


@of_rows
def second_order_leakage(
    target: npt.ArrayLike, reference: Reference, n: int, skewness: npt.ArrayLike
) -> float | Doubles:
    """Leakage score with its first correction for the number of records, m2.

    For records with independent coordinates of any law. `leakage_score`, the limit of many records,
    is slightly too low for few records.

    Parameters
    ----------
    target : (d,) or (k, d) array_like
        One record or several.
    reference : Reference
        Mean and variances of one record of the population; of kind "diagonal".
    n : int
        Number of records averaged, at least 2.
    skewness : float or (d,) array_like
        Third standardised cumulant of one record, E (x - mean)^3 / sd^3.

    Returns
    -------
    float or (k,) ndarray
        m + sum_j (a_j^2 + (1 + skewness_j a_j)^2) / (2 n^2) with a = (z - mean) / sd.

    Raises
    ------
    TypeError
        If the covariance of `reference` is not diagonal.
    SingularCovarianceError
        If a variance is 0.
    ValueError
        If shapes do not fit, `n` < 2, or a value is not finite.

    Notes
    -----
    Half of the symmetric Kullback-Leibler divergence of the two laws of the release is m2 / 2 up to
    terms of order n^-3, in which the fourth cumulant does not occur. For normal records it is
    m (1 + 1/(2n)) + d/(2n^2). Use it where m is used, as in `leakscore.tradeoff.gaussian`
    (leakage=m2): with Bernoulli records, n = 20, d = 100 and an advantage of .888 by simulation, m
    gives .871 and m2 .884. At false positive rates of .01 and below the skewness of the ratio
    matters more, and m2 is not always nearer to the truth.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.5, 0.5], [0.25, 0.25])
    >>> leakscore.leakage.second_order_leakage([1.0, 0.0], reference, 10, 0.0)
    0.22
    """
    independent = diagonal("reference", reference)
    n = validation.count("n", n, low=2)
    third = cumulant("skewness", skewness, independent.dim)
    rows = validation.rows("target", target, cols=independent.dim)
    first = covariances.distances(independent.invertible(), "target", rows, independent.mean) / n
    table, scale = np.atleast_2d(rows), np.sqrt(independent.variances)
    correction = np.zeros(len(table))
    for part in slices(len(table), max(1, (1 << 17) // independent.dim)):
        with np.errstate(over="ignore"):
            a = (table[part] - independent.mean) / scale
            skewed = 1.0 + third * a
            squares = np.einsum("ij,ij->i", a, a) + np.einsum("ij,ij->i", skewed, skewed)
            correction[part] = squares
    result = first + correction / (2.0 * n * n)
    if np.isnan(result).any():
        raise ValueError("target and skewness must be so small that their product is below 1.8e308")
    return float(result[0]) if rows.ndim == 1 else result


@of_numbers(float, Doubles)
def effective_leakage(
    squared_mahalanobis: npt.ArrayLike,
    n: int,
    dim: int,
    *,
    n_reference: int,
    covariance: Estimate = "known",
    ridge: float | None = None,
    redrawn: bool = False,
) -> float | Doubles:
    """Leakage score of an attacker who estimates the population from reference records.

    Parameters
    ----------
    squared_mahalanobis : float or array_like
        M of targets under the true mean and covariance, at least 0.
    n : int
        Number of records averaged, at least 2.
    dim : int
        Number of coordinates d.
    n_reference : int
        Number of reference records n0 that the mean, and the covariance unless it is known, are
        estimated from: at least 1, for "diagonal" at least 6, for "full" at least d + 1 without a
        ridge and 2 with one.
    covariance : {"known", "diagonal", "full"}
        "known": only the mean is estimated. "diagonal": variances too, of Gaussian data with
        independent coordinates. "full": the whole matrix, of Gaussian data.
    ridge : float, optional
        Positive: added to the estimated full covariance, in units of a record's variance, for
        uncorrelated coordinates of equal variance. As d and n0 grow together.
    redrawn : bool
        False: the same references serve all releases, and the attack's threshold is set for them.
        True: each release has fresh references, with one threshold for all; Gaussian data and
        covariance="known" only.

    Returns
    -------
    float or ndarray
        m_eff, of the shape of `squared_mahalanobis`: use it in place of m = M/n.

    Raises
    ------
    ValueError
        If an argument is out of range, or `ridge` or `redrawn` is given where it does not apply.

    Notes
    -----
    The score's weights are C0^-1 (z - mu0). With M' = M + d/n0, known covariance: m M/M'; estimated
    variances: (n0 - 5)/(n0 - 3) of it. Full: m (B c + (1 - B)(1 - c)/(d - 1)) with c = M/M', where
    B is the squared cosine between C0^-1 v and v, whose mean is (n0 - d + 1)/n0; n0 = 2d costs half
    of the leakage. With a ridge, B = s^2/(-s') of the Stieltjes transform s of the
    Marchenko-Pastur law. Redrawn: m^2 / (m + M/n0 + d/(n n0) + 2d/n0^2), about m / (1 + n/n0).

    Azize & Basu, "Some Targets Are Harder to Identify than Others" (AISTATS), appendix E.1, find
    little loss even for small n0. That holds if one set of references serves all rounds; with fresh
    references, n0 = 100 at n = 1000 leaves 0.8 of 8.9.

    Examples
    --------
    >>> from leakscore.leakage import effective_leakage
    >>> print(round(effective_leakage(8883.0, 1000, 5000, n_reference=10), 2))
    8.41
    """
    distance = validation.interval("squared_mahalanobis", squared_mahalanobis, 0.0, closed="left")
    n = validation.count("n", n, low=2)
    d = validation.count("dim", dim, low=1)
    validation.choice("covariance", covariance, ("known", "diagonal", "full"))
    if ridge is not None:
        ridge = validation.scalar("ridge", ridge, 0.0, closed="neither")
        if covariance != "full":
            raise ValueError(f"ridge={ridge!r} must be given only with covariance='full'")
    if validation.flag("redrawn", redrawn) and covariance != "known":
        raise ValueError(f"covariance={covariance!r} must be 'known' with redrawn=True")
    least = {"known": 1, "diagonal": 6, "full": d + 1 if ridge is None else 2}[covariance]
    n0 = validation.count("n_reference", n_reference, low=least)
    m = distance / n
    if redrawn:
        spread = m + distance / n0 + d / (n * n0) + 2 * d / n0**2
        result = m * (m / spread)
    else:
        share = distance / (distance + d / n0)
        if covariance == "diagonal":
            share = share * ((n0 - 5) / (n0 - 3))
        elif covariance == "full" and d > 1:
            kept, lost = (n0 - d + 1) / n0, (d - 1) / n0
            if ridge is not None:
                kept, lost = _ridge_cosine(d / (n0 - 1), ridge)
            share = kept * share + lost / (d - 1) * (d / n0) / (distance + d / n0)
        result = m * share
    return result if result.ndim else float(result)


def _ridge_cosine(aspect: float, ridge: float) -> tuple[float, float]:
    """B = s^2 / (-s') at -ridge, and 1 - B, which a B near 1 would lose to rounding.

    B is (mean of 1/(x+ridge))^2 over the mean of its square, x Marchenko-Pastur;
    s solves aspect ridge s^2 + (ridge + 1 - aspect) s = 1, so ridge s = 1 - s / (1 + aspect s).
    """
    if ridge > 1e100:  # s = 1 / ridge: the spectrum is negligible beside it
        return 1.0, aspect / ridge / ridge
    linear = ridge + 1.0 - aspect
    root = float(np.sqrt(linear * linear + 4.0 * aspect * ridge))
    s = 2.0 / (linear + root) if linear > 0 else (root - linear) / (2.0 * aspect * ridge)
    return s * root / (aspect * s + 1.0), aspect * (s / (aspect * s + 1.0)) ** 2
