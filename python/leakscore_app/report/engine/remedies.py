"""The cheaper changes of a release, scored again: fewer columns, clipped values, other records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from leakscore_app.report._model import Noise
from leakscore_app.report.engine.judged import Change, JudgedRelease, JudgedTable
from leakscore_app.report.engine.leakage import least_size
from leakscore_app.report.engine.population import Population

DROPS = (1, 3, 5)
CLIPS = (0.01, 0.05)
LEAVES = (1, 5)
GROWTHS = (2, 5)
MOST_RECORDS = 10**12


def changes_of(table: JudgedTable) -> Iterator[Change]:
    """Yield all changes that are tried.

    Only of plain means are columns left out or clipped: features of a record belong together.

    Judged are the persons in the batch that the release adds, by all means together. No change of
    the values hides one who is all of that batch; more records do.
    """
    published = table.population.published
    if published.given_away(slice(-1, None)).any():
        yield from _waiting(table)
        return
    if table.statistic.kind in ("mean", "sum"):
        yield from _fewer_columns(table)
        yield from _clipped(table)
    yield from _without_worst(table)
    yield from (_waiting if published.last else _more_records)(table)


def _fewer_columns(table: JudgedTable) -> Iterator[Change]:
    """Leave out, one after another, the column whose loss helps the worst record most."""
    population = smaller = table.population
    judged, kept = np.flatnonzero(population.published.new), list(range(population.dim))
    dropped: list[str] = []
    while len(kept) > 1 and len(dropped) < DROPS[-1]:
        worst = int(judged[np.argmax(smaller.informed()[judged])])
        _, without = smaller.shares(worst)
        dropped.append(table.columns[kept.pop(int(np.argmin(without)))])
        smaller = population.with_columns(kept)
        if len(dropped) in DROPS:
            number = f"{len(dropped)} column{'s' if len(dropped) > 1 else ''}"
            yield Change(
                "fewer columns",
                f"without {number}: {', '.join(dropped)}",
                f"{number} less",
                table.release(smaller),
                {"columns": tuple(dropped)},
            )


def _clipped(table: JudgedTable) -> Iterator[Change]:
    """Clip the columns of the records that the release adds."""
    for share in CLIPS:
        clipped = table.clipped(share)
        if clipped is not None:
            yield Change(
                "winsorising",
                f"{clipped.what} clipped at {100 * share:g} % and {100 - 100 * share:g} %",
                f"moves a mean by up to {clipped.shift:.2g} standard errors",
                clipped.release,
                {"clipped": share, "mean_shift": clipped.shift},
            )


def _without_worst(table: JudgedTable) -> Iterator[Change]:
    """Leave the worst records out: those behind them become the unusual ones."""
    population = table.population
    who = "record" if population.published.last == 0 else "new record"
    who = who if population.owned.alone.all() else "person"
    for count in LEAVES:
        release = table.without_worst(count)
        if release is not None:
            number = f"the worst {who}" if count == 1 else f"the {count} worst {who}s"
            cost = "the next records stand out more"
            yield Change("fewer records", f"without {number}", cost, release)


def _more_records(table: JudgedTable) -> Iterator[Change]:
    """Average more records: of the same population, or of this table if it is the population."""
    budget, population, mean = (
        table.budget,
        table.population,
        table.statistic.kind in ("mean", "sum"),
    )
    sizes = [population.n * growth for growth in GROWTHS]
    if not population.finite:
        worst = float(population.informed().max()) * population.n
        enough = least_size(lambda n: budget.met_by(worst / n), 1, MOST_RECORDS)
        sizes += [] if enough is None or enough <= population.n else [enough]
    for n in sorted(set(sizes)):
        if population.finite and n > population.most_drawn:
            continue
        missing = max(n - population.size, 0)
        yield Change(
            "larger n",
            f"the mean of {n} records" if mean else f"{n} records",
            f"{missing} more records than there are" if missing else "none",
            table.release(population.larger(n)),
            {"records_missing": missing},
        )


def _waiting(table: JudgedTable) -> Iterator[Change]:
    """Wait until more new records are there: their leakage falls as their batch grows.

    The least batch that meets the budget is found from M / b and what earlier means told, of a
    person who is alone in the batch now, too.
    """
    budget, population, judged = table.budget, table.population, table.population.published.new
    size, twice = population.batch_size, 2 * population.batch_size
    # Twice as large a batch is nobody's alone, and gives the squared distances.
    distances = population.larger(twice).added() * twice
    earlier = np.where(population.told > budget.largest_leakage(), 0.0, population.told)
    now = earlier + population.added()

    def enough(batch: int) -> bool:
        scores = (earlier + distances / batch)[judged]
        return budget.met_by(float(scores.max()))

    sizes = {size * growth for growth in GROWTHS if size > 1}
    least = least_size(enough, size, MOST_RECORDS)
    if least is not None and not budget.met_by(float(now[judged].max())):
        sizes.add(least)
    for larger in sorted(sizes):
        yield Change(
            "larger batch",
            f"wait until {larger} new records are there",
            f"{larger - size} more new records than there are",
            table.release(population.larger(larger)),
        )


def noise_on_every_mean(
    population: Population, noise: Noise, rows: npt.NDArray[np.int64]
) -> Iterator[Change]:
    """Score all means again as if each had carried the noise that the present one needs.

    That is noise of the same standard errors in every column, where another shape is offered, too.
    """
    errors = noise.standard_errors if noise.beside is None else noise.beside["same"]
    if population.published.last and errors and noise.shape != "independent":
        scores = population.noisy_from_the_start(errors / float(np.sqrt(population.n)))
        yield Change(
            "noise on every mean",
            f"noise of {errors:.3g} standard errors of the present mean on all "
            f"{len(population.published.sizes)} means",
            "too late for the means published without it",
            JudgedRelease(rows, scores),
        )
