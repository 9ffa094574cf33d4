"""Scores by a record's gain: predicted by a Newton step, or from records of equal difficulty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import norm
from leakscore.shadow import _laws, arrays
from leakscore.shadow._signals import sigmoid
from leakscore.shadow.arrays import Masks, ModelSums, Shadow, Side, Sides
from leakscore.typing import Counts, Doubles, Flags

Influence: TypeAlias = 'Literal["global", "per-record"] | npt.ArrayLike'

_MOST_INFLUENCE = 1e100  # its square does not overflow
_MOST_VARIANCE = 1e60  # of the mean variance, so that squares of all variances keep their digits
_BLOCK = 1 << 14  # records scored at once


def one_step(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    influence: Influence = "global",
) -> Doubles:
    """Score records by how much one Newton step of a fit with the record adds to its margin.

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        Logit margins of a target model, or of S of them, at N records.
    signals : (K, N) array_like
        The same of K >= 2 shadow models, read in place. Augmentations are refused.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    influence : {"global", "per-record"} or float or (N,) array_like
        How much a step adds, g >= 0. "global": fitted, the same for all records. "per-record":
        fitted for each and shrunk towards the global one (for 64 models or more). Or numbers, such
        as the predictions of `logistic_law`.

    Returns
    -------
    (N,) or (S, N) ndarray
        Scores, larger for members.

    Raises
    ------
    ValueError
        If there is one model only, or no record with models on both sides to fit the influence to;
        if signals are NaN or infinite, or most of them constant; if shapes do not fit.

    Notes
    -----
    A record that is added to a convex fit moves its margin from t_out to t_in = t_out + g
    sigma(-t_in); for ridge regression this is exact. So the margins of models IN, pulled back by
    this step, also estimate the law OUT, and the law IN is that law pushed forward. With weakly
    regularised logistic regressions and boosting, four models may then do as well as hundreds do
    for `lira`. On networks g sigma(-t) is a poor model, and the score is far below `lira` on most
    of them. It is below `base` under strong regularisation and on forests. `choose` compares.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.one_step([2.5, 0.5], signals, included).round(4)
    array([  1.7694, -14.3047])
    """
    return arrays.run_score(OneStep(influence), observed, signals, included)


@dataclass(frozen=True)
class OneStep:
    """The options of `one_step`."""

    influence: Influence = "global"

    augmented = False

    def fit(self, shadow: Shadow) -> PulledBack:
        """Sum over all models."""
        _refuse_single(shadow)
        sums = arrays.sums(shadow)
        steps = steps_of(shadow, sums.sides)
        return PulledBack(sums, steps, steps)

    def scores(self, x: Doubles, sums: PulledBack) -> Doubles:
        """Score signals by a change of variables from the OUT law to the IN law."""
        g = self._influence(sums)
        side = sums.back(g)
        v, nu = _variance(side)
        scale2 = v * (1.0 + 1.0 / side.models)
        up, down = sigmoid(x), sigmoid(-x)
        deviation = side.centred(x)
        pulled_back = deviation - g * down
        ratio = _laws.log_ratio((pulled_back, scale2, nu), (deviation, scale2, nu))
        return arrays.refuse_overflow(ratio + np.log1p(g * up * down))

    def _influence(self, sums: PulledBack) -> Doubles:
        """Return the influence of each record."""
        if isinstance(self.influence, str):
            rule = validation.choice("influence", self.influence, ("global", "per-record"))
            return _fit_influences(sums, per_record=rule == "per-record")
        records = sums.sums.shadow.num_records
        g = validation.per_coordinate("influence", self.influence, records)
        if np.max(g) > _MOST_INFLUENCE:
            raise ValueError(f"influence must be <= {_MOST_INFLUENCE:g}, not {float(np.max(g))!r}")
        return np.broadcast_to(g, (records,))


def _refuse_single(shadow: Shadow) -> None:
    if shadow.models < 2:
        raise ValueError(
            f"signals must be of K >= 2 models, not {shadow.models}: a variance takes two"
        )


def _fit_influences(pulled: PulledBack, *, per_record: bool) -> Doubles:
    inside, outside = pulled.sums.sides
    both = (inside.models > 0) & (outside.models > 0)
    if not both.any():
        raise ValueError(
            "included must have models IN and OUT for some record, to fit the influence to; "
            "give the influence, or use more models"
        )
    gain, e = pulled.sums.sides.gain[both], pulled.steps.mean[both]
    g = np.full(both.size, max(0.0, _quotient(gain.sum(), e.sum())))
    if not per_record:
        return g
    share = 1.0 / inside.models[both] + 1.0 / outside.models[both]
    for _ in range(3):
        g = _shrink_to_common(_variance(pulled.back(g))[0][both] * share, gain, e, both)
    return g


def _shrink_to_common(w: Doubles, gain: Doubles, e: Doubles, both: Flags) -> Doubles:
    """Return each record's influence, shrunk to the common one, from gain and e where `both`."""
    g0 = max(0.0, _quotient((gain * e / w).sum(), (e * e / w).sum()))
    squares = e * e / (w * w)
    excess = (((gain - g0 * e) ** 2 - w) * squares).sum()
    tau2 = max(0.0, _quotient(excess, (e * e * squares).sum()))
    g = np.full(both.size, g0)
    g[both] = np.maximum(0.0, (g0 + tau2 * gain * e / w) / (1.0 + tau2 * e * e / w))
    return g


