"""The simulated game beside the theory, record by record.

Noise on the mean is Gaussian, so each round's chance over the noise is computed exactly. The rates
of a game with noise are averages of these chances. Their error shrinks with the advantage; that of
counted rounds does not. The advantage is stated at the theory's threshold 0, or at a threshold that
is clearly better, which each half of the rounds learns from the other. Its upper end is for the
best threshold.

Upper ends. Let P(t) be the power and F(t) the rate of false positives at a threshold t. The
advantage is the largest P - F. The power at a rate alpha is at most the largest P - c F + c alpha
for every c >= 0, as the tangent of slope c lies above the ROC curve. The maximising thresholds are
properties of the two laws, not of the rounds. So if an upper end is valid at each fixed threshold,
it is valid at the maximiser, and the largest of the ends is a valid upper end: no correction for
many thresholds is needed. Nor is one for several scores that were learned from other rounds.

At a fixed threshold, pairs of a round with the record and one without it are independent draws of
a bounded variable: hit less c times alarm. The upper end of its mean is that of Gaffke (2005),
"Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable": the quantile of the mean under random weights (uniform on the simplex) on the draws and
the largest possible value. For hits alone it is the Clopper-Pearson end. No counterexample to its
level is known; the tests enumerate it for few rounds and simulate it for many. The quantile is
found by the saddle point of a sum of exponential variables, whose tail is right to 0.1 % of itself
(Lugannani and Rice 1980, in the form of Barndorff-Nielsen).

With Gaussian noise on a mean, hits and alarms are chances, and the score is a control variate of
each class: its mean is known, and its slope is that of the Gaussian theory, which does not depend
on the rounds. For coefficients that are fitted again no such mean is known: their noise is drawn,
and rounds are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import leakage, scores, tradeoff
from leakscore.audit import Audit
from leakscore.distributions import norm
from leakscore.games.projections import LARGEST_DRAWN
from leakscore.numeric import bisect
from leakscore_app.report._model import ALPHA, AuditResult, Compared, Doubles, Game, Reason
from leakscore_app.report.engine.attack import (
    LinearAttack,
    Others,
    ProjectionLaw,
    Refits,
    rounds_of_one,
    rounds_of_several,
    rounds_of_weights,
    skewness_of,
)
from leakscore_app.report.engine.population import Population

DIFFERENCE = 4.0
"""Standard errors between theory and game from which on the report warns."""

_MOST_ROUNDS, _LEAST_ROUNDS, _DRAWS = 20_000, 2_000, 100_000_000
_ROC_POINTS = 60


def default_rounds(n: int, size: int) -> int:
    """Return 20000 rounds, or as many, 2000 at least, as a hundred million draws allow.

    Above a `size` of 65536 no round draws records one by one.
    """
    if size > LARGEST_DRAWN:
        return _MOST_ROUNDS
    return int(np.clip(_DRAWS // n // 2 * 2, _LEAST_ROUNDS, _MOST_ROUNDS))


def records_played(n: int, size: int) -> int:
    """Return how many of the worst records are played: fewer where rounds cost more."""
    return 3 if n <= 10_000 or size > LARGEST_DRAWN else 1


def played(
    population: Population,
    attack: LinearAttack,
    others: Sequence[Others],
    row: int,
    *,
    rounds: int,
    rng: np.random.Generator,
    refits: Refits | None = None,
) -> Game:
    """Play an attack; `others` are the projections of the other records, one for each strand."""
    if population.pull is not None:
        (strand,), (records,) = attack.strands, others
        pull = population.pull
        pull = np.append(np.delete(pull, strand.rows), pull[strand.rows])
        outcomes = rounds_of_weights(attack, records, pull, rounds, rng)
        skewness = skewness_of(attack, others)
        skewness *= float(np.mean(pull**3) / np.mean(pull**2) ** 1.5)
        return against_theory(attack, row, outcomes, rng, skewness)
    if refits is not None:
        linear, *learned_from = refits.rounds(population, attack, rounds, rng)
        skewness = skewness_of(attack, others)
        game = against_theory(attack, row, linear, rng, skewness, noise_drawn=True)
        return _with_better(game, learned_from)
    draw = rounds_of_one if attack.plain else rounds_of_several
    outcomes = draw(attack, others, rounds, rng, replace=not population.finite)
    game = against_theory(attack, row, outcomes, rng, skewness_of(attack, others))
    if not game.differs or population.finite or not attack.plain:
        return game
    return replace(game, reason=reason_of(game, others[0].law, attack))


def against_theory(
    attack: LinearAttack,
    row: int,
    outcomes: tuple[Doubles, Doubles],
    rng: np.random.Generator,
    skewness: float,
    *,
    noise_drawn: bool = False,
) -> Game:
    """Compare the scores of a game, with the person in the mean and without, with the theory.

    The chances over the noise are computed, unless it is in the scores (`noise_drawn`).
    """
    line, target = attack.line, attack.target
    score = float(leakage.leakage_score(target, line, attack.n, noise_std=attack.noise))
    # The score's slope, a/n over the variance of the mean, carries the noise over to the score.
    mean_variance = float(line.cov[0]) / attack.n + attack.noise**2
    noise = 0.0 if noise_drawn else float(target[0]) / attack.n / mean_variance * attack.noise
    curve = tradeoff.gaussian(leakage=score)
    members, nonmembers = outcomes
    if noise:
        advantage, power, false_positives = _averaged(curve, _Drawn(*outcomes, noise), score)
        members = members + noise * rng.standard_normal(len(members))
        nonmembers = nonmembers + noise * rng.standard_normal(len(nonmembers))
    else:
        advantage, power, false_positives = _counted(curve, members, nonmembers, score)
    return Game(
        row=row,
        attacker=attack.attacker,
        rounds=len(members) + len(nonmembers),
        leakage=score,
        noise_std=attack.noise,
        advantage=advantage,
        power=power,
        false_positives=false_positives,
        mean=(_mean(-score / 2, score, nonmembers), _mean(score / 2, score, members)),
        variance=(_variance(score, nonmembers), _variance(score, members)),
        skewness=skewness,
        differs=_differ(advantage, power, false_positives),
        reason=None,
        roc=_roc(curve, members, nonmembers),
        members=members,
        nonmembers=nonmembers,
    )


def _with_better(game: Game, attacks: Sequence[tuple[Doubles, Doubles]]) -> Game:
    """Return a game with the largest advantage and power of several attacks."""
    curve = tradeoff.gaussian(leakage=game.leakage)
    played = [(game.advantage, game.power)]
    played += [_counted(curve, *scores, game.leakage)[:2] for scores in attacks]
    advantage, power = (max(of, key=_upper_of) for of in zip(*played, strict=True))
    differs = _differ(advantage, power, game.false_positives)
    return replace(game, advantage=advantage, power=power, differs=differs)


def _upper_of(compared: Compared) -> float:
    return compared.simulated if compared.upper is None else compared.upper


def _differ(*compared: Compared) -> bool:
    return any(abs(each.z) > DIFFERENCE for each in compared)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Scores before noise, with the record in the mean and without it; noise of a score."""

    members: Doubles
    nonmembers: Doubles
    noise: float


