"""``leakscore risk`` from end to end: the library's numbers, exit codes, files, errors."""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakscore_app
from leakscore import shadow
from tests import ROOT
from tests.helpers import audited
from tests.helpers.audited import write_models as write

RNG = np.random.default_rng(6)
N = 120
INCLUDED = RNG.random((32, N)) < 0.5
GAIN = np.repeat([0.0, 6.0], [N - 5, 5])
SCORES = RNG.normal(size=(32, N)) + GAIN * INCLUDED
HALF = RNG.random((6, N)) < 0.5
PAIRS = np.stack([HALF, ~HALF], axis=1).reshape(12, N)
SIGNALS = RNG.normal(size=(12, N)) + GAIN * PAIRS
OF_SCORES = {"scores": SCORES, "included": INCLUDED}
OF_MODELS = {"signals": SIGNALS, "included": PAIRS}
run = partial(audited.run, command="risk")


def parsed(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    code, out, err = run(capsys, *arguments, "--json", "-")
    assert (code, err) == (0, "")
    return json.loads(out, parse_constant=lambda word: pytest.fail(word))


def same(found: Any, report: leakscore_app.RiskReport) -> None:
    for name, value in json.loads(report.to_json()).items():
        assert found[name] == value, name


def test_the_numbers_are_those_of_the_library(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path, **OF_SCORES, prediction=GAIN.astype(np.float32))
    options = ["--false-positive-rate", 0.05, "--least-power", 0.4, "--confidence", 0.9]
    found = parsed(capsys, path, *options, "--delta", 1e-3, "--worst", 7)
    table = shadow.risk(SCORES, INCLUDED, fpr=0.05, least_power=0.4, confidence=0.9, delta=1e-3)
    same(found, leakscore_app.risk_report(table, prediction=GAIN, count=7))
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert found["input"] == {
        "file": {"name": "models.npz", "sha256": digest},
        "arrays": ["scores", "included", "prediction"],
        "targets": 32,
        "attack": None,
        "notes": [],
    }
    several = write(tmp_path, scores=np.stack([-SCORES, SCORES]), included=INCLUDED.astype(float))
    table = shadow.risk({"0": -SCORES, "1": SCORES}, INCLUDED)
    same(parsed(capsys, several, "--order-by", 1), leakscore_app.risk_report(table, attack=1))


@pytest.mark.parametrize("attack", ["base", "one-step", "paired", "bayes", "lira"])
def test_shadow_models_are_left_out_in_pairs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, attack: str
) -> None:
    order = np.random.default_rng(1).permutation(12)
    path = write(tmp_path, signals=SIGNALS[order], included=PAIRS[order], prediction=GAIN)
    found = parsed(capsys, path, "--attack", attack)
    left_out = shadow.leave_one_model_out(
        SIGNALS[order],
        PAIRS[order],
        score=attack.replace("-", "_"),  # type: ignore[arg-type]
        groups=order // 2,
    )
    table = shadow.risk({attack: left_out}, PAIRS[order])
    same(found, leakscore_app.risk_report(table, prediction=GAIN))
    assert found["input"]["attack"]["left_out"] is True
    assert found["input"]["arrays"] == ["signals", "included", "prediction"]


def test_logits_and_the_default_attack(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    logits = np.stack([SIGNALS, np.zeros_like(SIGNALS)], axis=-1)
    labels = np.zeros(N, dtype=int)
    path = write(tmp_path, logits=logits, labels=labels, included=PAIRS, member=labels)
    found = parsed(capsys, path)
    name, _ = shadow.choose(SIGNALS, PAIRS)
    assert found["attack"] == name.replace("_", "-")
    notes = " ".join(found["input"]["notes"])
    assert "member: not used" in notes
    assert "chosen by these scores" in notes
    assert "chosen" not in " ".join(parsed(capsys, path, "--attack", name)["input"]["notes"])


def test_membership_has_the_names_that_audit_knows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plain = parsed(capsys, write(tmp_path, **OF_SCORES))
    named = parsed(capsys, write(tmp_path, scores=SCORES, member=INCLUDED))
    assert named["records"] == plain["records"]


def test_exit_codes_and_outputs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, page = write(tmp_path, **OF_SCORES), tmp_path / "risk.html"
    assert run(capsys, path, "--check", "--quiet", "--html", page) == (2, "", "")
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert "models.npz" in page.read_text("utf-8")
    code, text, _ = run(capsys, path, "--worst", 3)
    assert code == 0
    certified = shadow.risk(SCORES, INCLUDED).n_certified[0]
    assert text.startswith(f"{certified} of 120 records are certified to be found")
    assert max(map(len, text.splitlines())) <= 80
    few = write(tmp_path, scores=SCORES[:, :4], included=INCLUDED[:, :4])
    assert run(capsys, few, "--check", "--quiet", "--few-records") == (0, "", "")


def turned(scores: Any, included: Any = INCLUDED) -> dict[str, Any]:
    return {"scores": scores, "included": included}


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (turned(np.full_like(SCORES, 0.5)), "All scores are equal: that is no evidence"),
        (turned(RNG.normal(size=(32, N)) - 3.0 * INCLUDED), "of 120 records score lower"),
        (turned(SCORES[:14], INCLUDED[:14]), "No record is in more than 1[0-3] models"),
        (OF_MODELS, "No record is in more than 6 models"),
    ],
)
def test_a_verdict_that_could_not_be_another_is_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arrays: dict[str, Any], said: str
) -> None:
    path = write(tmp_path, **arrays)
    options = ["--least-power", 0.8] if "1[0-3]" in said else []
    code, text, err = run(capsys, path, "--check", *options)
    assert code == 3
    assert re.search(said, " ".join(text.split()))
    if "No record" not in said:
        assert re.search(said, err)
    assert json.loads(run(capsys, path, *options, "--json", "-")[1])["notices"]


