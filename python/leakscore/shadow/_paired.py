"""Paired: the gain of a record and its variances, drawn to curves of how hard the record is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core
from leakscore.distributions import norm
from leakscore.shadow import _laws, arrays
from leakscore.shadow.arrays import Masks, ModelSums, Shadow, Side, Sides
from leakscore.typing import Counts, Doubles

_LARGEST = 1e60  # mean variance, so that the squares of all records' keep their digits

_BLOCK = 1 << 14  # records whose laws are computed at once
_SUMMED = 1 << 18  # records whose sums are copied at once

Curve: TypeAlias = Callable[[Doubles], Doubles]


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
    return arrays.scored(Paired(), observed, signals, included)


@dataclass(frozen=True)
class Paired:
    """The options of `paired`: there are none."""

    augmented = False

    def fit(self, shadow: Shadow) -> PairSums:
        """Sum over all models."""
        sums, masks = arrays.sums(shadow), arrays.masks_of(shadow)
        couples = arrays.complementary(shadow, masks)
        products = None if couples is None else _products(shadow, couples, sums.sides)
        return PairSums(sums, masks, couples, products)

    def scores(self, x: Doubles, sums: PairSums) -> Doubles:
        """Return the log-ratio of the densities IN and OUT."""
        laws = _laws_of(sums)
        scores = np.empty(x.shape)
        for where in _blocks(x.shape[-1]):
            y = x[..., where] - laws.centre[where]
            scores[..., where] = _laws.log_ratio(
                (y - laws.location_in[where], laws.scale2_in[where], laws.nu),
                (y - laws.location_out[where], laws.scale2_out[where], laws.nu),
            )
        return arrays.decided(scores)


@dataclass(frozen=True)
class PairSums:
    """Sums over the models that count, and over their pairs if all are in complementary ones.

    That of pairs is of the products of both models' deviations from the mean of their side.
    """

    sums: ModelSums
    masks: Masks
    couples: Counts | None
    products: Doubles | None

    def without(self, group: Counts) -> PairSums:
        """Leave the models of a group out of all sums."""
        remaining = self.sums.without(group)
        couples = arrays.complementary(remaining.shadow, self.masks)
        if couples is None:
            products = None
        elif self.products is None or not self._loses_one_pair(couples, group):
            products = _products(remaining.shadow, couples, remaining.sides)
        else:
            products = self._products_without(self.products, group)
            if remaining.renewed.size:
                few = remaining.shadow.columns(remaining.renewed)
                again = _products(few, couples, arrays.sums(few).sides)
                products = arrays.put(products, remaining.renewed, again)
        return PairSums(remaining, self.masks, couples, products)

    def _loses_one_pair(self, couples: Counts, group: Counts) -> bool:
        """Whether the couples are all but one, which is the group."""
        every = self.couples
        if every is None or group.size != 2:
            return False
        return np.array_equal(every[~np.isin(every, group).all(axis=1)], couples)

    def _products_without(self, products: Doubles, group: Counts) -> Doubles:
        """Leave a pair out of the sums of products: each side loses one of its models."""
        (x, mine), (y, _) = (self.sums.shadow.line(row) for row in group)
        inside, outside = self.sums.sides
        d_in, d_out = inside.centred(np.where(mine, x, y)), outside.centred(np.where(mine, y, x))
        share = inside.models / np.maximum(inside.models - 1.0, 1.0)
        return np.asarray(products - d_in * d_out * share)


def _products(shadow: Shadow, couples: Counts, sides: Sides) -> Doubles:
    """Sum over pairs, in blocks of records: the sums of both sides are copied for it."""
    rows = np.ascontiguousarray(couples).reshape(-1)
    products = np.empty(shadow.num_records)
    for where in _blocks(shadow.num_records, _SUMMED):
        part = shadow.columns(where)
        packed = Sides(*(side.part(where) for side in sides)).packed()
        products[where] = _core.shadow_pair_products(part.signals, part.included, rows, packed)
    return products


@dataclass(frozen=True)
class PairedLaws:
    """Student laws of both sides: locations less the centre, squared scales, degrees of freedom."""

    centre: Doubles
    location_in: Doubles
    location_out: Doubles
    scale2_in: Doubles
    scale2_out: Doubles
    nu: Doubles


def _laws_of(sums: PairSums) -> PairedLaws:
    """Fit the laws of all records.

    What curves and priors need of all records is kept, two numbers a record at a time; what follows
    of each record alone is computed again in blocks.
    """
    sides, size = sums.sums.sides, sums.sums.shadow.num_records
    _refuse(sums.sums)
    smooth = _Smoother.of(sides)
    levels = _level(sides.inside, smooth, "IN"), _level(sides.outside, smooth, "OUT")
    rho, q = _agreement(sums, smooth, levels)
    f, nu = _factors(q, sums.sums.shadow.models - 2, rho)
    del q
    fit = _PairedFit(sides, smooth.u, levels, rho, f, nu)
    usual_gain = smooth.curve(sides.gain, 1.0 / f)
    y, weight = np.empty((2, size))
    for where in _blocks(size):
        y[where], weight[where] = fit.excess(where, usual_gain)
    spread = smooth.curve(y, weight)
    del y, weight, smooth
    laws = np.empty((4, size))
    for where in _blocks(size):
        laws[:, where] = fit.laws(where, usual_gain, spread)
    location_in, location_out, scale2_in, scale2_out = laws
    centre = sides.outside.centre.copy()
    return PairedLaws(centre, location_in, location_out, scale2_in, scale2_out, nu)


def _blocks(size: int, width: int = _BLOCK) -> Iterator[slice]:
    return (slice(start, start + width) for start in range(0, size, width))


class _Usual(NamedTuple):
    """Usual variances of records; w = var(gain), IN's share a of the midpoint s, var(s)."""

    v_in: Doubles
    v_out: Doubles
    w: Doubles
    a: Doubles
    v_s: Doubles


