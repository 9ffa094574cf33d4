"""The simulated game beside the theory, record by record.

Both attackers' scores are linear in the released mean: a round needs only the projection w'x of
the records that it draws, so each game is one-dimensional and exact. Noise on the mean is Gaussian,
so a round's chance over the noise is known exactly: shares of a game with noise are averages of
these chances, whose error shrinks with the advantage, where that of counted rounds does not. The
advantage is that at the theory's threshold 0, or, where another is clearly better, at thresholds
that each half of the rounds learns from the other; its upper end is that of the best threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import games, leakage, scores, tradeoff
from leakscore.audit import Audit
from leakscore.distributions import norm
from leakscore.games.projections import LARGEST_DRAWN, Projections, weighted_sums
from leakscore.numeric import bisect
from leakscore.reference import Reference
from leakscore_app.report._leakage import Population
from leakscore_app.report._model import ALPHA, AuditResult, Compared, Doubles, Game, Reason
from leakscore_app.report.rounds.ends import highest, learned

DIFFERENCE = 4.0
"""Standard errors between theory and game from which on the report warns."""

_MOST_ROUNDS, _LEAST_ROUNDS, _DRAWS = 20_000, 2_000, 100_000_000
_TOGETHER = 2**20  # records that are drawn at once
_ROC_POINTS = 60


def default_rounds(n: int, size: int) -> int:
    """Return 20000 rounds, or as many, 2000 at least, as a hundred million draws allow.

    Of a table of a `size` above 65536 no round draws its records one by one.
    """
    if size > LARGEST_DRAWN:
        return _MOST_ROUNDS
    return int(np.clip(_DRAWS // n // 2 * 2, _LEAST_ROUNDS, _MOST_ROUNDS))


def records_played(n: int, size: int) -> int:
    """Return how many of the worst records are played, fewer where rounds are dear."""
    return 3 if n <= 10_000 or size > LARGEST_DRAWN else 1


def play(
    population: Population,
    index: int,
    row: int,
    attacker: str,
    *,
    rounds: int,
    rng: np.random.Generator,
    noise_std: float = 0.0,
    noise_cov: Doubles | None = None,
    rows: npt.NDArray[np.int64] | None = None,
) -> Game:
    """Play the game of one person against one attacker.

    Parameters
    ----------
    population : Population
    index, row : int
        Which person, and the number of the first record in the file.
    attacker : {"informed", "weaker"}
    rounds : int
        Half with the person's records in place of as many others, half without them.
    rng : numpy.random.Generator
    noise_std : float
        Noise on the present mean, in standard deviations of a record.
    noise_cov : (d, d) ndarray, optional
        Covariance of such noise instead, in the same units.
    rows : (N,) ndarray of int, optional
        Numbers of all records in the file, from 1 by default.
    """
    attack = _attack(population, index, attacker, noise_std, noise_cov)
    if population.pull is not None:
        (strand,) = attack.strands
        pull = np.append(np.delete(population.pull, strand.rows), population.pull[strand.rows])
        member, nonmember = _rounds_of_weights(attack, pull, rounds, rng)
        skewness = attack.skewness() * float(np.mean(pull**3) / np.mean(pull**2) ** 1.5)
        return held_against_theory(attack, row, attacker, (member, nonmember), rng, skewness)
    if attack.plain:
        member, nonmember = _rounds_of_one(population, attack, rounds, rng)
    else:
        member, nonmember = _rounds_of_several(population, attack, rounds, rng)
    game = held_against_theory(attack, row, attacker, (member, nonmember), rng, attack.skewness())
    if not game.differs or population.finite or not attack.plain:
        return game
    numbers = np.arange(1, population.size + 1) if rows is None else rows
    others = attack.strands[0].others
    law = ProjectionLaw.of(others, np.delete(numbers, attack.strands[0].rows))
    return replace(game, reason=reason_of(game, law, attack))


def held_against_theory(
    attack: LinearAttack,
    row: int,
    attacker: str,
    outcomes: tuple[Doubles, Doubles],
    rng: np.random.Generator,
    skewness: float,
) -> Game:
    """Hold the scores of a game, with the person in the mean and without, against the theory."""
    line, target = attack.line, attack.target
    score = float(leakage.leakage_score(target, line, attack.n, noise_std=attack.noise))
    # The score's slope, a/n over the variance of the mean, carries the noise over to the score.
    mean_variance = float(line.cov[0]) / attack.n + attack.noise**2
    drawn = _Drawn(*outcomes, float(target[0]) / attack.n / mean_variance * attack.noise)
    found = _game(drawn, score, rng, skewness=skewness)
    return Game(row=row, attacker=attacker, noise_std=attack.noise, reason=None, **found)


@dataclass(frozen=True, eq=False)
class Strand:
    """One batch along an attack: the others' projections, mean 0, and the sum of the person's."""

    size: int
    rows: npt.NDArray[np.intp]
    projected: Doubles
    others: Doubles
    own: float


@dataclass(frozen=True, eq=False)
class LinearAttack:
    """A score that is linear in the means of all batches: the sum of the strands' means.

    It is the score of a record `target` on a mean of n records with the variance of `line`.
    """

    strands: tuple[Strand, ...]
    line: Reference
    target: Doubles
    n: int
    noise: float

    @property
    def plain(self) -> bool:
        """Whether it looks for one record in one mean."""
        return len(self.strands) == 1 and len(self.strands[0].rows) == 1

    def score(self, means: Doubles) -> Doubles:
        """Return the log-likelihood ratios of sums of the strands' means, (T, 1)."""
        return np.asarray(
            scores.covariance_score(means, self.target, self.line, self.n, noise_std=self.noise)
        )

    def skewness(self) -> float:
        """Return the skewness of a round without the person, without noise."""
        if len(self.strands) == 1:
            strand = self.strands[0]
            return skewness_of(strand.others) / float(np.sqrt(strand.size))
        third = sum(float(np.mean(one.others**3)) / one.size**2 for one in self.strands)
        second = sum(float(np.mean(one.others**2)) / one.size for one in self.strands)
        return third / second**1.5 if second > 0 else 0.0


