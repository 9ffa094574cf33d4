"""What the attacker knows of one record: its mean and covariance."""

from leakscore.reference.moments import ColumnGram, Moments
from leakscore.reference.record import Reference, SingularCovarianceError

__all__ = [
    "ColumnGram",
    "Moments",
    "Reference",
    "SingularCovarianceError",
]
