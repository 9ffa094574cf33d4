"""What attack scores prove about a mechanism: lower confidence bounds on epsilon, and the ROC.

Scores of members and non-members are all an `Audit` needs. Larger scores mean member; a threshold
flags a score as a member iff ``score > threshold``, so a tie is a non-member.
"""

from leakscore.audit._audit import Audit
from leakscore.audit._bootstrap import BootstrapInterval
from leakscore.audit._certified import EpsilonBound
from leakscore.audit._empirical import Roc
from leakscore.audit._roc_band import RocBand

__all__ = ["Audit", "BootstrapInterval", "EpsilonBound", "Roc", "RocBand"]
