"""Scores of the mean of a random sample of the records."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate_counts, validation
from leakscore.reference import Reference
from leakscore.scores import series
from leakscore.typing import Doubles, Scalar, of_pairs


@overload
def subsampled_llr(llr: Scalar, sample_rate: float) -> float: ...
@overload
def subsampled_llr(llr: npt.ArrayLike, sample_rate: float) -> Doubles: ...
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


@of_pairs
def subsampled_product_score(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    sample_rate: float,
    constant: float = 1 / 6,
    *,
    skewness: npt.ArrayLike = 0.0,
) -> float | Doubles:
    """Score of Azize & Basu for the mean of a sample, as if each coordinate were sampled by itself.

    Use it only to compare with their results: the likelihood ratio is `subsampled_llr`. This score
    has nearly the same ROC but another scale, so 0 is not its best threshold.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x of k = sample_rate n records, one a row; read where they are.
    target : (d,) or (k, d) array_like
        Records z whose membership is asked for, one a row.
    reference : Reference
        Mean and variances of one record; of kind "diagonal".
    n : int
        Number of records that the sample is drawn from.
    sample_rate : float
        Share of them in the sample, in (0, 1]; k = sample_rate n must be an integer, at least 2.
    constant : float
        Coefficient of the third cumulant in the density of the mean: 1/6 is right, 1 as printed.
    skewness : float or (d,) array_like
        Third standardised cumulant of one record; without it `constant` changes nothing.

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Scores; larger means member.

    Raises
    ------
    TypeError
        If the covariance of `reference` is not diagonal.
    SingularCovarianceError
        If a variance is 0.
    ValueError
        If `sample_rate` is outside (0, 1] or k is not an integer (the two nearest rates are named),
        shapes do not fit, or a value is not finite.

    Notes
    -----
    The sum over coordinates of W, eq. 76 of [1]_: with G the difference of the squares of eqs. 74
    and 75, ``rate G/2 + rate (1-rate) G^2/8 + rate/(2k) - 3 constant rate skewness a (u^2 - 1/k)``
    where u = (x - mu)/sigma and a = (z - mu)/sigma.

    Under H1 its mean is rate m/2, as they print, but its variance is rate m + rate (1 - rate) m^2,
    not rate m, because the coordinates of a member's release are not independent.

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       appendix C.5.

    Examples
    --------
    >>> import leakscore
    >>> from leakscore.scores import subsampled_product_score
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> print(round(subsampled_product_score([0.1, 0.2], [1.0, 2.0], reference, 100, 0.1), 6))
    0.020225
    """
    law = series.law(observed, target, reference, n, skewness, 0.0)
    rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    sampled = _validate_counts.sampled("sample_rate", rate, law.n, low=2)
    weight = validation.scalar("constant", constant)
    return law.score(_core.subsampled_product, float(sampled), rate, weight)
