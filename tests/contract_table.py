"""One good call of every public function; test_contract.py derives the odd and the bad ones.

The values are multiples of 1/16 below 8, so that float16, float32 and float64 hold the same numbers
and every dtype must give the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import leakscore
from leakscore import audit, games, leakage, scores, tradeoff
from leakscore.distributions import norm

Array = npt.NDArray[Any]

# What a call does with NaN and inf: "data" refuses both, "scores" may be infinite but not NaN, the
# points of a "curve" neither NaN nor out of range, and "elementwise" functions hand NaN on. Only
# curves and elementwise functions take numbers and empty arrays.
Kind = Literal["data", "scores", "curve", "elementwise"]


@dataclass(frozen=True)
class Call:
    """A function of named arrays and named single numbers, and good values for both."""

    run: Callable[..., Any]
    arrays: dict[str, Array] = field(default_factory=dict)
    kind: Kind = "data"
    scalars: dict[str, tuple[Any, tuple[Any, ...]]] = field(default_factory=dict)  # good, bad ones
    number_will_do: bool = False  # one number for all coordinates


def _multiples(seed: int, *shape: int, scale: float = 1.0) -> Array:
    values = np.random.default_rng(seed).normal(scale=scale, size=shape)
    return np.clip(np.round(16 * values) / 16, -7.9375, 7.9375)


ROWS, DIM = 3000, 50  # more than two blocks
TABLE = _multiples(0, ROWS, DIM)
SMALL = _multiples(1, 60, DIM)
TARGET = _multiples(2, DIM)
BITS = np.random.default_rng(3).integers(0, 2, size=DIM).astype(float)
RATES = np.clip(
    np.round(16 * np.random.default_rng(4).uniform(size=(ROWS, DIM))) / 16, 0.125, 0.875
)
MEANS = RATES[0]
POINTS = _multiples(5, 70_001, scale=3.0)  # more than one block
FEW = POINTS[:3001]
SHARES = np.linspace(0.0, 1.0, 1025)[1:-1]
PLAIN = leakscore.Reference(_multiples(6, DIM), 0.5 + np.abs(_multiples(7, DIM)))
FULL = leakscore.Reference.fit(_multiples(8, 4 * DIM, DIM))
VARIANCES = 0.5 + np.abs(_multiples(9, DIM))
CURVE = tradeoff.gaussian([0.5, 2.0])
ROUNDS = audit.Audit(_multiples(10, 4000) + 1, _multiples(11, 3000))

NAN = float("nan")
NO_COUNT = (0, -1, 2.5, True, "3", None, NAN, 1 + 0j, [5])
NO_POSITIVE = (-1.0, NAN, float("inf"), "1", 1j)
NO_SHARE = (-0.1, 1.1, NAN, "0.5", None, 1j)
NO_RNG = (-1, 1.5, "0", None, True)
N = (50, NO_COUNT)
NOISE = (0.5, NO_POSITIVE)


def _left_out(cov: Any, X: Any, **given: Any) -> Any:
    return leakage.leave_one_out(X, leakscore.Reference.fit(TABLE, cov), **given)


def _played(population: games.Population, n: int = 50, **mechanism: Any) -> Any:
    released = games.EmpiricalMean(n, **mechanism)
    target = BITS if isinstance(population, games.Bernoulli) else TARGET
    return games.fixed_target(population, target, released, rounds=64, rng=7)


CALLS: dict[str, list[Call]] = {
    "set_num_threads": [Call(leakscore.set_num_threads, scalars={"count": (2, NO_COUNT)})],
    "get_num_threads": [Call(leakscore.get_num_threads)],
    "active_isa": [Call(leakscore.active_isa)],
    "supported_isas": [Call(leakscore.supported_isas)],
    "Reference": [
        Call(leakscore.Reference, {"mean": TARGET, "cov": VARIANCES}),
        Call(leakscore.Reference, {"mean": TARGET, "cov": np.diag(VARIANCES) + 0.25}),
    ],
    "Reference.fit": [
        Call(leakscore.Reference.fit, {"X": TABLE}),
        Call(lambda X: leakscore.Reference.fit(X, "diagonal", ddof=1), {"X": TABLE}),
        Call(lambda X: leakscore.Reference.fit(X, shrinkage="auto"), {"X": TABLE}),
        Call(
            lambda shrinkage=0.5, ridge=1.0, ddof=1: leakscore.Reference.fit(
                SMALL, shrinkage=shrinkage, ridge=ridge, ddof=ddof
            ),
            scalars={
                "shrinkage": (0.5, (-0.1, 1.1, NAN, "none", 1j)),
                "ridge": (1.0, NO_POSITIVE),
                "ddof": (1, (-1, 60, 1.5, "1", None, True)),
            },
        ),
    ],
    "Reference.squared_mahalanobis": [
        Call(reference.squared_mahalanobis, {"Z": table})
        for reference in (PLAIN, FULL)
        for table in (TABLE, TARGET)
    ],
    "Reference.solve": [Call(r.solve, {"V": SMALL}) for r in (PLAIN, FULL)],
    "Reference.inner": [Call(r.inner, {"U": TABLE, "V": TARGET}) for r in (PLAIN, FULL)],
    "Reference.add_diagonal": [
        Call(r.add_diagonal, {"variance": VARIANCES}, number_will_do=True) for r in (PLAIN, FULL)
    ],
    "leakage.leakage_score": [
        Call(
            partial(leakage.leakage_score, reference=reference),
            {"target": TABLE},
            scalars={"n": N, "noise_std": NOISE, "neighbours": ("replace", ("both", None, 1))},
        )
        for reference in (PLAIN, FULL)
    ],
    "leakage.leave_one_out": [
        Call(
            partial(_left_out, cov),
            {"X": TABLE},
            scalars={"n": N, "population": ("finite", ("all", None))},
        )
        for cov in ("diagonal", "full")
    ],
    "leakage.noise_for": [
        Call(
            partial(leakage.noise_for, reference=reference),
            {"targets": SMALL},
            scalars={"n": N, "max_advantage": (0.1, (0.0, -0.1, 1.1, NAN, "0.5", 1j))},
        )
        for reference in (PLAIN, FULL)
    ],
    "scores.covariance_score": [
        Call(
            partial(scores.covariance_score, reference=reference),
            {"observed": TABLE, "target": TARGET},
            scalars={"n": N, "noise_std": NOISE},
        )
        for reference in (PLAIN, FULL)
    ],
    "scores.gaussian_llr": [
        Call(
            partial(scores.gaussian_llr, reference=reference),
            {"observed": TABLE, "target": target},
            scalars={"n": N, "noise_std": NOISE, "neighbours": ("add-remove", ("both", None))},
        )
        for reference in (PLAIN, FULL)
        for target in (TARGET, SMALL[:3])
    ],
    "scores.bernoulli_llr": [
        Call(scores.bernoulli_llr, {"observed": RATES, "target": BITS, "p": MEANS})
    ],
    "scores.scalar_product": [
        Call(
            scores.scalar_product,
            {"observed": TABLE, "target": TARGET, "reference_point": SMALL[0]},
        )
    ],
    "scores.oracle_threshold": [
        Call(scores.oracle_threshold, {"alpha": SHARES, "m": SHARES}, kind="elementwise")
    ],
    "tradeoff.gaussian": [
        Call(
            lambda **given: tradeoff.gaussian(**given).power([0.1, 0.5]),
            {name: np.abs(POINTS[:999])},
            kind="curve",
        )
        for name in ("mu", "leakage")
    ],
    "tradeoff.gdp_delta": [
        Call(tradeoff.gdp_delta, {"epsilon": FEW, "mu": np.abs(FEW)}, kind="curve")
    ],
    "tradeoff.gdp_epsilon": [
        Call(tradeoff.gdp_epsilon, {"delta": SHARES, "mu": 4 * SHARES}, kind="curve")
    ],
    "tradeoff.TradeOff.__call__": [Call(CURVE, {"alpha": SHARES}, kind="curve")],
    "tradeoff.TradeOff.ppv": [Call(CURVE.ppv, {"alpha": SHARES, "prior": SHARES}, kind="curve")],
    "audit.Audit": [
        Call(
            lambda members, nonmembers: audit.Audit(members, nonmembers).epsilon(),
            {"members": POINTS[:4000] + 1, "nonmembers": POINTS[4000:7000]},
            kind="scores",
        )
    ],
    "audit.Audit.from_rounds": [
        Call(
            lambda scores, rng=0: audit.Audit.from_rounds(
                scores, np.arange(4000) % 2 == 0, rng=rng
            ).roc(),
            {"scores": POINTS[:4000]},
            kind="scores",
            scalars={"rng": (0, (-1, 1.5, "0", True))},
        )
    ],
    "audit.Audit.epsilon": [
        Call(
            ROUNDS.epsilon,
            scalars={
                "delta": (1e-5, (-0.1, 1.0, NAN, "0", None, 1j)),
                "confidence": (0.9, (0.0, 1.0, NAN, "0.9", None, 1j)),
                "method": ("dkw-two-sided", ("best", None, 1)),
            },
        )
    ],
    "audit.Audit.tpr_at": [Call(ROUNDS.tpr_at, scalars={"fpr": (0.01, NO_SHARE)})],
    "games.Bernoulli": [Call(lambda p: _played(games.Bernoulli(p)), {"p": MEANS})],
    "games.Gaussian": [
        Call(lambda **given: _played(games.Gaussian(**given)), {"mean": TARGET, "cov": cov})
        for cov in (VARIANCES, np.diag(VARIANCES) + 0.25)
    ],
    "games.Empirical": [
        Call(lambda X: _played(games.Empirical(X)), {"X": SMALL}),
        Call(
            lambda exclude=3: _played(games.Empirical(SMALL, exclude=exclude, replace=False)),
            scalars={"exclude": (3, (60, -61, 1.5, "3", True))},
        ),
    ],
    "games.EmpiricalMean": [
        Call(
            lambda **given: _played(games.Bernoulli(MEANS), **given),
            scalars={
                "n": N,
                "noise_std": NOISE,
                "sample_rate": (0.5, (0.0, 1.5, 0.501, NAN, "1", None)),
                "neighbours": ("replace", ("both", None)),
            },
        )
    ],
    "games.fixed_target": [
        Call(
            partial(games.fixed_target, population, mechanism=games.EmpiricalMean(50)),
            {"target": target},
            scalars={"rounds": (3000, NO_COUNT), "rng": (5, NO_RNG)},
        )
        for population, target in (
            (games.Bernoulli(MEANS), BITS),
            (games.Gaussian(MEANS, VARIANCES), TARGET),
        )
    ],
}
CALLS |= {
    f"tradeoff.TradeOff.{name}": [Call(getattr(CURVE, name), {argument: values}, "curve")]
    for name, argument, values in (
        ("power", "alpha", SHARES),
        ("log_power", "log_alpha", -np.abs(FEW)),
        ("delta", "epsilon", FEW),
        ("epsilon", "delta", SHARES),
        ("reconstruction", "kappa", SHARES),
    )
}
CALLS |= {
    f"distributions.norm.{name}": [Call(getattr(norm, name), {argument: values}, "elementwise")]
    for names, argument, values in (
        (("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"), "x", POINTS),
        (("ppf", "isf"), "q", np.tile(SHARES, 65)),
        (("ilogcdf", "ilogsf"), "logp", -np.abs(POINTS)),
    )
    for name in names
}

# Public, but without an argument that could be wrong.
NO_ARGUMENTS = {
    "audit.Audit.advantage",
    "audit.Audit.auc",
    "audit.Audit.roc",
    "tradeoff.GaussianTradeOff.inverse",
    "tradeoff.GaussianTradeOff.symmetrized",
    "tradeoff.TradeOff.advantage",
    "tradeoff.TradeOff.auc",
    "tradeoff.TradeOff.inverse",
    "tradeoff.TradeOff.symmetrized",
}
# Made by the library, not by its users: results, and the base of what constructors return.
RESULTS = {
    "SingularCovarianceError",
    "audit.EpsilonBound",
    "audit.Roc",
    "distributions.Distribution",
    "leakage.RequiredNoise",
    "leakage.RequiredNoise.to_dict",
    "leakage.RequiredNoise.to_json",
    "tradeoff.GaussianTradeOff",
    "tradeoff.TradeOff",
}
