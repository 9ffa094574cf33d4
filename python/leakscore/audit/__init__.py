"""What attack scores prove about a mechanism: lower confidence bounds on epsilon, and the ROC.

An `Audit` needs only scores of members and non-members. Larger scores mean member; a threshold
flags a score as a member iff ``score > threshold``, so a tie is a non-member.
"""

from leakscore.audit.bands import critical_value
from leakscore.audit.blind import BlindCheck, RankTest, blind_check, rank_test
from leakscore.audit.certified import Audit, EpsilonBound, epsilons
from leakscore.audit.methods import Credible, FourOutcomes, RateBands, SortedBits, Split
from leakscore.audit.monitor import Monitor
from leakscore.audit.required import RequiredRounds, required_rounds
from leakscore.audit.results import Comparison, GaussianEpsilon, MuBound, ParameterBound
from leakscore.audit.roc import BootstrapInterval, Roc, RocBand
from leakscore.audit.training import OneRunBound, one_run
from leakscore.audit.training_curves import OneRunFamilyBound, OneRunTest, one_run_fdp

__all__ = [
    "Audit",
    "BlindCheck",
    "BootstrapInterval",
    "Comparison",
    "Credible",
    "EpsilonBound",
    "FourOutcomes",
    "GaussianEpsilon",
    "Monitor",
    "MuBound",
    "OneRunBound",
    "OneRunFamilyBound",
    "OneRunTest",
    "ParameterBound",
    "RankTest",
    "RateBands",
    "RequiredRounds",
    "Roc",
    "RocBand",
    "SortedBits",
    "Split",
    "blind_check",
    "critical_value",
    "epsilons",
    "one_run",
    "one_run_fdp",
    "rank_test",
    "required_rounds",
]
