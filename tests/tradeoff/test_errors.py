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
from leakscore.tradeoff.composition import sums as composition
from leakscore.tradeoff.composition.sums import _U, _Range, _Tilt
from tests.helpers.parts import EqualSteps, Window, compose_lattices
from tests.helpers.versions import OLD_NUMPY
from tests.oracles import lattices as oracle


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
    found, term = composition._transforms([law], size)[0]
    places = np.unique(np.r_[0, 1, size // 2, np.random.default_rng(1).integers(0, size // 2, 100)])
    exact = oracle.transform(law, size, places)
    errors = [mp.mpc(complex(found[j])) - value for j, value in zip(places, exact, strict=True)]
    assert oracle.largest(errors) <= term <= factor * oracle.largest(errors)


def test_a_transform_by_hand_still_pays_for_the_rest() -> None:
    """What a few cells do not hold goes through the FFT, whose error comes on top."""
    size, law = 1000, masses("held", 60)
    rest = law.copy()
    rest[29:32] = 0.0
    on_top = (
        composition._transforms([law], size)[0][1]
        - composition._transforms([masses("one", 60)], size)[0][1]
    )
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
    term = composition._fft_unit(size) * float(np.abs(whole).mean())
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
    term = n * composition._PRODUCT
    assert oracle.largest(errors) <= term <= 9.0 * oracle.largest(errors)


LAWS = [(np.log(masses("spread", 12)), 5), (np.log(masses("held", 9)), 40)]


def tilted(parts: list[tuple[Any, int]], theta: float = 0.0, spacing: float = 0.1) -> _Tilt:
    return _Tilt([EqualSteps(-0.3, logs, n) for logs, n in parts], spacing, theta)


def logs_of(law: _Tilt) -> list[tuple[Any, int]]:
    return [(np.log(some), n) for some, n in law.laws()]


@pytest.mark.parametrize("parts", [LAWS[:1], LAWS, [(LAWS[1][0], 100_000)]])
def test_the_parts_of_the_error_are_added_up(parts: list[tuple[Any, int]]) -> None:
    """The error of a cell is that of the module's first lines, up to a few roundings of logs."""
    size, law = 2048, tilted(parts)
    _, error = law._spectrum(size)
    found = composition._transforms([some for some, _ in law.laws()], size)
    transforms = [(*one, n) for one, (_, n) in zip(found, law.laws(), strict=True)]
    inverse = 8.0 * _U * np.log2(size)
    total, count = mp.mpf(0), sum(n for _, _, n in transforms)
    with mp.workdps(60):
        for j in range(size // 2 + 1):
            sizes = [(abs(mp.mpc(complex(z[j]))), mp.mpf(d), n) for z, d, n in transforms]
            powers = mp.fprod(x**n for x, _, n in sizes)
            raised = mp.fprod((x + d) ** n for x, d, n in sizes)
            share = raised - powers + (4 * count * mp.mpf(_U) + inverse) * powers
            total += share * (1 if j in (0, size // 2) else 2) / size
    assert error == pytest.approx(float(total), rel=0.02, abs=0.0)


@pytest.mark.parametrize("parts", [LAWS[:1], LAWS])
@pytest.mark.parametrize("theta", [0.0, 1.5])
def test_cells_of_a_window_err_by_less_than_their_term(
    parts: list[tuple[Any, int]], theta: float
) -> None:
    law = tilted(parts, theta)
    blocks = _Range(0, law.last // 4 + 1, -1.0, 1.0)
    found = law.window(blocks, 4)
    exact = oracle.product(logs_of(law))
    errors = [mp.mpf(float(x)) - y for x, y in zip(found.cells, exact, strict=False)]
    assert 0.0 < oracle.largest(errors) <= found.error < 1e-12


@pytest.mark.parametrize("side", ["below", "above"])
def test_what_wraps_around_is_added_to_the_error(side: str) -> None:
    """A window that leaves out a hundredth: nearly all of its error is what comes around."""
    law = tilted([(np.log(masses("spread", 40)), 20)])
    exact = oracle.product(logs_of(law))
    tail = np.cumsum(oracle.as_floats(exact if side == "below" else exact[::-1]))
    edge = int(np.searchsorted(tail, 0.01))
    if side == "below":
        start, stop = edge, len(exact)
    else:
        start, stop = 0, len(exact) - edge
    outside = exact[:start] if side == "below" else exact[stop:]
    tilts = np.linspace(0.05, 3.0, 60)
    below = min(-tilts, key=lambda tilt: law._outside(start - 1, tilt))
    above = min(tilts, key=lambda tilt: law._outside(stop, tilt))
    found = law.window(_Range(start, stop, below, above), 1)
    errors = [mp.mpf(float(x)) - y for x, y in zip(found.cells, exact[start:stop], strict=False)]
    missing = mp.fsum(outside)
    bound = found.log_outside[0 if side == "below" else 1]
    assert missing <= mp.exp(bound) <= 9 * missing  # Chernoff's bound
    assert max(oracle.largest(errors), float(missing) - 1e-12) <= found.error
    assert oracle.largest(errors) > 1e-6  # of cells, of which a few thousand share the mass
    assert found.error <= 9.0 * float(missing)


def test_nothing_is_outside_of_a_whole_window() -> None:
    law = tilted(LAWS)
    found = law.window(_Range(0, law.last + 1, -1.0, 1.0), 1)
    assert found.log_outside == (-np.inf, -np.inf)


@pytest.mark.parametrize("theta", [0.0, 1.0, -3.0, 12.0])
@pytest.mark.parametrize("n", [1, 1000, 10**6])
@pytest.mark.parametrize("first", [-0.3, -30.0])
def test_slack_of_a_logarithm(theta: float, n: int, first: float) -> None:
    """Logs of tilted masses and their scale, n times each, against 60 digits.

    The slack also pays for the masses of the lattice (below) and for sums, so that it is up to
    some hundred times what the tilt alone needs.
    """
    log_mass = np.log(0.7 * masses("spread", 50))  # log 0.7 is part of the scale
    law = _Tilt([EqualSteps(first, log_mass, n)], 0.1, theta)
    (logs, _), worst = logs_of(law)[0], mp.mpf(0)
    with mp.workdps(60):
        for k in range(50):
            loss = mp.mpf(first) + mp.mpf(0.1) * k
            true = n * (mp.mpf(float(log_mass[k])) + mp.mpf(theta) * loss)
            found = n * mp.mpf(float(logs[k])) + mp.mpf(law.log_scale)
            worst = max(worst, abs(found - true))
    assert float(worst) <= law.slack <= 1500.0 * float(worst)
    assert law.slack <= 150.0 * _U * n * (4.0 + (1.0 + abs(theta)) * (abs(first) + 5.0) + 60.0)


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
