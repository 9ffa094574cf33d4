"""Paired: the gain of a record and its variances, drawn to curves of how hard the record is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.distributions import norm
from leakscore.shadow.sides import arrays, moments, pairs, student, variances
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import Side, Sides
from leakscore.shadow.sides.pairs import Masks, Pairs
from leakscore.typing import Counts, Doubles

_LARGEST = 1e60  # mean variance, so that the squares of all records' keep their digits

_BLOCK = 1 << 14  # records whose laws are computed at once

Curve: TypeAlias = Callable[[Doubles], Doubles]


@dataclass(frozen=True)
class Laws:
    """Student laws of both sides: locations less the centre, squared scales, degrees of freedom."""

    centre: Doubles
    location_in: Doubles
    location_out: Doubles
    scale2_in: Doubles
    scale2_out: Doubles
    nu: Doubles


def paired(observed: npt.ArrayLike, signals: npt.ArrayLike, included: npt.ArrayLike) -> Doubles:
    """Score records by laws IN and OUT that borrow from all records of the same difficulty.

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        Logit margins of a target model, or of S of them, at N records.
    signals : (K, N) array_like
        The same of K >= 3 shadow models, read where they lie. Augmentations are not taken.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do. Complementary pairs of models are
        recognised, and their correlation is used.

    Returns
    -------
    (N,) or (S, N) ndarray
        Scores, larger for members.

    Raises
    ------
    ValueError
        If a record has no model on a side, or no record two models on each; if there are fewer than
        three models or two records; if signals are NaN or infinite, or constant; if shapes do not
        fit.

    Notes
    -----
    The gain m_in - m_out of a record and its variances are drawn to curves over the midpoint (m_in
    + m_out) / 2, as far as the records of a midpoint agree; the laws are Student's. From 16 models
    on the best score or level with it in most settings; with 4 models `choose` between others.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> k, n = np.arange(6)[:, np.newaxis], np.arange(5)
    >>> included = (k + n) % 2 == 0
    >>> signals = np.sin(7 * k + 3 * n + k * n) + n + included
    >>> leakscore.shadow.paired(np.arange(5) + 0.5, signals, included)[:2].round(6)
    array([-0.74021 ,  0.189521])
    """
    shadow = arrays.read(signals, included, augmented=False)
    targets = arrays.targets(observed, shadow)
    return targets.finish(scored(targets.values, laws(whole(shadow))))


def scored(x: Doubles, model: Laws) -> Doubles:
    """Return the log-ratio of the densities IN and OUT."""
    scores = np.empty(x.shape)
    for where in _blocks(x.shape[-1]):
        y = x[..., where] - model.centre[where]
        scores[..., where] = student.log_ratio(
            (y - model.location_in[where], model.scale2_in[where], model.nu),
            (y - model.location_out[where], model.scale2_out[where], model.nu),
        )
    return arrays.decided(scores)


@dataclass(frozen=True)
class PairSums:
    """Sums over the models that count, and over their pairs if all are in complementary ones."""

    models: int
    sides: Sides
    pairs: Pairs | None


def whole(shadow: Shadow) -> PairSums:
    """Sum over all models."""
    sides = moments.of(shadow)
    couples = pairs.of(shadow)
    return PairSums(
        shadow.models, sides, None if couples is None else pairs.added(shadow, couples, sides)
    )


def laws(known: PairSums) -> Laws:
    """Fit the laws of all records.

    What curves and priors need of all records is kept, two numbers a record at a time; what follows
    of each record alone is computed again in blocks.
    """
    sides, size = known.sides, known.sides.inside.count.size
    _refuse(known)
    smooth = _Smoother.of(sides)
    levels = _level(sides.inside, smooth, "IN"), _level(sides.outside, smooth, "OUT")
    rho, q = _agreement(known, smooth, levels)
    f, nu = _factors(q, known.models - 2, rho)
    del q
    fit = _Fit(sides, smooth.u, levels, rho, f, nu)
    h = smooth.curve(sides.gain, 1.0 / f)
    y, weight = np.empty((2, size))
    for where in _blocks(size):
        y[where], weight[where] = fit.at(where).beyond(h)
    spread = smooth.curve(y, weight)
    del y, weight, smooth
    of_in, of_out, scale2_in, scale2_out = np.empty((4, size))
    result = Laws(sides.outside.centre.copy(), of_in, of_out, scale2_in, scale2_out, nu)
    for where in _blocks(size):
        fit.at(where).put(result, where, h, spread)
    return result


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, size, _BLOCK))


@dataclass(frozen=True)
class _Fit:
    """What is known of all records before their gains are drawn to a curve."""

    sides: Sides
    u: Doubles
    levels: tuple[Curve, Curve]
    rho: float
    f: Doubles
    nu: Doubles

    def at(self, where: slice) -> _RecordBlock:
        """Return some records of it."""
        inside, outside = self.sides.inside.part(where), self.sides.outside.part(where)
        sides, u = Sides(inside, outside), self.u[where]
        v_in, v_out = (np.exp(level(u)) for level in self.levels)
        a_in, a_out = v_in / inside.count, v_out / outside.count
        r_both = self.rho * np.sqrt(a_in * a_out)
        w = a_in + a_out - 2.0 * r_both
        a = (a_out - r_both) / w
        v_s = (a_in * a_out - r_both * r_both) / w
        k = self.nu / np.maximum(self.nu - 2.0, 0.5) if self.nu < np.inf else 1.0
        return _RecordBlock(u, sides.gain, outside.rest, v_in, v_out, w, a, v_s, self.f[where], k)


@dataclass(frozen=True)
class _RecordBlock:
    """Some records: gain, usual variances, w = var gain, share a of IN in the midpoint s, var s."""

    u: Doubles
    gain: Doubles
    rest_out: Doubles
    v_in: Doubles
    v_out: Doubles
    w: Doubles
    a: Doubles
    v_s: Doubles
    f: Doubles
    k: Doubles | float

    def beyond(self, h: Curve) -> tuple[Doubles, Doubles]:
        """Return by how much gains differ more than their errors do, and the weights of that."""
        w = self.w
        return (self.gain - h(self.u)) ** 2 / (self.f * self.k) - w, 1.0 / (w * w)

    def put(self, into: Laws, where: slice, h: Curve, spread: Curve) -> None:
        """Write the laws of these records."""
        a, f, usual = self.a, self.f, h(self.u)
        more = np.maximum(0.0, spread(self.u))
        r = more / (more + self.w)
        p = r * self.w * f
        e = _positive(usual + r * (self.gain - usual), np.sqrt(self.k * p))
        s = self.rest_out + a * self.gain
        into.location_in[where] = s + (1.0 - a) * e
        into.location_out[where] = s - a * e
        into.scale2_in[where] = f * (self.v_in + self.v_s) + (1.0 - a) ** 2 * p
        into.scale2_out[where] = f * (self.v_out + self.v_s) + a * a * p


def _refuse(known: PairSums) -> None:
    inside, outside = known.sides.inside, known.sides.outside
    if known.models < 3 or inside.count.size < 2:
        raise ValueError(
            f"Expected signals of K >= 3 models at N >= 2 records, not {known.models} at "
            f"{inside.count.size}; use leakscore.shadow.base"
        )
    for side, name in ((inside, "IN"), (outside, "OUT")):
        arrays.refuse_few(
            side.count < 1,
            f"a model {name} at least for each record",
            "use more models, or leave these records out",
        )


@dataclass(frozen=True)
class _Smoother:
    """Draws curves over the midpoint: means of groups of equal midpoints, linear between."""

    u: Doubles
    group: npt.NDArray[np.int64]
    place: Doubles

    @classmethod
    def of(cls, sides: Sides) -> _Smoother:
        """Order all records by their midpoint."""
        u = 0.5 * sides.inside.mean + 0.5 * sides.outside.mean
        groups = max(1, min(20, u.size // 100))
        group = np.empty(u.size, dtype=np.int64)
        group[np.argsort(_told_apart(u, sides), kind="stable")] = (
            np.arange(u.size) * groups // u.size
        )
        place = np.bincount(group, u, groups) / np.bincount(group, minlength=groups)
        return cls(u, group, place)

    def curve(self, y: Doubles, weight: Doubles) -> Curve:
        """Return the curve of weighted means."""
        groups = self.place.size
        total = np.bincount(self.group, weight, groups)
        some = total > 0.0
        means = np.bincount(self.group, weight * y, groups)[some] / total[some]
        place = self.place[some]
        return lambda u: np.interp(u, place, means)


def _told_apart(u: Doubles, sides: Sides) -> Doubles:
    """Round midpoints to 40 bits of a usual mean.

    Those that differ by the rounding of sums alone are ties: down-dated sums and sums added anew
    then order records alike.
    """
    usual = float(np.median(np.abs(sides.inside.mean) + np.abs(sides.outside.mean)))
    quantum = np.ldexp(1.0, np.frexp(usual)[1] - 40)
    return np.asarray(np.rint(u / quantum)) if usual > 1e-280 else u


def _level(side: Side, smooth: _Smoother, name: str) -> Curve:
    """Return the logarithm of a side's usual variance at a midpoint."""
    some = side.count >= 2
    if not some.any():
        raise ValueError(
            f"Expected a record with two models {name} at least in signals and included; use more "
            "models"
        )
    d = np.where(some, side.dof, 1.0)
    raw = side.squares / d
    mean = float(raw[some].mean())
    if not mean > 0.0:
        raise ValueError(
            f"Expected signals that vary between the models {name}; use leakscore.shadow.base"
        )
    if not 1.0 / _LARGEST < mean < _LARGEST:
        raise ValueError(
            f"Expected signals whose variance between the models {name} is in [{1.0 / _LARGEST:g}, "
            f"{_LARGEST:g}], not {mean:.3g}: squares of variances overflow; multiply signals and "
            "observed by one number, which changes no score"
        )
    excess = variances.log_excess(np.maximum(raw, 1e-3 * mean), d)
    return smooth.curve(excess, some.astype(np.float64))


