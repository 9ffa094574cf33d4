"""Mean bounds from an independent simulation in plain numpy, to two decimals."""

from __future__ import annotations

__all__ = ["MEANS", "MEANS_ROUNDS"]

MEANS_ROUNDS = 1000  # audits of each mechanism, at least

_METHODS = (
    "dkw-two-sided",
    "dkw",
    "ks",
    "bonferroni",
    "berk-jones",
    "ell",
    "weighted-ell",
    "split",
    "uncorrected",
)

# Mechanism, number of scores of each kind, delta: the methods in the order above.
_TABLE: dict[tuple[str, int, float], tuple[float, ...]] = {
    ("Gaussian 1", 100, 1e-5): (0.34, 0.41, 0.42, 0.29, 0.44, 0.44, 0.47, 0.22, 0.97),
    ("Gaussian 3", 100, 1e-5): (1.51, 1.61, 1.62, 2.02, 2.44, 2.24, 2.47, 1.89, 2.9),
    ("Gaussian 1", 1000, 1e-5): (0.94, 0.99, 0.99, 1.11, 1.35, 1.33, 1.39, 1.1, 1.85),
    ("Gaussian 3", 1000, 1e-5): (2.58, 2.66, 2.67, 3.74, 4.31, 4.08, 4.4, 3.8, 4.81),
    ("Gaussian 1", 100, 1e-2): (0.31, 0.38, 0.39, 0.26, 0.4, 0.4, 0.43, 0.2, 0.91),
    ("Gaussian 3", 100, 1e-2): (1.5, 1.59, 1.61, 2.01, 2.43, 2.22, 2.45, 1.87, 2.89),
    ("Gaussian 1", 1000, 1e-2): (0.91, 0.95, 0.95, 1.03, 1.23, 1.23, 1.26, 1.01, 1.68),
    ("Gaussian 3", 1000, 1e-2): (2.57, 2.65, 2.65, 3.72, 4.29, 4.06, 4.37, 3.78, 4.79),
    ("mixture 0.1, 3", 100, 1e-5): (0.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01, 0.01, 0.21),
    ("Laplace 0.5", 100, 1e-5): (0.02, 0.04, 0.05, 0.01, 0.01, 0.02, 0.02, 0.01, 0.17),
    ("Laplace 1", 100, 1e-5): (0.3, 0.36, 0.37, 0.2, 0.28, 0.3, 0.29, 0.19, 0.61),
    ("Laplace 2", 100, 1e-5): (0.88, 0.95, 0.97, 0.9, 1.03, 1.03, 1.07, 0.82, 1.45),
    ("response 1", 100, 1e-5): (0.36, 0.41, 0.42, 0.25, 0.32, 0.34, 0.33, 0.39, 0.59),
    ("response 3", 100, 1e-5): (1.47, 1.55, 1.57, 1.73, 1.89, 1.87, 1.96, 1.96, 2.29),
    ("mixture 0.1, 3", 1000, 1e-5): (0.06, 0.11, 0.11, 0.93, 1.49, 1.33, 1.55, 1.21, 2.16),
    ("Laplace 0.5", 1000, 1e-5): (0.3, 0.32, 0.32, 0.23, 0.28, 0.29, 0.27, 0.23, 0.41),
    ("Laplace 1", 1000, 1e-5): (0.74, 0.77, 0.77, 0.68, 0.74, 0.75, 0.73, 0.64, 0.89),
    ("Laplace 2", 1000, 1e-5): (1.5, 1.54, 1.54, 1.54, 1.63, 1.64, 1.64, 1.51, 1.86),
    ("response 1", 1000, 1e-5): (0.79, 0.81, 0.81, 0.73, 0.78, 0.78, 0.77, 0.82, 0.88),
    ("response 3", 1000, 1e-5): (2.3, 2.35, 2.35, 2.49, 2.59, 2.6, 2.61, 2.69, 2.78),
}

# Fair coins, delta = 1e-5: number of rounds, mean of sorted-bits.
_COINS = {
    ("Gaussian 0.5", 200): 0.25,
    ("Gaussian 0.5", 2000): 0.68,
    ("Gaussian 1", 200): 0.93,
    ("Gaussian 1", 2000): 1.64,
    ("Gaussian 3", 200): 2.89,
    ("Gaussian 3", 2000): 4.32,
    ("Laplace 1", 200): 0.56,
    ("Laplace 1", 2000): 0.83,
    ("Laplace 2", 200): 1.39,
    ("Laplace 2", 2000): 1.76,
}

# One training with 200 canaries, delta = 1e-5: one_run with all guessed, with a tenth, one_run_fdp.
_CANARY_METHODS = ("one_run, all guessed", "one_run, a tenth", "one_run_fdp, Gaussian, a tenth")
_CANARIES = {
    "Gaussian 0.5": (0.16, 0.26, 0.37),
    "Gaussian 1": (0.55, 1.00, 1.53),
    "Gaussian 3": (2.10, 1.82, 2.89),
}

MEANS = {
    **{
        (law, str(size), delta): dict(zip(_METHODS, means, strict=True))
        for (law, size, delta), means in _TABLE.items()
    },
    **{(law, f"{n} coins", 1e-5): {"sorted-bits": mean} for (law, n), mean in _COINS.items()},
    **{
        (law, "200 canaries", 1e-5): dict(zip(_CANARY_METHODS, means, strict=True))
        for law, means in _CANARIES.items()
    },
}
