"""Scores by the laws of a record's signal IN and OUT: difficulty, LiRA and its Bayesian form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import norm
from leakscore.numeric import sign_change
from leakscore.shadow import arrays
from leakscore.shadow.arrays import ModelSums, Shadow, Side, TooFew
from leakscore.typing import Doubles, Flags

Kind: TypeAlias = Literal["online", "offline", "offline-two-sided"]
Variance: TypeAlias = Literal["per-record", "pooled", "shrunk"]
Location: TypeAlias = Literal["mean", "median"]

_LEAST_SHARE = 1e-5
"""Share of the median below which a variance is raised before its logarithm is taken."""


class Scale(NamedTuple):
    """Scaled inverse chi-square law of a variance: degrees of freedom nu0, scale s0^2."""

    dof: Doubles
    variance: Doubles


def fit_prior(side: Side, name: str) -> Scale:
    """Fit the prior to one side, per augmentation (Smyth 2004, section 6.2)."""
    squares, dof = (array.reshape(len(side.models), -1) for array in (side.squares, side.dof))
    priors = [_fitted(squares[:, a], dof[:, a], name) for a in range(squares.shape[1])]
    shape = side.models.shape[1:]
    return Scale(*(np.array(part).reshape(shape) for part in zip(*priors, strict=True)))


def _fitted(squares: Doubles, dof: Doubles, name: str) -> Scale:
    used = dof >= 1.0
    if np.count_nonzero(used) < 2:
        raise ValueError(
            f"signals and included must have two records with two models {name} at least, to fit "
            f"the prior of variances, not {np.count_nonzero(used)}; use more models, or "
            "leakscore.shadow.bayes with a Prior of your own"
        )
    d = dof[used]
    raw = squares[used] / d
    middle = float(np.median(raw))
    if not middle > 0.0:
        raise ValueError(
            f"signals must vary between the models {name} for most records: the median "
            "variance is 0, and no prior of variances can be fitted; use leakscore.shadow.base, or "
            "leakscore.shadow.bayes with a Prior of your own"
        )
    return from_variances(np.maximum(raw, _LEAST_SHARE * middle), d)


def log_excess(variance: Doubles, dof: Doubles) -> Doubles:
    """Return log s2 - psi(d/2) + log(d/2): an unbiased estimate of log sigma^2."""
    from scipy.special import digamma

    return np.log(variance) + _at_distinct(lambda d: np.log(0.5 * d) - digamma(0.5 * d), dof)


def _at_distinct(function: Callable[[Doubles], Doubles], dof: Doubles) -> Doubles:
    """Evaluate at the distinct values only, as most records have the same number of models."""
    if (dof == dof[0]).all():
        return function(dof[:1])
    different, which = np.unique(dof, return_inverse=True)
    return function(different)[which]


def from_variances(variance: Doubles, dof: Doubles) -> Scale:
    """Fit the prior to two or more positive variances with their degrees of freedom."""
    from scipy.special import digamma, polygamma

    e = log_excess(variance, dof)
    centre = float(e.mean())
    trigamma = _at_distinct(lambda d: polygamma(1, 0.5 * d), dof)
    excess = float(np.var(e, ddof=1) - trigamma.mean())
    if not excess > 0.0:
        return Scale(np.asarray(np.inf), np.asarray(np.exp(centre)))
    half = inverse_trigamma(excess)
    scale = np.exp(centre + (digamma(half) - np.log(half)))
    return Scale(np.asarray(2.0 * half), np.asarray(scale))


def inverse_trigamma(value: float) -> float:
    """Solve psi'(y) = value > 0; psi'(y) lies between 1/y and 1/y + 1/y^2."""
    from scipy.special import polygamma

    low, high = np.asarray(1.0 / value), np.asarray((0.5 + np.sqrt(0.25 + value)) / value)
    return float(sign_change(lambda y: polygamma(1, y) - value, low, high))


def shrink(squares: Doubles, dof: Doubles, prior: Scale) -> Doubles:
    """Return the posterior variance (nu0 s0^2 + SS) / (nu0 + d); s0^2 if nu0 = inf."""
    infinite = np.isinf(prior.dof)
    nu = np.where(infinite, 1.0, prior.dof)
    return np.where(infinite, prior.variance, (nu * prior.variance + squares) / (nu + dof))


# Student's law with any scale

Deviation: TypeAlias = tuple[Doubles, Doubles, Doubles]
"""Deviations from the location, the squared scale, and the degrees of freedom, inf for a normal."""

_HUGE = 1e150  # its square does not overflow
_HALF_LOG_TWO_PI = 0.9189385332046727
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def log_ratio(inside: Deviation, outside: Deviation) -> Doubles:
    """Return the log density IN less that OUT, (S, N[, A]); NaN where a deviation is infinite."""
    shape = inside[0].shape
    columns = shape[1:]
    parts: list[Doubles] = []
    for deviation, *law in (inside, outside):
        parts.append(np.ascontiguousarray(deviation).reshape(shape[0], -1))
        parts += [
            np.ascontiguousarray(np.broadcast_to(value, columns)).reshape(-1) for value in law
        ]
    return _core.student_log_ratio(*parts).reshape(shape)


def log_tail(z: Doubles, nu: Doubles) -> Doubles:
    """Return log P(T > z) of Student's law, nu in (0, inf]; for nu = inf up to |z| = 1e150."""
    z, nu = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(nu, dtype=np.float64))
    result = np.empty(z.shape)
    infinite = np.isinf(nu)
    result[infinite] = norm.logsf(z[infinite])
    # The continued fraction converges fast from three variances on.
    far = ~infinite & (np.abs(z) >= np.sqrt(3.0 / (1.0 + 2.0 / nu)))
    near = ~infinite & ~far
    result[near] = np.log(0.5 - _from_centre(z[near], nu[near]))
    size = np.abs(z[far])
    near_end = np.minimum(size, _HUGE)  # beyond it the tail is a power of z
    tail = _log_far_tail(near_end, nu[far]) - nu[far] * np.log(size / near_end)
    result[far] = np.where(z[far] > 0.0, tail, np.log1p(-np.exp(tail)))
    return result


