"""Marcum's Q against 80-digit Poisson mixtures at the exact squares of its arguments."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.distributions import marcum_p, marcum_q, marcum_q_inv, ncx2
from tests.helpers.chi2_points import TAIL_FLOOR, TOLERANCE, relative
from tests.oracles.chi2 import logs

pytestmark = pytest.mark.usefixtures("digits")

rng = np.random.default_rng(33)


def cases() -> list[tuple[float, float, float]]:
    """Return (m, a, b) with b from the middle to 35 standard deviations away."""
    found = []
    for m, a in ((0.5, 2.3), (1.0, 0.0), (1.0, 7.1), (4.3, 31.7), (300.5, 0.3), (2000.0, 171.3)):
        scale = np.sqrt(2 * m + a * a)
        found += [(m, a, float(b)) for b in np.abs(scale + rng.uniform(-35, 35, 12)) if b > 1e-3]
    return found


CASES = cases()
with mp.workdps(50):
    LOGS = [logs(mpf(b) ** 2, 2 * m, mpf(a) ** 2) for m, a, b in CASES]


def test_both_tails(isa: str) -> None:
    m, a, b = np.array(CASES).T
    for function, name in ((marcum_q, "sf"), (marcum_p, "cdf")):
        wanted = [mp.exp(getattr(found, name)) for found in LOGS]
        kept = [i for i, w in enumerate(wanted) if w > TAIL_FLOOR]
        assert len(kept) > 40
        got = function(m[kept], a[kept], b[kept])
        assert relative(got, [wanted[i] for i in kept]).max() < TOLERANCE


def test_rounded_squares_would_lose_digits() -> None:
    """The reason for the function: squaring first costs what the condition number says."""
    m, a, b = 2000.0, 171.3, 217.9
    wanted = mp.exp(logs(mpf(b) ** 2, 2 * m, mpf(a) ** 2).sf)
    rounded = max(
        float(relative(np.array([ncx2.sf(v * v, 2 * m, a * a)]), [w])[0])
        for v in np.linspace(b, b + 1e-3, 6)
        for w in [mp.exp(logs(mpf(v) ** 2, 2 * m, mpf(a) ** 2).sf)]
    )
    assert relative(np.array([marcum_q(m, a, b)]), [wanted]).max() < TOLERANCE
    assert rounded > 2 * TOLERANCE


def test_order_one_without_noncentrality() -> None:
    b = rng.uniform(0, 37, 100)
    wanted = [mp.exp(-(mpf(v) ** 2) / 2) for v in b.tolist()]
    assert relative(marcum_q(1, 0, b), wanted).max() < 1.5e-15


def test_inverse(isa: str) -> None:
    m = 10 ** rng.uniform(-1.5, 6, 500)
    a = np.where(rng.random(500) < 0.2, 0, 10 ** rng.uniform(-2, 3, 500))
    q = np.concatenate([rng.uniform(0.01, 0.99, 250), 10 ** rng.uniform(-300, -2, 250)])
    b = marcum_q_inv(m, a, q)
    hazard = 2 * b * b * np.exp(ncx2.logpdf(b * b, 2 * m, a * a) - np.log(q))  # of log q in log b
    np.testing.assert_array_less(np.abs(marcum_q(m, a, b) / q - 1), 1e-13 + 4e-16 * hazard)


def test_ends() -> None:
    inf, nan = np.inf, np.nan
    b = [0.0, inf, 1e200, -1.0, nan, -0.0]
    np.testing.assert_array_equal(marcum_q(2, 3, b), [1, 0, 0, nan, nan, 1])
    np.testing.assert_array_equal(marcum_p(2, 3, b), [0, 1, 1, nan, nan, 0])
    for m, a in ((0, 1), (-1, 1), (nan, 1), (1, -1), (1, nan), (1, inf)):
        assert np.isnan(marcum_q(m, a, 1.0))
        assert np.isnan(marcum_p(m, a, 1.0))
        assert np.isnan(marcum_q_inv(m, a, 0.5))
    np.testing.assert_array_equal(
        marcum_q_inv(1, 2, [0, 1, nan, 1.1, -0.1]), [inf, 0, nan, nan, nan]
    )
