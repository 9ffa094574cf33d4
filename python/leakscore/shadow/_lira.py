"""LiRA: normal densities of a record's signal IN and OUT, from shadow models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.distributions import norm
from leakscore.shadow.sides import arrays, moments, variances
from leakscore.shadow.sides.arrays import TooFew
from leakscore.shadow.sides.moments import Side, Sides
from leakscore.typing import Doubles

Kind: TypeAlias = Literal["online", "offline", "offline-two-sided"]
Variance: TypeAlias = Literal["per-record", "pooled", "shrunk"]
Location: TypeAlias = Literal["mean", "median"]


@dataclass(frozen=True)
class LiraOptions:
    """The checked options of `lira`."""

    kind: str
    variance: str
    location: str
    too_few: str

    @property
    def medians(self) -> bool:
        """Whether locations are medians."""
        return self.location == "median"


def options(
    kind: Kind = "online",
    variance: Variance = "per-record",
    location: Location = "mean",
    too_few: TooFew = "raise",
) -> LiraOptions:
    """Check the options of `lira`."""
    return LiraOptions(
        validation.choice("kind", kind, ("online", "offline", "offline-two-sided")),
        variances.kind(variance),
        validation.choice("location", location, ("mean", "median")),
        validation.choice("too_few", too_few, ("raise", "nan")),
    )


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
        The same of K shadow models, read where they lie (memory maps too), float32 or float64.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    kind : {"online", "offline", "offline-two-sided"}
        The log-ratio of the density IN to that OUT; -log of the upper tail OUT; -log of both tails
        OUT. The last two need no model that was trained on the record. The third, in the place of
        the second, is what code that circulates computes: a signal far below the others then counts
        as a sign of membership.
    variance : {"per-record", "pooled", "shrunk"}
        Of each record's own models; one for all records on each side, centred within records; or
        each record's own, drawn to a common value as far as all records agree.
    location : {"mean", "median"}
        Centre of each law. Variances are about the mean with either.
    too_few : {"raise", "nan"}
        What becomes of records with too few models on a side that is needed: two for "per-record",
        otherwise one.

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
    A variance of few models is itself uncertain, and the plug-in score pays for it in the tail:
    with 16 models or fewer use `variance="shrunk"`, `bayes` or `choose`. The target must not be
    among the shadow models: to score each of these by the others there is `leave_one_model_out`.

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
    chosen = options(kind, variance, location, too_few)
    shadow = arrays.read(signals, included)
    targets = arrays.targets(observed, shadow)
    sides = moments.of(shadow, medians=chosen.medians)
    return targets.finish(scored(targets.values, sides, chosen))


def scored(x: Doubles, sides: Sides, chosen: LiraOptions) -> Doubles:
    """Score signals by both sides."""
    if chosen.kind != "online":
        return from_deviations(deviations(x, sides, chosen), chosen)
    v_out, few_out = _variance(sides.outside, "OUT", chosen)
    v_in, few_in = _variance(sides.inside, "IN", chosen)
    e_out, e_in = sides.outside.centred(x), sides.inside.centred(x)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = e_out * (e_out / v_out) - e_in * (e_in / v_in)
    return arrays.decided(0.5 * (squares + np.log(v_out / v_in)), few_in | few_out)


def deviations(x: Doubles, sides: Sides, chosen: LiraOptions) -> Doubles:
    """Return how many standard deviations signals lie above the models OUT."""
    v, few = _variance(sides.outside, "OUT", chosen)
    z = sides.outside.centred(x) / np.sqrt(v)
    return np.where(few, np.nan, z)


def from_deviations(z: Doubles, chosen: LiraOptions) -> Doubles:
    """Return -log of the tail, or of both."""
    if chosen.kind == "offline":
        return np.asarray(-norm.logsf(z))
    return np.asarray(-np.minimum(norm.logsf(np.abs(z)) + np.log(2.0), 0.0))


def _variance(side: Side, name: str, chosen: LiraOptions) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Return the variances, 1 for records with too few models, and which these are."""
    least = 2 if chosen.variance == "per-record" else 1
    few = side.count < least
    if chosen.too_few == "raise":
        arrays.refuse_few(
            few,
            f"{least} model{'s' * (least > 1)} {name} at least for each record",
            "use more models, "
            + ("variance='shrunk', leakscore.shadow.bayes, " if least == 2 else "")
            + ("kind='offline', " if name == "IN" else "")
            + "or too_few='nan'",
        )
    v = variances.chosen(side, chosen.variance, name)
    arrays.refuse_few(
        ~few & ~(v > 0.0),
        f"signals that vary between the models {name}, a variance above 0,",
        "use variance='shrunk' or leakscore.shadow.bayes",
    )
    return np.where(few, 1.0, v), few
