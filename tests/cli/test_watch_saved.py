"""``leakscore audit --watch --state``: how often a state is written that takes long to write."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from leakscore_app.audits import watch
from tests.helpers.audited import MEMBER, SCORES, run


@pytest.mark.parametrize(("seconds", "least", "most"), [(0.0, 4, 40), (3.0, 2, 2)])
def test_saving_takes_a_twentieth_of_the_time(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    least: int,
    most: int,
) -> None:
    clock, saved = itertools.count(), []

    def save(_state: watch.State, path: str) -> None:
        saved.append(path)

    def monotonic() -> float:
        return 0.05 * next(clock) + seconds * len(saved)

    monkeypatch.setattr(watch.State, "save", save)
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=monotonic))
    lines = [f"{score},{int(bit)}\n" for score, bit in zip(SCORES, MEMBER, strict=True)]
    path = tmp_path / "r.csv"
    path.write_text("score,member\n" + "".join(8 * lines))
    run(capsys, path, "--watch", "--idle", 0, "--state", tmp_path / "state")
    assert least <= len(saved) <= most  # the last one at the end