def _counted(
    curve: Any, members: Doubles, nonmembers: Doubles, score: float
) -> tuple[Compared, Compared, Compared]:
    """Estimate advantage, power and false positives by counting rounds."""
    with_it, without = len(members), len(nonmembers)
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
        simulated=float(Audit(members, nonmembers).tpr_at(ALPHA)),
        std_error=_power_error(float(curve.power(ALPHA)), threshold, with_it, without),
    )
    return *_with_ends(advantage, power, _Drawn(members, nonmembers, 0.0), score), false_positives


def _with_ends(
    advantage: Compared, power: Compared, drawn: _Drawn, score: float
) -> tuple[Compared, Compared]:
    """Add upper ends at the best threshold, and the advantage there, where that is not 0."""
    better = learned(drawn.members, drawn.nonmembers, drawn.noise)
    if better is not None:
        error = float(np.sqrt(0.5 / len(drawn.members)))  # the largest of two shares
        advantage = replace(advantage, simulated=better, std_error=error)

    def ended(compared: Compared, slope: float, constant: float) -> Compared:
        end = constant + highest(drawn.members, drawn.nonmembers, score, slope, drawn.noise)
        return replace(compared, upper=min(1.0, max(compared.simulated, end)))

    # The slope of the theory's ROC is its likelihood ratio at the threshold.
    slope = float(np.exp(scores.oracle_threshold(ALPHA, score)))
    return ended(advantage, 1.0, 0.0), ended(power, slope, slope * ALPHA)


