"""Laws of the scores and their tails, with relative accuracy far into both.

Each law has ``pdf, logpdf, cdf, sf, logcdf, logsf, ppf, isf``, named and ordered as in
`scipy.stats`, and the quantiles ``ilogcdf, ilogsf`` of log-probabilities. They are thin functions
over true numpy ufuncs (``norm.cdf.ufunc``): arrays broadcast, float32 and float64 of any layout are
read where they are, dask arrays and other holders of ``__array_ufunc__`` keep their type.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate

__all__ = ["Distribution", "norm"]

_POINT = ("x", "Where to evaluate.")
_MASS = ("q", "Probability; outside [0, 1] the result is NaN.")
_LOG_MASS = ("logp", "Log of a probability (any negative number, however large); above 0: NaN.")

# function: its argument, what it computes
_FUNCTIONS = {
    "pdf": (_POINT, "Probability density at `x`."),
    "logpdf": (_POINT, "Log of the probability density at `x`, far beyond its underflow."),
    "cdf": (_POINT, "Probability of at most `x`, to full relative accuracy in both tails."),
    "sf": (_POINT, "Probability of more than `x`, to full relative accuracy in both tails."),
    "logcdf": (_POINT, "Log of the probability of at most `x`, far beyond its underflow."),
    "logsf": (_POINT, "Log of the probability of more than `x`, far beyond its underflow."),
    "ppf": (_MASS, "Quantile: the point with probability `q` at or below it."),
    "isf": (_MASS, "Upper quantile: the point with probability `q` above it."),
    "ilogcdf": (_LOG_MASS, "Quantile of a log-probability: the point where `logcdf` is `logp`."),
    "ilogsf": (_LOG_MASS, "Upper quantile of a log-probability: where `logsf` is `logp`."),
}


class Elementwise(Protocol):
    """A function of arrays over a numpy ufunc; `help` shows the names of its arguments."""

    ufunc: np.ufunc

    def __call__(
        self,
        *args: npt.ArrayLike,
        out: npt.NDArray[Any] | tuple[npt.NDArray[Any]] | None = None,
        where: npt.ArrayLike = True,
        dtype: npt.DTypeLike | None = None,
        **kwargs: npt.ArrayLike,
    ) -> Any:
        """Evaluate at every element."""


class Distribution:
    """One law: densities, both tails, their logs and all inverses.

    Not to be made by users: the laws are the objects of this module.

    Parameters
    ----------
    name : str
        The module's name of the law, and the prefix of its compiled ufuncs.
    parameters : dict of str to str
        Names and meanings of the parameters, in order, after the point or probability.
    notes : str
        The law and the accuracy of its functions.
    examples : dict of str to str
        A doctest for each function.

    Examples
    --------
    >>> from leakscore.distributions import norm
    >>> norm.isf([0.05, 1e-300])
    array([ 1.64485363, 37.0470963 ])
    >>> norm.ilogsf([-1e6])  # the probability itself, exp(-1e6), is no double
    array([1414.20778299])
    """

    pdf: Elementwise
    logpdf: Elementwise
    cdf: Elementwise
    sf: Elementwise
    logcdf: Elementwise
    logsf: Elementwise
    ppf: Elementwise
    isf: Elementwise
    ilogcdf: Elementwise
    ilogsf: Elementwise

    def __init__(
        self, name: str, parameters: dict[str, str], notes: str, examples: dict[str, str]
    ) -> None:
        self._name = name
        for function, (argument, summary) in _FUNCTIONS.items():
            arguments = dict([argument, *parameters.items()])
            doc = _docstring(summary, arguments, notes, examples[function])
            setattr(self, function, _elementwise(name, function, tuple(arguments), doc))

    def __repr__(self) -> str:
        return f"<leakscore.distributions.{self._name}>"

    def __reduce__(self) -> str:
        return self._name


def _docstring(summary: str, arguments: dict[str, str], notes: str, example: str) -> str:
    described = "\n".join(f"{name} : array_like\n    {text}" for name, text in arguments.items())
    return f"""{summary}

Parameters
----------
{described}
out : ndarray, optional
    Where to write the result.
where : array_like of bool, optional
    Where to evaluate; the other elements stay as they are in `out`, or are NaN without `out`.
dtype : {{None, float32, float64}}, optional
    Of the result. The default is float64, for float32 input too.

Returns
-------
scalar or ndarray
    One value for each element of the broadcast arguments; NaN where an argument is NaN.

Raises
------
TypeError
    If an argument does not hold real numbers (bool, complex, str and object are refused).

