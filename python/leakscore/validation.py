"""Refuses the types, shapes and ranges of single arguments of users, and converts the rest.

A room refuses what only it can know, in the same words: whether its arguments fit each other (a
path of parameters and its learning rates, a grid of guesses), a curve about another relation, a
table without a column.

Every function takes the argument's name first and says it, its value and the allowed range in the
error. Arrays come back as numpy arrays without a copy where their dtype can be read as it is.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from leakscore.typing import Array, Counts, Doubles, Flags

__all__ = [
    "MOST",
    "ONE",
    "Kind",
    "binary",
    "broadcast",
    "choice",
    "coefficients",
    "complete_edges",
    "count",
    "doubles",
    "edges",
    "elementwise",
    "finite",
    "flag",
    "flags",
    "float_dtype",
    "generator",
    "histogram",
    "instance",
    "interval",
    "lower_triangular",
    "mask",
    "matrix",
    "membership",
    "named_arguments",
    "owners",
    "patterns",
    "per_coordinate",
    "real_array",
    "require_size",
    "rows",
    "sample",
    "sampled",
    "scalar",
    "scalar_or_inf",
    "scores",
    "seeded",
    "shares",
    "step_vectors",
    "steps",
    "strategy",
    "unmasked",
    "vector",
    "whole",
]

Kind = TypeVar("Kind")
Parameters = ParamSpec("Parameters")

_REAL_KINDS = frozenset("fiub")

_MANY = 4096  # entries of which the least and the largest are found in less time than flags

MOST = 2**53
"""The last whole number up to which float64 counts one by one."""


def _brief(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."


def scalar(
    name: str,
    value: object,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    closed: Literal["both", "left", "right", "neither"] = "both",
) -> float:
    """One finite real number in a range; bool, str, complex and arrays of any size are refused."""
    if _no_number(value):
        raise TypeError(f"{name}={_brief(value)} must be a real number")
    closed_left = closed in ("both", "left")
    closed_right = closed in ("both", "right")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name}={_brief(value)} must be a real number") from None
    except OverflowError:
        raise ValueError(
            f"{name}={_brief(value)} must be within float64, up to 1.8e308 in size"
        ) from None
    inside = (number >= low if closed_left else number > low) and (
        number <= high if closed_right else number < high
    )
    if not inside or not math.isfinite(number):
        ends = closed_left and math.isfinite(low), closed_right and math.isfinite(high)
        raise ValueError(f"{name}={number!r} must be in {_range(low, high, *ends)}")
    return number


def scalar_or_inf(name: str, value: object, low: float, high: float = np.inf) -> float:
    """One real number in (low, high], or infinity."""
    if isinstance(value, (float, np.floating)) and value == np.inf:
        return np.inf
    return scalar(name, value, low, high, closed="right")


def _range(low: float, high: float, closed_left: bool, closed_right: bool) -> str:
    """Return an interval as text, with included ends in square brackets."""
    return f"{'[' if closed_left else '('}{low:g}, {high:g}{']' if closed_right else ')'}"


def _no_number(value: object) -> bool:
    """Whether Python would convert this to a float although it is not a single real number."""
    if type(value) in (float, int):
        return False
    dtype = getattr(value, "dtype", None)
    return (
        isinstance(value, (bool, str, bytes, bytearray, complex, np.ma.MaskedArray))
        or (isinstance(dtype, np.dtype) and dtype.kind not in "fiu")
        or getattr(value, "shape", ()) != ()
    )


ONE = "; the mean of one record is the record itself, its law a single point if it is the target"
"""Why a mean needs at least two records."""


def count(name: str, value: object, low: int = 0, high: int | None = MOST, *, why: str = "") -> int:
    """One integer in [low, high], neither bool nor float. None: no upper end, as for a seed."""
    if isinstance(value, (bool, np.bool_, np.ma.MaskedArray)):
        raise TypeError(f"{name}={_brief(value)} must be an integer")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}={_brief(value)} must be an integer") from None
    if number < low or (high is not None and number > high):
        unbounded = high is None or (high == MOST and number < low)
        last = "2**53" if high == MOST else high
        bounds = f">= {low}" if unbounded else f"in [{low}, {last}]"
        raise ValueError(f"{name}={_brief(number)} must be {bounds}{why}")
    return number


def steps(name: str, value: object, high: int = MOST, *, why: str = "") -> int:
    """A number of steps: an integer of at least 1."""
    if isinstance(value, (float, np.floating)):
        raise ValueError(f"{name}={float(value)!r} must be an integer >= 1")
    return count(name, value, 1, high, why=why)


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of the allowed words."""
    if not isinstance(value, str):
        raise TypeError(f"{name}={_brief(value)} must be one of {', '.join(allowed)}")
    if value not in allowed:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(allowed)}")
    return value