def _averaged(curve: Any, drawn: _Drawn, score: float) -> tuple[Compared, Compared, Compared]:
    """Estimate the same by averages of each round's chance over the noise."""
    least = float(curve.advantage())

    def average(threshold: float, *, member: bool) -> tuple[float, float]:
        values, mean = (drawn.members, score / 2) if member else (drawn.nonmembers, -score / 2)
        chances = np.asarray(norm.cdf((values - threshold) / drawn.noise))
        return _controlled(chances, values, mean, least)

    (hits, hit_error), (alarms, alarm_error) = average(0, member=True), average(0, member=False)
    advantage = Compared(least, hits - alarms, float(np.hypot(hit_error, alarm_error)))
    threshold = float(scores.oracle_threshold(ALPHA, score))
    false_positives = Compared(ALPHA, *average(threshold, member=False))
    reach = 10 * drawn.noise
    strict, _ = bisect(
        lambda at: average(at, member=False)[0] >= ALPHA,
        float(drawn.nonmembers.min()) - reach,
        float(drawn.nonmembers.max()) + reach,
        steps=30,
    )
    detected, detected_error = average(strict, member=True)
    slope = float(np.exp(threshold))  # of the ROC: carries the threshold's error over to the power
    error = float(np.hypot(detected_error, slope * average(strict, member=False)[1]))
    power = Compared(float(curve.power(ALPHA)), detected, error)
    return *_with_ends(advantage, power, drawn, score), false_positives


def _controlled(
    chances: Doubles, values: Doubles, mean: float, least: float
) -> tuple[float, float]:
    """Average chances with the scores, whose mean is known, as control variate; add the error.

    The error is that of the residuals, never below that of one success in a round of an attack
    with an advantage of `least`.
    """
    away, size = values - values.mean(), len(values)
    variance = float(away @ away)
    # Both centred: scores that differ by rounding alone must not meet chances that do not.
    slope = float((chances - chances.mean()) @ away) / variance if variance > 0 else 0.0
    residuals = chances - slope * (values - mean)
    error = float(residuals.std()) / np.sqrt(size)
    return float(residuals.mean()), max(error, least / size)


def reason_of(game: Game, law: ProjectionLaw, attack: LinearAttack) -> Reason | None:
    """Name the record that causes a difference, if its skewness and kurtosis explain half of it."""
    quantity = game.acts_by
    compared: Compared = getattr(game, quantity)
    expected = law.share(quantity, attack)
    difference = abs(compared.simulated - compared.theory)
    if not abs(expected - compared.simulated) <= difference / 2:
        return None
    total = law.unit**2 + attack.n * attack.noise**2
    return Reason(quantity, expected, law.row, law.largest / total)


def _share_error(share: float, count: int) -> float:
    """Standard error of a share of `count`; never below that of one success."""
    inside = min(max(share, 1 / count), 1 - 1 / count)
    return float(np.sqrt(inside * (1 - inside) / count))


def _power_error(power: float, threshold: float, members: int, nonmembers: int) -> float:
    """Standard error of the power at 1 % false positives: binomial, plus that of the threshold.

    The threshold's error is multiplied by the slope of the ROC, the likelihood ratio there.
    """
    binomial = _share_error(power, members)
    return float(np.hypot(binomial, np.exp(threshold) * _share_error(ALPHA, nonmembers)))


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


_LEVEL = 1.65  # of the standard normal law: 95 %, with room for the saddle point's error
HALF_LEVEL = 1.966  # 97.5 %
_STEPS = 24
_EXACT = 48  # thresholds whose ends are computed, of the largest by the normal approximation
_EXACT_NOISY = 4
_GROUPS, _GRID = 400, 201
_LEARNED, _CLEAR = 40, 4.0  # thresholds tried; standard errors, at most, of their difference
_REACH = 1.5  # of the largest distance of a score from its mean: how far one not drawn may lie


