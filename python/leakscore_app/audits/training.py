"""One training with many canaries: what their scores certify without a choice of how many count."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

from leakscore import validation
from leakscore.audit import Audit, OneRunBound, one_run
from leakscore.audit.training import suspiciously_even
from leakscore_app.audits import sections, words
from leakscore_app.audits.judge import input_of, negated
from leakscore_app.audits.model import AuditInput, Claim, ClaimVerdict, Setting
from leakscore_app.audits.scores import Read, Rounds, require_direction
from leakscore_app.document import document as doc
from leakscore_app.document.checks import Check
from leakscore_app.document.findings import HIDDEN, Findings


@dataclass(frozen=True, eq=False)
class OneTraining(Findings):
    """What the scores of the canaries of one training certify.

    The JSON has the fields of an audit of rounds where they mean the same; its bounds are every
    field of a `leakscore.audit.OneRunBound`, one entry a delta.
    """

    command = "audit --one-run"

    input: AuditInput
    setting: Setting
    claim: Claim | None
    verdict: ClaimVerdict | None
    confidence: float
    bounds: tuple[OneRunBound, ...]
    void: str = field(metadata=HIDDEN)

    @property
    def notices(self) -> tuple[doc.Notice, ...]:
        """What must be known to read the bounds."""
        return tuple(words.no_evidence(self.void))

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        bound, seen = self.bounds[0], self.input
        most = words.at_most(bound.epsilon, bound.max_certifiable)
        lead = (
            f"One training with {bound.canaries} canaries, {seen.members} of them "
            f"in; even if all guesses were right, this many {most}"
        )
        first = (doc.Heading(_head_of(self)), doc.Paragraph(lead, "lead"))
        said = words.verdict(self.verdict, self.claim, void=self.void)
        columns = {
            **sections.bounds_columns(self.bounds),
            "guessed\nin": [str(bound.k_plus) for bound in self.bounds],
            "guessed\nout": [str(bound.k_minus) for bound in self.bounds],
            "right": [str(bound.correct) for bound in self.bounds],
        }
        caption = "Each bound holds for itself; the guesses that speak most"
        table = doc.TextTable.of(columns, caption)
        return doc.Document(
            f"leakscore audit: {' and '.join(file['name'] for file in seen.files)}",
            words.head(self.notices, said, *first),
            (
                doc.Section("Certified bounds, guesses counted at every size", [table]),
                words.holds(bound.assumptions),
                words.read(sections.read_of(seen, self.setting)),
            ),
        )

    def check(self) -> Check:
        """Return what other programs are told."""
        first = self.bounds[0]
        return Check(
            name=words.subject(self.claim),
            verdict=words.outcome(self.verdict, self.void),
            message=words.verdict(self.verdict, self.claim, void=self.void) or _head_of(self),
            properties={
                "epsilon": first.epsilon,
                "delta": first.delta,
                "confidence": self.confidence,
                "p_value": first.p_value,
                "canaries": first.canaries,
            },
        )


def judge_training(
    read: Read,
    *,
    deltas: Sequence[float],
    confidence: float,
    claim: Claim | None,
    setting: Setting,
    lower_is_member: bool | None,
) -> OneTraining:
    """Tell what the scores of canaries certify, each of which a fair coin put into one training.

    Parameters
    ----------
    read : Read
        From `read_scores`: a score and a membership for each canary.
    deltas : sequence of float
        Of the bounds, each of which holds for itself.
    confidence : float
        Of every bound.
    claim : Claim, optional
        An epsilon with its delta.
    setting : Setting
        What the file does not say.
    lower_is_member : bool, optional
        Whether small scores speak for a member.

    Returns
    -------
    OneTraining

    Raises
    ------
    ValueError
        If the scores cannot be judged or a parameter is out of its range.
    """
    data, name = read.data, read.files[0].name
    if not isinstance(data, Rounds):
        raise ValueError(
            f"{name} has no membership for each score: --one-run needs canaries, one a row, with "
            "their scores and whether they were in"
        )
    _require_one_target(read)
    if claim is not None and claim.epsilon is None:
        raise ValueError(
            "--one-run bounds no mu: claim an epsilon, or see leakscore.audit.one_run_fdp"
        )
    validation.count("seed", setting.seed, high=None)
    if lower_is_member is None:
        require_direction(read)
    scores = negated(data.scores) if lower_is_member else data.scores
    audit = Audit(scores[data.member], scores[~data.member])
    if not audit.constant:
        _require_coins(read, audit.n_members, audit.n_nonmembers, stated=setting.random_bits)
    void = words.why_none(constant=audit.constant, turned=audit.below_chance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of coins, which were looked at
        bounds = tuple(
            one_run(scores, data.member, k="all", delta=d, confidence=confidence, rng=setting.seed)
            for d in dict.fromkeys(deltas)
        )
    verdict, first = None, bounds[0]
    if claim is not None and claim.epsilon is not None:  # of the first delta
        most, claimed = first.max_certifiable, claim.epsilon
        verdict = ClaimVerdict.of(first.epsilon, most, claimed, void=bool(void))
    return OneTraining(
        input=input_of(read, audit, bool(lower_is_member)),
        setting=setting,
        claim=claim,
        verdict=verdict,
        confidence=confidence,
        bounds=bounds,
        void=void,
    )


def _require_one_target(read: Read) -> None:
    """Refuse the outputs of several trainings."""
    attack = read.attack
    if attack is not None and (attack.left_out or attack.targets > 1):
        raise ValueError(
            f"{read.files[0].name} holds {attack.targets} targets: --one-run needs observed (N,) "
            "and member (N,) of one training"
        )


def _require_coins(read: Read, members: int, nonmembers: int, *, stated: bool) -> None:
    """Refuse memberships that are no fair coins, as far as their numbers tell."""
    name, size = read.files[0].name, members + nonmembers
    for notice in words.no_fair_coins(members, nonmembers, "--one-run certifies nothing"):
        raise ValueError(f"{name}: {notice.message}")
    if read.attack is not None and read.in_each == members:
        raise ValueError(
            f"{name}: the target and all {read.attack.shadow_models} shadow models hold exactly "
            f"{members} of {size} records. No fair coins decided that, and --one-run "
            "certifies nothing"
        )
    if suspiciously_even(members, size) and not stated:
        raise ValueError(
            f"{name}: exactly half of {size} canaries are in. If that number was fixed, no "
            "fair coins decided, and --one-run certifies nothing; if each had a fair coin of its "
            "own, say --random-bits"
        )


def _head_of(training: OneTraining) -> str:
    bound = training.bounds[0]
    return words.bound_at(bound.epsilon, bound.delta, training.confidence)
