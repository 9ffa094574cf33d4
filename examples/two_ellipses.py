"""Two ellipses: why noise in a few directions hides what noise in every column must pay for.

A record is within a limit on its leakage if it lies in the ellipse of C + S, where C is the
covariance of one record and S that of the noise, times n. Without noise that ellipse is too small
for a few records. Equal noise in every column makes it larger on all sides until the farthest of
them is inside. The noise of least cost stretches it towards these records alone.

The script prints the ellipses of a table of two columns, and what each costs.

Run it: python examples/two_ellipses.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore import Reference, leakage

Doubles = npt.NDArray[np.float64]

RECORDS, LIMIT = 300, 0.1


@dataclass(frozen=True)
class Ellipse:
    """The records within a limit under some noise: z with (z - mean)' K^-1 (z - mean) <= 1."""

    name: str
    K: Doubles
    outside: int  # records that are not in it
    cost: float  # squared noise in standard errors, added over the columns

    @property
    def axes(self) -> Doubles:
        """Half the lengths of its axes, the shorter one first."""
        return np.asarray(np.sqrt(np.linalg.eigvalsh(self.K)))


def table(rng: np.random.Generator) -> Doubles:
    """Draw records of two columns that vary together, and three that break the pattern."""
    X = rng.standard_normal((RECORDS, 2)) @ np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]]).T
    X[:3] = [[2.5, -2.5], [-2.2, 2.4], [2.0, -2.1]]
    return X


def ellipses(X: Doubles) -> tuple[Ellipse, Ellipse, Ellipse]:
    """Return the ellipse without noise, and those of equal noise and of the best shape."""
    reference, n = Reference.fit(X), len(X)
    equal = leakage.noise_for(X, reference, n, max_advantage=LIMIT)
    best = leakage.noise_for(X, reference, n, max_advantage=LIMIT, shape="optimal")
    assert best.covariance is not None
    noises = {
        "no noise": np.zeros((2, 2)),
        "equal in every column": np.diag(equal.noise_std**2),
        "of least cost": best.covariance,
    }
    found = []
    for name, noise in noises.items():
        K = n * best.max_leakage * (reference.cov + n * noise)
        away = X - reference.mean
        distances = np.einsum("ij,ji->i", away, np.linalg.solve(K, away.T))
        cost = float(np.sum(n * np.diag(noise) / reference.variances))
        found.append(Ellipse(name, K, int((distances > 1 + 1e-9).sum()), cost))
    return found[0], found[1], found[2]


def main() -> None:
    """Print the three ellipses."""
    X = table(np.random.default_rng(1))
    print(f"Mean of {RECORDS} records, advantage of at most {LIMIT:g} of every record\n")
    print("noise                    half axes      records outside   cost")
    for one in ellipses(X):
        short, long = one.axes
        print(f"{one.name:22s} {short:6.2f} {long:6.2f} {one.outside:12d} {one.cost:13.2f}")


if __name__ == "__main__":
    main()