def highest(
    members: Doubles, nonmembers: Doubles, score: float, cost: float, noise: float = 0.0
) -> float:
    """Return the 95 % upper end of the largest power less `cost` times the false positives.

    Parameters
    ----------
    members, nonmembers : (m,) ndarray
        Scores before noise, with means score / 2 and -score / 2.
    score : float
        The leakage score.
    cost : float
        Of a false positive, at least 0.
    noise : float
        Standard deviation of Gaussian noise on the scores.
    """
    if noise > 0:
        values = _chances(members, nonmembers, score, cost, noise)
        return float(mean_upper(values, np.ones(values.shape[1])).max())
    pooled = np.append(-np.inf, np.unique(np.concatenate([members, nonmembers])))
    hits, alarms, both = (
        len(drawn) - np.searchsorted(np.sort(drawn), pooled, side="right")
        for drawn in (members, nonmembers, np.minimum(members, nonmembers))
    )
    counts = np.stack(
        [hits - both + 1, both, len(members) - hits - alarms + both, alarms - both], axis=1
    )
    values = np.tile([1.0, 1.0 - cost, 0.0, -cost], (len(pooled), 1))
    mean = (counts * values).sum(axis=1) / counts.sum(axis=1)
    spread = np.sqrt((counts * (values - mean[:, None]) ** 2).sum(axis=1))
    first = _largest(mean + _LEVEL / len(members) * spread, _EXACT)
    return float(mean_upper(values[first], counts[first]).max())


def mean_upper(values: Doubles, weights: Doubles, level: float = _LEVEL) -> Doubles:
    """Return the upper end of each row's mean, with 95 % confidence by default.

    Parameters
    ----------
    values : (T, K) ndarray
        The draws, and the largest possible value.
    weights : (T, K) or (K,) ndarray
        Multiplicities; that of the largest value counts one more.
    level : float
        Quantile of the standard normal law.
    """
    top = values.max(axis=1, keepdims=True)
    below = top - values
    width = np.maximum(below.max(axis=1, keepdims=True), np.finfo(float).tiny)
    below, counts = below / width, np.broadcast_to(weights, values.shape)
    total = counts.sum(axis=1)
    low, high = np.full((2, len(values), 1), [[[-14.0]], [[32.0]]])
    for _ in range(_STEPS):
        middle = (low + high) / 2
        beyond = _tilted(below, counts, total, np.exp(middle))[1] > level
        low, high = np.where(beyond[:, None], low, middle), np.where(beyond[:, None], middle, high)
    return np.asarray(top[:, 0] - width[:, 0] * _tilted(below, counts, total, np.exp(high))[0])


def _tilted(
    below: Doubles, counts: Doubles, total: Doubles, tilt: Doubles
) -> tuple[Doubles, Doubles]:
    """Return means under tilted weights, and normal quantiles of the chance to pass them.

    With E_k exponential and u the mean, random weights pass u if the sum of E_k (u - b_k) is
    positive; s is the saddle point of that sum.
    """
    factors = 1 + tilt * below
    share = counts / factors
    scale = share.sum(axis=1) / total
    mean = (share * below).sum(axis=1) / share.sum(axis=1)
    log_root = total * np.log(scale) + (counts * np.log(factors)).sum(axis=1)
    away = (mean[:, None] - below) / (scale[:, None] * factors)
    v = tilt[:, 0] * scale * np.sqrt((counts * away**2).sum(axis=1))
    w = np.sqrt(np.maximum(2 * log_root, 0.0))
    flat = w < 0.1  # where rounding shows: far below the level
    w, v = np.where(flat, 1.0, w), np.where(flat, 1.0, v)
    return mean, np.where(flat, 0.0, w + np.log(v / w) / w)


def _chances(
    members: Doubles, nonmembers: Doubles, score: float, cost: float, noise: float
) -> Doubles:
    """Return each pair's chance of a hit less `cost` times that of an alarm, at good thresholds.

    Both are less their control variates. The last column is the largest possible value, if scores
    lie at most 1.5 times as far from their mean as the farthest drawn.
    """
    hits = _Controlled(members - score / 2, score / 2, score, noise)
    alarms = _Controlled(nonmembers + score / 2, -score / 2, score, noise)
    at = _thresholds(hits, alarms, cost)
    values = hits.at(at) - cost * alarms.at(at)
    reach = _REACH * max(float(np.abs(controlled.away).max()) for controlled in (hits, alarms))
    line = np.linspace(-reach, reach, _GRID)
    most = [replace(controlled, away=line).at(at) for controlled in (hits, alarms)]
    top = most[0].max(axis=1) - cost * most[1].min(axis=1)
    return np.column_stack([values, np.maximum(top, values.max(axis=1))])