Notes
-----
{notes}

Examples
--------
{example}
"""


def _elementwise(law: str, function: str, names: tuple[str, ...], doc: str) -> Elementwise:
    """Make the public function over the compiled ufunc ``<law>_<function>``."""
    ufunc: np.ufunc = getattr(_core, f"{law}_{function}")
    positional = [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD, annotation=Any) for n in names]

    def call(
        *args: npt.ArrayLike,
        out: Any = None,
        where: npt.ArrayLike = True,
        dtype: npt.DTypeLike | None = None,
        **kwargs: npt.ArrayLike,
    ) -> Any:
        if kwargs or len(args) != len(names):
            args = _bind(call, args, kwargs)
        values = [_validate.elementwise(n, v) for n, v in zip(names, args, strict=True)]
        return _evaluate(ufunc, values, out, where, dtype)

    options = [
        Parameter("out", Parameter.KEYWORD_ONLY, default=None, annotation=Any),
        Parameter("where", Parameter.KEYWORD_ONLY, default=True, annotation=npt.ArrayLike),
        Parameter("dtype", Parameter.KEYWORD_ONLY, default=None, annotation=npt.DTypeLike | None),
    ]
    signature = Signature([*positional, *options], return_annotation=Any)
    call.__name__, call.__qualname__, call.__doc__ = function, f"{law}.{function}", doc
    vars(call).update(ufunc=ufunc, __signature__=signature)
    return call  # type: ignore[return-value]


def _bind(call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Sort named arguments into place; a stray positional one is an error, never `out`."""
    try:
        bound = call.__signature__.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{call.__qualname__}(): {error}") from None
    return tuple(bound.arguments.values())


def _evaluate(ufunc: np.ufunc, values: list[Any], out: Any, where: Any, dtype: Any) -> Any:
    """Call the ufunc with the options that were given, so that overrides see no others."""
    options: dict[str, Any] = {}
    if dtype is not None:
        options["dtype"] = _validate.float_dtype("dtype", dtype)
    if out is not None:
        options["out"] = out
    if where is True:
        return ufunc(*values, **options)
    options["where"] = where = _validate.mask("where", where)
    if out is None and all(isinstance(v, (np.ndarray, np.generic, float)) for v in values):
        shape = np.broadcast_shapes(np.shape(where), *(np.shape(v) for v in values))
        options["out"] = np.full(shape, np.nan, dtype=options.get("dtype", np.float64))
        return ufunc(*values, **options)[()]
    return ufunc(*values, **options)


norm = Distribution(
    "norm",
    {},
    """The standard normal law; shift and scale `x` yourself. Against 50-digit arithmetic, results
above 2.3e-308 have a relative error below 5e-16 (1e-15 on x86-64-v2): logs down to x = -1.8e154,
quantiles of every double in (0, 1) and of every negative log-probability. Smaller results are
within one subnormal spacing. Quantiles near 1 lose what the rounding of `q` has lost: pass the
small probability to the other tail. The tails follow the form of Shepherd & Laframboise (1981),
Math. Comp. 36, 249-253, with the square of `x` in extended precision.""",
    {
        "pdf": ">>> norm.pdf([0.0, 38.0])\narray([3.98942280e-001, 1.09722105e-314])",
        "logpdf": ">>> norm.logpdf([0.0, 1e10])\narray([-9.18938533e-01, -5.00000000e+19])",
        "cdf": ">>> norm.cdf([-38.0, 0.0])\narray([2.88542835e-316, 5.00000000e-001])",
        "sf": ">>> norm.sf([10.0, 0.0])\narray([7.61985302e-24, 5.00000000e-01])",
        "logcdf": ">>> norm.logcdf([-1e10, 10.0])\narray([-5.00000000e+19, -7.61985302e-24])",
        "logsf": ">>> norm.logsf([100.0, 0.0])\narray([-5.00552421e+03, -6.93147181e-01])",
        "ppf": ">>> norm.ppf([0.5, 1e-300])\narray([  0.       , -37.0470963])",
        "isf": ">>> norm.isf([0.05, 1e-300])\narray([ 1.64485363, 37.0470963 ])",
        "ilogcdf": ">>> norm.ilogcdf([-5000.0, -1e-300])\narray([-99.94474817,  37.0470963 ])",
        "ilogsf": ">>> norm.ilogsf([-5000.0, -1e-300])\narray([ 99.94474817, -37.0470963 ])",
    },
)

__test__ = {f"norm.{name}": getattr(norm, name).__doc__ for name in _FUNCTIONS}
