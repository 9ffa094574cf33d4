"""Likelihood ratios of a mean of Gaussian records, exact and as n grows."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.reference import Reference, SingularCovarianceError
from leakscore.scores import scoring
from leakscore.typing import Doubles, of_pairs, of_two

_NEIGHBOURS = ("replace", "add-remove")


@of_pairs
def covariance_score(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
    neighbours: Literal["replace", "add-remove"] = "replace",
    paired: bool = False,
) -> float | Doubles:
    """Covariance score of targets in a released mean: its log-likelihood ratio as n grows.

    (z - mu)' V^-1 (x - mu) - m/2 with V = C + n s^2 and the leakage score
    m = (z - mu)' V^-1 (z - mu) / n. Its law tends to N(-m/2, m) if the target is not a member and
    to N(m/2, m) if it is. The score is linear in the release, so it needs only the mean and
    covariance of the records, not their law.

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
    noise_cov, noise_factor : array_like, optional
        Its covariance (d, d), or F (d, r) of its covariance F F', in place of `noise_std`.
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
    noise = (noise_std, noise_cov, noise_factor)
    release = scoring.release(observed, target, reference, n, noise_forms=noise, paired=paired)
    if validation.choice("neighbours", neighbours, _NEIGHBOURS) == "add-remove":
        return scoring.add_remove(release)
    if release.independent:
        return release.score(_core.covariance_score)
    out = release.without_target()
    return release.checked(scoring.dense_linear(release, reference.mean, out, 1.0))


@of_pairs
def gaussian_llr(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
    neighbours: Literal["replace", "add-remove"] = "replace",
    paired: bool = False,
) -> float | Doubles:
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
    noise_cov, noise_factor : array_like, optional
        Its covariance (d, d), or F (d, r) of its covariance F F', in place of `noise_std`.
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
    noise each law keeps its own covariance; [1]_ treats the noise as part of the records, which is
    right only as n grows. Theorems 3.1 and 3.4 of [2]_ are the case without noise.

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
    noise = (noise_std, noise_cov, noise_factor)
    release = scoring.release(observed, target, reference, n, noise_forms=noise, paired=paired)
    return llr_of(release, validation.choice("neighbours", neighbours, _NEIGHBOURS))


def llr_of(release: scoring.ScoredRelease, neighbours: str) -> float | Doubles:
    """Return the exact log-likelihood ratios of a release whose arguments are valid."""
    if neighbours == "add-remove":
        return scoring.add_remove(release)
    if release.independent:
        return release.score(_core.gaussian_llr)
    linear = scoring.dense_linear(release, release.reference.mean, *release.with_target())
    return release.checked(linear + scoring.dense_quadratic(release))


@of_two
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
            "influence_covariance must be invertible: drop the coordinates of the estimate "
            "that others determine"
        ) from None
    except ValueError as error:
        named = re.sub(r"\bcov\b", "influence_covariance", str(error))
        raise ValueError(named) from None
    validation.finite("estimate", given)
    validation.finite("influence", rows)
    return covariance_score(given - origin, rows, reference, n)
