"""Trade-off curves: the least false negative rate of any test at each false positive rate.

A `TradeOff` f maps alpha, the share of non-members that a test flags, to f(alpha), the least share
of members that such a test misses. The hypotheses are H0, not a member, and H1, a member. Results
have the shape of the curve's parameters followed by the shape of the argument: one object holds the
curves of many targets.
"""

from leakscore.tradeoff._calibrate import calibrate
from leakscore.tradeoff._certificate import Certificate
from leakscore.tradeoff.batches.allocation import random_allocation
from leakscore.tradeoff.batches.correlated import (
    correlated_gaussian,
    participation_patterns,
    strategy_matrix,
)
from leakscore.tradeoff.batches.fixed import fixed_batch_gaussian, truncated_poisson_gaussian
from leakscore.tradeoff.batches.shuffled import shuffled_gaussian
from leakscore.tradeoff.composition.accounting import (
    ComposedTradeOff,
    compose,
    subsampled_gaussian,
    subsampled_laplace,
)
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.families.approximate import approximate_dp
from leakscore.tradeoff.families.discrete import discrete_gaussian, discrete_laplace
from leakscore.tradeoff.families.empirical import from_llr
from leakscore.tradeoff.families.gaussian import (
    GaussianTradeOff,
    gaussian,
    gdp_delta,
    gdp_epsilon,
    misspecified,
)
from leakscore.tradeoff.families.laplace import laplace, relaxed_laplace
from leakscore.tradeoff.families.mean import gaussian_mean
from leakscore.tradeoff.families.relaxed import compose_relaxed_gaussian, relaxed_gaussian
from leakscore.tradeoff.families.shifted import shifted_gaussian
from leakscore.tradeoff.families.subsampled import SubsampledTradeOff, subsampled_mean
from leakscore.tradeoff.shapes.algebra import Algebra

__all__ = [
    "Certificate",
    "ComposedTradeOff",
    "GaussianTradeOff",
    "SubsampledTradeOff",
    "TradeOff",
    "approximate_dp",
    "calibrate",
    "compose",
    "compose_relaxed_gaussian",
    "correlated_gaussian",
    "discrete_gaussian",
    "discrete_laplace",
    "fixed_batch_gaussian",
    "from_llr",
    "gaussian",
    "gaussian_mean",
    "gdp_delta",
    "gdp_epsilon",
    "laplace",
    "misspecified",
    "participation_patterns",
    "random_allocation",
    "relaxed_gaussian",
    "relaxed_laplace",
    "shifted_gaussian",
    "shuffled_gaussian",
    "strategy_matrix",
    "subsampled_gaussian",
    "subsampled_laplace",
    "subsampled_mean",
    "truncated_poisson_gaussian",
]

TradeOff.operations = Algebra()
