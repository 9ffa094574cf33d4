"""Attribute inference: the guess of one value of a member by an attacker who knows the others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference, leakage, tradeoff
from leakscore.games.projections import Bins
from leakscore.reference import SingularCovarianceError
from leakscore_app._visible import listed, visible
from leakscore_app.report._model import WITHIN, Compared, Doubles, Noise, SensitiveValue
from leakscore_app.report.engine.game import learned

_LARGEST_ERROR = 1e-4  # of the distribution function that bins may move
_DRAWS = 20_000_000  # records that are drawn one by one
_MOST_LEVELS = 50
_ALONE = 1e-9  # share of a direction's variance that the other records have


@dataclass(frozen=True, eq=False)
class ValueTable:
    """The averaged records, of which one column is sensitive.

    Attributes
    ----------
    values : (N, d) ndarray
    rows : (N,) ndarray of int
    columns : tuple of str
    units : (d,) ndarray
        Published numbers over the means of the columns.
    n : int
    """

    values: Doubles
    rows: npt.NDArray[np.int64]
    columns: tuple[str, ...]
    units: Doubles
    n: int

    def places(self, column: str) -> list[int]:
        """Return the place of a column, or those of the indicators of its levels."""
        if column in self.columns:
            return [self.columns.index(column)]
        places = [j for j, name in enumerate(self.columns) if name.startswith(f"{column}=")]
        if not places:
            raise ValueError(
                f"The sensitive column '{visible(column)}' must be published and judged, as "
                f"{listed(self.columns)} are"
            )
        return places


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two candidates for the record of one person; `prior` is the share of the first, 1/2 or more.

    The attacker knows the population from the other records, so an outlying record does not hide
    behind its own contribution to the covariance.
    """

    place: int
    first: Doubles
    second: Doubles
    leakage: float
    prior: float
    law: Reference


def sensitive_value(
    table: ValueTable, column: str, noise: Noise | None, *, rounds: int, rng: np.random.Generator
) -> SensitiveValue:
    """Find the value that the release reveals most, and play its guess."""
    places = table.places(column)
    reference = Reference.fit(table.values)
    pair = _worst_pair(table, reference, places)
    spread = before = after = noisy = None
    members: int | None = None
    numeric = len(places) == 1
    if numeric:
        at, n = places[0], table.n
        spread = float(np.sqrt(reference.variances[at]))
        before = float(reference.solve(np.eye(reference.dim)[at])[at] ** -0.5)
        after = leakage.posterior_std(reference, n, at)
        members = leakage.members_to_disclose(reference, n, at, WITHIN * spread)
        if noise is not None and noise.standard_errors > 0:
            noisy = leakage.posterior_std(reference, n, at, noise_cov=_noise_on_means(table, noise))
    theory = float(tradeoff.gaussian(leakage=pair.leakage).bayes(pair.prior))
    return SensitiveValue(
        column=column,
        row=int(table.rows[pair.place]),
        categories=not numeric or bool(np.unique(table.values[:, places[0]]).size == 2),
        leakage=pair.leakage,
        prior=pair.prior,
        right=_played(table, pair, theory, rounds, rng),
        spread=spread,
        open_before=before,
        open_after=after,
        open_with_noise=noisy,
        colluding_members=members,
    )


def _worst_pair(table: ValueTable, reference: Reference, places: Sequence[int]) -> _Pair:
    """Return the record and the two candidates that the release separates best."""
    values = table.values[:, places]
    levels, codes, counts = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    if len(places) == 1 and len(levels) > 2:
        return _farthest(table, reference, places[0])
    if not 2 <= len(levels) <= _MOST_LEVELS:
        raise ValueError(
            f"The sensitive column must have 2 to {_MOST_LEVELS} categories, not {len(levels)}"
        )
    pairs = []
    for i, j in np.argwhere(np.tri(len(levels), k=-1)).tolist():  # of categories
        direction = np.zeros(table.values.shape[1])
        direction[places] = levels[j] - levels[i]
        either = np.flatnonzero((codes == i) | (codes == j))
        precision = _left_out(table, reference, direction)[0][either]
        place = int(either[precision.argmax()])
        pairs.append((float(precision.max()), place, i + j - int(codes[place])))
    most, place, other = max(pairs)
    second = table.values[place].copy()
    second[places] = levels[other]
    pair = counts[[codes[place], other]]
    prior = float(pair[0] / pair.sum())
    return _pair(table, place, second, prior, reference, certain=np.isinf(most))


