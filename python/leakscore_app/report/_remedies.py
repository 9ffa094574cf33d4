"""What brings the worst record down: noise under a budget, and the cheaper changes re-scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import leakage, tradeoff
from leakscore.distributions import norm
from leakscore.numeric import bisect
from leakscore_app.report._leakage import Population, above, risk_of
from leakscore_app.report._model import ALPHA, Doubles, Game, Noise, Remedy

DROPS = (1, 3, 5)
CLIPS = (0.01, 0.05)
LEAVES = (1, 5)
GROWTHS = (2, 5)
MOST_RECORDS = 10**12
_TRIES = 12
_SLACK = 0.999  # of mu, so that a try that nearly meets the budget is the last but one


@dataclass(frozen=True)
class Budget:
    """The most that may leak of any record: an advantage, a power, or a Gaussian (epsilon, delta).

    A Gaussian epsilon is held against a game as the advantage that it allows.
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
        """Tell whether a leakage score is under the budget."""
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
        """What of a game the budget limits: its power or its advantage."""
        return "advantage" if self.max_power is None else "power"

    @property
    def limit(self) -> float:
        """The most advantage or power that the budget allows."""
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

    def answered_for(self, told: Doubles, added: Doubles) -> Doubles:
        """Return the leakages that a release answers for: what is known of a person after it.

        Of a person of whom earlier means told more than this allows, it is what the release adds:
        nothing takes the rest back.
        """
        return np.where(told > self.largest_leakage(), 0.0, told) + added

    def noise_options(self, told: float) -> dict[str, Any]:
        """Return the keywords of `leakage.noise_for`, less what earlier means told of a person."""
        if told == 0:
            return self.options()
        most = self.largest_leakage()
        left = tradeoff.gaussian(leakage=max(most - told, 1e-3 * most) * (1 - 1e-9))
        return {"max_advantage": float(left.advantage())}

    def tightened(self, worst: float, game: Game) -> Budget:
        """Return the budget for the theory under which the game's upper end is within this one.

        A game stands for a mu, the square root of a leakage. That of its upper end over that of
        the theory hardly depends on the noise, so the theory is asked for so much less.
        """
        asked = self._largest_mu()
        allowed = min(asked, float(np.sqrt(worst))) * asked / self._mu_of(self.upper(game))
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

    def fewest_records(self, worst: float, most: int) -> int | None:
        """Return the least n that brings a record of squared distance `worst` under the budget."""
        low, high = 1, 2
        while not self.met_by(worst / high):
            low, high = high, 2 * high
            if low > most:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.met_by(worst / middle) else (middle, high)
        return high


def noise_of(
    population: Population,
    budget: Budget,
    rows: npt.NDArray[np.int64],
    columns: tuple[str, ...],
    play: Callable[[int, float], Game],
    played: int = 1,
    also: Sequence[int] = (),
) -> Noise:
    """Find the noise on the present mean that brings every person in it under the budget.

    Those of earlier means only are beyond its reach. The theory says so of all others, the upper
    end of the game of the `played` worst ones with this noise. While a game's is above the budget,
    the theory is asked for less.

    Parameters
    ----------
    population : Population
    budget : Budget
    rows, columns
        Numbers and names of the population's records and columns.
    play : callable
        Plays a record, by its index, with noise of a standard deviation on the mean; the same draws
        each time, so that less leaks with more noise.
    played : int
        How many of them, the worst ones, are played.
    also : sequence of int
        Further persons that are played.
    """
    candidates = np.flatnonzero(population.published.new)
    beyond = population.told > budget.largest_leakage()
    told = np.where(beyond, 0.0, population.told)
    asked, scores = same_in_theory(population, told, budget, candidates, 0.0)
    noise, confirmed, harder = asked, False, budget
    for attempt in range(_TRIES):
        if attempt:
            noise, scores = same_in_theory(population, told, harder, candidates, noise)
        order = candidates[np.argsort(-scores[candidates], kind="stable")].tolist()
        games: list[Game] = []
        # Of whom earlier means told too much, the game does, too, whatever the noise.
        fair = [i for i in order[:played] if not beyond[i]] or order[:1]
        for index in dict.fromkeys([*fair, *also]):
            games.append(play(index, noise))
            if budget.upper(games[-1]) > budget.limit:
                break
        else:
            confirmed = True
            break
        harder = budget.tightened(float(scores[order[0]]), games[-1])
    after = risk_of(scores[order[:1]], None)
    errors = float(np.sqrt(population.n / population.correction))
    return Noise(
        budget=budget.options(),
        binding_row=int(rows[order[0]]),
        standard_errors=noise * errors,
        theory_standard_errors=asked * errors,
        confirmed=confirmed,
        rows_played=tuple(game.row for game in games),
        noise_std=dict(zip(columns, (noise * population.scale).tolist(), strict=True)),
        leakage=float(after.leakage[0]),
        advantage=float(after.advantage[0]),
        power=float(after.power[0]),
        game=games[0],
    )


