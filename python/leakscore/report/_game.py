"""The simulated game beside the theory, record by record.

Both attackers' scores are linear in the released mean: a round needs only the projection w'x of
the records that it draws, so each game is one-dimensional and exact.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from leakscore import games, leakage, scores, tradeoff
from leakscore.audit import Audit
from leakscore.reference import Reference
from leakscore.report._leakage import Population
from leakscore.report._model import ALPHA, AuditResult, Compared, Doubles, Game

__all__ = ["audit_of", "default_rounds", "play", "records_played"]

DIFFERENCE = 4.0
"""Standard errors between theory and game from which on the report warns."""

_MOST_ROUNDS, _LEAST_ROUNDS, _DRAWS = 20_000, 2_000, 100_000_000
_ROC_POINTS = 60


def default_rounds(n: int) -> int:
    """Return as many rounds as a hundred million draws allow, between 2000 and 20000."""
    return int(np.clip(_DRAWS // n // 2 * 2, _LEAST_ROUNDS, _MOST_ROUNDS))


def records_played(n: int) -> int:
    """Return how many of the worst records are played, fewer where rounds are dear."""
    return 3 if n <= 10_000 else 1


def play(
    population: Population,
    index: int,
    row: int,
    attacker: str,
    *,
    rounds: int,
    rng: np.random.Generator,
    noise_std: float = 0.0,
) -> Game:
    """Play the game of one record against one attacker.

    Parameters
    ----------
    population : Population
    index, row : int
        Which record, and its number in the file.
    attacker : {"informed", "weaker"}
    rounds : int
        Half with the record in place of one of the n, half without it.
    rng : numpy.random.Generator
    noise_std : float
        Noise on the released mean, in standard deviations of a record.
    """
    known = population.without(index)
    away = population.values[index] - known.mean
    weight = _weight(known, attacker, away, population.n * noise_std**2)
    projected = (population.values - known.mean) @ weight
    others = np.delete(projected, index)
    spread = float(weight @ known.cov @ weight)
    noise = noise_std * float(np.linalg.norm(weight))

    line = Reference([0.0], [spread])
    target = np.array([float(away @ weight)])
    records = games.Empirical(projected[:, None], exclude=index, replace=not population.finite)
    outcome, member = games.fixed_target(
        records,
        target,
        games.EmpiricalMean(population.n, noise_std=noise),
        rounds,
        rng,
        score=partial(
            scores.covariance_score, target=target, reference=line, n=population.n, noise_std=noise
        ),
        balanced=True,
    )
    score = float(leakage.leakage_score(target, line, population.n, noise_std=noise))
    return _compared(
        row,
        attacker,
        score,
        noise,
        outcome[member],
        outcome[~member],
        _skewness(others) / np.sqrt(population.n),
    )


def _skewness(values: Doubles) -> float:
    """Return the third moment about 0, in units of the second; 0 of values that are all 0."""
    largest = float(np.abs(values).max())
    if largest == 0:
        return 0.0
    if not 1e-90 < largest < 1e90:  # whose powers are no float64
        values = values / largest
    return float(np.mean(values**3) / np.mean(values**2) ** 1.5)


def _weight(known: Reference, attacker: str, away: Doubles, noise_variance: float) -> Doubles:
    """Return the direction along which an attacker compares the release with the record."""
    if attacker == "informed":
        weight = known.add_diagonal(noise_variance).solve(away)
    else:
        weight = away / np.diag(known.cov)
    largest = float(np.abs(weight).max())
    if not 1e-140 < largest < 1e140:  # whose squares are no float64
        weight = weight / largest
    return np.asarray(weight / np.linalg.norm(weight))


def _compared(
    row: int,
    attacker: str,
    score: float,
    noise: float,
    members: Doubles,
    nonmembers: Doubles,
    skewness: float,
) -> Game:
    curve = tradeoff.gaussian(leakage=score)
    with_it, without = len(members), len(nonmembers)
    audit = Audit(members, nonmembers)

    # At the likelihood ratio's threshold 0: no threshold is chosen on these rounds.
    wrong = float((1 - curve.advantage()) / 2)
    advantage = Compared(
        theory=float(curve.advantage()),
        simulated=float((members > 0).mean() - (nonmembers > 0).mean()),
        std_error=float(np.hypot(_share_error(wrong, with_it), _share_error(wrong, without))),
    )
    threshold = float(scores.oracle_threshold(ALPHA, score))
    false_positives = Compared(
        theory=ALPHA,
        simulated=float((nonmembers > threshold).mean()),
        std_error=_share_error(ALPHA, without),
    )
    power = Compared(
        theory=float(curve.power(ALPHA)),
        simulated=float(audit.tpr_at(ALPHA)),
        std_error=_power_error(float(curve.power(ALPHA)), threshold, with_it, without),
    )
    return Game(
        row=row,
        attacker=attacker,
        rounds=with_it + without,
        leakage=score,
        noise_std=noise,
        advantage=advantage,
        power=power,
        false_positives=false_positives,
        mean=(_mean(-score / 2, score, nonmembers), _mean(score / 2, score, members)),
        variance=(_variance(score, nonmembers), _variance(score, members)),
        skewness=skewness,
        differs=any(abs(one.z) > DIFFERENCE for one in (advantage, power, false_positives)),
        roc=_roc(curve, members, nonmembers),
        members=members,
        nonmembers=nonmembers,
    )


def _share_error(share: float, count: int) -> float:
    """Standard error of a share of `count`; never below that of one success."""
    inside = min(max(share, 1 / count), 1 - 1 / count)
    return float(np.sqrt(inside * (1 - inside) / count))


def _power_error(power: float, threshold: float, members: int, nonmembers: int) -> float:
    """Of the power at 1 %: that of the share, and that of the threshold found in these rounds.

    The slope of the ROC, which carries the latter over, is the likelihood ratio at the threshold.
    """
    own = _share_error(power, members)
    return float(np.hypot(own, np.exp(threshold) * _share_error(ALPHA, nonmembers)))


def _mean(theory: float, score: float, values: Doubles) -> Compared:
    return Compared(theory, float(values.mean()), float(np.sqrt(score / len(values))))


def _variance(theory: float, values: Doubles) -> Compared:
    return Compared(theory, float(values.var()), theory * float(np.sqrt(2 / len(values))))


def _roc(curve: Any, members: Doubles, nonmembers: Doubles) -> dict[str, list[float]]:
    """Simulated power at about k of T false positives, k from 1 to T, beside the theory's."""
    count = len(nonmembers)
    allowed = np.unique(np.geomspace(1, count, _ROC_POINTS).round().astype(int))
    thresholds = np.append(np.sort(nonmembers)[::-1], -np.inf)[allowed]
    rate = _share_above(thresholds, nonmembers)
    power = _share_above(thresholds, members)
    return {
        "false_positive_rate": rate.tolist(),
        "simulated_power": power.tolist(),
        "theoretical_power": np.asarray(curve.power(rate)).tolist(),
    }


def _share_above(thresholds: Doubles, values: Doubles) -> Doubles:
    below = np.searchsorted(np.sort(values), thresholds, side="right")
    return np.asarray((len(values) - below) / len(values))


def audit_of(game: Game, *, delta: float, confidence: float) -> AuditResult:
    """Certify a lower bound on epsilon of a played game."""
    bound = Audit(game.members, game.nonmembers).epsilon(delta, confidence)
    return AuditResult(
        row=game.row,
        rounds=game.rounds,
        epsilon=float(bound.epsilon),
        max_certifiable=float(bound.max_certifiable),
        delta=delta,
        confidence=confidence,
        method=bound.method,
    )
