"""Attacks that are linear in the released means, and the rounds of their games.

Both attackers' scores are linear in the released mean. So a round needs only the projection w'x of
the records that it draws, and each game is one-dimensional and exact. Coefficients that are fitted
again in every round are projected on several directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import games, scores
from leakscore.distributions import norm
from leakscore.games.projections import LARGEST_DRAWN, Binned, Bins, Projections, weighted_sums
from leakscore.numeric import bisect
from leakscore.reference import Reference
from leakscore.statistics import (
    GLM,
    Correlations,
    Cox,
    Equations,
    Regression,
    SampleSums,
    WeightedRatio,
)
from leakscore_app.passes.lattices import round_to_steps
from leakscore_app.passes.projections import ProjectedNumbers
from leakscore_app.report._model import ALPHA, Doubles
from leakscore_app.report._published import Integers, Published
from leakscore_app.report.engine import learned
from leakscore_app.report.engine.leakage import released_leverages
from leakscore_app.report.engine.population import Population

_DRAWN_TOGETHER = 2**20  # records that are drawn at once
# Of projections below the leading one of their standard deviation; with those of n, for sums.
_BITS, _SUM_BITS = 37, 50
_MOST_PRODUCTS = 2e10  # of the refits of a game
# Rounds that an attacker learns from: of those judged one in so many more, or so many.
_LEARNED, _LEAST_LEARNED = 4, 1000
LINEAR = 0.02
"""Leverage up to which coefficients are linear in a record, beside a game's error."""
NEARLY_LINEAR = 0.07
"""Leverage up to which they are, but for some hundredths of an advantage."""
Fitted: TypeAlias = GLM | Cox | Regression | Correlations | WeightedRatio
"""Statistics that are linear in a record of small leverage alone."""


@dataclass(frozen=True, eq=False)
class ProjectionLaw:
    """The law of the others' projections on an attack, about their mean.

    Attributes
    ----------
    unit : float
        Root of the second moment; 0 if all projections are 0.
    third, fourth : float
        Further moments in this unit.
    largest : float
        Contribution of the projection of largest size to the second moment.
    row : int
        Row number of that projection.
    """

    unit: float
    third: float
    fourth: float
    largest: float
    row: int

    @classmethod
    def of(cls, others: Doubles, rows: npt.NDArray[np.int64]) -> ProjectionLaw:
        """Compute the moments of projections; `rows` are the numbers of their records."""
        place = int(np.abs(others).argmax())
        largest = abs(float(others[place]))
        z = others / (largest or 1.0)  # whose powers are float64
        root = float(np.sqrt(np.mean(z**2)))
        z /= root or 1.0
        third, fourth = float(np.mean(z**3)), float(np.mean(z**4))
        return cls(largest * root, third, fourth, largest**2 / len(others), int(rows[place]))

    def share(self, quantity: str, attack: LinearAttack) -> float:
        """Return power or advantage by the Edgeworth expansion to second order.

        The sum of the n records of a mean has n times (with the record in it, n - 1 times) the
        cumulants of one of the others.
        """
        if not self.unit > 0:
            return float("nan")
        record = float(attack.target[0]) / self.unit
        cumulants = np.array([0.0, 1.0, self.third, self.fourth - 3.0])
        added = np.array([0.0, (attack.n * attack.noise / self.unit) ** 2, 0.0, 0.0])
        without = attack.n * cumulants + added
        with_it = (attack.n - 1) * cumulants + added + np.array([record, 0.0, 0.0, 0.0])
        if quantity == "advantage":
            middle = record / 2
            return _expanded(middle, with_it) - _expanded(middle, without)
        widest = 20 * float(np.sqrt(without[1]))
        threshold, _ = bisect(lambda at: _expanded(at, without) > ALPHA, 0.0, widest)
        return float(_expanded(threshold, with_it))


def _expanded(point: float, cumulants: Doubles) -> float:
    """Upper tail of a sum by the Edgeworth expansion to order 1/n; P. Hall (1992), eq. (2.17).

    Unlike `distributions.edgeworth`, it is computed even where it is rough: the report compares it
    with the simulation, and names it only where it comes close.
    """
    mean, variance, third, fourth = cumulants.tolist()
    u = (point - mean) / np.sqrt(variance)
    skewness, kurtosis = third / variance**1.5, fourth / variance**2
    hermite = (u * u - 1, u**3 - 3 * u, u**5 - 10 * u**3 + 15 * u)
    terms = (skewness / 6, kurtosis / 24, skewness**2 / 72)
    return float(norm.sf(u) + norm.pdf(u) * np.dot(terms, hermite))