def test_certainty_that_can_just_be_reached(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By exact fractions: .5^n <= .05 / N is met for N = 20 by 9 models, and not by 8."""
    from fractions import Fraction

    for models, code in ((8, 3), (9, 0)):
        assert (Fraction(1, 2) ** models <= Fraction(5, 100) / 20) == (code == 0)
        included = np.tile([[True]] * models + [[False]] * (19 - models), (1, 20))
        path = write(tmp_path, scores=RNG.normal(size=(19, 20)), included=included)
        assert run(capsys, path, "--check", "--quiet")[0] == code


def test_transposed_arrays_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arrays in (OF_SCORES, OF_MODELS):
        path = write(tmp_path, **{name: array.T for name, array in arrays.items()})
        code, out, err = run(capsys, path, "--check")
        assert (code, out) == (1, "")
        assert re.search("120 models and only (32|12) records: .* look transposed.*--few-rec", err)
        assert run(capsys, path, "--few-records", "--quiet")[0] == 0
        told = write(tmp_path, **arrays, prediction=GAIN)
        assert run(capsys, told, "--quiet")[0] == 0
    few = write(tmp_path, scores=SCORES[:, :5], included=INCLUDED[:, :5], prediction=GAIN[:5])
    assert run(capsys, few, "--quiet")[0] == 0


def test_documents_meet_their_schema(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    validators = pytest.importorskip("jsonschema")
    folder = ROOT / "python" / "leakscore_app" / "data" / "schemas"
    schema = json.loads((folder / "risk-1.json").read_text("utf-8"))
    for arrays in (OF_MODELS, OF_SCORES, OF_SCORES | {"prediction": GAIN}):
        validators.validate(parsed(capsys, write(tmp_path, **arrays)), schema)


REFUSED: list[tuple[dict[str, Any], tuple[object, ...], str]] = [
    (
        {"scores": SCORES},
        (),
        r"has no array 'included'; it has scores\. .* also by the name member, ",
    ),
    (
        {"included": INCLUDED},
        (),
        r"has no array 'scores'; it has included\. leakscore risk takes an npz",
    ),
    (OF_SCORES | {"signals": SIGNALS}, (), "holds scores and signals: keep those"),
    (OF_SCORES, ("--attack", "lira"), "holds scores, so that --attack lira means nothing"),
    (OF_SCORES | {"scores": SCORES.T}, (), "transposed"),
    (OF_SCORES | {"scores": SCORES[0]}, (), r"scores of shape \(120,\) must be \(S, N\)"),
    (OF_SCORES | {"scores": SCORES[:0]}, (), r"scores of shape \(0, 120\)"),
    (OF_SCORES | {"scores": SCORES * np.nan}, (), r"3840 of 3840 are NaN .* scores\S*\[0, 0\]"),
    (OF_SCORES | {"scores": SCORES.astype(str)}, (), "real numbers"),
    (
        OF_SCORES | {"included": INCLUDED * 2},
        (),
        r"included must be in \{0, 1\}.*included\[\d+, \d+\]=2",
    ),
    (OF_SCORES | {"included": INCLUDED | True}, (), "target models with each record and without"),
    ({"scores": SCORES[:2], "included": INCLUDED[:2]}, (), "at least 3 target models"),
    (OF_SCORES | {"prediction": GAIN[1:]}, (), r"prediction of shape \(119,\) must be \(120,\)"),
    (OF_SCORES | {"prediction": GAIN * np.nan}, (), r"prediction\[0\]=nan"),
    ({"signals": SIGNALS}, (), "no array 'included'"),
    (OF_MODELS | {"included": PAIRS.T}, (), "one of them is transposed"),
    ({"logits": SIGNALS[..., None], "included": PAIRS}, (), "no array 'labels'"),
    (OF_MODELS, ("--attack", "rmia"), "--attack must be one of choose, base"),
    (OF_SCORES, ("--confidence", "1"), "argument --confidence: '1' is not a number in"),
    (OF_SCORES, ("--least-power", "x"), "argument --least-power: 'x' is not a number in"),
    (OF_SCORES, ("--false-positive-rate", "nan"), "argument --false-positive-rate: 'nan' is not"),
    (OF_SCORES, ("--delta", "1"), r"--delta 1.0 must be in \[0, 1\)"),
    (OF_SCORES, ("--worst", "0"), "--worst 0"),
    (OF_SCORES, ("--order-by", "1"), "--order-by 1"),
    (OF_SCORES, ("--max-memory", "1K"), "max-memory|memory"),
]


@pytest.mark.parametrize(("arrays", "options", "said"), REFUSED)
def test_what_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arrays: dict[str, Any],
    options: tuple[object, ...],
    said: str,
) -> None:
    code, out, err = run(capsys, write(tmp_path, **arrays), *options)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(("leakscore: error: ", "leakscore risk: error: "))
    assert re.search(said, err), err


def test_other_files_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("scores,included\n1,0\n")
    assert "scores.csv is no npz archive" in run(capsys, table)[2]
    assert "No such file" in run(capsys, tmp_path / "none.npz")[2]
    path = write(tmp_path, **OF_SCORES)
    assert run(capsys, path, "--json", path)[0] == 1
    assert np.load(path)["scores"].shape == (32, N)
