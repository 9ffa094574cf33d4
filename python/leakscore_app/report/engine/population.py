"""Leakage of every person in a release, to attackers who know the law of all others.

The informed attacker knows mean mu and covariance C of the population and compares the release
with the target z through w = C^-1 (z - mu) (Azize & Basu 2024, covariance score). The weaker one
knows the variances D only: w = D^-1 (z - mu). Both scores are linear, so on a release of n records
with a = z - mu each is a Gaussian test of leakage m = (w'a)^2 / (n w'Cw).

A record in a batch of b (`Published`) leaks M / b, where the present mean of all n alone leaks
M / n (`leakage.release_leakage`; T. Michel, D. Basu and E. Kaufmann, sequential membership
inference). The batches of a person are independent, so their leakages add up
(`leakage.leave_group_out`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import leakage
from leakscore.leakage import ShapedNoise
from leakscore.leakage import groups as grouped
from leakscore.leakage.groups import OwnedTable, Wish
from leakscore.leakage.score import release_modes
from leakscore.leakage.table_law import TableLaw
from leakscore.numeric import frozen
from leakscore.reference import Moments, Reference, SingularCovarianceError, left_out
from leakscore_app.report._model import Doubles
from leakscore_app.report._published import Integers, Published
from leakscore_app.tables.table import independent_columns

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Shrinkage: TypeAlias = float | Literal["auto"] | None
Shape: TypeAlias = Literal["optimal", "independent"]

# A column in which all other records are alike, to rounding.
_ALONE = 1e-9


class Population:
    """A table as the population that an attacker knows, and from which records are averaged.

    Columns are in units of their standard deviation, which changes no leakage. A person is judged:
    one record, or all records of one owner. An attacker knows the population from the records of
    all other persons.

    Parameters
    ----------
    values : (N, d) ndarray
        Records, rank d (or shrinkage > 0).
    n : int
        Records in the present mean.
    finite : bool
        True if the n are drawn from these N without replacement; then the mean varies less, by
        1 - n/N.
    shrinkage : float, "auto" or None
        Of the covariance towards its diagonal; estimated again without each person.
    published : Published, optional
        Persons and batches. Default: each record is a person, and one mean is published.
    earlier : (P,) ndarray, optional
        Leakage of each person from earlier means, if the values are other than those released.
    weights : (N,) ndarray, optional
        Weights of the records in the one mean, each a person's only one, that everybody knows.
        With `pull` w over its mean, a mean of n records is C mean(pull^2) / n about its
        expectation, and moves by pull (z - mu) / n with a record z in it.
    moments : Moments, optional
        Of the values, if these are in units of their standard deviation already; no shrinkage.
    """

    pooled = False  # whether cells of few records are judged by one covariance
    whole = True  # whether all records are here
    shrinkage: Shrinkage = None
    pull: Doubles | None = None
    _earlier: Doubles | None = None

    def __init__(
        self,
        values: Doubles,
        n: int,
        *,
        finite: bool,
        shrinkage: Shrinkage,
        published: Published | None = None,
        earlier: Doubles | None = None,
        weights: Doubles | None = None,
        moments: Moments | None = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.pull = None if weights is None else weights / weights.mean()
        if moments is None:
            self.scale = values.std(axis=0)
            values = values / self.scale
            reference = Reference.fit(values, shrinkage=shrinkage)
        else:
            self.scale = np.ones(moments.dim)
            reference = moments.reference()
        self._begin(values, reference, n, finite=finite, size=len(values), published=published)
        if self.pull is not None:
            self.correction = float(np.mean(self.pull**2))
        self._earlier = earlier

    def _begin(
        self,
        values: Doubles,
        reference: Reference,
        n: int,
        *,
        finite: bool,
        size: int,
        published: Published | None,
    ) -> None:
        """Set what every population has: records in units, their law, and persons."""
        self.values, self.reference = values, reference
        self.n, self.finite, self.size, self.dim = n, finite, size, values.shape[1]
        self.correction = 1 - n / size if finite else 1.0
        self.centred = values - reference.mean
        self.published = published or Published.of(None, len(values), n)
        self.owned = self.published.owned
        self._known: dict[int, Reference] = {}

    @property
    def root(self) -> float:
        """Factor from noise on the mean, in standard deviations, to standard errors of the mean."""
        return float(np.sqrt(self.n / self.correction))

    @property
    def separate(self) -> Population | None:
        """The population with the covariance of each small cell; None without small cells."""
        return None

    @property
    def persons(self) -> int:
        """How many persons there are."""
        return len(self.owned.sizes)

    @property
    def batch_size(self) -> int:
        """Size of the last batch, whose mean follows from the present mean and the one before."""
        return int(self.published.sizes[-1])

    @cached_property
    def divisors(self) -> Doubles:
        """Divisor of each record's squared distance in its leakage, (N,)."""
        every = np.asarray(self.published.sizes[self.published.batch] * self.correction)
        if self.pull is None:
            return every
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(every / self.pull**2)

    def replaced(self, values: Doubles) -> Population:
        """Return the release of other values; the leakage from earlier means remains."""
        return self._other(values, self.n, self.published, self.earlier)

    def with_slopes(self, slopes: csr_array) -> Population:
        """Return the release of numbers that change with several of the values.

        Parameters
        ----------
        slopes : (d, d) sparse array
            A row for each number, in the units of the file.
        """
        return self.replaced((self.values * self.scale) @ slopes.T)

    def alike(self, slopes: csr_array) -> Integers:
        """Return which of such numbers are the same for all records, to rounding."""
        values = self.values * self.scale
        numbers, largest = values @ slopes.T, abs(slopes) @ np.abs(values).max(axis=0)
        return np.flatnonzero(np.ptp(numbers, axis=0) <= _ALONE * largest)

    def with_columns(self, kept: Sequence[int]) -> Population:
        """Return the release of some of the columns."""
        values = self.values[:, kept]
        if self.size < self.dim + 2:  # so few records that all columns seemed to depend
            return self.replaced(values[:, independent_columns(values)])
        if self.shrinkage is not None:
            return self.replaced(values)
        moments = self._moments.part(kept)
        return self._other(values, self.n, self.published, self.earlier, moments=moments)

    @cached_property
    def _moments(self) -> Moments:
        moments = Moments(self.dim)
        moments.update(self.values)
        return moments

    def without_records(self, rows: Integers) -> tuple[Population | None, Integers]:
        """Return the release without some records of the last batch, and which persons remain.

        None if the other records are all the same, or have no weight: a mean tells nothing.
        """
        kept = np.delete(np.arange(self.size), rows)
        published, persons = self.published.of_rows(kept)
        n = min(self.n, len(kept)) if published.last == 0 else self.n - len(rows)
        return self._of_rows(kept, n, published, self.earlier[persons]), persons

    def _of_rows(
        self, kept: Integers, n: int, published: Published, earlier: Doubles
    ) -> Population | None:
        values = self.values[kept]
        if self.pull is not None and not self.pull[kept].any():
            return None
        columns = independent_columns(values)
        return self._other(values[:, columns], n, published, earlier, kept) if columns else None

    def can_spare(self, rows: Integers) -> bool:
        """Whether the release can be judged without some records of the last batch."""
        rest = self.size - len(rows)
        of_row = np.delete(self.owned.of_row, rows)
        others = rest - int(np.bincount(of_row).max(initial=0))
        fewest = 2 if self.shrinkage else max(2, self.dim + 1)
        return others >= fewest and self._can_draw(rows)

    def _can_draw(self, rows: Integers) -> bool:
        """Whether the remaining records are enough to draw the release from."""
        rest = self.size - len(rows)
        others = rest - int(np.bincount(np.delete(self.owned.of_row, rows)).max(initial=0))
        drawn = min(self.n, rest) if self.published.last == 0 else self.batch_size - len(rows)
        return drawn >= 2 and not (self.finite and self.n > others - 1)

    @property
    def most_drawn(self) -> int:
        """The largest release from a finite population that lacks any one person."""
        return int(self.size - self.owned.sizes.max())

    def added_record(self, person: int, others: Reference) -> Doubles:
        """Return the record that alone would move the last batch's mean as this person does."""
        rows = self.owned.rows(person)
        rows = rows[self.published.batch[rows] == self.published.last]
        if len(rows) == 1:
            row = self.values[rows[0]]
            if self.pull is None:
                return np.asarray(row)
            return np.asarray(others.mean + self.pull[rows[0]] * (row - others.mean))
        return np.asarray(others.mean + (self.values[rows] - others.mean).sum(axis=0))

    def _other(
        self,
        values: Doubles,
        n: int,
        published: Published,
        earlier: Doubles,
        kept: Integers | slice = slice(None),
        moments: Moments | None = None,
    ) -> Population:
        return Population(
            values,
            n,
            finite=self.finite,
            shrinkage=self.shrinkage,
            published=published,
            earlier=earlier,
            weights=None if self.pull is None else self.pull[kept],
            moments=moments,
        )

    def informed_of(self, values: Doubles) -> Doubles:
        """Return the leakage to the informed attacker if these values were averaged instead.

        Columns that follow from others now are left out.
        """
        kept = independent_columns(values)
        if not kept:
            return self.earlier  # the records are all the same: a mean tells nothing
        return self.replaced(values[:, kept]).informed()

    def larger(self, size: int) -> Population:
        """Return the same population with so many records in the last batch."""
        larger = self._republished(self.published.with_last_size(size), self.earlier)
        larger.n = self.n + size - self.batch_size
        if self.finite and self.pull is None:
            larger.correction = 1 - larger.n / self.size
        return larger

    def of_one_mean(self) -> Population:
        """Return the release of the present mean alone."""
        batch = np.zeros_like(self.published.batch)
        return self._republished(Published(self.owned, batch, np.array([self.n])), None)

    def _republished(self, published: Published, earlier: Doubles | None) -> Population:
        """Return the same records in other batches, without cached results."""
        other = copy.copy(self)
        for of_release in ("divisors", "earlier", "_informed", "_table"):
            other.__dict__.pop(of_release, None)
        other.published, other._earlier, other._known = published, earlier, {}
        return other

    def in_sample(self) -> Doubles:
        """Leakage with the person in the reference: too small for the unusual ones."""
        person, batch, sums = self.published.sums(self.centred)
        alone = self.owned.alone[person]
        near = np.empty(len(person))
        if alone.any():
            every = 2 * leakage.leakage_score(self.values, self.reference, 2)
            near[alone] = every[self.owned.first[person[alone]]]
        if not alone.all():
            several = sums[~alone]
            near[~alone] = np.sum(several * self.reference.solve(several), axis=1)
        near = near / self.published.sizes[batch] / self.correction
        if self.pull is not None:
            near = near * self.pull[self.owned.first[person]] ** 2
        return np.bincount(person, near, minlength=self.persons).astype(np.float64)

    @cached_property
    def earlier(self) -> Doubles:
        """Leakage to the informed attacker from the earlier means, (P,)."""
        if self._earlier is not None:
            return self._earlier
        if self.published.last == 0:
            return np.zeros(self.persons)
        before = self.published.batch < self.published.last
        scores = self._leakages(None, before)
        scores[self.published.given_away(slice(0, -1))] = np.inf
        return scores

    def added(self, noise_std: float = 0.0) -> Doubles:
        """Leakage to the informed attacker from the batch that the present mean adds, (P,).

        `noise_std` is in standard deviations of a record.
        """
        share = self.n / self.batch_size  # the attacker multiplies the noise when subtracting
        variance = self.batch_size * (share * noise_std) ** 2 / self.correction
        now = self.published.batch == self.published.last
        scores = self._leakages(variance, now)
        scores[self.published.given_away(slice(-1, None))] = np.inf
        return scores

    def noisy(self, noise_cov: Doubles, earlier: Doubles) -> Doubles:
        """Leakage of every person with noise of a covariance on the present mean, (P,).

        `earlier` is the leakage from earlier means that counts; no shrinkage.
        """
        return earlier + self._table.added(noise_cov)

    def least_noise(
        self, most: float, shape: Shape, earlier: Doubles, without: int | None = None
    ) -> ShapedNoise:
        """Find the noise of least cost that brings all persons, or all but one, under a leakage.

        `earlier` is the leakage from earlier means that counts.
        """
        if self.plain:
            values = self.values if without is None else np.delete(self.values, without, axis=0)
            return leakage.noise_for_table(
                values,
                self.n,
                max_leakage=most,
                shape="optimal" if shape == "optimal" else "optimal-diagonal",
                population="finite" if self.finite else "infinite",
            )
        table = self._table
        if without is not None:
            table, earlier = table.without(without), np.delete(earlier, without)
        return table.noise(Wish(self.n, most, shape != "optimal"), earlier)

    def can_spare_person(self, person: int) -> bool:
        """Whether noise of any shape can be found without a person."""
        drawn = not self.finite or self.n < self.size - int(self.owned.sizes[person])
        return drawn and self._table.can_spare(person)

    @cached_property
    def _table(self) -> OwnedTable:
        """Return the records with persons and batches, for noise of any shape (no shrinkage)."""
        return OwnedTable(
            table=self.values,
            reference=self.reference,
            n=self.n,
            owned=self.owned,
            batch=self.published.batch,
            sizes=self.published.sizes,
            share=self.correction,
        )

    @property
    def plain(self) -> bool:
        """Whether every person has one record, and one mean is published."""
        return self.published.last == 0 and bool(self.owned.alone.all())

    def leakage_refitted(self, person: int, noise_cov: Doubles) -> float:
        """Leakage of a person from the last batch, under noise on the mean of a covariance."""
        others = self.without(person)
        rows = self.owned.rows(person)
        rows = rows[self.published.batch[rows] == self.published.last]
        away = (self.values[rows] - others.mean).sum(axis=0)
        per_record = self.n * (self.n / self.batch_size)
        law = Reference(others.mean, others.cov + per_record * noise_cov)
        return float(away @ law.solve(away) / self.batch_size)

    def informed(self) -> Doubles:
        """Leakage to the informed attacker from all means, (P,); inf where it is certain."""
        return self._informed

    @cached_property
    def _informed(self) -> Doubles:
        return frozen(self.earlier + self.added())

    def noisy_from_the_start(self, noise_std: float) -> Doubles:
        """Leakage to the informed attacker had all means carried noise, independent each time."""
        scores, sizes, batch = np.zeros(self.persons), self.published.sizes, self.published.batch
        scales, vectors = release_modes(np.cumsum(sizes).astype(np.float64))
        for scale, vector in zip(scales.tolist(), vectors.T, strict=True):
            weight = (vector / np.sqrt(sizes))[batch]
            scores += self._of_sums(noise_std**2 * scale, np.zeros_like(batch), weight)
        return scores

    def _leakages(self, variance: float | None, chosen: npt.NDArray[np.bool_]) -> Doubles:
        """Leakage of each person's chosen records, the person left out, (P,).

        `variance` of noise, if any, is added to that of one record.
        """
        weight = np.where(chosen, 1 / np.sqrt(self.divisors), 0.0)
        return self._of_sums(variance, self.published.batch, weight)

    def _of_sums(self, variance: float | None, batch: Integers, weight: Doubles) -> Doubles:
        """Leakage of weighted sums of each person's records, added over batches, (P,)."""

        def of_records() -> Doubles:
            distances, part = self._distances(variance), weight != 0
            return np.multiply(weight**2, distances, where=part, out=np.zeros_like(weight))

        def of_several() -> Doubles:
            noisy = self._noisy(variance)
            return grouped.distances(self.values, noisy, self.owned, batch, weight)

        with self._too_few_records():
            return self.owned.scores(of_records, of_several)

    def _noisy(self, variance: float | None) -> Reference:
        return self.reference if variance is None else self.reference.add_diagonal(variance)

    def _distances(self, variance: float | None) -> Doubles:
        """Squared distance of each record from the others, (N,)."""
        return self._noisy_distances(variance) if variance else self._plain_distances

    @cached_property
    def _plain_distances(self) -> Doubles:
        return frozen(self._noisy_distances(None))

    def _noisy_distances(self, variance: float | None) -> Doubles:
        with self._too_few_records():
            squares = 2 * leakage.leave_one_out(self.values, self._noisy(variance), 2)
        return squares if self.pull is None else np.where(self.pull > 0, squares, 0.0)

    @contextmanager
    def _too_few_records(self) -> Iterator[None]:
        try:
            yield
        except ValueError:
            if self.shrinkage is None:
                raise
            raise ValueError(
                f"{self.size} records of {self.dim} columns do not determine their covariance, and "
                "it would take too long to shrink it again without each record; publish fewer "
                "columns (--columns, --exclude)"
            ) from None

    def without(self, person: int) -> Reference:
        """Mean and covariance (times 1 - n/N if finite) of the others' records."""
        if person not in self._known:  # a person is played many times
            self._known[person] = self._fit_without(person)
        return self._known[person]

    def _fit_without(self, person: int) -> Reference:
        others = np.delete(self.values, self.owned.rows(person), axis=0)
        mean = others.mean(axis=0)
        others -= mean
        others *= np.sqrt(self.correction)
        others += mean
        return Reference.fit(others, shrinkage=self.shrinkage)

    def weaker(self) -> Doubles:
        """Leakage to the attacker who knows the columns' means and variances only, (P,)."""
        if self.shrinkage:
            scores = self._weaker_refitted()
        else:
            scores = self.owned.scores(self._weaker_of_one, self._weaker_of_several)
        scores[self.published.given_away()] = np.inf
        return scores

    def _weaker_of_one(self) -> Doubles:
        """Return the leakage of every record by itself, (N,)."""
        columns, cov = np.arange(self.dim), self.centred.T @ self.centred / self.size
        law = TableLaw(columns, columns, self.size, np.ones(self.dim), self.reference.mean, cov)
        scores, traced = law.weaker(self.values), np.isfinite(self.divisors)  # no weight, no trace
        return np.divide(scores, self.divisors, out=np.zeros(self.size), where=traced)

    def _weaker_of_several(self) -> Doubles:
        scores = np.zeros(self.persons)
        for persons, rows in self.owned.blocks(self.dim):
            scores[persons] = self._weaker_of_rows(rows)
        return scores

    def _weaker_of_rows(self, rows: Integers) -> Doubles:
        """Return the leakage of persons of k records, (g, k), by the formula of `_Fitted.changed`.

        The scores of the batches add up, each weighted as if the columns were independent.
        """
        size = rows.shape[1]
        weights = grouped.sums_of(self.published.batch[rows], 1 / np.sqrt(self.divisors[rows]))
        away, weights = grouped.grown(self.centred[rows], weights, self.size)
        scatter, rest = self.centred.T @ self.centred, self.size - size
        variance = np.diag(scatter) - np.sum(away * away, axis=1)
        alone = (variance <= _ALONE * np.diag(scatter))[:, np.newaxis]
        sums = weights.transpose(0, 2, 1) @ away
        weight = np.divide(
            sums, variance[:, np.newaxis] / rest, out=np.zeros_like(sums), where=~alone
        )
        along = np.sum(weight * sums, axis=(1, 2))
        spread = np.sum((weight @ scatter) * weight, axis=(1, 2))
        spread -= np.sum((weight @ away.transpose(0, 2, 1)) ** 2, axis=(1, 2))
        scores = along**2 / np.where(spread > 0, spread / rest, 1.0)
        scores[(alone & (sums != 0)).any(axis=(1, 2))] = np.inf
        return np.asarray(scores)

    def _weaker_refitted(self) -> Doubles:
        """Leakage to the weaker attacker if the others' shrunk covariance is the truth, (P,)."""
        scores = np.full(self.persons, np.nan)
        if self.pull is None:
            scores = self.owned.scores(
                lambda: left_out.weaker_if_shrunk(self.values, self.reference) / self.divisors,
                lambda: np.full(self.persons, np.nan),
            )
        persons = np.flatnonzero(np.isnan(scores))
        scores[persons] = np.inf
        for person in persons.tolist():
            others = self._fit_without(person)
            sums, variance = self.shifts(person, others), np.diag(others.cov)
            if (variance > _ALONE).all():
                weight = sums / variance
                along = float(weight.ravel() @ sums.ravel())
                spread = float(np.sum((weight @ others.cov) * weight))
                scores[person] = along**2 / spread if spread > 0 else 0.0
        return scores

    def shifts(self, person: int, others: Reference) -> Doubles:
        """Return how far a person moves the mean of each batch, (t, d).

        In units in which the covariance of such a mean is that of one record: the sum of the
        person's records less the others' mean, over the root of the batch's size.
        """
        return np.array(
            [
                (self.values[part.rows] - others.mean).sum(axis=0)
                / np.sqrt(self.published.sizes[part.batch])
                for part in self.published.parts(person)
            ]
        )

    def shares(self, person: int) -> tuple[Doubles, Doubles]:
        """Shares of the columns in a person's leakage, and the leakage without each column.

        M = sum_j a_j (C^-1 a)_j is exact and a share may be negative. Without column j,
        M falls by (C^-1 a)_j^2 / (C^-1)_jj. A record at the mean has no leakage to share. For a
        person of one record the second result is the in-sample M, for others a leakage. If a
        column has no spread without a person of several records, the shares are in sample, too.
        """
        singular = False
        if self.owned.alone[person]:
            others, sums = self.reference, self.centred[[self.owned.first[person]]]
        else:
            others = self.without(person)
            try:
                others.invertible()
            except SingularCovarianceError:
                others, singular = self.reference, True
            sums = self.shifts(person, others)
        weight = others.solve(sums)
        products = np.sum(sums * weight, axis=0)
        total = float(sums.ravel() @ weight.ravel())
        same = others is self.reference
        precision = self._precision if same else np.diag(others.solve(np.eye(self.dim)))
        shares = products / total if total else np.zeros_like(products)
        remaining = total - np.sum(weight**2, axis=0) / precision
        return shares, np.full(self.dim, np.nan) if singular else remaining

    @cached_property
    def _precision(self) -> Doubles:
        return np.asarray(np.diag(self.reference.solve(np.eye(self.dim))))

    def left_out(self, person: int, remaining: Doubles) -> Doubles:
        """Leakage of a person, left out, from the in-sample distances of `shares` (no shrinkage).

        The closed form of `leakage.leave_one_out`, for distances that belong to no reference.
        """
        if not self.owned.alone[person]:
            return remaining
        rest = self.size - 1
        remains = 1 - remaining / rest
        remains[remains <= _ALONE] = 0.0
        with np.errstate(divide="ignore"):
            scores = remaining * (self.size / rest) / remains
        return np.asarray(scores / self.divisors[self.owned.first[person]])
