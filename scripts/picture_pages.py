"""Draw docs/_static/report.svg and audit.svg: the heads of the pages of the front page's commands.

The SVG holds the page's own HTML and style, which browsers draw.
"""

from __future__ import annotations

import runpy
import tempfile
from collections.abc import Iterator
from pathlib import Path

from leakscore_app.cli import main

ROOT = Path(__file__).parents[1]
WIDTH = 900
CLAIM = ["--claimed-epsilon", "1", "--neighbours", "replace"]


def picture(page: str, height: int) -> str:
    """Return the head of a page as SVG."""
    style = page.partition("<style>")[2].partition("@media")[0]
    title = page[page.index("<title>") : page.index("<style>")]
    header = page[page.index("<header>") : page.index('<p class="plain">')] + "</header>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">{title}'
        f'<style>{style}</style><foreignObject width="{WIDTH}" height="{height}">'
        f'<body xmlns="http://www.w3.org/1999/xhtml"><main>{header}</main></body>'
        "</foreignObject></svg>\n"
    )


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield where each picture lies, and what it is now."""
    with tempfile.TemporaryDirectory() as folder:
        scores, page = Path(folder, "scores.csv"), Path(folder, "page.html")
        runpy.run_path(str(ROOT / "examples" / "audit_scores.py"))["main"](str(scores))
        for command, height in ((["report"], 790), (["audit", str(scores), *CLAIM], 430)):
            main([*command, "--quiet", "--html", str(page)])
            path = ROOT / "docs" / "_static" / f"{command[0]}.svg"
            yield path, picture(page.read_text("utf-8"), height)


if __name__ == "__main__":
    for path, drawn in pictures():
        path.write_text(drawn, "utf-8")
