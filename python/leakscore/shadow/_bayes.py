"""LiRA with the uncertainty of its parameters: predictive densities in place of plug-in ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.shadow.sides import arrays, moments, student, variances
from leakscore.shadow.sides.arrays import TooFew
from leakscore.shadow.sides.moments import Side, Sides
from leakscore.shadow.sides.variances import Scale
from leakscore.typing import Doubles, Flags


@dataclass(frozen=True)
class Prior:
    """What is known of a record's signal on one side before any model is seen.

    The mean is normal about `mean` with the variance of the signal over `strength`; the variance is
    scaled inverse chi-square with `dof` degrees of freedom and scale `variance`.

    Parameters
    ----------
    mean : float
        Where the mean of a record's signal lies; of no consequence at strength 0.
    strength : float
        Number of models that this is worth, >= 0; 0 for nothing known of the mean.
    dof : float
        Number of models that the knowledge of the variance is worth, > 0; inf if it is known.
    variance : float
        The usual variance, > 0.

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
        """Refuse what is out of range."""
        validation.scalar("mean", self.mean)
        validation.scalar("strength", self.strength, 0.0)
        if self.dof != np.inf:
            validation.scalar("dof", self.dof, 0.0, closed="right")
        validation.scalar("variance", self.variance, 0.0, closed="right")


Priors: TypeAlias = tuple[Prior, Prior]


@dataclass(frozen=True)
class BayesOptions:
    """The checked options of `bayes`."""

    kind: str
    prior: str | Priors
    too_few: str

    medians = False


def options(
    kind: Literal["online", "offline"] = "online",
    prior: Literal["flat-mean", "empirical"] | Priors = "flat-mean",
    too_few: TooFew = "raise",
) -> BayesOptions:
    """Check the options of `bayes`."""
    if isinstance(prior, (tuple, list)):
        given: list[object] = [*prior]
        if len(given) != 2 or not all(isinstance(of, Prior) for of in given):
            raise TypeError("Expected prior to be (Prior of IN, Prior of OUT) or a name")
        known: str | Priors = (prior[0], prior[1])
    else:
        known = validation.choice("prior", prior, ("flat-mean", "empirical"))
    return BayesOptions(
        validation.choice("kind", kind, ("online", "offline")),
        known,
        validation.choice("too_few", too_few, ("raise", "nan")),
    )


def bayes(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    kind: Literal["online", "offline"] = "online",
    prior: Literal["flat-mean", "empirical"] | Priors = "flat-mean",
    too_few: TooFew = "raise",
) -> Doubles:
    """Score records as `lira` does, with laws that know how uncertain their parameters are.

    Parameters
    ----------
    observed : (N,), (N, A), (S, N) or (S, N, A) array_like
        Signals of a target model, or of S of them, at N records (with A augmentations): margins.
    signals : (K, N) or (K, N, A) array_like
        The same of K shadow models, read where they lie.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    kind : {"online", "offline"}
        The log-ratio of the predictive density IN to that OUT, or -log of the upper tail OUT.
    prior : {"flat-mean", "empirical"} or (Prior, Prior)
        Of variances, fitted to all records, and nothing known of means; of means too; or given, IN
        and OUT.
    too_few : {"raise", "nan"}
        What becomes of records without a model on a side that is needed. With a prior of means none
        is.

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
    The predictive law is Student's, with as many degrees of freedom as the prior is worth and the
    record has models: its tails are as thick as the parameters are uncertain. The prior is that of
    Smyth [1]_ (scaled inverse chi-square). "flat-mean" is the better one at low false-positive
    rates.

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
    chosen = options(kind, prior, too_few)
    shadow = arrays.read(signals, included)
    targets = arrays.targets(observed, shadow)
    return targets.finish(scored(targets.values, moments.of(shadow), chosen))


def scored(x: Doubles, sides: Sides, chosen: BayesOptions) -> Doubles:
    """Score signals by both sides."""
    outside, few_out = _predictive(sides.outside, "OUT", chosen)
    if chosen.kind == "offline":
        z = outside.away(x) / np.sqrt(outside.scale2)
        return np.where(few_out, np.nan, -student.log_tail(z, outside.nu))
    inside, few_in = _predictive(sides.inside, "IN", chosen)
    ratio = student.log_ratio(
        (inside.away(x), inside.scale2, inside.nu), (outside.away(x), outside.scale2, outside.nu)
    )
    return arrays.decided(ratio, few_in | few_out)


@dataclass(frozen=True)
class _BayesLaw:
    """Student's law of each record: location centre + rest, squared scale, degrees of freedom."""

    centre: Doubles
    rest: Doubles
    scale2: Doubles
    nu: Doubles

    def away(self, x: Doubles) -> Doubles:
        return (x - self.centre) - self.rest


