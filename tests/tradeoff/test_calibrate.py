"""`tradeoff.calibrate`: the returned noise meets the requirement and a little less does not."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import optimize, stats

from leakscore import tradeoff
from leakscore.tradeoff import calibrate, gaussian, laplace, relaxed_gaussian, relaxed_laplace

MAKERS: dict[str, Any] = {
    "gaussian": gaussian,
    "laplace": laplace,
    "relaxed_gaussian": relaxed_gaussian,
    "relaxed_laplace": relaxed_laplace,
}
DPSGD = {"sample_rate": 4096 / 50_000, "num_steps": 1000}


@pytest.mark.parametrize("family", MAKERS)
@pytest.mark.parametrize(
    ("given", "measure", "target"),
    [
        ({"epsilon": 1.0, "delta": 1e-5}, lambda f: f.delta(1.0), 1e-5),
        ({"epsilon": 0.0, "delta": 1e-3}, lambda f: f.delta(0.0), 1e-3),
        ({"epsilon": 3.0, "delta": 1e-30}, lambda f: f.delta(3.0), 1e-30),
        ({"advantage": 0.05}, lambda f: f.advantage(), 0.05),
        ({"advantage": 0.95}, lambda f: f.advantage(), 0.95),
        ({"power": 0.1, "alpha": 0.01}, lambda f: f.power(0.01), 0.1),
        ({"power": 1e-8, "alpha": 1e-9}, lambda f: f.power(1e-9), 1e-8),
    ],
)
def test_least_noise(family: str, given: Any, measure: Any, target: float) -> None:
    noise = calibrate(family, **given)
    make = MAKERS[family]
    assert type(noise) is float
    assert measure(make(1 / noise)) <= target
    assert measure(make(1 / (noise * (1 - 2e-13)))) > target


@pytest.mark.parametrize(
    ("family", "epsilon", "delta"),
    [
        ("laplace", 1e-3, 1e-12),
        ("laplace", 1e-6, 1e-5),
        ("gaussian", 20.0, 0.5),
        ("gaussian", 100.0, 1e-100),
        ("gaussian", 1e10, 1e-12),
    ],
)
def test_delta_of_the_noise_itself(family: str, epsilon: float, delta: float) -> None:
    """In 60 digits, of the noise that is returned: 1 over it, rounded, was up to 5e-8 off."""
    noise = calibrate(family, epsilon=epsilon, delta=delta)
    with mpmath.workdps(60):
        for scale, above in ((mpmath.mpf(noise), False), (mpmath.mpf(noise) * (1 - 1e-12), True)):
            mu, e = 1 / scale, mpmath.mpf(epsilon)
            if family == "laplace":
                exact = -mpmath.expm1((e - mu) / 2)
            else:
                tails = mpmath.ncdf(mu / 2 - e / mu), mpmath.ncdf(-mu / 2 - e / mu)
                exact = tails[0] - mpmath.exp(e) * tails[1]
            assert (exact > delta) == above


def test_against_closed_forms() -> None:
    mu = optimize.brentq(
        lambda m: stats.norm.cdf(m / 2 - 1 / m) - np.e * stats.norm.cdf(-m / 2 - 1 / m) - 1e-5,
        0.1,
        1,
        xtol=1e-15,
    )
    assert calibrate("gaussian", epsilon=1.0, delta=1e-5) == pytest.approx(1 / mu, rel=1e-9)
    assert calibrate("laplace", epsilon=0.25, delta=0.0) == pytest.approx(4.0, rel=1e-12)
    assert calibrate(gaussian, advantage=0.1) == pytest.approx(
        0.5 / stats.norm.ppf(0.55), rel=1e-12
    )
    named = calibrate("relaxed_gaussian", epsilon=1, delta=1e-5, dim=50)
    assert calibrate(relaxed_gaussian, epsilon=1, delta=1e-5, dim=50) == named

    def make(noise: float, dim: int) -> tradeoff.TradeOff:
        return relaxed_gaussian(1 / noise, dim)

    assert named <= calibrate(make, epsilon=1, delta=1e-5, dim=50) <= named * (1 + 1e-7)


@pytest.mark.parametrize("adversary", ["informed", "relaxed-unaligned"])
def test_composed_curves_meet_it_with_their_certified_end(adversary: Any) -> None:
    noise = calibrate("subsampled_gaussian", epsilon=1, delta=1e-5, adversary=adversary, **DPSGD)
    curve = tradeoff.subsampled_gaussian(noise, adversary=adversary, **DPSGD)
    low, high = curve.interval("delta", 1.0)
    assert low <= high <= 1e-5
    # The first is dp-accounting's PLD noise; the second that of the product of magnitudes
    # (Kaissis et al., section 7.3), both to the width of the bracket.
    known = {"informed": 9.7380, "relaxed-unaligned": 2.6857}[adversary]
    assert noise == pytest.approx(known, rel=2e-4)


def test_more_is_asked_more_is_needed() -> None:
    noises = [calibrate("gaussian", epsilon=1.0, delta=10.0**-k) for k in range(1, 300, 23)]
    assert (np.diff(noises) > 0).all()


@pytest.mark.parametrize(
    "given", [{"advantage": 1.0}, {"power": 1.0, "alpha": 0.5}, {"epsilon": 1.0, "delta": 1.0}]
)
def test_what_needs_no_noise(given: Any) -> None:
    assert calibrate("gaussian", **given) == 1e-6
    assert calibrate(lambda noise: gaussian(1.0 / noise), **given) == 0.05


@pytest.mark.parametrize("alpha", [1e-100, 1e-300])
@pytest.mark.parametrize("more", [1e-6, 1e-9])
def test_what_is_over_the_target_by_less_than_its_log_tells(alpha: float, more: float) -> None:
    most = alpha * (1.0 + more)
    noise = calibrate("gaussian", power=most, alpha=alpha)
    assert gaussian(1.0 / noise).power(alpha) <= most
    assert gaussian(1.0 / (noise * (1.0 - 1e-5))).power(alpha) > most


def test_no_noise_is_tried_below_what_a_family_takes() -> None:
    """A record is in 100 steps of the same place: a tenth of the noise counts."""
    given: Any = {"steps_per_epoch": 10, "num_epochs": 100, "reallocate": False}
    least = calibrate("random_allocation", advantage=1.0, **given)
    assert tradeoff.random_allocation(least, **given).advantage() <= 1.0
    assert 0.5 < least < 1.0
    with pytest.raises(ValueError, match="noise_multiplier"):
        tradeoff.random_allocation(0.5, **given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"advantage": 0.0}, "advantage=0.0 must be reachable: the least advantage is"),
        ({"power": 0.1, "alpha": 0.2}, "the least power is 0.2"),
        ({"epsilon": 5.0, "delta": 0.0}, "the least epsilon is inf"),
        ({"advantage": 1.5}, r"advantage=1.5 must be in \[0, 1\]"),
        ({"epsilon": -1.0, "delta": 0.1}, "epsilon=-1.0"),
        ({"epsilon": 1.0, "delta": np.nan}, "delta=nan"),
        ({"power": 0.1, "alpha": 2.0}, "alpha=2.0"),
    ],
)
def test_what_cannot_be_reached_or_asked(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        calibrate("gaussian", **given)


@pytest.mark.parametrize(
    ("family", "given", "words"),
    [
        ("gaussian", {}, "exactly one"),
        ("gaussian", {"epsilon": 1.0}, "exactly one"),
        ("gaussian", {"advantage": 0.1, "power": 0.1, "alpha": 0.1}, "exactly one"),
        ("gaussian", {"advantage": 0.1, "dim": 3}, "'dim'"),
        ("subsampled_gaussian", {"advantage": 0.1, "sample_rate": 0.1}, "'num_steps'"),
        (3, {"advantage": 0.1}, "family=3"),
        (lambda noise: noise, {"advantage": 0.1}, "make one TradeOff"),
        (lambda noise: gaussian([noise]), {"advantage": 0.1}, "make one TradeOff"),
        ("gaussian", {"curve": gaussian([1.0, 2.0])}, "one TradeOff"),
        ("gaussian", {"curve": 0.5}, "curve=0.5"),
    ],
)
def test_wrong_arguments(family: Any, given: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        calibrate(family, **given)


@pytest.mark.parametrize("family", ["gaussian", "laplace", "relaxed_gaussian"])
def test_noise_for_a_curve(family: str) -> None:
    """The curve is met, certainly; a little less noise is refuted, and few curves were made."""
    made = []

    def make(noise: float) -> tradeoff.TradeOff:
        made.append(noise)
        return MAKERS[family](1 / noise)

    wanted = laplace(1.0) if family == "laplace" else gaussian(1.0)
    noise = calibrate(make, curve=wanted)
    assert MAKERS[family](1 / noise).at_least_as_private_as(wanted)
    assert MAKERS[family](1 / (0.9999 * noise)).at_least_as_private_as(wanted).verdict is False
    assert len(made) < 40
    if family != "relaxed_gaussian":
        assert noise == pytest.approx(1.0, abs=1e-6)


def test_a_curve_out_of_reach() -> None:
    with pytest.raises(ValueError, match=r"the least shortfall of beta is .*e-0"):
        calibrate(lambda noise: laplace(1 / noise), curve=gaussian(1e-9))
