"""Many targets at once: the packed products against one target at a time, at any thread count."""

from __future__ import annotations

import numpy as np
import pytest

import leakscore
from leakscore import Reference, scores

DIM, RELEASES, TARGETS, N = 3001, 517, 13, 100
TOLERANCE = {np.float32: 2e-6, np.float64: 1e-13}  # of the score's standard deviation


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("score", [scores.covariance_score, scores.gaussian_llr])
def test_packed_products(score, dtype):
    rng = np.random.default_rng(0)
    reference = Reference(np.full(DIM, 3.0), np.full(DIM, 2.0))
    releases = (3 + rng.normal(size=(RELEASES, DIM))).astype(dtype)
    targets = rng.normal(size=(TARGETS, DIM))
    before = leakscore.get_num_threads()
    results = []
    for count in (1, 2, 8):
        leakscore.set_num_threads(count)
        results.append(score(releases, targets, reference, N, noise_std=0.1))
    leakscore.set_num_threads(before)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    alone = np.stack([score(releases, z, reference, N, noise_std=0.1) for z in targets], axis=1)
    assert np.abs(results[0] - alone).max() <= TOLERANCE[dtype] * alone.std()
