"""N1: chi2 and ncx2 beside scipy.stats, from small to huge parameters, at every ISA level.

scipy is the only numpy-facing rival; where its own error is larger than the agreement asked for
here, the tolerance says so (its chi2.cdf is wrong in the third digit at df 1e7).
"""

from __future__ import annotations

import numpy as np
import scipy.stats

import leakscore
from bench._harness import allclose, compare, differs
from bench.levels import levels
from leakscore import distributions

COUNT = 50_000
SCIPY_SECONDS = 0.4  # what one call of scipy may take: slow laws get fewer elements, on both sides

# df, nc, scipy's nanoseconds per element for cdf (roughly), rtol of the comparison
LAWS = [
    (1.0, 1.0, 1e3, 1e-11),
    (2.0, 10.0, 1e3, 1e-11),
    (10.0, 25.0, 2e3, 1e-10),
    (50.0, 1e3, 6e3, 1e-10),
    (1000.0, 100.0, 3e3, 1e-9),
    (62006.0, 1e4, 2e4, 1e-9),
    (1e7, 1e7, 1e6, 1e-6),
]
CENTRAL = [(1.0, 1e-11), (10.0, 1e-11), (50.0, 1e-11), (1e4, 1e-9), (1e6, 1e-6)]


def inputs(df: float, nc: float) -> dict[str, np.ndarray]:
    """Return unsorted x over -6 to 8 standard deviations, and probabilities."""
    rng = np.random.default_rng(11)
    x = df + nc + np.sqrt(2 * df + 4 * nc) * rng.uniform(-6, 8, COUNT)
    x = np.where(x <= 0, rng.uniform(0, df + nc, COUNT), x)
    return {"cdf": x, "logsf": x, "pdf": x, "ppf": rng.uniform(1e-3, 0.999, COUNT)}


def measure(isa: str, law: str, parameters: tuple[float, ...], cost: float, rtol: float) -> None:
    """Time four functions of one law on both sides."""
    df, nc = (*parameters, 0.0)[:2]
    for name, values in inputs(df, nc).items():
        slowness = 8 if name == "ppf" else 1
        some = values[: max(128, int(SCIPY_SECONDS / (1e-9 * cost * slowness)))]
        ours = getattr(getattr(distributions, law), name)
        theirs = getattr(getattr(scipy.stats, law), name)
        row = compare(
            f"N1 {isa} {law}.{name} {', '.join(f'{p:g}' for p in parameters)}",
            lambda ours=ours, some=some: ours(some, *parameters),
            lambda theirs=theirs, some=some: theirs(some, *parameters),
            same=allclose(rtol=rtol, atol=1e-8 if name == "logsf" else 1e-300),
            repeats=3,
            note=differs("scipy", ours(some, *parameters), theirs(some, *parameters)),
        )
        mine, other = (1e9 * seconds[0] / some.size for seconds in (row.ours, row.reference))
        print(f"{'':4s}{mine:.0f} ns per element, scipy {other:.0f}")


def run() -> None:
    best = leakscore.active_isa()
    for isa in levels():
        for df, nc, cost, rtol in LAWS if isa == best else LAWS[:5]:
            measure(isa, "ncx2", (df, nc), cost, rtol)
        for df, rtol in CENTRAL:
            measure(isa, "chi2", (df,), 2e3, rtol)
