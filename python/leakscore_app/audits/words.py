"""Sentences for bounds, claims and certificates, and the notices that a reader needs with them."""

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
    """Return a bound in few decimals, rounded down, so that the printed number is certified, too.

    The shortest digits of the float are rounded: the float 3.3 lies below 3.3 and would read 3.29.
    """
    return str(Decimal(repr(float(value))).quantize(Decimal(10) ** -decimals, ROUND_FLOOR))


def upper_bound(rate: float, digits: int = 6) -> str:
    """Return a rate in a few digits, rounded up."""
    return f"{Context(digits, ROUND_CEILING).create_decimal_from_float(rate):g}"


def certainty(method: str) -> str:
    """Return the kind of probability that a method's confidence is."""
    return "posterior probability, no confidence bound" if method == "credible" else "confidence"


def bound_at(epsilon: float, delta: float, confidence: float, method: str = "") -> str:
    """Return a certified bound as a clause."""
    bound = f"epsilon >= {lower_bound(epsilon)} at delta = {number(delta, 10)}"
    return f"{bound}, with {percent(confidence)} {certainty(method)}"


def shared_models(source: AuditInput) -> str:
    """Say which models the rows share; "" if nothing shows that they share any."""
    if source.attack is not None:
        if source.attack.left_out:
            return "the rows are many records of the same shadow models, each scored by the others"
        which = "one model" if source.attack.targets == 1 else "each target"
        return f"the rows are many records of {which}"
    if source.writer is not None:
        return f"as {source.writer} usually writes many records of one model"
    return ""


def assumptions_section(
    assumptions: Iterable[str], title: str = "The confidence holds if"
) -> doc.Section:
    """Return the section that lists assumptions."""
    return doc.Section(title, [doc.Notices([doc.note("assumption", each) for each in assumptions])])


def input_section(pairs: Iterable[tuple[str, str]]) -> doc.Section:
    """Return the section on the input."""
    return doc.Section("What was read", [doc.Definitions(list(pairs))])


def certifiable_limit(epsilon: float, most: float) -> str:
    """Return the end of a sentence on the largest bound that so many scores could certify."""
    zero = " A bound of 0 is no evidence; it is not privacy." if epsilon == 0 else ""
    return f"could certify only {lower_bound(most)}.{zero}"


def head(doubts: Sequence[doc.Notice], verdict: str, *parts: doc.Part) -> list[list[doc.Part]]:
    """Return the head of an audit: doubts, the bound, and the verdict on the claim, if any."""
    first = [doc.Notices(doubts), *parts] if doubts else list(parts)
    return [first, [doc.Paragraph(verdict, "lead")]] if verdict else [first]


def claim_name(claimed: Claim) -> str:
    """Name a claim."""
    if claimed.epsilon is None or claimed.delta is None:
        return f"{claimed.mu:.10g}-GDP"
    return f"({claimed.epsilon:.10g}, {claimed.delta:.10g})-differential privacy"


def check_name(claimed: Claim | None) -> str:
    """Return the name of what is judged, for other programs."""
    return "bound on epsilon" if claimed is None else f"claim of {claim_name(claimed)}"


def outcome(judged: ClaimVerdict | None, void: str) -> str | None:
    """Return the verdict; without a claim, "cannot-tell" for scores without any information."""
    if judged is None:
        return "cannot-tell" if void in ("equal", "none") else None
    return judged.verdict


def flag_rule(findings: Certificates, bound: EpsilonBound | MuBound) -> str:
    """Return the rule by which a bound's test flags scores, with its threshold."""
    return findings.flags(bound, number(findings.threshold(bound), 9))


NO_EVIDENCE = {
    "equal": "all scores are equal",
    "reversed": "members score lower than non-members, as if scores were reversed",
    "none": "there is no round",
}
"""Reasons why scores are no evidence for or against any claim."""


