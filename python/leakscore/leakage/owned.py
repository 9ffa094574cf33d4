"""The least noise for a table with persons of several records, or after earlier means of its rows.

What earlier means told of a person is not taken back: the noise on the present mean has what is
left of the limit. Means of the first rows give away the means of batches, of which the last is the
present one's, with the noise times n over its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.leakage import groups as grouped
from leakscore.leakage._shaped import (
    SAFE,
    ShapedNoise,
    Task,
    Wish,
    largest_errors,
    solve,
    weights_of,
)
from leakscore.leakage.groups import Groups
from leakscore.leakage.noise.persons import PersonBlock, PersonsProblem
from leakscore.reference import Reference, left_out
from leakscore.reference.left_out import CovarianceFit
from leakscore.typing import Array, Doubles, Flags

__all__ = ["OwnedTable", "Wish"]

Integers = npt.NDArray[np.intp]


def earlier_counts(value: object, rows: int, n: int) -> tuple[int, ...]:
    """Return the counts behind earlier means of the first rows; the present one is of all."""
    values: Sequence[object] = [value] if np.ndim(value) == 0 else list(value)  # type: ignore[arg-type, call-overload]
    counts = tuple(validation.count("previous", count, 1, rows - 1) for count in values)
    if not counts or any(later <= count for count, later in pairwise(counts)):
        raise ValueError(f"previous={value!r} must increase")
    if n != rows:
        raise ValueError(f"n={n} with previous must be {rows}, the number of rows")
    return counts


@dataclass(frozen=True, eq=False)
class OwnedTable:
    """A table whose rows belong to persons, and the batches of which means are published.

    Attributes
    ----------
    table : (N, d) ndarray
    reference : Reference
        Fitted on the table, of kind "full" and without shrinkage, as `fit` says.
    n : int
        Records in the present mean.
    owned : Groups
    batch : (N,) ndarray of int
        Which batch each row is in.
    sizes : (T,) ndarray
        Records of each batch.
    share : float
        1 - n/N of a finite population, otherwise 1.
    """

    table: Array
    reference: Reference
    fit: CovarianceFit
    n: int
    owned: Groups
    batch: Integers
    sizes: Integers
    share: float

    @property
    def size(self) -> int:
        """Records in the present batch."""
        return int(self.sizes[-1])

    @property
    def per_record(self) -> float:
        """By what the noise on the mean is multiplied to be added to one record's covariance."""
        return self.n * (self.n / self.size)

    @property
    def new(self) -> Flags:
        """Which persons have a row in the present batch, (P,)."""
        present = np.zeros(len(self.owned.sizes), dtype=bool)
        present[self.owned.of_row[self.batch == len(self.sizes) - 1]] = True
        return present

    def can_spare(self, person: int) -> bool:
        """Tell whether the noise can be computed without a person."""
        others = np.delete(np.arange(len(self.batch)), self.owned.rows(person))
        largest = int(np.delete(self.owned.sizes, person).max(initial=0))
        counts = np.bincount(self.batch[others], minlength=len(self.sizes))
        few = len(others) - self.fit.ddof - max(largest, 1) <= self.reference.dim
        return not few and int(counts[-1]) > 0 and largest < int(self.sizes[-1])

    def without(self, person: int) -> OwnedTable:
        """Return the table without a person's rows; as many records are averaged as before."""
        kept = np.delete(np.arange(len(self.batch)), self.owned.rows(person))
        values = self.table[kept]
        reference = Reference.fit(values, ddof=self.fit.ddof)
        return replace(
            self,
            table=values,
            reference=reference,
            fit=left_out.require_own_table(values, reference),
            owned=Groups(np.unique(self.owned.of_row[kept], return_inverse=True)[1].reshape(-1)),
            batch=self.batch[kept],
        )

    def told(self) -> Doubles:
        """Leakage of every person from the earlier means, (P,)."""
        last = len(self.sizes) - 1
        if last == 0:
            return np.zeros(len(self.owned.sizes))
        weight = np.where(self.batch < last, 1 / np.sqrt(self.sizes[self.batch]), 0.0)
        scores = self.owned.scores(
            lambda: left_out.distances(self.table, self.reference, self.fit) * weight**2,
            lambda: grouped.distances(self.table, self.reference, self.owned, self.batch, weight),
        )
        scores[self._all_of(slice(0, -1))] = np.inf
        return scores

    def added(self, noise_cov: Doubles) -> Doubles:
        """Leakage of every person from the present batch, under noise on the mean, (P,)."""
        kept = np.ones(self.reference.dim, dtype=bool)
        problem = self._problem(np.ones(len(self.owned.sizes)), kept)
        return problem.distances(self.per_record * noise_cov) / self.size

    def noise(self, wish: Wish, earlier: Doubles) -> ShapedNoise:
        """Find the least noise with which what is told and what is added are within the limit."""
        if self._all_of(slice(-1, None)).any():
            raise ValueError(
                f"The {self.size} records that the mean adds must be of several persons: no "
                "noise hides one who is all of them"
            )
        weights, kept = weights_of(
            wish.weights, self.reference, largest_errors("X", self.table, self.reference.mean)
        )
        remaining = np.maximum(wish.budget - earlier, 0.0)
        problem = self._problem(self.size * remaining * SAFE, kept)
        judged = self.new

        def leakage(factor: Doubles) -> Doubles:
            inner = factor[kept]
            added = problem.distances(self.per_record * (inner @ inner.T)) / self.size
            return np.where(judged, earlier + added, 0.0)

        task = Task(
            argument="X",
            reference=self.reference,
            problem=problem,
            owner=self.owned.of_row,
            wish=wish,
            per_record=self.per_record,
            weights=weights,
            kept=kept,
            divisor=self.size,
            leakage=leakage,
            share=self.share,
        )
        return solve(task)

    def _all_of(self, batches: slice) -> Flags:
        """Which persons are all of one of some batches, (P,)."""
        meant = np.arange(len(self.sizes))[batches]
        whole = np.zeros(len(self.owned.sizes), dtype=bool)
        for batch in meant.tolist():
            counts = np.bincount(self.owned.of_row[self.batch == batch], minlength=len(whole))
            whole |= counts >= self.sizes[batch]
        return whole

    def _problem(self, limits: Doubles, kept: Flags) -> PersonsProblem:
        """Return the problem with the largest distance of every person who is judged, (P,)."""
        total, ddof = self.fit.rows, self.fit.ddof
        largest = int(self.owned.sizes.max())
        if largest >= total - ddof:
            raise ValueError(
                f"ids must be of fewer than {total - ddof} of the {total} rows each, not of "
                f"{largest}: the others have no covariance"
            )
        ridge = np.broadcast_to(self.fit.ridge, (self.reference.dim,))
        scatter = (total - ddof) * (self.reference.cov - np.diag(ridge))
        least = (total - largest - ddof) / self.share
        part = np.ix_(kept, kept)
        return PersonsProblem(
            values=(scatter / least + self.share * np.diag(ridge))[part],
            scatter=scatter[part],
            freedom=least,
            blocks=tuple(self._blocks(limits, kept)),
            scale=np.ones(int(kept.sum())),
            rounding=self.reference.covariance.rounding,
            total=len(self.owned.sizes),
        )

    def _blocks(self, limits: Doubles, kept: Flags) -> Iterator[PersonBlock]:
        judged = self.new
        for persons, rows in self.owned.blocks(self.reference.dim, least=1):
            chosen = judged[persons]
            if not chosen.any():
                continue
            persons, rows = persons[chosen], rows[chosen]
            away = np.asarray(self.table[rows] - self.reference.mean, dtype=np.float64)
            present = (self.batch[rows] == len(self.sizes) - 1).astype(np.float64)
            away, along = grouped.grown(away[:, :, kept], present[:, :, np.newaxis], self.fit.rows)
            along = along[:, :, 0]
            if away.shape[1] > away.shape[2]:  # the same products from fewer rows
                turn, away = np.linalg.qr(away)
                along = np.einsum("gkj,gk->gj", turn, along)
            freedom = (self.fit.rows - rows.shape[1] - self.fit.ddof) / self.share
            yield PersonBlock(persons, freedom, away / np.sqrt(freedom), along, limits[persons])
