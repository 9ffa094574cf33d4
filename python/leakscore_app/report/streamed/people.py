"""The worst records of a long table as the population of a report: all others are known by law."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from leakscore.leakage.groups import Groups
from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Reference, SingularCovarianceError
from leakscore_app.report._leakage import Population
from leakscore_app.report._model import Doubles
from leakscore_app.report._published import Published

Integers = npt.NDArray[np.int64]
DOMINANT = 0.999  # share of the variance in a direction from which on digits are lost


class Crowd(Population):
    """Some records of a table of which only the law is known besides.

    Persons are these records: indices are into them, and `size` counts the table's.

    Parameters
    ----------
    law : TableLaw
    values : (K, d) ndarray
        The records, in the units of the file.
    rows : (K,) ndarray of int
        Their numbers, from 0.
    n : int
    finite : bool
    refitted : dict
        Number of a record -> mean and covariance of all others, estimated anew.
    """

    def __init__(
        self,
        law: TableLaw,
        values: Doubles,
        rows: Integers,
        n: int,
        *,
        finite: bool,
        refitted: dict[int, Reference] | None = None,
    ) -> None:
        self.law, self.numbers = law, rows
        self.scale, self.values = law.scale, law.scaled(values)
        self.raw = values
        self.n, self.finite, self.shrinkage = n, finite, None
        self.size, self.dim = law.rows, values.shape[1]
        self.correction = 1 - n / self.size if finite else 1.0
        self.pull = None
        self.refitted = refitted or {}
        self.reference = Reference(law.mean, law.cov)
        self.centred = self.values - law.mean
        every = np.arange(len(rows))
        self.published = Published(Groups(every), np.zeros_like(every), np.array([n]))
        self.owned = self.published.owned
        self._told = np.zeros(len(rows))
        self._known = {}

    @cached_property
    def divisors(self) -> Doubles:
        """What the squared distance of each record is divided by, (K,)."""
        return np.full(len(self.numbers), self.n * self.correction)

    def added(self, noise_std: float = 0.0) -> Doubles:
        """Leakage to the informed attacker, (K,); `noise_std` is that of `informed`."""
        variance = self.n * noise_std**2 / self.correction
        return np.asarray(self.distances(self.law.with_noise(variance)) / self.divisors)

    def distances(self, law: TableLaw) -> Doubles:
        """Squared distance of each record from all others by a law of the same columns, (K,)."""
        found = law.distances(self.raw)
        for index in np.flatnonzero(np.isin(self.numbers, list(self.refitted))).tolist():
            known = self.refitted[int(self.numbers[index])]
            try:
                noisy = known.add_diagonal(law.noise)
                found[index] = noisy.squared_mahalanobis(self.values[index])
            except SingularCovarianceError:  # in some direction only this record varies
                found[index] = np.inf
        return found

    def without(self, person: int) -> Reference:
        """Mean and covariance (times 1 - n/N if finite) of all records but one."""
        if person not in self._known:
            self._known[person] = self._without(person)
        return self._known[person]

    def _without(self, person: int) -> Reference:
        known = self.refitted.get(int(self.numbers[person]))
        if known is not None:
            return Reference(known.mean, self.correction * known.cov)
        rest, away = self.size - 1, self.centred[person]
        cov = self.law.cov * (self.size / rest) - np.outer(away, away) * (self.size / rest**2)
        return Reference(self.law.mean - away / rest, self.correction * cov)

    def weaker(self) -> Doubles:
        """Leakage to the attacker who knows the columns' means and variances only, (K,)."""
        return np.asarray(self.law.weaker(self.raw) / self.divisors)

    def in_sample(self) -> Doubles:
        """Leakage with the record in the reference: too small for the unusual ones."""
        return np.asarray(self.reference.squared_mahalanobis(self.values) / self.divisors)

    def larger(self, size: int) -> Crowd:
        """Return the same with so many records in the mean."""
        return Crowd(
            self.law, self.raw, self.numbers, size, finite=self.finite, refitted=self.refitted
        )

    def with_columns(self, kept: Sequence[int]) -> Crowd:
        """Return the release of some of the columns."""
        law, columns = self.law.with_columns(kept), list(kept)
        refitted = {row: part_of(known, columns) for row, known in self.refitted.items()}
        return Crowd(
            law, self.raw[:, columns], self.numbers, self.n, finite=self.finite, refitted=refitted
        )

    def dominant(self) -> list[int]:
        """Return the numbers of records with nearly all of the variance in some direction."""
        share = self.reference.squared_mahalanobis(self.values) / (self.size - 1)
        return [int(row) for row in self.numbers[share > DOMINANT]]


def part_of(known: Reference, columns: list[int]) -> Reference:
    return Reference(known.mean[columns], known.cov[np.ix_(columns, columns)])
