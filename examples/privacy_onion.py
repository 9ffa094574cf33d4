"""The privacy onion: take out the records that leak most, and others come to leak more.

Leakage is relative. A record far from the mean of the table leaks little as long as others, further
out, make the covariance large. Remove those, estimate again, and the layer below is exposed: its
members, whose scores looked safe, are now the outliers. Removing outliers protects them and nobody
else.

The effect and its name are from Carlini, Jagielski, Zhang, Papernot, Terzis and Tramer, "The
privacy onion effect: memorization is relative" (NeurIPS 2022); Azize & Basu, "How Much Does Each
Datapoint Leak Your Privacy?" (2024) explain it by the Mahalanobis distance, as here.

Run it: python examples/privacy_onion.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore import Reference, leakage, tradeoff

Doubles = npt.NDArray[np.float64]

RECORDS, DIM, OUTLIERS = 4000, 20, 0.05


@dataclass(frozen=True)
class Layer:
    """What taking out the outermost records does to those that stay."""

    kept: npt.NDArray[np.intp]  # their rows
    before: Doubles  # their squared Mahalanobis distances in the whole table
    after: Doubles  # and in the table of those kept


def table(rng: np.random.Generator) -> Doubles:
    """Draw records of which a twentieth has five times the standard deviation of the others."""
    scale = np.where(rng.random(RECORDS) < OUTLIERS, 5.0, 1.0)
    return scale[:, np.newaxis] * rng.standard_normal((RECORDS, DIM))


def peel(X: Doubles, share: float) -> Layer:
    """Take out the share of records with the largest distances, and score the others again."""
    distances = Reference.fit(X).squared_mahalanobis(X)
    kept = np.sort(np.argsort(distances)[: len(X) - round(share * len(X))])
    return Layer(kept, distances[kept], Reference.fit(X[kept]).squared_mahalanobis(X[kept]))


def main() -> None:
    """Peel three layers and print what each does to the records below."""
    X, n = table(np.random.default_rng(1)), 100
    print(f"Mean of n = {n} of these records: power at 1 % false positives of the surest attack\n")
    print("records kept   mean distance   of all records kept   power against the worst")
    print("               before  after   more exposed now      before  after")
    for _ in range(3):
        layer = peel(X, OUTLIERS)
        worst = [
            float(tradeoff.gaussian(leakage=distances.max() / n).power(0.01))
            for distances in (layer.before, layer.after)
        ]
        print(
            f"{len(layer.kept):12d} {layer.before.mean():8.2f} {layer.after.mean():6.2f}   "
            f"{(layer.after > layer.before).mean():12.1%} {worst[0]:17.3f} {worst[1]:6.3f}"
        )
        X = X[layer.kept]
    left_out = leakage.leave_one_out(X, Reference.fit(X), n)
    print(
        f"\nLeft out, as it should be scored, the worst record kept has m = {left_out.max():.2f}."
    )


if __name__ == "__main__":
    main()
