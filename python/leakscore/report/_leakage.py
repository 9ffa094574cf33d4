"""What every record leaks to the two attackers, each record left out of what they know.

The informed attacker knows mean mu and covariance C of the population and compares the release
with the target z through w = C^-1 (z - mu) (Azize & Basu 2024, covariance score). The weaker one
knows the variances D only: w = D^-1 (z - mu). Both scores are linear, so on a release of n records
with a = z - mu each is a Gaussian test of leakage m = (w'a)^2 / (n w'Cw).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from leakscore import leakage, tradeoff
from leakscore._numeric import frozen
from leakscore.reference import Reference
from leakscore.report._model import ALPHA, LEVELS, LOW_PRIOR, Counts, Doubles, Risk
from leakscore.tables.records import independent_columns

Shrinkage: TypeAlias = float | Literal["auto"] | None

__all__ = ["Population", "counts_of", "interval_of", "risk_of"]

# A column in which all other records are alike, to rounding.
_ALONE = 1e-9


class Population:
    """A table as the population that an attacker knows, and from which n records are averaged.

    Columns are held in units of their standard deviation, which changes no leakage.

    Parameters
    ----------
    values : (N, d) ndarray
        Records, rank d (or shrinkage > 0).
    n : int
        Records averaged.
    finite : bool
        True if the n are drawn from these N without replacement; then the mean varies less, by
        1 - n/N.
    shrinkage : float, "auto" or None
        Of the covariance towards its diagonal, anew without each record.
    """

    def __init__(self, values: Doubles, n: int, *, finite: bool, shrinkage: Shrinkage) -> None:
        self.scale = values.std(axis=0)
        self.values = values / self.scale
        self.n = n
        self.finite = finite
        self.shrinkage = shrinkage
        self.size, self.dim = values.shape
        self.kind: Literal["finite", "infinite"] = "finite" if finite else "infinite"
        self.correction = 1 - n / self.size if finite else 1.0
        self.reference = Reference.fit(self.values, shrinkage=shrinkage)
        self._leakages: Doubles | None = None
        self._known: dict[int, Reference] = {}

    def replaced(self, values: Doubles) -> Population:
        """Return the release of other values, of n of them or all if they are fewer."""
        n = min(self.n, len(values))
        return Population(values, n, finite=self.finite, shrinkage=self.shrinkage)

    def with_columns(self, kept: Sequence[int]) -> Population:
        """Return the release of some of the columns."""
        values = self.values[:, kept]
        if self.size < self.dim + 2:  # so few records that all columns seemed to depend
            values = values[:, independent_columns(values)]
        return self.replaced(values)

    def informed_of(self, values: Doubles) -> Doubles:
        """Return the leakage to the informed attacker if these values were averaged instead.

        Columns that now tell nothing more are left out.
        """
        kept = independent_columns(values)
        if not kept:
            return np.zeros(len(values))  # the records are all the same: a mean tells nothing
        return self.replaced(values[:, kept]).informed()

    def with_n(self, n: int) -> Population:
        """Return the same population with n records averaged."""
        return Population(self.values, n, finite=self.finite, shrinkage=self.shrinkage)

    def in_sample(self) -> Doubles:
        """Leakage with the record in the reference: too small for the unusual ones."""
        scores = leakage.leakage_score(self.values, self.reference, self.n)
        return np.asarray(scores / self.correction)

    def informed(self, noise_std: float = 0.0) -> Doubles:
        """Leakage to the informed attacker; inf where the record alone has something.

        `noise_std`, on the mean, is in standard deviations of a record.
        """
        if noise_std == 0:
            if self._leakages is None:
                self._leakages = frozen(self._informed(0.0))
            return self._leakages
        return self._informed(noise_std)

    def _informed(self, noise_std: float) -> Doubles:
        reference = self.reference.add_diagonal(self.n * noise_std**2 / self.correction)
        try:
            return leakage.leave_one_out(self.values, reference, self.n, population=self.kind)
        except ValueError:
            if self.shrinkage is None:
                raise
            raise ValueError(
                f"{self.size} records of {self.dim} columns do not determine their covariance, and "
                "it would take too long to shrink it again without each record; publish fewer "
                "columns (--columns, --exclude)"
            ) from None

    def without(self, i: int) -> Reference:
        """Mean and covariance (times 1 - n/N if finite) of all records but the i-th."""
        if i not in self._known:  # a record is played many times
            self._known[i] = self._fit_without(i)
        return self._known[i]

    def _fit_without(self, i: int) -> Reference:
        others = np.delete(self.values, i, axis=0)
        mean = others.mean(axis=0)
        others -= mean
        others *= np.sqrt(self.correction)
        others += mean
        return Reference.fit(others, shrinkage=self.shrinkage)

    def weaker(self) -> Doubles:
        """Leakage to the attacker who knows the columns' means and variances only."""
        if self.shrinkage:
            return self._weaker_refitted()
        delta, rest = self.values - self.reference.mean, self.size - 1
        grow = self.size / rest
        variance = np.mean(delta * delta, axis=0)
        left = grow * (variance - delta * delta / rest)
        alone = left <= _ALONE * variance
        weight = np.divide(grow * delta, left, out=np.zeros_like(delta), where=~alone)
        along = np.sum(weight * delta, axis=1)
        cov = delta.T @ delta / self.size
        spread = grow * (np.sum((weight @ cov) * weight, axis=1) - along**2 / rest)
        scores = (grow * along) ** 2 / np.where(spread > 0, spread, 1.0)
        scores[alone.any(axis=1)] = np.inf
        return np.asarray(scores / (self.n * self.correction))

    def _weaker_refitted(self) -> Doubles:
        """Do the same with the shrunk covariance of the others for the truth."""
        scores = np.full(self.size, np.inf)
        for i, record in enumerate(self.values):
            known = self._fit_without(i)
            away, variance = record - known.mean, np.diag(known.cov)
            if (variance > _ALONE).all():
                weight = away / variance
                scores[i] = (weight @ away) ** 2 / (weight @ known.cov @ weight) / self.n
        return scores

    def shares(self, i: int) -> tuple[Doubles, Doubles]:
        """Shares of the columns in the leakage of record i, and its in-sample M without each.

        M = sum_j a_j (C^-1 a)_j is exact and a share may be negative. Without column j,
        M falls by (C^-1 a)_j^2 / (C^-1)_jj. A record at the mean has no leakage to share.
        """
        delta = self.values[i] - self.reference.mean
        weight = self.reference.solve(delta)
        total = float(delta @ weight)
        precision = np.diag(self.reference.solve(np.eye(self.dim)))
        shares = delta * weight / total if total else np.zeros_like(delta)
        return shares, total - weight**2 / precision

    def left_out(self, squared_mahalanobis: Doubles) -> Doubles:
        """Leakage of a record, left out, from its in-sample M (no shrinkage).

        The closed form of `leakage.leave_one_out` for distances that no reference stands for.
        """
        rest = self.size - 1
        remains = 1 - squared_mahalanobis / rest
        remains[remains <= _ALONE] = 0.0
        with np.errstate(divide="ignore"):
            left = squared_mahalanobis * (self.size / rest) / remains
        return np.asarray(left / (self.n * self.correction))


