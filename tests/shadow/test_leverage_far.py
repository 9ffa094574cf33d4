"""Scores of `logistic_law` far out, against many digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np

from leakscore.shadow import logistic_law


def test_scores_of_far_margins_and_of_a_record_of_zeros() -> None:
    rng = np.random.default_rng(6)
    design, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    design[7] = 0.0
    law = logistic_law(design, labels, train_fraction=0.5, ridge=1.0)
    assert law.influence[7] == 0.0
    with mp.workdps(700):
        for x in (-1e300, -1e9, -50.0, 0.3, 50.0, 1e300):
            found = law.score(np.full(40, x))
            assert found[7] == 0.0
            for n in (0, 1, 2):
                mean, g, v = (mp.mpf(float(a[n])) for a in (law.mean, law.influence, law.variance))
                t = mp.mpf(x)
                tail = 1 / (1 + mp.exp(t)) if x < 1e3 else mp.exp(-t)
                y = t - g * tail
                expected = ((t - mean) ** 2 - (y - mean) ** 2) / (2 * v) + mp.log1p(
                    g * tail * (1 - tail)
                )
                assert abs(found[n] - expected) <= 4e-12 * max(1, abs(expected))
