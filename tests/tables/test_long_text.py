"""Csv files that are split a piece at a time, against the same files read at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app import read_table
from leakscore_app.tables import ReadingOptions
from leakscore_app.tables.formats import delimited
from tests.helpers.parts import Categories, KeptPieces, Source, TextPart, text_part
from tests.helpers.sizes import sizes

RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, piece=300, piece_rest=100)


def rows(count: int, line: str) -> str:
    """Lines with random numbers in the place of {a}, {b}, {k} and the number of the line."""
    return "".join(
        line.format(a=a, b=b, k=k, i=i)
        for i, (a, b, k) in enumerate(
            zip(
                RNG.normal(size=count).round(4).tolist(),
                RNG.normal(30, 9, count).round(2).tolist(),
                RNG.integers(0, 90, count).tolist(),
                strict=True,
            )
        )
    )


READ = {
    "plain": "x,y,k\n" + rows(90, "{a},{b},{k}\n"),
    "no line end": "x,y\n" + rows(90, "{a},{b}\n").rstrip(),
    "no header": rows(90, "{a},{b},{k}\n"),
    "semicolons": "x;y\n" + rows(90, "{a};{b}\n"),
    "tabs and carriage returns": "x\ty\r\n" + rows(90, "{a}\t{b}\r\n"),
    "a title": "made in 2024\n\nx,y\n" + rows(90, "{a},{b}\n"),
    "blank lines": "x,y\n" + rows(40, "{a},{b}\n") + "\n\n,\n" + rows(40, "{a},{b}\n") + "\n",
    "missing": "x,y\n" + rows(40, "{a},{b}\n") + "NA,3.5\n,4\n nan ,1\n" + rows(40, "{a},{b}\n"),
    "infinite": "x,y\n" + rows(40, "{a},{b}\n") + "inf,3.5\n-Infinity,1\n" + rows(40, "{a},{b}\n"),
    "quotes": '"x","y, mm"\n' + rows(90, '"{a}",{b}\n'),
    "line break in a cell": 'x,"y\nmm",t\n' + rows(90, '{a},{b},"a\nb"\n'),
    "index": ",x,y\n" + rows(90, "{i},{a},{b}\n"),
    "text": "x,region,y\n" + rows(90, "{a},no{k},{b}\n"),
    "text with a few numbers": "x,t\n" + rows(30, "{a},12\n") + rows(60, "{a},v{k}\n"),
    "byte order mark": "\ufeffx,y\n" + rows(90, "{a},{b}\n"),
    "blank column": "x,y,z\n" + rows(90, "{a},,{b}\n"),
    "blanks": "x,y\n" + rows(90, " {a} , {b}\n"),
    "plus": "x,y\n" + rows(90, "+{k}.25,{b}\n"),
    "exponents": "x,y\n" + rows(90, "{k}.5e-3,{b}E+02\n"),
    "accents": "größe,y\n" + rows(90, "{a},{b}\n"),
}
COMMAS = "x;y;k\n" + rows(90, "{a};{b};{k}\n").replace(".", ",")
READ["decimal commas"] = COMMAS
READ["decimal commas late"] = "k;x\n" + rows(60, "{k};{k}\n") + rows(30, "{k};1,{k}5\n")
READ["thousands"] = "x;y\n" + rows(90, "1.{k:03d},25;{k}\n")
AT_ONCE = {
    "yes and no": "x,y\n" + rows(45, "{a},yes\n{a},no\n"),
    "units below names": "x,y\nmg,mm\n" + rows(90, "{a},{b}\n"),
    "units": "x,y\n" + rows(90, "{a},{b} kg\n"),
    "codes": "x,y\n" + rows(90, "{a},0{k}\n"),
    "runs of blanks": "x  y\n" + rows(90, "{a}   {b}\n"),
    "late bad cell": "x,y\n" + rows(80, "{a},{b}\n") + "<0.5,1\n" + rows(9, "{a},{b}\n"),
    "ragged": "x,y\n" + rows(80, "{a},{b}\n") + "1\n" + rows(9, "{a},{b}\n"),
    "4,258 beside 408": "x;y\n" + rows(90, "{k};4,{k:03d}\n") + "408;408\n",
    "labelled sum": "t;x;y\n" + rows(90, "r{i};{a};{b}\n") + "total;1.5;2.5\n",
    "first row labelled": "t;x;y\ntotal;1.5;2.5\n" + rows(90, "r{i};{a};{b}\n"),
    "two names": "x,x\n" + rows(90, "{a},{b}\n"),
    "open quote": "x,y\n" + rows(80, "{a},{b}\n") + '"1,2\n' + rows(9, "{a},{b}\n"),
    "contrary": "x;y\n" + rows(45, "{a};1\n") + rows(45, "1,{k}5;1\n"),
}


def written(folder: Path, text: str, encoding: str = "utf-8") -> str:
    path = folder / "a.csv"
    path.write_bytes(text.encode(encoding))
    return str(path)


def part_of(path: str, **more: Any) -> TextPart | None:
    return text_part(path, "a.csv", ReadingOptions(**more), KeptPieces(), Categories())


def rows_of(part: TextPart, columns: tuple[str, ...]) -> np.ndarray:
    return Source((part,), columns, 16).values()


@pytest.mark.parametrize("kind", READ)
def test_pieces_are_understood_as_the_whole(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, READ[kind])
    part = part_of(path)
    table = read_table(path)
    assert part is not None
    assert len(part.pieces) > 1
    assert (part.columns, part.rows, part.sha256) == (
        table.columns,
        len(table.values),
        table.sha256,
    )
    assert part.notes == table.notes
    told = {j: why for j, why in table.excluded.items() if not why.startswith("it counts")}
    assert {part.columns.index(name): why for name, why in part.excluded.items()} == told
    np.testing.assert_array_equal(part.lines[np.arange(part.rows)], table.lines)
    columns = tuple(name for name in part.columns if name not in part.excluded)
    numbers = [part.columns.index(name) for name in columns]
    for _ in range(2):  # decoded while it was looked at, then from the file
        np.testing.assert_array_equal(rows_of(part, columns), table.values[:, numbers])
    for first, last in ((0, 1), (7, 50), (part.rows - 1, part.rows)):
        found = np.concatenate(list(part.batches(columns[::-1], first, last)))
        np.testing.assert_array_equal(found, table.values[first:last, numbers[::-1]])


@pytest.mark.parametrize("kind", AT_ONCE)
def test_what_needs_all_cells_is_read_at_once(tmp_path: Path, kind: str) -> None:
    assert part_of(written(tmp_path, AT_ONCE[kind])) is None


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_other_encodings_are_read_at_once(tmp_path: Path, encoding: str) -> None:
    assert part_of(written(tmp_path, READ["accents"], encoding)) is None


def test_options_are_those_of_the_whole(tmp_path: Path) -> None:
    path = written(tmp_path, "junk\n" + READ["text"])
    asked: dict[str, Any] = {"skip_lines": 1, "columns": ("x", "y"), "delimiter": ","}
    part = part_of(path, **asked)
    table = read_table(path, **asked)
    assert part is not None
    assert (part.excluded, part.columns) == ({}, ("x", "region", "y"))
    np.testing.assert_array_equal(rows_of(part, ("x", "y")), table.values[:, [0, 2]])
    assert part_of(path, columns=("nobody",)) is None


def test_a_file_that_changes_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, READ["plain"])
    part = part_of(path)
    assert part is not None
    Path(path).write_text(READ["plain"] + "1,2,3\n")
    with pytest.raises(ValueError, match=r"a\.csv changed while it was read"):
        list(part.batches(("x",), 0, part.rows))


@pytest.mark.parametrize("length", [0, 5, 1 << 16, 1 << 17, (1 << 17) + 1, 1 << 18, 1 << 19])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_block_holds_the_longest_line(length: int, end: str) -> None:
    """It is four times as long, wherever the line stands: pyarrow splits no longer ones."""
    others = "1,2\n" * 40_000
    for above in ("", "1,2\n", others):
        data = (above + "x" * length + end + ("3,4\n" * 9 if end else "")).encode()
        longest = max(map(len, data.splitlines()), default=0)
        assert delimited._block(data) == max(1 << 20, 4 * longest)
