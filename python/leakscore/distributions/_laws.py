"""Laws that are compiled ufuncs, and what every law has in common: functions and docstrings.

They are the normal, chi-square, folded Laplace and Kolmogorov laws, and Marcum's functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import Parameter, Signature
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.typing import Array, Doubles, Scalar

POINT = ("x", "Where to evaluate.")
MASS = ("q", "Probability; outside [0, 1] the result is NaN.")
LOG_MASS = ("logp", "Log of a probability (any negative number, however large); above 0: NaN.")

# function: its argument, what it computes
FUNCTIONS = {
    "pdf": (POINT, "Probability density at `x`."),
    "logpdf": (POINT, "Log of the probability density at `x`, far beyond its underflow."),
    "cdf": (POINT, "Probability of at most `x`, to full relative accuracy in both tails."),
    "sf": (POINT, "Probability of more than `x`, to full relative accuracy in both tails."),
    "logcdf": (POINT, "Log of the probability of at most `x`, far beyond its underflow."),
    "logsf": (POINT, "Log of the probability of more than `x`, far beyond its underflow."),
    "ppf": (MASS, "Quantile: the point with probability `q` at or below it."),
    "isf": (MASS, "Upper quantile: the point with probability `q` above it."),
    "ilogcdf": (LOG_MASS, "Quantile of a log-probability: the point where `logcdf` is `logp`."),
    "ilogsf": (LOG_MASS, "Upper quantile of a log-probability: where `logsf` is `logp`."),
}


Double: TypeAlias = Literal["float64", "d"] | type[float] | type[np.float64] | None
Written = TypeVar("Written", bound=Array)
Example: TypeAlias = tuple[str, str]
"""The arguments of a call, and the numbers of the array that it returns."""

_WRITTEN = """out : ndarray, optional
    Where to write the result; partly written if the call is interrupted.
"""
_WHERE = """where : array_like of bool, optional
    Where to evaluate. Other elements keep their value in `out`, or are NaN without `out`.
"""
DTYPE_TEXT = """dtype : {None, float32, float64}, optional
    Of the result. The default is float64, for float32 input too.
"""
_VALUE = """scalar or ndarray
    One value for each element of the broadcast arguments; NaN where an argument is NaN."""

HOME = "leakscore.distributions"  # where users and pickle look up what is made here


class Elementwise(Protocol):
    """A function of arrays over a numpy ufunc; `help` shows the names of its arguments.

    What has its own type of result, as a series (``__array_ufunc__``), counts as an array.
    """

    ufunc: np.ufunc

    @overload
    def __call__(self, *args: Scalar, dtype: Double = ..., **kwargs: Scalar) -> float: ...
    @overload
    def __call__(
        self,
        *args: npt.ArrayLike,
        out: None = ...,
        where: npt.ArrayLike = ...,
        dtype: Double = ...,
        **kwargs: npt.ArrayLike,
    ) -> Doubles: ...
    @overload
    def __call__(
        self,
        *args: npt.ArrayLike,
        out: Written | tuple[Written],
        where: npt.ArrayLike = ...,
        dtype: npt.DTypeLike | None = ...,
        **kwargs: npt.ArrayLike,
    ) -> Written: ...
    @overload
    def __call__(
        self,
        *args: npt.ArrayLike,
        out: None = ...,
        where: npt.ArrayLike = ...,
        dtype: npt.DTypeLike,
        **kwargs: npt.ArrayLike,
    ) -> Any: ...


Function = TypeVar("Function")


class NamedLaw(Generic[Function]):
    """Densities, both tails, their logs and all inverses, of a law that is a name of this room."""

    _name: str

    pdf: Function
    logpdf: Function
    cdf: Function
    sf: Function
    logcdf: Function
    logsf: Function
    ppf: Function
    isf: Function
    ilogcdf: Function
    ilogsf: Function

    def __repr__(self) -> str:
        return f"<{HOME}.{self._name}>"

    def __reduce__(self) -> str:
        return self._name


class Distribution(NamedLaw[Elementwise]):
    """One law: densities, both tails, their logs and all inverses.

    Users do not make it: the laws are the objects of this module.

    Parameters
    ----------
    name : str
        The module's name of the law, and the prefix of its compiled ufuncs.
    parameters : dict of str to str
        Names and meanings of the parameters, in order, after the point or probability.
    notes : str
        The law and the accuracy of its functions.
    examples : dict of str to (str, str)
        For each function the arguments of a call, and the array that it returns.

    Examples
    --------
    >>> from leakscore.distributions import norm
    >>> norm.isf([0.05, 1e-300])
    array([ 1.64485363, 37.0470963 ])
    >>> norm.ilogsf([-1e6])  # the probability itself, exp(-1e6), is no double
    array([1414.20778299])
    """

    def __init__(
        self, name: str, parameters: dict[str, str], notes: str, examples: dict[str, Example]
    ) -> None:
        self._name = name
        for function, (argument, summary) in FUNCTIONS.items():
            arguments, public = dict([argument, *parameters.items()]), f"{name}.{function}"
            doc = docstring(summary, arguments, notes, shown(public, examples[function]))
            setattr(self, function, elementwise(public, tuple(arguments), doc))


Distribution.__module__ = HOME


def docstring(
    summary: str,
    arguments: dict[str, str],
    notes: str,
    example: str,
    *,
    kinds: Mapping[str, str] = {},
    options: str = _WRITTEN + _WHERE + DTYPE_TEXT,
    returns: str = _VALUE,
    raises: str = "",
) -> str:
    """Return the numpydoc text of a function; `kinds` of arguments that are not plain arrays."""
    described = "\n".join(
        f"{name} : {kinds.get(name, 'array_like')}\n    {text}" for name, text in arguments.items()
    )
    return f"""{summary}