def _from_tensor(name: str, value: Any) -> Any:
    """Explain why a tensor cannot be read from the CPU; return everything else as it is."""
    if getattr(value, "requires_grad", False) is True:
        raise TypeError(f"{name} must have no gradient: pass {name}.detach()")
    device = getattr(value, "device", None)
    kind = getattr(device, "type", device)
    if isinstance(kind, str) and kind not in ("cpu", "meta") and hasattr(value, "__dlpack__"):
        raise TypeError(f"{name} must be on the CPU, not on {kind!r}: pass {name}.cpu()")
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":
        raise TypeError(f"{name} must be float32, not bfloat16: pass {name}.float()")
    return value


def unmasked(name: str, value: object) -> None:
    """Refuse masked entries, which numpy would read as if they were not."""
    parts = value if isinstance(value, (list, tuple)) else (value,)
    suspect = any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, parts)))
    if suspect and any(np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name} must hold no masked entries")


def real_array(name: str, value: object) -> Array:
    """An array of real numbers without a copy: any strides, any real dtype."""
    if type(value) is np.ndarray and value.dtype.kind in _REAL_KINDS and value.dtype.itemsize <= 8:
        return value
    unmasked(name, value)
    if not isinstance(value, np.ndarray):
        value = _from_tensor(name, value)
        try:
            value = np.asarray(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(f"{name} must be an array of real numbers: {error}") from None
    kind = value.dtype.kind
    if value.dtype.name != "bfloat16" and (kind not in _REAL_KINDS or value.dtype.itemsize > 8):
        raise TypeError(f"{name} must be an array of real numbers, not dtype {value.dtype}")
    return np.asarray(value)


def elementwise(name: str, value: object) -> Any:
    """What a ufunc reads: real numbers as they are, or an object with its own `__array_ufunc__`."""
    if type(value) is float:
        return value
    if not hasattr(type(value), "__array_ufunc__"):
        value = real_array(name, value)
    dtype: Any = getattr(value, "dtype", None)  # a data frame has none, and numpy judges it
    if dtype is not None:
        if dtype.name == "bfloat16":
            return np.asarray(value).astype(np.float32)
        if dtype.kind not in "fiu" or getattr(dtype, "itemsize", 8) > 8:
            raise TypeError(f"{name} must hold real numbers, not dtype {dtype}")
    elif type(value).__name__ == "NAType":  # of pandas: numpy would not say which argument it is
        raise TypeError(f"{name}={value!r} must be a real number; nan stands for a missing one")
    return value


def mask(name: str, value: object) -> Any:
    """An array of bool, or an object with its own `__array_ufunc__`."""
    if not hasattr(type(value), "__array_ufunc__"):
        value = np.asarray(value)
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind != "b":
        raise TypeError(f"{name} must hold bool, not dtype {dtype}")
    return value


def float_dtype(name: str, value: object) -> np.dtype[Any]:
    """Either float64 or float32, however it is spelt."""
    try:
        dtype = np.dtype(value).newbyteorder("=")  # type: ignore[call-overload]
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise TypeError(f"{name}={_brief(value)} must be float64 or float32")
    return dtype  # type: ignore[no-any-return]


def matrix(name: str, value: object, *, cols: int | None = None, min_rows: int = 1) -> Array:
    """Rows of records or observations, read in place; at least one row and one column."""
    array = real_array(name, value)
    if array.ndim != 2:
        hint = " (d=1 data is (T, 1))" if array.ndim == 1 else ""
        raise ValueError(f"{name} of shape {array.shape} must be 2-D{hint}")
    if array.shape[0] < min_rows or array.shape[1] < 1:
        raise ValueError(
            f"{name} of shape {array.shape} must have at least {min_rows} row(s) and one column"
        )
    return _with_cols(name, array, cols)


def rows(name: str, value: object, *, cols: int | None = None) -> Array:
    """One row (d,) or rows (k, d), read in place; the caller distinguishes them by ndim."""
    array = real_array(name, value)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} of shape {array.shape} must be (d,) or (k, d)")
    if array.size == 0:
        raise ValueError(f"{name} of shape {array.shape} must not be empty")
    return _with_cols(name, array, cols)