@dataclass(frozen=True)
class _PairedFit:
    """All records before their gains are drawn to a curve."""

    sides: Sides
    u: Doubles
    levels: tuple[Curve, Curve]
    rho: float
    f: Doubles
    nu: Doubles

    @property
    def k(self) -> Doubles | float:
        """Return the variance of a Student variable."""
        return self.nu / np.maximum(self.nu - 2.0, 0.5) if self.nu < np.inf else 1.0

    def usual(self, where: slice) -> _Usual:
        """Return the usual variances of some records, and what follows from them."""
        v_in, v_out = (np.exp(level(self.u[where])) for level in self.levels)
        a_in, a_out = (
            v / side.models[where] for v, side in zip((v_in, v_out), self.sides, strict=True)
        )
        r_both = self.rho * np.sqrt(a_in * a_out)
        w = a_in + a_out - 2.0 * r_both
        a = (a_out - r_both) / w
        return _Usual(v_in, v_out, w, a, (a_in * a_out - r_both * r_both) / w)

    def gain(self, where: slice) -> Doubles:
        """Return the gains of some records."""
        return Sides(*(side.part(where) for side in self.sides)).gain

    def excess(self, where: slice, usual_gain: Curve) -> tuple[Doubles, Doubles]:
        """Return by how much gains differ more than their errors do, and the weights of that."""
        w = self.usual(where).w
        away = self.gain(where) - usual_gain(self.u[where])
        return away**2 / (self.f[where] * self.k) - w, 1.0 / (w * w)

    def laws(self, where: slice, usual_gain: Curve, spread: Curve) -> Doubles:
        """Return locations IN and OUT less the centre, and squared scales: (4, n)."""
        v_in, v_out, w, a, v_s = self.usual(where)
        u, f, gain = self.u[where], self.f[where], self.gain(where)
        usual = usual_gain(u)
        more = np.maximum(0.0, spread(u))
        r = more / (more + w)
        p = r * w * f
        e = _positive(usual + r * (gain - usual), np.sqrt(self.k * p))
        s = self.sides.outside.rest[where] + a * gain
        scale2_in = f * (v_in + v_s) + (1.0 - a) ** 2 * p
        return np.stack([s + (1.0 - a) * e, s - a * e, scale2_in, f * (v_out + v_s) + a * a * p])