Parameters
----------
{described}
{options}
Returns
-------
{returns}

Raises
------
{raises}TypeError
    If an argument does not hold real numbers (bool, complex, str and object are refused).

Notes
-----
{notes}

Examples
--------
{example}
"""


def shown(public: str, example: Example) -> str:
    """Return a doctest: the call of a function, and the array that it returns."""
    return f">>> {public}({example[0]})\narray({example[1]})"


def positional(names: Iterable[str]) -> list[Parameter]:
    """Return parameters that take arrays."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return [Parameter(name, kind, annotation=npt.ArrayLike) for name in names]


def option(name: str, default: object, annotation: object) -> Parameter:
    """Return a parameter that is given by name."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


OUT = option("out", None, Any)
DTYPE = option("dtype", None, npt.DTypeLike | None)


def publish(call: Any, public: str, doc: str, signature: Signature, **attributes: object) -> None:
    """Give a function the name, the text and the signature that users see."""
    call.__name__, call.__qualname__, call.__doc__ = public.rpartition(".")[2], public, doc
    call.__module__ = HOME
    vars(call).update(attributes, __signature__=signature)


def elementwise(public: str, names: tuple[str, ...], doc: str) -> Elementwise:
    """Make the public function over the compiled ufunc of the same name, dots as underscores."""
    ufunc: np.ufunc = getattr(_core, public.replace(".", "_"))

    def call(
        *args: npt.ArrayLike,
        out: Any = None,
        where: npt.ArrayLike = True,
        dtype: npt.DTypeLike | None = None,
        **kwargs: npt.ArrayLike,
    ) -> Any:
        if kwargs or len(args) != len(names):
            args = bound(public, signature, args, kwargs)
        values = [validation.elementwise(n, v) for n, v in zip(names, args, strict=True)]
        return _evaluate(ufunc, values, out, where, dtype)

    parameters = [*positional(names), OUT, option("where", True, npt.ArrayLike), DTYPE]
    signature = Signature(parameters, return_annotation=float | Array)
    publish(call, public, doc, signature, ufunc=ufunc)
    return call  # type: ignore[return-value]


def bound(
    public: str, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Put named arguments in order; an extra positional one is an error, never `out`."""
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{public}(): {error}") from None
    return tuple(arguments.values())


