"""Every program and command of the documentation runs, and prints what the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import leakscore
from tests import ROOT
from tests.helpers import pages

CONTRACT = {
    "tutorials": "steward auditor-in-ci dpsgd-author researcher library-author",
    "how-to": "install read-your-table choose-noise growing-table audit-in-ci one-run-audit "
    "histograms many-gpus choose-canaries dpsgd-noise compare-claim white-box low-rank genotypes "
    "rounds-needed embed-report threads-and-isa reproduce-a-figure recheck-a-bound",
    "explanation": "threat-models leakage-score audits pitfalls accuracy certified-bounds "
    "sorted-bits errata",
    "reference": "index cli json formats exit-codes glossary distributions performance figures "
    "changelog",
}


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = leakscore.get_num_threads()
    yield
    leakscore.set_num_threads(before)


def test_the_pages_are_where_others_link_to() -> None:
    for kind, names in CONTRACT.items():
        for name in names.split():
            assert (pages.DOCS / kind / f"{name}.md").is_file(), f"{kind}/{name}"


@pytest.mark.parametrize("page", pages.pages())
def test_page_runs(page: str, tmp_path: Path) -> None:
    """What a program prints is shown, all of it; of a command, from its start."""
    if "plt." in (text := (ROOT / page).read_text("utf-8")):
        pytest.importorskip("matplotlib").use("agg")
    if "formats" in page or "read-your-table" in page:
        pytest.importorskip("pyarrow")
    for block, shown, printed in pages.run(text, tmp_path):
        if shown is not None:
            assert shown.strip()
            whole = block.kind == "python"
            assert printed == shown if whole else printed.startswith(shown.rstrip("\n")), printed


@pytest.mark.parametrize("page", pages.pages())
def test_programs_print_all_that_is_shown(page: str) -> None:
    """A block of output has a program or a command just before it, so that it is checked."""
    before = None
    for block in pages.blocks((ROOT / page).read_text("utf-8")):
        if block.kind == "text" and block.follows and before is not None:
            assert before.kind in ("python", "sh"), block.text
        before = block


def test_every_relative_link_leads_somewhere() -> None:
    """Links between pages; pages of the API and the gallery are made when the site is built."""
    broken = []
    for path in [*pages.DOCS.glob("*.md"), *pages.DOCS.glob("*/*.md"), ROOT / "README.md"]:
        text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            target = path.parent / link
            made = re.search(r"gallery/plot_(\w+)$", link)
            if made:
                target = pages.DOCS / "gallery_src" / f"plot_{made[1]}.py"
            if "://" not in link and "api/" not in link and not target.exists():
                broken.append(f"{path.relative_to(ROOT)}: {link}")
    assert broken == []


def test_programs_of_tutorials_fit_a_narrow_page() -> None:
    for path in (pages.DOCS / "tutorials").glob("*.md"):
        for block in pages.blocks(path.read_text("utf-8")):
            if block.kind in ("python", "sh"):
                assert max(map(len, block.text.splitlines())) <= 72, (path.name, block.text)


def test_stewards_read_no_formula() -> None:
    for name in ("tutorials/steward.md", "how-to/growing-table.md", "reference/glossary.md"):
        text = (pages.DOCS / name).read_text("utf-8")
        prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)
        assert not re.search(r"[=^$\\]", prose), name


def test_pitfalls_come_first() -> None:
    text = (pages.DOCS / "explanation" / "index.md").read_text("utf-8")
    assert text.split("```{toctree}")[1].split("\n\n")[1].split()[0] == "pitfalls"


def test_every_page_is_in_a_list() -> None:
    """A page that no list names is found by nobody; architecture.md is for contributors."""
    listed: set[Path] = set()
    for path in pages.DOCS.glob("**/*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text("utf-8"), flags=re.S):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(path.parent / f"{name}.md").resolve() for name in names}
    known = {path.resolve() for path in pages.DOCS.glob("*/*.md") if path.parent.name in CONTRACT}
    assert known - listed == set()
