"""Composition of sub-sampled Gaussian mechanisms beside dp-accounting and riskcal (extra `bench`).

dp-accounting's epsilon is an upper bound that its discretisation sets; ours is an interval.
Asserted: ours contains theirs, at their usual discretisation but for 1e5 steps. riskcal reads
trade-off curves off the same accountant. Without them ours is timed alone.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from bench._harness import compare, timed
from leakscore.tradeoff import compose, subsampled_gaussian

# noise multiplier, rate, steps, delta, discretisation interval of the other side
CASES = [
    (10.5, 4096 / 50_000, 1000, 1e-5, 1e-4),
    (2.6857, 4096 / 50_000, 1000, 1e-5, 1e-4),
    (1.15, 4096 / 549_361, 405, 1.8e-6, 1e-4),
    (1.0, 0.01, 1000, 1e-5, 1e-4),
    (10.5, 4096 / 50_000, 100_000, 1e-5, 2e-5),
]


def _theirs() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from dp_accounting.pld import privacy_loss_distribution
    except ImportError:
        return None
    return privacy_loss_distribution


def _contains(ours: tuple[float, float], theirs: float) -> None:
    low, high = ours
    assert low <= theirs <= high, (low, theirs, high)


def _riskcal() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import riskcal
    except ImportError:
        return None
    return riskcal


def _curves() -> None:
    """Compare 1000 points of the symmetric curve with riskcal."""
    other = _riskcal()
    if other is None:
        print("riskcal is not installed (extra `bench`): not compared")
        return
    noise, rate, steps = 2.6857, 4096 / 50_000, 1000
    alpha = np.linspace(0.001, 0.999, 1000)

    def curve() -> Any:
        return subsampled_gaussian(noise, rate, steps).symmetrized()(alpha)

    def close(ours: Any, theirs: Any) -> None:
        np.testing.assert_allclose(ours, theirs, atol=1e-4)

    compare(
        f"1000 betas, noise {noise}, {steps} steps",
        curve,
        lambda: other.calibration.get_beta_for_dpsgd(noise, rate, steps, alpha=alpha),
        same=close,
        repeats=3,
        note="riskcal",
    )


def _alone() -> None:
    """CPU time of calls without a counterpart: many different mechanisms, the best of looks."""
    many = [subsampled_gaussian(1.0 + 0.01 * i, 0.01, 10) for i in range(100)]
    curve = subsampled_gaussian(1.0, 0.01, 100)
    curve.epsilon(1e-5)
    for name, call in {
        "100 different mechanisms": lambda: compose(many).interval("epsilon", 1e-5),
        "best_of(10)": lambda: curve.best_of(10).interval("epsilon", 1e-5),
        "best_of(10).symmetrized()": lambda: (
            curve.best_of(10).symmetrized().interval("epsilon", 1e-5)
        ),
    }.items():
        start = time.process_time()
        low, high = call()
        seconds = time.process_time() - start
        print(f"{name:44s} {1e3 * seconds:9.2f} ms  [{low:.6f}, {high:.6f}]")


def run() -> None:
    _curves()
    _alone()
    accounting = _theirs()
    if accounting is None:
        print("dp-accounting is not installed (extra `bench`): ours alone")
    for noise, rate, steps, delta, interval in CASES:
        name = f"epsilon, noise {noise}, rate {rate:.4g}, {steps} steps"

        def ours(
            noise: float = noise, rate: float = rate, steps: int = steps, delta: float = delta
        ) -> tuple[float, float]:
            return subsampled_gaussian(noise, rate, steps).interval("epsilon", delta)

        def theirs(
            noise: float = noise,
            rate: float = rate,
            steps: int = steps,
            delta: float = delta,
            interval: float = interval,
        ) -> float:
            law = accounting.from_gaussian_mechanism(
                noise,
                sampling_prob=rate,
                value_discretization_interval=interval,
                use_connect_dots=True,
            )
            return law.self_compose(steps).get_epsilon_for_delta(delta)

        low, high = ours()
        note = f"[{low:.6f}, {high:.6f}] gap {high - low:.1e}"
        if accounting is None:
            best = min(timed(ours)[0] for _ in range(5))
            print(f"{name:44s} {1e3 * best:9.3f}  {note}")
        else:
            compare(name, ours, theirs, same=_contains, repeats=3, note=note)
