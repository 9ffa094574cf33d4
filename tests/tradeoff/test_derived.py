"""Curves made of brackets, of polygons and of sequences: truths from the laws themselves.

A derived bracket holds the truth between its ends, which differ by less than any slip: an end made
from the wrong one, a vertex or a step that is lost, a rounding that is left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from leakscore import tradeoff
from leakscore.tradeoff import TradeOff

SHIFT, RATE = 1.0, 0.2
ONE_STEP = tradeoff.subsampled_gaussian(1.0 / SHIFT, RATE, 1)  # a bracket of a law in closed form

Rates = tuple[Any, Any]


def one_step(x: Any) -> Rates:
    """Both error rates of accusing outputs above x: of N(0, 1), or at RATE N(SHIFT, 1)."""
    missed = (1.0 - RATE) * stats.norm.cdf(x) + RATE * stats.norm.cdf(x - SHIFT)
    return stats.norm.sf(x), missed


def sampled(rates: Rates, rate: float) -> Rates:
    alpha, beta = rates
    return alpha, (1.0 - rate) * (1.0 - alpha) + rate * beta


def largest(rates: Rates, looks: int) -> Rates:
    alpha, beta = rates
    return -np.expm1(looks * np.log1p(-alpha)), beta * (1.0 - alpha) ** (looks - 1)


# What is made of a bracket, and of the error rates of its tests.
MADE: dict[str, tuple[Callable[[TradeOff], TradeOff], Callable[[Rates], Rates]]] = {
    "itself": (lambda f: f, lambda r: r),
    "subsample": (lambda f: f.subsample(0.4), lambda r: sampled(r, 0.4)),
    "best_of": (lambda f: f.best_of(3), lambda r: largest(r, 3)),
    "twice": (lambda f: f.subsample(0.7).subsample(0.5), lambda r: sampled(r, 0.35)),
    "best_of, subsample": (
        lambda f: f.best_of(2).subsample(0.5),
        lambda r: sampled(largest(r, 2), 0.5),
    ),
    "subsample, best_of": (
        lambda f: f.subsample(0.5).best_of(2),
        lambda r: largest(sampled(r, 0.5), 2),
    ),
}
every = pytest.mark.parametrize("name", MADE)


def true_delta(rates: Callable[[Any], Rates], epsilon: float) -> float:
    """The largest 1 - beta - e^epsilon alpha over all thresholds."""

    def loss(x: float) -> float:
        alpha, beta = rates(x)
        return float(beta + math.exp(epsilon) * alpha - 1.0)

    grid = np.linspace(-7.0, 7.0, 141)
    best = grid[int(np.argmin([loss(x) for x in grid]))]
    found = optimize.minimize_scalar(
        loss, bounds=(best - 0.1, best + 0.1), method="bounded", options={"xatol": 1e-10}
    )
    return -float(found.fun)


@every
def test_a_derived_bracket_holds_the_truth(name: str) -> None:
    make, of = MADE[name]
    x = np.linspace(-2.5, 6.0, 35)
    alpha, beta = of(one_step(x))
    for f, a, b in ((make(ONE_STEP), alpha, beta), (make(ONE_STEP).inverse(), beta, alpha)):
        low, high = f.interval("beta", a)
        assert ((low <= b) & (b <= high)).all()
        assert 1e-9 < (high - low).max() < 1e-5
        np.testing.assert_array_equal(f(a), f.lower(a))
        np.testing.assert_array_equal(f.power(a), f.lower.power(a))


@every
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_deltas_of_a_derived_bracket_hold_the_truth(name: str, epsilon: float) -> None:
    make, of = MADE[name]
    f = make(ONE_STEP)
    forward = true_delta(lambda x: of(one_step(x)), epsilon)
    reverse = true_delta(lambda x: of(one_step(x))[::-1], epsilon)
    for direction, truth in (("forward", forward), ("reverse", reverse)):
        low, high = f.interval("delta", epsilon, direction)
        assert low <= truth + 1e-15
        assert truth <= high + 1e-15
        assert 1e-10 < high - low < 1e-5
        assert f.delta(epsilon, direction) == high
    low, high = f.interval("epsilon", forward, "forward")
    assert low <= epsilon + 1e-13
    assert epsilon <= high + 1e-13
    if name == "best_of, subsample":  # no hull in closed pieces
        return
    hull = f.symmetrized()
    low, high = hull.interval("delta", epsilon)
    assert low <= max(forward, reverse) + 1e-15
    assert max(forward, reverse) <= high + 1e-15
    assert low < high
    assert hull.delta(epsilon) == high


@every
def test_areas_of_a_derived_bracket_hold_the_truth(name: str) -> None:
    make, of = MADE[name]
    x = np.linspace(-7.0, 9.0, 400_001)
    alpha, beta = of(one_step(x))
    area = 1.0 - abs(float(integrate.simpson(beta, x=alpha)))
    low, high = make(ONE_STEP).interval("auc")
    assert low - 1e-10 <= area <= high + 1e-10
    assert 1e-10 < high - low < 1e-5
    assert make(ONE_STEP).auc() == high


NUMBERS: list[tuple[str, tuple[float, ...]]] = [
    ("__call__", (0.2,)),
    ("power", (0.2,)),
    ("log_power", (-3.0,)),
    ("advantage", ()),
    ("auc", ()),
    ("delta", (0.1,)),
    ("epsilon", (1e-3,)),
    ("ppv", (0.01, 0.5)),
    ("ppv", (0.0, 0.5)),
]
WIDE = tradeoff.correlated_gaussian([[1, 0], [-1, 2]], [[1, 1]])  # mu of 3.16 and of 1.41
WIDE_ENDS = tradeoff.subsampled_gaussian(1.0, 0.3, 3, "relaxed-aligned")


@pytest.mark.parametrize("number", NUMBERS, ids=str)
@pytest.mark.parametrize("f", [WIDE, WIDE_ENDS, WIDE_ENDS.inverse(), WIDE_ENDS.subsample(0.5)])
def test_every_number_is_that_of_the_lower_curve(
    f: TradeOff, number: tuple[str, tuple[float, ...]]
) -> None:
    name, given = number
    found, safe, other = (getattr(curve, name)(*given) for curve in (f, f.lower, f.upper))
    assert found == safe
    assert safe <= other if name == "__call__" else safe >= other
    if given[:1] != (0.0,) or "gaussian(" not in repr(f.lower):  # any ratio occurs
        assert safe != other


def test_a_hull_is_no_inverse() -> None:
    hull = WIDE_ENDS.symmetrized()
    alpha = np.linspace(0.01, 0.99, 33)
    for end, of in ((hull.lower, WIDE_ENDS.lower), (hull.upper, WIDE_ENDS.upper)):
        assert (end(alpha) <= np.minimum(of(alpha), of.inverse()(alpha)) + 1e-12).all()
        np.testing.assert_allclose(end.inverse()(alpha), end(alpha), atol=1e-12)


@pytest.mark.parametrize("name", ["itself", "subsample", "best_of"])
def test_hulls_of_both_ends(name: str) -> None:
    """Where alpha is small the hull is the curve; that of the inverse is the same."""
    f = MADE[name][0](ONE_STEP)
    hull, turned, alpha = f.symmetrized(), f.inverse().symmetrized(), np.geomspace(1e-4, 1e-2, 41)
    for end, same in ((hull.lower, turned.lower), (hull.upper, turned.upper)):
        np.testing.assert_allclose(end(alpha), same(alpha), rtol=1e-13)
    assert (hull.upper(alpha) >= f.upper(alpha) * (1.0 - 1e-13)).all()
    assert (hull.lower(alpha) <= f.lower(alpha) * (1.0 + 1e-13)).all()


@pytest.mark.parametrize(
    "f",
    [
        tradeoff.relaxed_laplace(1.0).subsample(0.1),
        tradeoff.shifted_gaussian(1.0, 0.7).subsample(0.9),
        tradeoff.relaxed_gaussian(2.0),
        tradeoff.relaxed_gaussian(2.0).best_of(3),
        tradeoff.gaussian(2.0).subsample(0.4).best_of(3),
    ],
    ids=str,
)
def test_epsilons_of_a_hull_are_those_of_the_worse_order(f: TradeOff) -> None:
    hull = f.symmetrized()
    for share in (0.9, 0.5, 1e-2, 1e-4, 1e-6):
        delta = share * float(f.advantage())
        both = [f.epsilon(delta, direction) for direction in ("forward", "reverse")]
        assert hull.epsilon(delta) == pytest.approx(max(both), rel=1e-12, abs=0.0)


class Laws(NamedTuple):
    """Masses of some outcomes without the record and with it, and the polygon of the two."""

    outside: np.ndarray
    inside: np.ndarray
    curve: TradeOff


def drawn(outside: list[float], inside: list[float]) -> Laws:
    """The polygon from ratios of a hundred draws of members."""
    p, q = np.array(outside), np.array(inside)
    with np.errstate(divide="ignore"):
        ratio = np.log(q / p)
    return Laws(p, q, tradeoff.from_llr(llr_h1=np.repeat(ratio, np.rint(100 * q).astype(int))))


def claimed(epsilon: float, delta: float) -> Laws:
    """Randomised response that tells the truth for sure with probability delta."""
    yes = (1.0 - delta) / (1.0 + math.exp(-epsilon))
    p = np.array([delta, yes, 1.0 - delta - yes, 0.0])
    return Laws(p, p[::-1], tradeoff.approximate_dp(epsilon, delta))


LAWS = {
    "both have all": drawn([0.3, 0.2, 0.2, 0.15, 0.1, 0.05], [0.05, 0.1, 0.1, 0.25, 0.2, 0.3]),
    "a member is sure": drawn([0.3, 0.25, 0.25, 0.1, 0.1, 0.0], [0.1, 0.05, 0.25, 0.1, 0.2, 0.3]),
    "both are sure": claimed(0.7, 0.2),
}
each_law = pytest.mark.parametrize("laws", LAWS.values(), ids=LAWS)
ALPHA = np.linspace(0.0, 1.0, 57)


def corners(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Both error rates of the tests that accuse the outcomes of the largest ratios, (k, 2)."""
    with np.errstate(divide="ignore"):
        order = np.argsort(-q / p, kind="stable")
    alpha, caught = (np.concatenate([[0.0], np.cumsum(law[order])]) for law in (p, q))
    return np.stack([alpha, 1.0 - caught], axis=1)


