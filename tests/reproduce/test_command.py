"""``python -m reproduce``: what it lists and hands on, and its exit codes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import reproduce
from reproduce import Figure
from reproduce.__main__ import main


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Two figures, of which the second fails its checks."""
    made: list[tuple[str, dict[str, Any]]] = []

    def run(name: str, **options: Any) -> bool:
        made.append((name, options))
        return name == "good"

    figures = {name: Figure("home", f"what is {name}", 3) for name in ("good", "bad")}
    monkeypatch.setattr(reproduce, "FIGURES", figures)
    monkeypatch.setattr(reproduce, "run", run)
    return made


def test_exit_code_tells_whether_all_checks_hold(calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert main(["good"]) == 0
    assert main(["bad"]) == 1
    assert main(["bad", "good"]) == 1
    assert [name for name, _ in calls] == ["good", "bad", "bad", "good"]


def test_options_are_handed_on_when_given(calls: list[tuple[str, dict[str, Any]]]) -> None:
    main(["good"])
    main(["good", "--rounds", "50", "--seed", "3", "--out", "figures"])
    assert calls[0][1] == {"stream": sys.stdout}
    assert calls[1][1] == {"stream": sys.stdout, "rounds": 50, "seed": 3, "out": "figures"}


def test_names_are_listed(
    calls: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "bad                  what is bad (3 s)",
        "good                 what is good (3 s)",
    ]
    assert main(["good", "fair"]) == 1
    assert "nothing is called 'fair'; known: bad, good" in capsys.readouterr().err
    assert calls == []


def test_every_figure_is_listed_with_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == reproduce.names()
    assert sum("dataset-fashion-mnist" in line for line in lines) == 10
    assert all(figure.seconds > 0 for figure in reproduce.FIGURES.values())
    assert max(map(len, lines)) <= 110