def _log_at_centre(nu: Doubles) -> Doubles:
    """Return the log of Student's density at 0 over the normal density there."""
    none, unit = np.zeros((1, nu.size)), np.ones(nu.size)
    ratio: Doubles = log_ratio((none, unit, nu), (none, unit, np.full(nu.size, np.inf)))[0]
    return ratio


def _from_centre(z: Doubles, nu: Doubles) -> Doubles:
    """Return P(0 < T < z) by Gauss's rule: the density has no singularity near [0, z]."""
    u = 0.5 * z[..., np.newaxis] * (1.0 + _NODES)
    n = nu[..., np.newaxis]
    exponent = -0.5 * (n + 1.0) * np.log1p(u * u / n)
    constant = np.exp(_log_at_centre(nu) - _HALF_LOG_TWO_PI)
    return 0.5 * z * constant * (np.exp(exponent) @ _WEIGHTS)


def _log_far_tail(z: Doubles, nu: Doubles) -> Doubles:
    """Return log(I_x(a, 1/2) / 2), a = nu / 2, x = nu / (nu + z^2).

    The even part of the continued fraction (Didonato & Morris 1992, ACM TOMS 18: 360-373, equation
    9), whose terms do not cancel where x is near 1.
    """
    a = 0.5 * nu
    ratio = z * z / nu
    x, y = 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
    start = 1.0 + 0.5 * nu * (y - x / nu)  # 1 + a y - x / 2
    value = a / (a + 1.0) * start
    # Lentz's method in the form of Thompson & Barnett: c = numerators', d = denominators' ratios.
    c, d = value.copy(), np.zeros_like(value)
    for n in range(1, 5000):
        before = a + (2 * n - 1)
        square = (a + (n - 1)) * (a + (n - 0.5)) / (before * before) * (n * (0.5 - n)) * (x * x)
        term = n + n * (0.5 - n) * x / before + (a + n) / (a + (2 * n + 1)) * (start + n * (1 + y))
        d = 1.0 / (term + square * d)
        c = term + square / c
        step = c * d
        value = value * step
        if not (np.abs(step - 1.0) > 4e-15).any():  # all within a few roundings
            break
    else:
        raise RuntimeError("The continued fraction of Student's tail did not converge")
    # x^a y^b / B(a, b) over the fraction, B(a, 1/2) = sqrt(pi / a) over the density at 0
    log_power = -a * np.log1p(ratio) + 0.5 * np.log(y)
    log_beta = 0.5 * np.log(np.pi / a) - _log_at_centre(nu)
    return np.asarray(log_power - log_beta - np.log(value) - np.log(2.0))


