"""Numbers at the ends of float64: a result, or an error that names the argument."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import audit, games, leakage, scores, sequential, shadow, testing, tradeoff
from tests.contract.inputs import SMALL

NORMAL = leakscore.Reference([0.0], [1.0])
RAGGED: Any = [[1], [1, 2]]
AUDIT = audit.Audit([1.0, 2.0], [0.0, 1.0])


@pytest.mark.parametrize("sigma", [1e-300, 1e-200, 1e200, 1e300])
def test_a_linear_law_has_no_unit(sigma: float) -> None:
    """The law of labels in other units is the same."""
    beta, label = np.arange(3.0), np.array([4.0])
    plain = shadow.linear_law(SMALL[:, :3], SMALL[:1, :3], label, beta, sigma=1.0)
    scaled = shadow.linear_law(
        SMALL[:, :3], SMALL[:1, :3], sigma * label, sigma * beta, sigma=sigma
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-12)


def test_results_at_the_ends() -> None:
    assert (
        tradeoff.last_iterate(1e-300, num_steps=5, contraction=0.5, sensitivity=1e300).epsilon(0.1)
        == np.inf
    )
    assert tradeoff.gaussian_mean(1e24, 10**12, 3).auc() == pytest.approx(1.0)
    assert tradeoff.gaussian_mean(1e16, 10**12, 3).auc() == pytest.approx(1.0)
    assert tradeoff.from_rdp([2.0, 4.0], [1.0, 1.7e308])(0.1) == tradeoff.from_rdp([2.0], [1.0])(
        0.1
    )
    near = tradeoff.shifted_gaussian(1.0, 1.0 + 1e-9)
    assert near.delta([1e300, -1e300], "forward").tolist() == [0.0, 1.0]
    assert shadow.required_models(0.01, 2.0, scale=5e-324) == 2
    known = (leakscore.Reference([0.0, 0.0], [1.0, 1.0]), 20, 0, 0.5)
    for noise_std in (1e-300, 5e-324):
        members = leakage.members_to_disclose(*known, noise_std=noise_std)
        assert members == leakage.members_to_disclose(*known)


def test_correlated_ratios_of_odd_noise() -> None:
    given = np.ones((2, 3, 1)), np.ones((2, 3, 1)), np.eye(3), np.ones((1, 3))
    for noise_std in (1e300, 1.7e308):
        assert not sequential.correlated_llr(*given, noise_std=noise_std).any()
    for noise_std in (5e-324, 1e-300):
        with pytest.raises(ValueError, match="over noise_std must not overflow"):
            sequential.correlated_llr(*given, noise_std=noise_std)


def test_a_check_without_confidence() -> None:
    check = testing.check_private(
        lambda data, rng: data + rng.laplace(), 0.0, 1.0, claim=(1.0, 0.0), confidence=1e-300
    )
    assert check.rounds > 1200


def test_priors_hold_floats() -> None:
    prior = shadow.Prior(0, Decimal("0.5"), np.float32(np.inf), np.int8(1))  # type: ignore[arg-type]
    assert repr(prior) == "Prior(mean=0.0, strength=0.5, dof=inf, variance=1.0)"


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("epsilons", lambda: tradeoff.from_rdp([2.0], [1.7e308])),
        ("rho", lambda: tradeoff.from_zcdp(1.7e308)),
        ("xi", lambda: tradeoff.from_zcdp(1.0, 1.7e308)),
        ("dof", lambda: shadow.Prior(0.0, 0.0, 1e151, 1.0)),
        ("variance", lambda: shadow.Prior(0.0, 0.0, 1.0, 1e151)),
        ("pseudocount", lambda: scores.genotype_llr([0.5], [1], [0.5], 3, pseudocount=1e308)),
        ("skewness", lambda: leakage.second_order_leakage([1.0], NORMAL, 5, -np.inf)),
        ("k_plus", lambda: audit.one_run(range(9), np.arange(9) % 2, RAGGED, [1, 1])),
        ("k_minus", lambda: audit.one_run(range(9), np.arange(9) % 2, [1, 1], RAGGED)),
        ("high", lambda: AUDIT.parameter_lower_bound(tradeoff.gaussian, high=np.zeros(0))),  # type: ignore[arg-type]
        (
            "insertion",
            lambda: games.sequential(games.Bernoulli([0.5]), [1.0], 5, 3, RAGGED, rounds=4, rng=1),
        ),
    ],
)
def test_refusals_name_the_argument(name: str, run: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"^{name}\b.* must "):
        run()