def _with_cols(name: str, array: Array, cols: int | None) -> Array:
    if cols is not None and array.shape[-1] != cols:
        raise ValueError(
            f"{name} of shape {array.shape} must have {cols} coordinates in its last axis"
        )
    return array


def finite(name: str, array: Array) -> Array:
    """The same array, if it holds neither NaN nor inf."""
    if array.dtype.kind not in "iub" and not bool(np.isfinite(array).all()):
        raise ValueError(f"{name} must be finite, but it holds NaN or inf")
    return array


def doubles(name: str, value: object, *, ndim: int | None = None) -> Doubles:
    """A finite float64 C-contiguous array (a copy only where needed): for small arguments."""
    array = real_array(name, value)
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} of shape {array.shape} must be {ndim}-D")
    return finite(name, np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape))


def coefficients(name: str, value: object) -> Doubles:
    """A float64 vector for the compiled core; its entries are checked if the core complains."""
    array = real_array(name, value)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} of shape {array.shape} must be (d,) with d >= 1")
    return np.ascontiguousarray(array, dtype=np.float64)


def strategy(value: object, steps: int) -> Doubles:
    """Return a matrix of correlated noise that has an inverse, (T, T)."""
    matrix = doubles("strategy_matrix", value, ndim=2)
    if matrix.shape != (steps, steps):
        raise ValueError(
            f"strategy_matrix of shape {matrix.shape} must be ({steps}, {steps}), a row for each "
            "step"
        )
    lower_triangular(matrix)
    if not np.diagonal(matrix).all():
        raise ValueError("strategy_matrix must have no 0 on its diagonal: it is inverted")
    return matrix


def lower_triangular(matrix: Doubles) -> None:
    """Refuse a strategy matrix that uses noise of later steps."""
    if np.triu(matrix, 1).any():
        raise ValueError("strategy_matrix must be lower triangular: noise of later steps")


def patterns(value: object, steps: int) -> Doubles:
    """Return patterns of participation in steps, zeros and ones, (P, T)."""
    array = doubles("participation", value, ndim=2)
    if array.shape[0] < 1 or array.shape[1] != steps:
        raise ValueError(f"participation of shape {array.shape} must be (P, {steps})")
    return np.asarray(binary("participation", array))


def shares(name: str, value: object, size: int) -> Doubles:
    """Return probabilities, whose sum is 1 to a millionth."""
    array = vector(name, value, size=size, low=0.0)
    with np.errstate(over="ignore"):
        total = float(array.sum())
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"{name} must have the sum 1, not {total!r}")
    return array


def step_vectors(name: str, value: object) -> npt.NDArray[Any]:
    """Return an array of one vector a step, (..., T, d)."""
    array = real_array(name, value)
    if array.ndim < 2 or array.size == 0:
        raise ValueError(
            f"{name} of shape {array.shape} must be (..., T, d), not empty "
            "(d=1 data is (..., T, 1))"
        )
    return array


def vector(
    name: str,
    value: object,
    *,
    size: int | None = None,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
) -> Doubles:
    """A finite float64 vector with entries in a range."""
    array = doubles(name, value, ndim=1)
    if array.size == 0:
        raise ValueError(f"{name} must not be empty")
    if size is not None and array.size != size:
        raise ValueError(f"{name} of shape {array.shape} must have {size} coordinates")
    outside = (array <= low if open_low else array < low) | (array > high)
    if outside.any():
        index = int(np.argmax(outside))
        bounds = _range(low, high, not open_low, True)
        raise ValueError(f"{name}[{index}]={float(array[index])!r} must be in {bounds}")
    return array


