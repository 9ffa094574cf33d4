"""One draw of the noise that a report offers: the mean to publish, only where it is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leakscore_app.report._model import Doubles, Noise


def drawn(noise: Noise | None, means: Doubles, seed: int) -> Noise:
    """Return the same noise with the means of its columns and one draw of it.

    Nothing is drawn where no noise is needed, or where the game does not confirm it.

    Parameters
    ----------
    noise : Noise or None
    means : (d,) ndarray
        In the order of the noise's columns.
    seed : int
    """
    if noise is None:
        raise ValueError("Expected no draw_noise: no noise is computed for this release")
    if noise.standard_errors == 0 or not noise.confirmed:
        return noise
    rng = np.random.default_rng(seed)
    if noise.covariance is not None:
        published = rng.multivariate_normal(means, noise.covariance)
    else:
        std = np.array(list(noise.noise_std.values()))
        published = means + std * rng.standard_normal(len(std))
    return replace(noise, noisy_mean=dict(zip(noise.noise_std, published.tolist(), strict=True)))
