"""What the commands share: types of arguments, and the outputs."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from leakscore.tables import memory_limit, outputs

__all__ = [
    "add_dialect",
    "add_memory",
    "add_outputs",
    "counts",
    "deliver",
    "memory",
    "names",
    "progress",
    "require_writable",
]


def names(text: str) -> list[str]:
    """Split a list of names at its commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def counts(text: str) -> list[int]:
    """Split a list of whole numbers at its commas."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers") from None


def _character(text: str) -> str:
    """Return a delimiter; a tab may be spelled out."""
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text


def add_dialect(group: Any) -> None:
    """Add the options for the form of a csv file."""
    group.add_argument("--delimiter", type=_character, metavar="C", help="of a csv file")
    group.add_argument(
        "--decimal", choices=(".", ","), metavar="MARK", help="of a csv file: . or ,"
    )
    group.add_argument(
        "--header",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether the first line of a csv file names the columns",
    )


def add_outputs(group: Any) -> None:
    """Add the options for the files of the numbers and the page."""
    group.add_argument("--json", metavar="PATH", help="write all numbers as JSON (- for stdout)")
    group.add_argument(
        "--html", metavar="PATH", help="write one self-contained page (- for stdout)"
    )


def memory(text: str) -> int:
    """Return the bytes of a size."""
    try:
        return memory_limit.parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_memory(group: Any) -> None:
    """Add the option for the memory that an input may take."""
    group.add_argument(
        "--max-memory",
        type=memory,
        default=memory_limit.DEFAULT,
        metavar="SIZE",
        help="bytes that a file and what it unpacks to may take: 500M, 4G (default: 1G)",
    )


def require_writable(options: argparse.Namespace, *read: str | None) -> None:
    """Refuse, before the work, outputs that cannot be written or are one of the files `read`."""
    options.json, options.html = (
        outputs.destination(path) for path in (options.json, options.html)
    )
    outputs.require_writable(options.json, options.html, read=read, printed=_prints_text(options))


def _prints_text(options: argparse.Namespace) -> bool:
    return not options.quiet and outputs.STANDARD_OUTPUT not in (options.json, options.html)


class _Result(Protocol):
    """The result of every command."""

    def to_text(self, width: int = 80) -> str: ...
    def to_json(self) -> str: ...
    def to_html(self) -> str: ...


def deliver(result: _Result, options: argparse.Namespace) -> None:
    """Print the text and write the requested files."""
    if _prints_text(options):
        terminal = sys.stdout is not None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else 80
        outputs.write(outputs.STANDARD_OUTPUT, result.to_text(min(width, 100)))
    if options.json is not None:
        outputs.write(options.json, result.to_json() + "\n")
    if options.html is not None:
        outputs.write(options.html, result.to_html())


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Show a progress bar on a terminal, if tqdm is installed; otherwise nothing."""
    try:
        if quiet or sys.stderr is None or not sys.stderr.isatty():
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
