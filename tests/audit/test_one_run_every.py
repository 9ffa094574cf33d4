"""`one_run(k="all")`: theorem 5 by exact worst cases, and the walks by a slow twin."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import binom

from leakscore.audit import one_run, one_run_fdp
from leakscore.tradeoff import gaussian
from tests.oracles.one_run import Boundary, walk_crosses


def crosses(order: tuple[tuple[int, int], ...], bits: tuple[int, ...], boundary: Boundary) -> bool:
    right = 0
    for g, (canary, guess) in enumerate(order, 1):
        right += bits[canary] == guess
        if right >= boundary.get(g, g + 1):
            return True
    return False


def orders(m: int, kind: str) -> list[tuple[tuple[int, int], ...]]:
    """Every output of a mechanism: which canaries it names first, and its guess of each."""
    named = {
        "in": [tuple((i, 1) for i in subset) for n in range(m + 1) for subset in ordered(m, n)],
        "any": [
            tuple(zip(subset, guesses, strict=True))
            for subset in ordered(m, m)
            for guesses in product((0, 1), repeat=m)
        ],
    }
    return named[kind]


def ordered(m: int, n: int) -> list[tuple[int, ...]]:
    return list(permutations(range(m), n))


def worst_case(m: int, kind: str, boundary: Boundary, epsilon: float, delta: float) -> float:
    """Return the largest probability of crossing, over all (epsilon, delta)-DP mechanisms.

    Outputs with the same crossings for all bits are one: post-processing.
    """
    sets = list(product((0, 1), repeat=m))
    outputs = sorted({tuple(crosses(o, bits, boundary) for bits in sets) for o in orders(m, kind)})
    column = {(s, o): i for i, (s, o) in enumerate(product(range(len(sets)), range(len(outputs))))}
    entries: list[tuple[int, int, float]] = []
    limits: list[float] = []
    columns = len(column)
    for s, bits in enumerate(sets):
        for i in range(m):
            t = sets.index((*bits[:i], 1 - bits[i], *bits[i + 1 :]))
            for o in range(len(outputs)):
                row = len(limits)
                entries += [(row, column[s, o], 1.0), (row, column[t, o], -math.exp(epsilon))]
                entries.append((row, columns + o, -1.0))
                limits.append(0.0)
            entries += [(len(limits), columns + o, 1.0) for o in range(len(outputs))]
            limits.append(delta)
            columns += len(outputs)
    rows, places, values = zip(*entries, strict=True)
    gain = np.zeros(columns)
    sums = np.zeros((len(sets), columns))
    for (s, o), place in column.items():
        gain[place] = outputs[o][s] / len(sets)
        sums[s, place] = 1.0
    found = linprog(
        -gain,
        A_ub=coo_array((values, (rows, places)), shape=(len(limits), columns)).tocsr(),
        b_ub=limits,
        A_eq=sums,
        b_eq=np.ones(len(sets)),
        method="highs",
    )
    assert found.status == 0
    return float(-found.fun)


BOUNDARIES: list[tuple[int, Boundary]] = [
    *((1, {1: 1}), (2, {2: 2}), (2, {2: 1}), (2, {1: 1}), (3, {3: 2}), (3, {2: 2, 3: 2})),
    *((3, {3: 3}), (3, {1: 1, 3: 2})),
]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (0.5, 0.05), (1.0, 0.01), (1.0, 0.2)])
@pytest.mark.parametrize("kind", ["in", "any"])
def test_no_mechanism_beats_theorem_5(kind: str, epsilon: float, delta: float) -> None:
    q = 1 / (1 + math.exp(-epsilon))
    boundaries = [*BOUNDARIES, *([(4, {4: 3}), (4, {2: 2, 4: 3})] if kind == "in" else [])]
    gaps = []
    for m, boundary in boundaries:
        added = (1 - q) * m * delta * (0.5 if kind == "in" else 1.0)
        worst = worst_case(m, kind, boundary, epsilon, delta)
        assert worst <= walk_crosses(boundary, m, q) + added + 1e-8
        gaps.append((walk_crosses(boundary, m, q) + added - worst) / added)
    if kind == "any":
        assert min(gaps) < 1e-6  # attained by one canary: half of the term would be too little


def test_the_published_inequality_is_exceeded() -> None:
    """Steinke, Nasr & Jagielski, theorem 5.2: two canaries, both guessed, at least one right."""
    epsilon, delta = 1.0, 0.01
    worst = worst_case(2, "any", {2: 1}, epsilon, delta)
    q = 1 / (1 + math.exp(-epsilon))
    published = 1 - (1 - q) ** 2 + 2 * 2 * delta * (1 - q) ** 2
    assert worst == pytest.approx(0.931083, abs=1e-6)
    assert published == pytest.approx(0.930564, abs=1e-6)
    assert worst > published


def slow_twin(scores: np.ndarray, included: np.ndarray, delta: float, miss: float) -> float:
    """The note's test, word by word; without ties."""
    m = scores.size
    ranked = included[np.argsort(scores)]
    top, low = list(ranked[::-1]), list(~ranked)
    half = m // 2
    turns = [x for pair in zip(top[:half], low[:half], strict=True) for x in pair]
    steps = 0
    while any(
        _rejects(right, share * miss, x, (steps + 1) / 20)
        for right, share, x in (
            (turns, 0.5, m * delta),
            (top[:half], 0.25, m * delta / 2),
            (low[:half], 0.25, m * delta / 2),
        )
    ):
        steps += 1
    return steps / 20


