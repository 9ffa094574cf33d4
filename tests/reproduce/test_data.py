"""Figures that read real data: the places of the files, and the errors if they are missing."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import reproduce
from reproduce import Figure, _data
from reproduce.__main__ import main
from reproduce._outcome import Outcome, Row

FILES = ("first.gz", "second.gz")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, not yet there, where a package that a figure reads would be installed."""
    root = tmp_path / "usr" / "share" / "things"
    packages = {"real": _data.Package("some-things", str(root), FILES)}
    monkeypatch.setattr(_data, "PACKAGES", packages)
    return root


def fill(folder: Path, files: tuple[str, ...] = FILES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        (folder / name).write_bytes(b"")
    return folder


def test_where_the_package_is_installed(root: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"does not hold first.gz and second.gz"):
        _data.find("real", None)
    fill(root)
    assert _data.find("real", None) == (root / FILES[0], root / FILES[1])


def test_where_the_caller_says(root: Path, tmp_path: Path) -> None:
    folder = fill(tmp_path / "mine")
    expected = (folder / FILES[0], folder / FILES[1])
    for given in (folder, str(folder), folder / FILES[1]):
        assert _data.find("real", given) == expected


def test_where_the_package_was_unpacked(root: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    folder = fill(unpacked / root.relative_to("/"))
    assert _data.find("real", unpacked) == (folder / FILES[0], folder / FILES[1])


def test_one_file_may_stand_for_all_where_the_figure_says_so(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = fill(tmp_path / "mine", ("other.gz",)) / "other.gz"
    with pytest.raises(ValueError, match=r"other.gz is none of first.gz, second.gz"):
        _data.find("real", other)
    package = _data.Package("some-things", str(root), FILES, any_file=True)
    monkeypatch.setitem(_data.PACKAGES, "real", package)
    assert _data.find("real", other) == (other,)


def test_an_error_names_the_package_and_how_to_get_it(root: Path, tmp_path: Path) -> None:
    half = fill(tmp_path / "half", FILES[:1])
    for given in (None, half, half / FILES[0], tmp_path / "nowhere"):
        with pytest.raises(FileNotFoundError) as caught:
            _data.find("real", given)
        for words in (
            "some-things",
            "apt-get install some-things",
            "apt-get download some-things && dpkg -x some-things_*.deb DIR",
        ):
            assert words in str(caught.value)
        assert str(root if given is None else tmp_path) in str(caught.value)


def test_data_of_a_figure_that_reads_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="azize-2 reads none"):
        reproduce.run("azize-2", data=tmp_path)
    with pytest.raises(TypeError, match="data=3"):
        _data.find("genotypes", 3)


@pytest.fixture
def calls(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Two figures, of which the first reads data."""
    made: list[tuple[str, dict[str, Any]]] = []

    def play(name: str, **options: Any) -> Outcome:
        made.append((name, options))
        return Outcome("title", 7, options["seed"], (Row("row", 1.0, 1.0, 0.1),), {})

    for name in ("real", "plain"):
        module = SimpleNamespace(reproduce=lambda name=name, **options: play(name, **options))
        monkeypatch.setitem(sys.modules, f"reproduce.{name}", module)
    monkeypatch.setattr(
        reproduce, "FIGURES", {name: Figure(name, name, 1) for name in ("real", "plain")}
    )
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    return made


def test_the_figure_is_handed_the_paths(root: Path, calls: list[tuple[str, Any]]) -> None:
    fill(root)
    assert reproduce.run("real", seed=2, rounds=5, stream=io.StringIO())
    assert reproduce.run("plain", seed=2, stream=io.StringIO())
    paths = (root / FILES[0], root / FILES[1])
    assert calls == [("real", {"seed": 2, "rounds": 5, "data": paths}), ("plain", {"seed": 2})]


@pytest.mark.parametrize(
    "words",
    [
        ["real", "plain", "--data", "{}"],
        ["plain", "real", "{}"],
        ["real", "{}", "plain"],
        ["real", "{}/first.gz"],
    ],
)
def test_the_command_takes_a_path(
    words: list[str], calls: list[tuple[str, Any]], tmp_path: Path
) -> None:
    folder = fill(tmp_path / "mine")
    assert main([*(word.format(folder) for word in words)]) == 0
    given = {name: options.get("data") for name, options in calls}
    assert given["real"] == (folder / FILES[0], folder / FILES[1])
    assert given.get("plain") is None
    assert len(calls) == len({"real", "plain"} & set(words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["real"], "apt-get install some-things"),
        (["plain", "real"], "apt-get install some-things"),
        (["real", "--data", "nowhere"], "nowhere: no such file"),
        (["real", "nowhere"], "nothing is called 'nowhere'; known: plain, real"),
        (["plain", "{}"], "nothing is called"),
        (["plain", "--data", "{}"], "none of these figures reads data"),
        (["real", "{}", "--data", "{}"], "given twice"),
    ],
)
def test_wrong_commands_end_before_anything_is_played(
    words: list[str],
    said: str,
    calls: list[tuple[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = fill(tmp_path / "mine")
    assert main([*(word.format(folder) for word in words)]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert calls == []