@dataclass(frozen=True)
class Difficulty:
    """The options of `difficulty`: there are none."""

    augmented = True

    def fit(self, shadow: Shadow) -> ModelSums:
        """Sum over all models."""
        return arrays.sums(shadow)

    def scores(self, x: Doubles, sums: ModelSums) -> Doubles:
        """Return signals less the mean OUT."""
        arrays.refuse_none(sums.sides.outside.models, "OUT")
        return sums.sides.outside.centred(x)


def difficulty(observed: npt.ArrayLike, signals: npt.ArrayLike, included: npt.ArrayLike) -> Doubles:
    """Score a target's signal at each record less the mean of the models OUT.

    Parameters
    ----------
    observed : (N,), (N, A), (S, N) or (S, N, A) array_like
        As in `lira`.
    signals : (K, N) or (K, N, A) array_like
        As in `lira`.
    included : (K, N) array_like of bool
        As in `lira`.

    Returns
    -------
    (N,) or (S, N) ndarray
        Scores, larger for members; with augmentations their mean over these.

    Raises
    ------
    ValueError
        If a record has no model OUT; if signals are NaN or infinite; if shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.difficulty([2.5, 0.5], signals, included)
    array([2., 0.])
    """
    return arrays.run_score(Difficulty(), observed, signals, included)


@dataclass(frozen=True)
class Lira:
    """The options of `lira`."""

    kind: Kind = "online"
    variance: Variance = "per-record"
    location: Location = "mean"
    too_few: TooFew = "raise"

    augmented = True

    def __post_init__(self) -> None:
        """Refuse unknown options."""
        validation.choice("kind", self.kind, ("online", "offline", "offline-two-sided"))
        validation.choice("variance", self.variance, ("per-record", "pooled", "shrunk"))
        validation.choice("location", self.location, ("mean", "median"))
        validation.choice("too_few", self.too_few, ("raise", "nan"))

    def fit(self, shadow: Shadow) -> ModelSums:
        """Sum over all models."""
        return arrays.sums(shadow, medians=self.location == "median")

    def scores(self, x: Doubles, sums: ModelSums) -> Doubles:
        """Score signals by both sides."""
        if self.kind != "online":
            return self.from_deviations(self.deviations(x, sums))
        inside, outside = sums.sides
        v_out, few_out = self._variance(outside, "OUT")
        v_in, few_in = self._variance(inside, "IN")
        e_out, e_in = outside.centred(x), inside.centred(x)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = e_out * (e_out / v_out) - e_in * (e_in / v_in)
        return arrays.refuse_overflow(0.5 * (squares + np.log(v_out / v_in)), few_in | few_out)

    def deviations(self, x: Doubles, sums: ModelSums) -> Doubles:
        """Return by how many standard deviations signals lie above the mean OUT."""
        v, few = self._variance(sums.sides.outside, "OUT")
        with np.errstate(over="ignore"):
            return np.where(few, np.nan, sums.sides.outside.centred(x) / np.sqrt(v))

    def from_deviations(self, z: Doubles) -> Doubles:
        """Return -log of the upper tail, or of both tails."""
        if self.kind == "offline":
            return np.asarray(-norm.logsf(z))
        return np.asarray(-np.minimum(norm.logsf(np.abs(z)) + np.log(2.0), 0.0))

    def left_out_in_one_pass(self, sums: ModelSums) -> Doubles | None:
        """Score each model by the others in C++; None if these options need the general way."""
        shadow, (inside, outside) = sums.shadow, sums.sides
        plain = self.variance == "per-record" and self.location == "mean"
        if (
            shadow.signals.ndim > 2
            or not plain
            or min(inside.models.min(), outside.models.min()) < 3
        ):
            return None
        online = self.kind == "online"
        result = np.empty((shadow.models, shadow.num_records))
        lost = _core.shadow_left_out(
            shadow.signals, shadow.included, shadow.rows, sums.sides.packed(), online, result
        )
        for row in shadow.rows:
            which = np.flatnonzero(np.isnan(result[row])) if lost else shadow.rows[:0]
            if which.size:
                columns = shadow.columns(which)
                x, others = columns.signals[row], arrays.sums(columns.without(row))
                score = self.scores if online else self.deviations
                result[row, which] = score(x.astype(np.float64), others)
            if not online:
                result[row] = self.from_deviations(result[row])
        return result

    def _variance(self, side: Side, name: str) -> tuple[Doubles, Flags]:
        """Return the variances (1 where there are too few models), and where these are."""
        least = 2 if self.variance == "per-record" else 1
        few = side.models < least
        if self.too_few == "raise":
            arrays.refuse_few(
                few,
                f"{least} model{'s' * (least > 1)} {name} at least for each record",
                "use more models, "
                + ("variance='shrunk', leakscore.shadow.bayes, " if least == 2 else "")
                + ("kind='offline', " if name == "IN" else "")
                + "or too_few='nan'",
            )
        v = self._estimate(side, name)
        arrays.refuse_few(
            ~few & ~(v > 0.0),
            f"signals that vary between the models {name}, a variance above 0,",
            "use variance='shrunk' or leakscore.shadow.bayes",
        )
        return np.where(few, 1.0, v), few

    def _estimate(self, side: Side, name: str) -> Doubles:
        """Return the variances of a side; arbitrary where there are too few models."""
        if self.variance == "shrunk":
            return shrink(side.squares, side.dof, fit_prior(side, name))
        if self.variance == "per-record":
            return side.squares / np.maximum(side.dof, 1.0)
        dof = side.dof.sum(axis=0)
        if not (dof > 0).all():
            raise ValueError(
                f"signals and included must have a record with two models {name} for "
                "variance='pooled'; use more models"
            )
        return np.broadcast_to(side.squares.sum(axis=0) / dof, side.squares.shape)


