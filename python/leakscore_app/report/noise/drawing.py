"""The noise that a report offers, on the numbers that are published: in their units, and drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leakscore_app.report._model import Doubles, Noise


def in_units(noise: Noise | None, units: Doubles) -> Noise | None:
    """Return noise on the means of features as noise on the published numbers.

    Parameters
    ----------
    noise : Noise or None
    units : (d,) ndarray
        From `Statistic.units`, in the order of the noise's columns.
    """
    if noise is None or (units == 1).all():
        return noise
    std = np.array(list(noise.noise_std.values())) * units
    covariance = noise.covariance
    return replace(
        noise,
        noise_std=dict(zip(noise.noise_std, std.tolist(), strict=True)),
        covariance=None if covariance is None else covariance * np.outer(units, units),
    )


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
        noisy = rng.multivariate_normal(means, noise.covariance)
    else:
        std = np.array(list(noise.noise_std.values()))
        noisy = means + std * rng.standard_normal(len(std))
    return replace(noise, noisy_mean=dict(zip(noise.noise_std, noisy.tolist(), strict=True)))