class Others(Protocol):
    """The projections of all other records on the direction of a strand, about their mean."""

    @property
    def law(self) -> ProjectionLaw:
        """Moments of the projections, and the largest."""

    def records(self, *, replace: bool) -> games.Empirical:
        """Return the population from which a game draws."""


@dataclass(frozen=True, eq=False)
class ProjectedRecords:
    """Projections (N,) of all records, row numbers, and the person's records to leave out."""

    every: Doubles
    excluded: Integers
    numbers: npt.NDArray[np.int64]

    @cached_property
    def others(self) -> Doubles:
        """The projections of the other records."""
        return np.delete(self.every, self.excluded)

    @cached_property
    def law(self) -> ProjectionLaw:
        """See `Others`."""
        return ProjectionLaw.of(self.others, np.delete(self.numbers, self.excluded))

    def records(self, *, replace: bool) -> games.Empirical:
        """See `Others`."""
        if len(self.excluded) > 1:
            return Projections(self.others[:, None], replace=replace)
        return Projections(self.every[:, None], exclude=int(self.excluded[0]), replace=replace)


@dataclass(frozen=True, eq=False)
class ProjectedBins:
    """Binned projections of a table that is read block by block, and the width of a step."""

    line: ProjectedNumbers
    step: float

    @property
    def law(self) -> ProjectionLaw:
        """See `Others`."""
        _, second, third, fourth = (self.line.powers / self.line.count).tolist()
        unit = float(np.sqrt(second))
        size, (largest, row) = unit or 1.0, self.line.largest
        return ProjectionLaw(
            unit, third / size**3, fourth / size**4, largest**2 / self.line.count, row + 1
        )

    def records(self, *, replace: bool) -> games.Empirical:
        """See `Others`."""
        return Binned(bins=bins_of(self.line, self.step), replace=replace)


@dataclass(frozen=True, eq=False)
class Strand:
    """One batch in an attack: direction, centre, and the sum of the person's projections."""

    size: int
    rows: Integers
    excluded: Integers
    centre: Doubles
    weight: Doubles
    person: float


@dataclass(frozen=True, eq=False)
class LinearAttack:
    """A score that is linear in the means of all batches: the sum of the strands' means.

    It is the score of a record `target` on a mean of n records with the variance of `line`.
    """

    index: int
    attacker: str
    strands: tuple[Strand, ...]
    line: Reference
    target: Doubles
    n: int
    noise: float
    step: float
    """Of projections: sums of multiples are exact, whatever their order."""

    @property
    def plain(self) -> bool:
        """Whether the target is one record in one mean."""
        return len(self.strands) == 1 and len(self.strands[0].rows) == 1

    def score(self, means: Doubles) -> Doubles:
        """Return the log-likelihood ratios of sums of the strands' means, (T, 1)."""
        return np.asarray(
            scores.covariance_score(means, self.target, self.line, self.n, noise_std=self.noise)
        )


def skewness_of(attack: LinearAttack, others: Sequence[Others]) -> float:
    """Return the skewness of a round without the person, without noise."""
    laws = [of.law for of in others]
    if len(laws) == 1:
        return laws[0].third / float(np.sqrt(attack.strands[0].size))
    pairs = list(zip(attack.strands, laws, strict=True))
    third = sum(law.third * law.unit**3 / strand.size**2 for strand, law in pairs)
    second = sum(law.unit**2 / strand.size for strand, law in pairs)
    return third / second**1.5 if second > 0 else 0.0


