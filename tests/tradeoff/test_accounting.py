"""Attackers against their curves, other accountants' values, and sequences of mechanisms."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from leakscore.tradeoff import (
    ComposedTradeOff,
    compose,
    gaussian,
    laplace,
    misspecified,
    relaxed_gaussian,
    subsampled_gaussian,
    subsampled_laplace,
)

CIFAR, SNLI = (4096 / 50_000, 1000), (4096 / 549_361, 405)

# Noise, rate, steps, delta and epsilon of Google's dp-accounting 0.6.0, PLD of the Gaussian
# mechanism with connect-the-dots at a discretisation interval of 1e-5, an upper bound.
RECORDED = [
    (10.5, *CIFAR, 1e-5, 0.91992442),
    (2.6857, *CIFAR, 1e-5, 4.45474347),
    (1.15, *SNLI, 1.8e-6, 0.74720403),
    (0.8619, *SNLI, 1e-5, 1.34710784),
    (1.0, 0.01, 1000, 1e-5, 1.82823674),
    (0.3, 0.01, 10, 1e-8, 24.35711605),
    (5.0, 0.2, 500, 1e-5, 3.93928411),
    (20.0, 0.5, 2000, 1e-8, 6.55465196),
]


@pytest.mark.parametrize(("noise", "rate", "steps", "delta", "epsilon"), RECORDED)
def test_the_bounds_contain_the_accountants_value(
    noise: float, rate: float, steps: int, delta: float, epsilon: float
) -> None:
    low, high = subsampled_gaussian(noise, rate, steps).interval("epsilon", delta)
    assert low < epsilon < high
    assert high - low < 1e-4


def test_a_hundred_thousand_steps() -> None:
    """As above, recorded at an interval of 2e-5."""
    low, high = subsampled_gaussian(10.5, CIFAR[0], 100_000).interval("epsilon", 1e-5)
    assert low < 13.02869933 < high
    assert high - low < 2e-4


@pytest.mark.parametrize(
    ("noise", "game", "delta", "epsilon", "unaligned", "powers"),
    [
        (10.5, CIFAR, 1e-5, 0.91993, 0.05007, (0.15057, 0.10300, 0.11061)),
        (2.6857, CIFAR, 1e-5, 4.4548, 1.0000, (0.38707, 0.15284, 0.26528)),
        (1.15, SNLI, 1.8e-6, 0.74721, 0.37898, (0.13199, 0.11591, 0.11551)),
        (0.8619, SNLI, 1.8e-6, 1.6156, 0.99974, (0.15426, 0.13157, 0.13027)),
    ],
)
def test_settings_of_kaissis(
    noise: float,
    game: tuple[float, int],
    delta: float,
    epsilon: float,
    unaligned: float,
    powers: tuple[float, float, float],
) -> None:
    """The trainings of section 7.3: epsilon, and the power of each attacker at alpha = 0.1."""
    informed = subsampled_gaussian(noise, *game)
    weak = subsampled_gaussian(noise, *game, adversary="relaxed-unaligned")
    middle = subsampled_gaussian(noise, *game, adversary="relaxed-aligned")
    assert isinstance(middle, ComposedTradeOff)
    assert informed.epsilon(delta) == pytest.approx(epsilon, abs=1e-4)
    assert weak.epsilon(delta) == pytest.approx(unaligned, abs=1e-4)
    assert informed.power(0.1) == pytest.approx(powers[0], abs=1e-5)
    assert weak.power(0.1) == pytest.approx(powers[1], abs=1e-5)
    assert middle.estimate.power(0.1) == pytest.approx(powers[2], abs=3e-4)
    low, high = middle.interval("power", 0.1)
    assert low <= middle.estimate.power(0.1) <= high == informed.power(0.1)
    assert low >= informed.upper.power(0.05) - 1e-12  # both signs at half the rate
    if game == CIFAR:  # the absolute sum, played: power .2545 at noise 2.686
        assert low > (0.110 if noise > 10.0 else 0.2545)


def played(law: str, mu: float, rate: float, steps: int, signs: str, rng: Any) -> tuple[Any, Any]:
    """Play the game: the three attackers' ratios without the record and with it."""
    results = []
    for member in (False, True):
        noise = (
            rng.standard_normal((40_000, steps))
            if law == "gaussian"
            else rng.laplace(size=(40_000, steps))
        )
        sign = rng.choice([-1.0, 1.0], size=(40_000, steps if signs == "fresh" else 1))
        seen = noise + member * mu * sign * (rng.random(noise.shape) < rate)

        def ratio(x: Any) -> Any:
            inner = mu * x - mu * mu / 2 if law == "gaussian" else np.abs(x) - np.abs(x - mu)
            return np.exp(inner)

        known = np.log1p(rate * (ratio(sign * seen) - 1)).sum(axis=1)
        plus = np.log1p(rate * (ratio(seen) - 1)).sum(axis=1)
        minus = np.log1p(rate * (ratio(-seen) - 1)).sum(axis=1)
        magnitude = np.log1p(rate * (0.5 * (ratio(seen) + ratio(-seen)) - 1)).sum(axis=1)
        results.append((known, np.logaddexp(plus, minus), magnitude))
    return results[0], results[1]