def _rejects(right: list[bool], share: float, exposed: float, epsilon: float) -> bool:
    sizes, size, last = set(), 1.0, len(right)
    while math.floor(size + 0.5) < last:
        sizes.add(math.floor(size + 0.5))
        size *= 1.15
    sizes.add(last)
    q = 1 / (1 + math.exp(-epsilon))
    most = share - (1 - q) * exposed
    if most <= 0:
        return False

    def boundary(i: int) -> Boundary:
        return {g: int(binom.isf(2 ** (-i / 16) * share, g, q)) + 1 for g in sizes}

    low, high = -1, 1024
    while high - low > 1:
        middle = (low + high) // 2
        holds = walk_crosses(boundary(middle), last, q) <= most
        low, high = (low, middle) if holds else (middle, high)
    return any(sum(right[:g]) >= c for g, c in boundary(high).items())


@pytest.mark.parametrize(
    ("m", "shift", "delta"), [(26, 3.0, 0.0), (31, 4.0, 1e-4), (24, 3.0, 1e-3)]
)
def test_walks(m: int, shift: float, delta: float) -> None:
    for seed in range(2):
        rng = np.random.default_rng([17, seed])
        included = rng.random(m) < 0.5
        scores = rng.normal(shift * included)
        found = one_run(scores, included, k="all", delta=delta)
        assert found.epsilon == slow_twin(scores, included, delta, 1 - 0.95)
        assert 0.0 < found.epsilon <= found.max_certifiable
        assert found.p_value < 0.05
        ranked = included[np.argsort(scores)]
        k, j = found.k_plus, found.k_minus
        assert found.correct == ranked[m - k :].sum() + (~ranked[:j]).sum()


def test_edges_of_the_input() -> None:
    assert one_run([1.0], [True], k="all").epsilon == 0.0
    assert one_run([1.0, 2.0], [False, True], k="all", confidence=0.5).p_value <= 1.0
    rng = np.random.default_rng(18)
    included = rng.random(500) < 0.5
    ties = np.where(included, 1.0, 0.0)
    ties[rng.random(500) < 0.2] = 0.5
    assert one_run(ties, included, k="all").epsilon > 0.5
    assert one_run(ties, included).epsilon == one_run(ties, included, k="all", rng=0).epsilon
    assert one_run(np.zeros(500), included, k="all").epsilon < 0.3
    by_member = np.sort(included)[::-1]
    assert one_run(np.zeros(500), by_member, k="all").epsilon < 0.3  # the order tells nothing
    assert one_run(ties, included, k="all", delta=0.5).epsilon == 0.0
    for bad in ({"k": "some"}, {"k": "all", "k_plus": 1, "k_minus": 1}, {"delta": 1.0}):
        with pytest.raises(ValueError, match=r"k=|delta"):
            one_run(ties, included, **bad)
    with pytest.raises(TypeError, match="k_minus"):
        one_run(ties, included, 3)
    with pytest.raises(ValueError, match="NaN"):
        one_run([*ties[1:], math.nan], included, k="all")


@pytest.mark.parametrize("delta", [0.0, 2e-4])
def test_level_on_randomised_response(delta: float) -> None:
    """Bits that tell the truth with probability q, or, at delta, always; nominal 20 %."""
    rng, reps, epsilon, m = np.random.default_rng(19), 300, 1.0, 60
    q = 1 / (1 + math.exp(-epsilon))
    wrong = 0
    for _ in range(reps):
        included = rng.random(m) < 0.5
        exposed = rng.random(m) < delta
        truth = (rng.random(m) < q) | exposed
        scores = np.where(truth, included, ~included) + 3.0 * np.where(exposed, included - 0.5, 0)
        noise = rng.random(m) * 1e-3
        wrong += one_run(scores + noise, included, delta=delta, confidence=0.8).epsilon > epsilon
    assert wrong <= reps * 0.2 + 4 * math.sqrt(reps * 0.16)
    assert wrong >= reps * 0.02


@pytest.mark.parametrize("canaries", [200, 1500])
def test_numbers_that_coins_hardly_give_are_warned_of(canaries: int) -> None:
    """Exactly half, and six standard deviations off; coins themselves are not (a seed is fixed)."""
    rng = np.random.default_rng(21)
    scores = rng.normal(size=canaries)
    sizes = (canaries // 2, canaries // 2 + int(3.1 * canaries**0.5))
    for size, said in zip(sizes, (f"Exactly half of {canaries}", f"{sizes[1]} of"), strict=True):
        included = rng.permutation(np.arange(canaries) < size)
        for call in (
            lambda: one_run(scores, included, k="all"),  # noqa: B023
            lambda: one_run(scores, included, 20, 20),  # noqa: B023
            lambda: one_run_fdp(scores, included, 20, 20, gaussian(1.0)),  # noqa: B023
        ):
            with pytest.warns(UserWarning, match=f"{said}.* nothing is certified") as told:
                call()
            assert told[0].filename == __file__
    one_run(scores, rng.permutation(np.arange(canaries) < sizes[0] + 1), k="all")
    one_run(scores[:198], np.arange(198) < 99, k="all")
