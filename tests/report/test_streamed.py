"""Reports on tables that are read block by block, held against those on the same table whole."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from leakscore_app import report
from tests.helpers.sizes import sizes

N, D = 3000, 5


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take tables of more than 1000 rows for long ones, and keep few rows of them."""
    sizes(monkeypatch, long=1000, block=256, kept=300)


def table(seed: int = 1, size: int = N) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_t(4, size=(size, D)) @ rng.normal(size=(D, D)) + 7


def both(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray, **asked: Any
) -> tuple[report.Report, report.Report]:
    asked = {"rounds": 400, "noise_shape": "same", **asked}
    streamed = report.analyse(values, **asked)
    sizes(monkeypatch, long=10**9)
    return streamed, report.analyse(report.table_of(values), **asked)


def close(found: Any, expected: Any, path: str = "") -> None:
    """Compare plain results: numbers to rounding, all else exactly."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), path
        for key, value in expected.items():
            close(found[key], value, f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for place, (one, value) in enumerate(zip(found, expected, strict=True)):
            close(one, value, f"{path}[{place}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-14), path
    else:
        assert found == expected, path


@pytest.mark.parametrize(
    ("n", "population"), [(40, "infinite"), (40, "finite"), (900, "finite"), (2900, "infinite")]
)
def test_theory_is_that_of_the_whole_table(
    monkeypatch: pytest.MonkeyPatch, n: int, population: str
) -> None:
    """40: all records are above the limit; 2900: none is. 300 are kept."""
    streamed, whole = both(monkeypatch, table(), n=n, population=population, records="all")
    ours, plain = (json.loads(one.to_json()) for one in (streamed, whole))
    keys = ("release", "drivers", "covariance", "worst_rows", "records", "threat_models")
    for key in keys:
        close(ours[key], plain[key], key)
    close(ours["counts"], plain["counts"], "counts")
    expected = [one for one in plain["remedies"] if one["kind"] != "winsorising"]
    close([one for one in ours["remedies"] if one["kind"] != "winsorising"], expected, "remedies")
    assert len(ours["remedies"]) == len(plain["remedies"])


def test_median_of_an_odd_and_an_even_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1499, 1500):
        sizes(monkeypatch, long=1000)
        streamed, whole = both(monkeypatch, table(size=size), n=100, max_advantage=0.99)
        for ours, plain in zip(streamed.counts, whole.counts, strict=True):
            assert ours.median_power == pytest.approx(plain.median_power, rel=1e-12)
            assert ours.median_row == plain.median_row
            assert ours.worst_row == plain.worst_row


def test_median_of_a_sorted_table(monkeypatch: pytest.MonkeyPatch) -> None:
    values = table()
    away = np.linalg.solve(np.cov(values.T), (values - values.mean(axis=0)).T).T * values
    values = values[np.argsort(away.sum(axis=1))]
    streamed, whole = both(monkeypatch, values, n=100, max_advantage=0.99)
    for ours, plain in zip(streamed.counts, whole.counts, strict=True):
        assert ours.median_power == pytest.approx(plain.median_power, rel=1e-12)
        assert ours.median_row == plain.median_row


def test_games_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    streamed, whole = both(monkeypatch, table(), n=600, rounds=5000, max_advantage=0.99)
    assert [game.row for game in streamed.games[:4]] == [game.row for game in whole.games[:4]]
    for ours, plain in zip(streamed.games[:4], whole.games[:4], strict=True):
        assert ours.leakage == pytest.approx(plain.leakage, rel=1e-9)
        for name in ("advantage", "power", "false_positives"):
            one, other = getattr(ours, name), getattr(plain, name)
            error = np.hypot(one.std_error, other.std_error)
            assert abs(one.simulated - other.simulated) < 4 * error, name


@pytest.mark.parametrize("n", [100, 900])
def test_noise_hides_every_record(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    streamed, whole = both(monkeypatch, table(), n=n, max_noise=50.0, rounds=6000)
    assert streamed.noise is not None
    assert whole.noise is not None
    assert streamed.noise.theory_standard_errors == pytest.approx(
        whole.noise.theory_standard_errors, rel=1e-9
    )
    assert streamed.noise.standard_errors == pytest.approx(whole.noise.standard_errors, rel=0.5)
    assert streamed.verdict is not None
    assert whole.verdict is not None
    assert streamed.verdict.decision == whole.verdict.decision


def test_clipped_values_are_scored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are in the sample here, so that the limits are those of the whole table."""
    streamed, whole = both(monkeypatch, table(), n=300, max_advantage=0.99)
    ours, plain = (
        [one for one in result.remedies if one.kind == "winsorising"]
        for result in (streamed, whole)
    )
    assert len(ours) == len(plain) == 2
    for one, other in zip(ours, plain, strict=True):
        assert one.leakage == pytest.approx(other.leakage, rel=1e-9)
        assert (one.worst_row, one.above) == (other.worst_row, other.above)
        assert one.mean_shift == pytest.approx(other.mean_shift, rel=1e-6)


def test_lost_rows_constant_and_dependent_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    values = table()
    values = np.column_stack(
        [values, np.ones(N), values[:, 0] - 2 * values[:, 3], values[:, 1], np.full(N, np.nan)]
    )
    values[[5, 2999], [1, 2]] = np.nan
    values[17, 4] = -np.inf
    streamed, whole = both(monkeypatch, values, n=500)
    ours, plain = (json.loads(one.to_json())["input"] for one in (streamed, whole))
    for one in (ours, plain):
        for key in ("name", "path", "notes"):
            del one[key]
    assert ours == plain
    assert [one.code for one in streamed.notices if one.level == "warning"] == [
        one.code for one in whole.notices if one.level == "warning"
    ]


def test_columns_with_holes_are_left_out_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    values = table()
    values[::7, 2] = np.nan
    streamed, whole = both(monkeypatch, values, n=500, missing="columns", max_advantage=0.99)
    assert streamed.input.columns_left_out == whole.input.columns_left_out
    assert streamed.input.rows_judged == N
    np.testing.assert_allclose(
        streamed.informed.leakage[np.isin(streamed.rows, [streamed.counts[0].worst_row])],
        whole.informed.leakage.max(),
        rtol=1e-12,
    )


@pytest.mark.parametrize("others", [0.0, 1e-6])
def test_a_record_that_varies_alone(monkeypatch: pytest.MonkeyPatch, others: float) -> None:
    values = table()
    values[:, 2] = others * np.random.default_rng(0).normal(size=N)
    values[1234, 2] = 5.0
    streamed, whole = both(monkeypatch, values, n=500)
    assert streamed.counts[0].worst_row == whole.counts[0].worst_row == 1235
    ours, plain = streamed.informed.leakage.max(), whole.informed.leakage.max()
    assert ours == pytest.approx(plain, rel=1e-6)
    assert streamed.verdict is not None
    assert whole.verdict is not None
    assert streamed.verdict.decision == whole.verdict.decision


def test_the_page_and_the_text_can_be_written() -> None:
    result = report.analyse(table(), n=300, rounds=400)
    assert "read block by block" in " ".join(result.to_text().split())
    assert result.to_html().endswith("</html>\n")
    listed = json.loads(result.to_json())["records_listed"]
    assert listed == {"which": "worst", "count": 5, "of": N}
    assert "3000 records judged" in repr(result)