def _factors(q: Doubles, dof: int, rho: float) -> tuple[Doubles, Doubles]:
    """Return what each record's variances are times the usual ones, and the degrees of freedom."""
    d = dof / (1.0 + rho * rho)
    s2 = np.maximum(q, 1e-3 * q.mean()) / dof
    prior = variances.from_variances(s2, np.broadcast_to(d, q.shape))
    return variances.shrunk(d * s2, np.asarray(d), prior), prior.dof + d


def _positive(gain: Doubles, sd: Doubles) -> Doubles:
    """Return the mean of a normal law given that it is positive: members gain."""
    some = sd > 0.0
    z = np.maximum(-30.0, gain / np.where(some, sd, 1.0))
    hazard = np.exp(norm.logpdf(z) - norm.logcdf(z))
    return np.where(some, sd * (z + hazard), np.maximum(gain, 0.0))


def _agreement(
    known: PairSums, smooth: _Smoother, levels: tuple[Curve, Curve]
) -> tuple[float, Doubles]:
    """Return the correlation of complementary pairs, in [-1, 0], and the squares over the usual."""
    inside, outside = known.sides.inside, known.sides.outside
    q, terms = np.empty((2, smooth.u.size))
    for where in _blocks(q.size):
        v_in, v_out = (np.exp(level(smooth.u[where])) for level in levels)
        q[where] = inside.squares[where] / v_in + outside.squares[where] / v_out
        if known.pairs is not None:
            products = known.pairs.products[where] / np.sqrt(v_in * v_out)
            with np.errstate(divide="ignore", invalid="ignore"):
                terms[where] = 2.0 * products / q[where]
    some = q > 0.0
    if known.pairs is None or not some.any():
        return 0.0, q
    return float(np.clip(terms[some].mean(), -1.0, 0.0)), q


