"""One good call of every public function; test_contract.py derives the odd and the bad ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import leakscore
from leakscore import games, leakage, scores, tradeoff
from tests.contract import inputs as good
from tests.contract.audit import AUDIT_RESULTS, AUDITS, AUDITS_WITHOUT_ARGUMENTS
from tests.contract.batches import BATCHES
from tests.contract.composition import COMPOSITION
from tests.contract.curves import CURVES
from tests.contract.distributions import LAWS
from tests.contract.games_sequential import SEQUENTIAL_GAMES
from tests.contract.inputs import Call
from tests.contract.ledger import LEDGER, LEDGER_RESULTS, LEDGER_WITHOUT_ARGUMENTS
from tests.contract.one_run import ONE_RUN_RESULTS, ONE_RUNS
from tests.contract.reference import REFERENCES
from tests.contract.sequential import (
    SEQUENTIAL,
    SEQUENTIAL_RESULTS,
    SEQUENTIAL_WITHOUT_ARGUMENTS,
)
from tests.contract.shadow import SHADOW
from tests.contract.shadow_laws import SHADOW_LAWS, SHADOW_LAWS_RESULTS
from tests.contract.synthetic import SYNTHETIC, SYNTHETIC_RESULTS
from tests.contract.theory import THEORY
from tests.contract.values import VALUES
from tests.contract.watched import WATCHED, WATCHED_RESULTS, WATCHED_WITHOUT_ARGUMENTS
from tests.contract.whitebox import WHITEBOX

N = (50, good.NO_COUNT)
NOISE = (0.5, good.NO_POSITIVE)


def _left_out(cov: Any, X: Any, **given: Any) -> Any:
    return leakage.leave_one_out(X, leakscore.Reference.fit(good.TABLE, cov), **given)


def _played(population: games.Population, n: int = 50, **mechanism: Any) -> Any:
    released = games.EmpiricalMean(n, **mechanism)
    target = good.BITS if isinstance(population, games.Bernoulli) else good.TARGET
    return games.fixed_target(population, target, released, rounds=64, rng=7)


CALLS: dict[str, list[Call]] = {
    "set_num_threads": [Call(leakscore.set_num_threads, scalars={"count": (2, good.NO_COUNT)})],
    "get_num_threads": [Call(leakscore.get_num_threads)],
    "active_isa": [Call(leakscore.active_isa)],
    "supported_isas": [Call(leakscore.supported_isas)],
    **BATCHES,
    **ONE_RUNS,
    **REFERENCES,
    **VALUES,
    "leakage.leakage_score": [
        Call(
            partial(leakage.leakage_score, reference=reference),
            {"target": good.TABLE},
            scalars={"n": N, "noise_std": NOISE, "neighbours": ("replace", ("both", None, 1))},
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ],
    "leakage.leave_one_out": [
        Call(
            partial(_left_out, cov),
            {"X": good.TABLE},
            scalars={"n": N, "population": ("finite", ("all", None))},
        )
        for cov in ("diagonal", "full")
    ],
    "leakage.noise_for": [
        Call(
            partial(leakage.noise_for, reference=reference),
            {"targets": good.SMALL},
            scalars={"n": N, "max_advantage": (0.1, (0.0, -0.1, 1.1, good.NAN, "0.5", 1j))},
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ],
    "leakage.noise_for_table": [
        Call(
            partial(leakage.noise_for_table, shape=shape),
            {"X": good.SMALL[:, :3].copy()},
            scalars={
                "n": (5, good.NO_COUNT),
                "max_advantage": (0.1, (0.0, -0.1, 1.1, good.NAN, "0.5", 1j)),
                "population": ("finite", ("all", None)),
            },
        )
        for shape in ("optimal", "optimal-diagonal")
    ],
    "scores.covariance_score": [
        Call(
            partial(scores.covariance_score, reference=reference),
            {"observed": good.TABLE, "target": good.TARGET},
            scalars={"n": N, "noise_std": NOISE},
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
    ],
    "scores.gaussian_llr": [
        Call(
            partial(scores.gaussian_llr, reference=reference),
            {"observed": good.TABLE, "target": target},
            scalars={"n": N, "noise_std": NOISE, "neighbours": ("add-remove", ("both", None))},
        )
        for reference in (good.PLAIN, good.FULL, good.THIN)
        for target in (good.TARGET, good.SMALL[:3])
    ],
    "scores.bernoulli_llr": [
        Call(scores.bernoulli_llr, {"observed": good.RATES, "target": good.BITS, "p": good.MEANS})
    ],
    "scores.scalar_product": [
        Call(
            scores.scalar_product,
            {"observed": good.TABLE, "target": good.TARGET, "reference_point": good.SMALL[0]},
        )
    ],
    "scores.oracle_threshold": [
        Call(scores.oracle_threshold, {"alpha": good.SHARES, "m": good.SHARES}, kind="elementwise")
    ],
    "tradeoff.gaussian": [
        Call(
            lambda **given: tradeoff.gaussian(**given).power([0.1, 0.5]),
            {name: np.abs(good.POINTS[:999])},
            kind="curve",
        )
        for name in ("mu", "leakage")
    ],
    "tradeoff.subsampled_mean": [
        Call(
            lambda leakage, sample_rate: tradeoff.subsampled_mean(leakage, sample_rate).power(0.1),
            {"leakage": np.abs(good.FEW[:1023]), "sample_rate": good.SHARES},
            kind="curve",
        )
    ],
    "tradeoff.gdp_epsilon": [
        Call(tradeoff.gdp_epsilon, {"delta": good.SHARES, "mu": 4 * good.SHARES}, kind="curve")
    ],
    "tradeoff.TradeOff.__call__": [Call(good.CURVE, {"alpha": good.SHARES}, kind="curve")],
    **COMPOSITION,
    "tradeoff.TradeOff.ppv": [
        Call(good.CURVE.ppv, {"alpha": good.SHARES, "prior": good.SHARES}, kind="curve")
    ],
    **AUDITS,
    "games.Bernoulli": [Call(lambda p: _played(games.Bernoulli(p)), {"p": good.MEANS})],
    "games.Gaussian": [
        Call(lambda **given: _played(games.Gaussian(**given)), {"mean": good.TARGET, "cov": cov})
        for cov in (good.VARIANCES, np.diag(good.VARIANCES) + 0.25)
    ],
    "games.Empirical": [
        Call(lambda X: _played(games.Empirical(X)), {"X": good.SMALL}),
        Call(
            lambda exclude=3: _played(games.Empirical(good.SMALL, exclude=exclude, replace=False)),
            scalars={"exclude": (3, (60, -61, 1.5, "3", True))},
        ),
    ],
    "games.EmpiricalMean": [
        Call(
            lambda **given: _played(games.Bernoulli(good.MEANS), **given),
            scalars={
                "n": N,
                "noise_std": NOISE,
                "sample_rate": (0.5, (0.0, 1.5, 0.501, good.NAN, "1", None)),
                "neighbours": ("replace", ("both", None)),
            },
        )
    ],
    "games.average_target": [
        Call(
            partial(games.average_target, population, games.EmpiricalMean(20, noise_std=0.5)),
            scalars={"rounds": (300, good.NO_COUNT), "rng": (5, good.NO_RNG)},
        )
        for population in (
            games.Bernoulli(good.MEANS),
            games.Gaussian(good.MEANS, good.VARIANCES),
            games.Empirical(good.SMALL, exclude=4, replace=False),
        )
    ],
    "games.fixed_target": [
        Call(
            partial(games.fixed_target, population, mechanism=games.EmpiricalMean(50)),
            {"target": target},
            scalars={"rounds": (3000, good.NO_COUNT), "rng": (5, good.NO_RNG)},
        )
        for population, target in (
            (games.Bernoulli(good.MEANS), good.BITS),
            (games.Gaussian(good.MEANS, good.VARIANCES), good.TARGET),
        )
    ],
    "games.summarize": [
        Call(
            lambda scores, threshold=0.0: (
                games.summarize(scores, np.arange(4000) % 2 == 0, threshold=threshold).power
            ),
            {"scores": good.POINTS[:4000]},
            kind="scores",
            scalars={"threshold": (0.5, (good.NAN, float("inf"), "0", 1j))},
        )
    ],
}
CALLS |= {
    f"tradeoff.TradeOff.{name}": [Call(getattr(good.CURVE, name), {argument: values}, "curve")]
    for name, argument, values in (
        ("power", "alpha", good.SHARES),
        ("log_power", "log_alpha", -np.abs(good.FEW)),
        ("delta", "epsilon", good.FEW),
        ("epsilon", "delta", good.SHARES),
        ("reconstruction", "kappa", good.SHARES),
    )
}
CALLS |= CURVES | LAWS | SEQUENTIAL | SEQUENTIAL_GAMES | SHADOW | SHADOW_LAWS
CALLS |= LEDGER | SYNTHETIC | THEORY | WATCHED | WHITEBOX

# Public, but without an argument that could be wrong.
NO_ARGUMENTS = (
    AUDITS_WITHOUT_ARGUMENTS
    | LEDGER_WITHOUT_ARGUMENTS
    | WATCHED_WITHOUT_ARGUMENTS
    | SEQUENTIAL_WITHOUT_ARGUMENTS
    | {"tradeoff.TradeOff.inverse", "tradeoff.TradeOff.symmetrized"}
    | {"ColumnGram.reference", "Moments.to_bytes", "Reference.invertible", "single_threaded_blas"}
    | {"tradeoff.TradeOff.advantage", "tradeoff.TradeOff.auc"}
)
# Made by the library, not by its users: results, and the base of what constructors return.
RESULTS = (
    AUDIT_RESULTS
    | LEDGER_RESULTS
    | ONE_RUN_RESULTS
    | WATCHED_RESULTS
    | SEQUENTIAL_RESULTS
    | SHADOW_LAWS_RESULTS
    | SYNTHETIC_RESULTS
    | {
        "tradeoff.ComposedTradeOff",
        "SingularCovarianceError",
        "distributions.Distribution",
        "distributions.GeneralizedChiSquare",
        "games.GameSummary",
        "leakage.RequiredNoise",
        "leakage.ShapedNoise",
        "tradeoff.Certificate",
        "tradeoff.GaussianTradeOff",
        "tradeoff.SubsampledTradeOff",
        "tradeoff.TradeOff",
    }
)
