"""What attack scores prove about a mechanism: lower confidence bounds on epsilon, and the ROC.

An `Audit` needs only scores of members and non-members. Larger scores mean member; a threshold
flags a score as a member iff ``score > threshold``, so a tie is a non-member.
"""

from leakscore.audit._audit import Audit
from leakscore.audit._certified import EpsilonBound
from leakscore.audit.bands.uniform import critical_value
from leakscore.audit.claims.compare import Comparison
from leakscore.audit.claims.models import GaussianEpsilon, MuBound, ParameterBound
from leakscore.audit.claims.required import RequiredRounds, required_rounds
from leakscore.audit.many import epsilons
from leakscore.audit.one_training.epsilon import OneRunBound, one_run
from leakscore.audit.one_training.families import OneRunFamilyBound, OneRunTest, one_run_fdp
from leakscore.audit.roc.band import RocBand
from leakscore.audit.roc.bootstrap import BootstrapInterval
from leakscore.audit.roc.empirical import Roc
from leakscore.audit.watched.monitor import Monitor

__all__ = [
    "Audit",
    "BootstrapInterval",
    "Comparison",
    "EpsilonBound",
    "GaussianEpsilon",
    "Monitor",
    "MuBound",
    "OneRunBound",
    "OneRunFamilyBound",
    "OneRunTest",
    "ParameterBound",
    "RequiredRounds",
    "Roc",
    "RocBand",
    "critical_value",
    "epsilons",
    "one_run",
    "one_run_fdp",
    "required_rounds",
]
