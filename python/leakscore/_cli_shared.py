"""What the commands share: kinds of arguments, and where their results go."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

__all__ = [
    "abandon_output",
    "add_dialect",
    "add_outputs",
    "counts",
    "deliver",
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
    """Add the options that say how a csv file is written."""
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
    """Add the options that say where the numbers and the page are written."""
    group.add_argument("--json", metavar="PATH", help="write all numbers as JSON (- for stdout)")
    group.add_argument(
        "--html", metavar="PATH", help="write one self-contained page (- for stdout)"
    )


def abandon_output() -> None:
    """Send what is still to be printed nowhere: its reader has left, say `| head`."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def require_writable(*paths: str | None, read: Sequence[str | None] = ()) -> None:
    """Refuse a path that cannot be written before the work, not after it, and to write one twice.

    Nor is one of the files that are `read` written over.
    """
    if paths.count("-") > 1:
        raise ValueError("only one of --json and --html can go to standard output")
    for path in paths:
        if path is None or path == "-":
            continue
        if Path(path).is_dir():
            raise ValueError(f"cannot write {path}: it is a directory")
        if not Path(path).absolute().parent.is_dir():
            raise ValueError(f"cannot write {path}: its directory does not exist")
    taken = [Path(path).resolve() for path in read if path is not None and path != "-"]
    for path in paths:
        if path is None or path == "-" or (Path(path).exists() and not Path(path).is_file()):
            continue
        if Path(path).resolve() in taken:
            raise ValueError(f"cannot write {path}: it is read, or written already")
        taken.append(Path(path).resolve())


class _Result(Protocol):
    """What every command finds."""

    def to_text(self, width: int = 80) -> str: ...
    def to_json(self) -> str: ...
    def to_html(self) -> str: ...


def deliver(result: _Result, options: argparse.Namespace) -> None:
    """Print the text and write the files that were asked for."""
    if "-" not in (options.json, options.html) and not options.quiet:
        terminal = sys.stdout is not None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else 80
        _write("-", result.to_text(min(width, 100)))
    if options.json is not None:
        _write(options.json, result.to_json() + "\n")
    if options.html is not None:
        _write(options.html, result.to_html())


def _write(path: str, text: str) -> None:
    """Write a file, or to standard output, whose encoding may know little."""
    if path != "-":
        Path(path).write_text(text, encoding="utf-8")
        return
    if sys.stdout is None:  # closed before the program began: nobody reads
        return
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = text.replace("±", "+-").encode("ascii", "replace").decode("ascii")
    sys.stdout.write(text)
    sys.stdout.flush()


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
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
