"""Student's laws in C++: against mpmath, far out, with few and very many degrees of freedom."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from leakscore import shadow
from leakscore.shadow import arrays
from tests.helpers.parts import OneStep
from tests.oracles import shadow as oracle
from tests.oracles import shadow_fits

pytestmark = pytest.mark.usefixtures("digits")

DEVIATIONS = np.array([0.0, 1e-9, -1.0, 3.0, 40.0, 1e6, -1e10, 1e60, 1e160])


@pytest.mark.parametrize("nu", [1e-3, 0.7, 3.0, 31.5, 33.0, 1e4, 1e9, 1e15, np.inf])
@pytest.mark.parametrize("scale2", [1e-6, 1.0, 1e9])
def test_log_ratio(nu: float, scale2: float) -> None:
    """Of records that no model has: IN the prior alone; OUT one more model, at the mean of -1."""
    far = DEVIATIONS if nu < np.inf else DEVIATIONS[:-1]
    priors = shadow.Prior(0.0, 1e300, nu, scale2), shadow.Prior(-1.0, 1e300, 4.0, 1.25)
    nobody = np.zeros((1, far.size))
    found = shadow.bayes(far, nobody - 1.0, nobody, prior=priors)
    for d, e, value in zip(far, far + 1.0, found, strict=True):
        terms = (
            oracle.log_t(mp.mpf(d), 0, mp.mpf(scale2), mp.mpf(nu)),
            -oracle.log_t(mp.mpf(e), 0, 1, mp.mpf(5)),
        )
        size = max(1, *map(abs, terms))
        assert abs(value - mp.fsum(terms)) <= 4e-14 * size, (d, nu)


def test_one_sided_records_and_any_layout() -> None:
    """Influences that are given need no model on either side; targets lie in any order."""
    rng = np.random.default_rng(0)
    signals, included = rng.normal(size=(6, 9)) + 300.0, rng.random((6, 9)) < 0.5
    included[:, 0], included[:, 1] = True, False
    observed = np.asfortranarray(rng.normal(size=(3, 9)) + 300.0)
    g = np.linspace(0.0, 4.0, 9)
    found = shadow.one_step(observed, signals, included, influence=g)
    for row, values in enumerate(observed):
        expected = shadow_fits.one_step(values, signals, included, list(g))
        np.testing.assert_allclose(found[row], np.array(expected, dtype=float), rtol=4e-11)
    for score in (shadow.bayes, shadow.paired):
        inside = included.copy()
        inside[:2, :2] = [[True], [False]]
        straight = score(np.ascontiguousarray(observed), signals, inside)
        np.testing.assert_array_equal(score(observed, signals, inside), straight)


def test_steps_are_those_of_a_loop() -> None:
    """Far margins too, where a step is next to nothing or whole, and cancels with its mean."""
    rng = np.random.default_rng(1)
    signals = rng.normal(size=(7, 40)) * np.geomspace(1e-6, 30.0, 40) + np.linspace(-40, 60, 40)
    included = rng.random((7, 40)) < 0.6
    included[:2] = True
    found = OneStep().fit(arrays.read(signals, included)).steps
    for n in range(40):
        t = [mp.mpf(x) for x in signals[included[:, n], n].tolist()]
        s = [oracle.sigma(-x) for x in t]
        products = mp.fsum(
            (x - oracle.mean(t)) * (y - oracle.mean(s)) for x, y in zip(t, s, strict=True)
        )
        spread = mp.sqrt(oracle.squares(t) * oracle.squares(s))
        assert abs(found.mean[n] - oracle.mean(s)) <= 1e-14 * oracle.mean(s)
        rounding = 1e-13 * oracle.squares(s) + 1e-15 * oracle.mean(s) * mp.sqrt(oracle.squares(s))
        assert abs(found.squares[n] - oracle.squares(s)) <= 10 * rounding
        assert abs(found.products[n] - products) <= 1e-12 * spread + 1e-14 * oracle.mean(s)
