"""Reports on long and wide tables: CPU seconds and peak memory of a process of its own.

What pandas and numpy take for the leverages alone stands beside.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

_BLOCK = 100_000


def write_parquet(path: Path, rows: int, columns: int) -> None:
    """Write numbers from Student's t with 5 degrees of freedom, a row group at a time."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(columns)]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for first in range(0, rows, _BLOCK):
            values = rng.standard_t(5, size=(min(_BLOCK, rows - first), columns))
            writer.write_table(pyarrow.table(dict(zip(names, values.T, strict=True))))


def write_csv(path: Path, rows: int, columns: int) -> None:
    """Write the same as text, six digits after the point."""
    values = np.random.default_rng(0).standard_t(5, size=(rows, columns))
    header = ",".join(f"c{j}" for j in range(columns))
    np.savetxt(path, values, "%.6f", ",", header=header, comments="")


def write_levels(path: Path, rows: int, levels: int) -> None:
    """Write two columns of categories."""
    given = np.random.default_rng(0).integers(levels, size=(rows, 2))
    np.savetxt(path, given, "a%d,b%d", header="a,b", comments="")


def write_cells(path: Path, rows: int) -> None:
    """Write two columns of categories, 5 x 8 cells, and one of numbers."""
    rng = np.random.default_rng(0)
    given = [rng.integers(5, size=rows), rng.integers(8, size=rows), rng.normal(50, 15, rows)]
    np.savetxt(path, np.column_stack(given), "a%d,b%d,%.1f", header="a,b,x", comments="")


REPORT = """
import sys
from leakscore_app.cli import main
main(["report", *sys.argv[1].split(), "--quiet"])
"""
NOISY = "--n 20000 --max-advantage 0.01"
"""A limit that takes shaped noise."""
PANDAS = """
import sys
import numpy as np
import pandas
read = pandas.read_csv if sys.argv[1].endswith("csv") else pandas.read_parquet
values = read(sys.argv[1]).to_numpy()
centred = values - values.mean(axis=0)
root = np.linalg.cholesky(centred.T @ centred)
leverage = (np.linalg.solve(root, centred.T) ** 2).sum(axis=0)
print(np.sort(leverage / (1 - leverage))[-5:])
"""
# A process inherits the peak of the one that starts it: until exec replaces the memory, its peak is
# that of the parent, and Linux keeps it. So a small process starts the command, and reports what
# the system counted for its only child.
RUNNER = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-c", *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
TARGETS = {"csv 300000": (3, 300), "parquet 3000000": (9, 500), "noise 3000000": (18, 600)}
WIDE = {
    (5000, 785): (6.9, 600),
    (24, 800): (4, 300),
    (24, 1729): (10.2, 600),
    (3, 100_000): (1.8, 150),
}
"""Rows and columns, and the limits; of 100,000 columns the header is refused."""


def measured(code: str, argument: str) -> tuple[float, float]:
    """Run code in a process of its own; return its CPU seconds and megabytes."""
    command = [sys.executable, "-c", RUNNER, code, argument]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) / 1024


def run() -> None:
    """Print the report's CPU seconds and memory, beside those of the largest leverages by pandas.

    pandas and numpy read the table whole and score it to one attacker, without games and remedies.
    """
    seconds, size = measured(REPORT, "")
    print(f"{'file':>24} {'report: CPU s':>14} {'MB':>5} {'limits':>9} {'pandas':>14} {'MB':>5}")
    print(f"{'the embedded table':>24} {seconds:14.1f} {size:5.0f}")
    with tempfile.TemporaryDirectory() as folder:
        for write, suffix, rows in (
            (write_csv, "csv", 300_000),
            (write_parquet, "parquet", 3_000_000),
        ):
            path = Path(folder) / f"{rows}.{suffix}"
            write(path, rows, 20)
            plain, whole = measured(PANDAS, str(path))
            for what, options in ((suffix, ""), ("noise", NOISY))[: 1 if suffix == "csv" else 2]:
                seconds, size = measured(REPORT, f"{path} {options}")
                most = "{} s, {}".format(*TARGETS[f"{what} {rows}"])
                name = f"{rows} x 20 {what}"
                print(
                    f"{name:>24} {seconds:14.1f} {size:5.0f} {most:>9} {plain:14.1f} {whole:5.0f}"
                )
            path.unlink()
        path = Path(folder) / "table.csv"
        write_levels(path, 1_000_000, 20)
        _show("counts of 400 cells", f"{path} --statistic counts --group-by a,b", (3.6, 500))
        write_cells(path, 1_000_000)
        _show("means of 40 cells", f"{path} --group-by a,b", (30, 1000))
        for (rows, columns), most in WIDE.items():
            write_csv(path, rows, columns)
            _show(f"{rows} x {columns} csv", str(path), most)


def _show(name: str, options: str, most: tuple[float, int]) -> None:
    seconds, size = measured(REPORT, options)
    print(f"{name:>24} {seconds:14.1f} {size:5.0f} {'{} s, {}'.format(*most):>9}")


if __name__ == "__main__":
    run()
