"""What a ledger of questions returns, and the law by which it decides where only bounds are public.

Sums over public selections, by bounds of the values and a reference alone (`PublicLaw`): let u_1,
u_2, ... be an orthonormal basis of the selections over which a column was summed, and t the sum of
u_k[i]^2. Beside the other records' sums, of covariance C_cc (I - u u'), the value x of record i has
the leakage (x - mu)^2 / C_cc t / (1 - t), which is largest at a bound. It is infinite if the sums
tell x, t = 1. Of several columns C is at least l diag(C), with l the smallest eigenvalue of the
correlations; by Schur's product theorem the covariance of all sums is at least l times what it
would be of independent columns, so the leakage is at most the sum over the columns, over l: exactly
that where columns are independent. Noise that is independent adds to both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leakscore import validation
from leakscore.numeric import bisect
from leakscore.reference import Reference
from leakscore.results import Result
from leakscore.typing import Array, Doubles, Flags

__all__ = ["Answer", "Refusal"]

# t of a record that has a direction of its own, to rounding.
_LARGEST = 1 - 1e-7
# Beside values so much larger than their differences rounding hides what a record adds.
_NARROW = 1e-8
_SPREAD = 1 + 1e-9  # of a variance that bounds allow: rounding


@dataclass(frozen=True, eq=False)
class Answer(Result):
    """An answer of a `Ledger`.

    Attributes
    ----------
    number : int
        Of the answer, from 1. That of the next answer if it is a preview.
    statistic : str
    columns : tuple of int
    values : (k,) ndarray
        The count, or the sums or means of the columns, with their noise; empty of a preview.
    count : float or None
        Of a mean, how many records the selection has, with noise: a mean is taken to be published
        with its count, and is the noisy sum over the noisy count, which counts as 1 at least.
    noise_std : (k,) ndarray
        Standard deviation of all noise in each value, that of earlier answers included.
    standard_errors : float
        The same in units of the value's own standard error, of the value where that is largest.
    leakage : float
        The largest leakage of a record after this answer.
    free : bool
        Whether it follows from earlier answers and tells nothing new.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import leakage
    >>> table = np.random.default_rng(0).normal(size=(1000, 2))
    >>> answer = leakage.Ledger(table, max_advantage=0.1).ask(table[:, 0] > 0, "mean", [1])
    >>> answer.number, answer.free, answer.noise_std.tolist()
    (1, False, [0.0])
    """

    number: int
    statistic: str
    columns: tuple[int, ...]
    values: Doubles
    count: float | None
    noise_std: Doubles
    standard_errors: float
    leakage: float
    free: bool


@dataclass(frozen=True, eq=False)
class Refusal(Result):
    """A question that a `Ledger` does not answer. Nothing was recorded.

    Attributes
    ----------
    statistic : str
    columns : tuple of int
    exceeding : int
        How many records would leak more than the limit without noise.
    leakage : float
        The largest leakage of a record without noise; +inf if it would give itself away.
    standard_errors : float
        The noise that an answer would need, in units of its own standard error; more than
        `max_noise`. +inf if no noise is enough.
    collides : tuple of int
        Numbers of the earlier answers from which, with this one, the worst record follows. Empty if
        the answer would tell too much of it alone.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import leakage
    >>> table = np.random.default_rng(0).normal(size=(1000, 2))
    >>> ledger = leakage.Ledger(table, max_advantage=0.1)
    >>> _ = ledger.ask(np.ones(1000, dtype=bool), "sum", [1])
    >>> refusal = ledger.ask(np.arange(1000) > 0, "sum", [1])
    >>> refusal.exceeding, refusal.leakage, refusal.collides
    (1, inf, (1,))
    """

    statistic: str
    columns: tuple[int, ...]
    exceeding: int
    leakage: float
    standard_errors: float
    collides: tuple[int, ...]


def odds(used: Doubles) -> Doubles:
    """Return t / (1 - t), +inf for a direction of the record's own."""
    infinite = np.full(len(used), np.inf)
    return np.asarray(np.divide(used, 1.0 - used, out=infinite, where=used < _LARGEST))


