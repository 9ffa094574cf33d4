"""Membership scores of a released mean: how much more likely it is with the target than without.

All scores: larger means member. A decision rule says member if and only if score > threshold.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core, _scoring, _validate
from leakscore.reference import Reference

__all__ = [
    "bernoulli_llr",
    "covariance_score",
    "gaussian_llr",
    "oracle_threshold",
    "scalar_product",
]

_NEIGHBOURS = ("replace", "add-remove")


def covariance_score(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    neighbours: Literal["replace", "add-remove"] = "replace",
    paired: bool = False,
) -> Any:
    """Covariance score of targets in a released mean: its log-likelihood ratio as n grows.

    (z - mu)' V^-1 (x - mu) - m/2 with V = C + n s^2 and the leakage score
    m = (z - mu)' V^-1 (z - mu) / n. Its law tends to N(-m/2, m) if the target is not a member and
    to N(m/2, m) if it is. Linear in the release, so it needs no law of the records beyond their
    mean and covariance.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x, one a row, in the units of the records. Read where they are: float32 and
        float64 with any strides, other dtypes converted block by block.
    target : (d,) or (k, d) array_like
        Records z whose membership is asked for, one a row.
    reference : Reference
        Mean mu and covariance C of one record.
    n : int
        Number of records averaged, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation s of the Gaussian noise on the released mean, at least 0. With noise C
        may be singular.
    neighbours : {"replace", "add-remove"}
        What non-membership means: another record in the target's place, or none while the sum is
        still divided by n. Then the score is the exact likelihood ratio of Gaussian records,
        `gaussian_llr`.
    paired : bool
        Score row i of `observed` against row i of `target` only; both are (T, d), the result (T,).

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Scores; larger means member.

    Raises
    ------
    SingularCovarianceError
        If C is singular and no noise makes up for it.
    ValueError
        If shapes do not fit, `n` < 2, or a value is not finite.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), eq. 10.
       Noise is on the mean here: their C_gamma is n s^2.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> leakscore.scores.covariance_score([0.1, 0.2], [1.0, 2.0], reference, n=10)
    0.1
    """
    release = _scoring.release(observed, target, reference, n, noise_std, paired)
    if _validate.choice("neighbours", neighbours, _NEIGHBOURS) == "add-remove":
        return _scoring.add_remove(release)
    if release.independent:
        return release.score(_core.covariance_score)
    out = release.without_target()
    return release.checked(_scoring.dense_linear(release, reference.mean, out, 1.0))


def gaussian_llr(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    neighbours: Literal["replace", "add-remove"] = "replace",
    paired: bool = False,
) -> Any:
    """Exact log-likelihood ratio of targets in the mean of n Gaussian records.

    The law of the release is N(mu + (z - mu)/n, (n-1) C/n^2 + s^2) if the target z is one of the n
    records and N(mu, C/n + s^2) if it is not.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x, one a row, in the units of the records. Read where they are: float32 and
        float64 with any strides, other dtypes converted block by block.
    target : (d,) or (k, d) array_like
        Records z whose membership is asked for, one a row.
    reference : Reference
        Mean mu and covariance C of one record.
    n : int
        Number of records averaged, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation s of the Gaussian noise on the released mean, at least 0. With noise C
        may be singular.
    neighbours : {"replace", "add-remove"}
        What non-membership means: another record in the target's place, or none while the sum of
        the n - 1 others is still divided by n. Then both covariances are A = (n-1) C/n^2 + s^2 and
        the ratio is linear, z'A^-1 (x - (n-1) mu/n)/n - z'A^-1 z/(2 n^2).
    paired : bool
        Score row i of `observed` against row i of `target` only; both are (T, d), the result (T,).

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Natural log-likelihood ratios; larger means member.

    Raises
    ------
    SingularCovarianceError
        If C is singular and no noise makes up for it.
    ValueError
        If shapes do not fit, `n` < 2, or a value is not finite.

    Notes
    -----
    Computed around mu, with log1p and with the difference of the two inverse covariances formed
    without cancellation, so nothing is lost when n or d is large (the usual form around z leaves a
    relative error of 1e-10 at d = 2e5). Independent coordinates take one pass over the data. With
    noise the covariances of both laws are kept apart; [1]_ treats the noise as part of the records,
    which is right only as n grows. Theorems 3.1 and 3.4 of [2]_ are the case without noise.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       section 3.
    .. [2] T. Michel, D. Basu and E. Kaufmann, sequential membership inference, theorems 3.1
       and 3.4.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> score = leakscore.scores.gaussian_llr([0.1, 0.2], [1.0, 2.0], reference, n=10)
    >>> round(score, 6)
    0.205361
    """
    release = _scoring.release(observed, target, reference, n, noise_std, paired)
    if _validate.choice("neighbours", neighbours, _NEIGHBOURS) == "add-remove":
        return _scoring.add_remove(release)
    if release.independent:
        return release.score(_core.gaussian_llr)
    linear = _scoring.dense_linear(release, reference.mean, *release.with_target())
    return release.checked(linear + _scoring.dense_quadratic(release))


def scalar_product(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference_point: npt.ArrayLike,
    *,
    paired: bool = False,
) -> Any:
    """Scalar product (z - z_ref)'x of the release with a target less a reference point.

    The attack of someone who does not know the covariance. It is as good as `covariance_score` only
    if C is a multiple of the identity and `reference_point` is the population mean; a single other
    record in its place costs about half of the leakage score.

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
    point = _validate.coefficients("reference_point", reference_point)
    x, z = _scoring.rows(observed, target, point.size, paired)
    result, flags = _core.scalar_product(x, z, point, point, _scoring.NO_NOISE, 1.0, paired)
    if flags:
        _validate.finite("reference_point", point)
        _scoring.require_finite(result, x, z)
    return _scoring.shaped(result, x, z)