def _thresholds(hits: _Controlled, alarms: _Controlled, cost: float) -> Doubles:
    """Return the thresholds of the largest upper ends by the normal approximation.

    The search is on a grid, between all scores (where atoms leave gaps), and then nearby.
    """
    deviation = float(np.sqrt(hits.score))
    fewer = hits.fewer(), alarms.fewer()
    drawn = np.sort(np.concatenate([each.mean + each.away for each in fewer]))[::4]
    at = np.append(np.linspace(-5, 5, _GRID) * deviation, (drawn[1:] + drawn[:-1]) / 2)
    for width in (0.05, 0.005, 0.0):
        hit, alarm = (each.at(at) for each in fewer)
        variance = hit.var(axis=1) + cost**2 * alarm.var(axis=1)
        ends = hit.mean(axis=1) - cost * alarm.mean(axis=1)
        ends += _LEVEL * np.sqrt(variance / len(hits.away))
        first = at[_largest(ends, _EXACT_NOISY)]
        at = np.append(first[0] + np.linspace(-width, width, 21) * deviation, first)
    return first


def learned(members: Doubles, nonmembers: Doubles, noise: float, cost: float = 1.0) -> float | None:
    """Return the advantage at thresholds that each half of the rounds learns from the other.

    A false positive costs `cost` of a hit. None unless such a threshold is clearly better than the
    theory's, log(cost).
    """
    halves = [(members[start::2], nonmembers[start::2]) for start in (0, 1)]
    thresholds = [_best(*half, noise, cost) for half in halves]
    if all(at == np.log(cost) for at in thresholds):
        return None
    advantages = [
        _advantages(*half, np.array([at]), noise, cost)[0]
        for half, at in zip(halves, thresholds[::-1], strict=True)
    ]
    return float(np.mean(advantages))


def _best(members: Doubles, nonmembers: Doubles, noise: float, cost: float) -> float:
    """Return log(cost), or the best threshold if that is better by many standard errors."""
    drawn = np.quantile(np.concatenate([members, nonmembers]), np.linspace(0, 1, _LEARNED))
    at = np.append(np.log(cost), (drawn[1:] + drawn[:-1]) / 2)
    advantages = _advantages(members, nonmembers, at, noise, cost)
    best = int(advantages.argmax())
    clear = advantages[best] - advantages[0] > _CLEAR / np.sqrt(len(members))
    return float(at[best if clear else 0])


def _advantages(
    members: Doubles, nonmembers: Doubles, at: Doubles, noise: float, cost: float
) -> Doubles:
    far = [scores - at[:, None] for scores in (members, nonmembers)]
    hits, alarms = (norm.cdf(scores / noise) if noise > 0 else scores > 0 for scores in far)
    return np.asarray(np.mean(hits, axis=1) - cost * np.mean(alarms, axis=1))


@dataclass(frozen=True, eq=False)
class _Controlled:
    """Centred scores, and their chances over the noise less the linear control variate."""

    away: Doubles
    mean: float
    score: float
    noise: float

    def fewer(self) -> _Controlled:
        """Return quantiles of the scores in place of all scores."""
        count = min(len(self.away), _GROUPS)
        return replace(self, away=np.quantile(self.away, (np.arange(count) + 0.5) / count))

    def at(self, thresholds: Doubles) -> Doubles:
        """Return the chance of each score to lie above each threshold, (T, m)."""
        far = (self.mean - thresholds)[:, None]
        chances = np.asarray(norm.cdf((far + self.away) / self.noise))
        if not self.score > 0:
            return chances
        deviation = float(np.sqrt(self.score))
        return chances - np.asarray(norm.pdf(far / deviation)) / deviation * self.away


def _largest(ends: Doubles, count: int) -> npt.NDArray[np.intp]:
    return np.argsort(-ends, kind="stable")[:count]
