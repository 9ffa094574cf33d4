"""What the attacker knows of one record: its mean and covariance."""

from leakscore.reference._column_gram import ColumnGram
from leakscore.reference._moments import Moments
from leakscore.reference._reference import Reference, SingularCovarianceError

__all__ = [
    "ColumnGram",
    "Moments",
    "Reference",
    "SingularCovarianceError",
]