def _quotient(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0.0 else 0.0


def _variance(side: Side) -> tuple[Doubles, Doubles]:
    """Return variances over all models, shrunk to their prior, and the degrees of freedom."""
    prior = _laws.fit_prior(side, "at all")
    return _laws.shrink(side.squares, side.dof, prior), prior.dof + side.dof


class NewtonSteps(NamedTuple):
    """Sums over the models IN of each record, of s = sigma(-t): mean, squares, products with t.

    Squares and products are centred. Products are never above 0, as s falls where t rises.
    """

    mean: Doubles
    squares: Doubles
    products: Doubles


def steps_of(shadow: Shadow, sides: Sides) -> NewtonSteps:
    """Sum over the models of `shadow.rows`, in one reading of the signals."""
    packed = sides.packed()
    return NewtonSteps(*_core.shadow_steps(shadow.signals, shadow.included, shadow.rows, packed))


@dataclass(frozen=True)
class PulledBack:
    """Sums over the models of each record without a group, to be pulled back by any g."""

    sums: ModelSums
    steps: NewtonSteps
    before: NewtonSteps  # with the group; sums that have lost digits against it are summed again

    def without(self, group: Counts) -> PulledBack:
        """Leave the models of a group out."""
        remaining = self.sums.without(group)
        _refuse_single(remaining.shadow)
        steps = self._steps_without(group)
        if remaining.renewed.size:
            few = remaining.shadow.columns(remaining.renewed)
            again = steps_of(few, arrays.sums(few).sides)
            parts = zip(steps, again, strict=True)
            steps = NewtonSteps(*(arrays.put(a, remaining.renewed, b) for a, b in parts))
        return PulledBack(remaining, steps, self.steps)

    def _steps_without(self, group: Counts) -> NewtonSteps:
        inside = self.sums.sides.inside
        mean, squares, products = self.steps
        for row in group:
            t, included = self.sums.shadow.signals_of(row)
            count = inside.models - included
            remaining = np.maximum(count, 1.0)
            s = np.where(included, sigmoid(-t) - mean, 0.0)
            scaled = s * (inside.models / remaining)
            mean = np.where(count > 0, mean - s / remaining, 0.0)
            squares = np.where(count > 1, np.maximum(squares - scaled * s, 0.0), 0.0)
            products = np.minimum(products - scaled * inside.centred(t), 0.0)
            products = np.where(count > 1, products, 0.0)
            inside = inside.without(t, included)
        return NewtonSteps(mean, squares, products)

    def back(self, g: Doubles) -> Side:
        """Return the sums of t - g s IN and of t OUT together, as if all models were OUT."""
        side = _pulled_back(self.sums.sides, self.steps, g)
        lost = side.squares < arrays.LOST * g * g * self.before.squares
        which = np.flatnonzero(lost & (self.steps.squares < self.before.squares))
        if not which.size:
            return side
        few = self.sums.shadow.columns(which)
        sides = arrays.sums(few).sides
        squares = _pulled_back(sides, steps_of(few, sides), g[which]).squares
        return side._replace(squares=arrays.put(side.squares, which, squares))


def _pulled_back(sides: Sides, steps: NewtonSteps, g: Doubles) -> Side:
    """Add the squares within the sides and between their means; no term is negative."""
    inside, outside = sides
    count = inside.models + outside.models
    share = inside.models / count
    alone = outside.models == 0.0
    between = np.where(alone | (inside.models == 0.0), 0.0, sides.gain - g * steps.mean)
    within = inside.squares + g * (g * steps.squares - 2.0 * steps.products)
    squares = within + outside.squares + share * outside.models * between * between
    return Side(
        count,
        np.where(alone, inside.centre, outside.centre),
        np.where(alone, inside.rest - g * steps.mean, outside.rest + share * between),
        squares,
    )


def paired(observed: npt.ArrayLike, signals: npt.ArrayLike, included: npt.ArrayLike) -> Doubles:
    """Score records by laws IN and OUT that borrow strength from records of equal difficulty.

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        Logit margins of a target model, or of S of them, at N records.
    signals : (K, N) array_like
        The same of K >= 3 shadow models, read in place. Augmentations are refused.
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
        If a record has no model on a side, or no record has two models on each; if there are fewer
        than three models or two records; if signals are NaN or infinite, or constant; if shapes do
        not fit.

    Notes
    -----
    The gain m_in - m_out of a record and its variances are shrunk to curves over the midpoint (m_in
    + m_out) / 2, the more the records of a midpoint agree; the laws are Student's. From 16 models
    on it is the best score, or equal to it, in most settings. With 4 models use `choose`.

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
    return arrays.run_score(Paired(), observed, signals, included)


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
        return arrays.refuse_overflow(scores)


@dataclass(frozen=True)
class PairSums:
    """Sums over models and, if all models form complementary pairs, over the pairs.

    The sum over pairs is of the products of both models' deviations from the mean of their side.
    """

    sums: ModelSums
    masks: Masks

    def without(self, group: Counts) -> PairSums:
        """Leave the models of a group out of all sums."""
        return PairSums(self.sums.without(group), self.masks)

    @property
    def products(self) -> Doubles | None:
        """Sums over all pairs; None if not all models are in a pair."""
        shadow = self.sums.shadow
        couples = arrays.complementary_pairs(shadow, self.masks)
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
    _refuse_few_models(sums.sums)
    sides = sums.sums.sides
    smooth = _Smoother.of(sides)
    v_in = _smooth_variances(sides.inside, smooth, "IN")
    v_out = _smooth_variances(sides.outside, smooth, "OUT")
    rho, q = _pair_correlation(sums, v_in, v_out)
    f, nu = _variance_factors(q, sums.sums.shadow.models - 2, rho)
    k = nu / np.maximum(nu - 2.0, 0.5) if nu < np.inf else 1.0  # variance of a Student variable
    w, a, v_s = _midpoint(v_in / sides.inside.models, v_out / sides.outside.models, rho)
    gain = sides.gain
    smooth_gain = smooth(gain, 1.0 / f)
    # The variance of gains beyond that of their errors.
    excess = smooth((gain - smooth_gain) ** 2 / (f * k) - w, 1.0 / (w * w))
    r = np.maximum(0.0, excess) / (np.maximum(0.0, excess) + w)
    p = r * w * f
    e = _positive_mean(smooth_gain + r * (gain - smooth_gain), np.sqrt(k * p))
    s = sides.outside.rest + a * gain
    return PairedLaws(
        location_in=s + (1.0 - a) * e,
        location_out=s - a * e,
        scale2_in=f * (v_in + v_s) + (1.0 - a) ** 2 * p,
        scale2_out=f * (v_out + v_s) + a * a * p,
        nu=nu,
    )


def _midpoint(a_in: Doubles, a_out: Doubles, rho: float) -> tuple[Doubles, Doubles, Doubles]:
    """Return var(gain), IN's weight in the midpoint and var(midpoint), from variances of means."""
    r_both = rho * np.sqrt(a_in * a_out)
    w = a_in + a_out - 2.0 * r_both
    return w, (a_out - r_both) / w, (a_in * a_out - r_both * r_both) / w


def _refuse_few_models(sums: ModelSums) -> None:
    models, records = sums.shadow.models, sums.shadow.num_records
    if models < 3 or records < 2:
        raise ValueError(
            f"signals must be of K >= 3 models at N >= 2 records, not {models} at {records}; use "
            "leakscore.shadow.base"
        )
    for side, name in zip(sums.sides, ("IN", "OUT"), strict=True):
        arrays.refuse_none(side.models, name, "use more models, or leave these records out")


class _Smoother(NamedTuple):
    """Fits curves over the midpoint: means of groups of similar midpoints, linear in between."""

    u: Doubles
    group: npt.NDArray[np.int64]
    place: Doubles

    @classmethod
    def of(cls, sides: Sides) -> _Smoother:
        """Order all records by their midpoint."""
        u = 0.5 * sides.inside.mean + 0.5 * sides.outside.mean
        groups = max(1, min(20, u.size // 100))
        group = np.empty(u.size, dtype=np.int64)
        order = np.argsort(_round_midpoints(u, sides), kind="stable")
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


def _round_midpoints(u: Doubles, sides: Sides) -> Doubles:
    """Round midpoints to 40 bits of a typical mean.

    Midpoints that differ only by the rounding of sums then tie, so that down-dated sums and sums
    added again order records in the same way.
    """
    typical = float(np.median(np.abs(sides.inside.mean) + np.abs(sides.outside.mean)))
    quantum = np.ldexp(1.0, np.frexp(typical)[1] - 40)
    return np.asarray(np.rint(u / quantum)) if typical > 1e-280 else u


def _smooth_variances(side: Side, smooth: _Smoother, name: str) -> Doubles:
    """Return the smoothed variances of a side at the midpoints."""
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
    if not 1.0 / _MOST_VARIANCE < mean < _MOST_VARIANCE:
        raise ValueError(
            f"signals must have a variance between the models {name} in "
            f"[{1.0 / _MOST_VARIANCE:g}, {_MOST_VARIANCE:g}], not {mean:.3g}: squares of variances "
            "overflow; multiply signals and observed by one number, which changes no score"
        )
    excess = _laws.log_excess(np.maximum(raw, 1e-3 * mean), d)
    return np.exp(smooth(excess, used.astype(np.float64)))


def _variance_factors(q: Doubles, dof: int, rho: float) -> tuple[Doubles, Doubles]:
    """Return the factors of each record's variances over the smoothed ones, and their freedom."""
    d = dof / (1.0 + rho * rho)
    s2 = np.maximum(q, 1e-3 * q.mean()) / dof
    prior = _laws.from_variances(s2, np.broadcast_to(d, q.shape))
    return _laws.shrink(d * s2, np.asarray(d), prior), prior.dof + d


def _positive_mean(gain: Doubles, sd: Doubles) -> Doubles:
    """Return the mean of a normal law given that it is positive, as gains of members are."""
    varies = sd > 0.0
    z = np.maximum(-30.0, gain / np.where(varies, sd, 1.0))
    hazard = np.exp(norm.logpdf(z) - norm.logcdf(z))
    return np.where(varies, sd * (z + hazard), np.maximum(gain, 0.0))


def _pair_correlation(sums: PairSums, v_in: Doubles, v_out: Doubles) -> tuple[float, Doubles]:
    """Return the correlation of complementary pairs, in [-1, 0], and squares over variances."""
    inside, outside = sums.sums.sides
    q = inside.squares / v_in + outside.squares / v_out
    varies, products = q > 0.0, sums.products
    if products is None or not varies.any():
        return 0.0, q
    terms = 2.0 * (products / np.sqrt(v_in * v_out))[varies] / q[varies]
    return float(np.clip(terms.mean(), -1.0, 0.0)), q
