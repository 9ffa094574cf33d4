"""What figures compare with the best tests of sequences: attacks on losses, and laws of a ratio."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]


def delta_diff(losses: Doubles) -> Doubles:
    """Largest fall of the target's loss in one step, from losses (..., T+1).

    Jagielski et al., "How to combine membership-inference attacks on multiple updated machine
    learning models" (PETS 2023), as in T. Michel, D. Basu and E. Kaufmann, section 5; so are the
    next three.
    """
    return np.asarray((losses[..., :-1] - losses[..., 1:]).max(axis=-1))


def delta_ratio(losses: Doubles) -> Doubles:
    """Largest factor by which a positive loss falls in one step."""
    return np.asarray((losses[..., :-1] / losses[..., 1:]).max(axis=-1))


def back_front_diff(losses: Doubles) -> Doubles:
    """Fall of the loss from the first parameters to the last."""
    return np.asarray(losses[..., 0] - losses[..., -1])


def back_front_ratio(losses: Doubles) -> Doubles:
    """Factor by which a positive loss falls from the first parameters to the last."""
    return np.asarray(losses[..., 0] / losses[..., -1])


def max_error_rates(alpha: npt.ArrayLike, beta: npt.ArrayLike) -> tuple[Doubles, Doubles]:
    """Error rates of the largest of independent steps' ratios, the target in any one of them.

    From those of each step at the common threshold, along the last axis: 1 - prod (1 - alpha_t),
    and the mean of beta_t prod_{s != t} (1 - alpha_s). Michel et al., corollaries E.2 and E.3.
    """
    silent = 1.0 - np.asarray(alpha, dtype=np.float64)
    ones = np.ones((*silent.shape[:-1], 1))
    before = np.cumprod(np.concatenate([ones, silent[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, silent[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    missed = np.asarray(beta) * before * after
    with np.errstate(divide="ignore"):
        alarms = -np.expm1(np.log1p(-np.asarray(alpha)).sum(axis=-1))
    return np.asarray(alarms), np.asarray(missed.mean(axis=-1))


def mean_llr(
    squared_mahalanobis: npt.ArrayLike, n: npt.ArrayLike, dim: npt.ArrayLike
) -> tuple[Doubles, Doubles]:
    """Means of the exact log-likelihood ratio of a batch mean, without and with the target.

    -(d/2) (log(1 - 1/n) + 1/(n-1)) - M/(2(n-1)) and -(d/2) (log(1 - 1/n) + 1/n) + M/(2n): Michel
    et al., theorem B.2 and lemma B.4.
    """
    m, n, d = (np.asarray(x, dtype=np.float64) for x in (squared_mahalanobis, n, dim))
    volume = np.log1p(-1.0 / n)
    under_h0 = -0.5 * (d * (volume + 1.0 / (n - 1.0)) + m / (n - 1.0))
    return np.asarray(under_h0), np.asarray(0.5 * (m / n - d * (volume + 1.0 / n)))
