"""The theorems behind `Monitor`, by linear programmes and by enumeration, on the compiled bets."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import linprog

from leakscore.audit import Monitor
from leakscore.tradeoff import TradeOff, approximate_dp, gaussian, laplace
from tests.oracles.monitor import bets_of

SCORES = (-2.0, -1.0, 0.0, 1.0, 2.0)


def worst_mean(
    values: np.ndarray, sticks: list[tuple[float, float, float]], p: float = 0.5
) -> float:
    """Return max of (1 - p) P0 values[0] + p P1 values[1] over all laws that obey hockey sticks.

    Each stick is (epsilon, forward, reverse): P1(A) - e^epsilon P0(A) <= forward for all A, and the
    same with P0 and P1 exchanged. The unknowns are P0, P1 and the positive parts.
    """
    k = values.shape[1]
    rows, limits = [], []
    columns = 2 * k + 2 * k * len(sticks)
    for i, (epsilon, forward, reverse) in enumerate(sticks):
        for side, most in ((0, forward), (1, reverse)):
            first = 2 * k + (2 * i + side) * k
            for score in range(k):
                row = np.zeros(columns)
                row[(1 - side) * k + score] = 1.0  # scaled by e^-epsilon, for large epsilon
                row[side * k + score] = -math.exp(epsilon)
                row[first + score] = -1.0
                rows.append(row)
                limits.append(0.0)
            row = np.zeros(columns)
            row[first : first + k] = 1.0
            rows.append(row)
            limits.append(most)
    gain = np.zeros(columns)
    gain[:k], gain[k : 2 * k] = (1 - p) * values[0], p * values[1]
    sums = np.zeros((2, columns))
    sums[0, :k] = sums[1, k : 2 * k] = 1.0
    found = linprog(
        -gain, A_ub=np.array(rows), b_ub=limits, A_eq=sums, b_eq=[1.0, 1.0], method="highs"
    )
    assert found.status == 0
    return float(-found.fun)


def next_wealth(monitor: Monitor) -> np.ndarray:
    """Return the e-value after each score and bit, over the e-value now."""
    raw, now = monitor.to_bytes(), monitor.log_e_value
    values = np.empty((2, len(SCORES)))
    for bit, (i, score) in product((0, 1), enumerate(SCORES)):
        after = Monitor.from_bytes(raw)
        after.update([score], [bit])
        values[bit, i] = math.exp(after.log_e_value - now)
    return values


def watched(claim: object, rng: np.random.Generator, **options: object) -> Monitor:
    """Return a monitor after rounds that leak."""
    rounds = int(rng.integers(4, 60))
    member = rng.random(rounds) < options.get("inclusion", 0.5)
    monitor = Monitor(claim, epsilons=(), **options)
    monitor.update(np.clip(rng.normal(2.0 * member - 1.0).round(), -2, 2), member)
    return monitor


@pytest.mark.parametrize("claim", [(0.0, 0.0), (0.5, 0.0), (0.5, 0.1), (0.0, 0.3), (1.2, 0.01)])
@pytest.mark.parametrize("inclusion", [0.5, 0.15, 0.8])
def test_no_close_pair_lets_the_wealth_grow(claim, inclusion: float) -> None:
    """Theorem 1: whatever was learned, over all pairs that obey the claim."""
    rng = np.random.default_rng([12, int(100 * inclusion)])
    most = 0.0
    for _ in range(12):
        values = next_wealth(watched(claim, rng, inclusion=inclusion))
        assert (values >= 0.0).all()
        worst = worst_mean(values, [(claim[0], claim[1], claim[1])], inclusion)
        assert worst <= 1.0 + 1e-9
        most = max(most, worst)
    assert most > 0.97  # and it is nearly attained: a looser divisor would waste evidence


def most_of_table(values: np.ndarray, curve: TradeOff) -> float:
    """Theorem 3: c_f of a table, an envelope of lines weighed by the curve's hockey sticks."""
    lines = sorted({(float(w1), float(w0)) for w0, w1 in values.T})  # slope, value at 0
    hull: list[tuple[float, float]] = []
    for slope, start in lines:
        while hull and hull[-1][1] <= start:
            hull.pop()  # below the new line at every l > 0
        while len(hull) > 1 and _meet(hull[-2], (slope, start)) <= _meet(hull[-2], hull[-1]):
            hull.pop()
        hull.append((slope, start))
    total = hull[0][1] + hull[0][0]
    for low, high in pairwise(hull):
        at = math.log(_meet(low, high))
        total += (high[0] - low[0]) * float(curve.delta(at, "forward"))
    return total / 2


def _meet(low: tuple[float, float], high: tuple[float, float]) -> float:
    """Where P1 / P0 = l makes the two lines start + l slope equal."""
    return (low[1] - high[1]) / (high[0] - low[0])


@pytest.mark.parametrize("claim", [(0.0, 0.1), (0.7, 0.0), (0.7, 0.05), (2.0, 1e-3)])
def test_the_most_that_a_table_yields(claim) -> None:
    """Theorem 3 against the linear programme over all close pairs."""
    rng = np.random.default_rng(13)
    curve = approximate_dp(*claim)
    for _ in range(40):
        values = rng.exponential(size=(2, 5)) + 1e-3
        wanted = worst_mean(values, [(claim[0], claim[1], claim[1])])
        assert most_of_table(values, curve) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("curve", [gaussian(0.5), gaussian(1.5), laplace(0.8)])
