"""How a score is computed: by the compiled kernels, for a full covariance and for many targets.

Every score of a Gaussian release is, up to a part that all targets share, linear in the release:
(x - mu)'w - (z + origin - 2 mu)'w / (2 n) with w = W^-1 (z - origin), where the origin is mu if
another record takes the target's place, and 0 if none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.reference import Reference, covariances
from leakscore.reference.covariances import Correlated
from leakscore.reference.low_rank import MANY as MANY_SIDES
from leakscore.reference.low_rank import STREAMED, LowRank
from leakscore.reference.record import GaussianNoise, noise_given
from leakscore.typing import Array, Doubles

Kernel: TypeAlias = Callable[..., tuple[Doubles, int]]

MANY = 16
"""From this number of targets on, products of blocks beat one pass over the data for each."""
FEW = 6
"""Below this number of targets, a pass for each is as fast as products of blocks."""
FEW_RELEASES = 8
"""Up to this number of releases, a pass over the targets for each beats products of blocks."""
_ROWS, _COLS, _TARGETS = 128, 4096, 512
NO_NOISE = np.zeros(1)


def rows(
    observed: npt.ArrayLike, target: npt.ArrayLike, dim: int, paired: bool
) -> tuple[Array, Array]:
    """Return both arguments as arrays of one or more rows of `dim` coordinates."""
    x = validation.rows("observed", observed, cols=dim)
    z = validation.rows("target", target, cols=dim)
    if validation.flag("paired", paired):
        require_pairs(x, z)
    return x, z


def require_pairs(observed: Any, target: Any) -> None:
    """Refuse what are not two tables, of numpy or dask, with the same number of rows."""
    if observed.ndim != 2 or observed.shape != target.shape:
        raise ValueError(
            f"target of shape {target.shape} and observed of shape {observed.shape} must be "
            "(T, d), both the same, if paired"
        )


def many(observed: Array, target: Array, paired: bool) -> bool:
    """Whether products of blocks are faster than a pass for each target, or for each release."""
    enough = target.ndim == 2 and len(target) >= MANY
    return not paired and enough and observed.ndim == 2 and len(observed) > FEW_RELEASES


def shaped(result: Doubles, observed: Array, target: Array) -> float | Doubles:
    """Give a result (T, k) the axes of the arguments; paired results are (T,) already."""
    if result.ndim == 1 or observed.ndim == target.ndim == 2:
        return result
    return float(result[0, 0]) if observed.ndim == target.ndim else result.reshape(-1)


def require_finite(result: Doubles, observed: Array, target: Array) -> None:
    """Explain why a result is NaN or infinite; infinities from finite arguments are legal."""
    validation.finite("observed", observed)
    validation.finite("target", target)
    if np.isnan(result).any():
        raise ValueError("observed and target must be so small that the score does not overflow")


class ScoredRelease:
    """The arguments that the scores of a mean of n records have in common, validated.

    The standard deviations of the noise have one element or one a coordinate.
    """

    __slots__ = ("_noisy", "n", "noise", "observed", "paired", "reference", "target")

    def __init__(
        self,
        observed: Array,
        target: Array,
        reference: Reference,
        n: int,
        noise: GaussianNoise,
        paired: bool,
    ) -> None:
        self.observed, self.target, self.paired = observed, target, paired
        self.reference, self.n, self.noise = reference, n, noise
        self._noisy: dict[float, Reference] = {}

    def of(self, observed: Array, target: Array, paired: bool) -> ScoredRelease:
        """Return the same laws for other rows, with the covariances computed so far."""
        other = ScoredRelease(observed, target, self.reference, self.n, self.noise, paired)
        other._noisy = self._noisy
        return other

    @property
    def others(self) -> float:
        """Share of the n - 1 other records in the release."""
        return (self.n - 1) / self.n

    def with_target(self) -> tuple[Reference, float]:
        """Return (R, f) with W = f R: n times the covariance of the release with the target."""
        return self._with_noise(self.n / self.others), self.others

    def without_target(self) -> Reference:
        """Return V, n times the covariance of the release without the target."""
        return self._with_noise(self.n)

    def _with_noise(self, scale: float) -> Reference:
        """Return the reference with noise added; always the same object, which keeps its factor."""
        if scale not in self._noisy:
            self._noisy[scale] = self.noise.added(self.reference, scale)
        return self._noisy[scale]

    @property
    def independent(self) -> bool:
        """Whether the coordinates are independent, so that the compiled kernels do all the work."""
        return self.reference.kind == "diagonal" and self.noise.independent

    def score(self, score: Kernel) -> float | Doubles:
        """Score independent coordinates."""
        record, x, z = self.reference, self.observed, self.target
        result, flags = score(x, z, record.mean, record.cov, self.noise.std, self.n, self.paired)
        return self.checked(result) if flags else shaped(result, x, z)

    def checked(self, result: Doubles) -> float | Doubles:
        """Give a result its shape, after a check of what in it is not finite."""
        if not np.isfinite(result).all():
            self.without_target().invertible()
            require_finite(result, self.observed, self.target)
        return shaped(result, self.observed, self.target)


def release(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_forms: tuple[Any, Any, Any],
    paired: bool,
) -> ScoredRelease:
    """Validate the arguments of a score; of its noise the deviations, matrix and factor."""
    reference = validation.instance("reference", reference, Reference)
    x, z = rows(observed, target, reference.dim, paired)
    n = validation.count("n", n, 2, why=validation.ONE)
    return ScoredRelease(x, z, reference, n, noise(reference.dim, *noise_forms), paired)


def noise(dim: int, std: Any, cov: Any = None, factor: Any = None) -> GaussianNoise:
    """Validate noise in one of three forms."""
    if cov is None and factor is None:
        if isinstance(std, float) and 0 <= std < np.inf:  # the usual case, in a microsecond
            return GaussianNoise(np.array([std]))
        return GaussianNoise(np.atleast_1d(validation.per_coordinate("noise_std", std, dim)))
    return noise_given(std, cov, factor, dim)


def slices(total: int, step: int) -> Iterator[slice]:
    """Cut a range into slices of `step`, the last one shorter."""
    return (slice(start, min(start + step, total)) for start in range(0, total, step))


# --- many targets ---------------------------------------------------------------------------------


def bernoulli(observed: Array, target: Array, p: Doubles) -> Doubles | None:
    """Bernoulli log-likelihood ratios (T, k) of many targets; None if an argument is suspect.

    Logarithms are taken once for all targets: sum of log((1-x)/(1-p)) + z logit ratio. Means of 0
    and 1, whose logarithm is infinite, are left out and counted separately.
    """
    if not ((p > 0) & (p < 1)).all():
        return None
    table = np.atleast_2d(observed)
    result = np.zeros((len(table), len(target)))
    excluded = np.zeros(result.shape, dtype=bool)
    for cols, targets in product(slices(table.shape[1], _COLS), slices(len(target), _TARGETS)):
        z = target[targets, cols].astype(np.float64, copy=False)
        if not ((z == 0) | (z == 1)).all():
            return None
        for rows in slices(len(table), _ROWS):
            x = table[rows, cols]
            difference, zeros, usable, certain = _core.bernoulli_log_ratios(x, p[cols])
            if not usable:
                return None
            result[rows, targets] += difference @ z.T + zeros[:, np.newaxis]
            if certain:
                excluded[rows, targets] |= ((x == 0) @ z.T + (x == 1) @ (1 - z.T)) > 0
    result[excluded] = -np.inf
    return result


# --- full covariance ------------------------------------------------------------------------------


_ALL = slice(None)


def _rows(name: str, table: Array, rows: slice, origin: Doubles, *, cols: slice = _ALL) -> Doubles:
    """Return some rows less the origin, in float64 and contiguous, for any layout of the table."""
    block = np.subtract(table[rows, cols], origin[cols], order="C")
    if not np.isfinite(block).all():
        validation.finite(name, table)
    return np.asarray(block)


def _block_rows(dim: int) -> int:
    return max(1, 2**20 // dim)


def dense_linear(
    release: ScoredRelease, origin: Doubles, covariance: Reference, factor: float
) -> Doubles:
    """Linear scores for a full covariance, W = factor * covariance."""
    observed, targets = np.atleast_2d(release.observed), np.atleast_2d(release.target)
    mean, paired = release.reference.mean, release.paired
    inverted = covariance.invertible()
    by_rows = inverted if isinstance(inverted, LowRank) else None
    result = np.zeros((len(observed),) if paired else (len(observed), len(targets)))
    if by_rows is not None and by_rows.streams(len(targets)):
        for rows in slices(len(targets), STREAMED):
            block_scores = _Streamed(release, origin, rows)
            by_rows.stream(block_scores.sides, rows.stop - rows.start, block_scores.visit)
            result[rows if paired else (_ALL, rows)] = block_scores.scores() / factor
        return result
    for rows in slices(len(targets), _block_rows(targets.shape[1])):
        away = _rows("target", targets, rows, origin)
        shift = away if origin is mean else _rows("target", targets, rows, 2 * mean - origin)
        if by_rows is not None and len(targets) == 1:
            weight = by_rows.weights(away)
        else:
            weight = inverted.solve(away.copy())
        constant = np.einsum("ij,ij->i", shift, weight) / (2 * release.n * factor)
        if paired:
            block = _rows("observed", observed, rows, mean)
            result[rows] = np.einsum("ij,ij->i", block, weight) / factor - constant
        else:
            result[:, rows] = _linear(observed, mean, weight) / factor - constant
    return result


class _Streamed:
    """Linear scores of some targets, whose weights come in strips of columns."""

    def __init__(self, release: ScoredRelease, origin: Doubles, rows: slice) -> None:
        self.release, self.origin, self.rows = release, origin, rows
        self.observed, self.targets = map(np.atleast_2d, (release.observed, release.target))
        count = rows.stop - rows.start
        self.constants = np.zeros(count)
        self.products = np.zeros(count if release.paired else (len(self.observed), count))

    def sides(self, cols: slice) -> Doubles:
        return _rows("target", self.targets, self.rows, self.origin, cols=cols)

    def visit(self, cols: slice, weight: Doubles) -> None:
        mean = self.release.reference.mean
        shift = self.sides(cols) + 2 * (self.origin[cols] - mean[cols])
        self.constants += np.einsum("ij,ij->i", shift, weight)
        if self.release.paired:
            block = _rows("observed", self.observed, self.rows, mean, cols=cols)
            self.products += np.einsum("ij,ij->i", block, weight)
            return
        for rows in slices(len(self.observed), STREAMED):
            self.products[rows] += (
                _rows("observed", self.observed, rows, mean, cols=cols) @ weight.T
            )

    def scores(self) -> Doubles:
        return np.asarray(self.products - self.constants / (2 * self.release.n))


def _linear(observed: Array, mean: Doubles, weight: Doubles) -> Doubles:
    """(x - mu)'w of every release and every row w, (T, k)."""
    if len(weight) < FEW:
        return np.transpose(_core.multiply(observed, 0, mean, weight))
    result, _ = _core.weighted_sum(observed, weight, mean, mean, NO_NOISE, 1.0, False)
    return result


