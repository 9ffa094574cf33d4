"""Trade-off curves at 1e5 alphas, beside scipy.stats and numpy on the same formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.special
import scipy.stats

from bench._harness import allclose, compare
from leakscore.tradeoff import laplace, relaxed_gaussian, relaxed_laplace

COUNT = 100_000
MU = 1.5

Call = Callable[[np.ndarray], np.ndarray]


def _laplace(alpha: np.ndarray) -> np.ndarray:
    return np.where(
        alpha < np.exp(-MU) / 2,
        1 - np.exp(MU) * alpha,
        np.where(alpha <= 0.5, np.exp(-MU) / (4 * alpha), np.exp(-MU) * (1 - alpha)),
    )


def _relaxed_laplace(alpha: np.ndarray) -> np.ndarray:
    arc = np.exp(-MU) * (1 / alpha - alpha) / 2
    return np.where(alpha >= np.exp(-MU), arc, 1 - alpha * np.cosh(MU))


def _one(alpha: np.ndarray) -> np.ndarray:
    z = -scipy.special.ndtri(alpha / 2)
    return np.asarray(scipy.special.ndtr(z - MU) - scipy.special.ndtr(-z - MU))


def _many(dim: int) -> Call:
    def beta(alpha: np.ndarray) -> np.ndarray:
        threshold = scipy.special.chdtri(dim, alpha)
        return np.asarray(scipy.special.chndtr(threshold, dim, MU**2))

    return beta


def digits(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Say how far scipy is from ours, whose tails have the errors of docs/reference."""
    return f"scipy differs by up to {np.abs(theirs / ours - 1).max():.0e} of the value"


def run() -> None:
    alpha = np.random.default_rng(5).uniform(1e-6, 0.999, COUNT)
    cases: list[tuple[str, Call, Call, int]] = [
        ("laplace", laplace(MU), _laplace, COUNT),
        ("relaxed_laplace", relaxed_laplace(MU), _relaxed_laplace, COUNT),
        ("relaxed_gaussian, dim 1", relaxed_gaussian(MU), _one, COUNT),
        ("relaxed_gaussian, dim 10", relaxed_gaussian(MU, 10), _many(10), COUNT),
        ("relaxed_gaussian, dim 1e4", relaxed_gaussian(MU, 10**4), _many(10**4), COUNT // 10),
        ("relaxed_gaussian, dim 1e6", relaxed_gaussian(MU, 10**6), _many(10**6), COUNT // 100),
    ]
    for name, ours, theirs, count in cases:
        some = alpha[:count]
        row = compare(
            f"{name}, {count} alphas, beside scipy",
            lambda ours=ours, some=some: ours(some),
            lambda theirs=theirs, some=some: theirs(some),
            same=allclose(rtol=1e-9, atol=1e-9),
            note=digits(ours(some), theirs(some)) if name.startswith("relaxed_gauss") else "",
        )
        print(f"{'':4s}{1e9 * row.ours[0] / count:.1f} ns per alpha")


if __name__ == "__main__":
    run()
