"""Games of long tables, by bins of projections, against the exact laws of few different records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from leakscore.games import EmpiricalMean, fixed_target
from leakscore_app import open_table, report
from tests.helpers.parts import Projections
from tests.helpers.streamed import short_files


def test_holders_of_a_flag_beside_another_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more holder, of n draws among the others: sums of equal counts are equal."""
    short_files(monkeypatch)
    size, holders = 8000, 3
    other = np.random.default_rng(0).integers(0, 2, size)
    file = tmp_path / "flag.csv"
    rows = "".join(f"{int(row < holders)},{each}\n" for row, each in enumerate(other))
    file.write_text("flag,other\n" + rows)
    page = report.analyse(open_table(str(file)), distinct_records=True)
    counts, share = np.arange(60), (holders - 1) / (size - 1)
    laws = stats.binom.pmf(counts - 1, size - 1, share), stats.binom.pmf(counts, size, share)
    truth = 0.5 * np.abs(laws[0] - laws[1]).sum()
    played = [game.advantage for game in page.games if game.row <= holders]
    assert len(played) >= 2
    for advantage in played:
        assert abs(advantage.simulated - truth) < 4 * advantage.std_error


def test_equal_sums_of_a_long_column_have_equal_bits() -> None:
    flags = np.zeros((70_000, 1))
    flags[:5] = 1
    table = Projections(flags, exclude=0)
    means, member = fixed_target(table, [1.0], EmpiricalMean(70_000), 4000, 3, balanced=True)
    counts = np.rint(means[:, 0] * 70_000)
    assert len(np.unique(means)) == len(np.unique(counts))
    assert counts[member].min() == 1
