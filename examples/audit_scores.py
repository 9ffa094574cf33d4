"""A noisy mean that claims too much: audit the scores of an attack on it, as a test would.

The mean of n records, 100 columns each in [0, 1], is published with Gaussian noise that is to make
it (1, 1e-5)-differentially private. Whoever wrote it took 1/n for the largest change that a record
makes, which is true of one column; of 100 columns it is 10/n, so that the noise is ten times too
small. Every test of the noise itself passes. The audit plays rounds with and without a canary of
ones, scores each by how much of the canary is in the mean, and refutes the claim. With the right
noise the same audit is consistent with the claim, which does not prove it.

Run it: python examples/audit_scores.py [FILE to keep the scores of the wrong noise in]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from leakscore import tradeoff
from leakscore_app.cli import main as leakscore

RECORDS, COLUMNS, ROUNDS = 1000, 100, 2000
EPSILON, DELTA = 1.0, 1e-5


def noise_std(sensitivity: float) -> float:
    """Return the noise of a Gaussian mechanism with the claimed epsilon and delta."""
    return sensitivity * tradeoff.calibrate("gaussian", epsilon=EPSILON, delta=DELTA)


def play(path: Path, noise: float, rng: np.random.Generator) -> None:
    """Write the score and the membership of the canary of every round."""
    member = rng.random(ROUNDS) < 0.5
    means = np.outer(member, np.ones(COLUMNS)) / RECORDS  # the other records are zeros
    means += noise * rng.standard_normal(means.shape)
    table = np.column_stack([means.sum(axis=1), member])
    np.savetxt(path, table, fmt=("%.9g", "%d"), delimiter=",", header="score,member", comments="")


def audit(path: Path) -> int:
    """Hold the claim against the scores: 0 consistent, 2 refuted, 3 inconclusive."""
    command = f"audit {path} --claimed-epsilon {EPSILON} --delta {DELTA} --neighbours replace"
    return leakscore([*command.split(), "--quiet"])


def main(kept: str | None = None) -> None:
    """Audit the wrong noise and the right one."""
    rng = np.random.default_rng(0)
    words = {0: "consistent", 2: "refuted", 3: "inconclusive"}
    with tempfile.TemporaryDirectory() as folder:
        for name, sensitivity in (
            ("for one column", 1 / RECORDS),
            ("for all columns", COLUMNS**0.5 / RECORDS),
        ):
            path = Path(kept if kept and name == "for one column" else f"{folder}/scores.csv")
            play(path, noise_std(sensitivity), rng)
            code = audit(path)
            print(f"noise {name}: exit code {code}, {words.get(code, 'error')}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
