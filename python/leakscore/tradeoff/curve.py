"""The trade-off curve as an object: what its numbers mean, whatever the family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Protocol, cast, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.tradeoff.family import CurveFamily, aligned
from leakscore.tradeoff.premise import Certificate, joined
from leakscore.typing import Doubles, Many, Scalar, Value

_DIRECTIONS = ("forward", "reverse", "both")
_QUANTITIES = (
    *("beta", "power", "log_power", "advantage", "auc", "delta", "epsilon"),
    *("reconstruction", "ppv", "bayes"),
)


class Operations(Protocol):
    """What makes other curves of a curve, or compares two; it knows the families of curves."""

    def subsampled(self, curve: TradeOff[Any], rate: float) -> TradeOff[Any]:
        """Give the curve of a record that is included with probability `rate`."""

    def best_of(self, curve: TradeOff[Any], looks: int) -> TradeOff[Any]:
        """Give the curve of the largest of `looks` scores."""

    def certify(self, curve: TradeOff[Any], other: TradeOff[Any], tolerance: float) -> Certificate:
        """Give the certificate of curve >= other - tolerance."""


class TradeOff(CurveFamily[Value]):
    """A trade-off curve, or an array of them; made by a constructor such as `gaussian`.

    A family computes the quantities of its curves on arrays that are in range (the methods with an
    underscore). This class alone defines what they mean and what is refused.

    Attributes
    ----------
    shape : tuple of int
        Shape of the parameters, and so of every quantity without an argument.
    kind : {"guarantee", "attack"}
        ``"guarantee"``: no test does better. ``"attack"``: one test attains the curve, others may
        do better, so that its epsilon is a lower bound.
    adversary : str
        What the attacker knows that the curve describes.
    neighbours : {"replace", "add-remove"} or None
        How the two data sets differ: another record in the record's place, or the record present
        or absent. None where the curve fits either reading, as that of two given laws does.
    assumptions : tuple of str
        What the curve assumes about the mechanism, in words.
    null : {"without", "with", "either"}
        The data set of H0, for which alpha is the share that a test flags. Curves are made with H0
        "without" the record; `inverse` makes it "with", and `symmetrized` makes the curve one for
        "either". A curve that is its own inverse stays as it is.

    Notes
    -----
    For a type checker `TradeOff` is one curve, whose numbers are floats; ``TradeOff[NDArray]`` is
    an array of curves. A function that takes either says ``TradeOff[Any]``.

    A subclass calls ``super().__init__(shape, kind, adversary)``; if it is made from another curve
    f, it also passes ``f.neighbours, f.assumptions, f.null``, so that they are kept. It defines the
    methods with an underscore: ``_rates``, or ``_beta``, ``_power`` and ``_log_power`` where they
    have closed forms; ``_auc``, ``_delta`` and ``_epsilon``; and ``_advantage`` or
    ``_alpha_per_power`` where delta(0) or epsilon(0) is not its best form. `inverse` and
    `symmetrized` call ``_inverse`` and ``_symmetrized``, which return the curve itself if it is
    symmetric.

    Examples
    --------
    >>> from leakscore.tradeoff import gaussian, subsampled_gaussian
    >>> f = gaussian(1.0)
    >>> f.kind, f.adversary, f.shape, f.neighbours
    ('guarantee', 'informed', (), None)
    >>> subsampled_gaussian(1.0, 0.01, 1000).symmetrized().neighbours
    'add-remove'
    >>> print(round(float(f(0.05)), 4), round(float(f.power(0.05)), 4))
    0.7405 0.2595
    """

    __slots__ = ()

    operations: ClassVar[Operations]
    """Given by `leakscore.tradeoff`, once the families, which are subclasses, are there."""

    def _inverse(self) -> TradeOff[Value]:
        """Give the least alpha at each beta; itself, if it is symmetric."""
        raise NotImplementedError  # of a class of a user that defines `inverse`

    def _symmetrized(self) -> TradeOff[Value]:
        """Give the lower convex hull of the curve and its inverse; itself, if it is symmetric."""
        raise NotImplementedError

    def inverse(self) -> TradeOff[Value]:
        """Return the curve with the hypotheses swapped: the least alpha at each beta.

        Of a curve that is not symmetric H0 becomes "with the record" (`null`), and operations that
        mix the laws of H0 and H1 refuse it.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> f = gaussian(1.0)
        >>> f.inverse() is f  # a Gaussian curve is symmetric
        True
        """
        swapped = self._inverse()
        return swapped if swapped is self else swapped._about(self._premise.swapped())

    def symmetrized(self) -> TradeOff[Value]:
        """Return the lower convex hull of the curve and its inverse.

        It bounds an attacker who may choose which hypothesis to accuse. Its epsilon and delta are
        those of the curve in direction ``"both"``.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> f = gaussian(1.0)
        >>> f.symmetrized() is f
        True
        """
        hull = self._symmetrized()
        return hull if hull is self else hull._about(self._premise._replace(null="either"))

    @property
    def lower(self) -> TradeOff[Value]:
        """The curve below which no attacker of this kind gets: itself, where the curve is exact."""
        return self

    @property
    def upper(self) -> TradeOff[Value]:
        """The curve that an attacker of this kind attains: itself, where the curve is exact."""
        return self

    @overload
    def __call__(self, alpha: Scalar) -> Value: ...
    @overload
    def __call__(self, alpha: npt.ArrayLike) -> Doubles: ...
    def __call__(self, alpha: npt.ArrayLike) -> Value | Doubles:
        """Return f(alpha), the least false negative rate.

        Parameters
        ----------
        alpha : array_like
            False positive rate, in [0, 1].

        Returns
        -------
        float or ndarray, shape ``f.shape + alpha.shape``

        Raises
        ------
        ValueError
            If `alpha` is outside [0, 1] or NaN.
        """
        rate = validation.interval("alpha", alpha, 0.0, 1.0)
        beta = self._beta(rate)
        return beta if self._rounded_down else cast("Value", _core.at_most_rest(beta, rate))

    @overload
    def power(self, alpha: Scalar) -> Value: ...
    @overload
    def power(self, alpha: npt.ArrayLike) -> Doubles: ...
    def power(self, alpha: npt.ArrayLike) -> Value | Doubles:
        """Return 1 - f(alpha), the largest true positive rate, without that subtraction.

        Parameters
        ----------
        alpha : array_like
            False positive rate, in [0, 1].

        Returns
        -------
        float or ndarray, shape ``f.shape + alpha.shape``

        Raises
        ------
        ValueError
            If `alpha` is outside [0, 1] or NaN.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(gaussian([1.0, 3.0]).power(0.01).round(4))
        [0.0924 0.7497]
        """
        return self._power(validation.interval("alpha", alpha, 0.0, 1.0))

    @overload
    def log_power(self, log_alpha: Scalar) -> Value: ...
    @overload
    def log_power(self, log_alpha: npt.ArrayLike) -> Doubles: ...
    def log_power(self, log_alpha: npt.ArrayLike) -> Value | Doubles:
        """Return log power from log alpha, for rates below the smallest double.

        Parameters
        ----------
        log_alpha : array_like
            Natural logarithm of the false positive rate, in [-inf, 0].

        Returns
        -------
        float or ndarray, shape ``f.shape + log_alpha.shape``

        Raises
        ------
        ValueError
            If `log_alpha` is positive or NaN.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(round(float(gaussian(3.0).log_power(-1e6)), 3))
        -995761.875
        """
        return self._log_power(validation.interval("log_alpha", log_alpha, -np.inf, 0.0))

    def advantage(self) -> Value:
        """Return the largest power(alpha) - alpha, which is delta(0).

        Returns
        -------
        float or ndarray, shape ``f.shape``

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(round(float(gaussian(1.0).advantage()), 4))
        0.3829
        """
        return self._advantage()

    def auc(self) -> Value:
        """Return the area under the ROC curve, the integral of power over alpha.

        Returns
        -------
        float or ndarray, shape ``f.shape``

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(round(float(gaussian(1.0).auc()), 4))
        0.7602
        """
        return self._auc()

    @overload
    def delta(self, epsilon: Scalar, direction: str = ...) -> Value: ...
    @overload
    def delta(self, epsilon: npt.ArrayLike, direction: str = ...) -> Doubles: ...
    def delta(self, epsilon: npt.ArrayLike, direction: str = "both") -> Value | Doubles:
        """Return the privacy profile: the delta that the curve needs at this epsilon.

        Parameters
        ----------
        epsilon : array_like
            Any real number or +-inf; negative values are allowed.
        direction : {"both", "forward", "reverse"}
            ``"forward"`` is H1 against H0, the largest 1 - f(alpha) - e^epsilon alpha;
            ``"reverse"`` is the same for the inverse curve; ``"both"`` is the larger, the only
            direction that is an (epsilon, delta)-DP statement.

        Returns
        -------
        float or ndarray, shape ``f.shape + epsilon.shape``

        Raises
        ------
        ValueError
            If `epsilon` is NaN or `direction` is unknown.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(round(float(gaussian(1.0).delta(1.0)), 4))
        0.1269
        """
        argument = validation.interval("epsilon", epsilon)
        return self._largest(direction, lambda curve: curve._delta(argument))

    @overload
    def epsilon(self, delta: Scalar, direction: str = ...) -> Value: ...
    @overload
    def epsilon(self, delta: npt.ArrayLike, direction: str = ...) -> Doubles: ...
    def epsilon(self, delta: npt.ArrayLike, direction: str = "both") -> Value | Doubles:
        """Return the least epsilon >= 0 that the curve allows at this delta.

        Parameters
        ----------
        delta : array_like
            In [0, 1].
        direction : {"both", "forward", "reverse"}
            As in `delta`.

        Returns
        -------
        float or ndarray, shape ``f.shape + delta.shape``
            0 where delta is at least the advantage; inf where no finite epsilon suffices.

        Raises
        ------
        ValueError
            If `delta` is outside [0, 1] or NaN, or `direction` is unknown.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(round(float(gaussian(1.0).epsilon(1e-5)), 4))
        4.3772
        """
        argument = validation.interval("delta", delta, 0.0, 1.0)
        return self._largest(direction, lambda curve: curve._epsilon(argument))

    @overload
    def reconstruction(self, kappa: Scalar) -> Value: ...
    @overload
    def reconstruction(self, kappa: npt.ArrayLike) -> Doubles: ...
    def reconstruction(self, kappa: npt.ArrayLike) -> Value | Doubles:
        """Return 1 - f(kappa), the bound of reconstruction robustness (ReRo).

        Parameters
        ----------
        kappa : array_like
            Largest probability, in [0, 1], with which the attacker's prior alone reconstructs a
            record well enough.

        Returns
        -------
        float or ndarray, shape ``f.shape + kappa.shape``
            Bound on the probability, given the output, that any attacker of this kind reconstructs
            the record well enough; of a curve known within bounds, by its lower end. `kappa`, and
            the bound, are given what else the attacker knows, such as all other records.

        Raises
        ------
        ValueError
            If `kappa` is outside [0, 1] or NaN, H0 is "with" the record, after `inverse`, or the
            curve is of kind "attack": other attacks may reconstruct more.

        References
        ----------
        Balle, Cherubin & Hayes, "Reconstructing training data with informed adversaries" (2022,
        arXiv 2201.04845) define reconstruction robustness; Hayes, Mahloujifar & Balle, "Bounding
        training data reconstruction in DP-SGD" (NeurIPS 2023, arXiv 2302.07225) bound it by blow-up
        functions; Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS
        2023), by trade-off functions.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(round(float(gaussian(1.0).reconstruction(0.1)), 4))
        0.3891
        """
        if self.null == "with":
            self._require_null("reconstruction", "ask the curve before `inverse`")
        if self.kind == "attack":
            raise ValueError(
                f"{self!r} must be of kind 'guarantee' for reconstruction, not 'attack': other "
                "attacks may reconstruct more; ask the mechanism's own curve"
            )
        return self._power(validation.interval("kappa", kappa, 0.0, 1.0))

    @overload
    def ppv(self, alpha: Scalar, prior: Scalar) -> Value: ...
    @overload
    def ppv(self, alpha: npt.ArrayLike, prior: npt.ArrayLike) -> Doubles: ...
    def ppv(self, alpha: npt.ArrayLike, prior: npt.ArrayLike) -> Value | Doubles:
        """Return the positive predictive value: how likely a flagged record is a member.

        Parameters
        ----------
        alpha : array_like
            False positive rate of the test, in [0, 1]; at 0 the limit from the right.
        prior : array_like
            Share of members among those tested, in [0, 1]; broadcast against `alpha`. Of H1, that
            is: after `inverse` the share of non-members.

        Returns
        -------
        float or ndarray, shape ``f.shape`` + the broadcast shape
            prior power / (prior power + (1 - prior) alpha); 0 where `prior` is 0.

        Raises
        ------
        ValueError
            If `alpha` or `prior` is outside [0, 1] or NaN, or their shapes do not broadcast.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(round(float(gaussian(3.0).ppv(0.01, prior=0.001)), 4))
        0.0698
        """
        rate, base = validation.broadcast(
            alpha=validation.interval("alpha", alpha, 0.0, 1.0),
            prior=validation.interval("prior", prior, 0.0, 1.0),
        )
        power = np.asarray(self._power(rate))
        ratio = np.array(np.broadcast_to(aligned(self._alpha_per_power(), rate), power.shape))
        np.divide(rate, power, out=ratio, where=power > 0.0)
        flagged = base + (1.0 - base) * ratio
        value: Value | Doubles = np.divide(
            base, flagged, out=np.zeros_like(flagged), where=flagged > 0.0
        )[()]
        return value

    @overload
    def bayes(self, prior: Scalar) -> Value: ...
    @overload
    def bayes(self, prior: npt.ArrayLike) -> Doubles: ...
    def bayes(self, prior: npt.ArrayLike) -> Value | Doubles:
        """Return how often the best guess is right, for an attacker with this prior.

        Parameters
        ----------
        prior : array_like
            Probability of the record being in the data, in [0, 1]. Without the release the best
            guess is right with probability max(prior, 1 - prior).

        Returns
        -------
        float or ndarray, shape ``f.shape + prior.shape``
            The largest prior power(alpha) + (1 - prior)(1 - alpha).

        Raises
        ------
        ValueError
            If `prior` is outside [0, 1] or NaN.

        Notes
        -----
        With r = (1 - prior) / prior it is 1 - prior + prior delta(log r), delta in direction
        "forward". The error, 1 less it, is called Bayes risk.

        References
        ----------
        Chatzikokolakis, Palamidessi & Panangaden, "On the Bayes risk in information-hiding
        protocols" (Journal of Computer Security 2008).

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian
        >>> print(gaussian(1.0).bayes([0.1, 0.5, 0.9]).round(4))
        [0.9013 0.6915 0.9013]
        """
        given = validation.interval("prior", prior, 0.0, 1.0)
        member, other = (given, 1.0 - given) if self.null != "with" else (1.0 - given, given)
        with np.errstate(divide="ignore"):
            gain = np.asarray(self._delta(np.log(other) - np.log(member)))
        success: Value | Doubles = np.maximum(other + member * gain, np.maximum(other, member))[()]
        return success

    @overload
    def interval(
        self, quantity: str, *args: Scalar, **kwargs: Scalar | str
    ) -> tuple[Value, Value]: ...
    @overload
    def interval(
        self, quantity: str, *args: Many, **kwargs: npt.ArrayLike
    ) -> tuple[Doubles, Doubles]: ...
    @overload
    def interval(self, quantity: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]: ...
    def interval(self, quantity: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return both certified ends of a quantity; they are equal where the curve is exact.

        Parameters
        ----------
        quantity : str
            "beta", for f(alpha) itself, or the name of the method: "power", "log_power",
            "advantage", "auc", "delta", "epsilon", "reconstruction", "ppv" or "bayes".
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
        >>> low == high  # a closed form
        True
        """
        chosen = validation.choice("quantity", quantity, _QUANTITIES)
        method = "__call__" if chosen == "beta" else chosen
        if chosen == "reconstruction":
            self.reconstruction(*args, **kwargs)  # refuses a curve that bounds none
            method, args, kwargs = "power", (*args, *kwargs.values()), {}
        ends = [getattr(curve, method)(*args, **kwargs) for curve in (self.lower, self.upper)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        return (low, high) if np.ndim(low) else (low.item(), high.item())

    def subsample(self, sample_rate: float) -> TradeOff[Value]:
        """Return the curve of a mechanism that the record enters only with some probability.

        Parameters
        ----------
        sample_rate : float
            Probability of the record being in the sample, in (0, 1].

        Returns
        -------
        TradeOff
            (1 - sample_rate)(1 - alpha) + sample_rate f(alpha), of the same kind and adversary. It
            assumes Poisson sampling and a record added or removed (`neighbours` is "add-remove"),
            and, with f, exact (real-valued) noise. For many steps sub-sample each and then compose:
            composing first means one draw for all steps.

        Raises
        ------
        ValueError
            If `sample_rate` is outside (0, 1], the curve has another shape than () and is not
            Gaussian, or it is about a record that is replaced: the other record would be sampled
            too. `gaussian_mean` and `subsampled_mean` are accepted and remain about replacement:
            their H0, all records drawn from one law, is the same for every sample. If H0 is not
            "without" the record, after `inverse` or `symmetrized` of a curve that is not symmetric.

        Notes
        -----
        It does not commute with `inverse`: H0 against the mixture is another problem, the numerical
        inverse of the above. A mixture of the inverse is the curve of no mechanism: sub-sample
        first, then invert; and then take the hull, which would only be a loose bound if it were
        mixed. Kaissis et al., "Optimal privacy guarantees for a relaxed threat
        model" (NeurIPS 2023), lemma 9, allows the formula for the inverse too; for
        `relaxed_gaussian` at mu = 1.5 and a rate of .3 that is wrong by up to .048.

        Examples
        --------
        >>> from leakscore.tradeoff import relaxed_laplace
        >>> f = relaxed_laplace(1.5).subsample(0.3)
        >>> print(round(float(f(0.1)), 4), round(float(f.inverse()(0.1)), 4))
        0.8594 0.8705
        """
        rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
        self._require_null("subsample", "sub-sample first, then invert")
        curve: TradeOff[Value] = self.operations.subsampled(self, rate)
        return curve

    def best_of(self, T: int) -> TradeOff:
        """Return the curve of the attack that takes the largest of T independent scores.

        A record is in one of T batches or in none; each batch is scored with the test that attains
        f, and the record is called a member if the largest score is high.

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
            If `T` is not an integer from 1 on, the curve has another shape than (), or H0 is not
            "without" the record, after `inverse` or `symmetrized` of a curve that is not symmetric.

        Notes
        -----
        ``symmetrized()`` of the result has exact delta, epsilon and advantage. Its f and power are
        read off chords between points of the curve and its inverse: f lies up to 1e-7 above the
        hull and the power as much below, for the lower end of a bracket too: add 1e-7 there.
        Log powers are at least those of the curve and of its inverse. A delta within 1e-14 of the
        power at alpha 0, which is rounded, has the epsilon of a delta 1e-14 above.

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
        self._require_null("best_of", "take the best first, then invert")
        curve: TradeOff = self.operations.best_of(self, validation.count("T", T, 1))
        return curve

    def at_least_as_private_as(self, other: TradeOff, *, tolerance: float = 1e-9) -> Certificate:
        """Return whether this curve is nowhere below another one, with the evidence.

        Both curves have the same H0 (`null`), unless one is its own inverse or a hull: a curve
        above another one's inverse says nothing about two mechanisms.

        Parameters
        ----------
        other : TradeOff
            The curve to compare with; both have shape ().
        tolerance : float
            By how much f(alpha) may fall below the other's beta, in [1e-12, 1). It is absolute: it
            does not distinguish curves that differ only where alpha or beta is smaller.

        Returns
        -------
        Certificate
            `verdict` True: f(alpha) >= other(alpha) - tolerance for every alpha in [0, 1], by
            convexity, not on a grid only. False: at `alpha` it is below, beyond rounding. None:
            the brackets of the two curves do not decide it.

        Raises
        ------
        TypeError
            If `other` is no `TradeOff`.
        ValueError
            If a curve has another shape than (), `tolerance` is out of range, only one of two
            curves that are not symmetric is inverted, or one curve is about a replaced record and
            the other about a present or absent one: a bound on the tests of one pair of data sets
            says nothing about another pair.

        References
        ----------
        Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023),
        section 5, dominance of a reference curve.

        Examples
        --------
        >>> from leakscore.tradeoff import gaussian, relaxed_gaussian
        >>> relaxed_gaussian(1.5).at_least_as_private_as(gaussian(1.5)).verdict
        True
        >>> found = gaussian(1.5).at_least_as_private_as(relaxed_gaussian(1.5))
        >>> print(found.verdict, round(found.gap, 3))
        False -0.156
        """
        reference: TradeOff = validation.instance("other", other, TradeOff)  # type: ignore[type-abstract]
        slack = validation.scalar("tolerance", tolerance, 1e-12, 1.0, closed="left")
        premise = joined([("the curve", self._premise), ("other", reference._premise)])
        ordered = {curve.null for curve in (self, reference) if curve.inverse() is not curve}
        if ordered >= {"with", "without"}:
            raise ValueError(
                f"other={reference!r} must have H0 {self.null!r} the record, as {self!r}, not "
                f"{reference.null!r}: invert both or none"
            )
        certificate: Certificate = self.operations.certify(self, reference, slack)
        return replace(certificate, neighbours=premise.neighbours, assumptions=premise.assumptions)

    def _require_null(self, operation: str, remedy: str) -> None:
        """Refuse a curve of which H0 is not "without" the record."""
        if self.null != "without":
            raise ValueError(
                f"{self!r} must have H0 'without' the record for {operation}, not "
                f"{self.null!r}: {remedy}"
            )

    def _largest(self, direction: str, number: Callable[[TradeOff[Value]], Any]) -> Value | Doubles:
        """Give the largest number of the curves whose forward reading counts in this direction."""
        chosen = validation.choice("direction", direction, _DIRECTIONS)
        inverse = self.inverse()
        if chosen == "forward" or inverse is self:
            largest = number(self)
        elif chosen == "reverse":
            largest = number(inverse)
        else:
            largest = np.maximum(number(self), number(inverse))
        return cast("Value", np.asarray(largest)[()])


class Symmetric(TradeOff[Value]):
    """A curve that is its own inverse."""

    __slots__ = ()

    def _inverse(self) -> TradeOff[Value]:
        return self

    def _symmetrized(self) -> TradeOff[Value]:
        return self


def require_one(curve: TradeOff[Any], remedy: str) -> None:
    """Refuse an array of curves, with what to do instead."""
    if curve.shape:
        raise ValueError(f"A curve of shape {curve.shape} must be of shape (): {remedy}")
