"""Leakages in the terms of a report: risks, counts, drivers, confidence intervals and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.distributions import chi2, ncx2, norm
from leakscore.numeric import bisect
from leakscore.statistics import GLM, Cox, Regression
from leakscore_app.passes.scores import CellScores
from leakscore_app.report._model import (
    ALPHA,
    LEVELS,
    LOW_PRIOR,
    Cell,
    CovarianceQuality,
    Doubles,
    Driver,
    Drivers,
    Game,
    IdentifiedCounts,
    Narrowing,
    Refit,
    Risk,
)
from leakscore_app.report.engine.population import Population

THRESHOLDS: Doubles = np.asarray((norm.ppf(np.array(LEVELS)) - norm.ppf(ALPHA)) ** 2)
"""Leakages above which records are recognised with more than each level of power."""

_SLACK = 0.999  # of mu, so that a try that nearly meets the budget is the last but one


def risk_of(scores: Doubles, base_rate: float | None) -> Risk:
    """Return advantage, power at 1 % false positives and predictive values of leakage scores."""
    curve = tradeoff.gaussian(leakage=scores)
    return Risk(
        leakage=scores,
        advantage=curve.advantage(),
        power=curve.power(ALPHA),
        ppv_at_base_rate=None if base_rate is None else curve.ppv(ALPHA, base_rate),
        ppv_at_low_prior=curve.ppv(ALPHA, LOW_PRIOR),
    )


def shares_of(score: float) -> dict[str, Any]:
    """Return a leakage score, its advantage and its power, by name."""
    curve = tradeoff.gaussian(leakage=score)
    advantage, power = float(curve.advantage()), float(curve.power(ALPHA))
    return {"leakage": score, "advantage": advantage, "power": power}


_THIN, _UNSEEN = 1e-3, 0.05
"""Share of a mean, and advantage by the spread alone, up to which it is not counted."""


def interval_of(score: float, rows: int, dim: int, confidence: float) -> tuple[float, float]:
    """Interval for a leakage score whose covariance was estimated (ddof 0) on `rows` records.

    If the records are Gaussian, true over estimated leakage is chi-square with rows - dim degrees
    of freedom over rows (a law of the Wishart matrix); heavier tails make the interval wider.
    """
    tails = np.array([(1 + confidence) / 2, (1 - confidence) / 2])
    low, high = score * chi2.isf(tails, rows - dim) / rows
    return float(low), float(high)


def narrowed(leakage: npt.ArrayLike, leverages: npt.ArrayLike) -> Doubles:
    """Return the advantage, from a regression's coefficients, of one who knows all predictors.

    Without the record the coefficients are Gaussian; in the direction in which the record moves
    them most, let their variance be 1. With a record of leverage h their standard deviation there
    is 1 - h, and their mean is m with m^2 = (1 - h) times the leakage of the record's shift. (The
    normal theory of a mean, with one variance, counts the shift alone.) The likelihood ratio
    exceeds its threshold between the roots of a quadratic.

    Leverages are from 0 to 1; the advantage is the total variation of N(0, 1) and N(m, (1 - h)^2).
    """
    scores = np.asarray(leakage, dtype=np.float64)
    h = np.asarray(leverages, dtype=np.float64)
    scores, h = np.broadcast_arrays(scores, h)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = 1 - h
        m, gap = np.sqrt(scores * s), h * (2 - h)  # gap = 1 - s^2
        fall = -2 * np.log1p(-h)
        root = s * np.sqrt(m * m + gap * fall)
        high = np.where(gap > 0, (m + root) / gap, np.inf)
        low = np.where(m + root > 0, (m * m - s * s * fall) / (m + root), 0.0)
        inside = norm.cdf((high - m) / s) - norm.cdf((low - m) / s)
        advantage = inside - (norm.cdf(high) - norm.cdf(low))
    same = (scores == 0) & (h == 0)
    return np.where(same, 0.0, np.where((h >= 1) | np.isinf(scores), 1.0, advantage))


def thinned(leakage: npt.ArrayLike, shares: npt.ArrayLike, dim: int) -> Doubles:
    """Return the advantage of the best test of whether given records fill a share of a mean.

    Without them the mean is Gaussian with covariance I in `dim` dimensions. With them fewer others
    vary: the covariance is (1 - h) I about m, where h is the share and m^2 the leakage. The
    likelihood ratio exceeds its threshold in a ball about m / h.
    """
    scores, h = np.broadcast_arrays(
        np.asarray(leakage, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (1 - h) * (scores / h**2 - dim * np.log1p(-h) / h)
        inside = ncx2.cdf(square / (1 - h), dim, scores * (1 - h) / h**2)
        advantage = inside - ncx2.cdf(square, dim, scores / h**2)
    return np.where((h >= 1) | np.isinf(scores), 1.0, advantage)


def thinning_of(
    population: Population, rows: npt.NDArray[np.int64], leakage: Doubles, budget: Budget
) -> Narrowing | None:
    """Return the person that narrows the spread of means most, by many records or a known weight.

    A single record of common weight narrows it by next to nothing, as does a person with a small
    share of each batch.
    """
    if population.finite or (population.plain and population.pull is None):
        return None
    published = population.published
    pull = np.ones((population.size, 1)) if population.pull is None else population.pull[:, None]
    person, batch, filled = published.sums(pull**2)
    totals = np.bincount(published.batch, pull[:, 0] ** 2)
    if population.pull is None:
        totals = published.sizes.astype(np.float64)
    shares = np.zeros(len(rows))
    np.maximum.at(shares, person, filled[:, 0] / totals[batch])
    quiet = np.where(shares > _THIN, thinned(0.0, np.maximum(shares, _THIN), population.dim), 0.0)
    if quiet.max() <= _UNSEEN:
        return None
    shift = np.where(leakage <= budget.largest_leakage(), leakage, 0.0)
    advantages = np.where(
        quiet > _UNSEEN, thinned(shift, np.maximum(shares, _THIN), population.dim), 0.0
    )
    worst = int(advantages.argmax())
    return Narrowing(int(rows[worst]), "", float(shares[worst]), float(advantages[worst]))


def released_leverages(inside: Doubles, size: int, n: int | npt.NDArray[np.int64]) -> Doubles:
    """Return leverages in fits with n others, from those in a table of `size` records."""
    return np.asarray(inside * size / (n * (1 - inside) + inside * size))


def narrowing_of(
    regression: Regression,
    block: Doubles,
    rows: npt.NDArray[np.int64],
    leakage: Doubles,
    *,
    n: int | npt.NDArray[np.int64],
    budget: Budget,
    owners: npt.NDArray[np.intp] | None = None,
) -> Narrowing:
    """Return the worst record of a table, with `n` of which each is fitted first, by `narrowed`.

    If a record's shift is above the limit, noise must hide the shift anyway; then the narrower
    spread alone counts.
    """
    leverages = released_leverages(regression.leverages(block, owners), len(block), n)
    advantages = narrowed(np.where(leakage <= budget.largest_leakage(), leakage, 0.0), leverages)
    worst = int(advantages.argmax())
    return Narrowing(
        int(rows[worst]),
        regression.column_of(block[worst]),
        float(leverages[worst]),
        float(advantages[worst]),
    )


def refits_of(model: GLM | Cox, block: Doubles, rows: npt.NDArray[np.int64]) -> tuple[Refit, ...]:
    """Return the shifts of records without which the model was fitted again, the worst first."""
    at, features = model.refitted, model.features(block)
    errors = features.std(axis=0) * np.sqrt(len(block))
    exact, steps = features[at] / errors, model.one_step(block[at]) / errors
    largest = np.abs(exact).argmax(axis=1)
    names = [name.removeprefix("coefficient of ") for name in model.names]
    return tuple(
        Refit(int(row), names[j], float(step[j]), float(refit[j]))
        for row, j, step, refit in zip(rows[at], largest.tolist(), steps, exact, strict=True)
    )


def counts_of(attacker: str, scores: Doubles, rows: np.ndarray) -> IdentifiedCounts:
    """Return the numbers of records that the attacker identifies, the median and the worst record.

    Among records of equal leakage the first is named, as in long tables.
    """
    order, size = np.sort(scores), len(scores)
    ends = order[[(size - 1) // 2, size // 2, -1]]
    middle, _, worst = (int((scores == score).argmax()) for score in ends)
    places = (int(rows[middle]), int(rows[worst]))
    return identified(attacker, size, by_level(above(scores)), scores=ends, rows=places)


def identified(
    attacker: str, size: int, above: dict[str, int], *, scores: Doubles, rows: tuple[int, int]
) -> IdentifiedCounts:
    """Return the counts; `scores` and `rows` are the two median ones and the largest."""
    risk = risk_of(scores, None)
    return IdentifiedCounts(
        attacker=attacker,
        records=size,
        above=above,
        median_power=float(np.mean(risk.power[:2])),
        worst_power=float(risk.power[2]),
        median_advantage=float(np.mean(risk.advantage[:2])),
        worst_advantage=float(risk.advantage[2]),
        median_row=rows[0],
        worst_row=rows[1],
    )


def above(scores: Doubles) -> npt.NDArray[np.int64]:
    """Count the records that are identified with more than each level of power."""
    return np.array([np.count_nonzero(scores > at) for at in THRESHOLDS])


def by_level(counts: np.ndarray) -> dict[str, int]:
    """Return the counts above each level of power, by its name."""
    levels = zip(LEVELS, counts.tolist(), strict=True)
    return {f"{100 * level:g}%": int(count) for level, count in levels}


def drivers_of(
    people: Population, index: int, row: int, columns: Sequence[str], values: Doubles | None
) -> Drivers:
    """Return each column's share in a person's leakage; with `values` if these may be shown."""
    shares, without = people.shares(index)
    remaining = np.full(people.dim, np.nan) if people.shrinkage else people.left_out(index, without)
    order = np.argsort(-shares, kind="stable")
    return Drivers(
        row=row,
        columns=tuple(
            Driver(
                column=columns[j],
                share=float(shares[j]),
                leakage_without=float(remaining[j]),
                value=None if values is None else float(values[j]),
            )
            for j in order
        ),
        negative_shares=int((shares < 0).sum()),
    )


def covariance_of(
    people: Population,
    rows: npt.NDArray[np.int64],
    index: int,
    scores: Doubles,
    confidence: float,
) -> CovarianceQuality:
    """Return how well the covariance is estimated, and its effect on the worst leakage."""
    worst = float(scores[index])
    others = people.size - int(people.owned.sizes[index])
    low = high = power_low = power_high = None
    if not people.shrinkage and not people.pooled:
        low, high = interval_of(worst, others, people.dim, confidence)
        power_low, power_high = tradeoff.gaussian(leakage=[low, high]).power(ALPHA).tolist()
    return CovarianceQuality(
        kind="pooled" if people.pooled else "full",
        shrinkage=people.reference.shrinkage if people.shrinkage else None,
        condition_number=_condition(people.reference.cov),
        rows_per_column=people.size / people.dim,
        worst_row=int(rows[index]),
        worst_leakage=worst,
        interval_confidence=confidence,
        leakage_low=low,
        leakage_high=high,
        power_low=power_low,
        power_high=power_high,
    )


def _condition(cov: Doubles) -> float:
    """Return the condition number of a covariance; inf if it is singular to rounding."""
    sizes = np.abs(np.linalg.eigvalsh(cov))
    least = float(sizes.min())
    return float(sizes.max()) / least if least else float("inf")


@dataclass(frozen=True)
class Budget:
    """The most that may leak of any record: an advantage, a power, or a Gaussian (epsilon, delta).

    A game is compared with a Gaussian epsilon by the advantage that this allows.
    """

    max_advantage: float
    epsilon: float | None
    delta: float
    max_power: float | None = None

    def options(self) -> dict[str, Any]:
        """Return the keywords of `leakage.noise_for`."""
        if self.epsilon is not None:
            return {"epsilon": self.epsilon, "delta": self.delta}
        if self.max_power is not None:
            return {"max_power": self.max_power}
        return {"max_advantage": self.max_advantage}

    def met_by(self, score: float) -> bool:
        """Whether a leakage score is within the budget."""
        if np.isinf(score):
            return False
        curve = tradeoff.gaussian(leakage=score)
        if self.epsilon is not None:
            return bool(curve.delta(self.epsilon) <= self.delta)
        if self.max_power is not None:
            return bool(curve.power(ALPHA) <= self.max_power)
        return bool(curve.advantage() <= self.max_advantage)

    @property
    def quantity(self) -> str:
        """The quantity of a game that the budget limits: power or advantage."""
        return "advantage" if self.max_power is None else "power"

    @property
    def limit(self) -> float:
        """The largest advantage or power that the budget allows."""
        if self.epsilon is not None:
            return float(tradeoff.gaussian(leakage=self._largest_mu() ** 2).advantage())
        return self.max_advantage if self.max_power is None else self.max_power

    def shares(self, scores: npt.ArrayLike) -> Doubles:
        """Return the advantage or power of leakage scores in theory."""
        curve = tradeoff.gaussian(leakage=scores)
        return np.asarray(curve.advantage() if self.max_power is None else curve.power(ALPHA))

    def upper(self, game: Game) -> float:
        """Return the upper end, with 95 % confidence, of a game's advantage or power."""
        upper = getattr(game, self.quantity).upper
        return float(upper)

    def largest_leakage(self) -> float:
        """Return the largest leakage score that this allows."""
        return self._largest_mu() ** 2

    def answered_for(self, earlier: Doubles, added: Doubles) -> Doubles:
        """Return the leakages by which a release is judged: all that it and earlier means leak.

        For persons over the limit by earlier means, only what the release adds is judged: nothing
        takes the rest back.
        """
        return np.where(earlier > self.largest_leakage(), 0.0, earlier) + added

    @property
    def allowed_advantage(self) -> float:
        """The advantage of the largest leakage that this allows."""
        return float(tradeoff.gaussian(leakage=self.largest_leakage()).advantage())

    def noise_options(self, earlier: float) -> dict[str, Any]:
        """Return the keywords of `leakage.noise_for`, less the leakage from earlier means."""
        if earlier == 0:
            return self.options()
        most = self.largest_leakage()
        allowed = tradeoff.gaussian(leakage=max(most - earlier, 1e-3 * most) * (1 - 1e-9))
        return {"max_advantage": float(allowed.advantage())}

    def tightened(self, worst: float, game: Game) -> Budget:
        """Return the budget for the theory under which the game's upper end is within this one.

        A game corresponds to a mu, the square root of a leakage. The ratio of its upper end's mu to
        the theory's hardly depends on the noise, so the theory's limit is divided by it.
        """
        largest = self._largest_mu()
        allowed = min(largest, float(np.sqrt(worst))) * largest / self._mu_of(self.upper(game))
        limit = float(tradeoff.gaussian(leakage=(_SLACK * allowed) ** 2).advantage())
        return Budget(max_advantage=limit, epsilon=None, delta=self.delta)

    def _largest_mu(self) -> float:
        high = 1.0
        while self.met_by(high * high):
            high *= 2
        return bisect(lambda mu: self.met_by(mu * mu), 0.0, high)[0]

    def _mu_of(self, share: float) -> float:
        """Return the mu of the Gaussian curve with this advantage or power."""
        share = min(share, 1 - 1e-15)
        if self.max_power is not None:
            return float(norm.ppf(share) - norm.ppf(ALPHA))
        return float(2 * norm.ppf((1 + share) / 2))


def least_size(enough: Callable[[int], bool], size: int, most: int) -> int | None:
    """Return the least number above `size` that is enough, as all above it; None beyond `most`.

    Doubling brackets the number, bisection finds it.
    """
    low, high = size, 2 * size
    while not enough(high):
        low, high = high, 2 * high
        if low > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def cells_named(
    names: Sequence[str], persons: CellScores, leakages: Doubles, records: Sequence[int]
) -> Iterator[Cell]:
    """Yield the cells of a table by group that hold persons, each with its worst leakage, (K,)."""
    above = persons.above[LEVELS.index(0.5)]
    for k in np.flatnonzero(persons.records).tolist():
        yield Cell(
            cell=names[k],
            records=records[k],
            persons=int(persons.records[k]),
            row=int(persons.rows[k]),
            **shares_of(float(leakages[k])),
            above_half=int(above[k]),
        )
