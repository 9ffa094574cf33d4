"""The Laplace curves in one pass of the core: the bits of the formulas in numpy."""

from __future__ import annotations

import numpy as np
import pytest

import leakscore
from leakscore.tradeoff import laplace, relaxed_laplace
from leakscore.tradeoff import laplace_curves as module

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


@pytest.mark.parametrize("mu", MUS, ids=str)
@pytest.mark.parametrize("name", MAKERS)
def test_bits_of_the_formulas(name: str, mu: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """`_plain` False leaves the formulas to numpy."""
    curve = MAKERS[name](mu)
    odd = np.repeat(ALPHA, 3)[::-3]
    single = ALPHA.astype(np.float32)
    cases = (ALPHA, odd, single, ALPHA[:9000].reshape(3, 5, -1), np.float64(0.3))
    found = [(curve(x), curve.power(x)) for x in cases]
    before = leakscore.get_num_threads()
    leakscore.set_num_threads(3)
    shared = curve(ALPHA)
    leakscore.set_num_threads(before)
    monkeypatch.setattr(module, "_plain", lambda mu: False)
    for x, (beta, power) in zip(cases, found, strict=True):
        rate = np.asarray(x, dtype=np.float64)
        np.testing.assert_array_equal(beta, curve(rate))
        np.testing.assert_array_equal(power, curve.power(rate))
    np.testing.assert_array_equal(shared, found[0][0])


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
