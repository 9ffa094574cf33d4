"""Reports on coefficients of fitted models, from the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

from leakscore_app.cli import main

SHORT = ["--rounds", "300"]


@pytest.fixture
def table(tmp_path: Path) -> str:
    rng = np.random.default_rng(5)
    dose, age = rng.normal(size=200), rng.normal(60.0, 9.0, 200)
    days = np.ceil(100 * rng.exponential(np.exp(-0.4 * dose)))
    flags = (
        (rng.random(200) < 0.7).astype(int),
        (rng.random(200) < 1 / (1 + np.exp(-dose))).astype(int),
    )
    sex = rng.choice(["f", "m"], 200)
    rows = zip(dose, age, days, *flags, sex, strict=True)
    text = "".join(f"{a:.3f},{b:.2f},{c:.0f},{d},{e},{f}\n" for a, b, c, d, e, f in rows)
    path = tmp_path / "table.csv"
    path.write_text("dose,age,days,died,ill,sex\n" + text)
    return str(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["cox", "--time", "days", "--event", "died", "--exclude", "ill", "--factors", "sex"],
            "coefficient of sex=m",
        ),
        (
            ["glm", "--family", "binomial", "--response", "ill", "--exclude", "days,died"],
            "The coefficients of the glm model on n = 200 records",
        ),
    ],
)
def test_models_are_judged(
    table: str, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", table, "--statistic", *options, *SHORT]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert words in printed
    assert "PUBLISH" in printed


@pytest.mark.parametrize("columns", [["--columns", "age"], ["--exclude", "dose,days,died,ill"]])
def test_factors_alone(table: str, columns: list[str], tmp_path: Path) -> None:
    """The coefficients are a mean, and how far that of the other level is from it."""
    model = ["--statistic", "glm", "--family", "gaussian", "--response", "age", "--factors", "sex"]
    out, limit = tmp_path / "out.csv", ["--max-advantage", "0.99"]
    assert main(["report", table, *model, *columns, *limit, *SHORT, "--csv", str(out)]) == 0
    lines = [line.split(",") for line in Path(table).read_text().split()[1:]]
    means = {sex: np.mean([float(row[1]) for row in lines if row[5] == sex]) for sex in "fm"}
    published = [float(line.split(",")[1]) for line in out.read_text().split("\n")[1:3]]
    assert published == pytest.approx([means["f"], means["m"] - means["f"]], rel=1e-9)


def test_refits_stand_beside_steps(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Against fits by another optimiser, with all records and without each of the 20."""
    rows = np.loadtxt(table, delimiter=",", skiprows=1, usecols=(0, 1, 4))
    x, y = np.column_stack([np.ones(200), rows[:, :2] / [1.0, 60.0]]), rows[:, 2]

    def fit(remaining: np.ndarray) -> np.ndarray:
        def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
            eta = x[remaining] @ beta
            slope = 1 / (1 + np.exp(-eta)) - y[remaining]
            return float((np.logaddexp(0, eta) - y[remaining] * eta).sum()), slope @ x[remaining]

        return optimize.minimize(loss, np.zeros(3), jac=True, options={"gtol": 1e-9}).x

    every = np.ones(200, dtype=bool)
    whole = fit(every)
    options = ["glm", "--family", "binomial", "--response", "ill", "--exclude", "days,died,sex"]
    assert main(["report", table, "--statistic", *options, *SHORT, "--json", "-"]) == 0
    refits = json.loads(capsys.readouterr().out)["refits"]
    assert len(refits) == 20
    shifts = np.array([whole - fit(np.arange(200) != each["row"] - 1) for each in refits])
    at = [["intercept", "dose", "age"].index(each["coefficient"]) for each in refits]
    exact, steps = (np.array([each[name] for each in refits]) for name in ("refit", "one_step"))
    ratios = exact / shifts[np.arange(20), at]  # one over the coefficient's standard error
    for column in set(at):
        of = np.flatnonzero(np.array(at) == column)
        np.testing.assert_allclose(ratios[of], ratios[of[0]], rtol=1e-5)
    fitted = 1 / (1 + np.exp(-x @ whole))
    inverse = np.linalg.inv((x.T * (fitted * (1 - fitted))) @ x)
    robust = np.sqrt(np.diag(inverse @ (x.T * np.square(y - fitted)) @ x @ inverse))
    np.testing.assert_allclose(ratios * robust[at], 1.0, rtol=0.05)
    assert 0 < np.abs(steps / exact - 1).max() < 0.2
    assert main(["report", table, "--statistic", *options, *SHORT]) == 0
    printed = capsys.readouterr().out
    assert "FITS WITHOUT A RECORD" in printed
    assert f"{refits[0]['one_step']:+.3g}" in printed


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--statistic", "glm", "--response", "ill"], "needs --family FAMILY"),
        (["--statistic", "cox", "--time", "days"], "needs --event COLUMN"),
        (["--response", "ill"], "--response COLUMN belongs to --statistic regression"),
        (
            ["--statistic", "regression", "--response", "ill", "--time", "days"],
            "--time COLUMN belongs to",
        ),
        (["--statistic", "cox", "--time", "days", "--event", "dose"], "'dose' must be 0 or 1"),
    ],
)
def test_options_that_do_not_fit_are_named(
    table: str, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", table, *options, *SHORT]) == 1
    assert words in capsys.readouterr().err


def test_the_record_that_a_fit_needs_is_named(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Path(table).read_text().splitlines()
    owned = [
        line.rpartition(",")[0] + ("," + ("1" if i == 15 else "0")) for i, line in enumerate(lines)
    ]
    owned[0] = lines[0].replace("sex", "flag")
    for i in range(10, 20):  # ten with a flag, of whom one alone is ill
        dose, age, days, died, _, _ = owned[i].split(",")
        owned[i] = ",".join([dose, age, days, died, "1" if i == 15 else "0", "1"])
    Path(table).write_text("\n".join(owned) + "\n")
    options = ["--statistic", "glm", "--family", "binomial", "--response", "ill"]
    assert main(["report", table, *options, "--exclude", "days,died", *SHORT]) == 1
    error = capsys.readouterr().err
    assert "the glm cannot be computed without record 15" in error
    assert "--exclude flag" in error
