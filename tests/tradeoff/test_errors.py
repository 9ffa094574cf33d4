"""The certified error terms of compositions, each against exact arithmetic on small cases.

A term must be above the error that it bounds, and not so far above that ten times as much would go
unseen. The bounds are worst cases over all roundings, the true errors those of a few laws: factors
between the two are stated with each test.
"""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from flint import fmpz_poly

from leakscore.numeric import by_squaring
from leakscore.tradeoff.composition.sums import _transforms
from tests.helpers.parts import Window, compose_lattices
from tests.helpers.versions import OLD_NUMPY
from tests.oracles import lattices as oracle
from tests.tradeoff.composed_masses import (
    Law,
    U,
    error_of,
    in_one_window,
    length_of,
    scale,
    stated_error,
    stated_slack,
    tilted_ends,
)


def masses(kind: str, count: int) -> Any:
    """A spread law; one with all but a thousandth in a few cells; and a single cell."""
    spread = np.random.default_rng(count).random(count)
    spread /= spread.sum()
    if kind == "spread":
        return spread
    spread *= 1e-3 if kind == "held" else 0.0
    spread[count // 2] += 1.0 - spread.sum()
    return spread


@pytest.mark.parametrize(("kind", "factor"), [("spread", 200.0), ("held", 60.0), ("one", 40.0)])
@pytest.mark.parametrize(("size", "count"), [(32, 60), (64, 8), (1000, 60), (4096, 20)])
def test_error_of_a_forward_transform(kind: str, factor: float, size: int, count: int) -> None:
    law = masses(kind, count)
    found, term = _transforms([law], size)[0]
    places = np.unique(np.r_[0, 1, size // 2, np.random.default_rng(1).integers(0, size // 2, 100)])
    exact = oracle.transform(law, size, places)
    errors = [mp.mpc(complex(found[j])) - value for j, value in zip(places, exact, strict=True)]
    assert oracle.largest(errors) <= term <= factor * oracle.largest(errors)


def test_a_transform_by_hand_still_pays_for_the_rest() -> None:
    """What a few cells do not hold goes through the FFT, whose error comes on top."""
    size, law = 1000, masses("held", 60)
    rest = law.copy()
    rest[29:32] = 0.0
    on_top = _transforms([law], size)[0][1] - _transforms([masses("one", 60)], size)[0][1]
    places = np.arange(0, size // 2 + 1, 5)
    exact = oracle.transform(rest, size, places)
    found = np.fft.rfft(rest, size)
    errors = [mp.mpc(complex(found[j])) - value for j, value in zip(places, exact, strict=True)]
    assert oracle.largest(errors) <= on_top <= 300.0 * oracle.largest(errors)


@pytest.mark.parametrize("size", [64, 540, 2048])
def test_error_of_an_inverse_transform(size: int) -> None:
    rng = np.random.default_rng(size)
    spectrum = rng.standard_normal(size // 2 + 1) + 1j * rng.standard_normal(size // 2 + 1)
    spectrum[[0, -1]] = spectrum[[0, -1]].real
    found = np.fft.irfft(spectrum, size)
    whole = np.concatenate([spectrum, np.conj(spectrum[-2:0:-1])])
    errors = []
    with mp.workprec(160):
        for k in rng.integers(0, size, 2**14 // size).tolist():
            turns = (
                mp.mpc(complex(z)) * mp.expjpi(mp.mpf(2 * (j * k % size)) / size)
                for j, z in enumerate(whole)
            )
            errors.append(mp.mpf(float(found[k])) - mp.fsum(turns).real / size)
    term = 8.0 * U * np.log2(size) * float(np.abs(whole).mean())
    assert (
        oracle.largest(errors) <= term <= (3000.0 if OLD_NUMPY else 2000.0) * oracle.largest(errors)
    )


@pytest.mark.parametrize("n", [2, 64, 1000, 4095])
def test_error_of_a_power(n: int) -> None:
    angle = np.random.default_rng(n).uniform(0.0, 6.3, 400)
    z = (1.0 - 0.1 / n) * np.exp(1j * angle)
    found = by_squaring(z, n, np.multiply)
    with mp.workprec(160):
        exact = [mp.mpc(complex(base)) ** n for base in z]
        errors = [abs(mp.mpc(complex(f)) - e) / abs(e) for f, e in zip(found, exact, strict=True)]
    term = 4.0 * n * U
    assert oracle.largest(errors) <= term <= 9.0 * oracle.largest(errors)


LAWS = [(-0.3, np.log(masses("spread", 12)), 5), (-0.3, np.log(masses("held", 9)), 40)]
HALF = (-0.3, np.log([0.1, 0.15, 0.5, 0.15, 0.1]), 30)  # a fifth is not in three cells
ONE = (-0.3, np.log(np.append(1.0 - 1e-6, np.full(5, 2e-7))), 1000)


@pytest.mark.parametrize(
    ("parts", "reach"),
    [
        (LAWS[:1], 1e9),
        (LAWS, 1e9),
        ([HALF], 1e9),
        ([(-0.3, LAWS[1][1], 100_000)], 60.0),
        ([ONE], 1e9),
    ],
)
def test_the_parts_of_the_error_are_added_up(parts: list[Law], reach: float) -> None:
    """The error of a cell is that of the module's first lines."""
    sums = in_one_window(parts, reach=reach)
    stated = stated_error(parts, length_of(sums.low.shape[1]))
    assert error_of(parts, sums) == pytest.approx(stated, rel=0.02, abs=0.0)


@pytest.mark.parametrize("parts", [LAWS[:1], LAWS])
@pytest.mark.parametrize("theta", [0.0, 1.5])
def test_cells_of_a_window_err_by_less_than_their_term(parts: list[Law], theta: float) -> None:
    sums = in_one_window(parts, theta=theta)
    low, high = tilted_ends(parts, sums, theta)
    exact = oracle.product([(logs, n) for _, logs, n in parts])
    logs = scale(parts, sums, theta)
    seen = np.flatnonzero(np.isfinite(sums.low[0]))
    true = [float(exact[k] * mp.exp(-logs[k])) for k in seen.tolist()]
    worst = float(np.abs(0.5 * (low + high) - true).max())
    assert 0.0 < worst <= error_of(parts, sums, theta) < 1e-12


@pytest.mark.parametrize("side", ["below", "above"])
def test_what_wraps_around_is_added_to_the_error(side: str) -> None:
    """A window that leaves out a tenth: nearly all of its error is what comes around."""
    skew = np.array([0.09, 0.88, 0.03]) if side == "below" else np.array([0.03, 0.88, 0.09])
    parts = [(-0.3, np.log(skew), 5)]
    tilts = (
        min(
            np.linspace(0.5, 40.0, 200),
            key=lambda tilt: in_one_window(parts, reach=1e-9, tilts=(-tilt, 1.0)).log_below,
        ),
        min(
            np.linspace(0.5, 40.0, 200),
            key=lambda tilt: in_one_window(parts, reach=1e-9, tilts=(-1.0, tilt)).log_above,
        ),
    )
    sums = in_one_window(parts, reach=1e-9, tilts=(-tilts[0], tilts[1]))
    exact = oracle.power(np.log(skew), 5)
    first, end = sums.first, sums.first + sums.low.shape[1]
    assert end - first < 4
    missing = [float(mp.fsum(exact[:first])), float(mp.fsum(exact[end:]))]
    for mass, bound in zip(missing, (sums.log_below, sums.log_above), strict=True):
        assert 0.005 < mass <= np.exp(bound) <= 4.0 * mass  # Chernoff's bound
    for k in range(first, end):
        low, high = np.exp([float(one[0, k - first]) for one in (sums.low, sums.high)])
        assert low <= exact[k] <= high
        assert float(exact[k]) + 1e-4 < high <= float(exact[k]) + 5.0 * sum(missing)


def test_nothing_is_outside_of_a_whole_window() -> None:
    sums = in_one_window(LAWS)
    assert (sums.log_below, sums.log_above) == (-np.inf, -np.inf)


@pytest.mark.parametrize("theta", [0.0, 1.0, -3.0, 12.0])
@pytest.mark.parametrize("n", [1, 1000, 10**5])
@pytest.mark.parametrize("first", [-0.3, -30.0])
def test_slack_of_a_logarithm(theta: float, n: int, first: float) -> None:
    """Logs of masses at two losses, n times each, against binomial ones in 60 digits.

    The slack also pays for the masses of the lattice (below) and for sums, so that it is up to
    some thousand times what a tilt alone needs.
    """
    far, spacing = 40, 0.005
    logs = np.full(far + 1, -np.inf)
    logs[[0, far]] = np.log([0.7 * 0.9, 0.7 * 0.1])  # log 0.7 is part of the scale
    parts = [(first, logs, n)]
    share = 1.0 / (1.0 + 9.0 * np.exp(-theta * spacing * far))
    reach = 9.0 * far * spacing * float(np.sqrt(n * share * (1.0 - share))) + spacing
    sums = in_one_window(parts, spacing, theta, reach)
    stated, worst, least = stated_slack(parts, spacing, theta), mp.mpf(0), np.inf
    middle = round(n * share)
    with mp.workdps(60):
        both = [mp.mpf(float(x)) for x in logs[[0, far]]]
        for k in range(max(middle - 9, 0), min(middle + 10, n + 1)):
            low, high = (float(one[0, far * k - sums.first]) for one in (sums.low, sums.high))
            true = mp.log(mp.binomial(n, k)) + (n - k) * both[0] + k * both[1]
            worst = max(worst, abs((mp.mpf(low) + mp.mpf(high)) / 2 - true))
            least = min(least, 0.5 * (high - low))
    assert float(worst) <= stated <= 1e4 * float(worst)
    assert stated * (1.0 - 1e-3) <= least <= stated + 500.0 * (n + 1) * U


def blocks_of(exact: list[Any], spacing: float, block: int) -> list[tuple[Any, Any]]:
    """Split cells between the two points of their block so that the sum of e^loss is kept."""
    width = mp.mpf(spacing) * block
    found = []
    for start in range(0, len(exact), block):
        ends = [mp.mpf(0), mp.mpf(0)]
        for k, mass in enumerate(exact[start : start + block]):
            share = mp.expm1(mp.mpf(spacing) * k) / mp.expm1(width)
            ends[0] += mass * (1 - share)
            ends[1] += mass * share
        found.append((ends[0], ends[1]))
    return found


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_composed_masses_lie_between_their_ends(shift: float) -> None:
    """Every block's masses and both tails, from all tilts, as far down as the windows reach."""
    spacing, block = 0.05, 3
    parts = [(-0.7, np.log(masses("spread", 30)), 70), (-0.2, np.log(masses("held", 15)), 30)]
    last = sum(n * (logs.size - 1) for _, logs, n in parts)
    windows = tuple(
        Window(theta, 20.0, 20.0, theta - 2.0, theta + 2.0) for theta in (-1.0, 0.0, 1.0, 2.0)
    )
    sums = compose_lattices(parts, spacing, block, windows, shift)
    exact = oracle.product([(logs, n) for _, logs, n in parts])
    split = blocks_of(exact + [mp.mpf(0)] * (-(last + 1) % block), spacing, block)
    first, end = sums.first, sums.first + sums.low.shape[1]
    assert first > 0
    assert end < len(split)
    near = 0
    with mp.workprec(oracle.BITS):
        for k in range(first, end):
            for row in (0, 1):
                true = mp.log(split[k][row])
                low, high = (mp.mpf(float(side[row, k - first])) for side in (sums.low, sums.high))
                assert low < true < high
                near += high - low < 1e-9
        below = mp.log(mp.fsum(exact[: first * block]))
        above = mp.log(mp.fsum(exact[end * block :]))
        assert below <= sums.log_below <= 0.4 * below  # Chernoff's bound, at some tilt
        assert above <= sums.log_above <= 0.4 * above
    assert near > end - first
    points = sums.points
    offset = -0.7 * 70 - 0.2 * 30
    np.testing.assert_allclose(points, offset + spacing * block * np.arange(first, end + 1))


def test_the_oracle_multiplies() -> None:
    third = np.log(np.full(3, 1.0 / 3.0))
    assert oracle.power(third, 2)[2] == pytest.approx(1 / 3, rel=1e-15)
    assert [int(c) for c in (fmpz_poly([1, 1]) ** 2).coeffs()] == [1, 2, 1]