@dataclass(frozen=True, eq=False)
class PublicLaw:
    """Bounds of columns, and the law of the values within them.

    Attributes
    ----------
    columns : tuple of int
        Those whose values are secret, in increasing order.
    bounds : (k, 2) ndarray
    mean : (k,) ndarray
    cov : (k, k) ndarray
    """

    columns: tuple[int, ...]
    bounds: Doubles
    mean: Doubles
    cov: Doubles

    @classmethod
    def of(cls, bounds: object, reference: object, width: int) -> PublicLaw:
        """Check what is public of a table of `width` columns."""
        if not isinstance(bounds, Mapping) or not bounds:
            raise TypeError(
                f"bounds={bounds!r} must map a column to its two ends, as {{0: (0.0, 1.0)}}"
            )
        columns = tuple(
            sorted(validation.count("column of bounds", column, 0, width - 1) for column in bounds)
        )
        ends = np.array([_ends(column, bounds[column]) for column in columns])
        if isinstance(reference, Reference):
            mean, cov = np.asarray(reference.mean), np.asarray(reference.cov)
            cov = np.diag(cov) if cov.ndim == 1 else cov
            if mean.shape != (len(columns),):
                raise ValueError(
                    f"reference of {mean.size} features must be of the {len(columns)} "
                    "columns of bounds, in their order"
                )
        elif isinstance(reference, str) and reference == "uniform":
            mean = ends.mean(axis=1)
            cov = np.diag(np.square(np.diff(ends)[:, 0]) / 12.0)
        else:
            raise ValueError(
                f"reference={reference!r} must be a Reference of the columns of bounds, or "
                "'uniform': rule='public' says how much others hide from the law of their values"
            )
        law = cls(columns, ends, mean, cov)
        law._require_possible()
        return law

    def _require_possible(self) -> None:
        """Refuse a law that no values within the bounds have, as it hides more than they can."""
        below, above = self.mean - self.bounds[:, 0], self.bounds[:, 1] - self.mean
        variances = np.diag(self.cov)
        for j, column in enumerate(self.columns):  # R. Bhatia and C. Davis (2000)
            if not (below[j] > 0 < above[j]) or variances[j] > below[j] * above[j] * _SPREAD:
                raise ValueError(
                    f"reference must be a law of values within bounds[{column}]="
                    f"{tuple(self.bounds[j].tolist())}: its mean is {self.mean[j]:.6g} and its "
                    f"standard deviation {np.sqrt(variances[j]):.6g}"
                )
        if not self._least_share > 1e-9:
            raise ValueError(
                "reference must have columns that do not follow from each other: leave one out"
            )

    @property
    def _least_share(self) -> float:
        """The smallest eigenvalue of the correlations."""
        scales = np.sqrt(np.diag(self.cov))
        if not (scales > 0).all():
            return 0.0
        return min(float(np.linalg.eigvalsh(self.cov / scales / scales[:, None])[0]), 1.0)

    def require(self, rows: Any) -> None:
        """Refuse a table that has a value outside its bounds."""
        for column, (low, high) in self.ends.items():
            values = rows[:, column]
            if values.min() < low or values.max() > high:
                raise ValueError(
                    f"bounds[{column}]={(low, high)} must hold every value of the column"
                )

    @property
    def ends(self) -> dict[int, tuple[float, float]]:
        """The bounds by column."""
        return {
            j: (low, high)
            for j, (low, high) in zip(self.columns, self.bounds.tolist(), strict=True)
        }

    def spread(self, column: int) -> float:
        """Return the standard deviation behind which a value can count on hiding."""
        j = self.columns.index(column)
        return float(np.sqrt(self._least_share * self.cov[j, j]))

    def reach(self, column: int) -> float:
        """Return the square of the largest distance from the mean, in units of `spread`."""
        j = self.columns.index(column)
        farthest = float(np.abs(self.bounds[j] - self.mean[j]).max())
        return (farthest / self.spread(column)) ** 2

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of any column, in units of its `spread`."""
        return float(1.0 / np.sqrt(self._least_share))


def _ends(column: int, ends: Any) -> tuple[float, float]:
    """Return the two bounds of a column."""
    if np.shape(ends) != (2,):
        raise ValueError(f"bounds[{column}]={ends!r} must be two numbers")
    low, high = (validation.scalar(f"bounds[{column}]", end, -1e100, 1e100) for end in ends)
    if not low < high:
        raise ValueError(f"bounds[{column}]={ends!r} must be a lower and a higher number")
    return low, high


def least_excess(parts: Sequence[tuple[float, Doubles, Doubles]], allowed: Doubles) -> float:
    """Return the least noise with which no record's leakage grows by more than it may.

    Parameters
    ----------
    parts : sequence of (float, ndarray, ndarray)
        Of every column its reach, t of every record, and what is added to t without noise.
    allowed : (k,) ndarray
        By how much the leakage of every record may grow.

    Returns
    -------
    float
        The variance of the noise in units of the sum's along each direction; +inf if none is
        enough.
    """

    def beyond(share: float, rows: slice) -> Doubles:
        total = -allowed[rows]
        for reach, used, gain in parts:
            total = total + reach * (odds(used[rows] + share * gain[rows]) - odds(used[rows]))
        return total

    def within(record: int, share: float) -> bool:
        return bool(beyond(share, slice(record, record + 1))[0] <= 0)

    high = 1.0
    while high and (over := beyond(high, slice(None))).max() > 0:
        high, _ = bisect(partial(within, int(over.argmax())), 0.0, high)
    return 1.0 / high - 1.0 if high else np.inf


def law_of(rule: Any, bounds: Any, reference: Any, rows: Array) -> PublicLaw | None:
    """Return what is public; None by the exact rule."""
    if rule is None:
        rule = "exact" if bounds is None else "public"
    if validation.choice("rule", rule, ("exact", "public")) == "exact":
        for name, value in (("bounds", bounds), ("reference", reference)):
            if value is not None:
                raise ValueError(f"{name} must be given only with rule='public', not rule='exact'")
        return None
    law = PublicLaw.of(bounds, reference, rows.shape[1])
    law.require(rows)
    return law


def require_limit(limit: float) -> float:
    """Return a limit; refuse one that rounding does not keep, or whose noise overflows."""
    if not 1e-100 <= limit <= 1e6:
        raise ValueError(f"The limit must be a leakage in [1e-100, 1e6], not {limit:g}")
    return limit


def require_wide(columns: Doubles, mask: Flags, numbers: Sequence[int]) -> None:
    """Refuse a column whose values in a selection hardly differ, unless they are all equal."""
    for column in numbers:
        values = columns[column, mask]
        low, high = values.min(), values.max()
        if low < high <= low + _NARROW * np.abs(values).max():
            raise ValueError(
                f"column {column} must have values in the selection that are equal, or differ by "
                f"more than {_NARROW:g} of their size: subtract a number that everybody knows"
            )


def public_of(head: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that the first line holds beside the limit."""
    if head.get("rule") == "exact":
        return {}
    try:
        bounds = {column: (low, high) for column, low, high in head["bounds"]}
        return {
            "rule": head["rule"],
            "bounds": bounds,
            "reference": Reference(head["mean"], head["cov"]),
        }
    except (KeyError, TypeError, ValueError):
        raise ValueError("raw must be a ledger whose first line says its rule") from None
