"""``leakscore reproduce``: what it hands on, and its exit codes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import reproduce
from leakscore.cli import main


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Two figures, of which the second fails its checks."""
    made: list[tuple[str, dict[str, Any]]] = []

    def run(name: str, **options: Any) -> bool:
        made.append((name, options))
        return name == "good"

    monkeypatch.setattr(reproduce, "names", lambda: ["good", "bad"])
    monkeypatch.setattr(reproduce, "run", run)
    return made


def test_exit_code_tells_whether_all_checks_hold(calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert main(["reproduce", "good"]) == 0
    assert main(["reproduce", "bad"]) == 1
    assert main(["reproduce", "bad", "good"]) == 1
    assert [name for name, _ in calls] == ["good", "bad", "bad", "good"]


def test_options_are_handed_on_when_given(calls: list[tuple[str, dict[str, Any]]]) -> None:
    main(["reproduce", "good"])
    main(["reproduce", "good", "--rounds", "50", "--seed", "3", "--out", "figures"])
    assert calls[0][1] == {"stream": sys.stdout}
    assert calls[1][1] == {"stream": sys.stdout, "rounds": 50, "seed": 3, "out": "figures"}


def test_names_are_listed(
    calls: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce"]) == 0
    assert capsys.readouterr().out == "good\nbad\n"
    assert main(["reproduce", "good", "fair"]) == 1
    assert "nothing is called 'fair'; known: good, bad" in capsys.readouterr().err
    assert calls == []
