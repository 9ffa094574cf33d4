"""What no statistic can be made of: refused in one line, and at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import statistics
from leakscore_app import report
from leakscore_app.cli import main
from tests.helpers.sizes import sizes

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 2))


def test_a_million_levels() -> None:
    """Before a matrix of a million columns is made; with the way out."""
    size = 1_000_000
    table = report.Table(
        name="t",
        path="t",
        sha256="",
        columns=("a",),
        values=np.arange(size, dtype=np.float64)[:, np.newaxis] % 97,
        excluded={},
        groups={"g": np.arange(size).astype("U7")},
    )
    with pytest.raises(ValueError, match=r"by=\('g',\) must have fewer than 1000000 cells") as told:
        report.analyse(table, statistic=statistics.GroupMeans("g"))
    assert "publish coarser groups" in str(told.value)


def test_some_thousand_levels() -> None:
    labels = [str(i) for i in range(6000)]
    table = report.table_of(RNG.normal(size=(6000, 1)), ["a"], groups={"g": labels})
    with pytest.raises(ValueError, match=r"at most 5000 features, not 11999.*coarser groups"):
        report.analyse(table, statistic=statistics.GroupMeans("g"))


@pytest.mark.parametrize(
    "copy", [lambda y: y, lambda y: 2.54 * y - 7, lambda y: y.astype(np.float32) * 3]
)
def test_the_response_is_among_the_predictors(copy: Any) -> None:
    """Perhaps in other units: the fit is perfect, and no law holds."""
    table = report.table_of(np.column_stack([X, copy(X[:, 1])]), ["a", "y", "again"])
    with pytest.raises(ValueError, match="response='y' must not follow from the predictors"):
        report.analyse(table, statistic=statistics.Regression("y"))


@pytest.mark.parametrize("statistic", ["sum", "covariance", "correlations", "regression"])
def test_n_is_larger_than_the_table(statistic: str) -> None:
    given = {
        "sum": statistics.Sum(),
        "covariance": statistics.Covariance(),
        "correlations": statistics.Correlations(),
        "regression": statistics.Regression("b"),
    }
    with pytest.raises(ValueError, match="n=61 must be <= 60, the number of records"):
        report.analyse(report.table_of(X, ["a", "b"]), statistic=given[statistic], n=61)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--group-by", "g", "--statistic", "counts", "--n", "61"], "--n 61 must be <= 60"),
        (["--statistic", "counts"], "--statistic counts needs --group-by"),
        (["--group-by", "g", "--separate-tables"], "--group-by with two columns"),
        (["--weights", "a", "--weights-are", "public"], "at least 0, not -"),
        (["--weights", "z", "--weights-are", "ratio"], "--weights 'z'"),
        (["--statistic", "regression", "--response", "g"], "'g' must be judged, but"),
        (["--statistic", "correlations", "--columns", "a"], "two columns of numbers at least"),
        (["--statistic", "quantile"], "may be the value of a record itself"),
        (["--statistic", "median"], "a published median may be the value of a record itself"),
        (["--statistic", "maximum"], "a published maximum may be the value of a record itself"),
        (["--statistic", "minimum"], "publish counts between fixed limits instead"),
        (["--statistic", "regression"], "--response COLUMN"),
        (["--response", "a"], "--response COLUMN"),
        (["--statistic", "regression", "--response", "z"], "--response 'z'"),
        (["--group-by", "g", "--statistic", "sum"], "one of them at a time"),
        (["--group-by", "who"], "no column 'who'; it has"),
        (
            ["--group-by", "G"],
            "no column 'G' (did you mean g?); it has g, a, b (--group-by or --factors)",
        ),
        (
            ["--groupby", "g"],
            "there is no option --groupby; did you mean --group-by? (see leakscore report",
        ),
        (["--max_noise=2"], "there is no option --max_noise; did you mean --max-noise?"),
        (["--weights", "z"], "--weights 'z'"),
        (["--group-by", "g", "--min-cell", "0"], "--min-cell 0"),
    ],
)
def test_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{'uvw'[i % 3]},{a:.4f},{b:.4f}" for i, (a, b) in enumerate(X.tolist())]
    path.write_text("\n".join(["g,a,b", *rows]))
    assert main(["report", str(path), *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_features_of_a_long_table_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    table = report.table_of(X, ["a", "b"], groups={"g": ["u", "v", "w"] * (len(X) // 3)})
    sizes(monkeypatch, memory=8 * len(X) * 8)
    report.analyse(table, statistic=statistics.GroupMeans("g"), rounds=200)  # it is short
    sizes(monkeypatch, block_rows=len(X) - 1)
    report.analyse(table, statistic=statistics.GroupMeans("g"), rounds=200)  # it just fits
    sizes(monkeypatch, memory=8 * len(X) * 8 - 1)
    with pytest.raises(ValueError, match=r"^8 features of 60 records need 3\.75 KiB of memory, "):
        report.analyse(table, statistic=statistics.GroupMeans("g"), rounds=200)


def test_tables_are_judged_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Two tables that are not crossed; a table of categories alone; a record they give away."""
    path = tmp_path / "t.csv"
    rows = [f"{'uvw'[i % 3]},{'st'[i % 2]}" for i in range(60)]
    path.write_text("\n".join(["g,h", *rows]))
    arguments = ["report", str(path), "--group-by", "g,h", "--statistic", "counts"]
    assert main([*arguments, "--rounds", "400"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The counts by g, h of n = 60 records (6 cells) are published" in text
    assert main([*arguments, "--rounds", "400", "--separate-tables"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Together the counts by g of n = 60 records (3 cells), and the counts by h" in text
    assert "g=w 20" in text
    assert "h=t 30" in text


def test_a_cell_by_subtraction_is_a_cell() -> None:
    """All of u are s but one: the tables by g and by h have no cell of one; their means do."""
    g = ["u"] * 20 + ["v"] * 40
    h = ["s"] * 19 + ["t"] * 41
    table = report.table_of(X, ["a", "b"], groups={"g": g, "h": h})
    parts = statistics.Several([statistics.GroupMeans("g"), statistics.GroupMeans("h")])
    result = report.analyse(table, statistic=parts, rounds=400)
    assert np.isinf(result.informed.leakage[19])
    assert result.verdict is not None
    assert result.verdict.decision == "do not publish"
    for name in ("g", "h"):
        alone = report.analyse(table, statistic=statistics.GroupMeans(name), rounds=400)
        assert np.isfinite(alone.informed.leakage).all()


@pytest.mark.parametrize("tables", [["g"], ["g", "h"]])
def test_a_column_without_spread_in_a_cell_of_a_few_records(tables: list[str]) -> None:
    """So few that all columns seem to depend: no mean is left out for following from counts."""
    values = np.array([[3.1, 3.1, 0.5, 2.4, 1.1, 7.3], [0.3, 2.2, 1.8, 5.9, 4.4, 0.7]]).T
    table = report.table_of(
        values, ["age", "dose"], groups={"g": list("aabbcc"), "h": list("xyxyxy")}
    )
    by_group = statistics.Several([statistics.GroupMeans(by) for by in tables])
    with pytest.raises(ValueError, match=r"'age where g=a' does not vary .* leave the column out"):
        report.analyse(table, statistic=by_group, rounds=200)
