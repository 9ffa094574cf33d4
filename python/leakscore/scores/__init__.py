"""Membership scores of a released mean: how much more likely it is with the target than without.

`synthetic_scores` are those of a synthetic table.

All scores: larger means member. A decision rule says member if and only if score > threshold.
"""

from leakscore.scores._genotypes import genotype_llr, homer_distance
from leakscore.scores._means import (
    bernoulli_llr,
    edgeworth_llr,
    glir,
    oracle_threshold,
    scalar_product,
    subsampled_llr,
)
from leakscore.scores.gaussian import covariance_score, gaussian_llr, z_estimator_llr
from leakscore.scores.synthetic import SyntheticScores, synthetic_scores

__all__ = [
    "SyntheticScores",
    "bernoulli_llr",
    "covariance_score",
    "edgeworth_llr",
    "gaussian_llr",
    "genotype_llr",
    "glir",
    "homer_distance",
    "oracle_threshold",
    "scalar_product",
    "subsampled_llr",
    "synthetic_scores",
    "z_estimator_llr",
]
