"""What a curve is about survives every public operation; nothing public escapes this test."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from leakscore import sequential, tradeoff
from leakscore.tradeoff import Certificate, TradeOff
from leakscore.tradeoff.premise import Premise
from leakscore.tradeoff.shapes.bracket import Between
from tests.helpers.public import named, public_functions

RATIOS = np.array([-1.0, 0.5, 2.0, 3.0])
SAMPLED = (2.0, 0.25, 3)
MEANS = ("tradeoff.gaussian_mean", "tradeoff.subsampled_mean")  # whose H0 is one law
WHOLE = (2.0, 1.0, 3)
REPLACED = sequential.game_tradeoff(2.0)

FIXED = tradeoff.fixed_batch_gaussian(2.0, 2, 4, 2)
TRUNCATED = tradeoff.truncated_poisson_gaussian(2.0, 0.5, 2, 4, 2)
CORRELATED = tradeoff.correlated_gaussian([[1, 0], [-1, 2]], [[1, 1]])

# Every public constructor: curves of it, and what they are about.
MADE: dict[str, list[tuple[Callable[[], TradeOff], str | None]]] = {
    "sequential.game_tradeoff": [
        (lambda: sequential.game_tradeoff(2.0), "replace"),
        (lambda: sequential.game_tradeoff(2.0, "add-remove"), "add-remove"),
    ],
    "tradeoff.approximate_dp": [(lambda: tradeoff.approximate_dp(1.0, 0.01), None)],
    "tradeoff.compose": [
        (lambda: tradeoff.compose([(tradeoff.gaussian(1.0), 2)]), None),
        (lambda: tradeoff.compose([tradeoff.gaussian(1.0), tradeoff.laplace(1.0)]), None),
        (
            lambda: tradeoff.compose(
                [tradeoff.laplace(1.0), tradeoff.subsampled_gaussian(*SAMPLED)]
            ),
            "add-remove",
        ),
        (lambda: tradeoff.compose([tradeoff.laplace(1.0), REPLACED]), "replace"),
        (lambda: tradeoff.compose([tradeoff.gaussian(1.0), (REPLACED, 2)]), "replace"),
    ],
    "tradeoff.compose_relaxed_gaussian": [
        (lambda: tradeoff.compose_relaxed_gaussian([1.0, 0.5], 1), None)
    ],
    "tradeoff.correlated_gaussian": [(lambda: CORRELATED, "add-remove")],
    "tradeoff.discrete_gaussian": [
        (lambda: tradeoff.discrete_gaussian(1.5, 2), None),
        (lambda: tradeoff.discrete_gaussian(1.5, 2, relaxed=True), None),
    ],
    "tradeoff.discrete_laplace": [(lambda: tradeoff.discrete_laplace(1.5, 2, relaxed=True), None)],
    "tradeoff.fixed_batch_gaussian": [(lambda: FIXED, "replace")],
    "tradeoff.from_llr": [(lambda: tradeoff.from_llr(RATIOS - 2.0, RATIOS), None)],
    "tradeoff.gaussian": [(lambda: tradeoff.gaussian(1.0), None)],
    "tradeoff.gaussian_mean": [
        (lambda: tradeoff.gaussian_mean(9.0, 10, 3), "replace"),
        (lambda: tradeoff.gaussian_mean(1e61, 10, 3), "replace"),
        (lambda: tradeoff.gaussian_mean([9.0, 1e61], 10, 3), "replace"),
    ],
    "tradeoff.laplace": [(lambda: tradeoff.laplace(1.0), None)],
    "tradeoff.misspecified": [(lambda: tradeoff.misspecified(4.0, 2.0), None)],
    "tradeoff.random_allocation": [(lambda: tradeoff.random_allocation(2.0, 4), "add-remove")],
    "tradeoff.relaxed_gaussian": [
        (lambda: tradeoff.relaxed_gaussian(1.0, 2), None),
        (lambda: tradeoff.relaxed_gaussian(1e40, 2), None),
    ],
    "tradeoff.relaxed_laplace": [(lambda: tradeoff.relaxed_laplace(1.0), None)],
    "tradeoff.shifted_gaussian": [
        (lambda: tradeoff.shifted_gaussian(1.0, 2.0), None),
        (lambda: tradeoff.shifted_gaussian(1.0, [1.0, 2.0]), None),
    ],
    "tradeoff.shuffled_gaussian": [(lambda: tradeoff.shuffled_gaussian(2.0, 4), "replace")],
    "tradeoff.truncated_poisson_gaussian": [(lambda: TRUNCATED, "add-remove")],
    "tradeoff.subsampled_gaussian": [
        (lambda: tradeoff.subsampled_gaussian(*SAMPLED), "add-remove"),
        (lambda: tradeoff.subsampled_gaussian(*SAMPLED, "relaxed-aligned"), "add-remove"),
        (lambda: tradeoff.subsampled_gaussian(*SAMPLED, "relaxed-unaligned"), "add-remove"),
        *(
            (
                lambda who=who, how=how: tradeoff.subsampled_gaussian(*WHOLE, who, how),  # type: ignore[misc]
                how,
            )
            for who in ("informed", "relaxed-aligned", "relaxed-unaligned")
            for how in ("add-remove", "replace")
        ),
    ],
    "tradeoff.subsampled_laplace": [
        (lambda: tradeoff.subsampled_laplace(*SAMPLED), "add-remove"),
        (lambda: tradeoff.subsampled_laplace(2.0, 1.0, 1), "add-remove"),
        (lambda: tradeoff.subsampled_laplace(*WHOLE, neighbours="replace"), "replace"),
    ],
    "tradeoff.subsampled_mean": [(lambda: tradeoff.subsampled_mean(1.0, 0.25), "replace")],
}


@cache
def made(name: str, index: int) -> TradeOff:
    return MADE[name][index][0]()


def about(name: str, index: int) -> str | None:
    return MADE[name][index][1]


CASES = [(name, index) for name, all_of_it in MADE.items() for index in range(len(all_of_it))]
# A curve that fits either relation may state one.
STATED = [
    (*case, relation)
    for case in CASES
    for relation in ([about(*case)] if about(*case) else [None, "add-remove", "replace"])
]

# Every public method and property that gives a curve, and copies.
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "inverse": lambda f: f.inverse(),
    "symmetrized": lambda f: f.symmetrized(),
    "lower": lambda f: f.lower,
    "upper": lambda f: f.upper,
    "subsample": lambda f: f.subsample(0.5),
    "best_of": lambda f: f.best_of(3),
    "estimate": lambda f: getattr(f, "estimate", f),
}
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda f: pickle.loads(pickle.dumps(f)),
}


def mentions_a_curve(hint: Any) -> bool:
    """Whether a TradeOff is anywhere in a type."""
    if isinstance(hint, list):  # the arguments of a Callable
        return any(map(mentions_a_curve, hint))
    kind = get_origin(hint) or hint  # of GaussianTradeOff[float], the class
    if isinstance(kind, type) and issubclass(kind, TradeOff):
        return True
    return any(map(mentions_a_curve, get_args(hint)))


def hints(function: Any) -> dict[str, Any]:
    late = {"TradeOff": TradeOff, "Certificate": Certificate, "Axes": object}
    return get_type_hints(function, late | function.__globals__)


def givers() -> Iterator[str]:
    """Names of the public functions, methods and properties whose result is a curve."""
    for name, function in public_functions().items():
        function = getattr(function, "__func__", function)
        if mentions_a_curve(hints(function).get("return")):
            yield name
    for name, value in named().items():
        if inspect.isclass(value) and issubclass(value, TradeOff):
            for key, kept in inspect.getmembers(value, lambda member: isinstance(member, property)):
                if mentions_a_curve(hints(kept.fget).get("return")):
                    yield f"{name}.{key}"


def concrete(kind: type = TradeOff) -> Iterator[type]:
    for child in kind.__subclasses__():
        yield from concrete(child)
        if child.__module__.startswith("leakscore.") and not inspect.isabstract(child):
            yield child


def classes() -> set[type]:
    """Give the classes of all curves that constructors and one or two operations make."""
    found: set[type] = {Between}
    for case in CASES:
        f = made(*case)
        once = [g for operate in OPERATIONS.values() if (g := outcome(f, operate, case[0]))]
        plain = [g for g in once if not isinstance(g, Between)]
        twice = [outcome(g, OPERATIONS["inverse"], case[0]) for g in plain]
        found |= {type(g) for g in (f, *once, *twice)}
    return found


def test_nothing_public_that_makes_a_curve_is_left_out() -> None:
    functions, methods = set(), set()
    for name in givers():
        owner = name.rpartition(".")[0]
        kind = named().get(owner)
        if inspect.isclass(kind) and issubclass(kind, TradeOff):
            methods.add(name.rpartition(".")[2])
        else:
            functions.add(name)
    assert functions == set(MADE)
    assert methods == set(OPERATIONS)
    assert set(concrete()) <= classes()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_constructor_is_about(case: tuple[str, int]) -> None:
    assert made(*case).neighbours == about(*case)
    with pytest.raises(AttributeError):
        made(*case).neighbours = "replace"  # type: ignore[misc]


@pytest.mark.parametrize(("rate", "poisson"), [(0.25, True), (1.0, False)])
@pytest.mark.parametrize("make", [tradeoff.subsampled_gaussian, tradeoff.subsampled_laplace])
@pytest.mark.parametrize("steps", [1, 3])
def test_what_sampled_noise_assumes(make: Any, steps: int, rate: float, poisson: bool) -> None:
    f = make(2.0, rate, steps)
    words = [text.partition(":")[0] for text in f.assumptions]
    assert words == ["Poisson sampling"] * poisson + ["exact noise"]
    assert f.subsample(0.5).assumptions == make(2.0, 0.25, steps).assumptions or not poisson


@pytest.mark.parametrize(("name", "index", "relation"), STATED)
def test_it_survives_every_operation(name: str, index: int, relation: str | None) -> None:
    """Two operations, one after the other; of every constructor's curves, about every relation."""
    own = made(name, index)
    f = own._about(Premise(relation, (*own.assumptions, "a given premise")))
    for first in (OPERATIONS | COPIES).values():
        g = outcome(f, first, name)
        if g is not None:
            told = g._about(Premise(g.neighbours, (*g.assumptions, "another")))
            for second in (OPERATIONS | COPIES).values():
                outcome(told, second, name)


def outcome(f: TradeOff, operate: Callable[[Any], Any], name: str) -> TradeOff | None:
    """Check one operation; None where it is refused, as sub-sampling for a replacement is."""
    mixed = operate is OPERATIONS["subsample"]
    words = "to be of shape ()" if f.shape else "no hull in closed pieces"
    if mixed and f.neighbours == "replace":
        words = "neighbours='add-remove'"
    g = None
    with suppress_only(words):
        g = operate(f)
    if g is None:
        return None
    if mixed and f.neighbours == "replace":
        assert name in MEANS
    assert g.neighbours == (f.neighbours or ("add-remove" if mixed else None))
    assert set(f.assumptions) <= set(g.assumptions)
    assert mixed or f.assumptions == g.assumptions
    return g  # type: ignore[no-any-return]


@contextmanager
def suppress_only(words: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        if words not in str(error):
            raise
