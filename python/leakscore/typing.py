"""Types of signatures: numbers, arrays, and functions whose result depends on arguments' shapes.

A checker sees that ``2.0`` is one number and ``[2.0]`` are many, so a result is a float for one and
an array for many. What is not known to be one number counts as many, an array of no axes too:
``float | NDArray`` would have to be narrowed after every call (scipy-stubs draws the line there as
well). A function of rows gives a float for a list of numbers and for an array that is known to have
one axis, as of ``numpy.zeros``. ``NDArray[np.float64]`` says nothing of its axes and counts as
rows; of `ArrayLike` the result may be either, and mypy takes an array of unknown dtype for `Any`.

``Array`` is an array of any dtype; ``Counts`` are of int64, ``Doubles`` of float64, ``Flags`` of
bool and ``Indices`` of intp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Counts",
    "Doubles",
    "Flags",
    "Indices",
    "Many",
    "OfNumbers",
    "OfPairs",
    "OfRows",
    "OfTwo",
    "Rest",
    "Row",
    "Rows",
    "Scalar",
    "Seed",
    "of_numbers",
    "of_pairs",
    "of_rows",
    "of_two",
]

if TYPE_CHECKING:
    from typing_extensions import TypeVar, Unpack

    Value = TypeVar("Value", bound="float | npt.NDArray[np.float64]", default=float, covariant=True)
    _MoreAxes: TypeAlias = tuple[int, int, Unpack[tuple[int, ...]]]
else:
    from typing import TypeVar

    Value = TypeVar("Value", covariant=True)
    """A float for one curve, an array for an array of curves."""
    _MoreAxes = tuple

Array: TypeAlias = npt.NDArray[Any]
Counts: TypeAlias = npt.NDArray[np.int64]
Doubles: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.intp]

Seed: TypeAlias = (
    "np.random.Generator | np.random.BitGenerator | np.random.SeedSequence | int | None"
)
"""Where random numbers come from, as SPEC 7 of Scientific Python says; None: fresh entropy."""
Scalar: TypeAlias = "float | np.floating[Any] | np.integer[Any]"
"""One number."""
Many: TypeAlias = "npt.NDArray[Any] | Sequence[Any]"
"""Any number of them."""
Row: TypeAlias = "Sequence[float] | np.ndarray[tuple[int], Any]"
"""One axis: the coordinates of one record, or the steps of one training."""
Rows: TypeAlias = "Sequence[Sequence[Any]] | Sequence[Array] | np.ndarray[_MoreAxes, Any]"
"""Two axes or more, or an array of unknown shape."""

Rest = ParamSpec("Rest")
One = TypeVar("One", covariant=True)
More = TypeVar("More", covariant=True)


class OfRows(Protocol[Rest]):
    """A function of a record (d,) or records (k, d)."""

    @overload
    def __call__(self, target: Rows, *args: Rest.args, **kwargs: Rest.kwargs) -> Doubles: ...
    @overload
    def __call__(self, target: Row, *args: Rest.args, **kwargs: Rest.kwargs) -> float: ...
    @overload
    def __call__(
        self, target: npt.ArrayLike, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> float | Doubles: ...


class OfPairs(Protocol[Rest]):
    """A function of a release (d,) or releases (T, d), and a target (d,) or targets (k, d)."""

    @overload
    def __call__(
        self, observed: Rows, target: npt.ArrayLike, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Doubles: ...
    @overload
    def __call__(
        self, observed: npt.ArrayLike, target: Rows, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Doubles: ...
    @overload
    def __call__(
        self, observed: Row, target: Row, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> float: ...
    @overload
    def __call__(
        self,
        observed: npt.ArrayLike,
        target: npt.ArrayLike,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> float | Doubles: ...


class OfTwo(Protocol[Rest]):
    """The same of arguments of other names; called by name alone it may give either."""

    @overload
    def __call__(
        self, first: Rows, second: npt.ArrayLike, /, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Doubles: ...
    @overload
    def __call__(
        self, first: npt.ArrayLike, second: Rows, /, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Doubles: ...
    @overload
    def __call__(
        self, first: Row, second: Row, /, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> float: ...
    @overload
    def __call__(
        self,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        /,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> float | Doubles: ...
    @overload
    def __call__(self, **named: Any) -> float | Doubles: ...


class OfNumbers(Protocol[Rest, One, More]):
    """A function of numbers or arrays that broadcast, and of options that are words or None.

    Of arrays its arguments are checked by name; of numbers alone they are numbers or words.
    """

    @overload
    def __call__(self, *args: Scalar | str | None, **kwargs: Scalar | str | None) -> One: ...
    @overload
    def __call__(self, *args: Rest.args, **kwargs: Rest.kwargs) -> More: ...


def of_rows(function: Callable[Concatenate[npt.ArrayLike, Rest], float | Doubles]) -> OfRows[Rest]:
    """Type a function of `target` and more by the axes of the target."""
    return cast("OfRows[Rest]", function)


def of_pairs(
    function: Callable[Concatenate[npt.ArrayLike, npt.ArrayLike, Rest], float | Doubles],
) -> OfPairs[Rest]:
    """Type a function of `observed`, `target` and more by the axes of both."""
    return cast("OfPairs[Rest]", function)


def of_two(
    function: Callable[Concatenate[npt.ArrayLike, npt.ArrayLike, Rest], float | Doubles],
) -> OfTwo[Rest]:
    """Type a function of two arguments and more by the axes of both."""
    return cast("OfTwo[Rest]", function)


@overload
def of_numbers(
    one: type[One], many: type[More], /
) -> Callable[[Callable[Rest, One | More]], OfNumbers[Rest, One, More]]: ...
@overload
def of_numbers(
    one: Callable[..., One], many: Callable[..., More], /
) -> Callable[[Callable[Rest, One | More]], OfNumbers[Rest, One, More]]: ...
def of_numbers(*_classes: Any) -> Callable[[Any], Any]:
    """Type a function by its arguments: where all are numbers its result is of the first class.

    An abstract class is a callable, but no `type`, to a checker: hence two signatures.
    """
    return lambda function: function
