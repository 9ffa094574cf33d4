"""What every law has in common: public functions over compiled ufuncs, and their docstrings."""

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
