"""Membership in a sequence of releases: a table and its updates, or the steps of a training.

The best tests, their exact error rates, and tests for an unknown mean and covariance.
All scores: larger means member. A decision rule says member if and only if score > threshold.
"""

from leakscore.sequential._batches import batch_means
from leakscore.sequential._combined import semi_max, semi_uniform
from leakscore.sequential._correlated import correlated_llr
from leakscore.sequential._dpsgd import dpsgd_error_rates, game_tradeoff
from leakscore.sequential._errors import (
    error_rates,
    hotelling_error_rates,
    max_error_rates,
    mean_llr,
)
from leakscore.sequential._hidden_steps import allocation_llr, poisson_llr
from leakscore.sequential._losses import (
    back_front_diff,
    back_front_ratio,
    delta_diff,
    delta_ratio,
)
from leakscore.sequential._regression import RegressionGradients, linear_regression
from leakscore.sequential._steps import gradient_llr, sgd_llr
from leakscore.sequential._uniform import ErrorBrackets, Interval, uniform_error_rates
from leakscore.sequential._unknown import Significance, hotelling, split_t

__all__ = [
    "ErrorBrackets",
    "Interval",
    "RegressionGradients",
    "Significance",
    "allocation_llr",
    "back_front_diff",
    "back_front_ratio",
    "batch_means",
    "correlated_llr",
    "delta_diff",
    "delta_ratio",
    "dpsgd_error_rates",
    "error_rates",
    "game_tradeoff",
    "gradient_llr",
    "hotelling",
    "hotelling_error_rates",
    "linear_regression",
    "max_error_rates",
    "mean_llr",
    "poisson_llr",
    "semi_max",
    "semi_uniform",
    "sgd_llr",
    "split_t",
    "uniform_error_rates",
]
