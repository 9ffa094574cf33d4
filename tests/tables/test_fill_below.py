"""A fill value in the last line of a table is named as one, and no line above it a sum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakscore_app import read_table


@pytest.mark.parametrize("fill", ["1e20", "9.96921e+36"])
@pytest.mark.parametrize("below", [0, 1])
def test_a_fill_value_at_the_end(tmp_path: Path, fill: str, below: int) -> None:
    values = np.random.default_rng(3).normal(5.0, 1.0, 30).round(2).tolist()
    path = tmp_path / "t.csv"
    cells = [*map(str, values), fill, *map(str, values[:below])]
    path.write_text("x\n" + "\n".join(cells) + "\n")
    (why,) = read_table(str(path)).refused.values()
    assert "in 1 of" in why
    assert "lies far from all others" in why
