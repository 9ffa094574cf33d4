"""The command line: ``leakscore report`` and ``leakscore reproduce``.

Exit codes: 0 done, 1 an error (one line on standard error), for ``reproduce`` also a check that
failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import leakscore

__all__ = ["main"]

_EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError)


class _Parser(argparse.ArgumentParser):
    """Errors are one line and exit code 1, as everywhere in this program."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 done, 1 error or failed check, 130 interrupted.

    Examples
    --------
    >>> from leakscore.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    leakscore ...
    0
    """
    try:
        options = _parser().parse_args(argv)
        return int(options.run(options))
    except SystemExit as stop:  # argparse: --help, --version, a wrong argument
        return stop.code if isinstance(stop.code, int) else 1
    except BrokenPipeError:  # the reader of our output has left, say `| head`
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except _EXPECTED as error:
        print(f"leakscore: error: {_one_line(error)}", file=sys.stderr)
        return 1


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _parser() -> _Parser:
    parser = _Parser(
        prog="leakscore",
        description="How surely can an attacker tell that a record was in the data?",
    )
    version = f"leakscore {leakscore.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    _add_report(commands)
    _add_reproduce(commands)
    return parser


# --- leakscore report ----------------------------------------------------------------------------


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="what leaks if the mean of n of these records is published",
        description=(
            "Tell, for every record of a table, how surely its presence can be told from the mean "
            "of n records, for an attacker who knows the population's mean and covariance and all "
            "values of the record, and for a weaker one; and what helps."
        ),
    )
    parser.set_defaults(run=_report)
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help="csv, npz, npy or parquet, one record a row (- reads csv from standard input); "
        "without it, an embedded table of 569 x 30 medical measurements",
    )
    _add_release_options(parser.add_argument_group("the release"))
    _add_table_options(parser.add_argument_group("the table"))
    _add_remedy_options(parser.add_argument_group("the remedies and the game"))
    _add_output_options(parser.add_argument_group("the output"))


def _add_release_options(group: Any) -> None:
    group.add_argument(
        "--n", type=int, metavar="N", help="records averaged (default: all; 100 without DATA)"
    )
    group.add_argument(
        "--population",
        choices=("infinite", "finite"),
        help="infinite (default): the table is a sample of a larger population; finite: the n are "
        "drawn from the table's records, without replacement",
    )
    group.add_argument(
        "--draw",
        choices=("with", "without"),
        help="the same choice in other words: with or without replacement",
    )
    group.add_argument(
        "--base-population",
        type=int,
        metavar="N",
        help="people who might be in the data, for the base rate n/N (default: the table's "
        "records, if n is less)",
    )


def _add_table_options(group: Any) -> None:
    group.add_argument(
        "--columns", type=_names, metavar="A,B,...", help="publish these columns only"
    )
    group.add_argument(
        "--exclude", type=_names, default=[], metavar="A,B,...", help="do not publish these columns"
    )
    group.add_argument(
        "--missing",
        choices=("rows", "columns"),
        default="rows",
        help="what to leave out where a value is missing (default: rows)",
    )
    group.add_argument("--key", metavar="NAME", help="which array of an npz archive")
    group.add_argument("--delimiter", type=_character, metavar="C", help="of a csv file")
    group.add_argument("--decimal", choices=(".", ","), help="of a csv file")
    group.add_argument(
        "--header",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether the first line of a csv file names the columns",
    )
    group.add_argument(
        "--shrinkage",
        type=_shrinkage,
        metavar="S",
        help="of the covariance towards its diagonal, 0 to 1, or auto (default: none, auto if the "
        "records are too few)",
    )


def _add_remedy_options(group: Any) -> None:
    group.add_argument(
        "--max-advantage",
        type=float,
        metavar="A",
        help="budget of the noise: the largest advantage of any record (default: 0.2)",
    )
    group.add_argument(
        "--epsilon", type=float, metavar="E", help="budget of the noise: a Gaussian epsilon"
    )
    group.add_argument(
        "--delta", type=float, default=1e-5, metavar="D", help="with --epsilon and --audit (1e-5)"
    )
    group.add_argument(
        "--audit", action="store_true", help="certify an epsilon of the worst record's game"
    )
    group.add_argument(
        "--confidence", type=float, default=0.95, metavar="C", help="of audit and interval (0.95)"
    )
    group.add_argument(
        "--rounds", type=int, metavar="R", help="of each game (default: 20000, less for large n)"
    )
    group.add_argument("--seed", type=int, default=0, metavar="S", help="of the games (0)")


def _add_output_options(group: Any) -> None:
    group.add_argument(
        "--worst", type=int, default=5, metavar="K", help="records that are listed (5)"
    )
    group.add_argument("--json", metavar="PATH", help="write all numbers as JSON (- for stdout)")
    group.add_argument(
        "--html", metavar="PATH", help="write one self-contained page (- for stdout)"
    )
    group.add_argument(
        "--show-values", action="store_true", help="show values of the worst records"
    )
    group.add_argument("--quiet", action="store_true", help="no text, no progress bar")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _character(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text


def _shrinkage(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor auto") from None


def _report(options: argparse.Namespace) -> int:
    from leakscore import report

    if options.json == "-" and options.html == "-":
        raise ValueError("only one of --json and --html can go to standard output")
    _require_writable(options.json, options.html)
    with _progress(options.quiet) as progress:
        if progress is not None:
            progress("reading the table", 0.0)
        table = (
            report.embedded_table()
            if options.data is None
            else report.read_table(
                options.data,
                key=options.key,
                delimiter=options.delimiter,
                decimal=options.decimal,
                header=options.header,
            )
        )
        result = report.analyse(
            table,
            n=options.n,
            population=_population(options),
            base_population=options.base_population,
            columns=options.columns,
            exclude=options.exclude,
            missing=options.missing,
            shrinkage=options.shrinkage,
            max_advantage=options.max_advantage,
            epsilon=options.epsilon,
            delta=options.delta,
            worst=options.worst,
            rounds=options.rounds,
            seed=options.seed,
            audit=options.audit,
            confidence=options.confidence,
            show_values=options.show_values,
            progress=progress,
        )
    if "-" not in (options.json, options.html) and not options.quiet:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
        _write("-", result.to_text(min(width, 100)))
    if options.json is not None:
        _write(options.json, result.to_json() + "\n")
    if options.html is not None:
        _write(options.html, result.to_html())
    return 0


def _population(options: argparse.Namespace) -> str:
    by_draw = {None: None, "with": "infinite", "without": "finite"}[options.draw]
    if options.population and by_draw and by_draw != options.population:
        raise ValueError(
            f"--draw {options.draw} replacement contradicts --population {options.population}"
        )
    return options.population or by_draw or "infinite"


def _require_writable(*paths: str | None) -> None:
    """Refuse a path that cannot be written before the work, not after it."""
    for path in paths:
        if path is None or path == "-":
            continue
        if Path(path).is_dir():
            raise ValueError(f"cannot write {path}: it is a directory")
        if not Path(path).absolute().parent.is_dir():
            raise ValueError(f"cannot write {path}: its directory does not exist")


def _write(path: str, text: str) -> None:
    if path != "-":
        Path(path).write_text(text, encoding="utf-8")
        return
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = text.replace("±", "+-").encode("ascii", "replace").decode("ascii")
    sys.stdout.write(text)
    sys.stdout.flush()


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Show a progress bar on a terminal, if tqdm is installed; otherwise nothing."""
    try:
        if quiet or not sys.stderr.isatty():
            raise ImportError
        from tqdm import tqdm
    except ImportError:
        yield None
        return
    layout = "{percentage:3.0f} % |{bar:20}| {desc}"
    with tqdm(total=1.0, bar_format=layout, leave=False, file=sys.stderr) as bar:

        def show(step: str, done: float) -> None:
            bar.set_description_str(step, refresh=False)
            bar.update(done - bar.n)
            bar.refresh()

        yield show


