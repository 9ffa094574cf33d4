"""Membership in a sequence of releases: a table and its updates, or the steps of a training.

The best tests, their exact error rates, and tests for an unknown mean and covariance.
All scores: larger means member. A decision rule says member if and only if score > threshold.
"""

from leakscore.sequential._gradients import batch_means, gradient_llr, sgd_llr
from leakscore.sequential._hidden import (
    allocation_llr,
    correlated_llr,
    poisson_llr,
    semi_max,
    semi_uniform,
)
from leakscore.sequential._rates import dpsgd_error_rates, error_rates, game_tradeoff
from leakscore.sequential._regression import RegressionGradients, linear_regression
from leakscore.sequential._uniform import ErrorBrackets, Interval, uniform_error_rates
from leakscore.sequential._unknown import Significance, hotelling, split_t

__all__ = [
    "ErrorBrackets",
    "Interval",
    "RegressionGradients",
    "Significance",
    "allocation_llr",
    "batch_means",
    "correlated_llr",
    "dpsgd_error_rates",
    "error_rates",
    "game_tradeoff",
    "gradient_llr",
    "hotelling",
    "linear_regression",
    "poisson_llr",
    "semi_max",
    "semi_uniform",
    "sgd_llr",
    "split_t",
    "uniform_error_rates",
]
