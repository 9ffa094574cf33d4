"""Reading tables: every format, every way a file can be wrong."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

import numpy as np
import pytest

from leakscore_app import Table, embedded_table, read_table


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def read(tmp_path: Path, text: str | bytes, **options: str) -> Table:
    return read_table(write(tmp_path / "table.csv", text), **options)


def test_embedded_table_is_the_published_one() -> None:
    from sklearn.datasets import load_breast_cancer

    known, table = load_breast_cancer(), embedded_table()
    np.testing.assert_array_equal(table.values, known.data)
    assert table.columns == tuple(known.feature_names)
    # The extremes that the source's documentation prints.
    lowest, highest = table.values.min(axis=0), table.values.max(axis=0)
    assert (lowest[[0, 3, 23]], highest[[0, 3, 23]]) == (
        pytest.approx([6.981, 143.5, 185.2]),
        pytest.approx([28.11, 2501.0, 4254.0]),
    )
    assert "CC BY 4.0" in table.notes[0]


def test_embedded_table_has_its_licence() -> None:
    from importlib import resources

    folder = resources.files("leakscore_app") / "data"
    licence = (folder / "LICENSE-breast-cancer-wisconsin.txt").read_text("utf-8")
    assert "10.24432/C5DW2B" in licence
    assert "Section 8 -- Interpretation." in licence


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_csv_delimiters_line_ends_and_byte_order_mark(
    tmp_path: Path, delimiter: str, end: str, mark: bytes
) -> None:
    rows = [["a", "b, c", "d"], ["1", "-2.5e-3", "+.5"], ["4", "5E2", "6."]]
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator=end).writerows(rows)
    table = read(tmp_path, mark + buffer.getvalue().encode())
    assert table.columns == ("a", "b, c", "d")
    np.testing.assert_array_equal(table.values, [[1, -2.5e-3, 0.5], [4, 500, 6]])
    assert table.excluded == table.refused == {}


def test_csv_keeps_every_digit(tmp_path: Path) -> None:
    values = np.random.default_rng(1).standard_cauchy((40, 3)) * 1e-200
    lines = "\n".join(",".join(map(repr, row)) for row in values.tolist())
    np.testing.assert_array_equal(read(tmp_path, "x,y,z\n" + lines).values, values)


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("1,2,5\n3,4,6\n", ("column 1", "column 2", "column 3"), 2),
        ("a,b\n1,2\n", ("a", "b"), 1),
        (",v\n0,1\n1,2\n", ("column 1", "v"), 2),
        ("x,1,2\ny,3,\n", ("column 1", "column 2", "column 3"), 2),
        ("v\n1\n2\n", ("v",), 2),
        ("a,b,\n1,2,3\n", ("a", "b", "column 3"), 1),
    ],
)
def test_csv_header_is_found(
    tmp_path: Path, text: str, columns: tuple[str, ...], rows: int
) -> None:
    table = read(tmp_path, text)
    assert table.columns == columns
    assert len(table.values) == rows


def test_csv_header_as_told(tmp_path: Path) -> None:
    text = "7,8,9\n1,2,1\n3,4,5\n"
    assert read(tmp_path, text, header="yes").columns == ("7", "8", "9")
    assert len(read(tmp_path, text, header="no").values) == 3


def test_csv_missing_and_text(tmp_path: Path) -> None:
    text = "a,b,c\n1,NA,x\n, 2 ,3\nNaN,n/a,4\n5,null,inf\n6,?,1_000\n"
    table = read(tmp_path, text)
    nan = np.nan
    np.testing.assert_array_equal(table.values[:, 0], [1, nan, nan, 5, 6])
    np.testing.assert_array_equal(table.values[:, 1], [nan, 2, nan, nan, nan])
    np.testing.assert_array_equal(table.values[1:, 2], [3, 4, np.inf, nan])
    assert "line 2, column 'c': 'x' is no number" in table.refused[2]
    assert "2 of 5 cells" in table.refused[2]


def test_csv_text_beyond_the_first_chunk(tmp_path: Path) -> None:
    lines = ["a,b"] + ["1,2"] * 9000
    lines[8500] = "1,oops"
    refused = read(tmp_path, "\n".join(lines)).refused
    assert list(refused) == [1]
    assert "line 8501, column 'b': 'oops'" in refused[1]


def test_csv_decimal_commas(tmp_path: Path) -> None:
    table = read(tmp_path, "a;b\n1,5;2\n-,25;1,5e2\n")
    np.testing.assert_array_equal(table.values, [[1.5, 2], [-0.25, 150]])
    assert any("decimal commas" in note for note in table.notes)
    refused = read(tmp_path, "a;b\n1,5;2.5\n2,5;3.5\n").refused
    assert set(refused) == {0}
    assert "--decimal" in refused[0]


def test_csv_blank_lines_and_quotes_over_lines(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,"b\nb"\n\n1,2\n   \n3,4\n\n')
    assert table.columns == ("a", "b\nb")
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n \n", "is empty"),
        (b"a,b\n1,2\n3\n", r"line 3: 1 cells, but 2"),
        (b"a,b\n1,2\n3,4,5\n", r"line 3: 3 cells, but 2"),
        (b'a,b\n1,"2\n', "line 2: unexpected end"),
        (b"a\0b", "neither csv"),
        (b"PK\x03\x04 no archive", "damaged"),
        (b"\x93NUMPY\x01\x00v", "damaged"),
        (b"PAR1 no parquet", "damaged|pyarrow"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content)


def test_hash_is_of_the_bytes(tmp_path: Path) -> None:
    data = b"a,b\n1,2\n"
    assert read(tmp_path, data).sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i1", "u8", "?", ">f8"])
def test_npy(tmp_path: Path, dtype: str) -> None:
    values = np.asfortranarray(np.arange(12).reshape(4, 3) % 2).astype(dtype)
    np.save(tmp_path / "a.npy", values)
    table = read_table(str(tmp_path / "a.npy"))
    np.testing.assert_array_equal(table.values, values.astype(float))
    assert table.columns == ("column 1", "column 2", "column 3")


def test_npy_of_named_columns(tmp_path: Path) -> None:
    values = np.array([(1, 2.5, "x"), (2, 3.5, "y")], dtype=[("a", "i4"), ("b", "f8"), ("c", "U1")])
    np.save(tmp_path / "a.npy", values)
    table = read_table(str(tmp_path / "a.npy"))
    assert table.columns == ("a", "b", "c")
    assert list(table.excluded) == [2]
    assert "text (record 1: 'x')" in table.excluded[2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.arange(3.0), r"\(N, 1\)"),
        (np.zeros((2, 2, 2)), "2-D"),
        (np.zeros((2, 2), complex), "real numbers"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.array([[object()]], dtype=object), "Python objects"),
    ],
)
def test_npy_of_anything_else_is_refused(tmp_path: Path, values: np.ndarray, message: str) -> None:
    np.save(tmp_path / "a.npy", values, allow_pickle=True)
    with pytest.raises(ValueError, match=message):
        read_table(str(tmp_path / "a.npy"))
    np.savez(tmp_path / "a.npz", x=values)
    with pytest.raises(ValueError, match=message):
        read_table(str(tmp_path / "a.npz"))


def test_npz_needs_a_key_when_it_holds_several(tmp_path: Path) -> None:
    path = str(tmp_path / "a.npz")
    np.savez(path, x=np.ones((2, 2)))
    assert read_table(path).values.shape == (2, 2)
    np.savez_compressed(path, x=np.ones((2, 2)), y=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="--key: x, y"):
        read_table(path)
    with pytest.raises(ValueError, match="no array 'z'; it holds x, y"):
        read_table(path, key="z")
    assert read_table(path, key="y").values.shape == (3, 2)


def test_options_of_another_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no npz or zip archive, so that key='x'"):
        read(tmp_path, "a,b\n1,2\n", key="x")
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    for option in ({"delimiter": ";"}, {"decimal": ","}, {"header": "no"}):
        with pytest.raises(ValueError, match="means nothing"):
            read_table(str(tmp_path / "a.npy"), **option)


def test_workbook_is_no_npz(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    with pytest.raises(ValueError, match="is damaged"):
        read_table(str(tmp_path / "a.xlsx"))


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {
        "i": pa.array([1, 2, None]),
        "f": pa.array([1.5, None, float("nan")], pa.float32()),
        "flag": pa.array([True, False, True]),
        "word": pa.array(["a", "b", "c"]),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = read_table(str(tmp_path / "a.parquet"))
    nan = np.nan
    np.testing.assert_array_equal(
        table.values, [[1, 1.5, 1, nan], [2, nan, 0, nan], [nan, nan, 1, nan]]
    )
    assert table.excluded == {3: "text in 3 of 3 cells (record 1: 'a')"}


def test_parquet_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"leakscore\[tables\]"):
        read_table(write(tmp_path / "a.parquet", b"PAR1PAR1"))