def no_evidence_key(*, constant: bool, below_chance: bool = False, rounds: int = 1) -> str:
    """Return the key in `NO_EVIDENCE` of the reason; "" if scores are evidence."""
    return "equal" if constant else "reversed" if below_chance else "" if rounds else "none"


def no_evidence_notices(void: str) -> list[doc.Notice]:
    """Return the warning that scores are no evidence, if they are none."""
    if not void:
        return []
    code = {"equal": "constant-scores", "reversed": "auc-below-half", "none": "no-rounds"}[void]
    reason = f"{NO_EVIDENCE[void][:1].upper()}{NO_EVIDENCE[void][1:]}"
    return [doc.warning(code, f"{reason}: that is no evidence, neither for nor against a claim.")]


def verdict_line(
    judged: ClaimVerdict | None, claimed: Claim | None, *, method: str = "", void: str = ""
) -> str:
    """Return the verdict on the claim as a sentence; "" without a claim."""
    if judged is None or claimed is None:
        return ""
    name = "epsilon" if claimed.mu is None else "mu"
    lead = f"The claim of {claim_name(claimed)}"
    if judged.verdict == "refuted":
        doubt = f" ({certainty(method)})" if method == "credible" else ""
        return f"{lead} is REFUTED: {name} is at least {lower_bound(judged.certified, 4)}{doubt}."
    if void:
        return f"INCONCLUSIVE. {lead} is neither refuted nor supported: {NO_EVIDENCE[void]}."
    if judged.verdict == "consistent":
        return f"{lead} is CONSISTENT with these scores; that does not prove it."
    most = lower_bound(judged.max_certifiable, 4)
    return (
        f"INCONCLUSIVE. {lead} cannot be refuted: even perfect separation of this many scores "
        f"could certify only {most}."
    )


def certificate_line(findings: Certificates, bound: EpsilonBound) -> str:
    """Return the proof of a bound in numbers, for a reader who checks it by hand."""
    delta = number(float(bound.delta), 10)
    at = f"At delta = {delta}"
    if bound.epsilon == 0:
        return f"{at} no threshold proves more than 0."
    nonmembers, members = findings.counted(bound)
    flagged, missed = _ratio(float(bound.fpr), nonmembers), _ratio(float(bound.fnr), members)
    if not findings.by_rates(bound):
        return (
            f"{at}: flag {flag_rule(findings, bound)}. {flagged} non-members are flagged, {missed} "
            f"members are not ({bound.algorithm})."
        )
    fpr, fnr = (upper_bound(float(rate)) for rate in (bound.fpr_upper, bound.fnr_upper))
    over, under = (fnr, fpr) if bound.direction == "forward" else (fpr, fnr)
    return (
        f"{at}: flag {flag_rule(findings, bound)}. {flagged} non-members are flagged, so the false "
        f"positive rate is at most {fpr}; {missed} members are not, so the false negative rate is "
        f"at most {fnr}. epsilon >= log((1 - {delta} - {over}) / {under}) = "
        f"{lower_bound(float(bound.epsilon), 4)}."
    )


def _ratio(rate: float, size: int) -> str:
    return f"{round(rate * size)} of {size}"


def column_roles(columns: Mapping[str, str]) -> str:
    """Return which column holds the scores, which the memberships, and so on."""
    pairs = columns.items()
    return ", ".join(role if role == name else f"{role} from {name!r}" for role, name in pairs)


def format_phrase(name: str, source: AuditInput) -> str:
    """Return the format of a file, its columns, and the dtype of its scores or outputs."""
    kind = "scores" if source.attack is None else "outputs"
    return f"{name}; {column_roles(source.columns)}; {kind} are {source.dtype}"


def attack_phrase(source: ShadowAttack) -> str:
    """Return the attack that computed the scores, its models and its targets."""
    targets = f"{source.targets} target{'s' if source.targets > 1 else ''}"
    phrase = f"{source.name}, of {source.shadow_models} shadow models; "
    phrase += "each the target of the others" if source.left_out else targets
    if source.tried is None:
        return phrase
    rates = ", ".join(f"{each.name} {each.rate:.4f}" for each in source.tried)
    return f"{phrase}; chosen by the true-positive rate at 1\u00a0% of models left out: {rates}"