def lira(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    kind: Kind = "online",
    variance: Variance = "per-record",
    location: Location = "mean",
    too_few: TooFew = "raise",
) -> Doubles:
    """Score records by the normal laws of their signal in models trained with and without them.

    Parameters
    ----------
    observed : (N,), (N, A), (S, N) or (S, N, A) array_like
        Signals of a target model, or of S of them, at N records (with A augmentations): logit
        margins, as from `logit_margin`.
    signals : (K, N) or (K, N, A) array_like
        The same of K shadow models, read in place (also memory maps), float32 or float64.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    kind : {"online", "offline", "offline-two-sided"}
        "online": the log-ratio of the density IN to that OUT. "offline": -log of the upper tail
        OUT. "offline-two-sided": -log of both tails OUT. The last two need no model that was
        trained on the record. The third is what much published code computes instead of the
        second: a signal far below the others then counts as a sign of membership.
    variance : {"per-record", "pooled", "shrunk"}
        "per-record": from each record's own models. "pooled": the same for all records on each
        side, centred within records. "shrunk": each record's, shrunk to a common value the more the
        records agree.
    location : {"mean", "median"}
        Centre of each law. Variances are about the mean with either.
    too_few : {"raise", "nan"}
        What to do with records with too few models on a side that is needed. "per-record" needs
        two, the others one.

    Returns
    -------
    (N,) or (S, N) ndarray
        Scores, larger for members; with augmentations their mean over these.

    Raises
    ------
    ValueError
        If a record has too few models, or a variance of 0; if signals are NaN or infinite; if
        shapes do not fit.

    Notes
    -----
    A variance estimated from few models is uncertain, which costs the plug-in score power in the
    tail: with 16 models or fewer use `variance="shrunk"`, `bayes` or `choose`. The target must not
    be among the shadow models; `leave_one_model_out` scores each of them by the others.

    References
    ----------
    .. [1] N. Carlini et al., "Membership Inference Attacks From First Principles" (IEEE S&P 2022).

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.lira([2.5, 0.5], signals, included)
    array([ 4.,  -4.])
    """
    return arrays.run_score(Lira(kind, variance, location, too_few), observed, signals, included)


