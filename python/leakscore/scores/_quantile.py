"""How plausible a release is without the target: a score with the same law for every target."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.distributions import ncx2
from leakscore.reference import Reference, forms
from leakscore.scores import scoring
from leakscore.typing import Doubles, of_pairs


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
    release = scoring.release(observed, target, reference, n, noise, False)
    law, targets = release.without_target(), np.atleast_2d(release.target)
    with np.errstate(over="ignore"):
        centre = release.n * forms.distances(law.invertible(), "target", targets, law.mean)
    if not np.isfinite(centre).all():
        validation.finite("target", targets)
    rows = np.atleast_2d(release.observed)
    with np.errstate(over="ignore"):
        gaps = release.n * forms.distances_about(law.invertible(), "observed", rows, targets)
    result = -ncx2.logcdf(gaps, law.dim, centre)
    scoring.require_finite(result, release.observed, release.target)
    return scoring.shaped(result, release.observed, release.target)