def neighbours_phrase(neighbours: str | None) -> str:
    """Return what replaces the record in the rounds without it."""
    return {
        None: "not stated (--neighbours)",
        "replace": "replace: another record takes its place",
        "add-remove": "add-remove: the record is in or out",
    }[neighbours]


def notices_of(findings: Certificates) -> tuple[doc.Notice, ...]:
    """Return all notices of an audit, warnings first."""
    topics = (_score_notices, _round_notices, _bound_notices, _claim_notices)
    notices = [notice for topic in topics for notice in topic(findings)]
    return doc.warnings_first(notices)


def _score_notices(findings: Certificates) -> Iterator[doc.Notice]:
    """Warn of scores that void or weaken the bound."""
    source = findings.input
    if findings.void == "equal":
        where = "lie in one bin" if source.form == "counts" else "are equal"
        yield doc.warning(
            "constant-scores",
            f"All {source.members + source.nonmembers} scores {where}. They tell no member from a "
            "non-member, whatever the mechanism: that is no evidence, neither for nor against it.",
        )
    if findings.void == "reversed":
        remedy = "without --lower-is-member" if source.lower_is_member else "--lower-is-member"
        yield doc.warning(
            "auc-below-half",
            f"The AUC is {findings.shown.auc.observed:.3f}: members score lower than non-members, "
            "and the scores may be reversed. If the scores are losses or distances, small ones "
            f"mean a member: {remedy}. Turning them for no other reason than this figure voids the "
            "confidence.",
        )


def _round_notices(findings: Certificates) -> Iterator[doc.Notice]:
    source = findings.input
    yield doc.note(
        "independent-rounds",
        "The confidence holds for scores of independent rounds: in each the mechanism ran anew. "
        "Scores of many records against one trained model are not independent; for those, if fair "
        "coins decided which were in, there are audits in one run (--one-run).",
    )
    if why := shared_models(source):
        yield doc.warning(
            "one-model",
            f"Nothing is certified, {why}. They are not independent rounds, and the confidence is "
            "not what it says unless each record was decided on and learnt by itself. For one "
            "training whose records fair coins put in, see --one-run.",
        )
    if source.attack is not None and source.attack.left_out and source.attack.tried is not None:
        yield doc.warning(
            "attack-chosen-here",
            f"The attack, {source.attack.name}, is the best of {len(source.attack.tried)} on these "
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
        yield from _bit_notices(findings)
    if source.lower_is_member:
        yield doc.note(
            "lower-is-member",
            "Small scores mean a member here: scores were negated to be audited, thresholds are "
            "told on the scale of the file.",
        )


def _bit_notices(findings: Certificates) -> Iterator[doc.Notice]:
    members, nonmembers = findings.input.members, findings.input.nonmembers
    yield doc.note(
        "random-bits",
        'The method "sorted-bits" is experimental, and holds only if each membership was a fair '
        "coin of its own and each score a function of its own round: not for a fixed number of "
        "members.",
    )
    yield from no_fair_coins(members, nonmembers, "--random-bits is not true of this file")


def no_fair_coins(members: int, nonmembers: int, consequence: str) -> Iterator[doc.Notice]:
    """Warn if the numbers are five standard deviations off those of fair coins."""
    if abs(members - nonmembers) > 5 * math.sqrt(members + nonmembers):
        yield doc.warning(
            "no-fair-coins",
            f"{members} members and {nonmembers} non-members are no fair coins: {consequence}.",
        )


def _bound_notices(findings: Certificates) -> Iterator[doc.Notice]:
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
        level = doc.warning if findings.method == "credible" else doc.note
        yield level(
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


def _claim_notices(findings: Certificates) -> Iterator[doc.Notice]:
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
