"""Methods of `TradeOff` that read both its ends, make other curves of it, and compare it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leakscore import _validate
from leakscore._premise import joined

if TYPE_CHECKING:
    from leakscore._curve import TradeOff
    from leakscore.tradeoff._certificate import Certificate

__all__ = ["at_least_as_private_as", "best_of", "interval", "subsample"]

_QUANTITIES = (
    *("beta", "power", "log_power", "advantage", "auc", "delta", "epsilon"),
    *("reconstruction", "ppv"),
)


def interval(self: TradeOff, quantity: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Return both certified ends of a quantity; they are equal where the curve is exact.

    Parameters
    ----------
    quantity : str
        "beta", for f(alpha) itself, or the name of the method: "power", "log_power",
        "advantage", "auc", "delta", "epsilon", "reconstruction" or "ppv".
    *args, **kwargs
        The method's arguments.

    Returns
    -------
    low, high : float or ndarray
        From the curves `lower` and `upper`, in order.

    Raises
    ------
    TypeError, ValueError
        If `quantity` is none of these, or as the method does.

    Examples
    --------
    >>> from leakscore.tradeoff import gaussian
    >>> low, high = gaussian(1.0).interval("epsilon", 1e-5)
    >>> bool(low == high)  # a closed form
    True
    """
    chosen = _validate.choice("quantity", quantity, _QUANTITIES)
    method = "__call__" if chosen == "beta" else chosen
    ends = [getattr(curve, method)(*args, **kwargs) for curve in (self.lower, self.upper)]
    return np.minimum(*ends)[()], np.maximum(*ends)[()]


def subsample(self: TradeOff, sample_rate: float) -> TradeOff:
    """Return the curve of a mechanism that the record enters with a probability only.

    Parameters
    ----------
    sample_rate : float
        Probability of the record being in the sample, in (0, 1].

    Returns
    -------
    TradeOff
        (1 - sample_rate)(1 - alpha) + sample_rate f(alpha), of the same kind and adversary. It
        assumes Poisson sampling and a record added or removed (`neighbours` is "add-remove"), and
        with f exact (real-valued) noise. For many steps sub-sample each and then compose:
        composing first means one draw for all.

    Raises
    ------
    ValueError
        If `sample_rate` is outside (0, 1], the curve is of another shape than () and not
        Gaussian, or it is about a record that is replaced: the other one would be sampled as well.
        `gaussian_mean` and `subsampled_mean` are not refused, and stay about replacement: their
        H0, all records drawn from one law, is the same for every sample.

    Notes
    -----
    It does not commute with `inverse`: H0 against the mixture is another problem, the numerical
    inverse of the above. Kaissis et al., "Optimal privacy guarantees for a relaxed threat model"
    (NeurIPS 2023), lemma 9, allows the formula for the inverse too; at mu = 1.5 and a rate of .3 of
    `relaxed_gaussian` that is wrong by up to .048.

    Examples
    --------
    >>> from leakscore.tradeoff import relaxed_laplace
    >>> f = relaxed_laplace(1.5).subsample(0.3)
    >>> print(round(float(f(0.1)), 4), round(float(f.inverse()(0.1)), 4))
    0.8594 0.8705
    """
    rate = _validate.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    from leakscore.tradeoff._algebra import subsampled

    return subsampled(self, rate)


def best_of(self: TradeOff, T: int) -> TradeOff:
    """Return the curve of the attack that takes the largest of T independent scores.

    A record is in one of T batches or in none; each batch is scored with the test that attains f,
    and the record is called a member if the largest score is high.

    Parameters
    ----------
    T : int
        Number of looks, at least 1.

    Returns
    -------
    TradeOff
        Of kind "attack": with a and b of one look, alpha = 1 - (1 - a)^T and beta =
        b (1 - a)^(T - 1).

    Raises
    ------
    ValueError
        If `T` is no integer from 1 on, or the curve is of another shape than ().

    References
    ----------
    Michel, Basu & Kaufmann, sequential membership inference, appendix E.

    Examples
    --------
    >>> from leakscore.tradeoff import gaussian
    >>> f = gaussian(3.0)
    >>> print(round(float(f.power(0.01)), 4), round(float(f.best_of(10).power(0.01)), 4))
    0.7497 0.4694
    """
    looks = _validate.count("T", T, 1)
    from leakscore.tradeoff._algebra import best_of as best

    return best(self, looks)


def at_least_as_private_as(
    self: TradeOff, other: TradeOff, *, tolerance: float = 1e-9
) -> Certificate:
    """Return whether this curve is nowhere below another one, with the evidence.

    Parameters
    ----------
    other : TradeOff
        The curve to compare with; both of shape ().
    tolerance : float
        By how much f(alpha) may fall below the other's beta, in [1e-12, 1). It is absolute: two
        curves that differ only where alpha or beta is smaller are not told apart.

    Returns
    -------
    Certificate
        `verdict` True: f(alpha) >= other(alpha) - tolerance for every alpha in [0, 1], by
        convexity, not on a grid only. False: at `alpha` it is below, beyond rounding. None: it
        cannot be told within the brackets of the two curves.

    Raises
    ------
    TypeError
        If `other` is no `TradeOff`.
    ValueError
        If a curve is of another shape than (), `tolerance` is out of range, or one curve is about
        a record that is replaced and the other about one that is there or not: what bounds the
        tests of one pair of data sets says nothing about another pair.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023), section
    5, dominance of a reference curve.

    Examples
    --------
    >>> from leakscore.tradeoff import gaussian, relaxed_gaussian
    >>> relaxed_gaussian(1.5).at_least_as_private_as(gaussian(1.5)).verdict
    True
    >>> found = gaussian(1.5).at_least_as_private_as(relaxed_gaussian(1.5))
    >>> print(found.verdict, round(found.gap, 3))
    False -0.156
    """
    from leakscore._curve import TradeOff as Curve
    from leakscore.tradeoff._certificate import certify

    reference: TradeOff = _validate.instance("other", other, Curve)  # type: ignore[type-abstract]
    slack = _validate.scalar("tolerance", tolerance, 1e-12, 1.0, closed="left")
    premise = joined([("the curve", self._premise), ("other", reference._premise)])
    found = certify(self, reference, slack)
    return replace(found, neighbours=premise.neighbours, assumptions=premise.assumptions)
