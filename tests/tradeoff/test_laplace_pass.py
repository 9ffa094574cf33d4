"""The Laplace curves in one pass of the core: the bits of the formulas in numpy."""

from __future__ import annotations

import numpy as np
import pytest

import leakscore
from leakscore.tradeoff import laplace, relaxed_laplace

RNG = np.random.default_rng(11)
ENDS = [0.0, 5e-324, 1e-310, 1e-300, np.nextafter(0.5, 0.0), 0.5, 1.0 - 2.0**-53, 1.0]
ALPHA = np.concatenate(
    [ENDS, np.exp(-RNG.uniform(0, 700, 800)), RNG.random(9000), 1 - np.exp(-RNG.uniform(0, 36, 99))]
)
MAKERS = {
    "laplace": laplace,
    "relaxed": relaxed_laplace,
    "inverse": lambda mu: relaxed_laplace(mu).inverse(),
}
MUS = [0.0, 1e-300, 1e-8, 0.3, 1.5, 30.0, 300.0, [0.0, 0.5, 3.0], [[2.0], [299.0]]]


def formulas(name: str, mu: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Give beta, and the power where the core has it too."""
    mu = mu.reshape(mu.shape + (1,) * alpha.ndim)
    grown, rest = np.exp(mu) * alpha, 1.0 - alpha
    with np.errstate(divide="ignore", over="ignore"):
        if name == "laplace":
            inner = np.where(alpha <= 0.5, 0.25 / grown, np.exp(-mu) * rest)
            steep = grown < 0.5
            beta, power = np.where(steep, 1.0 - grown, inner), np.where(steep, grown, 1.0 - inner)
        elif name == "relaxed":
            arc = rest * (1.0 + alpha) * (0.5 / grown)
            more = 2.0 * np.sinh(0.5 * mu) ** 2 * alpha
            beta = np.where(grown < 1.0, rest - more, arc)
            power = np.where(beta > 0.5, alpha + more, 1.0 - beta)
        else:
            arc = 1.0 / (grown + np.sqrt(1.0 + grown * grown))
            low = alpha < -0.5 * np.expm1(-2.0 * mu)
            beta, power = (
                np.where(low, arc, rest * (2.0 * np.exp(-mu) / (1.0 + np.exp(-2.0 * mu)))),
                None,
            )
    return np.minimum(beta, rest), power


@pytest.mark.parametrize("mu", MUS, ids=str)
@pytest.mark.parametrize("name", MAKERS)
def test_bits_of_the_formulas(name: str, mu: object) -> None:
    curve = MAKERS[name](mu)
    odd = np.repeat(ALPHA, 3)[::-3]
    single = ALPHA.astype(np.float32)
    for x in (ALPHA, odd, single, ALPHA[:9000].reshape(3, 5, -1), np.float64(0.3)):
        beta, power = formulas(name, np.asarray(mu), np.asarray(x, dtype=np.float64))
        np.testing.assert_array_equal(curve(x), beta)
        if power is not None:
            np.testing.assert_array_equal(curve.power(x), power)
    before = leakscore.get_num_threads()
    leakscore.set_num_threads(3)
    shared = curve(ALPHA)
    leakscore.set_num_threads(before)
    np.testing.assert_array_equal(shared, curve(ALPHA))


def test_the_argument_is_not_written_to() -> None:
    alpha = np.linspace(0.0, 1.0, 5000)
    alpha.flags.writeable = False
    for make in MAKERS.values():
        assert make(2.0)(alpha) is not alpha
    np.testing.assert_array_equal(alpha, np.linspace(0.0, 1.0, 5000))


@pytest.mark.parametrize("bad", [-1e-9, 1.0 + 1e-9, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("size", [5, 4095, 4096, 20_000])
def test_one_bad_rate_among_many_is_named(bad: float, size: int) -> None:
    alpha = np.full(size, 0.25)
    alpha[size - 2] = bad
    with pytest.raises(ValueError, match=rf"alpha\[{size - 2}\]={bad!r} must be in \[0, 1\]"):
        laplace(1.0)(alpha)
