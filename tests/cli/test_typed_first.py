"""What is typed first, by who has read no manual, and the answer: what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakscore_app.cli import main

PLAN = ["--noise", "1", "--records", "100", "--batch", "10", "--epochs", "2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [f"{i % 2},{(i * i) % 17}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["member,score", *rows]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["--hlep"], "there is no option --hlep; did you mean --help?"),
        (["mean", "t.csv"], "'mean': did you mean report FILE --statistic mean? The commands are"),
        (["t.csv"], "did you mean report t.csv, of a table, or audit t.csv, of scores?"),
        (["version"], "there is no command 'version'; the commands are report, audit"),
        (["report", "t.csv", "score"], "'score' must follow the option that it is for, as --col"),
        (
            ["report", "t.csv", "--by", "a"],
            "there is no option --by; did you mean --group-by? (see",
        ),
        (["report", "t.csv", "--missing", "-99"], "not '-99'; or did you mean --missing-values?"),
        (["report", "t.csv", "--statistic", "means"], "not 'means'; did you mean mean?"),
        (["report", "t.csv", "--noise"], "a value is missing: optimal|independent|same"),
        (["report", "t.csv", "--add-noise"], "or --draw-noise? (see leakscore report --help)"),
        (["report", "t.csv", "-q"], "there is no option -q; did you mean --quiet?"),
        (
            ["report", "t.csv", "-n", "5"],
            "no option -n; did you mean --n or --noise-shape?",
        ),
        (["report", "t.csv", "--statistic", "logistic"], "not 'logistic'; did you mean glm?"),
        (["report", "t.csv", "-o", "p.html"], "-o; did you mean --json or --html or --csv?"),
        (["epsilon", *PLAN, "--output=p.html"], "--output; did you mean --json or --html?"),
        (["report", "t.csv", "--statistic", "cov"], "not 'cov'; did you mean covariance?"),
        (
            ["report", "t.csv", "page.html"],
            "'page.html' must follow the option that it is for, as --html",
        ),
        (
            ["report", "t.csv", "--statistic", "regression", "--response", "Score"],
            "--response 'Score' must be one of ('member', 'score') (did you mean score?)",
        ),
        (["report", "t.csv", "--records"], "--records: a value is missing: all|worst|none"),
        (["audit", "t.csv", "--eps", "1"], "did you mean --claimed-epsilon?"),
        (["audit", "t.csv", "--method", "DKW"], "split, credible (did you mean dkw?)"),
        (
            ["audit", "t.csv", "--lower-is-member", "--method", "ks", "--threshold", "3"],
            "--threshold 3.0 must not be given with --method 'ks'",
        ),
        (["audit", "t.csv", "--epsilon", "1"], "did you mean --claimed-epsilon?"),
        (["audit", "t.csv", "1"], "error: '1' must follow the option that it is for (see"),
        (["audit", "t.csv", "--confidence", "95"], "--confidence 95.0 must be in (0, 1)"),
        (["audit", "t.csv", "--score", "Score"], "'Score' (did you mean score?); it has"),
        (
            ["audit", "t.csv", "--blind", "Score"],
            "'Score' (did you mean score?); it has member, score (--bl",
        ),
        (["risk", "t.csv", "--fpr", "0.1"], "did you mean --false-positive-rate?"),
        (["risk", "t.csv", "--top", "3"], "did you mean --worst?"),
        (["epsilon"], "required: --records N, --batch N, --epochs N, --scheme poisson|"),
        (["epsilon", "--noise-multiplier", "1"], "did you mean --noise?"),
        (["epsilon", "--noise_multiplier", "1"], "did you mean --noise?"),
        (["epsilon", "--sigma=1"], "there is no option --sigma; did you mean --noise?"),
        (["epsilon", "--sample-rate", "0.1"], "did you mean --batch?"),
        (["epsilon", "-n", "3"], "no option -n; did you mean --records or --noise?"),
        (["epsilon", *PLAN, "--scheme", "shuffle"], "did you mean shuffled?"),
        (["epsilon", *PLAN, "--scheme", "fixed", "--noise=0"], "--noise 0.0 must be in (0, inf)"),
        (["epsilon", *PLAN, "--scheme", "fixed", "--records=6e4"], "a whole number, not '6e4'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_answered(typed: list[str], answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed) == 1
    error = capsys.readouterr().err
    assert answer in error
    assert error.count("\n") == 1


def test_a_question_names_the_column(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "t.csv", "--ledger", "l.json", "--columns", "Score"]) == 1
    assert "no column 'Score' (did you mean score?)" in capsys.readouterr().err
    assert not (folder / "l.json").exists()


@pytest.mark.parametrize("typed", [[], ["help"], ["help", "epsilon"]])
def test_help(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed) == 0
    assert capsys.readouterr().out.startswith(f"usage: leakscore {' '.join(typed[1:])}"[:25])
