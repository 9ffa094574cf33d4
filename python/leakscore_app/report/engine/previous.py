"""Means of the first rows of the table that were published before: what they were of.

All numbers of a report are those of all means together (`population`). Here is what is told beside
them: the leakage of the present mean alone, and the counts batch by batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff, validation
from leakscore_app.report._model import ALPHA, Batch, Doubles, IdentifiedCounts, Previous
from leakscore_app.report.engine.leakage import counts_of, risk_of
from leakscore_app.report.engine.population import Population, Published
from leakscore_app.tables.records import Records

Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Earlier:
    """How many rows of the file, and how many judged records, were behind each earlier mean."""

    rows: tuple[int, ...]
    records: tuple[int, ...]


def earlier_of(
    previous: int | Sequence[int], records: Records, rows: int, n: int | None, population: str
) -> Earlier:
    """Return what was published before; refuse counts that are no history of these rows.

    Rows that are not judged were not in those means either.
    """
    previous = [previous] if np.ndim(previous) == 0 else list(previous)  # type: ignore[list-item, arg-type]
    if population == "finite":
        raise ValueError(
            f"Expected no previous={previous} with a finite population: the earlier means "
            "are of these very rows, which are a sample of a larger population, not drawn anew"
        )
    size = len(records.rows)
    if n is not None and n != size:
        raise ValueError(
            f"Expected no n={n} with previous={previous}: the mean of all {size} records is "
            "published now"
        )
    counts = [validation.count("previous", count, 1, rows - 1) for count in previous]
    if not counts:
        raise ValueError("Expected previous=[] to hold a number of rows")
    if any(later <= count for count, later in pairwise(counts)):
        raise ValueError(f"Expected previous={counts} to increase")
    judged = np.searchsorted(records.rows, counts, side="right").tolist()
    steps = zip(pairwise([0, *counts, rows]), pairwise([0, *judged, size]), strict=True)
    for (start, stop), (before, after) in steps:
        if before == after:
            raise ValueError(
                f"Expected previous={counts} with a record between any two means; none of the rows "
                f"{start + 1} to {stop} is judged"
            )
    return Earlier(tuple(counts), tuple(judged))


def previous_of(people: Population, scores: Doubles, earlier: Earlier, rows: Rows) -> Previous:
    """Set what all means tell beside the present mean alone.

    Parameters
    ----------
    people : Population
    scores : (P,) ndarray
        Leakage of each person from all means.
    earlier : Earlier
    rows : (N,) ndarray of int
        Numbers of the records.
    """
    published = people.published
    alone = Population(
        people.values,
        people.n,
        finite=False,
        shrinkage=people.shrinkage,
        published=Published(published.owned, np.zeros_like(published.batch), np.array([people.n])),
    ).informed()
    return Previous(
        rows_published=earlier.rows,
        records_published=(*earlier.records, people.size),
        alone=risk_of(alone, None),
        told=people.told,
        added=people.added(),
        new=published.new,
        given_away=published.given_away(),
        batch_sizes=published.batch_sizes(),
        power_if_gaussian=_if_gaussian(people, scores),
        batches=_batches(people, alone, scores, rows),
    )


def _batches(people: Population, alone: Doubles, scores: Doubles, rows: Rows) -> tuple[Batch, ...]:
    published = people.published
    found = []
    for batch, size in enumerate(published.sizes.tolist()):
        records = np.flatnonzero(published.batch == batch)
        who = np.unique(published.owned.of_row[records])
        first = rows[published.owned.first[who]]
        found.append(
            Batch(
                rows=(int(rows[records[0]]), int(rows[records[-1]])),
                records=size,
                new=batch == published.last,
                alone=_counts(alone[who], first),
                joint=_counts(scores[who], first),
            )
        )
    return tuple(found)


def _counts(scores: Doubles, rows: Rows) -> IdentifiedCounts:
    return counts_of("informed", risk_of(scores, None), rows)


def _if_gaussian(people: Population, scores: Doubles) -> Doubles:
    """Power of the best test if records were Gaussian, exact for the smallest batch of two.

    NaN for persons of several records, which have no such law here.
    """
    power = np.where(people.owned.alone, 1.0, np.nan)
    inside = np.isfinite(scores) & people.owned.alone
    size = people.published.sizes[people.published.batch[people.owned.first[inside]]]
    power[inside] = tradeoff.gaussian_mean(scores[inside] * size, size, people.dim).power(ALPHA)
    return power
