"""The options of a report, checked and turned into release, budget, attackers and rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.statistics import Statistic
from leakscore_app._visible import counted, visible
from leakscore_app.report._model import ALPHA, LOW_PRIOR, Release, ReportInput, ThreatModel
from leakscore_app.report._published import Published
from leakscore_app.report.engine.game import default_rounds
from leakscore_app.report.engine.leakage import Budget
from leakscore_app.report.engine.population import Shrinkage
from leakscore_app.tables.table import Records

DEFAULT_ADVANTAGE = 0.2
_EMBEDDED_N = 100
_MOST_DECIMALS = 20
_LEAST_SEED = 10**15  # of noise: fewer digits are found by trying
_MOST_LISTED = 10_000  # records, if nothing is asked


@dataclass(frozen=True)
class AnalysisOptions:
    """The options of a report; `leakscore_app.analyse` documents each."""

    n: int | None
    previous: int | Sequence[int] | None
    population: str
    base_population: int | None
    columns: Sequence[str] | None
    exclude: Sequence[str]
    missing: str
    shrinkage: Shrinkage
    max_advantage: float | None
    max_power: float | None
    epsilon: float | None
    delta: float
    max_noise: float
    worst: int
    rounds: int | None
    seed: int
    audit: bool
    confidence: float
    show_values: bool
    statistic: Statistic | None
    min_cell: int
    drop_small_cells: bool
    noise_shape: str | None
    records: str | None
    draw_noise: int | bool | None
    decimals: int | None
    distinct_records: bool
    sensitive: str | None
    synthetic: bool


def checked(options: AnalysisOptions) -> AnalysisOptions:
    """Refuse options that are invalid for any table; the parts check the rest."""
    validation.choice("population", options.population, ("infinite", "finite"))
    validation.choice("missing", options.missing, ("rows", "columns"))
    if options.records is not None:
        validation.choice("records", options.records, ("all", "worst", "none"))
    if options.noise_shape is not None:
        validation.choice("noise_shape", options.noise_shape, ("optimal", "independent", "same"))
    if options.draw_noise is not None and options.draw_noise is not True:
        why = ", a secret of 16 digits or more that no program guesses; without one it is drawn"
        validation.count("draw_noise", options.draw_noise, _LEAST_SEED, None, why=why)
    if options.decimals is not None:
        validation.count("decimals", options.decimals, -_MOST_DECIMALS, _MOST_DECIMALS)
    if options.statistic is not None and not isinstance(options.statistic, Statistic):
        raise TypeError(f"statistic={options.statistic!r} must be one of leakscore.statistics")
    return replace(
        options,
        max_noise=validation.scalar("max_noise", options.max_noise, 0, np.inf, closed="left"),
        worst=validation.count("worst", options.worst, low=1),
        min_cell=validation.count("min_cell", options.min_cell, low=1),
        seed=validation.count("seed", options.seed, high=None),
        confidence=validation.scalar("confidence", options.confidence, 0, 1, closed="neither"),
    )


def require_all_drawn(options: AnalysisOptions, n: int, size: int) -> None:
    """Refuse a draw of noise for the mean of a subset of the records, which is not in the file."""
    if options.draw_noise is not None and n != size:
        raise ValueError(
            f"draw_noise must be given with the mean of all {size} records, not of n={n}: which "
            "records are averaged is not known; judge a table of these alone"
        )


def require_plain(options: AnalysisOptions, release: Release, published: Published) -> None:
    """Refuse known weights where the weight of a record in the mean is undetermined."""
    size = len(published.batch)
    why = ""
    if release.n != size:
        why = f"the mean of all {size} records, not of n={release.n}: which weights these have"
    elif options.population == "finite":
        why = "an infinite population: which weights a record drawn from the table gets"
    elif options.previous is not None:
        why = "one mean, without previous ones: which weights these had"
    elif not published.owned.alone.all():
        why = "one record a person, without ids: of several records which law holds"
    if why:
        raise ValueError(f"known weights must be given with {why} is not known")


def rounds_of(rounds: int | None, n: int, size: int) -> int:
    """Return the rounds of a game, an even number: the option, or as many as n of `size` allow."""
    if rounds is None:
        return default_rounds(n, size)
    rounds = validation.count("rounds", rounds, low=200)
    return rounds + rounds % 2


def budget_of(options: AnalysisOptions) -> Budget:
    """Return the limit on the leakage of any record; the default is an advantage."""
    delta = validation.scalar("delta", options.delta, 0, 1, closed="neither")
    given = {name: getattr(options, name) for name in ("max_advantage", "max_power", "epsilon")}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) > 1:
        raise ValueError(f"One limit of {', '.join(given)} must be given, not both")
    epsilon, power = options.epsilon, options.max_power
    if epsilon is not None:
        epsilon = validation.scalar("epsilon", epsilon, 0)
    if power is not None:
        power = validation.scalar("max_power", power, ALPHA, 1, closed="neither")
    limit = DEFAULT_ADVANTAGE if options.max_advantage is None else options.max_advantage
    limit = validation.scalar("max_advantage", limit, 0, 1, closed="neither")
    return Budget(max_advantage=limit, epsilon=epsilon, delta=delta, max_power=power)


def release_of(
    options: AnalysisOptions, seen: ReportInput, statistic: Statistic, *, embedded: bool
) -> Release:
    """Return the release; refuse an n that the judged records cannot give."""
    size, finite, n = seen.rows_judged, options.population == "finite", options.n
    if options.previous is not None:
        n = size
    elif n is None and embedded:
        n = min(_EMBEDDED_N, size)
    n = validation.count("n", size if n is None else n, low=2)
    if n > size:
        judged = "" if size == seen.rows else f" judged (of {seen.rows})"
        raise ValueError(f"n={n} must be <= {size}, the number of records{judged}")
    if finite and n > size - 2:
        raise ValueError(
            f"n={n} must be <= {size - 2} with a finite population of {size} records: the mean of "
            "all of them is one number, with no other table to tell it from; choose a smaller n, "
            "or the infinite population"
        )
    base_population = options.base_population
    if base_population is None and n < size:
        base_population = size
    elif base_population is not None:
        base_population = validation.count("base_population", base_population, low=n)
    return Release(
        statistic=statistic.kind,
        exact=statistic.exact,
        what=statistic.published(n, counted(len(seen.columns_judged), "column")),
        n=n,
        population=options.population,
        draw="without replacement" if finite else "with replacement",
        neighbours="replace",
        base_population=base_population,
        base_rate=None if base_population is None else n / base_population,
        alpha=ALPHA,
        low_prior=LOW_PRIOR,
        decimals=options.decimals,
        synthetic=options.synthetic,
    )


def published_of(records: Records, release: Release, totals: tuple[int, ...]) -> Published:
    """Return persons and batches; refuse a person without whom too few records remain.

    An attacker knows the population from the records of the others, so at least two are needed.
    """
    size, n = len(records.rows), release.n
    if records.ids is not None:
        blank = np.flatnonzero(np.char.strip(records.ids) == "")
        if len(blank):
            raise ValueError(
                f"record {records.rows[blank[0]]} has no id, as {len(blank)} of {size} records: "
                "whose they are decides what is judged; give them ids, or leave them out"
            )
    published = Published.of(records.ids, size, n, totals)
    largest = int(published.owned.sizes.argmax())
    most = int(published.owned.sizes[largest])
    if records.ids is None or most == 1:
        return published
    who = f"person {visible(str(records.ids[published.owned.first[largest]]))} has {most} of {size}"
    if size - most < 3:
        raise ValueError(
            f"{who} records: the {size - most} records of others do not tell what is usual, at "
            "least 3 are needed; leave that person out, or add others"
        )
    if not totals and n <= most:
        raise ValueError(
            f"{who} records, and a mean of n={n} records would be that person's alone; choose n "
            f"of at least {most + 1}"
        )
    if release.population == "finite" and n > size - most - 1:
        raise ValueError(
            f"{who} records: a mean of n={n} cannot be drawn from the other {size - most}; choose "
            f"n of at most {size - most - 1}, or the infinite population"
        )
    return published


def nothing_to_play(size: int) -> ValueError:
    """Say that each of so many records gives itself away."""
    return ValueError(
        f"each of the {size} records has something that no other has (a column of its own? a mean "
        "of its own?): any trace of it in the mean gives it away, and there is nothing to simulate"
    )


def listed_of(
    which: str | None, size: int, worst: Sequence[int]
) -> tuple[str, npt.NDArray[np.int64]]:
    """Return the records that the JSON lists, as a word and as indices, the worst in order."""
    which = which or ("all" if size <= _MOST_LISTED else "worst")
    if which == "all":
        return which, np.arange(size)
    return which, np.array(worst if which == "worst" else [], dtype=np.int64)


def shrinkage_of(values: npt.NDArray[np.float64], shrinkage: Shrinkage, largest: int) -> Shrinkage:
    """Return the shrinkage: the option, or automatic if the records are too few for their columns.

    The count of records is without a person of the `largest` number, plus one.
    """
    size, dim = len(values) - largest + 1, values.shape[1]
    few = size < dim + 2
    if isinstance(shrinkage, str):
        validation.choice("shrinkage", shrinkage, ("auto",))
        return shrinkage
    if shrinkage is None:
        return "auto" if few else None
    shrinkage = validation.scalar("shrinkage", shrinkage, 0, 1)
    if few and shrinkage == 0:
        raise ValueError(
            f"shrinkage=0 must be larger: {size} records do not determine the covariance of "
            f"{dim} columns"
        )
    return shrinkage or None


def threat_models_of(dim: int, persons: bool) -> tuple[ThreatModel, ThreatModel]:
    """Describe the two attackers, of records or of persons with several records."""
    rest = "the other members"
    values = {1: "the value", 2: "both values"}.get(dim, f"all {dim} values")
    whose = "of all records of one person" if persons else "of one record"
    return (
        ThreatModel(
            name="informed",
            knows=f"the population's mean and covariance, and {values} {whose}",
            does_not_know=rest,
            score="(z - mu)' C^-1 (release - mu), the covariance attack",
        ),
        ThreatModel(
            name="weaker",
            knows=f"each column's mean and variance, and {values} {whose}",
            does_not_know=f"{rest}, nor how the columns vary together",
            score="(z - mu)' D^-1 (release - mu), D the variances",
        ),
    )
