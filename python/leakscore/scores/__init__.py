"""Membership scores of a released mean: how much more likely it is with the target than without.

All scores: larger means member. A decision rule says member if and only if score > threshold.
"""

from leakscore.scores._discrete import bernoulli_llr
from leakscore.scores._gaussian import covariance_score, gaussian_llr
from leakscore.scores._simple import oracle_threshold, scalar_product

__all__ = [
    "bernoulli_llr",
    "covariance_score",
    "gaussian_llr",
    "oracle_threshold",
    "scalar_product",
]
