"""Passes over a table on a cluster of this machine, beside one process: where workers pay.

Wall time, as that is what workers buy, and the CPU time of all processes, which they cost. The
results are asserted equal to the last bit.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from leakscore import single_threaded_blas
from leakscore.dask import cluster
from leakscore_app.passes.rows import FirstPass, first_pass
from leakscore_app.passes.runner import run as run_here
from leakscore_app.passes.runner import run_on
from leakscore_app.tables.sources.blocks import NpyPart, Source, numbered

COLUMNS, PASSES = 20, 2
ROWS = (65_536, 524_288, 2_097_152)


def _source(folder: str, rows: int) -> Source:
    path = Path(folder) / f"{rows}.npy"
    table = np.lib.format.open_memmap(path, "w+", np.float64, (rows, COLUMNS))
    rng = np.random.default_rng(rows)
    for start in range(0, rows, 65_536):
        part = table[start : start + 65_536]
        part[:] = rng.normal(size=part.shape)
    table.flush()
    return Source((NpyPart.of(str(path), path.name),), numbered(COLUMNS))


def _serial(source: Source) -> FirstPass:
    with single_threaded_blas():
        return run_here(source, first_pass).result()


def _worker_seconds(client: Any) -> float:
    return sum(client.run(time.process_time).values())


def _measured(call: Any, client: Any = None) -> tuple[float, float, FirstPass]:
    """Return the least wall time of some passes, their CPU time each, and a result."""
    walls = []
    before = time.process_time() + (0.0 if client is None else _worker_seconds(client))
    for _ in range(PASSES):
        start = time.perf_counter()
        result = call()
        walls.append(time.perf_counter() - start)
    after = time.process_time() + (0.0 if client is None else _worker_seconds(client))
    return min(walls), (after - before) / PASSES, result


def compare_sizes(folder: str) -> None:
    sources = {rows: _source(folder, rows) for rows in ROWS}
    alone = {rows: _measured(lambda s=source: _serial(s)) for rows, source in sources.items()}
    lines = {rows: [f"{alone[rows][0]:7.2f} {alone[rows][1]:7.2f}"] for rows in ROWS}
    for workers in (1, 2):
        start = time.perf_counter()
        with cluster.open_cluster(workers=workers) as client:
            ready = time.perf_counter() - start
            for rows, source in sources.items():
                wall, cpu, found = _measured(lambda s=source: run_on(client, s, first_pass), client)
                assert found.moments.to_bytes() == alone[rows][2].moments.to_bytes()
                lines[rows].append(f"{wall:7.2f} {cpu:7.2f} {alone[rows][0] / wall:6.2f}")
        print(f"a cluster of {workers} is ready after {ready:.1f} s")
    print(f"{'rows x 20':>10s} {'one: s':>7s} {'CPU s':>7s}", end="")
    print("".join(f" {f'{w}: s':>7s} {'CPU s':>7s} {'ratio':>6s}" for w in (1, 2)))
    for rows in ROWS:
        print(f"{rows:10,d} {' '.join(lines[rows])}")


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        compare_sizes(folder)