def attack_on(
    population: Population,
    index: int,
    attacker: str = "informed",
    noise_std: float = 0.0,
    noise_cov: Doubles | None = None,
) -> LinearAttack:
    """Return the attack on a person: the direction of the score in each batch."""
    reference, published = population.without(index), population.published
    grown = population.n / population.batch_size  # of the noise, when subtracting
    parts = list(published.parts(index))
    aways, weights, noises = [], [], []
    for part in parts:
        away = (population.values[part.rows] - reference.mean).sum(axis=0)
        size, noisy = int(published.sizes[part.batch]), reference
        noise = noise_std * grown if part.batch == published.last else 0.0
        if noise_cov is not None and part.batch == published.last:
            noisy = Reference(reference.mean, reference.cov + size * grown**2 * noise_cov)
        aways.append(away)
        weights.append(weight_of(noisy, attacker, away, size * noise**2))
        noises.append(noise)
    weights = in_units(weights)
    variances = [float(weight @ reference.cov @ weight) for weight in weights]
    step = _step(max(variances), int(published.sizes.max()))
    strands = []
    for part, away, weight in zip(parts, aways, weights, strict=True):
        size, person = int(published.sizes[part.batch]), float(round_to_steps(away @ weight, step))
        if population.pull is not None:
            person *= float(population.pull[part.rows[0]])
        rows = population.owned.rows(index)
        strands.append(Strand(size, part.rows, rows, reference.mean, weight, person))
    n = strands[-1].size
    lengths = [float(np.linalg.norm(weight)) for weight in weights]
    noise = float(np.hypot.reduce(np.multiply(noises, lengths)))
    if noise_cov is not None and parts[-1].batch == published.last:
        noise = grown * float(np.sqrt(weights[-1] @ noise_cov @ weights[-1]))
    shares = [n / strand.size for strand in strands]  # 1 of a single batch
    spread = sum(c * variance for c, variance in zip(shares, variances, strict=True))
    target = sum(c * strand.person for c, strand in zip(shares, strands, strict=True))
    line = Reference([0.0], [spread or 1.0])  # any, of who shifts no mean
    return LinearAttack(index, attacker, tuple(strands), line, np.array([target]), n, noise, step)


def _step(variance: float, n: int) -> float:
    """Return the smallest power of two, relative to the deviation, that keeps sums of n exact."""
    bits = min(_BITS, _SUM_BITS - n.bit_length())
    return float(np.ldexp(1.0, int(np.frexp(np.sqrt(variance if variance > 0 else 1.0))[1]) - bits))


def projected(
    population: Population, attack: LinearAttack, numbers: npt.NDArray[np.int64]
) -> tuple[ProjectedRecords, ...]:
    """Project all records of a table in memory on every direction of an attack."""
    return tuple(
        ProjectedRecords(
            round_to_steps((population.values - strand.centre) @ strand.weight, attack.step),
            strand.excluded,
            numbers,
        )
        for strand in attack.strands
    )


def bins_of(line: ProjectedNumbers, unit: float) -> Bins:
    """Bin projections about 0 as the games draw them, in multiples of a unit."""
    inside, ends = line.inside, (len(line.low), len(line.high))
    full = inside.sizes > 0
    sizes = inside.sizes[full]
    return Bins(
        np.pad(sizes, ends, constant_values=1),
        np.concatenate([line.low, inside.means[full], line.high]) / unit,
        np.pad(inside.scatters[full] / sizes / unit**2, ends),
        np.pad((inside.high[full] - inside.low[full]) / unit, ends),
        0.0,
        unit,
    )


def rounds_of_one(
    attack: LinearAttack,
    others: Sequence[Others],
    rounds: int,
    rng: np.random.Generator,
    *,
    replace: bool,
) -> tuple[Doubles, Doubles]:
    """Play one record in one mean; return its scores with the record in it and without it."""
    outcome, member = games.fixed_target(
        others[0].records(replace=replace),
        attack.target,
        games.EmpiricalMean(attack.strands[0].size),
        rounds,
        rng,
        score=attack.score,
        balanced=True,
    )
    return outcome[member], outcome[~member]


