"""From the scores of a file to what they certify: of independent rounds, or of one training."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit import Audit, EpsilonBound, MuBound, OneRunBound, RocBand, one_run
from leakscore.audit.bands import BAND_METHODS, band
from leakscore.audit.certified import EPSILON_METHODS
from leakscore.audit.training import suspiciously_even
from leakscore_app.audits import sections, words
from leakscore_app.audits.model import (
    ONE_THRESHOLD,
    AuditCurves,
    AuditInput,
    Certificates,
    Claim,
    ClaimVerdict,
    MethodBounds,
    Rate,
    Setting,
    Shown,
)
from leakscore_app.audits.scores import (
    BinCounts,
    Read,
    Rounds,
    Samples,
    read_scores,
    require_direction,
)
from leakscore_app.document import Check
from leakscore_app.document import document as doc
from leakscore_app.document.document import HIDDEN, Findings

_BAND = "weighted-ell"  # the default of what is about error rates: `Audit.band` and `Audit.mu`
_POINTS = 400  # of a chart
_RATES = (0.0, 0.0001, 0.001, 0.01, 0.1)
_OF_FILE = ("format", "writer", "columns", "dtype", "notes", "attack")
_FEW_ROUNDS = 1000  # "four-outcomes" takes .1 s for so many, and 3 s for the most that it takes
_SLOW = (
    f"slow for more than {_FEW_ROUNDS} rounds, and only tried when it is the method asked for: "
    "--method four-outcomes"
)


class Judgement(Certificates, Findings):
    """The findings of an audit of independent rounds."""

    command = "audit"

    @property
    def notices(self) -> tuple[doc.Notice, ...]:
        """What must be known to read the bounds, warnings first."""
        return words.notices_of(self)

    @property
    def doubts(self) -> Sequence[doc.Notice]:
        """Warnings that void or weaken the bound."""
        return [notice for notice in self.notices if notice.code in words.DOUBTS]

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        return sections.document(self, self.notices, self.doubts)

    def check(self) -> Check:
        """Return the verdict for other programs."""
        bound = self.bounds.bounds[0]
        return Check(
            name=words.subject(self.claim),
            verdict=words.outcome(self.verdict, self.void),
            message=sections.said_of_claim(self) or sections.heading(self),
            properties={
                "epsilon": float(bound.epsilon),
                "delta": float(bound.delta),
                "confidence": self.confidence,
                "method": self.method,
                "members": self.input.members,
                "nonmembers": self.input.nonmembers,
            },
        )


def audit_file(
    path: str,
    *,
    nonmembers: str | None = None,
    score: str | None = None,
    member: str | None = None,
    claim: Claim | None = None,
    setting: Setting | None = None,
    deltas: Sequence[float] = (1e-5,),
    confidence: float = 0.95,
    method: str | None = None,
    lower_is_member: bool | None = None,
) -> Judgement:
    r"""Tell what the scores in a file certify, as ``leakscore audit FILE`` does.

    Parameters
    ----------
    path : str
        JSON or any format of tables.
    nonmembers : str, optional
        A second file with the scores of the non-members; then the first holds those of the members.
    score, member : str, optional
        The columns; found by their names if not given.
    claim : Claim, optional
        What to hold against the scores.
    setting : Setting, optional
        What the file does not say.
    deltas : sequence of float
        Of the bounds. More of them cost no confidence.
    confidence : float
        Of every bound, each for itself.
    method : str, optional
        Of the bounds; that of `leakscore.audit.Audit.epsilon` by default.
    lower_is_member : bool, optional
        Whether small scores speak for a member; must be said of scores that are losses by name.

    Returns
    -------
    Judgement

    Raises
    ------
    ValueError
        If the file cannot be read without a guess, its scores cannot be judged, or a parameter is
        out of its range.
    ImportError
        If a library is missing that reads the format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import leakscore_app
    >>> rows = [f"{int(i < 500)},{i}" for i in range(1000)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scores.csv"
    ...     _ = path.write_text("\n".join(["member,score", *rows]))
    ...     found = leakscore_app.audit_file(str(path), lower_is_member=True)
    >>> round(found.bounds.bounds[0].epsilon, 2)
    5.05
    """
    read = read_scores(path, nonmembers=nonmembers, score=score, member=member)
    return judge(
        read,
        deltas=deltas,
        confidence=confidence,
        method=method,
        all_methods=False,
        claim=claim,
        setting=setting or Setting(),
        lower_is_member=lower_is_member,
    )


def _audit(read: Read, *, lower_is_member: bool, random_bits: bool, seed: int) -> Audit:
    """Return the audit of the scores that were read."""
    data = read.data
    if isinstance(data, Rounds):
        scores = _negated(data.scores) if lower_is_member else data.scores
        return Audit.from_rounds(scores, data.member, random_bits=random_bits, rng=seed)
    if random_bits:
        raise ValueError(
            f"{read.files[0].name} has no membership bit for each round: --random-bits needs the "
            "scores and the bits, round by round"
        )
    if isinstance(data, Samples):
        parts = (data.members, data.nonmembers)
        return Audit(*(map(_negated, parts) if lower_is_member else parts))
    counts = (data.edges, data.members, data.nonmembers)
    below, above = data.below, data.above
    if lower_is_member:
        counts = (_negated(data.edges)[::-1], data.members[::-1], data.nonmembers[::-1])
        below, above = above, below
    return Audit.from_counts(*counts, below=below, above=above)


def _negated(scores: Any) -> Any:
    """Return scores whose order is reversed."""
    checked = validation.sample("scores", scores)
    return -(checked if checked.dtype.kind == "f" else checked.astype(np.float64))


def judge(
    read: Read,
    *,
    deltas: Sequence[float] = (1e-5,),
    confidence: float = 0.95,
    method: str | None = None,
    orientation: str = "high",
    all_methods: bool = True,
    claim: Claim | None = None,
    setting: Setting,
    lower_is_member: bool | None = None,
) -> Judgement:
    """Tell what the scores of a file certify.

    Parameters
    ----------
    read : Read
        From `read_scores`.
    deltas : sequence of float
        Of the bounds. More of them cost no confidence.
    confidence : float
        Of every bound, each for itself.
    method : str, optional
        Of the verdict; that of `Audit.epsilon` by default.
    orientation : {"high", "both"}
        Whether tests that flag low scores are tried, too, at a price.
    all_methods : bool
        Whether the other methods are tried, too.
    claim : Claim, optional
        What to hold against the scores.
    setting : Setting
        What the file does not say.
    lower_is_member : bool, optional
        Whether small scores speak for a member. If it is not said, large ones do; but it must be of
        scores that are losses by their name, unless `orientation` tries both.

    Returns
    -------
    Judgement

    Raises
    ------
    ValueError
        If the scores cannot be judged or a parameter is out of its range.
    """
    validation.count("seed", setting.seed, high=None)
    for delta in deltas:
        validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    claimed = [] if claim is None or claim.delta is None else [claim.delta]
    deltas = tuple(dict.fromkeys([*deltas, *claimed]))
    if lower_is_member is None and orientation != "both":
        require_direction(read, "; --orientation both tries both at a price")
    lower_is_member = bool(lower_is_member)
    audit = _audit(
        read,
        lower_is_member=lower_is_member,
        random_bits=setting.random_bits,
        seed=setting.seed,
    )
    # A claimed mu needs a band; otherwise the default is that of `Audit.epsilon`.
    chosen = _BAND if method is None and claim is not None and claim.mu is not None else method
    bounds_by = _Bounds(audit, read, setting, deltas, confidence, orientation, lower_is_member)
    bounds = bounds_by(chosen, setting.threshold is not None)
    others = _others(bounds_by, bounds.method) if all_methods else ()
    of_rates = bounds.method if bounds.method in BAND_METHODS else _BAND
    whole = audit.band(confidence, of_rates)
    mu = None
    if chosen is None or chosen in BAND_METHODS:
        mu = audit.mu(confidence, of_rates, orientation=orientation)
    void = words.why_none(
        constant=audit.constant,
        turned=orientation != "both" and audit.below_chance,
    )
    return Judgement(
        input=_input(read, audit, lower_is_member),
        setting=setting,
        claim=claim,
        verdict=None if claim is None else _verdict(claim, bounds, mu, bool(void)),
        confidence=confidence,
        orientation=orientation,
        bounds=bounds,
        mu=mu,
        others=others,
        shown=_shown(audit, whole),
        curves=_curves(audit, whole, deltas[0]),
        void=void,
    )


def _input(read: Read, audit: Audit, lower_is_member: bool) -> AuditInput:
    """Return what was read, and how many scores it holds."""
    return AuditInput(
        files=tuple({"name": file.name, "sha256": file.sha256} for file in read.files),
        form=read.data.form,
        members=audit.n_members,
        nonmembers=audit.n_nonmembers,
        lower_is_member=lower_is_member,
        **{name: getattr(read, name) for name in _OF_FILE},
    )


def _shown(audit: Audit, whole: RocBand) -> Shown:
    """Return what is observed and certain, at rates that as many non-members can show."""
    rates = [rate for rate in _RATES if rate == 0 or rate * audit.n_nonmembers >= 1]
    lower, upper = whole.tpr_at(rates)
    columns = zip(rates, audit.tpr_at(rates).tolist(), lower.tolist(), upper.tolist(), strict=True)
    return Shown(
        method=whole.method,
        auc=Rate(audit.auc(), *whole.auc()),
        advantage=Rate(audit.advantage(), *whole.advantage()),
        tpr_at_fpr=tuple((rate, Rate(*values)) for rate, *values in columns),
    )


def _curves(audit: Audit, whole: RocBand, delta: float) -> AuditCurves:
    """Return some hundred points of the ROC curve of an audit."""
    rows = _spread(whole.thresholds.size)
    every = {field.name: getattr(whole, field.name) for field in fields(whole)}
    part: dict[str, Any] = {
        name: rate[rows] for name, rate in every.items() if isinstance(rate, np.ndarray)
    }
    # Of the thresholds between two rows the upper bounds are the last one's at most.
    part["tpr_upper"] = whole.tpr_upper[np.append(rows[1:] - 1, rows[-1])]
    miss = (1.0 - whole.confidence) / 2.0
    above = np.rint(part["fpr"] * audit.n_nonmembers).astype(np.int64)
    missed = audit.n_members - np.rint(part["tpr"] * audit.n_members).astype(np.int64)
    fpr_upper = band(whole.method, audit.n_nonmembers, miss)(above)
    fnr_upper = band(whole.method, audit.n_members, miss)(missed)
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(1.0 - delta - fnr_upper, 0.0) / fpr_upper)
        reverse = np.log(np.maximum(1.0 - delta - fpr_upper, 0.0) / fnr_upper)
    epsilon = np.maximum(np.maximum(forward, reverse), 0.0)
    return AuditCurves(replace(whole, **part), epsilon)


def _spread(size: int) -> npt.NDArray[np.intp]:
    """Return indices that are dense at both ends, where logarithmic axes are wide."""
    steps = np.geomspace(1, size, _POINTS).astype(np.intp) - 1
    even = np.linspace(0, size - 1, _POINTS).astype(np.intp)
    return np.unique(np.concatenate([steps, size - 1 - steps, even]))


def _each(bound: EpsilonBound) -> tuple[EpsilonBound, ...]:
    """Return the bounds of an array of deltas one by one, or that of one delta."""
    if not isinstance(bound.epsilon, np.ndarray):
        return (bound,)
    columns = {
        field.name: value.tolist()
        for field in fields(bound)
        if isinstance(value := getattr(bound, field.name), np.ndarray)
    }
    rows = zip(*columns.values(), strict=True)
    return tuple(replace(bound, **dict(zip(columns, row, strict=True))) for row in rows)


@dataclass(frozen=True)
class _Bounds:
    """The bounds of a method on the scores of a file."""

    audit: Audit
    read: Read
    setting: Setting
    deltas: Sequence[float]
    confidence: float
    orientation: str
    lower_is_member: bool

    def __call__(self, method: str | None, at_threshold: bool = False) -> MethodBounds:
        """Return the bounds; `at_threshold`: at the given one, which not every method takes."""
        delta = self.deltas[0] if len(self.deltas) == 1 else self.deltas
        name = self.read.files[0].name
        threshold = self.setting.threshold
        if method == "sorted-bits" and not self.setting.random_bits:
            raise ValueError(f"{method} needs memberships that were fair coins: --random-bits")
        if method in ONE_THRESHOLD and threshold is None and _is_sorted(self.read):
            raise ValueError(
                f"{method} needs rows in an order that tells nothing, but {name} is sorted by score"
            )
        options: dict[str, Any] = {"orientation": self.orientation}
        if threshold is not None and (at_threshold or method in ONE_THRESHOLD):
            turn = self.lower_is_member and method in ONE_THRESHOLD  # others refuse it as it is
            options["threshold"] = -threshold if turn else threshold
        bounds = self.audit.epsilon(delta, self.confidence, method, **options)
        return MethodBounds(bounds.method, _each(bounds))


def _others(bounds_by: _Bounds, chosen: str) -> tuple[MethodBounds, ...]:
    """Try every other method; one that does not suit these scores says why."""
    others = []
    rounds = bounds_by.audit.n_members + bounds_by.audit.n_nonmembers
    for method in EPSILON_METHODS:
        if method == chosen:
            continue
        if method == "four-outcomes" and rounds > _FEW_ROUNDS:
            others.append(MethodBounds(method, (), _SLOW))
            continue
        try:
            others.append(bounds_by(method))
        except ValueError as error:
            others.append(MethodBounds(method, (), str(error)))
    return tuple(others)


def _is_sorted(read: Read) -> bool:
    """Whether the scores of a class are in order, which no chance brings about."""
    data = read.data
    if isinstance(data, BinCounts):
        return False
    if isinstance(data, Rounds):
        data = Samples(data.scores[data.member], data.scores[~data.member])
    for scores in (data.members, data.nonmembers):
        rises, falls = scores[1:] >= scores[:-1], scores[1:] <= scores[:-1]
        if scores.size > 20 and scores.min() < scores.max() and (rises.all() or falls.all()):
            return True
    return False


def _verdict(claim: Claim, bounds: MethodBounds, mu: MuBound | None, void: bool) -> ClaimVerdict:
    if claim.epsilon is not None and claim.delta is not None:
        bound = bounds.at(claim.delta)
        certified, cap, claimed = float(bound.epsilon), float(bound.max_certifiable), claim.epsilon
    elif claim.mu is not None and mu is not None:
        certified, cap, claimed = mu.mu, mu.max_certifiable, claim.mu
    else:
        raise ValueError(
            f"method {bounds.method!r} bounds no mu; a claimed mu needs one of "
            f"{', '.join(BAND_METHODS)}"
        )
    return ClaimVerdict.of(certified, cap, claimed, void=void)


# --- one training with many canaries -------------------------------------------------------------


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
        """Return the verdict for other programs."""
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
    scores = _negated(data.scores) if lower_is_member else data.scores
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
        input=_input(read, audit, bool(lower_is_member)),
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