@dataclass(frozen=True)
class Prior:
    """The prior law of a record's signal on one side.

    The mean is normal about `mean`, with the variance of the signal over `strength`. The variance
    is scaled inverse chi-square with `dof` degrees of freedom and scale `variance`.

    Parameters
    ----------
    mean : float
        Prior mean of the mean of a record's signal, at most 1e150 in size; ignored at strength 0.
    strength : float
        Number of models that this information is worth, >= 0; 0 for a flat prior of the mean.
    dof : float
        Number of models that the information on the variance is worth, in (0, 1e150]; inf if the
        variance is known.
    variance : float
        Prior scale of the variance, in (0, 1e150].

    Examples
    --------
    >>> import leakscore
    >>> leakscore.shadow.Prior(mean=0.0, strength=0.0, dof=4.0, variance=1.0)
    Prior(mean=0.0, strength=0.0, dof=4.0, variance=1.0)
    """

    mean: float
    strength: float
    dof: float
    variance: float

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        scalar = validation.scalar
        for name, number in (
            ("mean", scalar("mean", self.mean, -_HUGE, _HUGE)),
            ("strength", scalar("strength", self.strength, 0.0)),
            ("dof", validation.scalar_or_inf("dof", self.dof, 0.0, _HUGE)),
            ("variance", scalar("variance", self.variance, 0.0, _HUGE, closed="right")),
        ):
            object.__setattr__(self, name, number)


Priors: TypeAlias = 'Literal["flat-mean", "empirical"] | tuple[Prior, Prior]'


@dataclass(frozen=True)
class Bayes:
    """The options of `bayes`."""

    kind: Literal["online", "offline"] = "online"
    prior: Priors = "flat-mean"
    too_few: TooFew = "raise"

    augmented = True

    def __post_init__(self) -> None:
        """Refuse unknown options and priors."""
        if not isinstance(self.prior, (tuple, list)):
            validation.choice("prior", self.prior, ("flat-mean", "empirical"))
        elif [isinstance(of, Prior) for of in self.prior] != [True, True]:
            raise TypeError("prior must be (Prior of IN, Prior of OUT) or a name")
        validation.choice("kind", self.kind, ("online", "offline"))
        validation.choice("too_few", self.too_few, ("raise", "nan"))

    def fit(self, shadow: Shadow) -> ModelSums:
        """Sum over all models."""
        return arrays.sums(shadow)

    def scores(self, x: Doubles, sums: ModelSums) -> Doubles:
        """Score signals by both sides."""
        outside, few_out = self._predictive(x, sums.sides.outside, "OUT")
        if self.kind == "offline":
            d, scale2, nu = outside
            with np.errstate(over="ignore"):
                deviation = d / np.sqrt(scale2)
            return np.where(few_out, np.nan, -log_tail(deviation, nu))
        inside, few_in = self._predictive(x, sums.sides.inside, "IN")
        return arrays.refuse_overflow(log_ratio(inside, outside), few_in | few_out)

    def _predictive(self, x: Doubles, side: Side, name: str) -> tuple[Deviation, Flags]:
        """Return the deviations of signals from a side's laws, and which records have no law."""
        scale, mean, per_strength = self._prior(side, name)
        informed = np.isfinite(per_strength)
        few = ~informed & (side.models < 1)
        if self.too_few == "raise":
            offline = ", kind='offline'" if name == "IN" else ""
            remedy = f"use more models, a prior of the mean{offline} or too_few='nan'"
            arrays.refuse_few(few, f"a model {name} at least for each record", remedy)
        count = np.where(informed, side.models, np.maximum(side.models, 1.0))
        # 1 / (k0 + c) and k0 / (k0 + c) from 1 / k0, which is inf for a flat prior.
        with np.errstate(invalid="ignore"):  # inf / inf where per_strength is inf
            pull = np.where(informed, 1.0 / (1.0 + count * per_strength), 0.0)
            share = np.where(informed, per_strength * pull, 1.0 / np.maximum(count, 1.0))
        gap = np.where(informed, (mean - side.centre) - side.rest, 0.0)
        dof = np.where(informed, side.models, count - 1.0)
        squares = side.squares + pull * side.models * gap * gap
        scale2 = (1.0 + share) * shrink(squares, dof, scale)
        return ((x - side.centre) - (side.rest + pull * gap), scale2, scale.dof + dof), few

    def _prior(self, side: Side, name: str) -> tuple[Scale, Doubles, Doubles]:
        """Return the law of variances, the prior mean, and 1 / k0, inf if it is flat."""
        if not isinstance(self.prior, str):
            prior = self.prior[0 if name == "IN" else 1]
            per_strength = 1.0 / prior.strength if prior.strength > 0.0 else np.inf
            scale = Scale(np.asarray(float(prior.dof)), np.asarray(float(prior.variance)))
            return scale, np.asarray(float(prior.mean)), np.asarray(per_strength)
        scale = fit_prior(side, name)
        if self.prior == "flat-mean":
            return scale, np.asarray(0.0), np.asarray(np.inf)
        return scale, *_means_prior(side, scale, name)


