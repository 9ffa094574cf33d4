"""What the commands share: types of arguments, and the outputs."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from leakscore_app.tables import files, outputs
from leakscore_app.tables.cells import names_in

if TYPE_CHECKING:
    from leakscore_app.document.document import Findings

_SECONDS = 5.0  # between lines on how far the work is
CODES = {"consistent": 0, "refuted": 2, "cannot-tell": 3}
"""Exit codes of verdicts on a claim."""
_OUTPUTS = ("json", "html", "sarif", "junit", "csv")


_Value = TypeVar("_Value")


def converted(read: Callable[[str], _Value], why: str = "") -> Callable[[str], _Value]:
    """Return a type of arguments: what `read` refuses is an error that says why."""

    def convert(text: str) -> _Value:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} {why}" if why else str(error)) from None

    return convert


names = converted(names_in)
"""Split a list of names: one line of csv."""


def counts(text: str) -> list[int]:
    """Split a list of whole numbers at its commas."""
    return [int(part) for part in text.split(",")]


def _character(text: str) -> str:
    """Return a delimiter; a tab and runs of spaces are spelled out."""
    text = {"tab": "\t", "\\t": "\t", " ": "space"}.get(text, text)
    if text != "space" and len(text) != 1:
        raise ValueError
    return text


def adder(group: Any) -> Callable[..., None]:
    """Return what adds options to a group, each spelt as its help shows it: "--delta D".

    Without a value it is a flag; "a|b" are choices. A number by default says what type the value
    is, and stands behind the text.
    """

    def add(spelt: str, text: str, default: Any = None, **more: Any) -> None:
        name, _, value = spelt.partition(" ")
        if "|" in value:
            more["choices"] = tuple(value.split("|"))
        elif value:
            more["metavar"] = value
        else:
            more["action"] = "store_true"
        if isinstance(default, int | float):
            more = {"type": type(default), **more}
            text = f"{text} ({default:g})".replace("e-0", "e-").lstrip()
        if default is not None:
            more["default"] = default
        group.add_argument(name, help=text, **more)

    return add


def add_names(group: Any, option: str, text: str) -> None:
    """Add an option for a list of names, which may be given several times."""
    group.add_argument(option, type=names, action="extend", metavar="A,B,...", help=text)


def add_reading(parser: Any) -> None:
    """Add the options for how a file is read, which is found out where they are not given."""
    group = parser.add_argument_group(
        "reading the file", "What is not given is found out; where it cannot be, nothing is judged."
    )
    add = adder(group)
    add(
        "--delimiter C",
        "between cells: a character, tab or space",
        type=converted(_character, "is neither one character nor tab nor space"),
    )
    add("--decimal MARK", "the decimal mark", choices=(".", ","))
    add(
        "--thousands MARK",
        "the mark between thousands: , . ' or a space; or none",
        choices=(",", ".", "'", " ", "none"),
    )
    add("--encoding NAME", "of a text: utf-8, cp1252, ...")
    _add_parts(group)
    _add_meaning(group)
    add_memory(group)


def add_models(group: Any) -> None:
    """Add the options for archives of the outputs of shadow models."""
    add = adder(group)
    add(
        "--attack choose|base|one-step|paired|bayes|lira",
        "by which to score the outputs of shadow models, see below (choose: the best of base, "
        "one-step and paired on shadow models that are left out)",
    )
    add(
        "--few-records",
        "there are fewer records than models, which otherwise is refused as transposed",
    )


def _add_parts(group: Any) -> None:
    """Add the options for which part of a file is the table."""
    add = adder(group)
    add("--header auto|yes|no", "whether the first line names the columns", default="auto")
    add("--skip-lines K", "leave out the first K lines", 0)
    add(
        "--skip-last K",
        "leave out the last K records; 0: keep a last one that is the others' sum or mean",
        type=int,
    )
    add("--sheet NAME", "which sheet of a workbook")
    add("--key NAME", "which array or file of an archive")


def _add_meaning(group: Any) -> None:
    """Add the options for what cells and columns mean."""
    add = adder(group)
    add_names(
        group,
        "--missing-values",
        "what stands for a missing value, -999 for example; none: every number is a value",
    )
    add(
        "--bad-cells refuse|missing",
        "what to do where cells of a column of numbers are no numbers (default: refuse)",
        default="refuse",
    )
    add("--id COLUMN", "tells who a record belongs to; it is not published")
    add_names(group, "--proportions", "columns of categories: the share of each one is published")


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return options by name, as arguments of functions that call them so."""
    return {name: getattr(options, name) for name in names}