def _evaluate(ufunc: np.ufunc, values: list[Any], out: Any, where: Any, dtype: Any) -> Any:
    """Call the ufunc with the given options only, so that overrides see no others."""
    options: dict[str, Any] = {}
    if dtype is not None:
        options["dtype"] = validation.float_dtype("dtype", dtype)
    if out is not None:
        options["out"] = out
    if where is True:
        return ufunc(*values, **options)
    options["where"] = where = validation.mask("where", where)
    if out is None and all(isinstance(v, (np.ndarray, np.generic, float)) for v in values):
        shape = np.broadcast_shapes(np.shape(where), *(np.shape(v) for v in values))
        options["out"] = np.full(shape, np.nan, dtype=options.get("dtype", np.float64))
        return ufunc(*values, **options)[()]
    return ufunc(*values, **options)


# --- the laws -------------------------------------------------------------------------------------

norm = Distribution(
    "norm",
    {},
    """The standard normal law; shift and scale `x` yourself. Against 50-digit arithmetic, results
above 2.3e-308 have a relative error below 5e-16 (1e-15 on x86-64-v2): logs down to x = -1.8e154,
quantiles of every double in (0, 1) and of every negative log-probability. Smaller results are
within one subnormal spacing. Quantiles of `q` near 1 lose the digits that the rounding of `q` lost:
pass the small probability to the other tail. The tails have the form of Shepherd & Laframboise
(1981), Math. Comp. 36, 249-253, with the square of `x` in extended precision.""",
    {
        "pdf": ("[0.0, 38.0]", "[3.98942280e-001, 1.09722105e-314]"),
        "logpdf": ("[0.0, 1e10]", "[-9.18938533e-01, -5.00000000e+19]"),
        "cdf": ("[-38.0, 0.0]", "[2.88542835e-316, 5.00000000e-001]"),
        "sf": ("[10.0, 0.0]", "[7.61985302e-24, 5.00000000e-01]"),
        "logcdf": ("[-1e10, 10.0]", "[-5.00000000e+19, -7.61985302e-24]"),
        "logsf": ("[100.0, 0.0]", "[-5.00552421e+03, -6.93147181e-01]"),
        "ppf": ("[0.5, 1e-300]", "[  0.       , -37.0470963]"),
        "isf": ("[0.05, 1e-300]", "[ 1.64485363, 37.0470963 ]"),
        "ilogcdf": ("[-5000.0, -1e-300]", "[-99.94474817,  37.0470963 ]"),
        "ilogsf": ("[-5000.0, -1e-300]", "[ 99.94474817, -37.0470963 ]"),
    },
)

_DF = "Degrees of freedom, any number from 1e-289 to 1e60; elsewhere the result is NaN."
_NC = "Noncentrality, any number from 0 to 1e60; elsewhere the result is NaN."
_CONTOUR = """Every function is a trapezoid sum on a contour through the saddle point of the
moment generating function, with a term for the pole beside it (Rice 1968, Bell Syst. Tech. J. 47;
Hunter & Regan 1972, Math. Comp. 26); the exponent at the saddle is carried in 32 digits. Against
80-digit sums, for df in [0.05, 2e7] and nc in [0, 1e7], tails above 1e-305 and all logarithms
(to -1e4 and beyond) have a relative error below 3e-15, quantiles one below 1e-13 times their
condition number. The time per element depends on neither parameter. The rounding of the arguments
comes on top: a relative error of 1e-16 in `x` changes a tail by 1e-16 `x` times the hazard, which
is 1e-12 and more at df 1e7."""

chi2 = Distribution(
    "chi2",
    {"df": _DF},
    f"The chi-square law, the sum of squares of `df` standard normal variables. {_CONTOUR}",
    {
        "pdf": ("[0.0, 1000.0], 2", "[5.0000000e-001, 3.5622882e-218]"),
        "logpdf": ("[1e5], 7", "[-49974.84467507]"),
        "cdf": ("[1e-100, 1.0], [3, 0.1]", "[2.65961520e-151, 9.71317371e-001]"),
        "sf": ("[3.84, 10020000.0], [1, 1e7]", "[5.00435212e-02, 3.92367060e-06]"),
        "logcdf": ("[1.0], 1000", "[-2958.40305024]"),
        "logsf": ("[1e6], 3", "[-499993.31803507]"),
        "ppf": ("[0.5, 1e-300], [10, 100]", "[9.34181777e+00, 3.89665233e-05]"),
        "isf": ("[0.05, 1e-300], 1", "[   3.84145882, 1373.87263122]"),
        "ilogcdf": ("[-5000.0], 1e4", "[1587.83137218]"),
        "ilogsf": ("[-5000.0], 1e4", "[31444.51289849]"),
    },
)