def _predictive(side: Side, name: str, chosen: BayesOptions) -> tuple[_BayesLaw, Flags]:
    """Return the laws of a side, and which records have too few models for one."""
    scale, mean, per_strength = _prior(side, name, chosen.prior)
    informed = np.isfinite(per_strength)
    few = ~informed & (side.count < 1)
    if chosen.too_few == "raise":
        arrays.refuse_few(
            few,
            f"a model {name} at least for each record",
            "use more models, a prior of the mean"
            + (", kind='offline'" if name == "IN" else "")
            + " or too_few='nan'",
        )
    count = np.where(informed, side.count, np.maximum(side.count, 1.0))
    # 1 / (k0 + c) and k0 / (k0 + c) from 1 / k0, which is inf for a flat prior.
    with np.errstate(invalid="ignore"):  # where there is nothing to be known
        pull = np.where(informed, 1.0 / (1.0 + count * per_strength), 0.0)
        per_total = np.where(informed, per_strength * pull, 1.0 / np.maximum(count, 1.0))
    gap = np.where(informed, (mean - side.centre) - side.rest, 0.0)
    dof = np.where(informed, side.count, count - 1.0)
    squares = side.squares + pull * side.count * gap * gap
    variance = variances.shrunk(squares, dof, scale)
    law = _BayesLaw(
        side.centre, side.rest + pull * gap, (1.0 + per_total) * variance, scale.dof + dof
    )
    return law, few


def _prior(side: Side, name: str, prior: str | Priors) -> tuple[Scale, Doubles, Doubles]:
    """Return the law of variances, the mean of means, and 1 / k0: inf if nothing is known of it."""
    if not isinstance(prior, str):
        known = prior[0 if name == "IN" else 1]
        per_strength = 1.0 / known.strength if known.strength > 0.0 else np.inf
        scale = Scale(np.asarray(float(known.dof)), np.asarray(float(known.variance)))
        return scale, np.asarray(float(known.mean)), np.asarray(per_strength)
    scale = variances.fitted(side, name)
    if prior == "flat-mean":
        return scale, np.asarray(0.0), np.asarray(np.inf)
    return scale, *_of_means(side, scale, name)


def _of_means(side: Side, scale: Scale, name: str) -> tuple[Doubles, Doubles]:
    """Return the mean of means and their variance in units of the signal's, per augmentation."""
    seen = side.count >= 1
    means = np.where(seen, side.mean, 0.0)
    middle = means.sum(axis=0) / seen.sum(axis=0)
    nu = scale.dof + side.dof
    used = seen & (nu > 2.0)
    if not used.any(axis=0).all():
        raise ValueError(
            f"Expected signals whose variance {name} is known to two degrees of freedom at least "
            "for prior='empirical'; use more models or prior='flat-mean'"
        )
    share = np.where(np.isinf(nu), 1.0, 1.0 - 2.0 / nu)
    v = variances.shrunk(side.squares, side.dof, scale)
    per_count = 1.0 / np.maximum(side.count, 1.0)
    terms = np.where(used, (means - middle) ** 2 * share / v - per_count, 0.0)
    return middle, np.maximum(1e-6, terms.sum(axis=0) / used.sum(axis=0))