def reading(
    options: argparse.Namespace, refused: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return what `add_reading` was told; options that are `refused` have another remedy here."""
    for name, remedy in refused.items():
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} means nothing here: {remedy}")
    names = ("delimiter", "decimal", "thousands", "encoding", "header", "skip_lines", "skip_last")
    read = given(options, *names, "sheet", "key", "bad_cells", "id", "max_memory")
    lists = ("missing_values", "proportions")
    read |= {name: tuple(getattr(options, name) or ()) for name in lists}
    return {name: value for name, value in read.items() if name not in refused}


def add_outputs(group: Any, quiet: str = "no text") -> None:
    """Add the options for the files of the numbers and the page, and for no text."""
    add = adder(group)
    add("--json PATH", "write all numbers as JSON (- for stdout)")
    add("--html PATH", "write one self-contained page (- for stdout)")
    add("--quiet", quiet)


def add_memory(group: Any) -> None:
    """Add the option for the memory that an input may take."""
    group.add_argument(
        "--max-memory",
        type=converted(files.parse_size),
        default=files.MAX_MEMORY,
        metavar="SIZE",
        help="bytes that a file that is read at once, and what it unpacks to, may take: 500M, 4G "
        "(default: 1G); long csv, parquet and npy files are read block by block",
    )


def require_writable(options: argparse.Namespace, *read: str | None) -> None:
    """Refuse, before the work, outputs that cannot be written or are one of the files `read`."""
    for name in _OUTPUTS:
        if name in options:
            setattr(options, name, outputs.destination(getattr(options, name)))
    outputs.require_writable(*_written(options), read=read, printed=prints_text(options))


def prints_text(options: argparse.Namespace) -> bool:
    """Whether the text goes to the standard output: nothing else does, and it was not declined."""
    return not options.quiet and outputs.STANDARD_OUTPUT not in _written(options)


def _written(options: argparse.Namespace) -> list[str | None]:
    return [getattr(options, name, None) for name in _OUTPUTS]


def deliver_verdict(findings: Findings, options: argparse.Namespace) -> None:
    """Warn of what is doubtful, then `deliver`; the exit code holds even if nobody reads it all."""
    for doubt in findings.doubts:
        print(f"leakscore: warning: {doubt.message}", file=sys.stderr)
    try:
        deliver(findings, options)
    except BrokenPipeError:
        outputs.abandon_output()


def deliver(result: Findings, options: argparse.Namespace) -> None:
    """Print the text and write the requested files."""
    if prints_text(options):
        terminal = sys.stdout is not None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else 80
        outputs.write(outputs.STANDARD_OUTPUT, result.to_text(min(width, 100)))
    if options.json is not None:
        outputs.write(options.json, result.to_json() + "\n")
    if options.html is not None:
        outputs.write(options.html, result.to_html())


@contextlib.contextmanager
def progress(quiet: bool, always: bool = False) -> Iterator[Callable[[str, float], None] | None]:
    """Show how far the work is on standard error: on a terminal, or `always`.

    On a terminal it is a bar, if tqdm is installed; elsewhere a line at most every five seconds.
    """
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if quiet or sys.stderr is None or not (terminal or always):
        yield None
        return
    try:
        if not terminal:
            raise ImportError
        from tqdm import tqdm
    except ImportError:
        yield _lines() if always else None
        return
    layout = "{percentage:3.0f} % |{bar:20}| {desc}"
    with tqdm(total=1.0, bar_format=layout, leave=False, file=sys.stderr) as bar:

        def show(step: str, done: float) -> None:
            bar.set_description_str(step, refresh=False)
            bar.update(done - bar.n)
            bar.refresh()

        yield show


def _lines() -> Callable[[str, float], None]:
    """Return what prints a step, if the last one was printed some seconds ago."""
    last = -_SECONDS

    def show(step: str, done: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS:
            last = now
            print(f"{100 * done:3.0f} % {step}", file=sys.stderr, flush=True)

    return show
