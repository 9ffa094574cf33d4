"""Tests that keep their level with unknown mean and covariance of the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, Generic, Protocol, cast, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import chi2
from leakscore.reference import Reference, SingularCovarianceError, covariances
from leakscore.results import Result
from leakscore.typing import Array, Doubles, Rest, Row, Rows, Value


@dataclass(frozen=True, eq=False)
class Significance(Result, Generic[Value]):
    """A statistic, larger for members, and its p-value under H0.

    Attributes
    ----------
    statistic : float or ndarray
        Of every release.
    pvalue : float or ndarray
        Probability, without the target, of a statistic as large: a test that says member if it is
        below alpha has exactly the level alpha.
    df : tuple of int
        Degrees of freedom of the law under H0: of Student's t, of F, or of chi-square.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0], [1.0])
    >>> found = leakscore.sequential.hotelling([0.5], reference, n=10)
    >>> print(f"{found.statistic:.2f} {found.pvalue:.4f} {found.df}")
    2.50 0.1138 (1,)
    """

    statistic: Value
    pvalue: Value
    df: tuple[int, ...]


class _ReleasesFunction(Protocol[Rest]):
    """A test of a release (d,) or releases (T, d)."""

    @overload
    def __call__(
        self, observed: Rows, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Significance[Doubles]: ...
    @overload
    def __call__(
        self, observed: Row, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Significance[float]: ...
    @overload
    def __call__(
        self, observed: npt.ArrayLike, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Significance[float | Doubles]: ...


def _typed_by_rank(
    function: Callable[Concatenate[npt.ArrayLike, Rest], Significance[float | Doubles]],
) -> _ReleasesFunction[Rest]:
    return cast("_ReleasesFunction[Rest]", function)


@_typed_by_rank
def split_t(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    rows: npt.ArrayLike,
    n: int,
    *,
    split: int | None = None,
    reference: Reference | None = None,
) -> Significance[float | Doubles]:
    """Exact t test of a target in the mean of n Gaussian records of unknown mean and covariance.

    Some reference records choose a direction, the others measure the release's distance from their
    mean along it: exactly a Student variable without the target, for any number of records and any
    direction. The log-likelihood ratio with estimates in place of mean and covariance does not keep
    its level: with d = 5, n = 10 and 60 reference records it flags 8.0% of non-members at the
    threshold of 5%, and 2.7% at that of 1%.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means, one a row.
    target : (d,) array_like
        Record whose membership is asked for.
    rows : (m, d) array_like
        Reference records, independent of the release: the first of them choose the direction, the
        others calibrate.
    n : int
        Number of records averaged, at least 2.
    split : int, optional
        How many rows choose the direction, more than d, and at most m - 2; half of them if None.
    reference : Reference, optional
        Mean and covariance from other records, in place of rows that choose the direction, so that
        all of `rows` calibrate. Any guess is legal, shrunk or of low rank; a better one has more
        power.

    Returns
    -------
    Significance
        Statistic and one-sided p-value of every release.

    Raises
    ------
    SingularCovarianceError
        If the covariance of `reference` is singular.
    ValueError
        If shapes do not fit, there are too few rows, the target is at the mean or `rows` are
        constant along the direction, `n` < 2, or a value is not finite.

    Notes
    -----
    With A for the first rows, B for the m_B others and w = C_A^-1 (z - mean_A), the statistic is
    w'(x - mean_B) / (s sqrt(1/n + 1/m_B)), s^2 the sample variance of the rows' w'b. Independent of
    the release and of B, w acts as if fixed, and w'x and w'b are normal. The p-values of several
    releases depend on each other, because they share the rows. With d = 5, n = 10,
    M = 36 and 60 rows, 25 of which calibrate, the power at the level .05 is .440; with known mean
    and covariance it would be .607.

    The setting is that of T. Michel, D. Basu and E. Kaufmann, sequential membership inference,
    section 3, whose test assumes known mean and covariance.

    Examples
    --------
    >>> import leakscore
    >>> rows = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.5], [1.5, 0.5], [0.5, 1.0], [1.0, 2.0]]
    >>> found = leakscore.sequential.split_t([1.4, 1.6], [4.0, 5.0], rows, n=4)
    >>> print(f"{found.statistic:.4f} {found.pvalue:.4f}")
    1.4869 0.1377
    """
    from scipy.special import stdtr

    table = validation.matrix("rows", rows, min_rows=2)
    dim = table.shape[1]
    released = validation.rows("observed", observed, cols=dim)
    z = validation.vector("target", target, size=dim)
    n = validation.count("n", n, 2, why=validation.ONE)
    chosen, table = _direction(table, split, reference)
    weight = _towards(chosen, z)
    origin = np.array(table[0], dtype=np.float64)
    along = _projections("rows", table, origin, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = float(along.std(ddof=1)) * np.sqrt(1.0 / n + 1.0 / len(along))
        if not (scale > 0.0 or np.isnan(scale)):
            raise ValueError("rows must differ along the direction from the mean to target")
        statistic = (_projections("observed", released, origin, weight) - along.mean()) / scale
    if not (np.isfinite(statistic).all() and scale < np.inf):
        raise ValueError("observed and rows must be so small that no square overflows")
    df = len(along) - 1
    shape = released.shape[:-1]
    return Significance(
        statistic.reshape(shape)[()], stdtr(df, -statistic).reshape(shape)[()], (df,)
    )


def _towards(reference: Reference, z: Doubles) -> Doubles:
    """Return C^-1 (z - mean) up to a power of two, which does not change the statistic."""
    with np.errstate(over="ignore"):
        away = z - reference.mean
    largest = np.abs(away).max()
    if largest < 2.0**300:
        return reference.solve(away)
    halves = 0.5 * z - 0.5 * reference.mean
    return reference.solve(np.ldexp(halves, -int(np.frexp(np.abs(halves).max())[1])))


def _direction(
    table: Array, split: int | None, reference: Reference | None
) -> tuple[Reference, Array]:
    """Return what chooses the direction, and the rows that calibrate."""
    count, dim = table.shape
    if reference is not None:
        if split is not None:
            raise ValueError(f"split={split!r} must not be given with reference")
        if validation.instance("reference", reference, Reference).dim != dim:
            raise ValueError(f"reference of {reference.dim} coordinates must have {dim}")
        return reference, table
    if count < dim + 3:
        raise ValueError(
            f"rows of shape {table.shape} must be at least {dim + 3}, or pass reference="
        )
    if split is None:
        split = max(count // 2, dim + 1)
    first = validation.count("split", split, dim + 1, count - 2)
    return _fit_reference("rows", table[:first]), table[first:]


@_typed_by_rank
def hotelling(
    observed: npt.ArrayLike, reference: Reference | npt.ArrayLike, n: int
) -> Significance[float | Doubles]:
    """Hotelling's test that a mean of n Gaussian records is shifted, in any direction.

    For an attacker who does not know the target: the adversary of the relaxed threat model. Exact
    with known mean and covariance, and with both estimated from reference records.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means, one a row.
    reference : Reference or (m, d) array_like
        Known mean and covariance of one record, or m > d reference records, independent of the
        release. A `Reference` that was fitted counts as known: then the level is not exact.
    n : int
        Number of records averaged, at least 2.

    Returns
    -------
    Significance
        The statistic is n (x - mean)' C^-1 (x - mean), a chi-square variable with d degrees of
        freedom, or (x - mean)' S^-1 (x - mean) / (1/n + 1/m) (m - d) / ((m - 1) d) with mean and
        sample covariance S of the records, of the law F(d, m - d).

    Raises
    ------
    SingularCovarianceError
        If the covariance, or that of the reference records, is singular.
    ValueError
        If shapes do not fit, m <= d, `n` < 2, or a value is not finite.

    Notes
    -----
    With d = 5, n = 10, M = 36 and 60 reference records the power at the level .05 is .178; with
    known mean and covariance it is .226, and .607 for an attacker who knows the target too.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023), for the
    adversary; T. Michel, D. Basu and E. Kaufmann, sequential membership inference, for the game.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> found = leakscore.sequential.hotelling([1.0, 1.0], reference, n=8)
    >>> print(f"{found.statistic:.1f} {found.pvalue:.6f}")
    10.0 0.006738
    """
    n = validation.count("n", n, 2, why=validation.ONE)
    if isinstance(reference, Reference):
        rows = validation.rows("observed", observed, cols=reference.dim)
        with np.errstate(over="ignore"):
            squares = n * covariances.distances(
                reference.invertible(), "observed", rows, reference.mean
            )
        df: tuple[int, ...] = (reference.dim,)
        pvalue = chi2.sf(squares, float(reference.dim))
    else:
        squares, pvalue, df = _f_test(observed, reference, n)
    shape = np.shape(observed)[:-1]
    return Significance(squares.reshape(shape)[()], np.reshape(pvalue, shape)[()], df)


def _f_test(
    observed: npt.ArrayLike, reference: npt.ArrayLike, n: int
) -> tuple[Doubles, Doubles, tuple[int, int]]:
    """Return the F statistics of the releases, (T,), their p-values and the degrees of freedom."""
    from scipy.special import fdtrc

    table = validation.matrix("reference", reference)
    count, dim = table.shape
    rows = validation.rows("observed", observed, cols=dim)
    if count <= dim:
        raise ValueError(
            f"reference of shape {table.shape} must have more rows than columns, or be a "
            "leakscore.Reference of known mean and covariance"
        )
    fitted = _fit_reference("reference", table)
    with np.errstate(over="ignore"):
        squares = covariances.distances(fitted.invertible(), "observed", rows, fitted.mean) / (
            1.0 / n + 1.0 / count
        )
        statistic = squares * ((count - dim) / ((count - 1) * dim))
    return statistic, fdtrc(dim, count - dim, statistic), (dim, count - dim)


def _fit_reference(name: str, rows: Array) -> Reference:
    """Return mean and sample covariance of the rows; the error names the caller's argument."""
    try:
        return Reference.fit(rows, ddof=1)
    except SingularCovarianceError:
        raise
    except ValueError:
        validation.finite(name, rows)
        raise


def _projections(name: str, rows: Array, origin: Doubles, weight: Doubles) -> Doubles:
    """Return weight'(row - origin) of every row."""
    result: Doubles = _core.multiply(np.atleast_2d(rows), 0, origin, weight[np.newaxis])[0]
    if not np.isfinite(result).all():
        validation.finite(name, rows)
    return result
