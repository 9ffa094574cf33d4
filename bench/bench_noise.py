"""The noise of least cost: what each shape costs, and the time beside a penalty method in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench._harness import compare, timed
from leakscore import Reference
from leakscore.leakage import noise_for, noise_for_table

Array = np.ndarray[Any, Any]
SHAPES = ("column-sd", "scalar", "optimal-diagonal", "optimal")
PENALTIES = 10.0 ** np.arange(3, 8)


@dataclass(frozen=True)
class Case:
    """A table, the records that are averaged, and the limit."""

    name: str
    X: Array
    n: int
    advantage: float

    def noise(self, shape: Any) -> Any:
        given = {"max_advantage": self.advantage, "shape": shape}
        return noise_for(self.X, Reference.fit(self.X), self.n, **given)


def cases() -> list[Case]:
    """Return the tables: scikit-learn's, and one of heavy tails."""
    from sklearn import datasets

    cancer = datasets.load_breast_cancer().data
    heavy = np.random.default_rng(1).standard_t(3, size=(2000, 20))
    return [
        Case("Wisconsin 569 x 30, n = 569", cancer, 569, 0.2),
        Case("Wisconsin 569 x 30, n = 100", cancer, 100, 0.2),
        Case("Wisconsin 569 x 30, n = 100", cancer, 100, 0.5),
        Case("diabetes 442 x 10, n = 221", datasets.load_diabetes().data, 221, 0.1),
        Case("wine 178 x 13, n = 89", datasets.load_wine().data, 89, 0.1),
        Case("iris 150 x 4, n = 75", datasets.load_iris().data, 75, 0.1),
        Case("Student t3 2000 x 20, n = 200", heavy, 200, 0.2),
    ]


def penalty(case: Case) -> float:
    """Return the cost by L-BFGS on a square factor with a growing penalty, then scaled."""
    from scipy.optimize import minimize

    reference = Reference.fit(case.X)
    scale = 1 / np.sqrt(reference.variances)
    C = reference.cov * scale * scale[:, np.newaxis]
    limit = case.n * case.noise("optimal").max_leakage
    Y = (case.X - reference.mean) * scale / np.sqrt(limit)
    d = len(C)
    order = np.argsort(-np.einsum("ij,ji->i", Y, np.linalg.solve(C, Y.T)))
    some = Y[order[:300]]

    def value(x: Array, weight: float) -> tuple[float, Array]:
        L = x.reshape(d, d)
        at = np.linalg.solve(C + L @ L.T, some.T)
        over = np.maximum(np.einsum("ij,ji->i", some, at) - 1, 0.0)
        slope = 2 * L - weight * 4 * ((at * over) @ at.T) @ L
        return float(np.sum(L * L) + weight * np.sum(over**2)), slope.ravel()

    x = np.eye(d).ravel()
    for weight in PENALTIES:
        options = {"maxiter": 500, "maxfun": 2000}
        x = minimize(value, x, (weight,), method="L-BFGS-B", jac=True, options=options).x
    S = x.reshape(d, d) @ x.reshape(d, d).T
    low, high = 0.5, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        worst = np.einsum("ij,ji->i", Y, np.linalg.solve(C + middle * S, Y.T)).max()
        low, high = (low, middle) if worst <= 1 else (middle, high)
    return high * float(np.trace(S))


def _no_dearer(ours: Any, reference: Any) -> None:
    assert ours <= reference * (1 + 1e-4)
    assert ours >= 0.9 * reference


def shapes() -> None:
    """Print the noise in standard errors of each column's mean, root mean square over columns."""
    print(f"{'table, limit on the advantage':36s}" + "".join(f"{s:>18s}" for s in SHAPES))
    for case in cases():
        sizes = [np.sqrt(np.mean(case.noise(s).standard_errors ** 2)) for s in SHAPES]
        best = case.noise("optimal")
        print(
            f"{case.name + f', {case.advantage}':36s}"
            + "".join(f"{size:18.3f}" for size in sizes)
            + f"  variance saved {(sizes[0] / sizes[-1]) ** 2:5.1f}x  gap {best.gap:.0e}"
        )


def large(rows: int = 100_000, dim: int = 200) -> None:
    """Time one large table, for which the penalty method takes too long."""
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(np.eye(dim) / 2 + 0.5)
    X = rng.standard_t(3, size=(rows, dim)) @ root.T
    seconds, found = timed(lambda: noise_for_table(X, 1000, max_advantage=0.2))
    print(f"{rows} x {dim}, left out: {seconds:.1f} s of CPU time, gap {found.gap:.0e}")


def wide(rows: int = 400, dim: int = 7850, canaries: int = 20) -> None:
    """Time a low-rank reference of gradients, for which a matrix takes 0.5 GB."""
    rng = np.random.default_rng(0)
    known = rng.standard_t(3, size=(rows + canaries, dim)) * rng.uniform(0.1, 2, dim)
    known /= np.maximum(np.linalg.norm(known, axis=1, keepdims=True), 1)
    ridge = 0.1 * float(known[:rows].var(axis=0).mean())
    reference = Reference.fit(known[:rows], "low-rank", shrinkage=0.0, ridge=ridge)
    given: Any = {"max_advantage": 0.2, "shape": "optimal"}
    seconds, found = timed(lambda: noise_for(known[rows:], reference, 64, **given))
    print(f"{canaries} canaries x {dim}, {rows} rows of a low-rank reference: ", end="")
    print(f"{seconds:.1f} s of CPU time, gap {found.gap:.0e}")


def run() -> None:
    """Print both tables."""
    shapes()
    for case in cases():
        compare(
            f"optimal shape, {case.name}, {case.advantage}",
            lambda case=case: case.noise("optimal").cost,  # type: ignore[misc]
            lambda case=case: penalty(case),  # type: ignore[misc]
            same=_no_dearer,
            repeats=1,
        )
    large()
    wide()
