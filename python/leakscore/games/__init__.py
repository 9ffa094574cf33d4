"""Membership games: simulate the release of a mean, with a target's record in it or not.

A population is the law of one record, a mechanism is what is released, and `fixed_target` plays: in
each round a fair coin decides whether the target's record takes the place of one of the n records.
`average_target` plays with a new target in each round. The result is what an attacker sees, and the
truth with which to judge the attack; `summarize` measures an attack, with standard errors. `dpsgd`
plays trainings, on fresh batches or on `Batches` of one data set, `synthetic` generators of tables.

Means are drawn from their exact law (the mean of n Bernoulli records is a binomial count over n),
never through an n x d matrix, unless the population is a table. Every draw is a function of the
seed and of its place in the game (Threefry-4x64-20, Salmon et al. 2011): the same seed gives the
same draws for any number of threads, any CPU and any size of the blocks.
"""

from leakscore.games._dpsgd import dpsgd
from leakscore.games._populations import Bernoulli, Empirical, EmpiricalMean, Gaussian
from leakscore.games._releases import average_target, fixed_target, sequential, synthetic
from leakscore.games._summary import GameSummary, summarize
from leakscore.games._training import Batches, Training

__all__ = [
    "Batches",
    "Bernoulli",
    "Empirical",
    "EmpiricalMean",
    "GameSummary",
    "Gaussian",
    "Training",
    "average_target",
    "dpsgd",
    "fixed_target",
    "sequential",
    "summarize",
    "synthetic",
]
