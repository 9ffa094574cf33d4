"""Files of a ledger: whole or not at all, one writer, one table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakscore.leakage import Ledger
from tests.leakage.test_ledger import masks, table


def started(path: Path) -> Ledger:
    ledger = Ledger(table(), max_leakage=0.1, max_noise=200.0)
    ledger.ask(masks(1)[0], "sum", [0], rng=1)
    ledger.save(path)
    return ledger


def test_a_file_grows_with_its_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = started(path)
    ledger.ask(masks(2)[1], "mean", [1], rng=2)
    ledger.save(path)
    kept = Ledger.load(path, table())
    assert kept.answers == 2
    np.testing.assert_allclose(kept.leakage, ledger.leakage, rtol=1e-10)
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.jsonl"]


def test_the_answers_of_another_writer_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    started(path)
    first, second = (Ledger.load(path, table()) for _ in range(2))
    first.ask(masks(2)[1], "sum", [1], rng=3)
    second.ask(masks(3)[2], "sum", [2], rng=4)
    first.save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="earlier state of this ledger"):
        second.save(path)
    assert path.read_bytes() == before


def test_a_file_that_is_being_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = started(path)
    (tmp_path / "ledger.jsonl.new").touch()
    with pytest.raises(ValueError, match="one writer"):
        ledger.save(path)
    assert (tmp_path / "ledger.jsonl.new").exists()


def test_another_table_and_a_cut_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    started(path)
    with pytest.raises(ValueError, match="its digest is another"):
        Ledger.load(path, table() + 1.0)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="cut after line"):
        Ledger.load(path, table())
