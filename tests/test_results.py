"""Results are equal by value, and bounds are numbers that never round up."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from decimal import ROUND_FLOOR, Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakscore
from leakscore.audit import Audit, one_run, one_run_fdp
from leakscore.games import summarize
from leakscore.results import Result
from leakscore.tradeoff import gaussian, laplace
from tests.helpers.public import modules

MEMBERS, NONMEMBERS = np.arange(1000.0, 1100.0), np.arange(100.0)
GUESSED = (range(100), [False] * 50 + [True] * 50, 20, 0)


@dataclass(frozen=True, eq=False)
class Part:
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Made(Result):
    number: float
    values: np.ndarray
    parts: tuple[Any, ...] = ()


def made(number: float = 1.0, values: Any = (1.0, np.nan, 3.0), parts: Any = ()) -> Made:
    return Made(number, np.array(values), parts)


def test_equal_if_all_fields_are() -> None:
    assert made() == made()
    assert made(np.nan) == made(float("nan"))
    assert made(values=["high", "low"]) == made(values=["high", "low"])
    assert made(parts=(1, Part(np.ones(2)))) == made(parts=(1, Part(np.ones(2))))


@pytest.mark.parametrize(
    "other",
    [
        made(2.0),
        made(np.nan),
        made(values=(1.0, 2.0, np.nan)),
        made(values=(1.0, np.nan, 4.0)),
        made(values=(1.0, np.nan)),
        made(values=[(1.0, np.nan, 3.0)]),
        made(values=["high", "low", "high"]),
        made(parts=(1,)),
        made(parts=(Part(np.ones(2)),)),
        Made(1.0, 1.0),  # type: ignore[arg-type]
        object(),
        None,
    ],
)
def test_unequal_if_one_is_not(other: object) -> None:
    assert made() != other
    assert not made() == other  # noqa: SIM201
    assert made(parts=(Part(np.zeros(2)),)) != other


def test_hash_follows_equality_and_is_refused_of_arrays() -> None:
    bound = Audit(MEMBERS, NONMEMBERS).epsilon(1e-5, method="dkw")
    again = Audit(MEMBERS, NONMEMBERS).epsilon(1e-5, method="dkw")
    assert bound == again
    assert hash(bound) == hash(again)
    assert len({bound, again, replace(bound, epsilon=1.0)}) == 2
    undefined = (replace(bound, fpr=float("nan")), replace(bound, fpr=np.float64("nan")))
    assert hash(undefined[0]) == hash(undefined[1])
    several = Audit(MEMBERS, NONMEMBERS).epsilon([1e-5, 0.1], method="dkw")
    assert several == Audit(MEMBERS, NONMEMBERS).epsilon([1e-5, 0.1], method="dkw")
    assert several != Audit(MEMBERS, NONMEMBERS).epsilon([1e-5, 0.2], method="dkw")
    with pytest.raises(TypeError, match=r"EpsilonBound has no hash: epsilon is an array.*to_json"):
        hash(several)


def test_a_summary_with_nan_equals_itself_made_again() -> None:
    first, second = (summarize([1.0, -np.inf, 2.0, 0.0], [1, 1, 0, 0]) for _ in range(2))
    assert np.isnan(first.member_mean)
    assert first == second


def test_no_result_compares_by_itself() -> None:
    """A dataclass that makes its own ``==`` would compare arrays as truth values."""
    kinds = {
        kind
        for module in modules(leakscore)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Result) and is_dataclass(kind)
    }
    assert len(kinds) >= 18
    own = {kind.__name__ for kind in kinds if kind.__dataclass_params__.eq}  # type: ignore[attr-defined]
    assert own == set()


BOUNDS = {
    "EpsilonBound": lambda: Audit(MEMBERS, NONMEMBERS).epsilon(1e-5, method="dkw"),
    "MuBound": lambda: Audit(MEMBERS, NONMEMBERS).mu(method="dkw"),
    "ParameterBound": lambda: Audit(MEMBERS, NONMEMBERS).parameter_lower_bound(
        laplace, method="dkw"
    ),
    "GaussianEpsilon": lambda: Audit(MEMBERS, NONMEMBERS).epsilon_if_gaussian(1e-5, method="dkw"),
    "OneRunBound": lambda: one_run(*GUESSED),
    "OneRunFamilyBound": lambda: one_run_fdp(*GUESSED, gaussian),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_compare_as_numbers(name: str) -> None:
    bound = BOUNDS[name]()
    assert type(bound).__name__ == name
    number = float(bound)
    assert 0.0 < number < np.inf
    above = np.nextafter(number, np.inf)
    assert bound >= number
    assert bound <= number
    assert number <= bound
    assert [bound > number, bound < number, bound >= above] == [False] * 3
    assert bound < above
    assert above > bound
    assert bound > 0
    assert np.float64(0.0) < bound
    assert max(bound, BOUNDS[name]()) is bound
    if name != "OneRunFamilyBound":  # which holds a curve, and that equals itself only
        assert bound == BOUNDS[name]()
    assert bound == replace(bound)
    assert bound != replace(bound, confidence=0.5)
    with pytest.raises(TypeError, match=rf"an? {name} is no number to =="):
        bound == number  # noqa: B015
    with pytest.raises(TypeError, match="not supported between instances"):
        bound < "1"  # noqa: B015
    with pytest.raises(TypeError, match="not supported between instances"):
        bound < object()  # noqa: B015


def test_bounds_of_another_kind_or_of_many_deltas_are_not_compared() -> None:
    with pytest.raises(TypeError, match="'<' not supported between instances of"):
        BOUNDS["MuBound"]() < BOUNDS["EpsilonBound"]()  # noqa: B015
    many = Audit(MEMBERS, NONMEMBERS).epsilon([0.0, 0.1], method="dkw")
    for use in (float, round, "{:.2f}".format, lambda bound: bound > 1.0):
        with pytest.raises(TypeError, match="an EpsilonBound needs a scalar delta; read"):
            use(many)


def bound_of(number: float) -> Any:
    return replace(BOUNDS["MuBound"](), mu=number)


def floor_to(number: float, places: int) -> float:
    """The oracle: the decimal floor of the shortest form that reads as the number."""
    with localcontext() as context:
        context.prec, context.rounding = 800, ROUND_FLOOR
        scaled = Decimal(repr(number)) * Decimal(10) ** places
        return float(scaled.to_integral_value() / Decimal(10) ** places)


NUMBERS = st.floats(0.0, 1e6) | st.decimals(0, 50, places=3).map(float) | st.sampled_from([np.pi])


@given(NUMBERS, st.integers(-2, 18))
def test_round_goes_down(number: float, places: int) -> None:
    rounded = round(bound_of(number), places)
    assert isinstance(rounded, float)
    assert rounded <= number
    assert rounded == floor_to(number, places)


def test_round_keeps_what_has_no_more_digits() -> None:
    """The double 0.3 is below three tenths, and still rounds to 0.3."""
    assert round(bound_of(0.3), 1) == 0.3
    assert round(bound_of(2.675), 2) == 2.67
    assert round(bound_of(1.9999), 3) == 1.999
    assert round(bound_of(1.9999)) == 1
    assert isinstance(round(bound_of(1.9999)), int)
    assert round(bound_of(np.inf), 2) == np.inf
    assert round(bound_of(123.4), -1) == 120.0


SPECIFICATIONS = [
    ".0f",
    ".3f",
    "f",
    ".2e",
    "E",
    ".3g",
    "g",
    ".1G",
    "10.2f",
    "+.1f",
    ".4",
    "n",
    "#.3g",
]


@given(NUMBERS, st.sampled_from(SPECIFICATIONS))
def test_format_goes_down_and_no_further_than_a_digit(number: float, specification: str) -> None:
    text = format(bound_of(number), specification)
    assert float(text) <= number
    # One unit of the last digit more would be above, or the number is shown whole.
    nearest = float(format(number, specification))
    assert float(text) == nearest or nearest > number
    assert len(text) <= max(
        len(format(number, specification)), len(format(nearest, specification)) + 1
    )


@pytest.mark.parametrize(
    ("number", "specification", "text"),
    [
        (5.2389, ".2f", "5.23"),
        (5.2389, "*^9.1f", "***5.2***"),
        (0.2989, ".1%", "29.8%"),
        (9.999, ".1e", "9.9e+00"),
        (99.99, ".3g", "99.9"),
        (1234567.8, ",.0f", "1,234,567"),
        (5.2389, ">8", "  5.2389"),
        (5.23891234, "12", "  5.23891234"),
        (0.27, ".0g", "0.2"),
        (0.0, ".2f", "0.00"),
        (np.inf, ".2f", "inf"),
    ],
)
def test_formats(number: float, specification: str, text: str) -> None:
    assert format(bound_of(number), specification) == text


def test_format_without_a_specification_is_the_whole_result() -> None:
    bound = BOUNDS["MuBound"]()
    assert f"{bound}" == str(bound) == repr(bound)
    with pytest.raises(ValueError, match="Unknown format code 'd'"):
        format(bound, "d")
