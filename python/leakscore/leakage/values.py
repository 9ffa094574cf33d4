"""What a released mean tells about a value of a record that is known to be in the data.

The attacker knows that record z is one of the n, knows all its values but one, and perhaps the
whole records of k other members. Given z, the sum of the n - 1 - k records that the attacker does
not know is Gaussian, exactly for Gaussian records and as n grows for others.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Reference, covariances
from leakscore.reference.record import GaussianNoise, noise_given
from leakscore.typing import Doubles

__all__ = [
    "attribute_leakage",
    "members_to_disclose",
    "posterior_std",
]


def attribute_leakage(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    known_members: int = 0,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
) -> float | Doubles:
    """Leakage score of a value: how surely a mean tells a known member's record a from b.

    The attacker knows that one of two records is in the data, which differ in the value that the
    attacker is after, as in "smokes" or in an income. ``leakscore.tradeoff.gaussian(leakage=m)`` is
    the trade-off function of the best test of a against b.

    Parameters
    ----------
    a, b : (d,) or (k, d) array_like
        Two candidates for the whole record, or several pairs; shapes are broadcast.
    reference : Reference
        Mean and covariance C of one record of the population.
    n : int
        Number of records averaged, at least 2.
    known_members : int, default 0
        How many of the other n - 1 records the attacker knows, from 0 to n - 1.
    noise_std : float or (d,) array_like
        Standard deviation of the Gaussian noise on the released mean, at least 0.
    noise_cov, noise_factor : array_like, optional
        Its covariance, or a factor of it, in place of `noise_std`; as in `leakage_score`.

    Returns
    -------
    float or (k,) ndarray
        With S the covariance of the noise, (a - b)' ((n - 1 - known_members) C + n^2 S)^-1 (a - b).
        +inf if all other members are known and there is no noise where a and b differ.

    Raises
    ------
    SingularCovarianceError
        If (n - 1 - known_members) C + n^2 S is singular, but for the case above.
    ValueError
        If a row of `a` equals that of `b`, or there are fewer than `known_members` other records.

    See Also
    --------
    posterior_std : For a value that may be any number.
    leakscore.tradeoff.TradeOff.bayes : How often the best guess between a and b is right.

    Notes
    -----
    Given the record, the mean of n is N((z + (n - 1) mu) / n, (n - 1) C / n^2): both candidates
    have the same covariance, so that the log-likelihood ratio is Gaussian, exactly at every n for
    Gaussian records. Records that the attacker knows are subtracted.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> m = leakscore.leakage.attribute_leakage([3.0, 2.0], [0.0, 2.0], reference, 10)
    >>> m, float(leakscore.tradeoff.gaussian(leakage=m).bayes(0.5))
    (1.0, 0.6914...)
    >>> leakscore.leakage.attribute_leakage([3.0, 2.0], [0.0, 2.0], reference, 10, known_members=8)
    9.0
    """
    validation.instance("reference", reference, Reference)
    n = validation.count("n", n, low=2)
    unknown = n - 1 - validation.count("known_members", known_members, 0, n - 1)
    noise = noise_given(noise_std, noise_cov, noise_factor, reference.dim)
    rows = [
        np.asarray(validation.rows(name, value, cols=reference.dim), dtype=np.float64)
        for name, value in (("a", a), ("b", b))
    ]
    for name, array in zip("ab", rows, strict=True):
        validation.finite(name, array)
    first, second = rows
    try:
        shape = np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        raise ValueError(
            f"a of shape {first.shape} and b of shape {second.shape} must have equally many rows"
        ) from None
    same = np.atleast_1d((first == second).all(axis=-1))
    if same.any():
        where = f"row {int(same.argmax())} of both is" if len(shape) > 1 else "both are"
        raise ValueError(f"a and b must differ: {where} the same record")
    result = _distances(np.atleast_2d(first - second), reference, (n, unknown), noise)
    return result if len(shape) > 1 else float(result[0])


def posterior_std(
    reference: Reference,
    n: int,
    column: int,
    *,
    released: Sequence[int] | npt.NDArray[np.integer] | None = None,
    known_members: int = 0,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
) -> float:
    """Standard deviation of a value of a known member, to an attacker who sees the mean of n.

    All other values of the record are known. Before the release the value has the standard
    deviation s = (C^-1)_jj^-1/2, j the column: what the other values leave open.

    Parameters
    ----------
    reference : Reference
        Mean and covariance C of one record of the population, of all columns that are known of it.
    n : int
        Number of records averaged, at least 2.
    column : int
        The column of the unknown value, from 0.
    released : sequence of int, optional
        The columns of which means are published, each once; all by default.
    known_members : int, default 0
        How many of the other n - 1 records the attacker knows, from 0 to n - 1.
    noise_std : float or (r,) array_like
        Standard deviation of the Gaussian noise on the r released means, at least 0.
    noise_cov, noise_factor : array_like, optional
        Its covariance, (r, r), or a factor of it, in place of `noise_std`.

    Returns
    -------
    float
        In units of the column. Without noise and with all columns released it is
        s (1 - 1 / (n - known_members))^1/2, whatever the dimension; 0 if all others are known.
        It is s if the column is not released.

    Raises
    ------
    SingularCovarianceError
        If C is singular.
    ValueError
        If a number is out of its range, or `released` names a column twice.

    Notes
    -----
    A Gaussian posterior: its precision is s^-2 + e' ((n - 1 - known_members) C + n^2 S)^-1 e, of
    the released columns, with e the unit vector of the unknown value. If it is not released, e is
    0: the attacker knows the other values, so means of correlated columns tell nothing of it.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [[4.0, 2.0], [2.0, 5.0]])
    >>> [leakscore.leakage.posterior_std(reference, n, 0) for n in (2, 10, 1000)]
    [1.2649..., 1.6970..., 1.7879...]
    >>> leakscore.leakage.posterior_std(reference, 10, 0, released=[1])
    1.7888...
    """
    validation.instance("reference", reference, Reference)
    n = validation.count("n", n, low=2)
    others = validation.count("known_members", known_members, 0, n - 1)
    release = _released(reference, column, released, (noise_std, noise_cov, noise_factor))
    return math.sqrt(release.posterior(n, n - 1 - others))


def members_to_disclose(
    reference: Reference,
    n: int,
    column: int,
    width: float,
    *,
    released: Sequence[int] | npt.NDArray[np.integer] | None = None,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
) -> int | None:
    """How many members must pool their records until a value of another is told to within a width.

    The least number of known members with which `posterior_std` is at most `width`. The colluding
    members and the attacker know all other values of the record.

    Parameters
    ----------
    reference, n, column, released, noise_std, noise_cov, noise_factor
        As in `posterior_std`.
    width : float
        The standard deviation at which the value counts as disclosed, in units of the column,
        above 0: as a tenth of the column's own.

    Returns
    -------
    int or None
        0 if the release needs no help; None if not even all other n - 1 members suffice.

    Raises
    ------
    SingularCovarianceError
        If C is singular.
    ValueError
        If a number is out of its range, or `released` names a column twice.

    Notes
    -----
    Without noise and with all columns released it is the least k >= 0 with
    s^2 (1 - 1 / (n - k)) <= width^2. The p % rule and the dominance rule of statistical disclosure
    control (Hundepool et al., Statistical Disclosure Control, 2012, ch. 4) ask what one colluding
    contributor, the second largest, learns of a total: known_members=1 in one column.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0], [1.0])
    >>> leakscore.leakage.members_to_disclose(reference, 1000, 0, 0.1)
    999
    >>> leakscore.leakage.members_to_disclose(reference, 1000, 0, 0.9)
    995
    >>> leakscore.leakage.members_to_disclose(reference, 1000, 0, 0.1, noise_std=0.01) is None
    True
    """
    validation.instance("reference", reference, Reference)
    n = validation.count("n", n, low=2)
    width = validation.scalar("width", width, 0.0, closed="neither")
    release = _released(reference, column, released, (noise_std, noise_cov, noise_factor))

    def suffice(members: int) -> bool:
        return math.sqrt(release.posterior(n, n - 1 - members)) <= width

    return bisect_left(range(n), True, key=suffice) if suffice(n - 1) else None


@dataclass(frozen=True)
class _Release:
    """Means of columns, and one value of a record of which all others are known."""

    prior: float
    columns: Reference
    unit: Doubles | None
    noise: GaussianNoise

    def posterior(self, n: int, unknown: int) -> float:
        """Return the variance of the value given the means, of which `unknown` records are open."""
        if self.unit is None:
            return self.prior
        precision = _distances(self.unit[np.newaxis], self.columns, (n, unknown), self.noise)
        return float(self.prior / (1.0 + self.prior * precision[0]))


def _released(
    reference: Reference, column: object, released: object, noise: tuple[object, object, object]
) -> _Release:
    """Validate the arguments that say what is published, and compute the prior variance."""
    dim = reference.dim
    at = validation.count("column", column, 0, dim - 1)
    unit = np.zeros(dim)
    unit[at] = 1.0
    prior = 1.0 / float(
        covariances.distances(reference.invertible(), "column", unit, np.zeros(dim))[0]
    )
    if released is None:
        return _Release(prior, reference, unit, noise_given(*noise, dim))
    if np.ndim(released) != 1:  # type: ignore[arg-type]
        raise ValueError(f"released={released!r} must be columns, as [0, 2]")
    places = [
        validation.count(f"released[{k}]", place, 0, dim - 1)
        for k, place in enumerate(cast("Sequence[int]", released))
    ]
    if not places or len(set(places)) < len(places):
        raise ValueError(f"released={released!r} must be different columns, at least one")
    cov = reference.cov
    part = cov[places] if cov.ndim == 1 else cov[np.ix_(places, places)]
    columns = Reference(reference.mean[places], part)
    return _Release(
        prior, columns, unit[places] if at in places else None, noise_given(*noise, len(places))
    )


def _distances(
    differences: Doubles, reference: Reference, sizes: tuple[int, int], noise: GaussianNoise
) -> Doubles:
    """Return v' (unknown C + n^2 S)^-1 v of every row v; `sizes` are n and `unknown`."""
    n, unknown = sizes
    centre = np.zeros(reference.dim)
    if unknown:
        noisy = noise.added(reference, n * (n / unknown))
        return covariances.distances(noisy.invertible(), "a - b", differences, centre) / unknown
    # Nothing but the noise is open: it hides only what lies in the span of its covariance.
    with np.errstate(over="ignore"):
        std = n * np.broadcast_to(noise.std, centre.shape)
    if not np.isfinite(std).all():
        raise ValueError("noise must have n noise_std below 1.8e308")
    revealing = np.where(differences != 0, np.inf, 0.0)
    with np.errstate(over="ignore"):
        ratios = np.divide(differences, std, out=revealing, where=std > 0)
    if not noise.independent:
        covered = noise.std > 0
        revealed = np.isinf(ratios[:, ~covered]).any(axis=1)
        root = noise.root()[covered] / noise.std[covered, np.newaxis]
        parts = np.linalg.lstsq(root, ratios[:, covered].T, rcond=None)[0].T
        outside = np.linalg.norm(parts @ root.T - ratios[:, covered], axis=1)
        revealed |= outside > 1e-7 * np.linalg.norm(ratios[:, covered], axis=1)
        ratios = np.where(revealed[:, np.newaxis], np.inf, parts)
    with np.errstate(over="ignore"):
        return np.asarray(np.square(ratios).sum(axis=1))