def per_coordinate(name: str, value: object, size: int, *, low: float = 0.0) -> Doubles:
    """One number for all coordinates or one for each: a finite float64 array, () or (d,)."""
    if type(value) is float and low <= value and math.isfinite(value):  # the common case, fast
        return np.array(value)
    array = doubles(name, value)
    if array.shape not in ((), (size,)):
        raise ValueError(f"{name} of shape {array.shape} must be a number or ({size},)")
    if (array < low).any():
        raise ValueError(f"{name}={_brief(value)} must be >= {low:g}")
    return array


def flag(name: str, value: object) -> bool:
    """True or False, and nothing that is merely truthy or falsy."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={_brief(value)} must be True or False")
    return bool(value)


def binary(name: str, array: Array) -> Array:
    """The same array, if it holds only zeros and ones."""
    if array.dtype.kind == "b":
        return array
    outside = (array != 0) & (array != 1)
    if outside.any():
        raise ValueError(
            f"{name} must be in {{0, 1}}, but it holds {array[outside].flat[0].item()!r}"
        )
    return array


def require_size(name: str, array: Array, size: int, why: str = "") -> None:
    """Refuse an array that is not 1-D with `size` entries."""
    if array.shape != (size,):
        raise ValueError(f"{name} of shape {array.shape} must be ({size},){why}")


def scores(name: str, value: object, size: int) -> Doubles:
    """One score per observation, (T,); infinite scores are ordered like others, NaN is refused."""
    array = real_array(name, value)
    require_size(name, array, size)
    if np.isnan(array).any():
        raise ValueError(f"{name} must hold no NaN")
    return array.astype(np.float64)


def interval(
    name: str,
    value: object,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    closed: Literal["both", "left", "right", "neither"] = "both",
    nan: bool = False,
) -> Doubles:
    """A float64 array of any shape with entries in a range, infinite ends (and NaN) included."""
    if type(value) is float and low < value < high:  # the common case, three times as fast
        return np.array(value)
    array = np.asarray(real_array(name, value), dtype=np.float64)
    if array.size >= _MANY and low < array.min() and array.max() < high:  # two passes in place of 4
        return array
    closed_left, closed_right = closed in ("both", "left"), closed in ("both", "right")
    inside = (array >= low) if closed_left else (array > low)
    inside = inside & ((array <= high) if closed_right else (array < high))
    if nan:
        inside = inside | np.isnan(array)
    if not inside.all():
        index = np.unravel_index(int(np.argmin(inside)), array.shape)
        place = f"[{', '.join(str(int(i)) for i in index)}]" if index else ""
        bounds = _range(low, high, closed_left, closed_right)
        raise ValueError(f"{name}{place}={float(array[index])!r} must be in {bounds}")
    return array


def broadcast(**arrays: Doubles) -> tuple[Doubles, ...]:
    """Read-only views of the named arrays, all of one shape."""
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = " and ".join(f"{name} of shape {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{shapes} must broadcast") from None


def whole(name: str, value: object, low: int, *, why: str = "") -> Doubles:
    """An array of whole numbers of any shape, from `low` to 2**53, all exact in float64."""
    array = real_array(name, value)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must hold numbers, not dtype {array.dtype}")
    if array.dtype.kind not in "iu":
        array = array.astype(np.float64)
    inside = (array >= low) & (array <= 2**53) & (np.floor(array) == array)
    if not inside.all():
        bad = array.flat[int(np.argmin(inside))].item()
        raise ValueError(f"{name}={bad!r} must be a whole number in [{low}, 2**53]{why}")
    return array.astype(np.float64)


def sampled(name: str, rate: float, n: int, low: int = 1) -> int:
    """Return the whole number of n records that a rate samples; errors name the nearest rates."""
    count = round(rate * n)
    # The rounding of a rate such as 1 - 0.9 is accepted, a fraction of a record is not.
    slack = max(min(1e-12 * n, 1e-3), 2.3e-16 * rate * n)
    if count < low or abs(rate * n - count) > slack:
        below = max(low, int(rate * n))
        rates = f"{below / n!r} and {(below + 1) / n!r}"
        raise ValueError(
            f"{name}={rate} must average a whole number of the n={n} records, at least "
            f"{low}; the nearest such rates are {rates}"
        )
    return count


def histogram(
    name: str, value: object, size: int, below: Sequence[int] = (), above: Sequence[int] = ()
) -> Counts:
    """Whole counts of `size` bins and of those below and above.

    Not all are 0, and their sum is at most 2**53, which float64 counts to.
    """
    array = whole(name, value, 0)
    require_size(name, array, size)
    array = np.concatenate([below, array, above])
    total = int(array.sum())  # rounded beyond 2^53, where the sum of integers might overflow
    if total <= 2**53:
        total = int(array.astype(np.int64).sum())
    if not 0 < total <= 2**53:
        raise ValueError(f"{name} must have a sum in [1, 2**53], not {total}")
    return array.astype(np.int64)


def edges(name: str, value: object) -> Doubles:
    """Edges of bins: at least two, ascending; the first and the last may be infinite."""
    array = np.array(real_array(name, value), dtype=np.float64)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"{name} of shape {array.shape} must be 1-D, two edges at least")
    rising = array[1:] > array[:-1]
    if not rising.all():
        index = int(np.argmin(rising))
        pair = f"{float(array[index])!r}, {float(array[index + 1])!r}"
        raise ValueError(f"{name} must ascend, not {name}[{index}:{index + 2}]={pair}")
    array.flags.writeable = False
    return array


Beyond: TypeAlias = tuple[int, int] | tuple[()]


def complete_edges(bounds: Doubles, below: object, above: object) -> tuple[Doubles, Beyond, Beyond]:
    """Edges from -inf to inf, and the members and non-members of the bins that were added.

    Counts on a part of the line are counts given that a score lies there. They belong to
    conditional laws, whose epsilon may be twice that of the mechanism.
    """
    first, last = float(bounds[0]), float(bounds[-1])
    lower = _beyond("below", below, first == -np.inf)
    upper = _beyond("above", above, last == np.inf)
    sides = (("below", lower, first == -np.inf), ("above", upper, last == np.inf))
    missing = [name for name, pair, infinite in sides if not pair and not infinite]
    if missing:
        pairs = " and ".join(f"{name}=(members, nonmembers)" for name in missing)
        raise ValueError(
            f"edges must go from -inf to inf, not from {first!r} to {last!r}: numpy.histogram "
            "drops the scores outside, and what is left certifies nothing. Count between "
            f"np.concatenate([[-np.inf], edges, [np.inf]]), or give the numbers outside as {pairs}"
        )
    every = np.concatenate([[-np.inf] * bool(lower), bounds, [np.inf] * bool(upper)])
    every.flags.writeable = False
    return every, lower, upper


def _beyond(name: str, value: object, infinite: bool) -> Beyond:
    """Members and non-members beyond the finite edges on one side; none if not given."""
    if value is None:
        return ()
    array = whole(name, value, 0)
    if array.shape != (2,):
        raise ValueError(f"{name} of shape {array.shape} must be (members, nonmembers)")
    pair = int(array[0]), int(array[1])
    if infinite:
        raise ValueError(f"{name}={pair} must not be given: no score lies {name} an infinite edge")
    return pair


def sample(name: str, value: object) -> Array:
    """Scores of one class: a 1-D array, not empty, whose values float64 holds exactly."""
    array = real_array(name, value)
    if array.ndim != 1:
        raise ValueError(f"{name} of shape {array.shape} must be 1-D")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        largest = max(abs(int(array.min())), abs(int(array.max())))
        if largest > 2**53:
            raise ValueError(f"{name} of dtype {array.dtype} must be within +-2**53: {largest}")
    return array


def flags(name: str, value: object, size: int) -> Flags:
    """One True/False (or 1/0) per round."""
    array = real_array(name, value)
    require_size(name, array, size)
    return np.asarray(binary(name, array), dtype=np.bool_)


def membership(name: str, value: object, size: int) -> Flags:
    """One True/False (or 1/0) per round, with at least one of each."""
    member = flags(name, value, size)
    if member.all() or not member.any():
        raise ValueError(f"{name} must hold both members and non-members")
    return member


def owners(
    name: str, value: object, size: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """The index of the owner of each row, and the number of rows of each owner.

    One label a row, (size,): integers, texts, or anything that can be sorted; none missing.
    """
    unmasked(name, value)
    labels = np.asarray(value)
    require_size(name, labels, size, ", one a row")
    if labels.dtype.kind in "fc" and np.isnan(labels).any():
        raise ValueError(f"{name} must hold no NaN")
    try:
        _, owner, counts = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError:
        raise TypeError(f"{name} must be of one kind, as integers or texts") from None
    return owner.reshape(size), counts.astype(np.int64)


def instance(name: str, value: object, kind: type[Kind]) -> Kind:
    """One object of a class of this package."""
    if not isinstance(value, kind):
        room = kind.__module__.split(".")[1]
        place = "leakscore" if room == "reference" else f"leakscore.{room}"
        raise TypeError(f"{name}={_brief(value)} must be a {place}.{kind.__name__}")
    return value


_OTHER_WORDS = {
    **dict.fromkeys(("batch_size", "num_records", "q"), ("sample_rate", "steps_per_epoch")),
    **dict.fromkeys(("steps", "num_steps", "num_batches"), ("steps_per_epoch", "num_steps")),
    **dict.fromkeys(("epochs", "num_epochs"), ("num_epochs", "num_steps")),
    **dict.fromkeys(("noise", "sigma", "noise_std"), ("noise_multiplier",)),
}
_MEANINGS = {
    "sample_rate": "batch size / records",
    "steps_per_epoch": "records / batch size",
    "num_steps": "of all epochs together",
    "num_epochs": "passes over the records",
    "noise_multiplier": "noise / clipping norm",
}


def named_arguments(function: Callable[Parameters, Kind]) -> Callable[Parameters, Kind]:
    """Refuse an unexpected keyword of a function about training, and name the one that is meant."""
    parameters = inspect.signature(function).parameters
    names = tuple(parameters)
    in_order = sum(each.kind is not each.KEYWORD_ONLY for each in parameters.values())

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Kind:
        for name in set(kwargs).difference(names):
            meant = [word for word in _OTHER_WORDS.get(name, ()) if word in names]
            hint = f"; pass {meant[0]}, {_MEANINGS[meant[0]]}" if meant else ""
            raise TypeError(
                f"{function.__name__} has no argument {name!r}{hint} (it takes {', '.join(names)})"
            )
        if in_order < len(args) and in_order < len(names):
            rest = ", ".join(names[in_order:])
            raise TypeError(f"{function.__name__} takes by name what follows: {rest}")
        return function(*args, **kwargs)

    return call


def generator(name: str, value: object) -> np.random.Generator:
    """A numpy Generator, made from what SPEC 7 names; None draws a seed from the system."""
    return seeded(name, value)[0]


def seeded(name: str, value: object) -> tuple[np.random.Generator, int | None]:
    """A numpy Generator, and the int with which its draws can be repeated.

    That is None for a Generator and a BitGenerator, which are used as they are, so that their state
    moves on, and for a SeedSequence that no int stands for: their owner has them.
    """
    if isinstance(value, np.random.Generator):
        return value, None
    if isinstance(value, np.random.BitGenerator):
        return np.random.default_rng(value), None
    if isinstance(value, np.random.SeedSequence):
        plain = isinstance(value.entropy, int) and not value.spawn_key and value.pool_size == 4
        return np.random.default_rng(value), value.entropy if plain else None  # type: ignore[return-value]
    seed = int(np.random.SeedSequence().entropy) if value is None else _seed(name, value)  # type: ignore[arg-type]
    return np.random.default_rng(seed), seed


def _seed(name: str, value: object) -> int:
    try:
        seed = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        seed = None
    if seed is None or isinstance(value, (bool, np.bool_)):
        raise TypeError(
            f"{name}={_brief(value)} must be None, an int, or a numpy.random.SeedSequence, "
            "BitGenerator or Generator; a RandomState draws an int: its randint(2**31)"
        )
    if seed < 0:
        raise ValueError(f"{name}={_brief(seed)} must be >= 0")
    return seed
