"""Paired: the gain of a record and its variances, drawn to curves of how hard the record is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore._types import Counts, Doubles
from leakscore.distributions import norm
from leakscore.shadow.sides import arrays, moments, pairs, student, variances
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import Side, Sides
from leakscore.shadow.sides.pairs import Masks, Pairs

_LARGEST = 1e60  # mean variance, so that the squares of all records' keep their digits

Curve: TypeAlias = Callable[[Doubles, "Doubles | float"], Doubles]


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
    y = x - model.centre
    return arrays.decided(
        student.log_ratio(
            (y - model.location_in, model.scale2_in, model.nu),
            (y - model.location_out, model.scale2_out, model.nu),
        )
    )


@dataclass(frozen=True)
class Known:
    """Sums over the models that count, and over their pairs if all are in complementary ones."""

    models: int
    sides: Sides
    pairs: Pairs | None


def whole(shadow: Shadow) -> Known:
    """Sum over all models."""
    sides = moments.of(shadow)
    couples = pairs.of(shadow)
    return Known(
        shadow.models, sides, None if couples is None else pairs.added(shadow, couples, sides)
    )


def laws(known: Known) -> Laws:
    """Fit the laws of all records."""
    sides = known.sides
    _refuse(known)
    inside, outside = sides.inside, sides.outside
    curve = _curves(0.5 * inside.mean + 0.5 * outside.mean)
    v_in, v_out = _level(inside, curve, "IN"), _level(outside, curve, "OUT")
    q = inside.squares / v_in + outside.squares / v_out
    rho = _correlation(known.pairs, np.sqrt(v_in * v_out), q)
    f, nu = _factors(q, known.models - 2, rho)
    k = nu / np.maximum(nu - 2.0, 0.5) if nu < np.inf else 1.0
    a_in, a_out = v_in / inside.count, v_out / outside.count
    r_both = rho * np.sqrt(a_in * a_out)
    w = a_in + a_out - 2.0 * r_both
    a = (a_out - r_both) / w
    v_s = (a_in * a_out - r_both * r_both) / w
    gain = sides.gain
    h = curve(gain, 1.0 / f)
    spread = np.maximum(0.0, curve((gain - h) ** 2 / (f * k) - w, 1.0 / (w * w)))
    r = spread / (spread + w)
    p = r * w * f
    e = _positive(h + r * (gain - h), np.sqrt(k * p))
    s = outside.rest + a * gain
    return Laws(
        outside.centre,
        s + (1.0 - a) * e,
        s - a * e,
        f * (v_in + v_s) + (1.0 - a) ** 2 * p,
        f * (v_out + v_s) + a * a * p,
        nu,
    )


def _refuse(known: Known) -> None:
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


def _curves(u: Doubles) -> Curve:
    """Return the smoother of all records: weighted means of groups of equal u, linear between."""
    records = u.size
    groups = max(1, min(20, records // 100))
    rank = np.empty(records, dtype=np.int64)
    rank[np.argsort(u, kind="stable")] = np.arange(records)
    group = rank * groups // records
    place = np.bincount(group, u, groups) / np.bincount(group, minlength=groups)

    def curve(y: Doubles, weight: Doubles | float) -> Doubles:
        every = np.broadcast_to(np.asarray(weight, dtype=np.float64), u.shape)
        total = np.bincount(group, every, groups)
        some = total > 0.0
        means = np.bincount(group, every * y, groups)[some] / total[some]
        return np.interp(u, place[some], means)

    return curve


def _level(side: Side, curve: Curve, name: str) -> Doubles:
    """Return the usual variance of a side at each record's midpoint."""
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
    return np.exp(curve(excess, some.astype(np.float64)))


def _factors(q: Doubles, dof: int, rho: float) -> tuple[Doubles, Doubles]:
    """Return what each record's variances are times the usual ones, and the degrees of freedom."""
    d = dof / (1.0 + rho * rho)
    s2 = np.maximum(q, 1e-3 * q.mean()) / dof
    prior = variances.from_variances(s2, np.full(q.size, d))
    return variances.shrunk(d * s2, np.asarray(d), prior), prior.dof + d


def _positive(gain: Doubles, sd: Doubles) -> Doubles:
    """Return the mean of a normal law given that it is positive: members gain."""
    some = sd > 0.0
    z = np.maximum(-30.0, gain / np.where(some, sd, 1.0))
    hazard = np.exp(norm.logpdf(z) - norm.logcdf(z))
    return np.where(some, sd * (z + hazard), np.maximum(gain, 0.0))


def _correlation(known: Pairs | None, scale: Doubles, q: Doubles) -> float:
    """Return the correlation of the models of a complementary pair, in [-1, 0]."""
    some = q > 0.0
    if known is None or not some.any():
        return 0.0
    terms = 2.0 * (known.products[some] / scale[some]) / q[some]
    return float(np.clip(terms.mean(), -1.0, 0.0))


def left_out(shadow: Shadow, every: Known, masks: Masks, group: Counts) -> Known:
    """Leave the models of a group out of all sums."""
    rest = shadow.without(group)
    left = moments.without(shadow, every.sides, group)
    couples = pairs.of(rest, masks)
    if couples is None:
        return Known(rest.models, left.sides, None)
    if every.pairs is None or not _one_less(every.pairs.couples, couples, group):
        return Known(rest.models, left.sides, pairs.added(rest, couples, left.sides))
    found = _without_pair(shadow, every.sides, every.pairs.products, group)
    if left.anew.size:
        few = rest.columns(left.anew)
        anew = pairs.added(few, couples, moments.of(few)).products
        found = moments.put(found, left.anew, anew)
    return Known(rest.models, left.sides, Pairs(couples, found))


def _one_less(every: Counts, couples: Counts, group: Counts) -> bool:
    """Whether the couples are all but one, which is the group."""
    return group.size == 2 and np.array_equal(every[~np.isin(every, group).all(axis=1)], couples)


def _without_pair(shadow: Shadow, sides: Sides, products: Doubles, group: Counts) -> Doubles:
    """Leave a pair out of the sums of products: each side loses one of its models."""
    (x, mine), (y, _) = (moments.line(shadow, row) for row in group)
    inside, outside = sides.inside, sides.outside
    d_in, d_out = inside.centred(np.where(mine, x, y)), outside.centred(np.where(mine, y, x))
    return products - d_in * d_out * (inside.count / np.maximum(inside.count - 1.0, 1.0))
