"""Scores of a released mean besides the Gaussian ones: other laws, less knowledge, samples."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import ncx2, norm
from leakscore.reference import Reference, covariances
from leakscore.scores.gaussian import (
    NO_NOISE,
    cumulant,
    diagonal,
    release_of,
    require_finite,
    rows_of,
    shaped,
    slices,
)
from leakscore.typing import Array, Doubles, of_numbers, of_pairs

_MANY = 16
"""From this number of targets on, products of blocks are faster than a pass for each target."""
_FEW_RELEASES = 8
"""Up to this number of releases, a pass for each release is faster than products of blocks."""
_ROWS, _COLS, _TARGETS = 128, 4096, 512


@of_pairs
def bernoulli_llr(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    p: npt.ArrayLike,
    *,
    paired: bool = False,
) -> float | Doubles:
    """Exact log-likelihood ratio of targets in the mean of records of independent zeros and ones.

    sum over j of z_j log(x_j / p_j) + (1 - z_j) log((1 - x_j) / (1 - p_j)): exact for any number
    of averaged records, so that number is no argument.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x in [0, 1], one a row; exact means, neither noisy nor sub-sampled. Read
        where they are.
    target : (d,) or (k, d) array_like
        Records z of zeros and ones (of any real dtype), one a row.
    p : (d,) array_like
        Probability of a one, in the open interval (0, 1). A column that is always 0 or always 1 in
        the population says nothing about membership: leave it out.
    paired : bool
        Score row i of `observed` against row i of `target` only; both are (T, d), the result (T,).

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Natural log-likelihood ratios; larger means member. -inf where a mean of 0 meets a one of
        the target, or a mean of 1 a zero: then it cannot be a member.

    Raises
    ------
    ValueError
        If shapes do not fit, a mean lies outside [0, 1], a target is neither 0 nor 1, or `p` is not
        inside (0, 1).

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       remark 3.3, where it is asymptotic; the ratio of the binomial laws Bin(n-1, p)(nx - z) and
       Bin(n, p)(nx) is exactly this for every n.

    Examples
    --------
    >>> import leakscore
    >>> score = leakscore.scores.bernoulli_llr([[0.5, 0.2], [0.0, 0.2]], [1, 0], [0.25, 0.2])
    >>> score.round(6)
    array([0.693147,     -inf])
    """
    probability = validation.coefficients("p", p)
    x, z = rows_of(observed, target, probability.size, paired)
    if _use_blocks(x, z, paired):
        result = _bernoulli(x, z, probability)
        if result is not None:
            return shaped(result, x, z)
    result, flags = _core.bernoulli_llr(x, z, probability, paired)
    if flags:
        validation.interval("p", probability, 0.0, 1.0, closed="neither")
        validation.binary("target", z)
        validation.interval("observed", x, 0.0, 1.0)
    return shaped(result, x, z)


def _use_blocks(observed: Array, target: Array, paired: bool) -> bool:
    """Whether products of blocks are faster than a pass for each target, or for each release."""
    enough = target.ndim == 2 and len(target) >= _MANY
    return not paired and enough and observed.ndim == 2 and len(observed) > _FEW_RELEASES


def _bernoulli(observed: Array, target: Array, p: Doubles) -> Doubles | None:
    """Bernoulli log-likelihood ratios (T, k) of many targets; None if an argument is suspect.

    Logarithms are taken once for all targets: sum of log((1-x)/(1-p)) + z logit ratio. Means of 0
    and 1, whose logarithm is infinite, are left out and counted separately.
    """
    if not ((p > 0) & (p < 1)).all():
        return None
    table = np.atleast_2d(observed)
    result = np.zeros((len(table), len(target)))
    excluded = np.zeros(result.shape, dtype=bool)
    for cols, targets in product(slices(table.shape[1], _COLS), slices(len(target), _TARGETS)):
        z = target[targets, cols].astype(np.float64, copy=False)
        if not ((z == 0) | (z == 1)).all():
            return None
        for rows in slices(len(table), _ROWS):
            x = table[rows, cols]
            difference, zeros, usable, certain = _core.bernoulli_log_ratios(x, p[cols])
            if not usable:
                return None
            result[rows, targets] += difference @ z.T + zeros[:, np.newaxis]
            if certain:
                excluded[rows, targets] |= ((x == 0) @ z.T + (x == 1) @ (1 - z.T)) > 0
    result[excluded] = -np.inf
    return result


@of_pairs
def glir(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
) -> float | Doubles:
    """GLiR score: -log of the probability that a release without the target is as near to it.

    S = n (x - z)' C^-1 (x - z) has the noncentral chi-square law of d degrees of freedom and
    noncentrality n M if the target is not among the n records, so p = F(S) is uniform then: one
    threshold serves all targets.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x, one a row; read where they are.
    target : (d,) or (k, d) array_like
        Records z whose membership is asked for, one a row.
    reference : Reference
        Mean and covariance C of one record, of any kind.
    n : int
        Number of records averaged, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation s of the Gaussian noise on the released mean, at least 0; C becomes
        C + n s^2.
    noise_cov, noise_factor : array_like, optional
        Its covariance (d, d), or F (d, r) of its covariance F F', in place of `noise_std`.

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        -log p >= 0; larger means member. Exponentially distributed over releases without the target
        if records are Gaussian, or as n grows.

    Raises
    ------
    SingularCovarianceError
        If C is singular and the noise does not regularise it.
    ValueError
        If shapes do not fit, `n` < 2, or a value is not finite.

    Notes
    -----
    For one fixed target and no noise this orders releases as `gaussian_llr` does, of which S is a
    decreasing function: it is the same test, but calibrated across targets.

    [1]_ (appendix D.3) and the code of the method's authors have log F^-1(S) for log F(S), the
    noncentrality n K for n K^2 with the norm K, and the factor n - 1 for n; with n - 1, p is far
    from uniform (Kolmogorov-Smirnov distance 0.395 at d = 30, n = 8, where this has 0).

    S has a relative rounding error of 1e-16, which moves the score by about 1e-16 sqrt(n M) where
    that root exceeds d.

    References
    ----------
    .. [1] A. Azize and D. Basu, "Some Targets Are Harder to Identify than Others: Quantifying the
       Target-dependent Membership Leakage" (AISTATS).
    .. [2] T. Leemann, M. Pawelczyk and G. Kasneci, "Gaussian Membership Inference Privacy"
       (NeurIPS 2023).

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> print(round(leakscore.scores.glir([0.1, 0.2], [1.0, 2.0], reference, n=10), 6))
    1.253002
    """
    noise = (noise_std, noise_cov, noise_factor)
    release = release_of(observed, target, reference, n, noise_forms=noise, paired=False)
    law, targets = release.without_target(), np.atleast_2d(release.target)
    with np.errstate(over="ignore"):
        centre = release.n * covariances.distances(law.invertible(), "target", targets, law.mean)
    if not np.isfinite(centre).all():
        validation.finite("target", targets)
    rows = np.atleast_2d(release.observed)
    with np.errstate(over="ignore"):
        gaps = release.n * covariances.distances_about(law.invertible(), "observed", rows, targets)
    result = -ncx2.logcdf(gaps, law.dim, centre)
    require_finite(result, release.observed, release.target)
    return shaped(result, release.observed, release.target)


@of_pairs
def scalar_product(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference_point: npt.ArrayLike,
    *,
    paired: bool = False,
) -> float | Doubles:
    """Scalar product (z - z_ref)'x of the release with a target less a reference point.

    The attack of an attacker who does not know the covariance. It is as good as `covariance_score`
    only if C is a multiple of the identity and `reference_point` is the population mean; a single
    other record as `reference_point` costs about half of the leakage score.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x, one a row.
    target : (d,) or (k, d) array_like
        Records z whose membership is asked for, one a row.
    reference_point : (d,) array_like
        z_ref: the population mean, or a record that stands for it.
    paired : bool
        Score row i of `observed` against row i of `target` only; both are (T, d), the result (T,).

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Scores in squared units of the records; larger means member. Their threshold depends on mu:
        compare them with scores of releases known to be without the target.

    Raises
    ------
    ValueError
        If shapes do not fit or a value is not finite.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       section 3.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.scores.scalar_product([[0.5, 1.0], [0.0, 2.0]], [1.0, 2.0], [0.0, 1.0])
    array([1.5, 2. ])
    """
    point = validation.coefficients("reference_point", reference_point)
    x, z = rows_of(observed, target, point.size, paired)
    result, flags = _core.scalar_product(x, z, point, point, NO_NOISE, 1.0, paired)
    if flags:
        validation.finite("reference_point", point)
        require_finite(result, x, z)
    return shaped(result, x, z)


@of_numbers(float, Doubles)
def oracle_threshold(alpha: npt.ArrayLike, m: npt.ArrayLike) -> float | Doubles:
    """Threshold at which the covariance score has Type I error alpha: -m/2 - sqrt(m) ppf(alpha).

    It follows from the law N(-m/2, m) of the score of a non-member, so it holds for
    `covariance_score` and `gaussian_llr` as n grows, with the true mean and covariance. It does not
    hold for a fitted `Reference`: its scores are shifted by about d/n0 (n0 reference rows). Take a
    quantile of the scores of releases known to be without the target instead.

    Parameters
    ----------
    alpha : float or array_like
        Type I error, in [0, 1].
    m : float or array_like
        Leakage score (`leakscore.leakage.leakage_score`), at least 0. Broadcast with `alpha`.

    Returns
    -------
    float or ndarray
        Thresholds; member if and only if the score is larger. inf for alpha = 0, -inf for alpha = 1
        (if m > 0). NaN where an argument is NaN.

    Raises
    ------
    ValueError
        If an `alpha` lies outside [0, 1] or an `m` is negative.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       corollary 3.2. Their appendix C.4 has the sign of m/2 reversed.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.scores.oracle_threshold(0.5, 4.0)
    -2.0
    """
    level = validation.interval("alpha", alpha, 0.0, 1.0, nan=True)
    root = np.sqrt(validation.interval("m", m, 0.0, nan=True))
    level, root = validation.broadcast(alpha=level, m=root)
    with np.errstate(invalid="ignore"):
        result = np.where(root == 0, 0 * level, -root * (root / 2 + norm.ppf(level)))
    return result if result.ndim else float(result)


@of_pairs
def edgeworth_llr(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    skewness: npt.ArrayLike,
    kurtosis: npt.ArrayLike,
    order: Literal[2, 3] = 2,
) -> float | Doubles:
    """Log-likelihood ratio of targets in the mean of n records of given third and fourth cumulants.

    For records with independent coordinates of any law: the Edgeworth expansion of the ratio of the
    two densities of the mean, to order 1/n or n^(-3/2) in each coordinate.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x, one a row. Read where they are: float32 and float64 with any strides,
        other dtypes converted block by block.
    target : (d,) or (k, d) array_like
        Records z whose membership is asked for, one a row.
    reference : Reference
        Mean and variances of one record; of kind "diagonal".
    n : int
        Number of records averaged, at least 2.
    skewness : float or (d,) array_like
        Third standardised cumulant of one record, E (x - mu)^3 / sigma^3.
    kurtosis : float or (d,) array_like
        Fourth standardised cumulant of one record, E (x - mu)^4 / sigma^4 - 3: 0 for a normal law.
        Used with order=3 only.
    order : {2, 3}
        2 leaves an error of order n^(-3/2) in each coordinate, 3 one of order n^-2.

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Natural log-likelihood ratios; larger means member.

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
    With D = sqrt(n) (x - mu)/sigma, a = (z - mu)/sigma and the cumulants l3 and l4, order 2 sums
    ``a D n^-1/2 - (a^2 + (D^2 - 1)(1 + l3 a)) / (2n)`` over the coordinates; order 3 adds
    ``D (3 a^2 l3 + 3 a D^2 l3^2 - a D^2 l4 - 6 a l3^2 + 3 a l4 + 6 a + 2 D^2 l3 - 3 l3)
    / (6 n^3/2)``. This is lemma C.7 of [1]_ with the term l3 (D^3 - 3D) of the density divided by
    6, which the paper omits: without the 6, the score is further from the exact ratio than
    `covariance_score` is. For Bernoulli coordinates, whose ratio is known (`bernoulli_llr`), the
    root mean square error over 6 coordinates at n = 10,000 is 1.6e-4 for `covariance_score`, 3.2e-4
    as printed, 3e-6 for order 2 and 7e-8 for order 3.

    No logarithm is taken of the expanded density, which may be negative.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       appendix C.

    Examples
    --------
    >>> import leakscore
    >>> from leakscore.scores import bernoulli_llr, edgeworth_llr
    >>> p = 0.2
    >>> reference = leakscore.Reference([p], [p * (1 - p)])
    >>> l3, l4 = (1 - 2 * p) / (p * (1 - p)) ** 0.5, 1 / (p * (1 - p)) - 6
    >>> third = edgeworth_llr([0.21], [1.0], reference, 1000, l3, l4, order=3)
    >>> print(round(third, 6), round(bernoulli_llr([0.21], [1.0], [p]), 6))
    0.048792 0.04879
    """
    degree = validation.count("order", order, 2, 3)
    record = diagonal("reference", reference)
    x, z = rows_of(observed, target, record.dim, False)
    size = validation.count("n", n, low=2)
    moments = (
        *(record.mean, record.variances),
        *(cumulant("skewness", skewness, record.dim), cumulant("kurtosis", kurtosis, record.dim)),
    )
    kernel = _core.edgeworth_second if degree == 2 else _core.edgeworth_third
    result, flags = kernel(x, z, *moments, float(size))
    if flags:
        record.invertible()
        require_finite(result, x, z)
    return shaped(result, x, z)


@of_numbers(float, Doubles)
def subsampled_llr(llr: npt.ArrayLike, sample_rate: float) -> float | Doubles:
    """Exact log-likelihood ratio of a release that the target entered with a known probability.

    log((1 - rate) + rate exp(llr)): a target that is a member is in the sample for all coordinates
    of the release at once, or for none.

    Parameters
    ----------
    llr : float or array_like
        Log-likelihood ratios of the release if the target is certainly in the sample: of the mean
        of k = rate n records, such as ``gaussian_llr(x, z, reference, k)``. +-inf is legal.
    sample_rate : float
        Probability in (0, 1] that a member is in the sample: k/n for k of n records without
        replacement.

    Returns
    -------
    float or ndarray
        Of the shape of `llr`; at least log(1 - rate).

    Raises
    ------
    ValueError
        If `sample_rate` is outside (0, 1], or a ratio is NaN.

    Notes
    -----
    The score increases with `llr`, so sampling changes no threshold test, only its error rates
    (`leakscore.tradeoff.subsampled_mean`). [1]_ (theorem 4.3) takes the product over coordinates of
    mixtures for the mixture of products, as if each coordinate were sampled by itself. That
    overstates every test: the advantage is at most `sample_rate`, but they claim 0.36 at a rate of
    0.1.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.scores import subsampled_llr
    >>> subsampled_llr([-np.inf, 0.0, 1000.0], 0.5).round(6)
    array([-6.93147000e-01,  0.00000000e+00,  9.99306853e+02])
    """
    rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    ratio = validation.interval("llr", llr)
    if rate == 1.0:
        result = ratio + 0.0
    else:
        with np.errstate(over="ignore", under="ignore"):
            # exp in two factors: the rate may bring an overflowing factor back into range.
            far = np.exp(np.clip(ratio - 700.0, 0.0, None))
            result = np.log1p(rate * np.expm1(np.minimum(ratio, 700.0)) * far)
            result = np.where(np.isinf(result), ratio + np.log(rate), result)
            if rate > 0.5:  # 1 + rate expm1(llr) cancels where it is small
                small = np.log((1.0 - rate) + rate * np.exp(np.minimum(ratio, 0.0)))
                result = np.where(ratio < -1.0, small, result)
    return result if result.ndim else float(result)
