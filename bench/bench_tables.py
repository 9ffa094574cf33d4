"""Reading a table whose marks are found out, beside readers that are told; and features."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import numpy as np

from bench._harness import allclose, compare, timed
from leakscore import statistics
from leakscore_app import report

_ROWS, _COLUMNS = 300_000, 20


def _direct(path: str) -> np.ndarray:
    """Parse numbers as pyarrow reads them: decimal points only, no check of anything."""
    from pyarrow import csv as reader

    table = reader.read_csv(path, reader.ReadOptions(use_threads=False))
    return np.column_stack([column.to_numpy() for column in table.columns])


def _cells(path: str) -> np.ndarray:
    """Parse cells with the standard library and numpy."""
    with Path(path).open(newline="") as file:
        rows = csv.reader(file, delimiter=";")
        next(rows)
        return np.array([[cell.replace(",", ".") for cell in row] for row in rows], np.float64)


def _text(path: str) -> None:
    """Split the file and cast its columns of text, without which no cell can be looked at."""
    from pyarrow import compute, float64, string
    from pyarrow import csv as reader

    names = [f"c{j}" for j in range(_COLUMNS)]
    convert = reader.ConvertOptions(column_types=dict.fromkeys(names, string()))
    table = reader.read_csv(path, reader.ReadOptions(use_threads=False), convert_options=convert)
    for column in table.columns:
        compute.cast(column, float64())


def run() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(_ROWS, _COLUMNS)).round(4) * 100
    names = ",".join(f"c{j}" for j in range(_COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        plain, german = str(Path(folder) / "t.csv"), str(Path(folder) / "g.csv")
        np.savetxt(plain, values, "%.4f", ",", header=names, comments="")
        text = Path(plain).read_text().replace(",", ";").replace(".", ",")
        Path(german).write_text("\n".join(text.splitlines()[: _ROWS // 10]))
        same = allclose(1e-12)
        compare(
            f"csv {_ROWS:,} x {_COLUMNS}",
            lambda: report.read_table(plain).values,
            lambda: _direct(plain),
            same=same,
            limit=min(timed(lambda: _text(plain))[0] for _ in range(3)),
            repeats=3,
            note="pyarrow's own numbers: nothing is checked; limit: its text, cast afterwards",
        )
        compare(
            f"decimal commas {_ROWS // 10:,} x {_COLUMNS}",
            lambda: report.read_table(german).values,
            lambda: _cells(german),
            same=same,
            repeats=3,
            note="csv module and numpy",
        )
    block = values[:100_000, :10]
    covariance = statistics.Covariance().on([f"c{j}" for j in range(10)])
    rows, columns = np.triu_indices(10)
    compare(
        "features of means and covariances, 100,000 x 10",
        lambda: covariance.features(block),
        lambda: np.hstack([block, block[:, rows] * block[:, columns]]),
        same=allclose(0.0),
        repeats=5,
    )
