"""Membership from the outputs of shadow models: trained on known parts of known records.

The attacker has K models, knows which of N records each was trained on, and has one signal per
model and record, its logit margin. A target model's signals are scored record by record; larger
scores mean member. `choose` says which score to take.
"""

from leakscore.shadow._base import base, rmia
from leakscore.shadow._gains import one_step, paired
from leakscore.shadow._laws import Prior, bayes, difficulty, lira
from leakscore.shadow._left_out import choose, leave_one_model_out
from leakscore.shadow._leverage import LinearLaw, LogisticLaw, linear_law, logistic_law
from leakscore.shadow._power import offline_power, online_power, required_models
from leakscore.shadow._signals import (
    confidence_margin,
    innovations,
    log_confidence,
    logit_margin,
    loss_margin,
)
from leakscore.shadow.records import RecordRisk, risk

__all__ = [
    "LinearLaw",
    "LogisticLaw",
    "Prior",
    "RecordRisk",
    "base",
    "bayes",
    "choose",
    "confidence_margin",
    "difficulty",
    "innovations",
    "leave_one_model_out",
    "linear_law",
    "lira",
    "log_confidence",
    "logistic_law",
    "logit_margin",
    "loss_margin",
    "offline_power",
    "one_step",
    "online_power",
    "paired",
    "required_models",
    "risk",
    "rmia",
]
