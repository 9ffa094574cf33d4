"""What a curve is about survives every public operation; nothing public escapes this test."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from leakscore import tradeoff
from leakscore.tradeoff import Certificate, TradeOff
from tests.helpers.parts import Between, Premise
from tests.helpers.parts import about as give
from tests.helpers.public import named, public_functions
from tests.tradeoff.public_curves import MADE, MEANS


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
    found = {Between, type(tradeoff.gaussian(1.0).best_of(2).symmetrized())}
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
    f = give(own, Premise(relation, (*own.assumptions, "a given premise")))
    for first in (OPERATIONS | COPIES).values():
        g = outcome(f, first, name)
        if g is not None:
            told = give(g, Premise(g.neighbours, (*g.assumptions, "another")))
            for second in (OPERATIONS | COPIES).values():
                outcome(told, second, name)


def outcome(f: TradeOff, operate: Callable[[Any], Any], name: str) -> TradeOff | None:
    """Check one operation; None where it is refused, as sub-sampling for a replacement is."""
    mixed = operate is OPERATIONS["subsample"]
    words = "must be of shape ()" if f.shape else "no hull in closed pieces"
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
