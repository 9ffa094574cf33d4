"""Upper ends of a game's advantage and power, at the attack's best threshold.

With P(t) the power and F(t) the false positives at a threshold t, the advantage is the largest
P - F, and the power at a rate alpha is at most the largest P - c F + c alpha, for every c >= 0: the
tangent of slope c lies above the ROC curve. The thresholds at which these are largest are numbers
of the two laws, not of the rounds. So an upper end that holds at every fixed threshold, each by
itself, holds at that one, and the largest of the ends is above the quantity: nothing is paid for
the many thresholds.

At a fixed threshold the rounds, taken in pairs of one with the record and one without it, are
independent draws of a bounded variable, whose mean is asked for: hit less c times alarm. Its upper
end is that of Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the
mean of a nonnegative variable": the quantile of the mean under random weights (uniform on the
simplex) on the draws and the largest possible value. For hits alone it is that of Clopper and
Pearson. No counterexample to its level is known; here it is enumerated for few rounds, and
simulated for many. The quantile is found by the saddle point of the sum of exponential variables,
whose tail is right to 0.1 % of itself (Lugannani and Rice 1980, in the form of Barndorff-Nielsen).

With Gaussian noise, hits and alarms are chances, and each class has the score as a control variate:
its mean is known, and its slope is that of the Gaussian theory, so it does not hang on the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakscore.distributions import norm
from leakscore_app.report._model import Doubles

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
        What was drawn, and the largest possible value.
    weights : (T, K) or (K,) ndarray
        How often; that of the largest value is one more.
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
    """Return means with weights tilted to the smallest, and how rarely random weights pass them.

    The latter as a quantile of the standard normal law. With E_k exponential and u the mean, it is
    about the sum of E_k (u - b_k), whose saddle point is s.
    """
    grown = 1 + tilt * below
    share = counts / grown
    scale = share.sum(axis=1) / total
    mean = (share * below).sum(axis=1) / share.sum(axis=1)
    log_root = total * np.log(scale) + (counts * np.log(grown)).sum(axis=1)
    away = (mean[:, None] - below) / (scale[:, None] * grown)
    v = tilt[:, 0] * scale * np.sqrt((counts * away**2).sum(axis=1))
    w = np.sqrt(np.maximum(2 * log_root, 0.0))
    flat = w < 0.1  # where rounding shows: far below the level
    w, v = np.where(flat, 1.0, w), np.where(flat, 1.0, v)
    return mean, np.where(flat, 0.0, w + np.log(v / w) / w)


def _chances(
    members: Doubles, nonmembers: Doubles, score: float, cost: float, noise: float
) -> Doubles:
    """Return each pair's chance of a hit less `cost` times that of an alarm, at good thresholds.

    Both less their control variates. The last column is the largest possible value, for scores up
    to half as far again from their mean as the farthest one drawn.
    """
    hits = _Controlled(members - score / 2, score / 2, score, noise)
    alarms = _Controlled(nonmembers + score / 2, -score / 2, score, noise)
    at = _thresholds(hits, alarms, cost)
    values = hits.at(at) - cost * alarms.at(at)
    reach = _REACH * max(float(np.abs(one.away).max()) for one in (hits, alarms))
    line = np.linspace(-reach, reach, _GRID)
    most = [replace(one, away=line).at(at) for one in (hits, alarms)]
    top = most[0].max(axis=1) - cost * most[1].min(axis=1)
    return np.column_stack([values, np.maximum(top, values.max(axis=1))])


def _thresholds(hits: _Controlled, alarms: _Controlled, cost: float) -> Doubles:
    """Return those with the largest ends, by quantiles of the scores and the normal approximation.

    They are looked for on a grid and between all scores, where atoms leave gaps, and then nearby.
    """
    deviation = float(np.sqrt(hits.score))
    fewer = hits.fewer(), alarms.fewer()
    drawn = np.sort(np.concatenate([one.mean + one.away for one in fewer]))[::4]
    at = np.append(np.linspace(-5, 5, _GRID) * deviation, (drawn[1:] + drawn[:-1]) / 2)
    for width in (0.05, 0.005, 0.0):
        hit, alarm = (one.at(at) for one in fewer)
        variance = hit.var(axis=1) + cost**2 * alarm.var(axis=1)
        ends = hit.mean(axis=1) - cost * alarm.mean(axis=1)
        ends += _LEVEL * np.sqrt(variance / len(hits.away))
        first = at[_largest(ends, _EXACT_NOISY)]
        at = np.append(first[0] + np.linspace(-width, width, 21) * deviation, first)
    return first


def learned(members: Doubles, nonmembers: Doubles, noise: float) -> float | None:
    """Return the advantage at thresholds that are learned, each half's from the other half.

    None unless such a threshold is clearly better than 0, where the theory has it.
    """
    halves = [(members[start::2], nonmembers[start::2]) for start in (0, 1)]
    found = [_best(*half, noise) for half in halves]
    if not any(found):
        return None
    advantages = [
        _advantages(*half, np.array([at]), noise)[0]
        for half, at in zip(halves, found[::-1], strict=True)
    ]
    return float(np.mean(advantages))


def _best(members: Doubles, nonmembers: Doubles, noise: float) -> float:
    """Return 0, or the best threshold if its advantage is larger by many standard errors."""
    drawn = np.quantile(np.concatenate([members, nonmembers]), np.linspace(0, 1, _LEARNED))
    at = np.append(0.0, (drawn[1:] + drawn[:-1]) / 2)
    advantages = _advantages(members, nonmembers, at, noise)
    best = int(advantages.argmax())
    clear = advantages[best] - advantages[0] > _CLEAR / np.sqrt(len(members))
    return float(at[best]) if clear else 0.0


def _advantages(members: Doubles, nonmembers: Doubles, at: Doubles, noise: float) -> Doubles:
    far = [one - at[:, None] for one in (members, nonmembers)]
    hits, alarms = (norm.cdf(one / noise) if noise > 0 else one > 0 for one in far)
    return np.asarray(np.mean(hits, axis=1) - np.mean(alarms, axis=1))


@dataclass(frozen=True, eq=False)
class _Controlled:
    """Scores less their mean, and their chances over the noise less those of a linear law."""

    away: Doubles
    mean: float
    score: float
    noise: float

    def fewer(self) -> _Controlled:
        """Return quantiles of the scores in place of all."""
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