def _farthest(table: ValueTable, reference: Reference, at: int) -> _Pair:
    """Return the record whose value is farthest from its prediction by the others, and both."""
    precision, surprise = _left_out(table, reference, np.eye(reference.dim)[at])
    place = int((surprise**2 * precision).argmax())
    second = table.values[place].copy()
    second[at] -= surprise[place]
    return _pair(table, place, second, 0.5, reference, certain=bool(np.isinf(precision[place])))


def _left_out(table: ValueTable, reference: Reference, e: Doubles) -> tuple[Doubles, Doubles]:
    """Return e'C^-1 e and e'C^-1 (x - mean) over it for each record, both of the others.

    Without a record x the scatter S about the mean m is S - c (x - m)(x - m)', c = N / (N - 1).
    """
    size = len(table.values)
    factor = size / (size - 1)
    weights = reference.solve(e) / size
    along = (table.values - reference.mean) @ weights
    inside = np.asarray(reference.squared_mahalanobis(table.values)) / size
    rest = 1.0 - factor * inside
    alone = rest < _ALONE  # only this record varies in some direction
    rest[alone] = 1.0
    precision = e @ weights + factor * along**2 / rest
    surprise = factor * along / rest / precision
    shows = alone & (np.abs(along) > _ALONE * np.sqrt(inside * (e @ weights)))
    surprise[shows] = 1.0 / along[shows]
    precision[shows] = np.inf
    return precision * (size - 1), surprise


def _pair(
    table: ValueTable,
    place: int,
    second: Doubles,
    prior: float,
    reference: Reference,
    *,
    certain: bool,
) -> _Pair:
    """Judge two candidates by the law of the others.

    The law of all is used where the others lack variance in a direction that does not involve the
    value.
    """
    first, m, law = table.values[place], np.inf, reference
    with suppress(SingularCovarianceError):
        others = Reference.fit(np.delete(table.values, place, axis=0))
        others.invertible()
        law = others
    if not certain:
        m = float(leakage.attribute_leakage(first, second, law, table.n))
    if prior < 0.5:
        first, second, prior = second, first, 1.0 - prior
    return _Pair(place, first, second, m, prior, law)


def _played(
    table: ValueTable, pair: _Pair, theory: float, rounds: int, rng: np.random.Generator
) -> Compared:
    """Draw the other members from the other records, and guess between the candidates.

    Where the sums are skewed, a threshold other than the theory's is better; it is learned.
    """
    if np.isinf(pair.leakage):
        return Compared(theory, 1.0, 0.0)
    slope = pair.law.solve(pair.first - pair.second) / (table.n - 1)
    others = (np.delete(table.values, pair.place, axis=0) - pair.law.mean) @ slope
    sums = _sums(others, table.n - 1, rounds, rng)
    rounds = len(sums)
    shift, cost = 0.5 * pair.leakage, (1.0 - pair.prior) / pair.prior
    gain = learned(sums + shift, sums - shift, 0.0, cost)
    if gain is None:
        threshold = np.log(cost)
        gain = float((sums + shift > threshold).mean() - cost * (sums - shift > threshold).mean())
    gain = max(gain, 1.0 - cost)  # of the likelier value, whatever is released
    right = 1.0 - pair.prior + pair.prior * gain
    error = float(np.sqrt(max(theory * (1.0 - theory), 1.0 / rounds) / rounds))
    return Compared(theory, right, error)


def _sums(values: Doubles, count: int, rounds: int, rng: np.random.Generator) -> Doubles:
    """Draw sums of `count` values: by bins where these make no difference, else one by one."""
    bins = Bins.of(values).joined(count, replace=True)
    if bins.error(count, replace=True) <= _LARGEST_ERROR:
        return bins.drawn(rng, count, rounds, replace=True)
    step = max(1, min(rounds, _DRAWS // count) // 8)
    parts = [rng.integers(0, len(values), (step, count)) for _ in range(8)]
    return np.concatenate([values[part].sum(axis=1) for part in parts])


def _noise_on_means(table: ValueTable, noise: Noise) -> Doubles:
    """Return the covariance of the offered noise, on the means of the columns."""
    if noise.covariance is not None:
        covariance = np.asarray(noise.covariance)
    else:
        covariance = np.diag(np.square([noise.noise_std[name] for name in table.columns]))
    return np.asarray(covariance / np.outer(table.units, table.units))


def refused(options: Any, statistic: str) -> str:
    """Say why no value is judged; empty if one can be."""
    if statistic not in ("mean", "sum", "proportions"):
        return "means, sums or shares"
    if options.previous is not None or options.shrinkage is not None:
        return "one release without earlier means and without a shrunk covariance"
    if options.population == "finite":
        return "a sample of a larger population"
    return ""
