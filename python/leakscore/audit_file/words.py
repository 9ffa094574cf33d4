"""The sentences that the text and the page share, so that both say the same."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from leakscore.audit import EpsilonBound, MuBound
from leakscore.audit_file.model import Claim, Findings
from leakscore.render.text import counted

__all__ = [
    "certainty",
    "certificate",
    "claim",
    "counts",
    "doubts",
    "files",
    "gaussian",
    "headline",
    "limits",
    "lower_bound",
    "number",
    "read",
    "relation",
    "row",
    "rule",
    "shown",
    "verdict",
]


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


def _upper_bound(rate: float, digits: int = 6) -> str:
    """Return a rate in a few digits, rounded up."""
    return f"{Context(digits, ROUND_CEILING).create_decimal_from_float(rate):g}"


def certainty(method: str) -> str:
    """Name what the confidence of a method is."""
    return "posterior probability, no confidence bound" if method == "credible" else "confidence"


def headline(findings: Findings) -> str:
    """Say the bound, or the first of several."""
    bound = findings.bounds.bounds[0]
    return (
        f"epsilon >= {lower_bound(float(bound.epsilon))} at delta = "
        f"{number(float(bound.delta), 10)}, with {findings.percent} {certainty(findings.method)}"
    )


def doubts(findings: Findings) -> list[str]:
    """Say what comes before the bound: it is of no scores that tell anything, or of turned ones."""
    return [notice.message for notice in findings.notices if notice.code in DOUBTS]


def counts(findings: Findings) -> str:
    """Say how many scores there are, and what they could certify."""
    seen, bound = findings.input, findings.bounds.bounds[0]
    most = lower_bound(float(bound.max_certifiable))
    zero = " A bound of 0 is no evidence; it is not privacy." if bound.epsilon == 0 else ""
    return (
        f"{counted(seen.members, 'member')} and {counted(seen.nonmembers, 'non-member')}; "
        f"perfectly separated, so many could certify {most}.{zero}"
    )


def claim(claimed: Claim) -> str:
    """Name a claim."""
    if claimed.epsilon is None or claimed.delta is None:
        return f"{claimed.mu:.10g}-GDP"
    return f"({claimed.epsilon:.10g}, {claimed.delta:.10g})-differential privacy"


def gaussian(findings: Findings) -> str:
    """Say what is certain of mu; empty if the method does not say."""
    bound = findings.mu
    if bound is None:
        return ""
    most = lower_bound(bound.max_certifiable)
    return (
        f"mu >= {lower_bound(bound.mu)} of mu-GDP, of at most {most}, by flagging "
        f"{rule(findings, bound)}. That holds for every mechanism; an epsilon follows "
        "from a mu only if the mechanism is known to be Gaussian."
    )


def rule(findings: Findings, bound: EpsilonBound | MuBound) -> str:
    """Say what the test of a bound flags."""
    return findings.flags(bound).replace("threshold", number(findings.threshold(bound), 9))


def verdict(findings: Findings) -> str:
    """Say what becomes of the claim; empty if there is none."""
    found, claimed = findings.verdict, findings.claim
    if found is None or claimed is None:
        return ""
    name = "epsilon" if claimed.mu is None else "mu"
    what = f"The claim of {claim(claimed)}"
    if found.verdict == "refuted":
        least = f"{what} is REFUTED: {name} is at least {lower_bound(found.certified, 4)}"
        doubt = certainty(findings.method)
        return f"{least}." if doubt == "confidence" else f"{least} ({doubt})."
    if findings.constant:
        return f"INCONCLUSIVE. {what} is neither refuted nor supported: all scores are alike."
    if found.verdict == "consistent":
        return f"{what} is CONSISTENT with these scores; that does not prove it."
    return (
        f"INCONCLUSIVE. {what} could not be refuted by any so many scores: they certify at most "
        f"{lower_bound(found.max_certifiable, 4)}."
    )


def limits() -> str:
    """Say what the bound is not."""
    return (
        "A lower bound does not show privacy. It says what this attack proved with these scores, "
        "if they are of independent rounds; another attack may prove more."
    )


def files(findings: Findings) -> str:
    """Name what was read."""
    return " and ".join(file["name"] for file in findings.input.files)


def shown(findings: Findings) -> list[list[str]]:
    """Return the lines of the table of what is observed and certain."""
    found = findings.shown
    lines = [("AUC", found.auc), ("advantage", found.advantage)]
    lines += [(f"TPR at {100 * fpr:g}\u00a0% FPR", rate) for fpr, rate in found.tpr_at_fpr]
    return [
        [
            name,
            f"{rate.observed:.4f}",
            lower_bound(rate.lower, 4),
            str(Decimal(rate.upper).quantize(Decimal("0.0001"), ROUND_CEILING)),
        ]
        for name, rate in lines
    ]


def row(findings: Findings, bound: EpsilonBound) -> list[str]:
    """Return the cells of a bound in the table of bounds."""
    rates = [number(float(bound.fpr), 3), "-", number(float(bound.fnr), 3), "-"]
    if findings.by_rates(bound):
        rates[1] = _upper_bound(float(bound.fpr_upper), 3)
        rates[3] = _upper_bound(float(bound.fnr_upper), 3)
    return [
        number(float(bound.delta), 10),
        lower_bound(float(bound.epsilon)),
        lower_bound(float(bound.max_certifiable)),
        number(findings.threshold(bound)),
        *rates,
        str(bound.direction),
    ]


def certificate(findings: Findings, bound: EpsilonBound) -> str:
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
    fpr, fnr = (_upper_bound(float(rate)) for rate in (bound.fpr_upper, bound.fnr_upper))
    over, under = (fnr, fpr) if bound.direction == "forward" else (fpr, fnr)
    return (
        f"{at}: flag {rule(findings, bound)}. {flagged} non-members are flagged, so the false "
        f"positive rate is at most {fpr}; {missed} members are not, so the false negative rate is "
        f"at most {fnr}. epsilon >= log((1 - {delta} - {over}) / {under}) = "
        f"{lower_bound(float(bound.epsilon), 4)}."
    )


def _errors(rate: float, size: int) -> str:
    return f"{round(rate * size)} of {size}"


def relation(findings: Findings) -> str:
    """Say what the rounds without the record hold instead."""
    return {
        None: "not stated (--neighbours)",
        "replace": "replace: another record takes its place",
        "add-remove": "add-remove: the record is in or out",
    }[findings.setting.neighbours]


def read(findings: Findings) -> list[tuple[str, str]]:
    """List what was read and what is taken for granted."""
    seen, setting = findings.input, findings.setting
    lines = []
    for file in seen.files:
        lines += [("file", file["name"]), ("sha256", file["sha256"])]
    made = f", as {seen.writer} writes it" if seen.writer else ""
    columns = ", ".join(
        role if role == name else f"{role} from {name!r}" for role, name in seen.columns.items()
    )
    lines += [
        ("format", f"{seen.format}{made}; {columns}; scores are {seen.dtype}"),
        ("member if", f"the score is {'small' if seen.lower_is_member else 'large'}"),
        ("neighbours", relation(findings)),
        ("threat model", setting.threat_model or "not stated (--threat-model)"),
    ]
    lines += [("note", note) for note in seen.notes]
    lines.append(("made by", f"leakscore {findings.tool_version}, seed {setting.seed}"))
    return lines
