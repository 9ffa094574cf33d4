"""Where results go: no input is written over, a file is whole or as it was, errors name it."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app.cli import main
from leakscore_app.tables import outputs
from tests.helpers.audited import write_scores

COMMANDS: dict[str, list[str]] = {
    "audit": ["--only-method", "--method", "dkw"],
    "report": ["--rounds", "200"],
}


@pytest.fixture(params=sorted(COMMANDS))
def job(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a command that reads scores.csv of this folder, and its options."""
    path = write_scores(tmp_path)
    if request.param == "report":
        values = np.random.default_rng(0).normal(size=(20, 2))
        np.savetxt(path, values, delimiter=",", header="a,b", comments="")
    monkeypatch.chdir(tmp_path)
    return request.param, COMMANDS[request.param]


def program(
    arguments: list[str], limit: int | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run the program, which may write files of at most `limit` bytes."""

    def before() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "leakscore", *arguments]
    options = {"stdout": subprocess.PIPE} | options
    return subprocess.run(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=before, check=False, **options
    )


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize("target", ["hard.csv", "soft.csv", "./scores.csv", "scores.csv"])
def test_an_input_is_not_written_over(
    job: Any, capsys: pytest.CaptureFixture[str], option: str, target: str
) -> None:
    command, options = job
    before = Path("scores.csv").read_bytes()
    os.link("scores.csv", "hard.csv")
    Path("soft.csv").symlink_to("hard.csv")
    assert main([command, "scores.csv", *options, option, target]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"leakscore: error: cannot write {target}: it is one of the files that are read\n"
    )
    assert Path("scores.csv").read_bytes() == before


def test_nor_is_a_second_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("in.csv", "out.csv"):
        (tmp_path / name).write_text("1\n2\n")
    os.link(tmp_path / "out.csv", tmp_path / "hard.csv")
    files = [str(tmp_path / "in.csv"), "--nonmembers", str(tmp_path / "out.csv")]
    assert main(["audit", *files, "--json", str(tmp_path / "hard.csv")]) == 1
    assert "hard.csv: it is one of the files that are read" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_the_file_that_it_comes_from(job: Any, name: str) -> None:
    command, options = job
    if command == "report" and name == "-":
        options = [*options, "--header", "yes"]
    before = Path("scores.csv").read_bytes()
    with Path("scores.csv").open("rb") as file:
        done = program([command, name, *options, "--quiet", "--json", "scores.csv"], stdin=file)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "cannot write scores.csv: it is one of the files that are read" in done.stderr
    assert Path("scores.csv").read_bytes() == before


def test_standard_output_is_the_file_that_it_goes_to(job: Any) -> None:
    command, options = job
    before = Path("scores.csv").read_bytes()
    with Path("scores.csv").open("ab") as file:
        done = program([command, "scores.csv", *options], stdout=file)
    assert done.returncode == 1
    assert "cannot write standard output: it is one of the files that are read" in done.stderr
    assert Path("scores.csv").read_bytes() == before
    with Path("out").open("wb") as file:
        done = program([command, "scores.csv", *options, "--json", "out"], stdout=file)
    assert "cannot write out: standard output is the same file" in done.stderr


@pytest.mark.parametrize(
    ("first", "second"), [("x", "./x"), ("x", "soft"), ("old", "hard"), ("old", "old"), ("p", "p")]
)
def test_two_outputs_are_two_files(
    job: Any, capsys: pytest.CaptureFixture[str], first: str, second: str
) -> None:
    command, options = job
    Path("soft").symlink_to("x")  # which is not there yet
    Path("old").write_text("old")
    os.link("old", "hard")
    os.mkfifo("p")
    assert main([command, "scores.csv", *options, "--json", first, "--html", second]) == 1
    assert f"cannot write {second}: {first} is the same file" in capsys.readouterr().err
    assert not Path("x").exists()
    assert Path("old").read_text() == "old"


def test_a_full_disk_leaves_the_old_file(job: Any) -> None:
    command, options = job
    Path("page.html").write_text("old")
    arguments = [command, "scores.csv", *options, "--quiet", "--html", "page.html"]
    done = program(arguments, limit=5000)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "leakscore: error: page.html: File too large\n"
    assert Path("page.html").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["page.html", "scores.csv"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interruption_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: Any
) -> None:
    def fail(descriptor: int) -> None:
        raise stop

    monkeypatch.setattr(os, "fsync", fail)
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises((KeyboardInterrupt, OSError)) as raised:
        outputs.write(str(path), "new")
    assert getattr(raised.value, "filename", str(path)) == str(path)
    assert [(other.name, other.read_text()) for other in tmp_path.iterdir()] == [
        ("page.html", "old")
    ]


def test_permissions_are_kept_and_links_followed(tmp_path: Path) -> None:
    path, link = tmp_path / "page.html", tmp_path / "link"
    before = os.umask(0o027)
    try:
        outputs.write(str(path), "new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        link.symlink_to(path)
        outputs.write(str(link), "newer")
    finally:
        os.umask(before)
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (0o604, "newer")
    assert link.is_symlink()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (".", "cannot write .: it is a directory"),
        ("nowhere/x", "cannot write nowhere/x: its directory does not exist"),
        ("scores.csv/x", "cannot write scores.csv/x: its directory does not exist"),
        ("/dev/full", "/dev/full: No space left on device"),
    ],
)
def test_what_cannot_be_written_is_named(
    job: Any, capsys: pytest.CaptureFixture[str], target: str, message: str
) -> None:
    command, options = job
    assert main([command, "scores.csv", *options, "--quiet", "--html", target]) == 1
    assert capsys.readouterr() == ("", f"leakscore: error: {message}\n")


def test_a_protected_folder_or_file_is_named(
    job: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, options = job
    Path("old").write_text("old")
    Path("closed").mkdir()
    closed = {Path("old").resolve(), Path("closed").resolve()}
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).resolve() not in closed)
    for target, what in (("old", "it is"), ("closed/x", "its directory is")):
        assert main([command, "scores.csv", *options, "--json", target]) == 1
        message = f"leakscore: error: cannot write {target}: {what} write-protected\n"
        assert capsys.readouterr() == ("", message)
    # Where the system refuses what it seemed to allow (root may do all but this):
    assert main([command, "scores.csv", *options, "--quiet", "--json", "/proc/x"]) == 1
    assert capsys.readouterr().err.startswith("leakscore: error: /proc/x: ")


def test_pipes_and_devices_are_written_as_they_are(
    job: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    command, options = job
    os.mkfifo("pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append(Path("pipe").read_text()))
    reader.start()
    arguments = [command, "scores.csv", *options, "--quiet"]
    assert main([*arguments, "--json", "pipe", "--html", "/dev/null"]) == 0
    reader.join()
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
    assert main([*arguments, "--json", "-"]) == 0
    assert capsys.readouterr().out == found[0]
    named = program([*arguments[:-1], "--json", "/dev/stdout"])
    assert (named.stdout, named.stderr, named.returncode) == (found[0], "", 0)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["report", *COMMANDS["report"], "--noise-shape", "same"]]
)
def test_a_full_standard_output_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = program(arguments, stdout=full)
    expected = "leakscore: error: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_an_interruption_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("leakscore_app.report.analyse", stop)
    assert main(["report"]) == 130
    assert capsys.readouterr() == ("", "leakscore: interrupted\n")


def test_without_a_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["report", "nowhere.csv"]) == 1