ncx2 = Distribution(
    "ncx2",
    {"df": _DF, "nc": _NC},
    f"""The noncentral chi-square law: the sum of squares of `df` normal variables of unit variance
whose squared means add up to `nc`. {_CONTOUR}""",
    {
        "pdf": ("[3.0], 2, 1.5", "[0.13089883]"),
        "logpdf": ("[1e5], 7, 30", "[-48278.1518813]"),
        "cdf": ("[1e-100, 1.0], 3, 200", "[9.89397062e-195, 6.17358842e-041]"),
        "sf": ("2.005e7, 1e7, [1e7, 1.003e7]", "[5.58099984e-11, 4.95774069e-03]"),
        "logcdf": ("[1.0], 1000, 5", "[-2960.90055524]"),
        "logsf": ("[1e6], 3, 1e3", "[-468881.56408095]"),
        "ppf": ("[0.5, 1e-300], 10, [3, 4000]", "[ 12.21089606, 691.97107465]"),
        "isf": ("[0.05, 1e-300], 1, 9", "[  21.57466522, 1603.76992201]"),
        "ilogcdf": ("[-5000.0], 1e4, 50", "[1595.78723619]"),
        "ilogsf": ("[-5000.0], 1e4, 50", "[31600.90865068]"),
    },
)

_MARCUM = {
    "m": "Order, half the degrees of freedom: any positive number.",
    "a": "Noncentrality, at least 0.",
    "b": "Threshold; below 0 the result is NaN.",
}
_MARCUM_NOTES = """With Marcum's function Q_m(a, b), P(X > b) for the length X of a normal vector of
2m coordinates with unit variances and a mean of length `a`: `ncx2.sf(b**2, 2 * m, a**2)`, but
without rounding of the squares, so that all digits are kept in far tails. Accuracy and method are
those of `ncx2`."""


def _marcum(name: str, summary: str, last: dict[str, str], example: Example) -> Elementwise:
    arguments = {"m": _MARCUM["m"], "a": _MARCUM["a"], **last}
    doc = docstring(summary, arguments, _MARCUM_NOTES, shown(name, example))
    return elementwise(name, tuple(arguments), doc)


marcum_q = _marcum(
    "marcum_q",
    "Marcum's function Q_m(a, b), to full relative accuracy.",
    {"b": _MARCUM["b"]},
    ("1, 3.0, [2.0, 40.0]", "[8.86720754e-001, 2.09357540e-299]"),
)
marcum_p = _marcum(
    "marcum_p",
    "The complement 1 - Q_m(a, b) of Marcum's function, to full relative accuracy.",
    {"b": _MARCUM["b"]},
    ("1, 30.0, [2.0, 29.0]", "[2.08317525e-173, 1.54587647e-001]"),
)
marcum_q_inv = _marcum(
    "marcum_q_inv",
    "The threshold `b` at which Marcum's function Q_m(a, b) is `q`.",
    {"q": MASS[1]},
    ("1, 3.0, [0.5, 1e-300]", "[ 3.16524579, 40.08207834]"),
)

