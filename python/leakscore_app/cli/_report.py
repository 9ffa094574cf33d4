"""``leakscore report``: its options and its function."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from leakscore_app.cli import program as _cli
from leakscore_app.tables import outputs

if TYPE_CHECKING:
    from leakscore.statistics import Statistic


_MOST_WORKERS = 1024
_SYNTHETIC_SOURCES = {  # statistics behind a synthetic table -> the one that is judged
    frozenset(("means",)): None,
    frozenset(("covariance",)): "covariance",
    frozenset(("means", "covariance")): "covariance",
    frozenset(("cells",)): "counts",
}
_REFUSED_STATISTICS = ("quantile", "median", "minimum", "maximum")
STATISTICS = (
    *("mean", "sum", "covariance", "correlations", "counts", "cross-products", "regression"),
    *("glm", "cox", *_REFUSED_STATISTICS),
)
# Name of a statistic -> its class, its required options, and its optional ones.
_CLASSES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "sum": ("Sum", (), ()),
    "covariance": ("Covariance", (), ()),
    "correlations": ("Correlations", (), ()),
    "regression": ("Regression", ("response",), ()),
    "cross-products": ("CrossProducts", ("response",), ()),
    "glm": ("GLM", ("response", "family"), ("offset", "factors")),
    "cox": ("Cox", ("time", "event"), ("factors",)),
}
_MODEL_COLUMNS = ("response", "offset", "time", "event")
_MODEL_OPTIONS = (*_MODEL_COLUMNS, "family", "factors")


def add_report(commands: Any) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "report",
        help="what leaks if the mean of n of these records is published",
        description=(
            "Report for every record of a table with what certainty the mean of n records reveals "
            "its presence: to an attacker who knows the population's mean and covariance and all "
            "values of the record, and to a weaker attacker. The first line is a verdict: publish, "
            "publish with noise, or do not publish."
        ),
        epilog=(
            "exit codes with --check:\n"
            "  0  publish\n"
            "  2  publish with noise\n"
            "  3  do not publish\n"
            "  4  publish, with noise or not, if no two records are of one person: see --id\n"
            "  1  an error\n"
            "Without --check: 0, or 1 after an error."
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_report)
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help="a table of one record a row: csv, workbook, parquet, npz, SPSS, Stata, SAS and more "
        "(- reads standard input); without it, an embedded table of 569 x 30 medical measurements",
    )
    _add_release_options(parser.add_argument_group("the release"))
    _add_table_options(parser.add_argument_group("the table"))
    _cli.add_reading(parser)
    _add_verdict_options(parser.add_argument_group("the verdict and the noise"))
    _add_game_options(parser.add_argument_group("the game"))
    _add_cluster_options(parser.add_argument_group("the cluster, for tables of many records"))
    _add_output_options(parser.add_argument_group("the output"))


def _add_release_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add("--n N", "records averaged (default: all; 100 without DATA)", type=int)
    add(
        "--previous N1,N2,...",
        "the mean of the first N1 rows of the table was published before (then that of the "
        "first N2, ...), now the mean of all is: tell what leaks from all of them together",
        type=_cli.argument_type(_cli.counts, "is no list of whole numbers"),
    )
    add(
        "--population infinite|finite",
        "infinite (default): the table is a sample of a larger population; finite: the n are "
        "drawn from the table's records, without replacement",
        default="infinite",
    )
    add(
        "--decimals D",
        "to how many decimals what is published is rounded; -3: to thousands (default: not)",
        type=int,
    )
    add(
        "--base-population N",
        "people who might be in the data, for the base rate n/N (default: the table's "
        "records, if n is less)",
        type=int,
    )
    add(
        "--synthetic-from KIND,...",
        "not they are published, but a synthetic table that is drawn from them alone: means; "
        "means,covariance; or cells, the counts of the groups of --group-by. No attack on such a "
        "table can show more",
        type=_cli.names,
    )


def _add_model_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add("--weights COLUMN", "publish means with these weights")
    add(
        "--weights-are data|ratio|public",
        "data (default): they are data of the records, and their sum is published, too; "
        "ratio: data, and their sum is not published; public: everybody knows them",
    )
    add("--response COLUMN", "what a regression or a glm predicts")
    add("--family binomial|poisson|gamma|gaussian", "of a glm, with its canonical link")
    add("--offset COLUMN", "of a glm, as the log of an exposure")
    add("--time COLUMN", "of the event of a Cox model")
    add("--event COLUMN", "of a Cox model: 1 where it was at that time, else 0")
    _cli.add_names(group, "--factors", "predictors of a glm or Cox model that are categories")


def _add_group_options(group: Any) -> None:
    add = _cli.option_adder(group)
    _cli.add_names(group, "--group-by", "publish means and counts of the groups of these columns")
    add(
        "--separate-tables",
        "one table by each of these columns instead of one by all of them; judged together",
    )
    add("--min-cell K", "a group of fewer records is not to be published", 10)
    add("--drop-small-cells", "leave out the records of such groups and judge the others")


def _add_table_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add(
        f"--statistic {'|'.join(STATISTICS)}",
        "what is published of the columns (default: their mean); quantiles and extremes are "
        "refused",
    )
    _add_group_options(group)
    add(
        "--sensitive COLUMN",
        "say what the release tells about a member's value of this column, to who knows the "
        "member's other values",
    )
    _add_model_options(group)
    _cli.add_names(group, "--columns", "publish these columns only")
    _cli.add_names(group, "--exclude", "do not publish these columns")
    add(
        "--missing rows|columns",
        "what to leave out where a value is missing (default: rows)",
        default="rows",
    )
    add(
        "--shrinkage S",
        "of the covariance towards its diagonal, 0 to 1, or auto (default: none, auto if the "
        "records are too few)",
        type=_cli.argument_type(_read_shrinkage, "is neither a number nor auto"),
    )


def _add_verdict_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add(
        "--distinct-records",
        "no two records are of one person, also where they are equal (else see --id)",
    )
    add(
        "--max-advantage A",
        "limit for every record: the largest advantage, in (0, 1) (default: 0.2)",
        type=float,
    )
    add(
        "--max-power P",
        "limit for every record: how often the attack may recognise it, at 1 %% false alarms, "
        "in (0.01, 1)",
        type=float,
    )
    add("--epsilon E", "limit for every record: a Gaussian epsilon (one of the three)", type=float)
    add("--delta D", "with --epsilon and --audit", 1e-5)
    add(
        "--max-noise X", "the most noise worth publishing with, in standard errors of the mean", 1.0
    )
    _add_noise_options(group)
    add("--check", "the exit code is the verdict: 0, 2, 3 or 4, see below")


def _add_noise_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add(
        "--noise-shape optimal|independent|same",
        "of the noise: optimal costs least and is correlated between columns; independent is "
        "the best that is not; same is the same number of standard errors in every column "
        "(default: optimal, or same where no other is computed)",
    )
    add(
        "--draw-noise SEED",
        "print the numbers to publish, with one draw of the noise where the verdict asks for "
        "noise; without a seed one is drawn and kept nowhere, one of yours needs 16 digits or more "
        "that nobody guesses or sees, and serves once",
        type=_cli.argument_type(int, "is no number: write the table before --draw-noise"),
        nargs="?",
        const=True,
    )


def _add_game_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add("--rounds R", "of each game (default: 20000, less for large n)", type=int)
    add("--seed S", "of the games", 0)
    add("--audit", "certify an epsilon of the worst record's game")
    add("--confidence C", "of audit and interval", 0.95)


def _add_cluster_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add(
        "--workers N",
        "read with N processes on this machine (extra dask); for csv, parquet and npy "
        "files, and only above 65536 records",
        type=int,
    )
    add(
        "--scheduler ADDRESS",
        "read with the workers of your own dask cluster, as tcp://host:8786; they need the "
        "files at the same paths",
    )


def _add_output_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add("--worst K", "records that are listed", 5)
    _cli.add_outputs(group, "no text, no progress")
    add(
        "--csv PATH",
        "write the numbers to publish, as --draw-noise does; an error if the verdict is not "
        "to publish (- for stdout)",
    )
    add(
        "--records all|worst|none",
        "which records the JSON lists, beside the summaries (default: all up to 10000, the "
        "worst of more)",
    )
    add("--show-values", "show values of the worst records")
    add("--progress", "tell on standard error how far the work is, also where that is no terminal")


def _read_shrinkage(text: str) -> float | str:
    return text if text == "auto" else float(text)


def _report(options: argparse.Namespace) -> int:
    from leakscore_app import report

    _cli.require_writable(options, options.data)
    with (
        _cli.progress(options.quiet, options.progress) as progress,
        _client(options) as client,
    ):
        writes_csv = options.csv is not None
        statistic = _statistic(options)  # before the table is read, as it may be refused
        if progress is not None:
            progress("reading the table", 0.0)
        table = _table(options)
        arguments = _cli.arguments(options, report.analyse) | {
            "columns": options.columns if options.data is None else None,
            "exclude": (options.exclude or ()) if options.data is None else (),
            "draw_noise": True if writes_csv and options.draw_noise is None else options.draw_noise,
            "statistic": statistic,
            "synthetic": options.synthetic_from is not None,
            "progress": progress,
        }
        result = report.analyse(table, **arguments, client=client)
    _cli.deliver(result, options)
    if writes_csv:
        outputs.write(options.csv, result.to_csv())
    return report.exit_code_of(result.verdict) if options.check else 0


def _table(options: argparse.Namespace) -> Any:
    """Open the table that the options name."""
    import leakscore
    from leakscore_app import report
    from leakscore_app.tables import files

    files.require_libraries()
    leakscore.single_threaded_blas()  # loads BLAS now: later a large table may leave no memory
    if options.data is None:
        return report.embedded_table()
    columns = options.columns
    used = [getattr(options, name) for name in ("weights", *_MODEL_COLUMNS)]
    if columns is not None:  # --columns need not repeat the columns that the statistic uses
        columns = [*columns, *(name for name in used if name and name not in columns)]
    return report.open_table(
        options.data,
        columns=columns,
        exclude=options.exclude or (),
        groups=tuple(options.group_by or options.factors or ()),
        **_cli.reading_options(options),
    )


def _client(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Open the cluster of the options; the context is None without one."""
    if options.workers is None and options.scheduler is None:
        return nullcontext()
    if options.workers is not None and options.scheduler is not None:
        raise ValueError("--workers starts processes of its own: give it or --scheduler, not both")
    if options.workers is not None and not 1 <= options.workers <= _MOST_WORKERS:
        raise ValueError(f"--workers {options.workers} must be in [1, {_MOST_WORKERS}]")
    from leakscore.dask import cluster

    return cluster.open_cluster(workers=options.workers, scheduler=options.scheduler)


