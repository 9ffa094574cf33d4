"""From a table to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

from leakscore import single_threaded_blas
from leakscore.statistics import Statistic
from leakscore_app.passes.runner import Passes
from leakscore_app.report.engine.analysis import Analysis
from leakscore_app.report.engine.blocks import BlockTable
from leakscore_app.report.engine.opening import TEXT, Tabular, opened_of, whole_of, why_whole
from leakscore_app.report.engine.population import Shrinkage
from leakscore_app.report.engine.setup import AnalysisOptions, checked
from leakscore_app.report.engine.whole import WholeTable
from leakscore_app.report.result import Report
from leakscore_app.tables.sources.opened import LONG
from leakscore_app.tables.sources.partitions import without_graph

_FEW_COLUMNS = 500
_STEPS = 8  # of an analysis, mostly
Progress: TypeAlias = Callable[[str, float], None]


def analyse(
    table: Tabular,
    *,
    n: int | None = None,
    previous: int | Sequence[int] | None = None,
    population: str = "infinite",
    base_population: int | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: str = "rows",
    shrinkage: Shrinkage = None,
    max_advantage: float | None = None,
    max_power: float | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    max_noise: float = 1.0,
    noise_shape: str | None = None,
    draw_noise: int | None = None,
    decimals: int | None = None,
    worst: int = 5,
    rounds: int | None = None,
    seed: int = 0,
    audit: bool = False,
    confidence: float = 0.95,
    show_values: bool = False,
    statistic: Statistic | None = None,
    min_cell: int = 10,
    records: str | None = None,
    distinct_records: bool = False,
    progress: Progress | None = None,
    client: Any = None,
) -> Report:
    """Tell what leaks of every record if the mean of n records of a table is published.

    The attacker knows the population's mean and covariance (here those of all other records) and
    all values of one record, and asks whether it is one of the n. A weaker attacker knows the
    means and variances only.

    Parameters
    ----------
    table : Table, array_like, frame or callable
        From `read_table`, `table_of`, `embedded_table` or `open_table`; if it has `ids`, persons
        are judged, each by all of their records. Or an array (N, d), which may be mapped from a
        file; anything with the Arrow stream interface (frames of pandas, polars, pyarrow, duckdb);
        a frame or array of dask, computed part by part; a function that yields blocks of records
        anew at each call. Of more than 65536 records, blocks are read several times and memory does
        not grow with the table; see Notes.
    n : int, optional
        Records averaged, 2 to the number judged. Default: all of them; 100 of the embedded table.
    previous : int or sequence of int, optional
        The means of so many first rows of the table were published before, in this order, without
        noise; now the mean of all records is. Increasing, less than the number of rows. Every
        number is then what all means tell together.
    population : {"infinite", "finite"}
        Whether the table is a sample of a larger population, or is itself the population from
        which the n are drawn without replacement.
    base_population : int, optional
        Number of people who may be in the data, for the base rate n/N. Default: the records
        judged, if n is less; otherwise the base rate is unknown.
    columns, exclude : sequence of str, optional
        What is published, by name; the rest is left out.
    missing : {"rows", "columns"}
        What is left out where a value is missing or infinite.
    shrinkage : float or "auto", optional
        Of the covariance towards its diagonal. Default: none, "auto" if the records are too few
        for their columns.
    max_advantage, max_power, epsilon : float, optional
        The limit for every record, one of them: a largest advantage (default 0.2), a largest power
        at 1 % false positives, or a Gaussian epsilon at `delta` (of noiseless privacy: the other
        records are independent draws, unknown to the attacker). The verdict holds theory and game
        against it, and noise is sought that brings them under it.
    delta : float
        For `epsilon`, the audit, and the Gaussian-equivalent epsilon.
    max_noise : float
        The most noise that is worth publishing with, in standard errors of the mean; where more
        is needed, the verdict is not to publish. Of noise that differs between columns, the root
        mean square counts.
    noise_shape : {"optimal", "independent", "same"}, optional
        Of the noise: that which costs least, correlated between columns; the best that is
        independent; or the same number of standard errors in every column. Default: "optimal", or
        "same" where no other is computed (other statistics, shrinkage, many columns).
    draw_noise : int, optional
        A secret seed: the report then holds the mean with one draw of the noise. Of a mean of all
        records only.
    decimals : int, optional
        To how many the published numbers are rounded, negative ones to tens, hundreds, ... Default:
        they are exact. Rounding counts for arithmetic only: see Notes.
    worst : int
        How many records are listed.
    rounds : int, optional
        Of each simulated game, half with the record. Default: 20000, fewer for an n above 5000 of
        a table of up to 65536 records, which are drawn one by one.
    seed : int
        Of the games.
    audit : bool
        Whether to certify an epsilon of the worst record's game.
    confidence : float
        Of the audit and of the interval for the worst leakage.
    show_values : bool
        Whether the report may show values of records.
    statistic : Statistic, optional
        What is published, of `leakscore.statistics`; the mean by default. Groups are those of the
        table (`read_table(groups=)`, `table_of(groups=)`), or columns of a frame.
    min_cell : int
        Cells of a table by group with fewer records are not to be published.
    records : {"all", "worst", "none"}, optional
        Which records the JSON lists; "worst" are those that `worst` counts. Default: all up to
        10000, the worst of more. Its summaries always speak of all.
    distinct_records : bool
        Whether no two records are of one person, also where they are equal or a column that looks
        like a person's number repeats. Otherwise the verdict says what must be settled.
    progress : callable, optional
        Called before each step with its name and the share of the work that is done.
    client : distributed.Client, optional
        Of a dask cluster, whose workers read a table of more than 65536 records, with the same
        bits (extra ``dask``); files must be at the same paths on all of them.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If the table cannot be judged or a parameter is out of its range.
    ClusterError
        If the cluster is lost, or its workers hold another version of leakscore.

    Notes
    -----
    Both attackers use a linear score, and another use of the numbers can tell more. One is checked,
    in every column of a sum, a mean or a count by itself: where the values of all other records go
    in steps, or of all but few, a record off these steps leaves its remainder in the sum. What it
    adds to the advantage is `arithmetic` of the report, and counts in the verdict. Noise of a step
    on the sum hides it, and so does rounding (`decimals`) to much more than a step.

    Tables of more than 65536 records are read in blocks of so many, whatever holds them, with the
    same bits. What leaks of each record, the counts and the medians are those of all records, and
    noise of any shape is checked on all of them; games draw counts of bins, values are clipped at
    quantiles of a sample of 65536 records, and only the worst records are listed unless `records`
    is "all". Persons, earlier means, known weights and shrinkage need all records at once: these
    are gathered in memory, up to `max_memory` of a file and 1 GiB otherwise, and the report is the
    same one.

    References
    ----------
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024): leakage score (7),
    advantage (8), power (9), covariance score (10).

    Examples
    --------
    >>> import leakscore_app
    >>> result = leakscore_app.analyse(leakscore_app.embedded_table(), rounds=2000)
    >>> row = result.counts[0].worst_row
    >>> row, round(float(result.informed.power[row - 1]), 3)
    (153, 0.932)
    """
    options = AnalysisOptions(
        n=n,
        previous=previous,
        population=population,
        base_population=base_population,
        columns=columns,
        exclude=exclude,
        missing=missing,
        shrinkage=shrinkage,
        max_advantage=max_advantage,
        max_power=max_power,
        epsilon=epsilon,
        delta=delta,
        max_noise=max_noise,
        noise_shape=noise_shape,
        draw_noise=draw_noise,
        decimals=decimals,
        worst=worst,
        rounds=rounds,
        seed=seed,
        audit=audit,
        confidence=confidence,
        show_values=show_values,
        statistic=statistic,
        min_cell=min_cell,
        records=records,
        distinct_records=distinct_records,
    )
    options, table = checked(options), without_graph(table)
    opened = opened_of(table, options)
    why = why_whole(opened, table, options)
    if why == TEXT:  # once all cells are understood, it is a table as others are
        table = whole_of(table, opened, why)
        opened, why = opened_of(table, options), ""
    if not why and opened.is_longer_than(LONG):
        with single_threaded_blas():  # waiting threads took a tenth of the work
            table_in_blocks = BlockTable(opened, options, Passes(progress, client))
            return Analysis(table_in_blocks, options).report()
    whole = whole_of(table, opened, why)
    # Threads of BLAS wait for each other longer than they work on so few columns.
    with single_threaded_blas() if whole.values.shape[1] <= _FEW_COLUMNS else nullcontext():
        return Analysis(WholeTable(whole, options, _StepCounter(progress)), options).report()


class _StepCounter:
    """Tell how much of the work is done before each of its steps, as far as that is known."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, step: str) -> None:
        if self._progress is not None:
            self._progress(step, min(self._done / _STEPS, 1.0))
        self._done += 1
