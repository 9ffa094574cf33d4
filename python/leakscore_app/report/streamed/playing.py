"""The games of a long table: its projections are read in one pass, and drawn by bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leakscore import games
from leakscore.games.projections import Binned, Bins
from leakscore.reference import Reference
from leakscore_app.passes.lines import Line, cuts_of
from leakscore_app.passes.third import Direction
from leakscore_app.report._game import (
    LinearAttack,
    ProjectionLaw,
    held_against_theory,
    in_units,
    reason_of,
    weight_of,
)
from leakscore_app.report._model import Doubles, Game
from leakscore_app.report.streamed.people import Crowd


@dataclass(frozen=True, eq=False)
class Asked:
    """A game: which record, by its index, to which attacker, with how much noise."""

    index: int
    attacker: str = "informed"
    noise_std: float = 0.0


@dataclass(frozen=True, eq=False)
class Projected:
    """A game and what its direction finds: the attack, without the other records."""

    asked: Asked
    attack: LinearAttack
    direction: Direction


def prepared(crowd: Crowd, asked: Asked, sample: Doubles) -> Projected:
    """Return the direction on which all records are projected.

    `sample` are records of the table, in units of the law; bins end at their quantiles.
    """
    known, n = crowd.without(asked.index), crowd.n
    away = crowd.values[asked.index] - known.mean
    (weight,) = in_units([weight_of(known, asked.attacker, away, n * asked.noise_std**2)])
    spread, noise = (
        float(weight @ known.cov @ weight),
        asked.noise_std * float(np.linalg.norm(weight)),
    )
    attack = LinearAttack(
        (), Reference([0.0], [spread]), np.array([float(away @ weight)]), n, noise
    )
    cuts = cuts_of((sample - known.mean) @ weight)
    row = int(crowd.numbers[asked.index])
    return Projected(asked, attack, Direction(known.mean, weight, row, cuts))


def played(
    crowd: Crowd, ready: Projected, line: Line, rounds: int, rng: np.random.Generator
) -> Game:
    """Play a game from the bins of the other records' projections."""
    asked, attack = ready.asked, ready.attack
    outcome, member = games.fixed_target(
        Binned(bins=bins_of(line), replace=not crowd.finite),
        attack.target,
        games.EmpiricalMean(attack.n),
        rounds,
        rng,
        score=attack.score,
        balanced=True,
    )
    _, second, third, fourth = (line.powers / line.count).tolist()
    unit = float(np.sqrt(second))
    skewness = third / unit**3 if unit > 0 else 0.0
    game = held_against_theory(
        attack,
        int(crowd.numbers[asked.index]) + 1,
        asked.attacker,
        (outcome[member], outcome[~member]),
        rng,
        skewness / float(np.sqrt(attack.n)),
    )
    if not game.differs or crowd.finite or not unit > 0:
        return game
    largest, row = line.largest
    law = ProjectionLaw(
        unit, (1.0, third / unit**3, fourth / unit**4), second, largest**2 / line.count, row + 1
    )
    return replace(game, reason=reason_of(game, law, attack))


def bins_of(line: Line) -> Bins:
    """Return numbers of which a line keeps bins as the games draw them."""
    inside = line.inside
    full = inside.sizes > 0
    low, high = line.low, line.high
    ones, zeros = np.ones(len(low), np.int64), np.zeros(len(low))
    more, none = np.ones(len(high), np.int64), np.zeros(len(high))
    unit = max(abs(float(low[0])), abs(float(high[-1]))) or 1.0
    centre = float(line.powers[0]) / line.count / unit
    sizes = np.concatenate([ones, inside.sizes[full], more])
    means = np.concatenate([low, inside.means[full], high]) / unit - centre
    variances = inside.scatters[full] / inside.sizes[full] / unit**2
    widths = (inside.high[full] - inside.low[full]) / unit
    return Bins(
        sizes,
        means,
        np.concatenate([zeros, variances, none]),
        np.concatenate([zeros, widths, none]),
        centre * unit,
        unit,
    )


def directions(ready: Sequence[Projected]) -> tuple[Direction, ...]:
    """Return what rows are projected on for some games."""
    return tuple(one.direction for one in ready)
