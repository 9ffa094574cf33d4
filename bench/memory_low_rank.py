"""Most memory that a process needs for a low-rank reference and its scores, measured from outside.

    python -m bench.memory_low_rank ROWS DIM [FILE]

fits float32 rows and scores one target in a process of its own. With a file, the rows are written
to it and read as a memory map: pages of it count while they are in use.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np

WORK = """
import resource, sys, numpy as np
from leakscore import Reference, scores
rows, dim, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def report(step):
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"  after {step:24s} {most / 1e9:7.3f} GB, {most / (4 * rows * dim):5.2f} of the rows")
rng = np.random.default_rng(0)
if path:
    X = np.load(path, mmap_mode="r")
else:
    X = np.empty((rows, dim), dtype=np.float32)
    for row in X:
        rng.standard_normal(dtype=np.float32, out=row)
report("making the rows")
known = Reference.fit(X, "low-rank")
report("the fit")
target = rng.standard_normal(dim, dtype=np.float32)
scores.covariance_score(target / 9, target, known, 50)
report("scoring one target")
"""


def run(rows: int, dim: int, path: str = "") -> None:
    """Print the most memory of a process after each step, as the system saw it at its end too."""
    if path:
        table = np.lib.format.open_memmap(path, "w+", np.float32, (rows, dim))
        rng = np.random.default_rng(0)
        for row in table:
            row[:] = rng.standard_normal(dim, dtype=np.float32)
        table.flush()
        del table
    print(f"low-rank reference of {rows} x {dim} float32: {4e-9 * rows * dim:.3f} GB")
    call = [sys.executable, "-c", WORK, str(rows), str(dim), path]
    print(subprocess.run(call, check=True, capture_output=True, text=True).stdout, end="")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"  seen from outside        {most / 1e9:13.3f} GB, {most / (4 * rows * dim):5.2f}")


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])