def _attack(
    population: Population,
    index: int,
    attacker: str,
    noise_std: float,
    noise_cov: Doubles | None,
) -> LinearAttack:
    """Project all records on the direction along which each batch is compared with the person."""
    known, published = population.without(index), population.published
    grown = population.n / population.batch_size  # of the noise, when subtracting
    parts = list(published.parts(index))
    weights, noises = [], []
    for part in parts:
        away = (population.values[part.rows] - known.mean).sum(axis=0)
        size, noisy = int(published.sizes[part.batch]), known
        noise = noise_std * grown if part.batch == published.last else 0.0
        if noise_cov is not None and part.batch == published.last:
            noisy = Reference(known.mean, known.cov + size * grown**2 * noise_cov)
        weights.append(weight_of(noisy, attacker, away, size * noise**2))
        noises.append(noise)
    weights = in_units(weights)
    strands = []
    for part, weight in zip(parts, weights, strict=True):
        projected = (population.values - known.mean) @ weight
        others = np.delete(projected, population.owned.rows(index))
        away = (population.values[part.rows] - known.mean).sum(axis=0)
        size, own = int(published.sizes[part.batch]), float(away @ weight)
        if population.pull is not None:
            own *= float(population.pull[part.rows[0]])
        strands.append(Strand(size, part.rows, projected, others, own))
    n = strands[-1].size
    lengths = [float(np.linalg.norm(weight)) for weight in weights]
    noise = float(np.hypot.reduce(np.multiply(noises, lengths)))
    if noise_cov is not None and parts[-1].batch == published.last:
        noise = grown * float(np.sqrt(weights[-1] @ noise_cov @ weights[-1]))
    shares = [n / strand.size for strand in strands]  # 1 of a single batch
    spread = sum(c * float(w @ known.cov @ w) for c, w in zip(shares, weights, strict=True))
    target = sum(c * strand.own for c, strand in zip(shares, strands, strict=True))
    return LinearAttack(tuple(strands), Reference([0.0], [spread]), np.array([target]), n, noise)


def _rounds_of_one(
    population: Population, attack: LinearAttack, rounds: int, rng: np.random.Generator
) -> tuple[Doubles, Doubles]:
    """Play one record in one mean; return its scores with the record in it and without it."""
    (strand,) = attack.strands
    outcome, member = games.fixed_target(
        Projections(
            strand.projected[:, None],
            exclude=int(strand.rows[0]),
            replace=not population.finite,
        ),
        attack.target,
        games.EmpiricalMean(strand.size),
        rounds,
        rng,
        score=attack.score,
        balanced=True,
    )
    return outcome[member], outcome[~member]


