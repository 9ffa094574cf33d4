"""The generalised chi-square law: weighted sums of noncentral chi-square variables."""

from __future__ import annotations

from inspect import Signature
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions._distribution import (
    FUNCTIONS,
    HOME,
    POINT,
    NamedLaw,
    bound,
    docstring,
    option,
    positional,
    publish,
    shown,
)
from leakscore.typing import Doubles, Scalar

_MOST = 1e300  # of df and nc; the moments of larger ones would overflow

_ERROR = (
    POINT,
    "Estimated relative error of the tail beyond `x`, seen from the mean.",
)

_EXAMPLES = {
    "pdf": ("[-1.0, 2.0], [1.0, -0.5], 1, 0", "[0.10703007, 0.07934168]"),
    "logpdf": ("[-1e4], [1.0, -0.5], 1, 0", "[-10005.72685794]"),
    "cdf": ("[-300.0, 2.0], [1.0, -0.5], 1, 0", "[9.66047450e-133, 8.77149502e-001]"),
    "sf": ("[400.0], [1.0, 0.5, 0.25], 2, [0.0, 1.0, 9.0]", "[2.72685042e-86]"),
    "logcdf": ("[1e-9], [1.0, 0.5, 0.25], 20, 0", "[-696.35621146]"),
    "logsf": ("[1e5], [1.0, 0.5], 1, 0, sigma=3.0", "[-50004.51066299]"),
    "ppf": ("[0.5, 1e-300], [1.0, -0.5], 1, 0", "[ 1.40504691e-01, -6.86387167e+02]"),
    "isf": ("[0.05], [1.0, 0.5], 1, 0, offset=7.0", "[11.62828301]"),
    "ilogcdf": ("[-5000.0], [1.0, -0.5], 1, 0", "[-4994.62013715]"),
    "ilogsf": ("[-5000.0], [1.0, -0.5], 1, 0", "[9989.93338547]"),
    "error": ("[-1.0], [1.0, 0.5], 2, 1", "[0.]"),
}


_NOTES = """A trapezoid sum on a hyperbola through a saddle point of the moment generating function
(Rice 1980, SIAM J. Sci. Stat. Comput. 1, 438-448, has such contours for sums with positive
weights), with its exponent in 32 digits. Unlike the integrals of Imhof (1961, Biometrika 48,
419-426) and Davies (1980, Applied Statistics 29, 323-333) it has a small relative error in both
tails: below 1e-12 for tails down to 1e-300, and for logarithms far beyond. `error` estimates it
from every other node of the sum and from the size of its summands. Of df below 1e-3 the errors of a
density and of the tail that holds nearly nothing grow as 1e-14 / df, and so does `error`.

Beyond log tails of -1e18 the saddle point's first order has all digits of the logarithm. At nc
beyond some 1e27 doubles are too far apart for the sum: the normal law stands in where Edgeworth's
first terms are below 1e-13 of the tail, and elsewhere no number is returned.

The rounding of the arguments is not covered: a relative error of 1e-16 in `x` changes a tail by
1e-16 `x` times the hazard. The time grows with the number of different weights, and not with `df`
or `nc`."""
_RAISES = """ValueError
    If there is no term or all weights are zero, if a parameter is out of its range or not finite,
    or if `weights`, `df` and `nc` do not broadcast.
RuntimeError
    If the quadrature does not converge, as for df below 1e-9 or in tails at nc beyond 1e27: no best
    guess is returned.
"""
_REMEDY = (
    "df must be at least 1e-9 and nc, in tails, at most 1e27, beyond which norm of the same mean "
    "and variance is near"
)
_KINDS = {"weights": "array_like (k,)", "df": "float or array_like (k,)"}
_PARAMETERS = {
    "weights": "Of either sign, not all zero. Zeros are left out, equal weights are merged.",
    "df": "Degrees of freedom, above zero, at most 1e300.",
    "nc": "Noncentralities, from 0 to 1e300.",
}
_OPTIONS = """sigma : float, default 0.0
    Standard deviation of the normal term.
offset : float, default 0.0
    Added to the sum.
"""