def dense_quadratic(release: ScoredRelease) -> Doubles:
    """Return the part of the Gaussian log-likelihood ratio that all targets share, (T, 1).

    (T,) if paired.

    -log det(W V^-1)/2 - D' V^-1 C W^-1 D / 2 with V and W as in cpp/include/leakscore/scores/
    gaussian.hpp: V^-1 C W^-1 is n times the difference of the inverses, without its cancellation.
    """
    reference, observed = release.reference, np.atleast_2d(release.observed)
    logdet = reference.dim * np.log1p(-1 / release.n)
    if release.noise.any():
        within, factor = release.with_target()
        out = release.without_target()
        logdet += _log_ratio(release, within, out)
        covariance, before, after = (
            cast("Correlated", end.covariance) for end in (reference, out, within)
        )
        distances = np.empty(len(observed))
        out.invertible()
        within.invertible()
        for rows in slices(len(observed), max(_block_rows(reference.dim), MANY_SIDES)):
            block = _rows("observed", observed, rows, reference.mean)
            if release.noise.independent:
                distances[rows] = covariance.between(before, after, block) / factor
            else:
                first, second = (end.solve(block.copy()) for end in (before, after))
                distances[rows] = covariance.form(first, second) / factor
    else:
        distances = (
            covariances.distances(reference.invertible(), "observed", observed, reference.mean)
            / release.others
        )
    result = -0.5 * (logdet + distances)
    return np.asarray(result if release.paired else result[:, np.newaxis])