folded_laplace = Distribution(
    "folded_laplace",
    {
        "loc": "Centre of the Laplace law before it is folded; only its absolute value matters.",
        "scale": "Scale of the Laplace law, above 0; otherwise the result is NaN.",
    },
    """The law of ``|X|`` with density ``exp(-|X - loc| / scale) / (2 scale)`` of X: zero below
x = 0, exponential at ``loc = 0``. The size of a statistic released with Laplace noise has this law,
as in the relaxed threat model of Kaissis et al. (2023), "Optimal privacy guarantees for a relaxed
threat model", NeurIPS. Infinite parameters give NaN. Against 50-digit
arithmetic, results above 2.3e-308 have a relative error below 4e-16, for every double of `x`, `loc`
and `scale`; a log density near 0 has that error relative to its largest term. Quantiles are within
4 ulp, or what one ulp of the probability moves them. All terms of every sum have one sign, so that
neither tail nor its log is a difference from 1.""",
    {
        "pdf": (
            "[0.0, 1.0, 700.0], 1.0, 1.0",
            "[3.67879441e-001, 5.67667642e-001, 1.52142759e-304]",
        ),
        "logpdf": ("[1.0, 1e6], 1.0, 1.0", "[-5.66219170e-01, -9.99999566e+05]"),
        "cdf": ("[1e-300, 1.0], 0.5, 2.0", "[3.89400392e-301, 3.74416332e-001]"),
        "sf": ("[1.0, 1000.0], 0.5, 2.0", "[6.25583668e-001, 7.34838144e-218]"),
        "logcdf": ("[1e-300, 1.0], 1e5, 2.0", "[-50691.46867508, -50000.65182233]"),
        "logsf": ("[1.0, 1e6], 0.5, 2.0", "[-4.69070196e-01, -4.99999969e+05]"),
        "ppf": ("[1e-300, 0.5], 0.5, 2.0", "[2.56805083e-300, 1.44815397e+000]"),
        "isf": ("[1e-300, 0.5], 0.5, 2.0", "[1381.6129154 ,    1.44815397]"),
        "ilogcdf": ("[-1e5, -1.0], 1e5, 2.0", "[    0.        , 99999.38629436]"),
        "ilogsf": ("[-1e5, -1.0], 0.5, 2.0", "[2.00000062e+05, 2.06185961e+00]"),
    },
)

kolmogorov = Distribution(
    "kolmogorov",
    {"n": "Number of observations, a whole number from 1 to 1e9; for any other the result is NaN."},
    """The law of D_n^+ = sup_x (F_n(x) - F(x)), F_n the empirical distribution of `n` independent
draws from a continuous F, for finite `n` (`scipy.stats.ksone`). It lives on (0, 1]; the density
jumps at 0 and at 1/n and is the right limit there. Probabilities, densities and their logs are
within 5e-15 (relative) of interval arithmetic in both tails: probabilities down to 1e-300, logs
without limit. Few terms, or t = n x < 18: the sum of Birnbaum & Tingey (1951), Ann. Math. Stat. 22,
592-596, either over its own positive terms with the deviances of Loader (2000) in extended
precision, or over the rest of Abel's identity in 32 digits. Elsewhere: Cauchy's integral of the
generating function of that sum on a saddle-point contour, 16 nodes for any `n`, so that `n` = 1e9
takes no longer than 1000. Quantiles solve for the logarithm of the smaller tail, to the last digits
of `x`.""",
    {
        "pdf": ("[0.01, 0.5], 100", "[4.30303662e+00, 1.38466166e-21]"),
        "logpdf": ("0.5, [10, 1000]", "[  -2.41251057, -524.79549818]"),
        "cdf": ("[1e-6, 0.01], 10**4", "[1.01004915e-06, 8.65563968e-01]"),
        "sf": ("[0.001, 0.01], 10**6", "[1.35245090e-01, 1.36866522e-87]"),
        "logcdf": ("[1e-6, 0.01], 10**4", "[-13.80551156,  -0.144374  ]"),
        "logsf": ("[0.01, 0.1], 10**5", "[  -20.0070669 , -2004.53072482]"),
        "ppf": ("[1e-300, 0.95], 900", "[1.00000000e-300, 4.06085259e-002]"),
        "isf": ("[0.05, 1e-300], 1000", "[0.03853384, 0.56379049]"),
        "ilogcdf": ("[-500.0, -1.0], 50", "[7.12457641e-218, 6.45882094e-002]"),
        "ilogsf": ("[-500.0, -1.0], 50", "[0.9999546 , 0.09683172]"),
    },
)