def _statistic(options: argparse.Namespace) -> Statistic | None:
    """Return the statistic of the options; None for means."""
    from leakscore import statistics

    if options.synthetic_from is not None:
        options.statistic = _synthetic_source(options)
    if options.statistic in _REFUSED_STATISTICS:
        raise ValueError(
            f"--statistic {options.statistic}: a published {options.statistic} may be the value "
            "of a record itself, which no distance bounds; publish counts between fixed limits "
            "instead (--statistic counts --group-by COLUMN)"
        )
    counts = options.statistic == "counts"
    exclusive = {
        "--group-by": options.group_by,
        "--weights": options.weights,
        "--statistic": options.statistic not in (None, "mean") and not counts,
    }
    if counts and not options.group_by:
        raise ValueError("--statistic counts needs --group-by COLUMN,...")
    if options.separate_tables and len(options.group_by or ()) < 2:
        raise ValueError("--separate-tables needs --group-by with two columns at least")
    if sum(map(bool, exclusive.values())) > 1:
        names = " and ".join(option for option, value in exclusive.items() if value)
        raise ValueError(f"{names} cannot be judged together: publish one of them at a time")
    if options.weights_are is not None and options.weights is None:
        raise ValueError(f"--weights-are {options.weights_are} belongs to --weights COLUMN")
    if options.statistic in _CLASSES or any(getattr(options, name) for name in _MODEL_OPTIONS):
        return _model(options)
    if options.group_by:
        table = statistics.Counts if counts else statistics.GroupMeans
        if options.separate_tables:
            return statistics.Several([table(name) for name in options.group_by])
        return table(options.group_by)
    if options.weights is not None:
        ways = {"public": statistics.KnownWeights, "ratio": statistics.WeightedRatio}
        kind: type[Any] = ways.get(options.weights_are, statistics.WeightedMean)
        return cast("Statistic", kind(options.weights))
    return None


