"""Outputs of shadow models in a file: the scores are those of `leakscore.shadow`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import shadow
from leakscore.audit import Audit, one_run
from tests.helpers.audited import parsed, run
from tests.helpers.audited import write_models as write
from tests.helpers.parts import Rounds, read_scores

RNG = np.random.default_rng(3)
N, K = 240, 8
HALF = RNG.random((K // 2 + 1, N)) < 0.5
MASKS = np.stack([HALF, ~HALF], axis=1).reshape(K + 2, N)
MARGINS = RNG.normal(size=N) + RNG.normal(size=(K + 2, N)) + 2.0 * MASKS
SIGNALS, INCLUDED = MARGINS[2:], MASKS[2:]
TWO, TWO_MEMBERS = MARGINS[:2], MASKS[:2]
SHADOWS = {"signals": SIGNALS, "included": INCLUDED}
ONE = SHADOWS | {"observed": TWO[0], "member": TWO_MEMBERS[0]}
NAMES = ("base", "one-step", "paired", "bayes", "lira")


def score(name: str, *arrays: Any) -> Any:
    return getattr(shadow, name.replace("-", "_"))(*arrays)


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_targets_are_those_of_the_library(tmp_path: Path, name: str) -> None:
    for observed, member in ((TWO[0], TWO_MEMBERS[0]), (TWO, TWO_MEMBERS)):
        path = write(tmp_path, **SHADOWS, observed=observed, member=member.astype(np.float32))
        read = read_scores(path, attack=name)
        assert isinstance(read.data, Rounds)
        expected = score(name, observed, SIGNALS, INCLUDED)
        assert np.array_equal(read.data.scores, expected.ravel())
        assert np.array_equal(read.data.member, member.ravel())
        assert read.attack is not None
        made = (read.attack.name, read.attack.shadow_models, read.attack.targets)
        assert made == (name, K, observed.size // N)
        assert not read.attack.left_out
    alike = write(tmp_path, **SHADOWS, observed=TWO, member=TWO_MEMBERS[0])
    assert np.array_equal(read_scores(alike, attack=name).data.member[N:], TWO_MEMBERS[0])  # type: ignore[union-attr]


@pytest.mark.parametrize("name", NAMES)
def test_without_a_member_models_are_left_out(tmp_path: Path, name: str) -> None:
    """Complementary pairs together, though their order is none; the others one by one."""
    order = np.random.default_rng(1).permutation(K)
    path = write(tmp_path, signals=SIGNALS[order], included=INCLUDED[order].astype(int))
    read = read_scores(path, attack=name)
    expected = shadow.leave_one_model_out(
        SIGNALS[order],
        INCLUDED[order],
        score=name.replace("-", "_"),  # type: ignore[arg-type]
        groups=(np.arange(K) // 2)[order],
    )
    assert np.array_equal(read.data.scores, expected.ravel())  # type: ignore[union-attr]
    assert np.array_equal(read.data.member, INCLUDED[order].ravel())  # type: ignore[union-attr]
    path = write(tmp_path, signals=SIGNALS[1:], included=INCLUDED[1:], observed=TWO[0])
    read = read_scores(path, attack=name)
    alone = shadow.leave_one_model_out(SIGNALS[1:], INCLUDED[1:], score=name.replace("-", "_"))  # type: ignore[arg-type]
    assert np.array_equal(read.data.scores, alone.ravel())  # type: ignore[union-attr]
    assert any("observed is not used" in note for note in read.notes)


def test_the_default_chooses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    name, rates = shadow.choose(SIGNALS, INCLUDED)
    scores = score(name, TWO[0], SIGNALS, INCLUDED)
    path = write(tmp_path, **ONE)
    found = parsed(capsys, path)
    assert found["input"]["attack"] == {
        "name": name.replace("_", "-"),
        "shadow_models": K,
        "targets": 1,
        "left_out": False,
        "tried": [{"name": each.replace("_", "-"), "rate": rate} for each, rate in rates.items()],
    }
    audit = Audit.from_rounds(scores, TWO_MEMBERS[0])
    assert found["bounds"][0]["epsilon"] == float(audit.epsilon(1e-5)) > 0
    assert found["roc"]["auc"]["observed"] == audit.auc()
    assert found == parsed(capsys, path, "--attack", "choose")
    named = parsed(capsys, path, "--attack", "lira")["input"]["attack"]
    assert (named["name"], named["tried"]) == ("lira", None)
    codes = [note["code"] for note in found["notices"]]
    assert "one-model" in codes
    assert "attack-chosen-here" not in codes


def test_a_choice_on_the_scores_themselves_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path, **SHADOWS)
    name, _ = shadow.choose(SIGNALS, INCLUDED)
    found = parsed(capsys, path)
    made = found["input"]["attack"]
    assert (made["name"].replace("-", "_"), made["targets"], made["left_out"]) == (name, K, True)
    assert (found["input"]["members"], found["input"]["nonmembers"]) == (K * N // 2, K * N // 2)
    assert "attack-chosen-here" in [note["code"] for note in found["notices"]]
    named = parsed(capsys, path, "--attack", "base")
    assert "attack-chosen-here" not in [note["code"] for note in named["notices"]]


def test_logits_are_turned_into_margins(tmp_path: Path) -> None:
    labels = RNG.integers(3, size=N)
    logits = RNG.normal(size=(K, N, 3)).astype(np.float32)
    observed = RNG.normal(size=(2, N, 3)).astype(np.float32)
    given = {"logits": logits, "labels": labels, "included": INCLUDED}
    margins = shadow.logit_margin(logits, labels)
    for one, member in ((observed, TWO_MEMBERS), (observed[1], TWO_MEMBERS[1])):
        path = write(tmp_path, **given, observed_logits=one, member=member)
        read = read_scores(path, attack="bayes")
        expected = shadow.bayes(shadow.logit_margin(one, labels), margins, INCLUDED)
        assert np.array_equal(read.data.scores, expected.ravel())  # type: ignore[union-attr]
        assert read.dtype == "float32"
    left = read_scores(write(tmp_path, **given), attack="base").data
    pairs = np.arange(K) // 2
    expected = shadow.leave_one_model_out(margins, INCLUDED, score="base", groups=pairs)
    assert np.array_equal(left.scores, expected.ravel())  # type: ignore[union-attr]


def test_augmentations(tmp_path: Path) -> None:
    signals, observed = RNG.normal(size=(K, N, 2)), RNG.normal(size=(3, N, 2))
    member = RNG.random((3, N)) < 0.5
    path = write(tmp_path, signals=signals, included=INCLUDED, observed=observed, member=member)
    read = read_scores(path, attack="lira")
    expected = shadow.lira(observed, signals, INCLUDED)
    assert np.array_equal(read.data.scores, expected.ravel())  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="augmentations, which choose does not take: --attack ba"):
        read_scores(path)
    logits, labels = RNG.normal(size=(K, N, 2, 4)), RNG.integers(4, size=N)
    path = write(
        tmp_path,
        logits=logits,
        labels=labels,
        included=INCLUDED,
        observed_logits=logits[0] + 1e-3 * observed[0][..., np.newaxis] ** 2 * np.arange(4),
        member=member[0],
    )
    with np.load(path) as saved:
        margin = shadow.logit_margin(saved["observed_logits"], labels[:, np.newaxis])
    expected = shadow.lira(margin, shadow.logit_margin(logits, labels[:, np.newaxis]), INCLUDED)
    assert np.array_equal(read_scores(path, attack="lira").data.scores, expected)  # type: ignore[union-attr]


def test_one_run_of_one_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = parsed(capsys, write(tmp_path, **ONE), "--attack", "base", "--one-run")
    scores = shadow.base(TWO[0], SIGNALS, INCLUDED)
    expected = one_run(scores, TWO_MEMBERS[0], k="all", delta=1e-5, rng=0)
    assert found["bounds"][0] == json.loads(expected.to_json())
    assert found["input"]["attack"]["name"] == "base"
    for arrays in (SHADOWS, SHADOWS | {"observed": TWO, "member": TWO_MEMBERS}):
        code, _, err = run(capsys, write(tmp_path, **arrays), "--one-run", "--attack", "base")
        assert (code, "targets: --one-run needs observed (N,)" in err) == (1, True)


def test_text_page_and_verdict(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, page = write(tmp_path, **ONE), tmp_path / "page.html"
    options = ("--claimed-epsilon", "0.1", "--attack", "bayes", "--html", page)
    code, text, _ = run(capsys, path, *options)
    assert (code, "REFUTED" in text) == (2, True)
    assert "bayes, of 8 shadow models; 1 target" in text
    assert "bayes, of 8 shadow models; 1 target" in page.read_text("utf-8")
    text = run(capsys, path, "--one-run")[1]
    assert "chosen by the true-positive rate" in " ".join(text.split())


def test_shadow_models_that_are_the_targets(tmp_path: Path) -> None:
    """Transposed arrays, and a design whose numbers tell members, are told apart from coins."""
    path = write(tmp_path, signals=SIGNALS.T, included=INCLUDED.T)
    with pytest.raises(ValueError, match=r"240 models and only 8 records: .*--few-records"):
        read_scores(path)
    exact = np.random.default_rng(2).permuted(np.tile([[0], [1]], (K // 2, N)), axis=0)
    for included, told in ((exact, True), (INCLUDED, False)):
        read = read_scores(write(tmp_path, signals=SIGNALS, included=included), attack="base")
        assert any("understates the attack" in note for note in read.notes) == told


@pytest.mark.parametrize("balanced", [True, False])
def test_the_choice_of_an_attack_in_balanced_designs(tmp_path: Path, balanced: bool) -> None:
    """A note, not a warning; none where the attack was named."""
    rng = np.random.default_rng(5)
    half = rng.permuted(np.tile([[True], [False]], (K // 2, N)), axis=0)
    included = half if balanced else INCLUDED
    path = write(tmp_path, signals=SIGNALS, included=included, observed=TWO, member=TWO_MEMBERS)
    for attack, expected in (("choose", balanced), ("base", False)):
        notes = read_scores(path, attack=attack).notes
        assert any("understates one-step" in note for note in notes) == expected
