"""What is published besides means of columns: every statistic that is a mean of features.

If a release is known as soon as the mean of phi(z) over the n records is, all that leakscore says
of means holds with the features phi(z) in the place of a record z. `Statistic.on` names the
columns, `features` returns phi of a block of records. `report.analyse(table, statistic=...)` judges
a table.
"""

from leakscore.statistics._cox import Cox
from leakscore.statistics._groups import Counts, GroupMeans, Several
from leakscore.statistics._models import GLM
from leakscore.statistics._products import (
    Correlations,
    Covariance,
    CrossProducts,
)
from leakscore.statistics._regression import Equations, Regression
from leakscore.statistics._statistic import (
    Histogram,
    Mean,
    NoFitError,
    Proportions,
    SampleSums,
    Statistic,
    Sum,
)
from leakscore.statistics._weights import KnownWeights, WeightedMean, WeightedRatio

__all__ = [
    "GLM",
    "Correlations",
    "Counts",
    "Covariance",
    "Cox",
    "CrossProducts",
    "Equations",
    "GroupMeans",
    "Histogram",
    "KnownWeights",
    "Mean",
    "NoFitError",
    "Proportions",
    "Regression",
    "SampleSums",
    "Several",
    "Statistic",
    "Sum",
    "WeightedMean",
    "WeightedRatio",
]
