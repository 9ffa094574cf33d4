"""Who owns which record, and which batches of records are published.

One mean of n records is one batch. If means of the first rows were published before, the
differences of these cumulative means give away the mean of every batch of rows between them, and
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.leakage.groups import Groups, OwnedBatches
from leakscore_app.report._model import Doubles

Integers: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True)
class BatchPart:
    """The records of one person in one batch."""

    batch: int
    rows: Integers


class Published(OwnedBatches):
    """Persons and batches of a report; persons are in the order of their first records."""

    @classmethod
    def of(
        cls, ids: npt.NDArray[np.str_] | None, records: int, n: int, totals: tuple[int, ...] = ()
    ) -> Published:
        """Return what is published of so many records: n of them, or all after earlier means.

        Parameters
        ----------
        ids : (N,) ndarray of str or None
            Who each record belongs to; without them each is a person's only one.
        records, n : int
            Records there are, and records in the present mean.
        totals : tuple of int
            Records behind each earlier mean.
        """
        owner = np.arange(records)
        if ids is not None:
            _, first, owner = np.unique(ids, return_index=True, return_inverse=True)
            owner = np.argsort(np.argsort(first, kind="stable"), kind="stable")[owner.reshape(-1)]
        if not totals:
            return cls(Groups(owner), np.zeros(records, dtype=np.intp), np.array([n]))
        sizes = np.diff([0, *totals, records])
        return cls(Groups(owner), np.repeat(np.arange(len(sizes)), sizes), sizes)

    @property
    def totals(self) -> Integers:
        """How many records were behind the first mean that each record is in, (N,)."""
        return np.cumsum(self.sizes)[self.batch]

    def batch_sizes(self) -> list[list[int]]:
        """Return the sizes of the batches that each person is in."""
        person, batch = np.divmod(self.pairs[0], len(self.sizes))
        ends = np.cumsum(np.bincount(person))[:-1]
        return [sizes.tolist() for sizes in np.split(self.sizes[batch], ends)]

    def sums(self, rows: Doubles) -> tuple[Integers, Integers, Doubles]:
        """Add up rows (N, d) by person and batch; return person, batch and sum of each pair."""
        pair, counts, of_row = self.pairs
        person, batch = np.divmod(pair, len(self.sizes))
        order = np.argsort(of_row, kind="stable")
        return person, batch, np.add.reduceat(rows[order], np.cumsum(counts) - counts, axis=0)

    def parts(self, person: int) -> Iterator[BatchPart]:
        """Yield the records of a person, batch by batch."""
        rows = self.owned.rows(person)
        for batch in np.unique(self.batch[rows]).tolist():
            yield BatchPart(batch, rows[self.batch[rows] == batch])

    def of_rows(self, rows: Integers) -> tuple[Published, Integers]:
        """Return the same without some records of the last batch, and which persons remain."""
        persons, owner = np.unique(self.owned.of_row[rows], return_inverse=True)
        sizes = self.sizes.copy()
        lost = len(self.batch) - len(rows)
        sizes[-1] = sizes[-1] - lost if len(sizes) > 1 else min(sizes[-1], len(rows))
        return Published(Groups(owner.reshape(-1)), self.batch[rows], sizes), persons

    def with_last_size(self, size: int) -> Published:
        """Return the same with another size of the last batch."""
        return Published(self.owned, self.batch, np.array([*self.sizes[:-1], size]))
