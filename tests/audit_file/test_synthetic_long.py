"""The long checks of what is said of synthetic tables: copies, nulls, bounds above attacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from leakscore import audit
from tests.helpers.synthetic import audited, copied, played_and_bound, wrongly

pytestmark = pytest.mark.slow
LEVELS = (0.01, 0.05, 0.2, 0.5)


def test_a_table_from_the_law_is_seldom_said_to_leak_2000_times(tmp_path: Path) -> None:
    refuted, p_values = wrongly(tmp_path, 2000)
    assert refuted <= binom.isf(1e-4, 2000, 0.1)
    for level in LEVELS:
        assert sum(p <= level for p in p_values) <= binom.isf(1e-4, 2000, level)


@pytest.mark.parametrize("size", [800, 3000])
def test_a_generator_that_copies_one_percent_is_caught_20_of_20_times(
    tmp_path: Path, size: int
) -> None:
    tables = [copied(np.random.default_rng(seed), size) for seed in range(20)]
    verdicts = [audited(tmp_path, each, seed=k).verdict for k, each in enumerate(tables)]
    assert verdicts == ["refuted"] * 20


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_lies_above_the_bands_of_attacks(seed: int) -> None:
    upper, bound = played_and_bound(seed, 20_000)
    assert max(upper) < bound


def test_blind_checks_of_members_drawn_at_random_are_uniform_2000_times() -> None:
    rng, p_values = np.random.default_rng(4), []
    for _ in range(2000):
        features, member = rng.normal(size=(40, 2)), rng.permutation(40) < 20
        check = audit.blind_check(features, member, rng=rng, relabellings=99)
        p_values.append([check.p_value, check.column_p_values.min()])
    for level in LEVELS:
        share, columns = (np.array(p_values) <= level).mean(axis=0)
        assert abs(share - level) < 4 * np.sqrt(level * (1 - level) / 2000)
        assert columns < level + 4 * np.sqrt(level * (1 - level) / 2000)
