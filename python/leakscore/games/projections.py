"""Means of a large table of one column, drawn by bins, at a cost that does not grow with n.

If an attack's score is linear in the released mean, a round needs only the projections of its
records on the attack's direction, which are numbers. `Projections` is a table of them, and its n
draws are counts of bins. `weighted_sums` draws sums with a weight for every record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as changed

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.games._populations import (
    Empirical,
    Key,
    RecordTable,
    ReleasedMean,
    Sampler,
    TableMeans,
)
from leakscore.typing import Doubles, Flags

__all__ = ["LARGEST_DRAWN", "Binned", "Bins", "Projections", "weighted_sums"]

LARGEST_DRAWN = 65_536
"""Rows up to which records are drawn one by one."""

_SINGLE = 128  # extreme values on each side that are single bins
_CUTS = 64  # bins of equal count, and as many of equal width, between them
_LARGEST_ERROR = 1e-4  # of the distribution function; 20,000 rounds estimate it to 3.5e-3
_ERROR = 1e-5  # neighbouring bins are joined up to this error
_FEWEST_BINS = 16
_MOST_PICKS = 4  # average draws of each extreme value, up to which they are drawn one by one
_MOST_ROWS = 10**9  # numpy draws no more without replacement
_DENSITY = 0.39894228040143268  # of the standard normal law at 0
_LEVELS = 32  # if there are no more distinct weights, each is a group
_WEIGHTS_ALONE = 256  # largest weights that are not grouped
_WEIGHT_CUTS = 16  # groups of equal count, and as many of equal width, of the others
_DRAWN_SINGLY = 384  # up to this count values are drawn one by one: there are about as many bins
_TILE = 1024  # rounds
_DRAWN_AT_ONCE = 1 << 22  # numbers


class Projections(Empirical):
    """Records that are numbers: a table of one column of any length.

    From a table of up to 65,536 rows `fixed_target` draws them one by one, bit for bit as from an
    `Empirical`. From a larger table it draws from the law of `Bins`. It draws each record if n is
    no more than the number of bins, or if the bins could move the distribution function by more
    than 1e-4. Other games draw each record.

    Parameters
    ----------
    X : (N, 1) array_like
        The table.
    exclude : int, optional
        Number of the row that is never drawn.
    replace : bool
        Whether rows are put back.

    Notes
    -----
    Draws by bins are numpy's, one stream for every 1024 rounds: they do not depend on threads or
    blocks, but may change with numpy's version. Bins are joined first where that moves the
    distribution function by no more than 1e-5.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.games import EmpiricalMean, fixed_target
    >>> from leakscore.games.projections import Projections
    >>> table = Projections(np.arange(100_001.0)[:, None] - 50_000, exclude=7)
    >>> means, member = fixed_target(table, [0.0], EmpiricalMean(50_000), 2000, rng=1)
    >>> bool(abs(means.std() / (1e5 / 12**0.5 / 50_000**0.5) - 1) < 0.06)
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim != 1:
            raise ValueError(f"X of shape {np.shape(self.X)} must have one column")

    def _sampler(self, target: Doubles, mean: ReleasedMean) -> Sampler:
        each = TableMeans(self._rows(), target, mean)
        rows = self._rows().available
        bins_are_fewer = mean.records > 2 * (_SINGLE + _CUTS)
        drawable = self.replace or rows < _MOST_ROWS
        if rows <= LARGEST_DRAWN or target.ndim > 1 or not (bins_are_fewer and drawable):
            return each
        values = np.asarray(self.X, dtype=np.float64)[:, 0]
        bins = Bins.of(values if self.exclude is None else np.delete(values, self.exclude))
        if bins.error(mean.records, replace=self.replace) > _LARGEST_ERROR:
            return each
        return BinnedMeans(bins, target, mean, replace=self.replace)