def left_out(shadow: Shadow, every: PairSums, masks: Masks, group: Counts) -> PairSums:
    """Leave the models of a group out of all sums."""
    rest = shadow.without(group)
    left = moments.without(shadow, every.sides, group)
    couples = pairs.of(rest, masks)
    if couples is None:
        return PairSums(rest.models, left.sides, None)
    if every.pairs is None or not _one_less(every.pairs.couples, couples, group):
        return PairSums(rest.models, left.sides, pairs.added(rest, couples, left.sides))
    found = _without_pair(shadow, every.sides, every.pairs.products, group)
    if left.anew.size:
        few = rest.columns(left.anew)
        anew = pairs.added(few, couples, moments.of(few)).products
        found = moments.put(found, left.anew, anew)
    return PairSums(rest.models, left.sides, Pairs(couples, found))


def _one_less(every: Counts, couples: Counts, group: Counts) -> bool:
    """Whether the couples are all but one, which is the group."""
    return group.size == 2 and np.array_equal(every[~np.isin(every, group).all(axis=1)], couples)


def _without_pair(shadow: Shadow, sides: Sides, products: Doubles, group: Counts) -> Doubles:
    """Leave a pair out of the sums of products: each side loses one of its models."""
    (x, mine), (y, _) = (moments.line(shadow, row) for row in group)
    inside, outside = sides.inside, sides.outside
    d_in, d_out = inside.centred(np.where(mine, x, y)), outside.centred(np.where(mine, y, x))
    return products - d_in * d_out * (inside.count / np.maximum(inside.count - 1.0, 1.0))
