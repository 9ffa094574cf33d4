"""Pages of the documentation: their programs and commands are run, as a reader would."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leakscore_app.cli import main
from tests import ROOT

DOCS = ROOT / "docs"
_FENCE = re.compile(
    r"^(?P<fence>```+)(?P<kind>\{code-cell\} ipython3|\w*)\n(?P<text>.*?)^(?P=fence)$",
    flags=re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text, and whether it follows the one before."""

    kind: str
    text: str
    follows: bool


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks; one that follows another with nothing between shows its output."""
    end = -1
    for found in _FENCE.finditer(page):
        kind = "python" if found["kind"].startswith("{code-cell}") else found["kind"]
        text = (
            re.sub(r"\A(?::[^\n]*\n)+\n?", "", found["text"]) if kind == "python" else found["text"]
        )
        yield Block(kind, text, end >= 0 and not page[end : found.start()].strip())
        end = found.end()


def pages() -> list[str]:
    """Return the pages with programs or commands, from the root of the repository."""
    found = [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("*/*.md")]
    return sorted(
        str(path.relative_to(ROOT))
        for path in found
        if any(block.kind in ("python", "sh") for block in blocks(path.read_text("utf-8")))
    )


def _python(text: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "page", "exec"), names)
    return printed.getvalue()


def _shell(text: str) -> str:
    """Run the lines that call `leakscore` or an example; others (pip, git) are not ours to run."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line.rpartition("&&")[2], comments=True)
            name = Path(words[0]).name if words else ""
            if name == "leakscore":
                main(words[1:])
            elif name.startswith("python") and words[1].startswith("examples/"):
                with contextlib.redirect_stdout(io.StringIO()):
                    runpy.run_path(str(ROOT / words[1]))["main"](*words[2:])
    return printed.getvalue()


def run(page: str, folder: Path) -> Iterator[tuple[Block, str | None, str]]:
    """Run a page in a folder of its own; yield each block, what is shown of it, and its output."""
    names: dict[str, object] = {"__name__": "page"}
    parts = list(blocks(page))
    before = Path.cwd()
    os.chdir(folder)
    try:
        for index, block in enumerate(parts):
            if block.kind not in ("python", "sh"):
                continue
            printed = _python(block.text, names) if block.kind == "python" else _shell(block.text)
            after = parts[index + 1] if index + 1 < len(parts) else None
            shown = after.text if after and after.follows and after.kind == "text" else None
            yield block, shown, printed
    finally:
        os.chdir(before)