def _means_prior(side: Side, scale: Scale, name: str) -> tuple[Doubles, Doubles]:
    """Return the mean of means, and their variance over the signal's, per augmentation."""
    present = side.models >= 1
    means = np.where(present, side.mean, 0.0)
    middle = means.sum(axis=0) / present.sum(axis=0)
    nu = scale.dof + side.dof
    used = present & (nu > 2.0)
    if not used.any(axis=0).all():
        raise ValueError(
            f"signals must have a variance {name} known to two degrees of freedom at least for "
            "prior='empirical'; use more models or prior='flat-mean'"
        )
    share = np.where(np.isinf(nu), 1.0, 1.0 - 2.0 / nu)
    v = shrink(side.squares, side.dof, scale)
    per_count = 1.0 / np.maximum(side.models, 1.0)
    terms = np.where(used, (means - middle) ** 2 * share / v - per_count, 0.0)
    return middle, np.maximum(1e-6, terms.sum(axis=0) / used.sum(axis=0))


def bayes(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    kind: Literal["online", "offline"] = "online",
    prior: Priors = "flat-mean",
    too_few: TooFew = "raise",
) -> Doubles:
    """Score records as `lira` does, with laws that account for the uncertainty of parameters.

    Parameters
    ----------
    observed : (N,), (N, A), (S, N) or (S, N, A) array_like
        Signals of a target model, or of S of them, at N records (with A augmentations): margins.
    signals : (K, N) or (K, N, A) array_like
        The same of K shadow models, read in place.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    kind : {"online", "offline"}
        The log-ratio of the predictive density IN to that OUT, or -log of the upper tail OUT.
    prior : {"flat-mean", "empirical"} or (Prior, Prior)
        "flat-mean": a prior of variances, fitted to all records, and a flat prior of means.
        "empirical": a prior of means, too. Or two priors, for IN and OUT.
    too_few : {"raise", "nan"}
        What to do with records without a model on a side that is needed. With a prior of means
        none is needed.

    Returns
    -------
    (N,) or (S, N) ndarray
        Scores, larger for members; with augmentations their mean over these.

    Raises
    ------
    ValueError
        If a record has no model on a side, or no prior can be fitted: fewer than two records with
        two models, or most records' signals constant; if signals are NaN or infinite; if shapes do
        not fit.

    Notes
    -----
    The predictive law is Student's. Its degrees of freedom are those of the prior plus those of the
    record's models, so that its tails reflect the uncertainty of the parameters. The prior is that
    of Smyth [1]_ (scaled inverse chi-square). "flat-mean" is better at low false-positive rates.

    References
    ----------
    .. [1] G. K. Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential
       Expression in Microarray Experiments" (2004), section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> known = leakscore.shadow.Prior(mean=0.0, strength=0.0, dof=4.0, variance=1.0)
    >>> leakscore.shadow.bayes([2.5, 0.5], signals, included, prior=(known, known)).round(4)
    array([ 1.3961, -1.3961])
    """
    return arrays.run_score(Bayes(kind, prior, too_few), observed, signals, included)