@dataclass(frozen=True, eq=False)
class Binned(Empirical):
    """Records that are numbers of a streamed table, of which only bins are stored.

    Parameters
    ----------
    bins : Bins
    replace : bool
        Whether records are put back.
    """

    X: npt.ArrayLike = ((0.0,),)
    bins: Bins | None = None

    def _require(self, n: int, others: int = 0) -> None:
        size = others if self.bins is None else int(self.bins.sizes.sum())
        if not self.replace and n > size:
            raise ValueError(f"n={n} must be <= {size} records that are not put back")

    def _rows(self) -> RecordTable:
        raise ValueError("population must hold records, not bins: this game draws each record")

    def _sampler(self, target: Doubles, mean: ReleasedMean) -> Sampler:
        if self.bins is None or target.ndim > 1:
            raise ValueError("bins must be given, and one target")
        return BinnedMeans(self.bins, target, mean, replace=self.replace)


@dataclass(frozen=True, eq=False)
class Bins:
    """Numbers sorted into bins, as their counts, means and variances.

    Each of the 128 smallest and the 128 largest numbers is a bin. The others are cut at 63
    quantiles and at 63 points of equal distance, so that no bin has more than 1/64 of them or is
    wider than 1/64 of their range.

    Attributes
    ----------
    sizes : (B,) ndarray of int
    means, variances : (B,) ndarray
        Of the numbers in each bin, in units of `unit` and about `centre`.
    widths : (B,) ndarray
        Largest less smallest number, in the same units.
    centre, unit : float

    Notes
    -----
    Let m numbers with mean mu and variance sigma^2 lie in bins of p_b m numbers with mean mu_b,
    variance s_b^2, third central moment t_b and width w_b. The sum of k draws is replaced by the
    sum S of c_b mu_b, the counts c_b from their exact law, plus a normal with the variance that the
    sum has given the counts: sum_b c_b s_b^2, times (m_b - c_b)/(m_b - 1) without replacement.

    Given the counts, mean and variance are right, so by the laws of total mean and variance (and of
    total covariance with the counts) mean and variance of the sum are exact for any table. By the
    law of total cumulance (Brillinger 1969) only E k3(sum | c) is lost of its third cumulant, and
    E k4(sum | c) + 4 Cov(E(sum | c), k3(sum | c)) of its fourth. With replacement these are k times

        sum_b p_b t_b    and    sum_b p_b ((q_b - 3 s_b^4) + 4 (mu_b - mu) t_b),

    q_b the fourth central moment. As |t_b| <= w_b s_b^2 and |q_b - 3 s_b^4| <= w_b^2 s_b^2, the
    third cumulant of one draw is off by sum_b p_b w_b s_b^2 at most, the fourth by sum_b p_b w_b
    s_b^2 (w_b + 4 |mu_b - mu|).

    Given how often each extreme number was drawn, the sum of the others has a distribution function
    that moves by phi(0)/6 = 0.066 times its change of skewness (Hall 1992, eq. (2.17), to first
    order), so by no more than

        0.066 sum_b p_b w_b s_b^2 / (sigma_0^3 sqrt(k_0)),

    p_b and sigma_0 those of the numbers between the extremes and k_0 how many draws fall there
    (times 1 - k/m without replacement). That is what `error` returns: 2e-8 for numbers from
    Student's t with 3 degrees of freedom, 7e-7 for numbers from Cauchy's law, m = k = 10^6.

    References
    ----------
    Brillinger, "The calculation of cumulants via conditioning" (1969). Hall, "The Bootstrap and
    Edgeworth Expansion" (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.games.projections import Bins
    >>> bins = Bins.of(np.arange(10_000.0))
    >>> int(bins.sizes.sum()), bool(bins.error(10_000, replace=True) < 1e-8)
    (10000, True)
    """

    sizes: npt.NDArray[np.int64]
    means: Doubles
    variances: Doubles
    widths: Doubles
    centre: float
    unit: float
    single: int = _SINGLE
    """Extreme values on each side that are single bins."""

    @classmethod
    def of(cls, values: Doubles, *, single: int = _SINGLE, cuts: int = _CUTS) -> Bins:
        """Sort finite numbers into bins, in units of about the largest: no square overflows.

        Parameters
        ----------
        values : (m,) ndarray
        single : int
            Extreme values on each side that are single bins.
        cuts : int
            Bins of equal count, and as many of equal width, between them.

        Returns
        -------
        Bins
        """
        ordered = np.sort(validation.finite("X", values))
        largest = float(max(abs(ordered[0]), abs(ordered[-1])))
        unit = float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))  # rounds no number
        ordered /= unit
        centre = float(ordered[len(ordered) // 2])  # sums of whole numbers stay exact
        ordered -= centre
        first = _bin_starts(ordered, single, cuts)
        sizes = np.diff(first, append=len(ordered))
        means = np.add.reduceat(ordered, first) / sizes
        widths = ordered[first + sizes - 1] - ordered[first]
        means[widths == 0] = ordered[first[widths == 0]]  # free of rounding
        ordered -= np.repeat(means, sizes)
        variances = np.add.reduceat(ordered * ordered, first) / sizes
        return cls(sizes, means, variances, widths, centre * unit, unit, single)

    def error(self, k: int, *, replace: bool) -> float:
        """Bound how far the bins move the distribution function of the sum of k draws; see Notes.

        Parameters
        ----------
        k : int
            Records drawn.
        replace : bool
            Whether they are put back.

        Returns
        -------
        float
        """
        between = slice(self.single, len(self.sizes) - self.single)
        sizes, means = self.sizes[between], self.means[between]
        share = sizes / max(sizes.sum(), 1)
        lost = float(share @ (self.widths[between] * self.variances[between]))
        if not lost > 0:
            return 0.0
        spread = float(share @ (self.variances[between] + (means - share @ means) ** 2))
        rows = self.sizes.sum()
        draws = k * float(sizes.sum() / rows) * (1.0 if replace else 1 - k / float(rows))
        return _DENSITY / 6 * lost / (spread**1.5 * np.sqrt(draws)) if draws > 0 else np.inf

    def joined(self, k: int, *, replace: bool) -> Bins:
        """Join neighbouring bins between the extremes while `error` stays below 1e-5.

        Counts, means and variances of joined bins are exact; widths are upper bounds.

        Parameters
        ----------
        k : int
            Records drawn.
        replace : bool
            Whether they are put back.

        Returns
        -------
        Bins
        """
        joined = self
        while len(joined.sizes) - 2 * self.single >= 2 * _FEWEST_BINS:
            fewer = joined._join_pairs()
            if not fewer.error(k, replace=replace) <= _ERROR:
                break
            joined = fewer
        return joined

    def _join_pairs(self) -> Bins:
        """Join every second bin between the extremes with the next one."""
        inner = np.arange(self.single, len(self.sizes) - self.single)
        first = np.concatenate(
            [np.arange(self.single), inner[::2], inner[-1] + 1 + np.arange(self.single)]
        )
        last = np.append(first[1:], len(self.sizes)) - 1
        sizes = np.add.reduceat(self.sizes, first)
        means = np.where(
            first == last,
            self.means[first],
            np.add.reduceat(self.sizes * self.means, first) / sizes,
        )
        deviations = self.means - np.repeat(means, last - first + 1)
        scatters = np.add.reduceat(self.sizes * (self.variances + deviations * deviations), first)
        widths = self.means[last] - self.means[first] + self.widths[first]
        widths += np.where(first == last, 0.0, self.widths[last])
        return changed(self, sizes=sizes, means=means, variances=scatters / sizes, widths=widths)

    def sums(
        self, rng: np.random.Generator, k: int, rounds: int, *, replace: bool
    ) -> tuple[Doubles, Doubles]:
        """Draw how many of k records lie in each bin; return mean and variance of their sum.

        The counts are multinomial, or hypergeometric without replacement. With replacement the
        extreme numbers are drawn one by one where that is faster. Then their count is binomial,
        each draw is uniform among them, and the other draws are multinomial over the other bins.

        Parameters
        ----------
        rng : numpy.random.Generator
        k, rounds : int
            Records drawn in a round, and rounds.
        replace : bool
            Whether they are put back.

        Returns
        -------
        means, variances : (rounds,) ndarray
            Given the counts, in units of `unit`, about k times `centre`.
        """
        if not replace:
            counts = rng.multivariate_hypergeometric(self.sizes, k, rounds, method="marginals")
            return self.given(counts, replace=False)
        size, is_single = int(self.sizes.sum()), self.sizes == 1
        single = self.means[is_single]
        if not len(single) or k > _MOST_PICKS * size:
            return self.given(rng.multinomial(k, self.sizes / size, size=rounds), replace=True)
        extremes = rng.binomial(k, len(single) / size, size=rounds)
        means, variances = _sums_of_draws(rng, single, extremes), np.zeros(rounds)
        if len(single) < len(self.sizes):
            names = ("sizes", "means", "variances", "widths")
            rest = changed(self, **{name: getattr(self, name)[~is_single] for name in names})
            counts = rng.multinomial(k - extremes, rest.sizes / rest.sizes.sum())
            others, variances = rest.given(counts, replace=True)
            means += others
        return means, variances

    def drawn(self, rng: np.random.Generator, k: int, rounds: int, *, replace: bool) -> Doubles:
        """Draw sums of k records, each normal given how many records lie in each bin.

        Parameters
        ----------
        rng : numpy.random.Generator
        k, rounds : int
            Records drawn in a round, and rounds.
        replace : bool
            Whether they are put back.

        Returns
        -------
        (rounds,) ndarray
        """
        means, variances = self.sums(rng, k, rounds, replace=replace)
        means += np.sqrt(variances) * rng.standard_normal(rounds)
        return np.asarray(k * self.centre + self.unit * means)

    def given(self, counts: npt.NDArray[np.int64], *, replace: bool) -> tuple[Doubles, Doubles]:
        """Return mean and variance of the sum, given how many records lie in each bin.

        Parameters
        ----------
        counts : (T, B) ndarray of int
        replace : bool
            Whether records are put back.

        Returns
        -------
        means, variances : (T,) ndarray
            In units of `unit`, about k times `centre`.
        """
        spread = counts * self.variances
        if not replace:
            spread *= (self.sizes - counts) / np.maximum(self.sizes - 1, 1)
        # Not by BLAS, whose last bits depend on threads.
        return (counts * self.means).sum(axis=1), spread.sum(axis=1)


def _sums_of_draws(
    rng: np.random.Generator, values: Doubles, counts: npt.NDArray[np.int64]
) -> Doubles:
    """Return sums of `counts` draws, each uniform among the values."""
    kind = np.min_scalar_type(len(values) - 1)
    drawn = values[rng.integers(len(values), size=int(counts.sum()), dtype=kind)]
    sums, drawn_any = np.zeros(len(counts)), counts > 0
    if drawn_any.any():
        sums[drawn_any] = np.add.reduceat(drawn, (np.cumsum(counts) - counts)[drawn_any])
    return sums


def _bin_starts(ordered: Doubles, single: int, cuts: int) -> npt.NDArray[np.int64]:
    """Return the index of the first number of each bin."""
    size = len(ordered)
    if size <= 2 * single:
        return np.arange(size)
    between = ordered[single : size - single]
    counted = np.linspace(0, len(between), cuts + 1)[:-1].astype(np.int64)
    points = np.linspace(between[0], between[-1], cuts + 1)[1:-1]
    inner = np.union1d(counted, np.searchsorted(between, points))
    edge = np.arange(single)
    return np.concatenate([edge, single + inner, size - single + edge])


class BinnedMeans:
    """Means of numbers by bins; see Bins. The target's record is added exactly."""

    tile = 1024

    def __init__(self, bins: Bins, target: Doubles, mean: ReleasedMean, *, replace: bool) -> None:
        self.bins = bins.joined(mean.records, replace=replace)
        self.target, self.mean, self.replace = target, mean, replace

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler."""
        for start in range(0, len(out), self.tile):
            stream = np.random.SeedSequence([*map(int, key), (first + start) // self.tile])
            flags = included[start : start + self.tile]
            self._fill_tile(np.random.default_rng(stream), flags, out[start : start + self.tile, 0])
        self.mean.add_noise(key, first, included, out)

    def _fill_tile(self, rng: np.random.Generator, included: Flags, out: Doubles) -> None:
        bins, records = self.bins, self.mean.records
        for inside in (True, False):
            rounds = included == inside
            drawn = records - (inside or not self.mean.replaced)
            total = bins.drawn(rng, drawn, int(rounds.sum()), replace=self.replace)
            out[rounds] = (total + inside * self.target[0]) / records


def weighted_sums(
    values: Doubles, weights: Doubles, rounds: int, rng: np.random.Generator
) -> Doubles:
    """Draw sums of weights times values, with a random value for each weight.

    Parameters
    ----------
    values : (m,) ndarray
    weights : (k,) ndarray
        At least 0.
    rounds : int
    rng : numpy.random.Generator

    Returns
    -------
    (rounds,) ndarray of float64

    Notes
    -----
    A round draws one value for every weight. For records of equal weight it draws the counts of the
    bins. If there are more than 32 distinct weights, the 256 largest are kept, and the others are
    cut into groups. With w the mean of a group,

        sum_j w_j z_j = w sum_j z_j + sum_j (w_j - w) z_j,

    two terms without covariance. The second is replaced by a normal of its variance, so mean and
    variance of the sum are exact.
    """
    bins, scale = Bins.of(values), float(values.std())
    total = np.zeros(rounds)
    for weight, count, scatter in _weight_groups(weights[weights > 0]):
        total += weight * _draw_sums(values, bins, count, rounds=rounds, rng=rng)
        if scatter > 0:
            total += float(np.sqrt(scatter)) * scale * rng.standard_normal(rounds)
    return total


def _weight_groups(weights: Doubles) -> Iterator[tuple[float, int, float]]:
    """Yield mean, number and scatter of the weights of each group."""
    levels, counts = np.unique(weights, return_counts=True)
    if len(levels) <= _LEVELS:
        yield from zip(levels.tolist(), counts.tolist(), [0.0] * len(levels), strict=True)
        return
    ordered = np.sort(weights)
    others, largest = ordered[:-_WEIGHTS_ALONE], ordered[-_WEIGHTS_ALONE:]
    yield from ((weight, 1, 0.0) for weight in largest.tolist())
    if not len(others):
        return
    points = np.linspace(others[0], others[-1], _WEIGHT_CUTS + 1)[1:-1]
    counted = np.linspace(0, len(others), _WEIGHT_CUTS + 1)[1:-1].astype(np.int64)
    for group in np.split(others, np.union1d(counted, np.searchsorted(others, points))):
        if len(group):
            mean = float(group.mean())
            yield mean, len(group), float(((group - mean) ** 2).sum())


def _draw_sums(
    values: Doubles, bins: Bins, count: int, *, rounds: int, rng: np.random.Generator
) -> Doubles:
    """Draw sums of `count` values."""
    result = np.empty(rounds)
    if count <= _DRAWN_SINGLY or bins.error(count, replace=True) > _LARGEST_ERROR:
        tile = max(1, _DRAWN_AT_ONCE // count)
        for start in range(0, rounds, tile):
            part = result[start : start + tile]
            values[rng.integers(len(values), size=(len(part), count))].sum(axis=1, out=part)
        return result
    joined = bins.joined(count, replace=True)
    for start in range(0, rounds, _TILE):
        part = result[start : start + _TILE]
        part[:] = joined.drawn(rng, count, len(part), replace=True)
    return result