def _log_ratio(release: ScoredRelease, within: Reference, out: Reference) -> float:
    """Return log det of C + n S n/(n-1) over C + n S: the difference of the two is n S/(n-1)."""
    if not release.noise.independent:
        out.invertible()
        return release.noise.log_ratio(out, 1 / release.others)
    extra = np.broadcast_to(release.noise.std**2 / release.others, (release.reference.dim,))
    before, after = (cast("Correlated", end.covariance) for end in (out, within))
    return float(after.log_ratio(before, extra))


# --- both ---------------------------------------------------------------------------------------


def add_remove(release: ScoredRelease) -> float | Doubles:
    """Score a release against the same one without the target and with the same divisor."""
    if release.independent:
        return release.score(_core.add_remove_llr)
    origin = np.zeros(release.reference.dim)
    return release.checked(dense_linear(release, origin, *release.with_target()))


@dataclass(frozen=True, eq=False)
class SeriesMoments:
    """Releases, targets and the moments of one record, validated."""

    observed: Array
    target: Array
    reference: Reference
    n: int
    skewness: Doubles
    kurtosis: Doubles

    def score(self, kernel: Kernel, *parameters: float) -> float | Doubles:
        """Run a compiled score with the number of records and its other arguments."""
        record = self.reference
        moments = (record.mean, record.variances, self.skewness, self.kurtosis)
        result, flags = kernel(self.observed, self.target, *moments, *parameters)
        if flags:
            record.invertible()
            require_finite(result, self.observed, self.target)
        return shaped(result, self.observed, self.target)


def law(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    skewness: npt.ArrayLike,
    kurtosis: npt.ArrayLike,
) -> SeriesMoments:
    """Validate the arguments of a score."""
    record = diagonal("reference", reference)
    x, z = rows(observed, target, record.dim, False)
    return SeriesMoments(
        x,
        z,
        record,
        validation.count("n", n, low=2),
        cumulant("skewness", skewness, record.dim),
        cumulant("kurtosis", kurtosis, record.dim),
    )


def diagonal(name: str, value: object) -> Reference:
    """Return a reference with independent coordinates."""
    reference = validation.instance(name, value, Reference)
    if reference.kind != "diagonal":
        raise TypeError(
            f"{name} of kind {reference.kind!r} must be of kind 'diagonal': a law of which "
            "more than the covariance counts needs independent coordinates"
        )
    return reference


def cumulant(name: str, value: npt.ArrayLike, dim: int) -> Doubles:
    """Return one number per coordinate."""
    given = validation.per_coordinate(name, value, dim, low=-np.inf)
    return np.ascontiguousarray(np.broadcast_to(given, (dim,)))
