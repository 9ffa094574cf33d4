"""What the reader must know to read the bounds: assumptions (notes) and doubts (warnings)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from leakscore.audit.results import CLAIM
from leakscore_app.audits.model import ONE_THRESHOLD, Certificates
from leakscore_app.audits.shadows import ShadowAttack
from leakscore_app.document.document import Notice


def notices_of(findings: Certificates) -> tuple[Notice, ...]:
    """Collect them, warnings first."""
    about = (_about_scores, _about_rounds, _about_bounds, _about_claim)
    notices = [notice for each in about for notice in each(findings)]
    return tuple(sorted(notices, key=lambda notice: notice.level != "warning"))


def _warning(code: str, message: str) -> Notice:
    return Notice("warning", code, message)


def _note(code: str, message: str) -> Notice:
    return Notice("note", code, message)


def _about_scores(findings: Certificates) -> Iterator[Notice]:
    """Say first what leaves nothing of the bound, or makes it doubtful."""
    seen = findings.input
    if findings.void == "equal":
        where = "lie in one bin" if seen.form == "counts" else "are equal"
        yield _warning(
            "constant-scores",
            f"All {seen.members + seen.nonmembers} scores {where}. They tell no member from a "
            "non-member, whatever the mechanism: that is no evidence, neither for nor against it.",
        )
    if findings.void == "turned":
        turned = "without --lower-is-member" if seen.lower_is_member else "--lower-is-member"
        yield _warning(
            "auc-below-half",
            f"The AUC is {findings.shown.auc.observed:.3f}: members score lower than non-members, "
            "and the scores may be turned round. If the scores are losses or distances, small ones "
            f"mean a member: {turned}. Turning them for no other reason than this figure voids the "
            "confidence.",
        )


def _about_rounds(findings: Certificates) -> Iterator[Notice]:
    seen = findings.input
    yield _note(
        "independent-rounds",
        "The confidence holds for scores of independent rounds: in each the mechanism ran anew. "
        "Scores of many records against one trained model are not independent; for those, if fair "
        "coins decided which were in, there are audits in one run (--one-run).",
    )
    if seen.writer is not None:
        yield _warning(
            "one-model",
            f"{seen.writer} usually writes the scores of many records against one model. These are "
            "no independent rounds, and unless yours are, the confidence is not what it says.",
        )
    if seen.attack is not None:
        yield from _about_models(seen.attack)
    yield _note(
        "fixed-beforehand",
        "The attack, and whether large or small scores mean a member, must not have been chosen "
        "on these scores; threshold, direction and delta may be, the bound pays for them.",
    )
    if findings.setting.random_bits:
        yield from _about_bits(findings)
    if seen.lower_is_member:
        yield _note(
            "lower-is-member",
            "Small scores mean a member here: scores were negated to be audited, thresholds are "
            "told on the scale of the file.",
        )


def _about_models(attack: ShadowAttack) -> Iterator[Notice]:
    """Say what the scores of shadow models are not."""
    if attack.left_out:
        who = "many records against shadow models, each scored by the others"
    else:
        who = f"many records against {'one model' if attack.targets == 1 else 'each target'}"
    yield _warning(
        "one-model",
        f"These are the scores of {who}. They are no independent rounds, and the confidence is not "
        "what it says unless each record was decided on and learnt by itself. For one target whose "
        "records fair coins put in, see --one-run.",
    )
    if attack.left_out and attack.tried is not None:
        yield _warning(
            "attack-chosen-here",
            f"The attack, {attack.name}, is the best of {len(attack.tried)} on these very scores, "
            "so that the bound may be too large: name one beforehand (--attack), or give a target "
            "with its member.",
        )


def _about_bits(findings: Certificates) -> Iterator[Notice]:
    members, nonmembers = findings.input.members, findings.input.nonmembers
    yield _note(
        "random-bits",
        'The method "sorted-bits" is experimental, and holds only if each membership was a fair '
        "coin of its own and each score a function of its own round: not for a fixed number of "
        "members.",
    )
    yield from no_fair_coins(members, nonmembers, "--random-bits is not true of this file")


def no_fair_coins(members: int, nonmembers: int, so: str) -> Iterator[Notice]:
    """Say so if their numbers are five standard deviations off those of fair coins."""
    if abs(members - nonmembers) > 5 * math.sqrt(members + nonmembers):
        yield _warning(
            "no-fair-coins",
            f"{members} members and {nonmembers} non-members are no fair coins: {so}.",
        )


def _about_bounds(findings: Certificates) -> Iterator[Notice]:
    yield _note(
        "no-evidence-of-privacy",
        "A lower bound does not show privacy: a small one, and 0, say that this attack with these "
        "scores proved no more. A stronger attack, another canary or more rounds may prove more.",
    )
    yield _note(
        "this-threat-model",
        "The bound is about the mechanism as these rounds ran it, with their canary and their "
        "neighbouring data sets, and what their attacker saw; a weaker attacker's scores can only "
        "prove less.",
    )
    tried = {findings.method, *(other.method for other in findings.others if other.bounds)}
    if "four-outcomes" in tried:
        yield _note(
            "four-outcomes",
            'The method "four-outcomes" is experimental: its proof is new, and nobody outside this '
            "project has checked it.",
        )
    if "credible" in tried:
        make = _warning if findings.method == "credible" else _note
        yield make(
            "credible",
            'The bound by "credible" is a posterior probability under a prior, and too large more '
            "often than a confidence bound may be.",
        )
    if tried & set(ONE_THRESHOLD) and findings.setting.threshold is None:
        yield _note(
            "halves",
            '"split" and "credible" choose their threshold on every other row of the file and '
            "count on the rest: the order of the rows must not depend on the scores.",
        )
    if findings.others:
        yield _note(
            "one-method",
            f"Each method's bound holds with {findings.percent} confidence for "
            "itself; the largest of several does not. The verdict is that of the method chosen "
            f"beforehand, {findings.method}.",
        )


def _about_claim(findings: Certificates) -> Iterator[Notice]:
    verdict = findings.verdict
    if verdict is None or findings.claim is None:
        return
    yield _note("claim-of-what-was-played", CLAIM)
    if findings.setting.neighbours is None:
        yield _note(
            "neighbours",
            "A claim is about neighbouring data sets: a record replaced, or added or removed. It "
            "must be the relation of these rounds; say which with --neighbours.",
        )
    if verdict.max_certifiable <= verdict.claimed:
        name = "epsilon" if findings.claim.mu is None else "mu"
        yield _warning(
            "too-few-scores",
            f"{findings.input.members} members and {findings.input.nonmembers} non-members can "
            f"certify {name} >= {verdict.max_certifiable:.3g} at most, however strong the attack: "
            f"they cannot refute {verdict.claimed:g}. More rounds can.",
        )
    if verdict.verdict == "consistent":
        yield _note(
            "consistent-is-not-proven",
            "Consistent does not mean that the claim is true: only that these scores do not "
            "refute it, though so many could have.",
        )
