"""From whatever holds a table to a report: opened, judged in memory or block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from os import PathLike
from typing import Any, TypeAlias

import numpy.typing as npt

from leakscore import single_threaded_blas, validation
from leakscore.statistics import Statistic
from leakscore_app._visible import visible
from leakscore_app.passes.runner import Passes, Progress
from leakscore_app.report.engine.analysis import Analysis
from leakscore_app.report.engine.features import categories_of, parts_of
from leakscore_app.report.engine.population import Shrinkage
from leakscore_app.report.engine.setup import AnalysisOptions, checked
from leakscore_app.report.engine.whole import WholeTable
from leakscore_app.report.result import Report
from leakscore_app.tables import ReadingOptions, files
from leakscore_app.tables.files import open_short
from leakscore_app.tables.sources import opened as sources
from leakscore_app.tables.sources.opened import LONG, Opened, without_graph
from leakscore_app.tables.table import Table, table_of_file, table_of_frame, table_of_path

_FEW_COLUMNS = 500


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
    draw_noise: int | bool | None = None,
    decimals: int | None = None,
    worst: int = 5,
    rounds: int | None = None,
    seed: int = 0,
    audit: bool = False,
    confidence: float = 0.95,
    show_values: bool = False,
    statistic: Statistic | None = None,
    min_cell: int = 10,
    drop_small_cells: bool = False,
    records: str | None = None,
    distinct_records: bool = False,
    sensitive: str | None = None,
    synthetic: bool = False,
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
    draw_noise : bool or int, optional
        Whether the report holds the numbers to publish, with one draw of the noise where the
        verdict asks for noise. A secret seed of 16 digits or more draws the same again; with True
        one is drawn and kept nowhere. Of all records.
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
    drop_small_cells : bool
        Whether the records of such cells are left out, and the rest is judged.
    records : {"all", "worst", "none"}, optional
        Which records the JSON lists; "worst" are those that `worst` counts. Default: all up to
        10000, the worst of more. Its summaries always speak of all.
    distinct_records : bool
        Whether no two records are of one person, also where they are equal or a column that looks
        like a person's number repeats. Otherwise the verdict says what must be settled.
    sensitive : str, optional
        A published column: the report then says, too, what the release tells about a member's value
        of it, to an attacker who knows that the record is in and all its other values.
    synthetic : bool
        Whether not the statistic is published, but a synthetic table that a generator draws from
        it alone: nothing in such a table tells more (data processing), and the words say so.
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
    Both attackers use a linear score (of coefficients, correlations and weighted ratios that are
    fitted again in every round, the informed one others, too), and another use of the numbers can
    tell more. One is checked, in every column of a sum, a mean or a count by itself: where the
    values of all other records go in steps, or of all but few, a record off these steps leaves its
    remainder in the sum. What it adds to the advantage is `arithmetic` of the report, and counts
    in the verdict. Noise of a step on the sum hides it, and so does rounding (`decimals`) to much
    more than a step.

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
    synthetic = validation.flag("synthetic", synthetic)
    given = locals()
    requested = {option.name: given[option.name] for option in fields(AnalysisOptions)}
    options, table = checked(AnalysisOptions(**requested)), without_graph(table)
    opened = opened_of(table, options)
    why = why_whole(opened, table, options)
    if why == TEXT:  # once all cells are understood, it is a table as others are
        table = whole_of(table, opened, why)
        opened, why = opened_of(table, options), ""
    if not why and opened.is_longer_than(LONG):
        from leakscore_app.report.engine.blocks import BlockTable

        with single_threaded_blas():  # waiting threads took a tenth of the work
            return Analysis(BlockTable(opened, options, Passes(progress, client))).report()
    whole = whole_of(table, opened, why)
    # Threads of BLAS wait for each other longer than they work on so few columns.
    with single_threaded_blas() if whole.values.shape[1] <= _FEW_COLUMNS else nullcontext():
        return Analysis(WholeTable(whole, options, Passes(progress).step)).report()


def open_table(path: str | PathLike[str], **reading: Any) -> Table | Opened:
    """Open a file, or all files of a pattern as one table, to be judged by `analyse`.

    Csv, parquet and npy files with more than 65536 records are read block by block whenever they
    are needed; all other files are read here, as `read_table` reads them. So are parquet files with
    numbers in a column of text that is published, and csv files whose cells must be looked at
    together: with yes and no, codes, or an encoding but UTF-8.

    Parameters
    ----------
    path : str or path
        A file, or a pattern such as ``data/*.parquet``: its files, sorted by name, are the parts of
        one table. They are csv, parquet or npy files with the same columns.
    **reading
        As in `read_table`. `encoding`, `bad_cells` and `id` need the table in memory.

    Returns
    -------
    Table or Opened
        For `analyse`.

    Raises
    ------
    ValueError
        As `read_table`; if no file fits a pattern, or its files have other columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import leakscore_app
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in (2024, 2025):
    ...         values = np.random.default_rng(year).normal(size=(40_000, 2))
    ...         np.save(Path(folder) / f"{year}.npy", values)
    ...     table = leakscore_app.open_table(f"{folder}/*.npy")
    ...     result = leakscore_app.analyse(table, rounds=2000)
    >>> result.input.rows, result.input.name
    (80000, '2024.npy to 2025.npy (2 files)')
    """
    paths, options = sources.paths_of(path), ReadingOptions.of(reading)
    opened, file = None, None
    if _is_blockwise_reading(options):
        if len(paths) == 1:
            file = open_short(paths[0], options.max_memory, LONG)
        if file is None:
            opened = sources.of_files(paths, options)
    if opened is not None and (len(paths) > 1 or opened.is_longer_than(LONG)):
        return opened if opened.is_longer_than(LONG) else opened.whole()
    if len(paths) > 1:
        raise ValueError(
            f"{path} fits {len(paths)} files: as one table they are read only if they are csv, "
            "parquet or npy files, whose columns of text hold no numbers, without --id, "
            "--encoding and --bad-cells"
        )
    if file is not None:
        return table_of_file(file, paths[0], options)
    return table_of_path(paths[0], options)


def _is_blockwise_reading(options: ReadingOptions) -> bool:
    """Whether nothing is wanted for which all cells are needed at once."""
    words = [word for word in options.missing_values if word.lower() != "none"]
    plain = replace(options, encoding=None, bad_cells="refuse", id=None, sheet=None, key=None)
    return (
        plain == options
        and not options.skip_last
        and len(options.numbers_for_missing) == len(words)
    )


Tabular: TypeAlias = Table | npt.ArrayLike | Callable[[], Any] | Opened | Any


TEXT = "columns of text"


def opened_of(table: Tabular, options: AnalysisOptions) -> Opened:
    """Open whatever holds a table; `options` name what is looked at in a frame."""
    if isinstance(table, Opened):
        return table
    if isinstance(table, Table):
        return sources.of_table(table)
    if hasattr(table, "__arrow_c_stream__"):
        return sources.of_frame(table, _reading(options))
    if callable(table):
        return sources.of_callable(table)
    _require_records(table)
    return sources.of_array(validation.matrix("table", table))


def _require_records(table: Any) -> None:
    """Refuse what holds no records itself, and say what does."""
    kind = type(table).__name__
    if isinstance(table, str | PathLike):
        raise TypeError(
            f"table must hold records, not be a path ({visible(str(table))[:80]}): pass "
            "leakscore_app.open_table(path)"
        )
    if isinstance(table, Iterator):
        raise TypeError(
            f"a {kind} can be read once only, and a report reads its records several times: pass a "
            "function that returns a new one at each call"
        )
    if hasattr(table, "collect_schema"):
        raise TypeError(
            f"table must hold its records, not a {kind}: pass what its collect() returns, "
            "or a parquet file"
        )
    if not hasattr(table, "__array__") and not isinstance(table, Sequence):
        raise TypeError(
            f"table must be an array (N, d), a frame with __arrow_c_stream__, a function "
            f"that yields blocks, or from leakscore_app.open_table, not a {kind}"
        )


def _reading(options: AnalysisOptions) -> ReadingOptions:
    """Return which columns of a frame are published, and which are those of categories."""
    categories = () if options.statistic is None else categories_of(options.statistic)
    columns = None if options.columns is None else tuple(options.columns)
    return ReadingOptions(groups=categories, columns=columns, exclude=tuple(options.exclude))


def why_whole(opened: Opened, table: Tabular, options: AnalysisOptions) -> str:
    """Say why a table of any length is read as a whole; empty if it is read block by block."""
    if options.previous is not None:
        return "earlier means"
    if options.statistic is not None and not _is_blockwise(options.statistic):
        return "known weights"
    if options.shrinkage is not None:
        return "a shrunk covariance"
    if options.sensitive is not None:
        return "values of one column"
    if options.drop_small_cells:
        return "small cells"
    if isinstance(table, Table) and table.ids is not None:
        return "persons"
    return TEXT if opened.unsettled else ""


def _is_blockwise(statistic: Statistic) -> bool:
    """Whether features of a block need no more than moments of the columns."""
    return all(part.blockwise for part in parts_of(statistic))


def whole_of(table: Tabular, opened: Opened, why: str) -> Table:
    """Read a table into memory, if it is not there yet; refuse more than it may take.

    `why` says what needs all of its records at once; empty if it is short.
    """
    if isinstance(table, Table):
        return table
    if why:
        rows, columns = opened.source.rows, len(opened.columns)
        if rows is None:
            rows = sum(len(block.values) for block in opened.source.blocks())
        needed = 8 * rows * columns
        if needed > opened.max_memory:
            raise ValueError(
                f"{opened.name} needs {files.shown_size(needed)} of memory, more than the "
                f"{files.shown_size(opened.max_memory)} that it may take: {why} need all records "
                "at once; judge fewer columns or a part of the records, or allow more (of a file: "
                "--max-memory)"
            )
    if hasattr(table, "__arrow_c_stream__"):
        return table_of_frame(table, tuple(opened.groups))
    return opened.whole()