def _refuse(sums: ModelSums) -> None:
    models, records = sums.shadow.models, sums.shadow.num_records
    if models < 3 or records < 2:
        raise ValueError(
            f"signals must be of K >= 3 models at N >= 2 records, not {models} at {records}; use "
            "leakscore.shadow.base"
        )
    for side, name in zip(sums.sides, ("IN", "OUT"), strict=True):
        arrays.refuse_none(side.models, name, "use more models, or leave these records out")


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
        order = np.argsort(_rounded(u, sides), kind="stable")
        group[order] = np.arange(u.size) * groups // u.size
        place = np.bincount(group, u, groups) / np.bincount(group, minlength=groups)
        return cls(u, group, place)

    def curve(self, y: Doubles, weight: Doubles) -> Curve:
        """Return the curve of weighted means."""
        groups = self.place.size
        total = np.bincount(self.group, weight, groups)
        used = total > 0.0
        means = np.bincount(self.group, weight * y, groups)[used] / total[used]
        place = self.place[used]
        return lambda u: np.interp(u, place, means)


def _rounded(u: Doubles, sides: Sides) -> Doubles:
    """Round midpoints to 40 bits of a usual mean.

    Those that differ by the rounding of sums alone are ties: down-dated sums and sums added again
    then order records alike.
    """
    usual = float(np.median(np.abs(sides.inside.mean) + np.abs(sides.outside.mean)))
    quantum = np.ldexp(1.0, np.frexp(usual)[1] - 40)
    return np.asarray(np.rint(u / quantum)) if usual > 1e-280 else u


def _level(side: Side, smooth: _Smoother, name: str) -> Curve:
    """Return the logarithm of a side's usual variance at a midpoint."""
    used = side.models >= 2
    if not used.any():
        raise ValueError(
            f"signals and included must have a record with two models {name} at least; use more "
            "models"
        )
    d = np.where(used, side.dof, 1.0)
    raw = side.squares / d
    mean = float(raw[used].mean())
    if not mean > 0.0:
        raise ValueError(f"signals must vary between the models {name}; use leakscore.shadow.base")
    if not 1.0 / _LARGEST < mean < _LARGEST:
        raise ValueError(
            f"signals must have a variance between the models {name} in [{1.0 / _LARGEST:g}, "
            f"{_LARGEST:g}], not {mean:.3g}: squares of variances overflow; multiply signals and "
            "observed by one number, which changes no score"
        )
    excess = _laws.log_excess(np.maximum(raw, 1e-3 * mean), d)
    return smooth.curve(excess, used.astype(np.float64))


def _factors(q: Doubles, dof: int, rho: float) -> tuple[Doubles, Doubles]:
    """Return what each record's variances are times the usual ones, and the degrees of freedom."""
    d = dof / (1.0 + rho * rho)
    s2 = np.maximum(q, 1e-3 * q.mean()) / dof
    prior = _laws.from_variances(s2, np.broadcast_to(d, q.shape))
    return _laws.shrunk(d * s2, np.asarray(d), prior), prior.dof + d


def _positive(gain: Doubles, sd: Doubles) -> Doubles:
    """Return the mean of a normal law given that it is positive: members gain."""
    varies = sd > 0.0
    z = np.maximum(-30.0, gain / np.where(varies, sd, 1.0))
    hazard = np.exp(norm.logpdf(z) - norm.logcdf(z))
    return np.where(varies, sd * (z + hazard), np.maximum(gain, 0.0))


def _agreement(
    sums: PairSums, smooth: _Smoother, levels: tuple[Curve, Curve]
) -> tuple[float, Doubles]:
    """Return the correlation of complementary pairs, in [-1, 0], and the squares over the usual."""
    inside, outside = sums.sums.sides
    q, terms = np.empty((2, smooth.u.size))
    for where in _blocks(q.size):
        v_in, v_out = (np.exp(level(smooth.u[where])) for level in levels)
        q[where] = inside.squares[where] / v_in + outside.squares[where] / v_out
        if sums.products is not None:
            products = sums.products[where] / np.sqrt(v_in * v_out)
            with np.errstate(divide="ignore", invalid="ignore"):
                terms[where] = 2.0 * products / q[where]
    varies = q > 0.0
    if sums.products is None or not varies.any():
        return 0.0, q
    return float(np.clip(terms[varies].mean(), -1.0, 0.0)), q
