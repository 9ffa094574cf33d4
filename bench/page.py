"""The measured block of docs/reference/performance.md: ``python -m bench --page [topic ...]``."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "performance.md"


def write(topic: str, run: Callable[[], object]) -> None:
    """Run a topic, and put what it prints into its block of the page, or into a new one."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run()
    block = f"<!-- {topic} -->\n```none\n{printed.getvalue().strip()}\n```\n<!-- end -->\n"
    page = PAGE.read_text("utf-8")
    page, found = re.subn(
        rf"<!-- {topic} -->\n.*?<!-- end -->\n", lambda _: block, page, flags=re.S
    )
    PAGE.write_text(page if found else f"{page}\n### {topic}\n\n{block}", "utf-8")
    print(printed.getvalue())
