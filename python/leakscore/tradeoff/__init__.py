"""Trade-off curves: the least false negative rate of any test at each false positive rate.

A `TradeOff` f maps alpha, the share of non-members that a test flags, to f(alpha), the least share
of members that it then misses. The hypotheses are H0, not a member, and H1, a member. Results have
the shape of the curve's parameters followed by the shape of the argument: one object holds the
curves of many targets.
"""

from leakscore._curve import TradeOff
from leakscore.tradeoff._accounting import (
    ComposedTradeOff,
    compose,
    subsampled_gaussian,
    subsampled_laplace,
)
from leakscore.tradeoff._approximate import approximate_dp
from leakscore.tradeoff._calibrate import calibrate
from leakscore.tradeoff._certificate import Certificate
from leakscore.tradeoff._discrete import discrete_gaussian, discrete_laplace
from leakscore.tradeoff._empirical import from_llr
from leakscore.tradeoff._gaussian import (
    GaussianTradeOff,
    gaussian,
    gdp_delta,
    gdp_epsilon,
    misspecified,
)
from leakscore.tradeoff._laplace import laplace, relaxed_laplace
from leakscore.tradeoff._mean import gaussian_mean
from leakscore.tradeoff._relaxed import compose_relaxed_gaussian, relaxed_gaussian
from leakscore.tradeoff._subsampled import SubsampledTradeOff, subsampled_mean

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
    "discrete_gaussian",
    "discrete_laplace",
    "from_llr",
    "gaussian",
    "gaussian_mean",
    "gdp_delta",
    "gdp_epsilon",
    "laplace",
    "misspecified",
    "relaxed_gaussian",
    "relaxed_laplace",
    "subsampled_gaussian",
    "subsampled_laplace",
    "subsampled_mean",
]
