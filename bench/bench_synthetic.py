"""An audit of a synthetic table: 50,000 x 20 to train on, held out and made, read from npy."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path

import numpy as np

from bench._harness import timed
from leakscore_app import audit_synthetic

ROWS, COLUMNS = 50_000, 20
TARGETS = "60 s, 2048 MiB"


def run() -> None:
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(COLUMNS, COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{name}.npy") for name in ("train", "holdout", "synthetic")]
        for path in paths:
            np.save(path, rng.normal(size=(ROWS, COLUMNS)) @ mix)
        seconds, result = timed(lambda: audit_synthetic(*paths))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"three tables of {ROWS} x {COLUMNS}: {seconds:.1f} s, {peak:.0f} MiB ({TARGETS})")
    print(f"verdict: {result.verdict}")
