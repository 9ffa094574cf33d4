"""The table of mutations fits the code, and the page on certified bounds names every one of them.

That each is caught is shown by `scripts/mutate`, which takes minutes.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUTATIONS = runpy.run_path(str(ROOT / "scripts" / "mutations.py"))["MUTATIONS"]


def test_every_text_is_in_its_file_once() -> None:
    for one in MUTATIONS:
        assert (ROOT / one.file).read_text("utf-8").count(one.old) == 1, one.name
        assert one.new != one.old
        for test in one.tests:
            assert (ROOT / test.partition("::")[0]).is_file(), one.name


def test_names_are_those_of_the_page() -> None:
    """A cell names mutations in full, and ten times the first of them by `-10`."""
    names = [one.name for one in MUTATIONS]
    assert len(set(names)) == len(names)
    listed: list[str] = []
    page = ROOT / "docs" / "explanation" / "certified-bounds.md"
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith(("| ---", "| term")):
            for name in re.findall(r"`([^`]+)`", line.split("|")[4]):
                last = listed[-1] if listed else ""
                listed.append(last.removesuffix("-0") + name if name == "-10" else name)
    assert sorted(listed) == sorted(names)
