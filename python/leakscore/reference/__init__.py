"""What the attacker knows of one record: its mean and covariance."""

from leakscore.reference._reference import Reference, SingularCovarianceError
from leakscore.reference.moments import ColumnGram, Moments

__all__ = [
    "ColumnGram",
    "Moments",
    "Reference",
    "SingularCovarianceError",
]
