"""Trade-off curves: the least false negative rate of any test at each false positive rate.

A `TradeOff` f maps alpha, the share of non-members that a test flags, to f(alpha), the least share
of members that such a test misses. The hypotheses are H0, not a member, and H1, a member. Results
have the shape of the curve's parameters followed by the shape of the argument: one object holds the
curves of many targets.
"""

from leakscore.tradeoff import operations
from leakscore.tradeoff._calibrate import calibrate
from leakscore.tradeoff.accountants import (
    approximate_dp,
    from_pld,
    from_profile,
    from_rdp,
    from_zcdp,
)
from leakscore.tradeoff.batches import (
    correlated_gaussian,
    fixed_batch_gaussian,
    participation_patterns,
    random_allocation,
    shuffled_gaussian,
    strategy_matrix,
    truncated_poisson_gaussian,
)
from leakscore.tradeoff.composed import (
    ComposedTradeOff,
    compose,
    subsampled_gaussian,
    subsampled_laplace,
)
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.gaussian_curves import (
    GaussianTradeOff,
    gaussian,
    gaussian_mean,
    gdp_epsilon,
    misspecified,
    shifted_gaussian,
)
from leakscore.tradeoff.polygon import discrete_gaussian, discrete_laplace, from_llr
from leakscore.tradeoff.premise import Certificate
from leakscore.tradeoff.relaxed import (
    compose_relaxed_gaussian,
    laplace,
    relaxed_gaussian,
    relaxed_laplace,
)
from leakscore.tradeoff.sampled import SubsampledTradeOff, subsampled_mean
from leakscore.tradeoff.training import averaged_gaussian_attack, last_iterate

__all__ = [
    "Certificate",
    "ComposedTradeOff",
    "GaussianTradeOff",
    "SubsampledTradeOff",
    "TradeOff",
    "approximate_dp",
    "averaged_gaussian_attack",
    "calibrate",
    "compose",
    "compose_relaxed_gaussian",
    "correlated_gaussian",
    "discrete_gaussian",
    "discrete_laplace",
    "fixed_batch_gaussian",
    "from_llr",
    "from_pld",
    "from_profile",
    "from_rdp",
    "from_zcdp",
    "gaussian",
    "gaussian_mean",
    "gdp_epsilon",
    "laplace",
    "last_iterate",
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

TradeOff.operations = operations