def bernoulli_llr(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    p: npt.ArrayLike,
    *,
    paired: bool = False,
) -> Any:
    """Exact log-likelihood ratio of targets in the mean of records of independent zeros and ones.

    sum over j of z_j log(x_j / p_j) + (1 - z_j) log((1 - x_j) / (1 - p_j)): exact whatever the
    number of records averaged, which is why it is not asked for.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x in [0, 1], one a row; exact means, not noisy or sub-sampled ones. Read
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
       remark 3.3. There asymptotic; the ratio of the binomial laws Bin(n-1, p)(nx - z) and
       Bin(n, p)(nx) is exactly this for every n.

    Examples
    --------
    >>> import leakscore
    >>> score = leakscore.scores.bernoulli_llr([[0.5, 0.2], [0.0, 0.2]], [1, 0], [0.25, 0.2])
    >>> score.round(6)
    array([0.693147,     -inf])
    """
    probability = _validate.coefficients("p", p)
    x, z = _scoring.rows(observed, target, probability.size, paired)
    if _scoring.many(z, paired):
        result = _scoring.bernoulli(x, z, probability)
        if result is not None:
            return _scoring.shaped(result, x, z)
    result, flags = _core.bernoulli_llr(x, z, probability, paired)
    if flags:
        _validate.interval("p", probability, 0.0, 1.0, closed="neither")
        _validate.binary("target", z)
        _validate.interval("observed", x, 0.0, 1.0)
    return _scoring.shaped(result, x, z)


def oracle_threshold(alpha: npt.ArrayLike, m: npt.ArrayLike) -> Any:
    """Threshold at which the covariance score has Type I error alpha: -m/2 - sqrt(m) ppf(alpha).

    From the law N(-m/2, m) of the score of a non-member, so it holds for `covariance_score` and
    `gaussian_llr` as n grows, with the true mean and covariance. Not for a `Reference` that was
    fitted: its scores are shifted by about d/n0 (n0 reference rows), so take a quantile of the
    scores of releases known to be without the target instead.

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
    level = _validate.interval("alpha", alpha, 0.0, 1.0, nan=True)
    root = np.sqrt(_validate.interval("m", m, 0.0, nan=True))
    level, root = _validate.broadcast(alpha=level, m=root)
    from leakscore.distributions import norm

    with np.errstate(invalid="ignore"):
        result = np.where(root == 0, 0 * level, -root * (root / 2 + norm.ppf(level)))
    return result if result.ndim else float(result)