def _synthetic_source(options: argparse.Namespace) -> str | None:
    """Return the statistic that a synthetic table is drawn from; None for means."""
    sources = ",".join(options.synthetic_from)
    if options.statistic is not None:
        raise ValueError(f"--synthetic-from {sources} stands in place of --statistic")
    if frozenset(options.synthetic_from) not in _SYNTHETIC_SOURCES:
        raise ValueError(
            f"--synthetic-from {sources} must be means, or means,covariance, or cells: no "
            "bound is known of other generators (leakscore audit-synthetic measures)"
        )
    statistic = _SYNTHETIC_SOURCES[frozenset(options.synthetic_from)]
    if statistic == "counts" and not options.group_by:
        raise ValueError("--synthetic-from cells needs --group-by COLUMN,...")
    return statistic


def _model(options: argparse.Namespace) -> Statistic:
    """Return the statistic of a fitted model with its columns; refuse missing and extra ones."""
    from leakscore import statistics

    class_name, required, optional = _CLASSES.get(options.statistic, ("", (), ()))
    for name in _MODEL_OPTIONS:
        value, what = getattr(options, name), "FAMILY" if name == "family" else "COLUMN"
        if value and name not in (*required, *optional):
            models = [model for model, (_, *names) in _CLASSES.items() if name in sum(names, ())]
            raise ValueError(f"--{name} {what} belongs to --statistic {' or '.join(models)}")
        if not value and name in required:
            raise ValueError(f"--statistic {options.statistic} needs --{name} {what}")
    by = {"by": tuple(options.factors or ())} if "factors" in optional else {}
    columns = [getattr(options, name) for name in (*required, *optional) if name != "factors"]
    return cast("Statistic", getattr(statistics, class_name)(*columns, **by))