def rounds_of_weights(
    attack: LinearAttack, records: Others, pull: Doubles, rounds: int, rng: np.random.Generator
) -> tuple[Doubles, Doubles]:
    """Play one record in a mean with known weights; the last of `pull` is its weight.

    Every place but that of the target is filled with one of the other records; so is the target's
    in the rounds without it. Many places are drawn weight by weight.
    """
    if not isinstance(records, ProjectedRecords):
        raise TypeError("The population must hold records, not bins of their projections")
    (strand,) = attack.strands
    draw = weighted_sums if len(pull) > LARGEST_DRAWN else _sums_of_weights
    outcomes = []
    for inside in (True, False):
        sums = draw(records.others, pull[: len(pull) - inside], rounds // 2, rng)
        outcomes.append(attack.score((sums[:, None] + inside * strand.person) / strand.size))
    return outcomes[0], outcomes[1]


def _sums_of_weights(
    values: Doubles, weights: Doubles, rounds: int, rng: np.random.Generator
) -> Doubles:
    """Draw sums of weights times values, one by one; see `weighted_sums`."""
    sums = np.empty(rounds)
    tile = max(1, _DRAWN_TOGETHER // len(weights))
    for start in range(0, rounds, tile):
        part = sums[start : start + tile]
        drawn = rng.integers(len(values), size=(len(part), len(weights)))
        # Not by BLAS, whose last bits depend on threads.
        np.einsum("ij,j->i", values[drawn], weights, out=part)
    return sums


def rounds_of_several(
    attack: LinearAttack,
    others: Sequence[Others],
    rounds: int,
    rng: np.random.Generator,
    *,
    replace: bool,
) -> tuple[Doubles, Doubles]:
    """Play k records in the mean of n: n - k others and these, or n others; batches add up.

    A game of one target in n - k + 1 has so many others in its rounds with the target.
    """
    with_them, without = np.zeros(rounds // 2), np.zeros(rounds // 2)
    for strand, of in zip(attack.strands, others, strict=True):
        records = of.records(replace=replace)
        shorter = strand.size - len(strand.rows) + 1
        for size, person, total in (
            (shorter, strand.person, with_them),
            (strand.size, 0.0, without),
        ):
            means, member = games.fixed_target(
                records, [person], games.EmpiricalMean(size), rounds, rng, balanced=True
            )
            chosen = member if total is with_them else ~member
            total += means[chosen, 0] * (size / strand.size)
    return attack.score(with_them[:, None]), attack.score(without[:, None])


@dataclass(frozen=True, eq=False)
class Refits:
    """Refits in every round of a game, for numbers that are linear in features to first order only.

    Attributes
    ----------
    equations : Equations or SampleSums
        Estimating equations, or sums, of all records.
    places : (d,) ndarray of int
        Places of the population's columns among the coefficients, or other numbers.
    leverages : (N,) ndarray
        Leverage of each record in a fit of as many records as a release has.
    """

    equations: Equations | SampleSums
    places: Integers
    leverages: Doubles

    @classmethod
    def of(
        cls,
        model: Fitted,
        block: Doubles,
        columns: Sequence[str],
        *,
        rows: npt.NDArray[np.int64],
        published: Published,
        rounds: int,
    ) -> Refits | None:
        """Return the refits; None if the numbers are linear in every record.

        `rows` are the numbers of the records of the block.
        """
        equations = model.equations(block)
        leverages = released_leverages(equations.leverages, len(block), published.totals)
        worst = int(leverages.argmax())
        if leverages[worst] <= LINEAR:
            return None
        few = len(block) <= LARGEST_DRAWN
        batches = int(np.bincount(published.pairs[0] // len(published.sizes)).max())
        width = equations.width * min(len(published.sizes), 2 * batches + 1)
        if not few or rounds * len(block) * width > _MOST_PRODUCTS:
            if leverages[worst] <= NEARLY_LINEAR:
                return None
            raise ValueError(
                f"record {rows[worst]} has leverage {leverages[worst]:.2g}: what is published "
                "hangs on few records, and samples of so many are not fitted again in every round; "
                "leave out the column that these few tell of, or judge a part of the table"
            )
        places = [model.names.index(name) for name in columns]
        return cls(equations, np.array(places, dtype=np.intp), leverages)

    def narrowing(self, population: Population, persons: Sequence[int], count: int) -> list[int]:
        """Return at most `count` persons of the largest leverages among those of small shifts.

        Their presence narrows the spread of the coefficients, whatever it does to their means.
        """
        largest = np.zeros(len(population.owned.sizes))
        np.maximum.at(largest, population.owned.of_row, self.leverages)
        order = sorted(persons, key=lambda person: -largest[person])
        return [person for person in order[:count] if largest[person] > NEARLY_LINEAR]

    def rounds(
        self, population: Population, attack: LinearAttack, rounds: int, rng: np.random.Generator
    ) -> list[learned.Pair]:
        """Play one person; return each attack's scores with their records in the fit and without.

        The first attack is linear. The informed attacker learns further ones from rounds that are
        not judged. Noise is drawn, as no score need be linear in it. Where numbers of fewer records
        were published before, the attack sees the earlier numbers of the same draws, too.

        A sample without a fit has the lowest score: if only the person and few others make a fit
        possible, a fit reveals that one of them is present. Coefficients have a bias; the attacker
        knows it, as the population is known.
        """
        held = _stages(population.published, attack)[1]
        weights = [strand.weight for strand in attack.strands]
        seen = self._moves(population, attack, rounds, rng)
        with_them, without = _along(seen, attack, held, weights)
        fitted = [each[~np.isnan(each)] for each in (without, with_them)]
        if not (len(fitted[0]) or len(fitted[1])):
            raise ValueError(
                f"n={attack.n} of these records must have coefficients, but none of {rounds} "
                "samples has: choose a larger n, or leave out columns that few records tell of"
            )
        middle = np.mean(fitted[0] if len(fitted[0]) else fitted[1])
        with_them, without = _filled((with_them - middle, without - middle))
        attacks = [(attack.score(with_them[:, None]), attack.score(without[:, None]))]
        if attack.attacker == "informed":
            count = max(rounds // _LEARNED, _LEAST_LEARNED)
            drawn = self._moves(population, attack, count, rng)
            pairs = self._looked_at(population, attack, drawn, seen)
            attacks.append(_filled(learned.quadratic(*pairs)))
            for place in range(2):
                single = [(pair[0][:, place], pair[1][:, place]) for pair in pairs]
                attacks.append(_filled(learned.nearest(*single)))
        return attacks

    def _looked_at(
        self,
        population: Population,
        attack: LinearAttack,
        drawn: learned.Pair,
        seen: learned.Pair,
    ) -> list[learned.Pair]:
        """Return projections, (T, k), of the rounds for learning, and of the judged rounds.

        For numbers that follow from sums the second projection is learned: a record may fix all of
        them, or those of one column. The others are of stages without the person.
        """
        held = _stages(population.published, attack)[1]
        weights = [strand.weight for strand in attack.strands]
        rest = np.delete(np.arange(drawn[0].shape[1]), held)

        def with_rest(pair: learned.Pair, more: learned.Pair) -> learned.Pair:
            along = _along(pair, attack, held, weights)
            columns = [
                np.column_stack([first, second, moves[:, rest] @ weights[-1]])
                for first, second, moves in zip(along, more, pair, strict=True)
            ]
            return columns[0], columns[1]

        if not isinstance(self.equations, SampleSums):
            pull = [self._pull(population, attack, self.equations)] * len(weights)
            return [with_rest(pair, _along(pair, attack, held, pull)) for pair in (drawn, seen)]
        flat = [(_flat(pair[0]), _flat(pair[1])) for pair in (drawn, seen)]
        pairs = zip((drawn, seen), learned.normal(*flat), strict=True)
        return [with_rest(pair, more) for pair, more in pairs]

    def _moves(
        self, population: Population, attack: LinearAttack, rounds: int, rng: np.random.Generator
    ) -> learned.Pair:
        """Return moves (T, t, d) of the published numbers in the population's units, by stages.

        A stage's move is the change of the numbers by it, as of a mean if they were linear. Before
        the first stage the numbers count as those of all records.
        """
        published = population.published
        released, held = _stages(published, attack)
        totals = np.cumsum(published.sizes)[released]
        sizes = np.diff(totals, prepend=0)
        shares = (totals / sizes)[:, None]
        noise = _noise_of(attack) * (population.batch_size / population.n)
        pair = []
        for inside in (True, False):
            own = [population.owned.rows(attack.index)[:0]] * len(sizes)
            for place, strand in zip(held, attack.strands, strict=True):
                own[place] = strand.rows[: len(strand.rows) * inside]
            stages = list(zip(sizes.tolist(), own, strict=True))
            samples = self._samples(stages, rounds // 2, rng, population, attack)
            moves = np.concatenate(list(samples))[:, :, self.places] / population.scale
            if noise:
                moves[:, -1] += noise * rng.standard_normal(moves[:, -1].shape)
            before = np.nan_to_num(moves[:, :-1])
            moves *= shares
            moves[:, 1:] -= before * (shares[1:] - 1)
            moves[:, : held[0]] = np.nan_to_num(moves[:, : held[0]])
            pair.append(moves)
        return pair[0], pair[1]

    def _pull(self, population: Population, attack: LinearAttack, equations: Equations) -> Doubles:
        """Return the direction, (d,), in which a record fixes the coefficients.

        It is the direction of the largest shift, unless the record shifts next to nothing. A record
        of large leverage pulls the fit to its own response, whatever its residual.
        """
        rows = population.owned.rows(attack.index)
        widest = rows[int(self.leverages[rows].argmax())]
        pull = (equations.rows[widest] @ equations.named)[self.places] / population.scale
        variance = attack.n * _noise_of(attack) ** 2
        return weight_of(population.without(attack.index), "informed", pull, variance)

    def _samples(
        self,
        stages: Sequence[tuple[int, Integers]],
        rounds: int,
        rng: np.random.Generator,
        population: Population,
        attack: LinearAttack,
    ) -> Iterator[Doubles]:
        """Yield moves (T, t, D) of some samples, each with the records of those before it.

        A stage has a size and fixed records, which occur once; the others are drawn.
        """
        size = len(self.leverages)
        others = np.delete(np.arange(size), population.owned.rows(attack.index))
        numbers = [count - len(inside) for count, inside in stages]
        tile = max(1, _DRAWN_TOGETHER // max(size, *numbers))
        for start in range(0, rounds, tile):
            count = min(tile, rounds - start)
            weights, moves = np.zeros((count, size)), []
            for drawn, (_, inside) in zip(numbers, stages, strict=True):
                if population.finite:  # not put back
                    order = rng.random((count, len(others)))
                    chosen = others[np.argpartition(order, drawn - 1, axis=1)[:, :drawn]]
                else:
                    chosen = others[rng.integers(len(others), size=(count, drawn))]
                chosen += np.arange(count)[:, None] * size
                weights += np.bincount(chosen.ravel(), minlength=count * size).reshape(count, size)
                weights[:, inside] = 1
                moves.append(self.equations.refitted(weights))
            yield np.stack(moves, axis=1)


def _stages(published: Published, attack: LinearAttack) -> tuple[list[int], list[int]]:
    """Return the last batch of each release in the attack, and those that add the person's records.

    The attack uses the last release and the releases before and after each batch of the person. All
    others are about batches without the person.
    """
    batches = [part.batch for part in published.parts(attack.index)]
    about = {published.last, *batches, *(batch - 1 for batch in batches)}
    released = sorted(batch for batch in about if batch >= 0)
    return released, [released.index(batch) for batch in batches]


def _noise_of(attack: LinearAttack) -> float:
    """Return the noise on every number; none where the record shifts no mean."""
    return attack.noise / (float(np.linalg.norm(attack.strands[-1].weight)) or 1.0)


def _along(
    pair: learned.Pair, attack: LinearAttack, held: Sequence[int], weights: Sequence[Doubles]
) -> learned.Pair:
    """Return the sum of the moves (T, t, d) of the person's stages, each along its direction."""
    with_them, without = (
        sum(
            (attack.n / strand.size) * (moves[:, place] @ weight)
            for strand, place, weight in zip(attack.strands, held, weights, strict=True)
        )
        for moves in pair
    )
    return np.asarray(with_them), np.asarray(without)


def _flat(moves: Doubles) -> Doubles:
    return moves.reshape(len(moves), -1)


def _filled(pair: learned.Pair) -> learned.Pair:
    """Replace NaN by a number below all others."""
    lowest = np.nextafter(np.nanmin(np.concatenate(pair)), -np.inf)
    return np.nan_to_num(pair[0], nan=lowest), np.nan_to_num(pair[1], nan=lowest)


def weight_of(reference: Reference, attacker: str, away: Doubles, noise_variance: float) -> Doubles:
    """Return the direction along which an attacker compares the release with the record."""
    if attacker == "informed":
        weight = reference.add_diagonal(noise_variance).solve(away)
    else:
        weight = away / np.diag(reference.cov)
    return np.asarray(weight)


def in_units(weights: list[Doubles]) -> list[Doubles]:
    """Scale the directions of all batches by one factor: the first that is not 0 has length 1."""
    largest = max(float(np.abs(weight).max()) for weight in weights)
    if largest and not 1e-140 < largest < 1e140:  # whose squares are no float64
        weights = [weight / largest for weight in weights]
    lengths = [float(np.linalg.norm(weight)) for weight in weights]
    return [np.asarray(weight / (max(lengths) or 1.0)) for weight in weights]