@pytest.mark.parametrize(
    ("law", "mu", "rate", "steps"),
    [("gaussian", 0.9, 0.3, 12), ("laplace", 0.8, 0.4, 9), ("gaussian", 2.0, 0.05, 15)],
)
@pytest.mark.parametrize("signs", ["one", "fresh"])
def test_attacks_never_cross_below_and_the_best_attain(
    law: str, mu: float, rate: float, steps: int, signs: str
) -> None:
    """The likelihood-ratio tests, played, lie on their curves within 4 standard errors."""
    rng = np.random.default_rng(11)
    outside, inside = played(law, mu, rate, steps, signs, rng)
    family = subsampled_gaussian if law == "gaussian" else subsampled_laplace
    adversaries = ("informed", "relaxed-aligned", "relaxed-unaligned")
    for index, adversary in enumerate(adversaries):
        if adversary == "relaxed-aligned" and signs == "fresh":
            continue  # not the attack for this game
        f = family(1.0 / mu, rate, steps, adversary)
        for level in (0.02, 0.1, 0.4):
            threshold = np.quantile(outside[index], 1.0 - level)
            alpha = (outside[index] > threshold).mean()
            beta = (inside[index] <= threshold).mean()
            error = 4.0 * np.sqrt(np.array([alpha * (1 - alpha), beta * (1 - beta)]) / 40_000)
            assert beta > f.lower(min(alpha + error[0], 1.0)) - error[1]
            assert beta < f.upper(max(alpha - error[0], 0.0)) + error[1]


def test_who_knows_less_does_worse() -> None:
    alpha = np.linspace(0.001, 0.999, 60)
    for family in (subsampled_gaussian, subsampled_laplace):
        curves = [
            family(1.5, 0.2, 40, adversary)
            for adversary in ("informed", "relaxed-aligned", "relaxed-unaligned")
        ]
        assert (curves[0].upper(alpha) <= curves[1].upper(alpha) + 1e-12).all()
        assert (curves[1].lower(alpha) <= curves[2].lower(alpha) + 1e-12).all()
        kinds = [(f.kind, f.adversary) for f in curves]
        assert kinds == [
            ("guarantee", "informed"),
            ("guarantee", "relaxed-aligned"),
            ("attack", "relaxed-unaligned"),
        ]


def test_the_estimate_is_the_central_limit() -> None:
    """Figure 1e of Kaissis et al.: noise 5, rate 0.4, 30 steps; alpha = 0.1."""
    betas = {"informed": 0.79894, "relaxed-unaligned": 0.88761}
    for adversary, beta in betas.items():
        f = subsampled_gaussian(5.0, 0.4, 30, adversary)
        assert isinstance(f, ComposedTradeOff)
        assert f(0.1) == pytest.approx(beta, abs=5e-6)
        assert f.estimate(0.1) == pytest.approx(beta, abs=2e-3)
    f = subsampled_gaussian(5.0, 0.4, 30, "relaxed-aligned")
    assert isinstance(f, ComposedTradeOff)
    assert f.estimate(0.1) == pytest.approx(0.8659, abs=1e-4)


def test_directions() -> None:
    f = subsampled_gaussian(1.0, 0.05, 50)
    forward, reverse = f.epsilon(1e-5, "forward"), f.epsilon(1e-5, "reverse")
    assert forward != pytest.approx(reverse, abs=1e-3)
    assert f.epsilon(1e-5) == max(forward, reverse) == forward  # removing the record
    inverse = f.inverse()
    assert inverse.epsilon(1e-5, "forward") == reverse
    assert inverse.interval("beta", f(0.2))[0] == pytest.approx(0.2, abs=1e-12)
    symmetric = f.symmetrized()
    assert symmetric.delta(0.5) == pytest.approx(f.delta(0.5), rel=1e-9)
    assert symmetric(0.3) <= min(f(0.3), inverse(0.3))


