"""Attacks with less knowledge, and the threshold of the attack with full knowledge."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import norm
from leakscore.scores import scoring
from leakscore.typing import Doubles, Scalar, of_pairs


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
    x, z = scoring.rows(observed, target, point.size, paired)
    result, flags = _core.scalar_product(x, z, point, point, scoring.NO_NOISE, 1.0, paired)
    if flags:
        validation.finite("reference_point", point)
        scoring.require_finite(result, x, z)
    return scoring.shaped(result, x, z)


@overload
def oracle_threshold(alpha: Scalar, m: Scalar) -> float: ...
@overload
def oracle_threshold(alpha: npt.ArrayLike, m: npt.ArrayLike) -> Doubles: ...
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
