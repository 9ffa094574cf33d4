"""What ``leakscore audit-synthetic`` refuses, in one line each, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import leakscore_app
from leakscore_app.cli import main

RNG = np.random.default_rng(3)
TRAIN, HOLDOUT, SYNTH = RNG.normal(size=(3, 100, 2)).round(4)
CITY = RNG.choice(["Rome", "Oslo"], 100)
DAYS = (np.datetime64("2024-01-01") + RNG.integers(0, 300, 100)).astype(str)
NOTHING = np.full(100, "")
FAR = np.vstack([[0.0, np.inf], TRAIN])


def table(values: np.ndarray, names: str = "a,b") -> str:
    return "\n".join([names, *(",".join(map(str, row)) for row in values.tolist())]) + "\n"


def words(numbers: np.ndarray, labels: np.ndarray) -> str:
    pairs = zip(numbers[:, 0].tolist(), labels.tolist(), strict=True)
    return "\n".join(["a,b", *(f"{number},{label}" for number, label in pairs)]) + "\n"


def refused(folder: Path, *texts: str, options: tuple[str, ...] = ()) -> list[str]:
    paths = [folder / name for name in ("t.csv", "h.csv", "s.csv")]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return ["audit-synthetic", *map(str, paths), *options]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ((TRAIN, HOLDOUT, table(SYNTH, "a,c")), "s.csv has no column b, which t.csv has"),
        ((TRAIN, HOLDOUT, table(SYNTH[:, :1], "a")), "s.csv has no column b, which t.csv has"),
        ((TRAIN[:, :1], HOLDOUT, SYNTH), "t.csv has no column b, which h.csv has"),
        ((TRAIN, HOLDOUT, words(SYNTH, CITY)), "s.csv, column 'b' holds no numbers, but that of t"),
        ((words(TRAIN, CITY), words(HOLDOUT, CITY), SYNTH), "column 'b': no value is one of t.csv"),
        ((TRAIN[:49], HOLDOUT, SYNTH), "TRAIN, t.csv, has 49 records: at least 50 are needed"),
        ((TRAIN, HOLDOUT[:49], SYNTH), "HOLDOUT, h.csv, has 49 records"),
        ((TRAIN, TRAIN[:80], SYNTH), "80 of 80 records of HOLDOUT are in TRAIN"),
        ((TRAIN, HOLDOUT, TRAIN[::-1]), "SYNTH is TRAIN"),
        ((TRAIN, HOLDOUT, HOLDOUT[::-1]), "SYNTH is HOLDOUT"),
        ((TRAIN, HOLDOUT, np.vstack([HOLDOUT[:60], SYNTH])), "SYNTH has 60 records of HOLDOUT"),
        ((TRAIN, np.vstack([TRAIN[:45], HOLDOUT[45:]]), SYNTH), "45 of 100 records of HOLDOUT are"),
        ((TRAIN.repeat(3, axis=0), HOLDOUT, SYNTH), "100 of 100 pairs of equal records"),
        ((FAR, HOLDOUT, SYNTH), "t.csv, column 'b' must be finite"),
        ((TRAIN, HOLDOUT, FAR), "s.csv, column 'b' must be finite"),
        ((words(TRAIN, NOTHING), HOLDOUT, SYNTH), "one of t.csv, which has none"),
        ((words(TRAIN, DAYS), words(HOLDOUT, DAYS), words(SYNTH, CITY)), "'b' holds words, but"),
        ((np.ones((100, 2)), np.ones((90, 2)), np.ones((60, 2))), "no column to compare"),
    ],
)
def test_bad_tables_are_one_line(
    tmp_path: Path,
    texts: tuple[np.ndarray | str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = []
    for text in texts:
        names = "a,b" if isinstance(text, str) or text.shape[1] == 2 else "a"
        plain.append(text if isinstance(text, str) else table(text, names))
    assert main(refused(tmp_path, *plain)) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert said in err


def test_a_population_that_holds_the_holdout_is_refused(tmp_path: Path) -> None:
    tables = [tmp_path / f"{name}.npy" for name in "ths"]
    for path, values in zip(tables, (TRAIN, HOLDOUT, SYNTH), strict=True):
        np.save(path, values)
    paths = tuple(map(str, tables))
    for reference, inside in ((paths[0], 0), (paths[1], 100)):
        with pytest.raises(ValueError, match=f"include {inside} records of HOLDOUT"):
            leakscore_app.audit_synthetic(*paths, reference=reference)
    # A person's records in both halves of HOLDOUT would make the others look near.
    np.save(tables[1], np.repeat(HOLDOUT[:50], 2, axis=0))
    with pytest.raises(ValueError, match="several records"):
        leakscore_app.audit_synthetic(*paths)


def test_overlap_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = np.vstack([HOLDOUT, TRAIN[:7]])
    assert main(refused(tmp_path, table(TRAIN), table(both), table(SYNTH))) == 0
    out, err = capsys.readouterr()
    assert err.startswith("leakscore: warning: 7 records of HOLDOUT equal one of TRAIN")
    assert err.count("\n") == 1
    assert "7 records of HOLDOUT" in out


def test_columns_that_cannot_be_compared_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for k, part in enumerate((TRAIN, HOLDOUT, SYNTH)):
        head = "record_id,name,unit,a,b"
        lines = [f"{i + 1},n{k}-{i % 90},mg,{a},{b}" for i, (a, b) in enumerate(part.tolist())]
        lines = [line.replace(f"n{k}-", "n0-") for line in lines]
        texts.append("\n".join([head, *lines]) + "\n")
    assert main(refused(tmp_path, *texts)) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "columns a, b" in out
    assert "record_id is left out: it counts or names the records" in out
    assert "name is left out: its values hardly ever repeat; SYNTH has those of 100 records" in out
    assert "unit is left out: it is constant" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--random-bits",), "--random-bits needs --reference"),
        (("--confidence", "1"), "--confidence 1.0"),
        (("--delta", "2"), "--delta 2.0"),
        (("--seed", "-1"), "--seed -1"),
        (("--id", "a"), "--id means nothing here"),
        (("--categories", "z"), "z"),
        (("--columns", "z"), "z"),
    ],
)
def test_bad_options_are_one_line(
    tmp_path: Path,
    options: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = (table(TRAIN), table(HOLDOUT), table(SYNTH))
    assert main(refused(tmp_path, *texts, options=options)) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert said in err