def test_sequences() -> None:
    whole = subsampled_gaussian(3.0, 0.1, 90)
    parts = compose([subsampled_gaussian(3.0, 0.1, 30), (subsampled_gaussian(3.0, 0.1, 20), 3)])
    assert parts.interval("epsilon", 1e-5) == whole.interval("epsilon", 1e-5)
    a, b = subsampled_gaussian(3.0, 0.1, 50), subsampled_laplace(4.0, 0.2, 20)
    mixed = [compose(order) for order in ([a, b, gaussian(0.3)], [gaussian(0.3), b, a])]
    ends = [f.interval("epsilon", 1e-5) for f in mixed]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)
    assert ends[0][1] - ends[0][0] < 1e-4
    assert ends[0][0] > max(a.epsilon(1e-5), b.epsilon(1e-5))
    # Gaussian laws beside a sampled one that hardly leaks: the closed form, a little worse.
    low, high = compose([(gaussian(0.5), 4), subsampled_gaussian(90.0, 1e-6, 1)]).interval(
        "epsilon", 1e-5
    )
    assert low - 1e-6 < gaussian(1.0).epsilon(1e-5) < high
    assert compose([gaussian(0.6), (gaussian(0.4), 4)]).epsilon(1e-5) == gaussian(1.0).epsilon(1e-5)
    doubled = compose([laplace(0.5), (laplace(0.5), 4)])
    assert doubled.epsilon(1e-5) == subsampled_laplace(2.0, 1.0, 5).epsilon(1e-5)
    assert compose([laplace(0.0), gaussian(0.0)]).advantage() == 0.0
    aligned = subsampled_gaussian(2.0, 1.0, 9, "relaxed-aligned")
    low, high = compose([aligned, (aligned, 3)]).interval("power", [0.01, 0.2])
    exact = relaxed_gaussian(3.0).power([0.01, 0.2])
    assert ((low < exact) & (exact < high)).all()
    attack = compose([(misspecified(4.0, 1.0), 4)])
    assert (attack.kind, attack.adversary) == ("attack", "misspecified")
    assert attack.auc() == gaussian(1.0).auc()


def test_closed_forms_and_neighbours() -> None:
    assert subsampled_gaussian(2.0, 1.0, 16).epsilon(1e-5) == gaussian(2.0).epsilon(1e-5)
    replaced = subsampled_gaussian(2.0, 1.0, 16, neighbours="replace")
    assert replaced.epsilon(1e-5) == gaussian(4.0).epsilon(1e-5)
    aligned = subsampled_gaussian(2.0, 1.0, 9, "relaxed-aligned")
    assert aligned.delta(0.5) == relaxed_gaussian(1.5).delta(0.5)
    assert (aligned.kind, aligned.adversary) == ("guarantee", "relaxed-aligned")
    assert subsampled_laplace(2.0, 1.0, 1).epsilon(1e-5) == laplace(0.5).epsilon(1e-5)
    twice = subsampled_laplace(4.0, 1.0, 5, neighbours="replace")
    assert twice.epsilon(1e-5) == subsampled_laplace(2.0, 1.0, 5).epsilon(1e-5)
    with pytest.raises(ValueError, match=r"neighbours must be 'add-remove' at sample_rate=0.5"):
        subsampled_gaussian(1.0, 0.5, 3, neighbours="replace")


def test_curves_are_lazy_and_deterministic() -> None:
    f = subsampled_gaussian(2.0, 0.1, 20)
    assert isinstance(f, ComposedTradeOff)
    sizes = [len(pickle.dumps(f))]  # what is computed is pickled
    assert repr(f) == (
        "subsampled_gaussian(noise_multiplier=2.0, sample_rate=0.1, num_steps=20, "
        "adversary='informed')"
    )
    fresh = pickle.loads(pickle.dumps(f))
    assert f.epsilon(1e-5) == fresh.epsilon(1e-5)
    sizes.append(len(pickle.dumps(f)))  # no attack is asked for
    assert pickle.loads(pickle.dumps(f)).upper(0.1) == f.upper(0.1)
    sizes.append(len(pickle.dumps(f)))
    assert sizes[0] < 1000 < sizes[1] < 0.6 * sizes[2]
    assert f.lower is f.lower
    assert pickle.loads(pickle.dumps(f)).interval("auc") == f.interval("auc")