def test_no_pair_of_a_curve_lets_the_wealth_grow(curve: TradeOff) -> None:
    rng = np.random.default_rng(14)
    most = 0.0
    for _ in range(12):
        worst = most_of_table(next_wealth(watched(curve, rng)), curve)
        assert worst <= 1.0 + 1e-9
        most = max(most, worst)
    assert most > 0.9


def mean_over_all(claim, laws: np.ndarray, coins: tuple[int, ...] | None, rounds: int, **options):
    """Return the mean e-value over all sequences; `coins` are fixed bits, or None for fair ones."""
    scores = range(laws.shape[1])
    first = Monitor(claim, epsilons=(), **options).to_bytes()
    states = {bets_of(first): (first, 1.0)}
    for i in range(rounds):
        after: dict[bytes, tuple[bytes, float]] = {}
        for raw, weight in states.values():
            for bit, score in product((0, 1) if coins is None else (coins[i],), scores):
                chance = weight * laws[bit, score] * (0.5 if coins is None else 1.0)
                if chance > 0.0:
                    monitor = Monitor.from_bytes(raw)
                    monitor.update([score], [bit])
                    reached = monitor.to_bytes()
                    key = bets_of(reached)
                    after[key] = (reached, after.get(key, (b"", 0.0))[1] + chance)
        states = after
    assert sum(weight for _, weight in states.values()) == pytest.approx(1.0)
    values = [(Monitor.from_bytes(raw).e_value, weight) for raw, weight in states.values()]
    assert max(value for value, _ in values) > 1.05  # something was bet
    return sum(value * weight for value, weight in values)


def response(epsilon: float, delta: float) -> np.ndarray:
    """The four-outcome law that is worst for an (epsilon, delta)-DP claim."""
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    middle = np.array([[q, 1 - q], [1 - q, q]]) * (1 - delta)
    law = np.column_stack([[delta, 0.0], middle, [0.0, delta]])
    return law if delta else middle


@pytest.mark.parametrize(
    ("claim", "rounds"), [((0.5, 0.0), 7), ((0.0, 0.0), 7), ((0.3, 0.2), 5), ((0.0, 0.3), 5)]
)
def test_mean_over_all_sequences_of_coins(claim, rounds: int) -> None:
    mean = mean_over_all(claim, response(*claim), None, rounds)
    assert 0.9 < mean <= 1.0 + 1e-12


@pytest.mark.parametrize(
    ("claim", "order"),
    [
        *(((0.3, 0.0), order) for order in ("01010101", "00001111", "11110000", "0110100110")),
        *(((0.2, 0.1), order) for order in ("010101", "000111", "110010")),
    ],
)
def test_mean_over_all_sequences_of_pairs(claim, order: str) -> None:
    """Theorem 2, for memberships that are fixed."""
    coins = tuple(map(int, order))
    mean = mean_over_all(claim, response(*claim), coins, len(coins), design="pairs")
    assert 0.85 < mean <= 1.0 + 1e-12


LEVEL = 0.05
RUNS = 1000


@pytest.mark.parametrize(
    ("claim", "rounds"), [((0.5, 0.0), 600), ((2.0, 0.0), 600), ((0.5, 0.02), 400)]
)
@pytest.mark.parametrize("design", ["coins", "pairs"])
@pytest.mark.filterwarnings("ignore:.*hardly happens")
def test_level_where_one_looks_all_the_time(claim, rounds: int, design: str) -> None:
    """The p-value holds the largest evidence of all rounds. The law is the worst of the claim."""
    rng = np.random.default_rng([15, rounds])
    laws = response(*claim).cumsum(axis=1)
    refuted = 0
    for _ in range(RUNS):
        member = rng.random(rounds) < 0.5
        scores = (rng.random(rounds)[:, np.newaxis] > laws[member.astype(int)]).sum(axis=1)
        monitor = Monitor(claim, epsilons=(), design=design)
        monitor.update(scores, member)
        refuted += monitor.refuted
    error = math.sqrt(LEVEL * (1 - LEVEL) / RUNS)
    assert refuted / RUNS <= LEVEL + 3 * error
    assert refuted / RUNS > 0.005 if claim != (0.5, 0.02) else True


@pytest.mark.filterwarnings("ignore:.*hardly happens")
def test_level_of_running_bounds() -> None:
    """Randomised response of epsilon .5: the bound is ever above .5 in at most one of 20 runs."""
    rng = np.random.default_rng(16)
    laws = response(0.5, 0.0)
    above = 0
    for _ in range(300):
        member = rng.random(800) < 0.5
        scores = rng.random(800) > laws[member.astype(int), 0]
        monitor = Monitor(None, delta=0.0, epsilons=[0.1, 0.3, 0.5, 0.51, 0.7])
        monitor.update(scores, member)
        above += monitor.epsilon() >= 0.5  # a bound never falls
    assert above / 300 <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / 300)
