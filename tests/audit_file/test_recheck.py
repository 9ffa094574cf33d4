"""The JSON of ``leakscore audit``: bounds on error rates are checked from it alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, special, stats

from tests.helpers.audited import parsed, write_scores
from tests.helpers.public import epsilon_methods
from tests.helpers.versions import OLD_SCIPY


@pytest.mark.parametrize("options", [(), ("--orientation", "both")])
def test_bounds_on_rates_follow_from_the_critical_values(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    """By scipy's quantiles and a root finder, from the JSON only."""
    result = parsed(capsys, write_scores(tmp_path), "--confidence", "0.9", *options)
    assert result["orientation"] == (options or ("", "high"))[1]
    rows = [*result["bounds"], result["mu"]]
    rows += [other["bounds"][0] for other in result["methods"] if other["bounds"]]
    methods = set()
    for row in rows:
        told = row["critical_values"]
        assert (told is None) == (row["method"] in ("credible", "four-outcomes"))
        if told is None:
            continue
        methods.add(row["method"])
        halved = bool(options) and row["method"] != "split"
        assert told["miss"] == pytest.approx(0.025 if halved else 0.05, rel=1e-12)
        for rate, errors, size in (
            ("fpr", row["false_positives"], row["nonmembers_counted"]),
            ("fnr", row["false_negatives"], row["members_counted"]),
        ):
            assert (told[rate]["n"], told[rate]["k"]) == (size, errors)
            upper = upper_bound(told["rule"], **told[rate])
            assert 0 <= row[f"{rate}_upper"] / upper - 1 < 1e-12, row["method"]
    assert methods == epsilon_methods() - {"credible", "sorted-bits", "four-outcomes"}


def upper_bound(rule: str, n: int, k: int, critical: float) -> float:
    """What the rules of the JSON say, each in other words."""
    if rule.startswith("k/n + critical,"):
        return min(1.0, k / n + critical)
    if rule.startswith("largest u with n KL"):
        rate = k / n

        def excess(u: float) -> float:
            return n * float(special.rel_entr(rate, u) + special.rel_entr(1 - rate, 1 - u))

        return float(optimize.brentq(lambda u: excess(u) - critical, rate, 1 - 1e-16, xtol=1e-15))
    level = critical
    if rule.startswith("(1 - critical / sqrt(k + 1))"):
        level /= np.sqrt(k + 1)
    else:
        assert rule.startswith("(1 - critical)-quantile of Beta(k + 1, n - k)")
    return float(stats.beta.isf(level, k + 1, n - k))


def test_the_critical_values_of_a_grid(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Beyond 20,000 scores a bound is that of the next count that is constrained."""
    n = 50_000
    rng = np.random.default_rng(1)
    path = tmp_path / "many.npz"
    np.savez(path, members=rng.normal(2.0, 1.0, n), nonmembers=rng.normal(0.0, 1.0, n))
    result = parsed(capsys, path, "--only-method", "--delta", "1e-5,0.2,0.5")
    moved = 0
    for bound in (*result["bounds"], result["mu"]):
        for rate, errors in (("fpr", bound["false_positives"]), ("fnr", bound["false_negatives"])):
            told = bound["critical_values"][rate]
            assert errors <= told["k"] <= errors + 0.1 * np.sqrt(errors) + 1
            moved += told["k"] - errors
            upper = upper_bound(bound["critical_values"]["rule"], **told)
            assert -3e-15 * OLD_SCIPY <= bound[f"{rate}_upper"] / upper - 1 < 1e-12
    assert moved > 0
