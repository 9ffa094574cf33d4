"""The exact Kolmogorov law and Clopper-Pearson bounds beside scipy.special."""

from __future__ import annotations

import numpy as np
import scipy.special

from bench._harness import allclose, compare, timed
from bench.levels import levels
from leakscore.distributions import clopper_pearson, kolmogorov

SIZES = {100: 2000, 1000: 400, 10_000: 60, 100_000: 5, 1_000_000: 1}


def kolmogorov_rows(isa: str) -> None:
    rng = np.random.default_rng(47)
    for n, count in SIZES.items():
        x = (0.3 + np.abs(rng.normal(size=count))) / np.sqrt(n)
        compare(
            f"{isa} kolmogorov.sf, n={n}, {count} points",
            lambda x=x, n=n: kolmogorov.sf(x, n),
            lambda x=x, n=n: scipy.special.smirnov(n, x),
            same=allclose(rtol=1e-11),
            repeats=3 if n >= 100_000 else 7,
        )
        many = np.resize(x, 2000)
        alone = min(timed(lambda many=many, n=n: kolmogorov.sf(many, n))[0] for _ in range(5))
        print(f"{'':4s}{1e9 * alone / many.size:.0f} ns per element")
    for n, count in {100: 400, 1000: 50}.items():
        q = rng.uniform(size=count)
        row = compare(
            f"{isa} kolmogorov.isf, n={n}, {count} points",
            lambda q=q, n=n: kolmogorov.isf(q, n),
            lambda q=q, n=n: scipy.special.smirnovi(n, q),
            same=allclose(rtol=1e-9),
            repeats=5,
        )
        print(f"{'':4s}{1e9 * row.ours[0] / count:.0f} ns per element")


def clopper_pearson_rows(isa: str) -> None:
    rng = np.random.default_rng(48)
    count = 20_000
    for n in (100, 10_000, 10**7, 10**9):
        for what, k in (
            ("any k", rng.integers(1, n - 1, count).astype(float)),
            ("small k", np.minimum(n - 2, rng.integers(1, 20, count)).astype(float)),
        ):
            row = compare(
                f"{isa} clopper_pearson, n={n}, {what}",
                lambda k=k, n=n: clopper_pearson(k, n, 0.975),
                lambda k=k, n=n: (
                    scipy.special.betaincinv(k + 1, n - k, 0.975),
                    scipy.special.betaincinv(n - k, k + 1, 0.025),
                ),
                same=allclose(rtol=1e-7),  # scipy's error at small k and large n
                repeats=5,
            )
            print(f"{'':4s}{1e9 * row.ours[0] / count:.0f} ns per pair of bound and complement")


def run() -> None:
    for isa in levels():
        kolmogorov_rows(isa)
        clopper_pearson_rows(isa)
