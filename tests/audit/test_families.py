"""Brackets of a family's parameter: steps from a lower end of any size, and turned families."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from leakscore.audit import Audit
from leakscore.tradeoff import GaussianTradeOff, TradeOff, gaussian
from tests.helpers.parts import Family

LOW = 1024.0


def mu_of(curve: TradeOff) -> float:
    assert isinstance(curve, GaussianTradeOff)
    return float(curve.mu)


@pytest.mark.parametrize(
    ("root", "high", "bracket"),
    [
        (0.3, np.inf, (0.25, 1.0)),
        (2.0**-30, np.inf, (0.0, 0.0)),
        (1.5, np.inf, (1.0, 2.0)),
        (7.3, np.inf, (2.0, 8.0)),
        (7.3, LOW + 5.0, (5.0, 5.0)),
        (3.3, LOW + 5.0, (2.0, 5.0)),
        (0.3, LOW + 0.5, (0.125, 0.5)),
    ],
)
def test_steps_are_counted_from_the_lower_end(
    root: float, high: float, bracket: tuple[float, float]
) -> None:
    """Curves below the lower end do not exist, and none is asked for beyond the upper one."""

    def make(parameter: float) -> TradeOff:
        assert LOW < parameter <= high
        return gaussian(parameter - LOW)

    assert Family(make, None).bracket(lambda curve: mu_of(curve) < root, LOW, high) == bracket


@pytest.mark.parametrize(
    ("refuted", "smaller", "larger"),
    [
        (lambda mu: mu < 4.0, LOW + 2.0**-30, LOW + 1.0),
        (lambda mu: mu > 6.0, LOW + 0.25, LOW + 1.0),
        (lambda mu: mu > 3.0, LOW + 2.0, LOW + 8.0),
        (lambda _: True, LOW + 1.0, LOW + 2.0**55),
    ],
)
def test_the_parameters_of_a_family_that_leaks_less_are_named(
    refuted: Callable[[float], bool], smaller: float, larger: float
) -> None:
    family = Family(lambda parameter: gaussian(10.0 / (1.0 + (parameter - LOW))), None)
    with pytest.raises(ValueError, match=re.escape(f"from {smaller!r} to {larger!r}")):
        family.bracket(lambda curve: refuted(mu_of(curve)), LOW, np.inf)


def test_a_bound_from_a_lower_end() -> None:
    """The same test refutes a family whose parameters are moved."""
    rng = np.random.default_rng(4)
    audit = Audit(rng.normal(2.0, 1.0, 500), rng.normal(0.0, 1.0, 500))
    bound = audit.parameter_lower_bound(gaussian)
    moved = audit.parameter_lower_bound(lambda at: gaussian(at - LOW), low=LOW)
    assert moved.parameter - LOW == pytest.approx(bound.parameter, rel=1e-9)
    assert moved.max_certifiable - LOW == pytest.approx(bound.max_certifiable, rel=1e-9)
    assert (moved.threshold, moved.fpr_upper) == (bound.threshold, bound.fpr_upper)
    assert bound.parameter == pytest.approx(audit.mu().mu, rel=1e-9)
    assert bound.threshold == audit.mu().threshold


def test_the_upper_end_is_proved_by_a_test_that_refutes_it() -> None:
    """There is no search, and the best test of the lower end does not refute the upper one."""
    rng = np.random.default_rng(4)
    audit = Audit(rng.normal(2.0, 1.0, 500), rng.normal(0.0, 1.0, 500))
    high = 0.999 * audit.parameter_lower_bound(gaussian).parameter
    bound = audit.parameter_lower_bound(gaussian, high=high)
    assert bound.parameter == high
    assert gaussian(high)(bound.fpr_upper) > bound.fnr_upper