def same_in_theory(
    population: Population,
    told: Doubles,
    budget: Budget,
    candidates: npt.NDArray[np.int64],
    least: float,
) -> tuple[float, Doubles]:
    """Return the noise of the theory, `least` or more, and the leakages of all persons with it.

    Noise changes which person is worst, so the noise of the worst person is found, all persons
    are scored again, and so on until the worst is one that the noise was found for.
    """
    noise, scores = least, told + population.added(least)
    index = int(candidates[np.argmax(scores[candidates])])
    while not budget.met_by(scores[index]):
        known = population.without(index)
        found = leakage.noise_for(
            population.added_record(index, known)[np.newaxis],
            known,
            population.batch_size,
            shape="scalar",
            **budget.noise_options(float(told[index])),
        )
        share = population.batch_size / population.n  # of the batch in the present mean
        noise = max(noise, float(np.max(found.noise_std)) * share)
        scores = told + population.added(noise)
        before, index = index, int(candidates[np.argmax(scores[candidates])])
        if index == before:
            break
    return noise, scores


def remedies_of(
    population: Population,
    budget: Budget,
    rows: npt.NDArray[np.int64],
    columns: tuple[str, ...],
    plain: bool = True,
) -> tuple[Remedy, ...]:
    """Score the release again with fewer columns, clipped values, fewer and more records.

    Only of plain means are columns left out or clipped: features of a record belong together.

    Judged are the persons in the batch that the release adds, by all means together. No change of
    the values hides one who is all of that batch; more records do.
    """
    judged = _Judged(population, population.published.new, rows)
    if population.published.given_away(slice(-1, None)).any():
        return tuple(_waiting(judged, budget))
    longer = _waiting if population.published.last else _more_records
    return (
        *(_fewer_columns(judged, columns) if plain else ()),
        *(_clipped(judged) if plain else ()),
        *_without_worst(judged),
        *longer(judged, budget),
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """The release, and whose numbers are compared: persons (P,), numbers of first records (P,)."""

    population: Population
    who: npt.NDArray[np.bool_]
    rows: npt.NDArray[np.int64]

    @property
    def record(self) -> str:
        """What the records of the batch are called."""
        return "record" if self.population.published.last == 0 else "new record"

    def worst(self, scores: Doubles, count: int = 1) -> npt.NDArray[np.intp]:
        """Return the persons of largest leakage, the worst first."""
        judged = np.flatnonzero(self.who)
        return judged[np.argsort(-scores[judged], kind="stable")[:count]]

    def remedy(self, kind: str, what: str, cost: str, scores: Doubles, **more: Any) -> Remedy:
        """Return a remedy from the leakages of all persons."""
        return remedy_of(kind, what, cost, self.rows[self.who], scores[self.who], **more)


def remedy_of(
    kind: str, what: str, cost: str, rows: npt.NDArray[np.int64], scores: Doubles, **more: Any
) -> Remedy:
    """Return a remedy, with the worst of the records that it leaves."""
    risk = risk_of(scores, None)
    worst = int(np.argmax(scores))
    return Remedy(
        kind=kind,
        what=what,
        cost=cost,
        worst_row=int(rows[worst]),
        leakage=float(scores[worst]),
        advantage=float(risk.advantage[worst]),
        power=float(risk.power[worst]),
        above=above(risk.power),
        **more,
    )


def _fewer_columns(judged: _Judged, columns: tuple[str, ...]) -> Iterator[Remedy]:
    """Leave out, one after another, the column whose loss helps the worst record most."""
    population = judged.population
    kept, smaller = list(range(population.dim)), population
    dropped: list[str] = []
    while len(kept) > 1 and len(dropped) < DROPS[-1]:
        _, without = smaller.shares(int(judged.worst(smaller.informed())[0]))
        dropped.append(columns[kept.pop(int(np.argmin(without)))])
        smaller = population.with_columns(kept)
        if len(dropped) in DROPS:
            number = f"{len(dropped)} column{'s' if len(dropped) > 1 else ''}"
            yield judged.remedy(
                "fewer columns",
                f"without {number}: {', '.join(dropped)}",
                f"{number} less",
                smaller.informed(),
            )


def _clipped(judged: _Judged) -> Iterator[Remedy]:
    """Clip the columns of the records that the release adds."""
    population = judged.population
    added = population.published.batch == population.published.last
    what = "columns" if added.all() else "the new records' columns"
    levels = [level for share in CLIPS for level in (share, 1 - share)]
    limits = np.quantile(population.values, levels, axis=0)
    for share, low, high in zip(CLIPS, limits[::2], limits[1::2], strict=True):
        values = np.clip(population.values, low, high)
        moves = values[added].mean(axis=0) - population.values[added].mean(axis=0)
        moved = float(np.abs(moves).max()) * (population.batch_size / population.n)
        shift = moved * float(np.sqrt(population.n))
        yield judged.remedy(
            "winsorising",
            f"{what} clipped at {100 * share:g} % and {100 - 100 * share:g} %",
            f"moves a mean by up to {shift:.2g} standard errors",
            population.informed_of(values),
            clipped=share,
            mean_shift=shift,
        )


def _without_worst(judged: _Judged) -> Iterator[Remedy]:
    """Leave the worst records out: those behind them become the unusual ones."""
    population, published = judged.population, judged.population.published
    one = judged.record if population.owned.alone.all() else "person"
    before = population.informed()
    for count in LEAVES:
        worst = judged.worst(before, count)
        rows = np.flatnonzero(
            np.isin(population.owned.of_row, worst) & (published.batch == published.last)
        )
        if len(worst) < count or not population.can_spare(rows):
            continue
        number = f"the worst {one}" if count == 1 else f"the {count} worst {one}s"
        smaller, remain = population.without_records(rows)
        scores = population.told[remain] if smaller is None else smaller.informed()
        kept = judged.who[remain] & ~np.isin(remain, worst)
        yield remedy_of(
            "fewer records",
            f"without {number}",
            "the next records stand out more",
            judged.rows[remain][kept],
            scores[kept],
        )


def _more_records(judged: _Judged, budget: Budget) -> Iterator[Remedy]:
    """Average more records: of the same population, or of this table if it is the population."""
    population = judged.population
    sizes = [population.n * growth for growth in GROWTHS]
    if not population.finite:
        worst = float(population.informed().max()) * population.n
        enough = budget.fewest_records(worst, MOST_RECORDS)
        sizes += [] if enough is None or enough <= population.n else [enough]
    for n in sorted(set(sizes)):
        if population.finite and n > population.most_drawn:
            continue
        missing = max(n - population.size, 0)
        yield judged.remedy(
            "larger n",
            f"the mean of {n} records",
            f"{missing} more records than there are" if missing else "none",
            population.larger(n).informed(),
            records_missing=missing,
        )


def _waiting(judged: _Judged, budget: Budget) -> Iterator[Remedy]:
    """Wait until more new records are there: their leakage falls as their batch grows.

    The least batch that meets the budget is found from M / b and what earlier means told, of a
    person who is alone in the batch now, too.
    """
    population = judged.population
    size, twice = population.batch_size, 2 * population.batch_size
    # Twice as large a batch is nobody's alone, and gives the squared distances.
    distances = population.larger(twice).added() * twice
    told = np.where(population.told > budget.largest_leakage(), 0.0, population.told)
    now = told + population.added()

    def enough(batch: int) -> bool:
        scores = (told + distances / batch)[judged.who]
        return batch > size and budget.met_by(float(scores.max()))

    low, high = size, twice
    while high <= MOST_RECORDS and not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    sizes = {size * growth for growth in GROWTHS if size > 1}
    if high <= MOST_RECORDS and not budget.met_by(float(now[judged.who].max())):
        sizes.add(high)
    for larger in sorted(sizes):
        yield judged.remedy(
            "larger batch",
            f"wait until {larger} new records are there",
            f"{larger - size} more new records than there are",
            population.larger(larger).informed(),
        )


def noise_on_every_mean(
    population: Population, noise: Noise, rows: npt.NDArray[np.int64]
) -> Iterator[Remedy]:
    """Score all means again as if each had carried the noise that the present one needs.

    That is noise of the same standard errors in every column, where another shape is offered, too.
    """
    errors = noise.standard_errors if noise.beside is None else noise.beside["same"]
    if population.published.last and errors and noise.shape != "independent":
        std = errors / float(np.sqrt(population.n))
        yield remedy_of(
            "noise on every mean",
            f"noise of {errors:.3g} standard errors of the present mean on all "
            f"{len(population.published.sizes)} means",
            "too late for the means published without it",
            rows,
            population.noisy_from_the_start(std),
        )
