"""Curves of every public constructor, and what they are about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leakscore import sequential, tradeoff
from leakscore.tradeoff import TradeOff

RATIOS = np.array([-1.0, 0.5, 2.0, 3.0])
SAMPLED = (2.0, 0.25, 3)
MEANS = ("tradeoff.gaussian_mean", "tradeoff.subsampled_mean")  # whose H0 is one law
WHOLE = (2.0, 1.0, 3)
REPLACED = sequential.game_tradeoff(2.0)

FIXED = tradeoff.fixed_batch_gaussian(2.0, 2, 4, 2)
TRUNCATED = tradeoff.truncated_poisson_gaussian(2.0, 0.5, 2, 4, 2)
CORRELATED = tradeoff.correlated_gaussian([[1, 0], [-1, 2]], [[1, 1]])

# Every public constructor: curves of it, and what they are about.
MADE: dict[str, list[tuple[Callable[[], TradeOff], str | None]]] = {
    "sequential.game_tradeoff": [
        (lambda: sequential.game_tradeoff(2.0), "replace"),
        (lambda: sequential.game_tradeoff(2.0, "add-remove"), "add-remove"),
    ],
    "tradeoff.approximate_dp": [(lambda: tradeoff.approximate_dp(1.0, 0.01), None)],
    "tradeoff.compose": [
        (lambda: tradeoff.compose([(tradeoff.gaussian(1.0), 2)]), None),
        (lambda: tradeoff.compose([tradeoff.gaussian(1.0), tradeoff.laplace(1.0)]), None),
        (
            lambda: tradeoff.compose(
                [tradeoff.laplace(1.0), tradeoff.subsampled_gaussian(*SAMPLED)]
            ),
            "add-remove",
        ),
        (lambda: tradeoff.compose([tradeoff.laplace(1.0), REPLACED]), "replace"),
        (lambda: tradeoff.compose([tradeoff.gaussian(1.0), (REPLACED, 2)]), "replace"),
    ],
    "tradeoff.compose_relaxed_gaussian": [
        (lambda: tradeoff.compose_relaxed_gaussian([1.0, 0.5], 1), None)
    ],
    "tradeoff.correlated_gaussian": [(lambda: CORRELATED, "add-remove")],
    "tradeoff.discrete_gaussian": [
        (lambda: tradeoff.discrete_gaussian(1.5, 2), None),
        (lambda: tradeoff.discrete_gaussian(1.5, 2, relaxed=True), None),
    ],
    "tradeoff.discrete_laplace": [(lambda: tradeoff.discrete_laplace(1.5, 2, relaxed=True), None)],
    "tradeoff.fixed_batch_gaussian": [(lambda: FIXED, "replace")],
    "tradeoff.from_llr": [(lambda: tradeoff.from_llr(RATIOS - 2.0, RATIOS), None)],
    "tradeoff.from_pld": [
        (lambda: tradeoff.from_pld([-1.0, 1.0], [0.2689414213699951, 0.7310585786300049]), None)
    ],
    "tradeoff.from_profile": [
        (lambda: tradeoff.from_profile([0.0, 1.0], [0.4, 0.2]), None),
    ],
    "tradeoff.from_rdp": [(lambda: tradeoff.from_rdp([2.0, 8.0], [1.0, 4.0]), None)],
    "tradeoff.from_zcdp": [(lambda: tradeoff.from_zcdp(0.5), None)],
    "tradeoff.gaussian": [(lambda: tradeoff.gaussian(1.0), None)],
    "tradeoff.gaussian_mean": [
        (lambda: tradeoff.gaussian_mean(9.0, 10, 3), "replace"),
        (lambda: tradeoff.gaussian_mean(1e61, 10, 3), "replace"),
        (lambda: tradeoff.gaussian_mean([9.0, 1e61], 10, 3), "replace"),
    ],
    "tradeoff.averaged_gaussian_attack": [
        (lambda: tradeoff.averaged_gaussian_attack(100, 0.1, 2, 5), "add-remove")
    ],
    "tradeoff.last_iterate": [
        (lambda: tradeoff.last_iterate(1.0, num_steps=5, contraction=0.9), None)
    ],
    "tradeoff.laplace": [(lambda: tradeoff.laplace(1.0), None)],
    "tradeoff.misspecified": [(lambda: tradeoff.misspecified(4.0, 2.0), None)],
    "tradeoff.random_allocation": [(lambda: tradeoff.random_allocation(2.0, 4), "add-remove")],
    "tradeoff.relaxed_gaussian": [
        (lambda: tradeoff.relaxed_gaussian(1.0, 2), None),
        (lambda: tradeoff.relaxed_gaussian(1e40, 2), None),
    ],
    "tradeoff.relaxed_laplace": [(lambda: tradeoff.relaxed_laplace(1.0), None)],
    "tradeoff.shifted_gaussian": [
        (lambda: tradeoff.shifted_gaussian(1.0, 2.0), None),
        (lambda: tradeoff.shifted_gaussian(1.0, [1.0, 2.0]), None),
    ],
    "tradeoff.shuffled_gaussian": [(lambda: tradeoff.shuffled_gaussian(2.0, 4), "replace")],
    "tradeoff.truncated_poisson_gaussian": [(lambda: TRUNCATED, "add-remove")],
    "tradeoff.subsampled_gaussian": [
        (lambda: tradeoff.subsampled_gaussian(*SAMPLED), "add-remove"),
        (lambda: tradeoff.subsampled_gaussian(*SAMPLED, "relaxed-aligned"), "add-remove"),
        (lambda: tradeoff.subsampled_gaussian(*SAMPLED, "relaxed-unaligned"), "add-remove"),
        *(
            (
                lambda who=who, how=how: tradeoff.subsampled_gaussian(*WHOLE, who, how),  # type: ignore[misc]
                how,
            )
            for who in ("informed", "relaxed-aligned", "relaxed-unaligned")
            for how in ("add-remove", "replace")
        ),
    ],
    "tradeoff.subsampled_laplace": [
        (lambda: tradeoff.subsampled_laplace(*SAMPLED), "add-remove"),
        (lambda: tradeoff.subsampled_laplace(2.0, 1.0, 1), "add-remove"),
        (lambda: tradeoff.subsampled_laplace(*WHOLE, neighbours="replace"), "replace"),
    ],
    "tradeoff.subsampled_mean": [(lambda: tradeoff.subsampled_mean(1.0, 0.25), "replace")],
}
