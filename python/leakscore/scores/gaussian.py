"""Likelihood ratios of a mean of Gaussian records, exact and as n grows."""

from __future__ import annotations

from typing import Literal

import numpy.typing as npt

from leakscore import _core, validation
from leakscore.reference import Reference
from leakscore.scores import scoring
from leakscore.typing import Doubles, of_pairs

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
    release = scoring.release(observed, target, reference, n, noise, paired)
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
    release = scoring.release(observed, target, reference, n, noise, paired)
    return llr_of(release, validation.choice("neighbours", neighbours, _NEIGHBOURS))


def llr_of(release: scoring.ScoredRelease, neighbours: str) -> float | Doubles:
    """Return the exact log-likelihood ratios of a release whose arguments are valid."""
    if neighbours == "add-remove":
        return scoring.add_remove(release)
    if release.independent:
        return release.score(_core.gaussian_llr)
    linear = scoring.dense_linear(release, release.reference.mean, *release.with_target())
    return release.checked(linear + scoring.dense_quadratic(release))
