"""Files of shadow models' outputs that are refused, each in a line that names what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.audit_file.test_shadows import (
    INCLUDED,
    MARGINS,
    MASKS,
    ONE,
    SHADOWS,
    SIGNALS,
    TWO,
    TWO_MEMBERS,
    N,
    write,
)
from tests.helpers.audited import run, write_scores
from tests.helpers.parts import Rounds, read_scores

LOGITS = np.stack([SIGNALS, np.zeros_like(SIGNALS)], axis=-1)
LABELS = np.zeros(N, dtype=int)
OUTPUTS = {"logits": LOGITS, "labels": LABELS, "included": INCLUDED}


def without(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in arrays.items() if key != name}


def spoilt(array: Any, value: float) -> Any:
    copy = np.array(array, dtype=float)
    copy[2, 5] = value
    return copy


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        without(ONE, "included"),
        r"no array 'included' \(K, N\): .*; the file has signals, observed, mem",
    ),
    (without(ONE, "signals"), r"no array 'signals' .*, or 'logits' .*; the file has included, obs"),
    (without(ONE, "observed"), r"no array 'observed' .*; the file has signals, included, member"),
    (without(OUTPUTS, "labels"), r"no array 'labels' .*; the file has logits, included"),
    (OUTPUTS | {"member": LABELS}, "no array 'observed_logits'"),
    (SHADOWS | {"logits": LOGITS}, "holds signals and logits: keep those"),
    (ONE | {"included": INCLUDED.T}, r"included of shape \(240, 8\) .* one of them is transposed"),
    (
        ONE | {"included": INCLUDED.T, "signals": SIGNALS.T},
        "signals and included are transposed, models come first",
    ),
    (ONE | {"observed": TWO.T, "member": TWO_MEMBERS}, "observed is transposed, pass observed.T"),
    (ONE | {"observed": TWO[0, 1:]}, r"observed of shape \(239,\) must be \(240,\) or \(S"),
    (ONE | {"observed": TWO, "member": TWO_MEMBERS.T}, r"member of shape .*: it is transposed"),
    (ONE | {"member": TWO_MEMBERS}, r"member of shape \(2, 240\) must be \(240,\), as observed"),
    (ONE | {"member": TWO_MEMBERS[0, 1:]}, r"member of shape \(239,\) must be \(240,\)"),
    (ONE | {"signals": spoilt(SIGNALS, np.nan)}, r"signals\[2, 5\]=nan"),
    (SHADOWS | {"signals": spoilt(SIGNALS, np.inf)}, r"signals\[2, 5\]=inf"),
    (
        ONE | {"observed": np.where(LABELS == 0, np.nan, 0.0)},
        r"observed must be finite: 240 of 240",
    ),
    (
        ONE | {"included": spoilt(INCLUDED, 2)},
        r"included must be in \{0, 1\}.*included\[2, 5\]=2.0",
    ),
    (
        ONE | {"included": spoilt(INCLUDED, np.nan)},
        r"included must be in \{0, 1\}.*included\[2, 5\]=nan",
    ),
    (ONE | {"member": np.full(N, 0.5)}, r"member must be in \{0, 1\}, but it holds 0.5"),
    (ONE | {"member": np.full(N, "in")}, "member must be an array of real numbers, not dtype <U2"),
    (ONE | {"member": LABELS}, "there are no members"),
    (ONE | {"member": LABELS + 1}, "there are no non-members"),
    (ONE | {"signals": SIGNALS.astype(complex)}, "signals must be an array of real numbers"),
    (ONE | {"signals": SIGNALS[0]}, r"signals of shape \(240,\) must be \(K, N\)"),
    (ONE | {"signals": MARGINS, "included": MASKS}, r"target 0, is signals\[0\]: the target must"),
    (ONE | {"signals": SIGNALS[:1], "included": INCLUDED[:1]}, "models enough"),
    (OUTPUTS | {"labels": LABELS.astype(float)}, r"logits\[0\]: labels must hold integers"),
    (OUTPUTS | {"labels": LABELS + 2}, r"logits\[0\]: labels must be in \[0, 1\]"),
    (OUTPUTS | {"labels": LABELS[1:]}, r"labels of shape \(239,\) must be \(240,\)"),
    (OUTPUTS | {"labels": LABELS[:8], "logits": LOGITS}, "logits are transposed, models come fir"),
    (OUTPUTS | {"logits": LOGITS * np.nan}, r"logits\[0\]: outputs must hold no NaN"),
    (OUTPUTS | {"logits": SIGNALS}, r"logits of shape \(8, 240\) must be \(K, N, C\)"),
    (
        OUTPUTS | {"observed_logits": LOGITS[0, :, :1], "member": TWO_MEMBERS[0]},
        r"observed_logits of shape \(240, 1\) must be \(240, 2\) or \(S, 240, 2\)",
    ),
    (
        OUTPUTS | {"observed_logits": LOGITS[:2].swapaxes(0, 1), "member": TWO_MEMBERS},
        r"observed_logits of shape \(240, 2, 2\)",
    ),
]


@pytest.mark.parametrize(("arrays", "message"), REFUSED)
def test_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_scores(write(tmp_path, **arrays))
    assert str(caught.value).startswith("models.npz")
    assert "\n" not in str(caught.value)


def test_nothing_is_unpickled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, signals=np.array([SIGNALS, None], dtype=object), included=INCLUDED)
    code, out, err = run(capsys, path, "--attack", "lira")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "array 'signals' holds Python objects" in err


def test_an_attack_needs_outputs_of_models(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plain = write(tmp_path, scores=TWO[0], memberships=TWO_MEMBERS[0])
    for path in (str(write_scores(tmp_path)), plain):
        code, _, err = run(capsys, path, "--attack", "base")
        assert (code, len(err.splitlines())) == (1, 1)
        assert "holds no outputs of shadow models, so that --attack means nothing" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--lower-is-member",), "--lower-is-member means nothing for outputs of shadow models"),
        (("--attack", "base", "--score", "signals"), "--attack takes arrays by their names"),
        (("--attack", "base", "--nonmembers", "x.csv"), "--attack takes arrays by their names"),
        (("--attack", "base", "--watch"), "--attack means nothing with --watch"),
        (("--attack", "best"), "not 'best'"),
        (("--delimiter", ";"), "models.npz"),
    ],
)
def test_options_that_mean_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    code, out, err = run(capsys, write(tmp_path, **ONE), *options)
    assert (code, out) == (1, "")
    assert message in err


def test_plain_files_stay_plain(tmp_path: Path) -> None:
    """Names of shadow models' arrays that hold a score and a membership a row, as before."""
    scores, member = TWO[0], TWO_MEMBERS[0]
    for arrays in (
        {"signals": scores, "included": member},
        {"signals": scores[:, np.newaxis], "included": member[:, np.newaxis]},
        {"scores": scores, "included": member, "signals": SIGNALS},
        {"members": scores[member], "nonmembers": scores[~member], "logits": LOGITS},
    ):
        read = read_scores(write(tmp_path, **arrays))
        assert read.attack is None
        if isinstance(read.data, Rounds):
            assert np.array_equal(read.data.scores, scores)
            assert np.array_equal(read.data.member, member)
