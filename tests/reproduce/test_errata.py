"""`reproduce azize-errata`: our formula agrees, the printed one does not, and a row can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reproduce._outcome import Erratum
from reproduce.azize_errata import draw, reproduce
from tests import ROOT


def test_ours_agree_and_the_printed_do_not(tmp_path: Path) -> None:
    outcome = reproduce()
    assert [row.name for row in outcome.rows if not row.ok] == []
    page = (ROOT / "docs" / "explanation" / "errata.md").read_text()
    for row in outcome.rows:
        assert f"`{row.name}`" in page
        figures = (row.measured, row.theory, row.printed)
        assert figures == pytest.approx(shown(page, row.name), rel=6e-3), row.name
    pytest.importorskip("matplotlib")
    draw(outcome, tmp_path / "errata.png")
    assert (tmp_path / "errata.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("theory", "printed", "ok"), [(1.0, 2.0, True), (2.0, 1.0, False), (1.0, 1.05, False)]
)
def test_a_row_needs_both(theory: float, printed: float, ok: bool) -> None:
    assert Erratum("name", 1.0, theory, 0.1, printed).ok is ok


def shown(page: str, name: str) -> tuple[float, ...]:
    """Return the measured, our and the printed number in the page's row of this name."""
    (line,) = [line for line in page.splitlines() if f"`{name}`" in line]
    found = re.search(r"(-?[\d.]+) / (-?[\d.]+) / (-?[\d.]+)", line.rpartition("| ")[2])
    assert found, line
    return tuple(map(float, found.groups()))
