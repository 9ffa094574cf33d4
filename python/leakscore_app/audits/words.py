"""How bounds, claims and certificates read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from leakscore.audit import EpsilonBound, MuBound
from leakscore_app.audits.model import Certificates, Claim, ClaimVerdict
from leakscore_app.audits.shadows import ShadowAttack
from leakscore_app.document.document import Notice

DOUBTS = ("constant-scores", "auc-below-half")
"""Codes of the notices that a reader must see before the bound."""


def number(value: float, digits: int = 4) -> str:
    """Return a number in a few digits."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.{digits}g}"


def lower_bound(value: float, decimals: int = 2) -> str:
    """Return a bound in few decimals, rounded down: what is printed is certified, too.

    From the shortest digits of the float, lest 3.3, which lies below the decimal, reads 3.29.
    """
    return str(Decimal(repr(float(value))).quantize(Decimal(10) ** -decimals, ROUND_FLOOR))


def upper_bound(rate: float, digits: int = 6) -> str:
    """Return a rate in a few digits, rounded up."""
    return f"{Context(digits, ROUND_CEILING).create_decimal_from_float(rate):g}"


def certainty(method: str) -> str:
    """Name what the confidence of a method is."""
    return "posterior probability, no confidence bound" if method == "credible" else "confidence"


def doubts(notices: Iterable[Notice]) -> list[Notice]:
    """Return what comes before the bound: all scores are alike, or they may be turned round."""
    return [notice for notice in notices if notice.code in DOUBTS]


def claim(claimed: Claim) -> str:
    """Name a claim."""
    if claimed.epsilon is None or claimed.delta is None:
        return f"{claimed.mu:.10g}-GDP"
    return f"({claimed.epsilon:.10g}, {claimed.delta:.10g})-differential privacy"


def subject(claimed: Claim | None) -> str:
    """Name what is judged."""
    return "bound on epsilon" if claimed is None else f"claim of {claim(claimed)}"


def outcome(judged: ClaimVerdict | None, void: str) -> str | None:
    """Return the word of a verdict; without a claim that of scores that say nothing at all."""
    if judged is None:
        return "cannot-tell" if void in ("equal", "none") else None
    return judged.verdict


def rule(findings: Certificates, bound: EpsilonBound | MuBound) -> str:
    """Say what the test of a bound flags."""
    return findings.flags(bound, number(findings.threshold(bound), 9))


NO_EVIDENCE = {
    "equal": "all scores are alike",
    "turned": "members score lower than non-members, as if scores were turned round",
    "none": "there is no round",
}
"""Why scores are no evidence, whatever the claim."""


def why_none(*, constant: bool, turned: bool = False, rounds: int = 1) -> str:
    """Return the key of why scores are no evidence; "" if they are."""
    return "equal" if constant else "turned" if turned else "" if rounds else "none"


def no_evidence(void: str) -> list[Notice]:
    """Return the warning that comes before everything else."""
    if not void:
        return []
    code, said = {
        "equal": ("constant-scores", "All scores are equal"),
        "turned": ("auc-below-half", f"M{NO_EVIDENCE['turned'][1:]}"),
        "none": ("no-rounds", "There is no round"),
    }[void]
    said += ": that is no evidence, neither for nor against a claim."
    return [Notice("warning", code, said)]


def verdict(judged: ClaimVerdict, claimed: Claim, *, method: str = "", void: str = "") -> str:
    """Say what becomes of the claim."""
    name = "epsilon" if claimed.mu is None else "mu"
    what = f"The claim of {claim(claimed)}"
    if judged.verdict == "refuted":
        doubt = f" ({certainty(method)})" if method == "credible" else ""
        return f"{what} is REFUTED: {name} is at least {lower_bound(judged.certified, 4)}{doubt}."
    if void:
        return f"INCONCLUSIVE. {what} is neither refuted nor supported: {NO_EVIDENCE[void]}."
    if judged.verdict == "consistent":
        return f"{what} is CONSISTENT with these scores; that does not prove it."
    most = lower_bound(judged.max_certifiable, 4)
    return f"INCONCLUSIVE. {what} cannot be refuted by so few scores: they certify at most {most}."


def certificate(findings: Certificates, bound: EpsilonBound) -> str:
    """Say what proves a bound, for a reader who checks it by hand."""
    delta = number(float(bound.delta), 10)
    at = f"At delta = {delta}"
    if bound.epsilon == 0:
        return f"{at} no threshold proves more than 0."
    nonmembers, members = findings.counted(bound)
    flagged, missed = _errors(float(bound.fpr), nonmembers), _errors(float(bound.fnr), members)
    if not findings.by_rates(bound):
        return (
            f"{at}: flag {rule(findings, bound)}. {flagged} non-members are flagged, {missed} "
            f"members are not ({bound.algorithm})."
        )
    fpr, fnr = (upper_bound(float(rate)) for rate in (bound.fpr_upper, bound.fnr_upper))
    over, under = (fnr, fpr) if bound.direction == "forward" else (fpr, fnr)
    return (
        f"{at}: flag {rule(findings, bound)}. {flagged} non-members are flagged, so the false "
        f"positive rate is at most {fpr}; {missed} members are not, so the false negative rate is "
        f"at most {fnr}. epsilon >= log((1 - {delta} - {over}) / {under}) = "
        f"{lower_bound(float(bound.epsilon), 4)}."
    )


def _errors(rate: float, size: int) -> str:
    return f"{round(rate * size)} of {size}"


def values(of_models: bool) -> str:
    """Name what the file holds of each record."""
    return "outputs" if of_models else "scores"


def attack(source: ShadowAttack) -> str:
    """Say which attack made the scores, on what."""
    targets = f"{source.targets} target{'s' if source.targets > 1 else ''}"
    said = f"{source.name}, of {source.shadow_models} shadow models; "
    said += "each the target of the others" if source.left_out else targets
    if source.tried is None:
        return said
    rates = ", ".join(f"{each.name} {each.rate:.4f}" for each in source.tried)
    return f"{said}; chosen by the true-positive rate at 1\u00a0% of models left out: {rates}"


def relation(neighbours: str | None) -> str:
    """Say what the rounds without the record hold instead."""
    return {
        None: "not stated (--neighbours)",
        "replace": "replace: another record takes its place",
        "add-remove": "add-remove: the record is in or out",
    }[neighbours]
