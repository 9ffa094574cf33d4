"""What the commands share: kinds of arguments, and where their results go."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["add_outputs", "character", "names", "progress", "require_writable", "width", "write"]


def names(text: str) -> list[str]:
    """Split a list of names at its commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def character(text: str) -> str:
    """Return a delimiter; a tab may be spelled out."""
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text


def add_outputs(group: Any) -> None:
    """Add the options that say where the numbers and the page are written."""
    group.add_argument("--json", metavar="PATH", help="write all numbers as JSON (- for stdout)")
    group.add_argument(
        "--html", metavar="PATH", help="write one self-contained page (- for stdout)"
    )


def require_writable(*paths: str | None) -> None:
    """Refuse a path that cannot be written before the work, not after it."""
    if paths.count("-") > 1:
        raise ValueError("only one of --json and --html can go to standard output")
    for path in paths:
        if path is None or path == "-":
            continue
        if Path(path).is_dir():
            raise ValueError(f"cannot write {path}: it is a directory")
        if not Path(path).absolute().parent.is_dir():
            raise ValueError(f"cannot write {path}: its directory does not exist")


def width() -> int:
    """Return how wide the text may be."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    return min(columns, 100)


def write(path: str, text: str) -> None:
    """Write a file, or to standard output, whose encoding may know little."""
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