# --- leakscore reproduce -------------------------------------------------------------------------


def _add_reproduce(commands: Any) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="regenerate a figure of a paper and check it",
        description="Regenerate figures of the papers, print their numbers and check them.",
    )
    parser.set_defaults(run=_reproduce)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="figures; none lists them; the name of one that reads real data may be followed by "
        "their path",
    )
    parser.add_argument(
        "--data",
        metavar="PATH",
        help="file or folder of the real data (default: where their Debian package is installed)",
    )
    parser.add_argument("--rounds", type=int, metavar="R", help="of each game; splits of genotypes")
    parser.add_argument("--seed", type=int, metavar="S", help="of the games")
    parser.add_argument("--out", metavar="DIR", help="where the figures are written")


def _reproduce(options: argparse.Namespace) -> int:
    from leakscore import reproduce

    if not options.names:
        print("\n".join(reproduce.names()))
        return 0
    figures = _with_data(options.names, options.data)
    given = {"rounds": options.rounds, "seed": options.seed, "out": options.out}
    keywords = {name: value for name, value in given.items() if value is not None}
    passed = [reproduce.run(name, stream=sys.stdout, **data, **keywords) for name, data in figures]
    return 0 if all(passed) else 1


def _with_data(words: list[str], data: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Return the figures and the path of the data of those that read some, found to be there."""
    from leakscore import reproduce
    from leakscore.reproduce import _data

    known = reproduce.names()
    figures: list[tuple[str, dict[str, Any]]] = []
    for word in words:
        if word in known:
            reads = word in _data.PACKAGES and data is not None
            figures.append((word, {"data": data} if reads else {}))
        elif figures and figures[-1][0] in _data.PACKAGES and Path(word).exists():
            if figures[-1][1]:
                raise ValueError(f"the data of {figures[-1][0]} are given twice")
            figures[-1][1]["data"] = word
        else:
            raise ValueError(f"nothing is called {word!r}; known: {', '.join(known)}")
    if data is not None and not any(name in _data.PACKAGES for name, _ in figures):
        raise ValueError(f"--data {data}: none of these figures reads data")
    for name, path in figures:
        if name in _data.PACKAGES:
            _data.find(name, path.get("data"))
    return figures
