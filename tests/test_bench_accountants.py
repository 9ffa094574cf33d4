"""docs/reference/accountants.md, and the simulation that `python -m bench.accuracy` plays."""

from __future__ import annotations

import numpy as np
import pytest

from bench.accuracy import accountants
from leakscore.tradeoff import subsampled_gaussian
from tests import ROOT


def cells() -> list[list[str]]:
    """The lines of the table, without its head."""
    block = (ROOT / "docs" / "reference" / "accountants.md").read_text("utf-8")
    block = block.partition("<!-- accountants -->")[2].partition("<!-- end -->")[0]
    lines = [line for line in block.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def test_the_page_has_every_mechanism_and_what_it_says_agrees() -> None:
    rows = cells()
    assert len(rows) == 3 * len(accountants.MECHANISMS) == 36
    decided = 0
    for row in rows:
        ours, exact, simulated = float(row[2]), float(row[4]), row[-1]
        assert exact == pytest.approx(ours, abs=2e-5)
        if simulated:
            beta, error = map(float, simulated.split(" ± "))
            assert abs(beta - ours) <= 4.0 * error + 1e-5
            decided += 1
    assert decided >= 30


@pytest.mark.parametrize("index", [3, 7, 9])
def test_ours_are_the_numbers_of_the_page(index: int) -> None:
    mechanism = accountants.MECHANISMS[index]
    curve = subsampled_gaussian(*mechanism).symmetrized()
    stated = [float(row[2]) for row in cells()[3 * index : 3 * index + 3]]
    np.testing.assert_allclose(curve(accountants.ALPHA), stated, atol=1e-6)


def test_the_simulation_is_right_and_knows_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accountants, "STEPS_DRAWN", 2_000_000)
    mechanism = accountants.Mechanism(2.0, 0.5, 20)
    truth = subsampled_gaussian(*mechanism)(accountants.ALPHA)
    played = [accountants.drawn(mechanism, np.random.default_rng(seed)) for seed in range(12)]
    scores = np.array([(beta - truth) / error for beta, error in played])
    assert np.abs(scores).max() < 4.0
    assert 0.5 < scores[:, 1:].std() < 1.6