def _rounds_of_weights(
    attack: LinearAttack, pull: Doubles, rounds: int, rng: np.random.Generator
) -> tuple[Doubles, Doubles]:
    """Play one record in a mean with known weights; the last of `pull` is its own.

    Every place but that of the target is filled with one of the other records; so is the target's
    in the rounds without it. Many places are drawn weight by weight.
    """
    (strand,) = attack.strands
    draw = weighted_sums if len(pull) > LARGEST_DRAWN else _sums_of_weights
    outcomes = []
    for inside in (True, False):
        sums = draw(strand.others, pull[: len(pull) - inside], rounds // 2, rng)
        outcomes.append(attack.score((sums[:, None] + inside * strand.own) / strand.size))
    return outcomes[0], outcomes[1]


def _sums_of_weights(
    values: Doubles, weights: Doubles, rounds: int, rng: np.random.Generator
) -> Doubles:
    """Draw sums of weights times values, one by one; see `weighted_sums`."""
    sums = np.empty(rounds)
    tile = max(1, _TOGETHER // len(weights))
    for start in range(0, rounds, tile):
        some = sums[start : start + tile]
        drawn = rng.integers(len(values), size=(len(some), len(weights)))
        # Not by BLAS, whose last bits depend on threads.
        np.einsum("ij,j->i", values[drawn], weights, out=some)
    return sums


def _rounds_of_several(
    population: Population, attack: LinearAttack, rounds: int, rng: np.random.Generator
) -> tuple[Doubles, Doubles]:
    """Play k records in the mean of n: n - k others and these, or n others; batches add up.

    A game of one target in n - k + 1 has so many others in its rounds with the target.
    """
    with_them, without = np.zeros(rounds // 2), np.zeros(rounds // 2)
    for strand in attack.strands:
        others = Projections(strand.others[:, None], replace=not population.finite)
        shorter = strand.size - len(strand.rows) + 1
        for size, own, total in (
            (shorter, strand.own, with_them),
            (strand.size, 0.0, without),
        ):
            means, member = games.fixed_target(
                others, [own], games.EmpiricalMean(size), rounds, rng, balanced=True
            )
            chosen = member if total is with_them else ~member
            total += means[chosen, 0] * (size / strand.size)
    return attack.score(with_them[:, None]), attack.score(without[:, None])


def skewness_of(values: Doubles) -> float:
    """Return the third moment about 0, in units of the second; 0 of values that are all 0."""
    largest = float(np.abs(values).max())
    if largest == 0:
        return 0.0
    if not 1e-90 < largest < 1e90:  # whose powers are no float64
        values = values / largest
    return float(np.mean(values**3) / np.mean(values**2) ** 1.5)


def weight_of(known: Reference, attacker: str, away: Doubles, noise_variance: float) -> Doubles:
    """Return the direction along which an attacker compares the release with the record."""
    if attacker == "informed":
        weight = known.add_diagonal(noise_variance).solve(away)
    else:
        weight = away / np.diag(known.cov)
    return np.asarray(weight)


def in_units(weights: list[Doubles]) -> list[Doubles]:
    """Scale the directions of all batches by one factor: the first that is not 0 has length 1."""
    largest = max(float(np.abs(weight).max()) for weight in weights)
    if not 1e-140 < largest < 1e140:  # whose squares are no float64
        weights = [weight / largest for weight in weights]
    lengths = [float(np.linalg.norm(weight)) for weight in weights]
    return [np.asarray(weight / max(lengths)) for weight in weights]


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Scores before noise, with the record in the mean and without it; noise of a score."""

    members: Doubles
    nonmembers: Doubles
    noise: float


def _game(
    drawn: _Drawn, score: float, rng: np.random.Generator, *, skewness: float
) -> dict[str, Any]:
    """Hold the scores of a game against the theory."""
    curve = tradeoff.gaussian(leakage=score)
    members, nonmembers = drawn.members, drawn.nonmembers
    if drawn.noise:
        members = members + drawn.noise * rng.standard_normal(len(members))
        nonmembers = nonmembers + drawn.noise * rng.standard_normal(len(nonmembers))
        advantage, power, false_positives = _averaged(curve, drawn, score)
    else:
        advantage, power, false_positives = _counted(curve, members, nonmembers, score)
    return {
        "rounds": len(members) + len(nonmembers),
        "leakage": score,
        "advantage": advantage,
        "power": power,
        "false_positives": false_positives,
        "mean": (_mean(-score / 2, score, nonmembers), _mean(score / 2, score, members)),
        "variance": (_variance(score, nonmembers), _variance(score, members)),
        "skewness": skewness,
        "differs": any(abs(one.z) > DIFFERENCE for one in (advantage, power, false_positives)),
        "roc": _roc(curve, members, nonmembers),
        "members": members,
        "nonmembers": nonmembers,
    }


def _counted(
    curve: Any, members: Doubles, nonmembers: Doubles, score: float
) -> tuple[Compared, Compared, Compared]:
    """Advantage, power and false positives by counting rounds."""
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
    """Advantage, power and false positives as averages of each round's chance over the noise."""
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
    found, own_error = average(strict, member=True)
    slope = float(np.exp(threshold))  # of the ROC: carries the threshold's error over to the power
    error = float(np.hypot(own_error, slope * average(strict, member=False)[1]))
    power = Compared(float(curve.power(ALPHA)), found, error)
    return *_with_ends(advantage, power, drawn, score), false_positives


def _controlled(
    chances: Doubles, values: Doubles, mean: float, least: float
) -> tuple[float, float]:
    """Average chances with the scores, whose mean is known, as control variate; and its error.

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


@dataclass(frozen=True, eq=False)
class ProjectionLaw:
    """The others' projections on an attack, mean 0.

    Attributes
    ----------
    unit : float
        Root of their second moment.
    moments : tuple of float
        The second, third and fourth one in this unit.
    variance, largest : float
        What all of them, and the one of largest size, add to the variance of one, noise apart.
    row : int
        The number of that one.
    """

    unit: float
    moments: tuple[float, float, float]
    variance: float
    largest: float
    row: int

    @classmethod
    def of(cls, others: Doubles, rows: npt.NDArray[np.int64]) -> ProjectionLaw:
        """Look at projections and the numbers of their records."""
        unit = float(np.sqrt(np.mean(others**2)))
        moments = (float("nan"),) * 3
        if unit > 0:
            one = others / unit
            moments = (float(np.mean(one**2)), float(np.mean(one**3)), float(np.mean(one**4)))
        variances = others**2 / len(others)
        place = int(variances.argmax())
        total = float(variances.sum())
        return cls(unit, moments, total, float(variances[place]), int(rows[place]))

    def share(self, quantity: str, attack: LinearAttack) -> float:
        """Return power or advantage by the Edgeworth expansion to second order.

        The sum of the n records of a mean has n times (with the record in it, n - 1 times) the
        cumulants of one of the others.
        """
        if not self.unit > 0:
            return float("nan")
        record = float(attack.target[0]) / self.unit
        second, third, fourth = self.moments
        cumulants = np.array([0.0, second, third, fourth - 3 * second**2])
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

    Unlike `distributions.edgeworth`, it is not refused where it is rough: it is held against the
    simulation, and told only if it comes close.
    """
    mean, variance, third, fourth = cumulants.tolist()
    u = (point - mean) / np.sqrt(variance)
    skewness, kurtosis = third / variance**1.5, fourth / variance**2
    hermite = (u * u - 1, u**3 - 3 * u, u**5 - 10 * u**3 + 15 * u)
    terms = (skewness / 6, kurtosis / 24, skewness**2 / 72)
    return float(norm.sf(u) + norm.pdf(u) * np.dot(terms, hermite))


def reason_of(game: Game, law: ProjectionLaw, attack: LinearAttack) -> Reason | None:
    """Name the record behind a difference, if skewness and kurtosis explain at least half of it."""
    quantity = game.acts_by
    compared: Compared = getattr(game, quantity)
    expected = law.share(quantity, attack)
    apart = abs(compared.simulated - compared.theory)
    if not abs(expected - compared.simulated) <= apart / 2:
        return None
    total = law.variance + attack.n * attack.noise**2
    return Reason(quantity, expected, law.row, law.largest / total)


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
