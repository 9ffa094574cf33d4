"""The list of all figures: complete, true to the registry, and printed by the command."""

from __future__ import annotations

from importlib import import_module

import pytest

from reproduce import _data, _index, _registry
from reproduce.__main__ import main


def test_every_numbered_figure_and_table_is_reproduced() -> None:
    assert _index.missing() == {}
    assert {"figure 10", "figure 9"} <= set(_registry.NUMBERED["M"])
    assert len(_registry.NUMBERED["K"]) == 7


def test_a_figure_that_is_left_out_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = {name: figure for name, figure in _registry.FIGURES.items() if name != "michel-6"}
    monkeypatch.setattr(_index, "FIGURES", rest)
    assert _index.missing() == {"M": ["figure 6"]}
    assert "| figure 6 | | | | | not reproduced |" in _index.page()
    assert "figure 6: not reproduced" in _index.text()


@pytest.mark.parametrize("name", _registry.FIGURES)
def test_an_entry_has_a_home_and_a_verdict(name: str) -> None:
    figure = _registry.FIGURES[name]
    home, _, item = figure.home.partition(":")
    module = import_module(f"reproduce.{home}")
    made = getattr(module, item) if item else module
    assert callable(made.reproduce)
    assert callable(made.draw)
    assert (figure.verdict == "ours") == (figure.paper == "")
    assert bool(figure.numbers) == bool(figure.paper)
    if figure.paper:
        assert figure.why
        assert f"python -m reproduce {name}" in _index.page()


def test_data_are_of_figures() -> None:
    assert set(_data.PACKAGES) <= set(_registry.FIGURES)


def test_the_command_prints_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    out = capsys.readouterr().out
    assert all(f"python -m reproduce {name}" in out for name in _registry.FIGURES)
    assert out.count("reads dataset-fashion-mnist") == 10
    assert main(["--list", "azize-2"]) == 1
    assert "--list takes no names" in capsys.readouterr().err
