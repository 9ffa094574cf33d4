"""White-box attacks: an attacker who sees every step of a training attacks each mean gradient.

One step of (DP-)SGD releases a mean, that of the clipped per-sample gradients in its batch, so the
scores of a released mean apply to it: the record is the target's clipped gradient, n the batch, and
the release (theta_t - theta_{t+1}) / learning_rate. How the scores of the steps add up depends on
how batches are drawn. All scores: larger means member.
"""

from leakscore.whitebox._attack import (
    aggregate,
    clip,
    covariance_attack,
)

__all__ = [
    "aggregate",
    "clip",
    "covariance_attack",
]
