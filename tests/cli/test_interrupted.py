"""Ctrl-C while a long table is read: one line, exit code 130, and no file that is half written."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app.cli import main
from tests.helpers.parts import Block, Source

TOLD = "leakscore: interrupted\n"
# Reads one block, says so, and waits for the signal in the middle of the pass.
WAITING = """
import signal, sys, time
from leakscore_app.cli import main
from leakscore_app.tables.sources.blocks import Source

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
blocks = Source.blocks

def waiting(source, span=None):
    for block in blocks(source, span):
        yield block
        print("one block", flush=True)
        time.sleep(300)

Source.blocks = waiting
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Return the command for a table of two blocks, and files of which one is there before."""
    folder = tmp_path / "written"
    folder.mkdir()
    (folder / "page.html").write_text("old")
    path = tmp_path / "table.npy"
    np.save(path, np.random.default_rng(0).normal(size=(70_000, 2)).astype(np.float32))
    outputs = ("--json", str(folder / "new.json"), "--html", str(folder / "page.html"))
    return ["report", str(path), "--rounds", "200", *outputs]


def left(words: list[str]) -> list[tuple[str, str]]:
    """Return what is in the folder of the outputs."""
    return [(path.name, path.read_text()) for path in Path(words[-1]).parent.iterdir()]


@pytest.fixture
def handler() -> Iterator[None]:
    """Python's handler of Ctrl-C, in any environment of the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handler")
@pytest.mark.parametrize("after", [1, 2, 3, 6])
def test_every_pass_can_be_interrupted(
    words: list[str],
    after: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After the first block of the first pass, after its last one, and in later passes."""
    blocks, read = Source.blocks, 0

    def interrupted(source: Source, *span: Any) -> Iterator[Block]:
        nonlocal read
        for block in blocks(source, *span):
            yield block
            read += 1
            if read == after:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Source, "blocks", interrupted)
    assert main(words) == 130
    assert read == after
    assert capsys.readouterr() == ("", TOLD)
    assert left(words) == [("page.html", "old")]


def test_a_process_ends_when_it_is_interrupted(words: list[str]) -> None:
    command = [sys.executable, "-c", WAITING, *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "one block\n"
        process.send_signal(signal.SIGINT)
        text, told = process.communicate(timeout=120)
    assert (process.returncode, text, told) == (130, "", TOLD)
    assert left(words) == [("page.html", "old")]
