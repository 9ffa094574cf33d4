"""Tables of one law, generators that copy, and the audits of what they make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import leakscore_app
from leakscore import audit, games, scores, statistics, tradeoff

Tables = dict[str, np.ndarray]


def drawn(rng: np.random.Generator, size: int = 800, columns: int = 3) -> Tables:
    """Four tables of one law."""
    names = ("train", "holdout", "synth", "other")
    return {name: rng.gamma(2.0, size=(size, columns)) for name in names}


def copied(rng: np.random.Generator, size: int = 800, share: float = 0.01) -> Tables:
    tables = drawn(rng, size)
    few = round(share * size)
    tables["synth"][:few] = rng.permutation(tables["train"])[:few]
    return tables


def saved(folder: Path, tables: Tables) -> list[str]:
    paths = [folder / f"{name}.npy" for name in tables]
    for path, table in zip(paths, tables.values(), strict=True):
        np.save(path, table)
    return [str(path) for path in paths]


def audited(folder: Path, tables: Tables, **options: Any) -> Any:
    *paths, other = saved(folder, tables)
    return leakscore_app.audit_synthetic(*paths, reference=other, **options)  # type: ignore[misc]


def wrongly(folder: Path, draws: int) -> tuple[int, list[float]]:
    """Audit tables that do not depend on what was trained on."""
    rng, refuted, p_values = np.random.default_rng(37), 0, []
    for draw in range(draws):
        tables = {name: np.round(table, 1) for name, table in drawn(rng, 120, 2).items()}
        reading = {"missing_values": ("none",)}  # a value far out is none
        result = audited(folder, tables, seed=draw, confidence=0.9, reading=reading)
        refuted += result.verdict == "refuted"
        p_values.append(result.chosen.p_value)
    return refuted, p_values


def fitted(table: Any, rng: np.random.Generator) -> Any:
    return rng.multivariate_normal(table.mean(axis=0), np.cov(table.T), len(table))


ATTACKS = ("moments", "distance", "density")


def played_and_bound(seed: int, rounds: int) -> tuple[list[float], float]:
    """Return upper ends of the advantages that are played on the worst record, and their bound."""
    rng = np.random.default_rng(seed)
    X, others = rng.normal(size=(200, 3)), rng.normal(size=(1000, 3))
    statistic = statistics.Covariance()
    report = leakscore_app.analyse(leakscore_app.table_of(X), statistic=statistic, rounds=400)
    worst = int(np.argmax(report.informed.leakage))
    target, played = X[[report.rows[worst] - 1]], []

    def score(table: Any) -> float:
        found = scores.synthetic_scores(target, table, others, 200)
        played.append([getattr(found, attack)[0] for attack in ATTACKS])
        return 0.0

    population = games.Gaussian(np.zeros(3), np.ones(3))
    _, member = games.synthetic(
        fitted, population, target[0], 200, rounds=rounds, score=score, rng=seed, balanced=True
    )
    audits = [audit.Audit.from_rounds(column, member) for column in np.transpose(played)]
    bound = tradeoff.gaussian(leakage=float(report.informed.leakage[worst]))
    return [each.band(0.95, "dkw").advantage()[1] for each in audits], float(bound.advantage())
