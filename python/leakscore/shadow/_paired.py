"""Paired: the gain of a record and its variances, drawn to curves of how hard the record is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import _core
from leakscore.distributions import norm
from leakscore.shadow import _laws, arrays
from leakscore.shadow.arrays import Masks, ModelSums, Shadow, Side, Sides
from leakscore.typing import Counts, Doubles

_LARGEST = 1e60  # mean variance, so that the squares of all records' keep their digits
_BLOCK = 1 << 14  # records that are scored at once


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
        return PairSums(arrays.sums(shadow), arrays.masks_of(shadow))

    def scores(self, x: Doubles, sums: PairSums) -> Doubles:
        """Return the log-ratio of the densities IN and OUT."""
        laws, centre = _laws_of(sums), sums.sums.sides.outside.centre
        scores = np.empty(x.shape)
        for start in range(0, centre.size, _BLOCK):
            where = slice(start, start + _BLOCK)
            y = x[..., where] - centre[where]
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

    def without(self, group: Counts) -> PairSums:
        """Leave the models of a group out of all sums."""
        return PairSums(self.sums.without(group), self.masks)

    @property
    def products(self) -> Doubles | None:
        """Sums over all pairs, None if not all models are in one."""
        shadow = self.sums.shadow
        couples = arrays.complementary(shadow, self.masks)
        if couples is None:
            return None
        rows, packed = np.ascontiguousarray(couples).reshape(-1), self.sums.sides.packed()
        return _core.shadow_pair_products(shadow.signals, shadow.included, rows, packed)


class PairedLaws(NamedTuple):
    """Student laws of both sides: locations less OUT's centre, squared scales, and freedom."""

    location_in: Doubles
    location_out: Doubles
    scale2_in: Doubles
    scale2_out: Doubles
    nu: Doubles


def _laws_of(sums: PairSums) -> PairedLaws:
    """Fit the laws of all records."""
    _refuse(sums.sums)
    sides = sums.sums.sides
    smooth = _Smoother.of(sides)
    v_in, v_out = _usual(sides.inside, smooth, "IN"), _usual(sides.outside, smooth, "OUT")
    rho, q = _agreement(sums, v_in, v_out)
    f, nu = _factors(q, sums.sums.shadow.models - 2, rho)
    k = nu / np.maximum(nu - 2.0, 0.5) if nu < np.inf else 1.0  # variance of a Student variable
    w, a, v_s = _midpoint(v_in / sides.inside.models, v_out / sides.outside.models, rho)
    gain = sides.gain
    usual_gain = smooth(gain, 1.0 / f)
    # By how much gains differ more than their errors do.
    more = smooth((gain - usual_gain) ** 2 / (f * k) - w, 1.0 / (w * w))
    r = np.maximum(0.0, more) / (np.maximum(0.0, more) + w)
    p = r * w * f
    e = _positive(usual_gain + r * (gain - usual_gain), np.sqrt(k * p))
    s = sides.outside.rest + a * gain
    return PairedLaws(
        location_in=s + (1.0 - a) * e,
        location_out=s - a * e,
        scale2_in=f * (v_in + v_s) + (1.0 - a) ** 2 * p,
        scale2_out=f * (v_out + v_s) + a * a * p,
        nu=nu,
    )


def _midpoint(a_in: Doubles, a_out: Doubles, rho: float) -> tuple[Doubles, Doubles, Doubles]:
    """Return var(gain), IN's share of the midpoint, and its variance, from those of both means."""
    r_both = rho * np.sqrt(a_in * a_out)
    w = a_in + a_out - 2.0 * r_both
    return w, (a_out - r_both) / w, (a_in * a_out - r_both * r_both) / w


def _refuse(sums: ModelSums) -> None:
    models, records = sums.shadow.models, sums.shadow.num_records
    if models < 3 or records < 2:
        raise ValueError(
            f"signals must be of K >= 3 models at N >= 2 records, not {models} at {records}; use "
            "leakscore.shadow.base"
        )
    for side, name in zip(sums.sides, ("IN", "OUT"), strict=True):
        arrays.refuse_none(side.models, name, "use more models, or leave these records out")


class _Smoother(NamedTuple):
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

    def __call__(self, y: Doubles, weight: Doubles) -> Doubles:
        """Return the curve of weighted means at all midpoints."""
        groups = self.place.size
        total = np.bincount(self.group, weight, groups)
        used = total > 0.0
        means = np.bincount(self.group, weight * y, groups)[used] / total[used]
        return np.interp(self.u, self.place[used], means)


def _rounded(u: Doubles, sides: Sides) -> Doubles:
    """Round midpoints to 40 bits of a usual mean.

    Those that differ by the rounding of sums alone are ties: down-dated sums and sums added again
    then order records alike.
    """
    usual = float(np.median(np.abs(sides.inside.mean) + np.abs(sides.outside.mean)))
    quantum = np.ldexp(1.0, np.frexp(usual)[1] - 40)
    return np.asarray(np.rint(u / quantum)) if usual > 1e-280 else u


def _usual(side: Side, smooth: _Smoother, name: str) -> Doubles:
    """Return a side's usual variances at the midpoints."""
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
    return np.exp(smooth(excess, used.astype(np.float64)))


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


def _agreement(sums: PairSums, v_in: Doubles, v_out: Doubles) -> tuple[float, Doubles]:
    """Return the correlation of complementary pairs, in [-1, 0], and the squares over the usual."""
    inside, outside = sums.sums.sides
    q = inside.squares / v_in + outside.squares / v_out
    varies, products = q > 0.0, sums.products
    if products is None or not varies.any():
        return 0.0, q
    terms = 2.0 * (products / np.sqrt(v_in * v_out))[varies] / q[varies]
    return float(np.clip(terms.mean(), -1.0, 0.0)), q
