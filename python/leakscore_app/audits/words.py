"""How bounds, claims and certificates read, and the notices that a reader needs beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from leakscore.audit import EpsilonBound, MuBound
from leakscore.audit.results import CLAIM
from leakscore_app.audits.model import (
    ONE_THRESHOLD,
    AuditInput,
    Certificates,
    Claim,
    ClaimVerdict,
    percent,
)
from leakscore_app.audits.shadows import ShadowAttack
from leakscore_app.document import document as doc

DOUBTS = ("constant-scores", "auc-below-half")
"""Codes of the notices that a reader must see before the bound."""


def number(value: float, digits: int = 4) -> str:
    """Return a number in a few digits."""
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


def bound_at(epsilon: float, delta: float, confidence: float, method: str = "") -> str:
    """Say what is certified."""
    what = f"epsilon >= {lower_bound(epsilon)} at delta = {number(delta, 10)}"
    return f"{what}, with {percent(confidence)} {certainty(method)}"


def shared(seen: AuditInput) -> str:
    """Say whose records the rows are, if they are those of the same models; "" if nothing does."""
    if seen.attack is not None:
        if seen.attack.left_out:
            return "the rows are many records of the same shadow models, each scored by the others"
        which = "one model" if seen.attack.targets == 1 else "each target"
        return f"the rows are many records of {which}"
    if seen.writer is not None:
        return f"as {seen.writer} usually writes many records of one model"
    return ""


def holds(assumptions: Iterable[str], title: str = "The confidence holds if") -> doc.Section:
    """Return the section of what must be true."""
    return doc.Section(title, [doc.Notices([doc.note("assumption", each) for each in assumptions])])


def read(pairs: Iterable[tuple[str, str]]) -> doc.Section:
    """Return the section of what was read."""
    return doc.Section("What was read", [doc.Definitions(list(pairs))])


def at_most(epsilon: float, most: float) -> str:
    """Say what so many scores could certify, and that a bound of 0 is no evidence."""
    zero = " A bound of 0 is no evidence; it is not privacy." if epsilon == 0 else ""
    return f"could certify only {lower_bound(most)}.{zero}"


def head(doubts: Sequence[doc.Notice], said: str, *parts: doc.Part) -> list[list[doc.Part]]:
    """Return the head of an audit: doubts, the bound, and what becomes of the claim, if any."""
    first = [doc.Notices(doubts), *parts] if doubts else list(parts)
    return [first, [doc.Paragraph(said, "lead")]] if said else [first]


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
    "equal": "all scores are equal",
    "turned": "members score lower than non-members, as if scores were reversed",
    "none": "there is no round",
}
"""Why scores are no evidence, whatever the claim."""


def why_none(*, constant: bool, turned: bool = False, rounds: int = 1) -> str:
    """Return the key of why scores are no evidence; "" if they are."""
    return "equal" if constant else "turned" if turned else "" if rounds else "none"


def no_evidence(void: str) -> list[doc.Notice]:
    """Return the warning that comes before everything else."""
    if not void:
        return []
    code = {"equal": "constant-scores", "turned": "auc-below-half", "none": "no-rounds"}[void]
    said = f"{NO_EVIDENCE[void][:1].upper()}{NO_EVIDENCE[void][1:]}"
    return [doc.warning(code, f"{said}: that is no evidence, neither for nor against a claim.")]


def verdict(
    judged: ClaimVerdict | None, claimed: Claim | None, *, method: str = "", void: str = ""
) -> str:
    """Say what becomes of the claim; nothing without one."""
    if judged is None or claimed is None:
        return ""
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
    return (
        f"INCONCLUSIVE. {what} cannot be refuted: even perfect separation of this many scores "
        f"could certify only {most}."
    )


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


def roles(columns: Mapping[str, str]) -> str:
    """Say what was read from which column."""
    pairs = columns.items()
    return ", ".join(role if role == name else f"{role} from {name!r}" for role, name in pairs)


def form(name: str, columns: Mapping[str, str], dtype: str, source: ShadowAttack | None) -> str:
    """Say in which form the file holds what of each record."""
    return f"{name}; {roles(columns)}; {'scores' if source is None else 'outputs'} are {dtype}"


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


def notices_of(findings: Certificates) -> tuple[doc.Notice, ...]:
    """Collect them, warnings first."""
    about = (_about_scores, _about_rounds, _about_bounds, _about_claim)
    notices = [notice for each in about for notice in each(findings)]
    return doc.warnings_first(notices)


def _about_scores(findings: Certificates) -> Iterator[doc.Notice]:
    """Warn first of what voids or weakens the bound."""
    seen = findings.input
    if findings.void == "equal":
        where = "lie in one bin" if seen.form == "counts" else "are equal"
        yield doc.warning(
            "constant-scores",
            f"All {seen.members + seen.nonmembers} scores {where}. They tell no member from a "
            "non-member, whatever the mechanism: that is no evidence, neither for nor against it.",
        )
    if findings.void == "turned":
        turned = "without --lower-is-member" if seen.lower_is_member else "--lower-is-member"
        yield doc.warning(
            "auc-below-half",
            f"The AUC is {findings.shown.auc.observed:.3f}: members score lower than non-members, "
            "and the scores may be reversed. If the scores are losses or distances, small ones "
            f"mean a member: {turned}. Turning them for no other reason than this figure voids the "
            "confidence.",
        )


def _about_rounds(findings: Certificates) -> Iterator[doc.Notice]:
    seen = findings.input
    yield doc.note(
        "independent-rounds",
        "The confidence holds for scores of independent rounds: in each the mechanism ran anew. "
        "Scores of many records against one trained model are not independent; for those, if fair "
        "coins decided which were in, there are audits in one run (--one-run).",
    )
    if said := shared(seen):
        yield doc.warning(
            "one-model",
            f"Nothing is certified, {said}. They are not independent rounds, and the confidence is "
            "not what it says unless each record was decided on and learnt by itself. For one "
            "training whose records fair coins put in, see --one-run.",
        )
    if seen.attack is not None and seen.attack.left_out and seen.attack.tried is not None:
        yield doc.warning(
            "attack-chosen-here",
            f"The attack, {seen.attack.name}, is the best of {len(seen.attack.tried)} on these "
            "very scores, so that the bound may be too large: name one beforehand (--attack), or "
            "give a target with its member.",
        )
    yield doc.note(
        "fixed-beforehand",
        "The attack, and whether large or small scores mean a member, must not have been chosen "
        "on these scores; threshold and direction may be, the bound pays for them, and with a band "
        "around the error rates delta, too.",
    )
    if findings.setting.random_bits:
        yield from _about_bits(findings)
    if seen.lower_is_member:
        yield doc.note(
            "lower-is-member",
            "Small scores mean a member here: scores were negated to be audited, thresholds are "
            "told on the scale of the file.",
        )


def _about_bits(findings: Certificates) -> Iterator[doc.Notice]:
    members, nonmembers = findings.input.members, findings.input.nonmembers
    yield doc.note(
        "random-bits",
        'The method "sorted-bits" is experimental, and holds only if each membership was a fair '
        "coin of its own and each score a function of its own round: not for a fixed number of "
        "members.",
    )
    yield from no_fair_coins(members, nonmembers, "--random-bits is not true of this file")


def no_fair_coins(members: int, nonmembers: int, so: str) -> Iterator[doc.Notice]:
    """Say so if their numbers are five standard deviations off those of fair coins."""
    if abs(members - nonmembers) > 5 * math.sqrt(members + nonmembers):
        yield doc.warning(
            "no-fair-coins",
            f"{members} members and {nonmembers} non-members are no fair coins: {so}.",
        )


def _about_bounds(findings: Certificates) -> Iterator[doc.Notice]:
    yield doc.note(
        "no-evidence-of-privacy",
        "A lower bound does not show privacy: a small one, and 0, say that this attack with these "
        "scores proved no more. A stronger attack, another canary or more rounds may prove more.",
    )
    yield doc.note(
        "this-threat-model",
        "The bound is about the mechanism as these rounds ran it, with their canary and their "
        "neighbouring data sets, and what their attacker saw; a weaker attacker's scores can only "
        "prove less.",
    )
    tried = {findings.method, *(other.method for other in findings.others if other.bounds)}
    if "four-outcomes" in tried:
        yield doc.note(
            "four-outcomes",
            'The theorem behind "four-outcomes" and its proof are of this project; nobody outside '
            "it has refereed them (docs/explanation/four-outcomes.md).",
        )
    if "credible" in tried:
        make = doc.warning if findings.method == "credible" else doc.note
        yield make(
            "credible",
            'The bound by "credible" is a posterior probability under a prior, and too large more '
            "often than a confidence bound may be.",
        )
    if tried & set(ONE_THRESHOLD) and findings.setting.threshold is None:
        yield doc.note(
            "halves",
            '"split" and "credible" choose their threshold on every other row of the file and '
            "count on the rest: the order of the rows must not depend on the scores.",
        )
    if findings.others:
        yield doc.note(
            "one-method",
            f"Each method's bound holds with {findings.percent} confidence for "
            "itself; the largest of several does not. The verdict is that of the method chosen "
            f"beforehand, {findings.method}.",
        )


def _about_claim(findings: Certificates) -> Iterator[doc.Notice]:
    verdict = findings.verdict
    if verdict is None or findings.claim is None:
        return
    yield doc.note("claim-of-what-was-played", CLAIM)
    if findings.setting.neighbours is None:
        yield doc.note(
            "neighbours",
            "A claim is about neighbouring data sets: a record replaced, or added or removed. It "
            "must be the relation of these rounds; say which with --neighbours.",
        )
    if verdict.max_certifiable <= verdict.claimed:
        name = "epsilon" if findings.claim.mu is None else "mu"
        yield doc.warning(
            "too-few-scores",
            f"{findings.input.members} members and {findings.input.nonmembers} non-members can "
            f"certify {name} >= {verdict.max_certifiable:.3g} at most, however strong the attack: "
            f"they cannot refute {verdict.claimed:g}. More rounds can.",
        )
    if verdict.verdict == "consistent":
        yield doc.note(
            "consistent-is-not-proven",
            "Consistent does not mean that the claim is true: only that these scores do not "
            "refute it, though so many could have.",
        )
