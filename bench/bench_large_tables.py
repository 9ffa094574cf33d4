"""Reports on long tables: CPU seconds and peak memory of a process of its own, from outside."""

from __future__ import annotations

import resource
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


def report(path: Path) -> tuple[float, float]:
    """Judge a file in a process of its own; return CPU seconds and megabytes."""
    code = (
        "import resource, sys; from leakscore.cli import main; "
        "main(['report', sys.argv[1], '--quiet', '--json', sys.argv[1] + '.json']); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, int(done.stdout.split()[-1]) / 1024


def run() -> None:
    """Print the table."""
    print(f"{'file':>28} {'CPU s':>8} {'MB':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for write, suffix, rows in (
            (write_csv, "csv", 300_000),
            (write_parquet, "parquet", 1_000_000),
            (write_parquet, "parquet", 3_000_000),
        ):
            path = Path(folder) / f"{rows}.{suffix}"
            write(path, rows, 20)
            seconds, megabytes = report(path)
            print(f"{f'{rows} x 20 {suffix}':>28} {seconds:8.1f} {megabytes:6.0f}")
            path.unlink()


if __name__ == "__main__":
    run()