def risk_of(scores: Doubles, base_rate: float | None) -> Risk:
    """Advantage, power at 1 % false positives and predictive values of leakage scores."""
    curve = tradeoff.gaussian(leakage=scores)
    return Risk(
        leakage=scores,
        advantage=curve.advantage(),
        power=curve.power(ALPHA),
        ppv_at_base_rate=None if base_rate is None else curve.ppv(ALPHA, base_rate),
        ppv_at_low_prior=curve.ppv(ALPHA, LOW_PRIOR),
    )


def interval_of(score: float, rows: int, dim: int, confidence: float) -> tuple[float, float]:
    """Interval for a leakage score whose covariance was estimated (ddof 0) on `rows` records.

    If the records are Gaussian, true over estimated leakage is chi-square with rows - dim degrees
    of freedom over rows (a law of the Wishart matrix); heavier tails make the interval wider.
    """
    from scipy.special import chdtri

    tails = np.array([(1 + confidence) / 2, (1 - confidence) / 2])
    low, high = score * chdtri(rows - dim, tails) / rows
    return float(low), float(high)


def counts_of(attacker: str, risk: Risk, rows: np.ndarray) -> Counts:
    """How many records the attacker identifies, the middle one and the worst one."""
    order = np.argsort(risk.leakage, kind="stable")
    middle, worst = order[(len(order) - 1) // 2], order[-1]
    return Counts(
        attacker=attacker,
        records=len(order),
        above=above(risk.power),
        median_power=float(np.median(risk.power)),
        worst_power=float(risk.power[worst]),
        median_advantage=float(np.median(risk.advantage)),
        worst_advantage=float(risk.advantage[worst]),
        median_row=int(rows[middle]),
        worst_row=int(rows[worst]),
    )


def above(power: Doubles) -> dict[str, int]:
    """Count the records above each level of power."""
    return {f"{100 * level:g}%": int((power > level).sum()) for level in LEVELS}
