"""Columns that count, name or date the records are left out with a reason, unless asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscore_app import Table, read_table

LEFT: dict[str, tuple[str, str]] = {
    # name of the first column, its cells: what is said
    "a counting index": (",1 2 3 4", "counts or names"),
    "an index after rows were dropped": (",0 4 7 9", "counts or names"),
    "an index after a sort": (",2 0 3 1", "counts or names"),
    "an index of an index": ("level_0,0 1 2 3", "counts or names"),
    "numbers of records in German": ("lfd. Nr.,1 2 3 4", "counts or names"),
    "an identifier that counts": ("patient_id,1001 1002 1003 1004", "counts or names"),
    "an identifier in any order": ("PatientID,93821 18212 55521 20011", "counts or names"),
    "a postcode": ("plz,01069 10115 03046 80331", "codes such as '01069' (line 2)"),
    "days": ("day,20240131 20240201 20231231 20240103", "dates such as 20240131"),
}
KEPT = {
    "no identifier": "paid,1 2 3 4",
    "a measurement": "acid,7 1 4 9",
    "a count that is not counting": "number,3 1 4 2",
    "proportions": "share,0.5 0.25 0.75 0.125",
    "eight digits": "sales,20240131 20249901 31231231 20240103",
}


def read(tmp_path: Path, column: str, **options: Any) -> Table:
    name, cells = column.split(",")
    values = ("1.5", "2.5", "9.5", "3.5")
    lines = [f"{cell},{value}" for cell, value in zip(cells.split(), values, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([f"{name},x", *lines]) + "\n")
    return read_table(str(path), **options)


@pytest.mark.parametrize("case", sorted(LEFT))
def test_left_out(tmp_path: Path, case: str) -> None:
    column, reason = LEFT[case]
    table = read(tmp_path, column)
    assert set(table.excluded) == {0}
    assert reason in table.excluded[0]
    name = table.columns[0]
    assert not read(tmp_path, column, columns=[name, "x"]).excluded


@pytest.mark.parametrize("case", sorted(KEPT))
def test_kept(tmp_path: Path, case: str) -> None:
    assert not read(tmp_path, KEPT[case]).excluded


def test_names_are_understood_as_messages_show_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"a\nx",b\x1b[2J\n1,2\n3,5\n4,4\n')
    assert set(read_table(str(path), exclude=["a\\nx"]).excluded) == {0}
    assert set(read_table(str(path), columns=["b\\x1b[2J"]).excluded) == {0}


SHARED = {
    # cells of the first column, its name: how many different values are told
    "visits": ("id,7 7 8 9", {"id": 3}),
    "visits in words": ("Patient,P7 P8 P7 P9", {"Patient": 3}),
    "one record a person": ("id,7 6 8 9", {}),
    "a measurement": ("dose,7 7 8 9", {}),
}


@pytest.mark.parametrize("case", SHARED)
def test_identifiers_that_records_share(tmp_path: Path, case: str) -> None:
    column, expected = SHARED[case]
    assert read(tmp_path, column).shared == expected
    name = column.partition(",")[0]
    assert not read(tmp_path, column, id=name).shared


def test_a_hospital_is_no_person(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{row % 2},{row * 1.5},{row // 3}" for row in range(60)]
    path.write_text("\n".join(["hospital_id,x,patient_id", *lines]) + "\n")
    assert read_table(str(path)).shared == {"patient_id": 20}
