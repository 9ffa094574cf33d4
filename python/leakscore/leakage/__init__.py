"""How much the released mean of n records reveals about one of them: the leakage score m.

An attacker who knows the population's mean and covariance, and the record, has the advantage
erf(sqrt(m / 8)); the release is sqrt(m)-GDP for that record (`leakscore.tradeoff.gaussian`).
"""

from leakscore.leakage._noise import RequiredNoise, noise_for, noise_for_table
from leakscore.leakage._shaped import ShapedNoise
from leakscore.leakage.answers import Answer, Refusal
from leakscore.leakage.groups import leave_group_out, leave_one_out
from leakscore.leakage.ledger import Ledger
from leakscore.leakage.score import (
    cross_leakage,
    effective_leakage,
    leakage_score,
    release_leakage,
    second_order_leakage,
)
from leakscore.leakage.values import attribute_leakage, members_to_disclose, posterior_std

__all__ = [
    "Answer",
    "Ledger",
    "Refusal",
    "RequiredNoise",
    "ShapedNoise",
    "attribute_leakage",
    "cross_leakage",
    "effective_leakage",
    "leakage_score",
    "leave_group_out",
    "leave_one_out",
    "members_to_disclose",
    "noise_for",
    "noise_for_table",
    "posterior_std",
    "release_leakage",
    "second_order_leakage",
]