class WeightedSum(Protocol):
    """The value at every element of the first argument, for weights, df, nc, sigma and offset."""

    @overload
    def __call__(self, x: Scalar, /, *law: npt.ArrayLike, **more: npt.ArrayLike) -> float: ...
    @overload
    def __call__(
        self, x: npt.ArrayLike, /, *law: npt.ArrayLike, **more: npt.ArrayLike
    ) -> Doubles: ...


class GeneralizedChiSquare(NamedLaw[WeightedSum]):
    """The law of ``sum_i weights[i] * chi2'(df[i], nc[i]) + sigma * Z + offset``.

    Here chi2'(df, nc) are independent noncentral chi-square variables and Z is standard normal.
    Users do not make it: the law is the object `gx2` of this module.

    Examples
    --------
    >>> from leakscore.distributions import chi2, gx2
    >>> gx2.sf([10.0, 1000.0], [2.0, 2.0], 1, 0)  # twice a chi-square variable with df 2
    array([8.20849986e-002, 2.66919022e-109])
    >>> gx2.isf([1e-300], [2.0, 2.0], 1, 0) / chi2.isf([1e-300], 2)
    array([2.])
    """

    _name = "gx2"

    error: WeightedSum

    def __init__(self) -> None:
        for name, (argument, summary) in (FUNCTIONS | {"error": _ERROR}).items():
            setattr(self, name, _function(name, argument, summary))


GeneralizedChiSquare.__module__ = HOME


def _function(name: str, argument: tuple[str, str], summary: str) -> WeightedSum:
    compiled, public = getattr(_core, f"gx2_{name}"), f"gx2.{name}"
    first, arguments = argument[0], dict([argument, *_PARAMETERS.items()])
    options = [option(parameter, 0.0, float) for parameter in ("sigma", "offset")]
    signature = Signature([*positional(arguments), *options], return_annotation=float | Doubles)

    def call(*args: Any, sigma: float = 0.0, offset: float = 0.0, **kwargs: Any) -> Any:
        points, *terms = bound(public, signature, args, kwargs)
        points = np.asarray(_plain(first, points), dtype=np.float64)
        law = _law(*terms, sigma=sigma, offset=offset)
        try:
            values = compiled(np.ascontiguousarray(points).reshape(points.shape), *law)
        except RuntimeError as error:
            raise RuntimeError(f"{public}: {error}; {_REMEDY}") from None
        return values[()]

    outside = "; 0\n    outside the support, where the tails are exact" if name == "error" else ""
    doc = docstring(
        summary,
        arguments,
        _NOTES,
        shown(public, _EXAMPLES[name]),
        kinds=_KINDS | {"nc": _KINDS["df"]},
        options=_OPTIONS,
        returns=f"""float or ndarray of float64
    One value for each element of `{first}`; NaN where it is NaN{outside}.""",
        raises=_RAISES,
    )
    publish(call, public, doc, signature)
    return call  # type: ignore[return-value]


def _law(weights: Any, df: Any, nc: Any, *, sigma: Any, offset: Any) -> tuple[Any, ...]:
    """Check the parameters and return them as the compiled functions take them."""
    weights = validation.vector("weights", _plain("weights", weights))
    if not weights.any():
        raise ValueError("weights must not be all zero")
    df = validation.vector("df", _per_term("df", df), low=0.0, high=_MOST, open_low=True)
    nc = validation.vector("nc", _per_term("nc", nc), low=0.0, high=_MOST)
    terms = validation.broadcast(weights=weights, df=df, nc=nc)
    sigma = validation.scalar("sigma", sigma, 0.0)
    offset = validation.scalar("offset", offset)
    return *(np.ascontiguousarray(values) for values in terms), sigma, offset


def _plain(name: str, value: object) -> Any:
    """Return what a ufunc reads; refuse masks, which the result would not carry over."""
    validation.unmasked(name, value)
    return validation.elementwise(name, value)


def _per_term(name: str, value: object) -> Any:
    """Broadcast one number to all terms."""
    array = _plain(name, value)
    return np.reshape(array, 1) if np.ndim(array) == 0 else array


gx2 = GeneralizedChiSquare()