def below_all(points: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The lower convex hull of points, as the least chord of any two of them."""
    best = np.full(alpha.shape, np.inf)
    for (a, b), (c, d) in itertools.product(points, points):
        if a <= c:
            share = np.clip((alpha - a) / max(c - a, 1e-300), 0.0, 1.0)
            line = np.where(alpha > c, d, b + share * (d - b))
            best = np.where(alpha >= a, np.minimum(best, line), best)
    return best


@each_law
@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_no_vertex_of_a_polygon_is_lost(laws: Laws, rate: float) -> None:
    p, q, f = laws
    mixed = (1.0 - rate) * p + rate * q
    g = f.subsample(rate)
    for curve, points in (
        (f, corners(p, q)),
        (f.inverse(), corners(q, p)),
        (f.symmetrized(), np.concatenate([corners(p, q), corners(q, p)])),
        (g, corners(p, mixed)),
        (g.inverse(), corners(mixed, p)),
        (g.symmetrized(), np.concatenate([corners(p, mixed), corners(mixed, p)])),
    ):
        np.testing.assert_allclose(curve(ALPHA), below_all(points, ALPHA), atol=1e-12)
        power = 1.0 - below_all(points, ALPHA)
        np.testing.assert_allclose(curve.power(ALPHA), power, atol=1e-12)
        for epsilon in (-0.2, 0.0, 0.4, 2.0):
            gain = (1.0 - points[:, 1] - math.exp(epsilon) * points[:, 0]).max()
            assert curve.delta(epsilon, "forward") == pytest.approx(max(gain, 0.0), abs=1e-12)


@each_law
def test_looks_at_a_polygon(laws: Laws) -> None:
    """Between its vertices a test flips a coin in each look."""
    f = laws.curve
    alpha, looks = np.linspace(0.0, 0.999, 57), 3
    one = -np.expm1(np.log1p(-alpha) / looks)
    points = corners(laws.outside, laws.inside)
    missed = below_all(points, one) * (1.0 - one) ** (looks - 1)
    np.testing.assert_allclose(f.best_of(looks)(alpha), missed, atol=1e-12)


@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_limits_of_a_small_alpha(rate: float) -> None:
    """Of Laplace noise a record of the largest ratio, e, flags members; of the least, strangers."""
    f = tradeoff.laplace(1.0).subsample(rate)
    for g, ratio in (
        (f, 1.0 / (1.0 - rate + rate * math.e)),
        (f.inverse(), 1.0 - rate + rate / math.e),
        (f.best_of(4), 4.0 / (1.0 - rate + rate * math.e + 3.0)),
    ):
        assert g.ppv(0.0, 0.5) == pytest.approx(1.0 / (1.0 + ratio), rel=1e-12)


class Part(NamedTuple):
    """One step with Gaussian noise: sampled at a rate, and its curve."""

    shift: float
    rate: float

    @property
    def curve(self) -> TradeOff:
        if self.rate == 1.0:
            return tradeoff.gaussian(self.shift)
        return tradeoff.subsampled_gaussian(1.0 / self.shift, self.rate, 1)

    def ratio(self, x: float) -> float:
        return 1.0 - self.rate + self.rate * math.exp(self.shift * x - 0.5 * self.shift**2)

    def above(self, ratio: float) -> tuple[float, float]:
        """Probabilities of a larger ratio, without the record and with it."""
        if ratio <= 1.0 - self.rate:
            return 1.0, 1.0
        level = math.log((ratio - (1.0 - self.rate)) / self.rate) / self.shift + 0.5 * self.shift
        outside, hit = map(float, stats.norm.sf([level, level - self.shift]))
        return outside, (1.0 - self.rate) * outside + self.rate * hit


def noise_of(part: Part | None) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Density and ratio of a first step; None is Laplace noise with a shift of 1."""
    if part is None:
        return lambda x: 0.5 * math.exp(-abs(x)), lambda x: math.exp(abs(x) - abs(x - 1.0))
    return stats.norm.pdf, part.ratio


def two_steps(first: Part | None, second: Part, epsilon: float) -> tuple[float, float]:
    """delta in both directions of two independent steps, by quadrature over the first output."""
    density, ratio = noise_of(first)
    scale = math.exp(epsilon)

    def forward(x: float) -> float:
        outside, inside = second.above(scale / ratio(x))
        return density(x) * (ratio(x) * inside - scale * outside)

    def reverse(x: float) -> float:
        outside, inside = second.above(1.0 / (scale * ratio(x)))
        return density(x) * ((1.0 - outside) - scale * ratio(x) * (1.0 - inside))

    edges = [-30.0, -8.0, 0.0, 1.0, 8.0, 30.0]
    found = [
        sum(
            integrate.quad(gain, low, high, epsabs=1e-13, limit=500)[0]
            for low, high in itertools.pairwise(edges)
        )
        for gain in (forward, reverse)
    ]
    return found[0], found[1]


A, B, PLAIN = Part(1.5, 0.3), Part(0.8, 0.6), Part(1.2, 1.0)
NOISE, ROOT = tradeoff.laplace(1.0), Part(math.sqrt(2.0), 1.0)
SEQUENCES: dict[str, tuple[list[Any], Part | None, Part]] = {
    "the same twice": ([A.curve, A.curve], A, A),
    "a pair": ([(A.curve, 2)], A, A),
    "a sequence and the same": ([tradeoff.compose([A.curve]), A.curve], A, A),
    "two steps": ([tradeoff.compose([A.curve, B.curve])], A, B),
    "two of two": ([A.curve, B.curve], A, B),
    "with noise on all": ([PLAIN.curve, A.curve], A, PLAIN),
    "with noise of equal mu": (
        [tradeoff.compose([NOISE, tradeoff.gaussian(1.0)]), tradeoff.gaussian(1.0)],
        None,
        ROOT,
    ),
    "with noise of equal mu in one": ([NOISE, (tradeoff.gaussian(1.0), 2)], None, ROOT),
}


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("epsilon", [0.2, 1.5])
def test_no_step_of_a_sequence_is_lost(name: str, epsilon: float) -> None:
    curves, first, second = SEQUENCES[name]
    f = tradeoff.compose(curves)
    for direction, truth in zip(
        ("forward", "reverse"), two_steps(first, second, epsilon), strict=True
    ):
        low, high = f.interval("delta", epsilon, direction)
        assert low - 1e-12 <= truth <= high + 1e-12
        assert high - low < 1e-4 * truth + 1e-9


def test_both_ends_of_a_sequence_of_brackets() -> None:
    """Squares of shifts add up: of the guarantees at the lower end, of the attacks at the upper."""
    f = tradeoff.compose([(WIDE, 2), tradeoff.gaussian(0.5), tradeoff.compose([WIDE])])
    for end, square in ((f.lower, 10.0), (f.upper, 2.0)):
        assert end.mu**2 == pytest.approx(3.0 * square + 0.25, rel=1e-12)


def test_repeated_sequences_of_equal_steps() -> None:
    """Equal steps of all entries are counted, however they are written; ends agree to rounding."""
    whole = tradeoff.subsampled_gaussian(1.0, 0.1, 6)
    two = tradeoff.subsampled_gaussian(1.0, 0.1, 2)
    for curves in ([two, two, two], [(two, 3)], [(tradeoff.compose([two]), 2), two]):
        f = tradeoff.compose(curves)
        for delta in (1e-2, 1e-5):
            assert f.interval("epsilon", delta) == whole.interval("epsilon", delta)


@pytest.mark.parametrize("steps", [2, 5, 12])
def test_rounding_of_correlated_noise(steps: int) -> None:
    """Both shifts against rational numbers: outwards, and not ten times as far as need be."""
    rng = np.random.default_rng(steps)
    unit, furthest = Fraction(1, 2**53), Fraction(0)
    patterns = np.array(list(itertools.product([0.0, 1.0], repeat=min(steps, 5))))[1:]
    patterns = np.pad(patterns, ((0, 0), (0, steps - patterns.shape[1])), mode="wrap")
    for _ in range(60):
        matrix = np.tril(rng.normal(size=(steps, steps)))
        noise = float(rng.uniform(0.3, 3.0))
        f = tradeoff.correlated_gaussian(matrix, patterns, noise)
        if f.lower is f.upper:
            continue
        exact = [[Fraction(x) for x in row] for row in matrix.tolist()]
        gram = [[sum(row[i] * row[j] for row in exact) for j in range(steps)] for i in range(steps)]
        both = []
        for take in (abs, Fraction):
            largest_form = max(
                sum(take(gram[i][j]) for i in chosen for j in chosen)
                for chosen in (np.flatnonzero(pattern).tolist() for pattern in patterns)
            )
            both.append(largest_form / Fraction(noise) ** 2)
        below, above = (Fraction(float(end.mu)) ** 2 for end in (f.lower, f.upper))
        assert below >= both[0]
        assert above <= both[1]
        furthest = max(furthest, below / both[0] - 1, 1 - above / both[1])
    assert 0 < furthest < 12 * steps * unit
