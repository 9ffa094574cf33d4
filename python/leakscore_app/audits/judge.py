"""Bounds and verdicts from the scores of a file: of independent rounds, or of one training."""

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
    RocSummary,
    Setting,
)
from leakscore_app.audits.scores import (
    BinCounts,
    LoadedScores,
    Rounds,
    Samples,
    read_scores,
    require_direction,
)
from leakscore_app.document import Check
from leakscore_app.document import document as doc
from leakscore_app.document.document import HIDDEN, Findings

_BAND = "weighted-ell"  # the default of `Audit.band` and `Audit.mu`
_POINTS = 400  # a curve of a chart
_RATES = (0.0, 0.0001, 0.001, 0.01, 0.1)
_FILE_FIELDS = ("format", "writer", "columns", "dtype", "notes", "attack")
_FEW_ROUNDS = 1000  # "four-outcomes" takes 0.1 s for these, and 3 s for its maximum of rounds
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
            name=words.check_name(self.claim),
            verdict=words.outcome(self.verdict, self.void),
            message=sections.claim_line(self) or sections.bound_heading(self),
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
    r"""Bound epsilon by the scores in a file, as ``leakscore audit FILE`` does.

    Parameters
    ----------
    path : str
        JSON or any format of tables.
    nonmembers : str, optional
        A second file with the non-members' scores; the first then holds the members'.
    score, member : str, optional
        The columns; chosen by their names if not given.
    claim : Claim, optional
        The claim to test.
    setting : Setting, optional
        What the file does not show.
    deltas : sequence of float
        Deltas of the bounds. More of them cost no confidence.
    confidence : float
        Of each bound by itself.
    method : str, optional
        Method of the bounds; by default that of `leakscore.audit.Audit.epsilon`.
    lower_is_member : bool, optional
        Whether small scores mean a member; required for scores that are losses by name.

    Returns
    -------
    Judgement

    Raises
    ------
    ValueError
        If the file cannot be read without a guess, its scores cannot be judged, or a parameter is
        out of its range.
    ImportError
        If the library that reads the format is missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import leakscore_app
    >>> rows = [f"{int(i < 500)},{i}" for i in range(1000)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scores.csv"
    ...     _ = path.write_text("\n".join(["member,score", *rows]))
    ...     result = leakscore_app.audit_file(str(path), lower_is_member=True)
    >>> round(result.bounds.bounds[0].epsilon, 2)
    5.05
    """
    loaded = read_scores(path, nonmembers=nonmembers, score=score, member=member)
    return judge(
        loaded,
        deltas=deltas,
        confidence=confidence,
        method=method,
        all_methods=False,
        claim=claim,
        setting=setting or Setting(),
        lower_is_member=lower_is_member,
    )


def _audit(loaded: LoadedScores, *, lower_is_member: bool, random_bits: bool, seed: int) -> Audit:
    """Return the audit of the scores of a file."""
    data = loaded.data
    if isinstance(data, Rounds):
        scores = _negate(data.scores) if lower_is_member else data.scores
        return Audit.from_rounds(scores, data.member, random_bits=random_bits, rng=seed)
    if random_bits:
        raise ValueError(
            f"{loaded.files[0].name} has no membership bit for each round: --random-bits needs the "
            "scores and the bits, round by round"
        )
    if isinstance(data, Samples):
        parts = (data.members, data.nonmembers)
        return Audit(*(map(_negate, parts) if lower_is_member else parts))
    counts = (data.edges, data.members, data.nonmembers)
    below, above = data.below, data.above
    if lower_is_member:
        counts = (_negate(data.edges)[::-1], data.members[::-1], data.nonmembers[::-1])
        below, above = above, below
    return Audit.from_counts(*counts, below=below, above=above)


def _negate(scores: Any) -> Any:
    """Return scores in reversed order."""
    checked = validation.sample("scores", scores)
    return -(checked if checked.dtype.kind == "f" else checked.astype(np.float64))


def judge(
    loaded: LoadedScores,
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
    """Bound epsilon and judge a claim by the scores of a file.

    Parameters
    ----------
    loaded : LoadedScores
        From `read_scores`.
    deltas : sequence of float
        Deltas of the bounds. More of them cost no confidence.
    confidence : float
        Of each bound by itself.
    method : str, optional
        Method of the verdict; by default that of `Audit.epsilon`.
    orientation : {"high", "both"}
        "both" tries tests that flag low scores, too, which costs confidence.
    all_methods : bool
        Whether to try the other methods, too.
    claim : Claim, optional
        The claim to test.
    setting : Setting
        What the file does not show.
    lower_is_member : bool, optional
        Whether small scores mean a member; by default large ones do. Required for scores that are
        losses by name, unless `orientation` is "both".

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
        require_direction(loaded, "; --orientation both tries both at a price")
    lower_is_member = bool(lower_is_member)
    audit = _audit(
        loaded,
        lower_is_member=lower_is_member,
        random_bits=setting.random_bits,
        seed=setting.seed,
    )
    # A claimed mu needs a band; otherwise the default is that of `Audit.epsilon`.
    chosen = _BAND if method is None and claim is not None and claim.mu is not None else method
    bounds_of = _Bounds(audit, loaded, setting, deltas, confidence, orientation, lower_is_member)
    bounds = bounds_of(chosen, setting.threshold is not None)
    others = _other_bounds(bounds_of, bounds.method) if all_methods else ()
    band_method = bounds.method if bounds.method in BAND_METHODS else _BAND
    roc_band = audit.band(confidence, band_method)
    mu = None
    if chosen is None or chosen in BAND_METHODS:
        mu = audit.mu(confidence, band_method, orientation=orientation)
    void = words.no_evidence_key(
        constant=audit.constant,
        below_chance=orientation != "both" and audit.below_chance,
    )
    return Judgement(
        input=_audit_input(loaded, audit, lower_is_member),
        setting=setting,
        claim=claim,
        verdict=None if claim is None else _verdict(claim, bounds, mu, bool(void)),
        confidence=confidence,
        orientation=orientation,
        bounds=bounds,
        mu=mu,
        others=others,
        shown=_roc_summary(audit, roc_band),
        curves=_curves(audit, roc_band, deltas[0]),
        void=void,
    )


def _audit_input(loaded: LoadedScores, audit: Audit, lower_is_member: bool) -> AuditInput:
    """Return the files and what was read from them, with the numbers of scores."""
    return AuditInput(
        files=tuple({"name": file.name, "sha256": file.sha256} for file in loaded.files),
        form=loaded.data.form,
        members=audit.n_members,
        nonmembers=audit.n_nonmembers,
        lower_is_member=lower_is_member,
        **{name: getattr(loaded, name) for name in _FILE_FIELDS},
    )


def _roc_summary(audit: Audit, roc_band: RocBand) -> RocSummary:
    """Return observed values and bounds, at false-positive rates that the non-members resolve."""
    rates = [rate for rate in _RATES if rate == 0 or rate * audit.n_nonmembers >= 1]
    lower, upper = roc_band.tpr_at(rates)
    columns = zip(rates, audit.tpr_at(rates).tolist(), lower.tolist(), upper.tolist(), strict=True)
    return RocSummary(
        method=roc_band.method,
        auc=Rate(audit.auc(), *roc_band.auc()),
        advantage=Rate(audit.advantage(), *roc_band.advantage()),
        tpr_at_fpr=tuple((rate, Rate(*values)) for rate, *values in columns),
    )


def _curves(audit: Audit, roc_band: RocBand, delta: float) -> AuditCurves:
    """Return a few hundred points of the ROC band, with the epsilon of each threshold."""
    rows = _chart_rows(roc_band.thresholds.size)
    every = {field.name: getattr(roc_band, field.name) for field in fields(roc_band)}
    part: dict[str, Any] = {
        name: rate[rows] for name, rate in every.items() if isinstance(rate, np.ndarray)
    }
    # Between two rows the upper bound is at most that of the last threshold before the second row.
    part["tpr_upper"] = roc_band.tpr_upper[np.append(rows[1:] - 1, rows[-1])]
    miss = (1.0 - roc_band.confidence) / 2.0
    above = np.rint(part["fpr"] * audit.n_nonmembers).astype(np.int64)
    missed = audit.n_members - np.rint(part["tpr"] * audit.n_members).astype(np.int64)
    fpr_upper = band(roc_band.method, audit.n_nonmembers, miss)(above)
    fnr_upper = band(roc_band.method, audit.n_members, miss)(missed)
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(1.0 - delta - fnr_upper, 0.0) / fpr_upper)
        reverse = np.log(np.maximum(1.0 - delta - fpr_upper, 0.0) / fnr_upper)
    epsilon = np.maximum(np.maximum(forward, reverse), 0.0)
    return AuditCurves(replace(roc_band, **part), epsilon)


def _chart_rows(size: int) -> npt.NDArray[np.intp]:
    """Return row indices, dense at both ends, where logarithmic axes are wide."""
    steps = np.geomspace(1, size, _POINTS).astype(np.intp) - 1
    even = np.linspace(0, size - 1, _POINTS).astype(np.intp)
    return np.unique(np.concatenate([steps, size - 1 - steps, even]))


def _split_deltas(bound: EpsilonBound) -> tuple[EpsilonBound, ...]:
    """Return one bound for each delta."""
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
    """Computes the bounds of a method on the scores of a file."""

    audit: Audit
    loaded: LoadedScores
    setting: Setting
    deltas: Sequence[float]
    confidence: float
    orientation: str
    lower_is_member: bool

    def __call__(self, method: str | None, at_threshold: bool = False) -> MethodBounds:
        """Return the bounds; `at_threshold` uses the given threshold or refuses the method."""
        delta = self.deltas[0] if len(self.deltas) == 1 else self.deltas
        name = self.loaded.files[0].name
        threshold = self.setting.threshold
        if method == "sorted-bits" and not self.setting.random_bits:
            raise ValueError(f"{method} needs memberships that were fair coins: --random-bits")
        if method in ONE_THRESHOLD and threshold is None and _is_sorted(self.loaded):
            raise ValueError(
                f"{method} needs rows in an order that tells nothing, but {name} is sorted by score"
            )
        options: dict[str, Any] = {"orientation": self.orientation}
        if threshold is not None and (at_threshold or method in ONE_THRESHOLD):
            # Other methods refuse the threshold and name it: it keeps the sign that the user gave.
            negate = self.lower_is_member and method in ONE_THRESHOLD
            options["threshold"] = -threshold if negate else threshold
        bounds = self.audit.epsilon(delta, self.confidence, method, **options)
        return MethodBounds(bounds.method, _split_deltas(bounds))


def _other_bounds(bounds_of: _Bounds, chosen: str) -> tuple[MethodBounds, ...]:
    """Return the bounds of every other method, or the reason why it has none."""
    others = []
    rounds = bounds_of.audit.n_members + bounds_of.audit.n_nonmembers
    for method in EPSILON_METHODS:
        if method == chosen:
            continue
        if method == "four-outcomes" and rounds > _FEW_ROUNDS:
            others.append(MethodBounds(method, (), _SLOW))
            continue
        try:
            others.append(bounds_of(method))
        except ValueError as error:
            others.append(MethodBounds(method, (), str(error)))
    return tuple(others)


def _is_sorted(loaded: LoadedScores) -> bool:
    """Whether the scores of members or of non-members are sorted."""
    data = loaded.data
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
    """The bounds and the verdict of an audit of one training with many canaries.

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
        return tuple(words.no_evidence_notices(self.void))

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        bound, source = self.bounds[0], self.input
        most = words.certifiable_limit(bound.epsilon, bound.max_certifiable)
        lead = (
            f"One training with {bound.canaries} canaries, {source.members} of them "
            f"in; even if all guesses were right, this many {most}"
        )
        first = (doc.Heading(_bound_at(self)), doc.Paragraph(lead, "lead"))
        verdict = words.verdict_line(self.verdict, self.claim, void=self.void)
        columns = {
            **sections.bounds_columns(self.bounds),
            "guessed\nin": [str(bound.k_plus) for bound in self.bounds],
            "guessed\nout": [str(bound.k_minus) for bound in self.bounds],
            "right": [str(bound.correct) for bound in self.bounds],
        }
        caption = "Each bound holds for itself; the guesses that speak most"
        table = doc.TextTable.of(columns, caption)
        return doc.Document(
            f"leakscore audit: {' and '.join(file['name'] for file in source.files)}",
            words.head(self.notices, verdict, *first),
            (
                doc.Section("Certified bounds, guesses counted at every size", [table]),
                words.assumptions_section(bound.assumptions),
                words.input_section(sections.input_facts(source, self.setting)),
            ),
        )

    def check(self) -> Check:
        """Return the verdict for other programs."""
        first = self.bounds[0]
        return Check(
            name=words.check_name(self.claim),
            verdict=words.outcome(self.verdict, self.void),
            message=words.verdict_line(self.verdict, self.claim, void=self.void) or _bound_at(self),
            properties={
                "epsilon": first.epsilon,
                "delta": first.delta,
                "confidence": self.confidence,
                "p_value": first.p_value,
                "canaries": first.canaries,
            },
        )


def judge_training(
    loaded: LoadedScores,
    *,
    deltas: Sequence[float],
    confidence: float,
    claim: Claim | None,
    setting: Setting,
    lower_is_member: bool | None,
) -> OneTraining:
    """Bound the epsilon of one training by its canaries' scores; fair coins put canaries in.

    Parameters
    ----------
    loaded : LoadedScores
        From `read_scores`: a score and a membership for each canary.
    deltas : sequence of float
        Deltas of the bounds.
    confidence : float
        Of each bound by itself.
    claim : Claim, optional
        An epsilon with its delta.
    setting : Setting
        What the file does not show.
    lower_is_member : bool, optional
        Whether small scores mean a member.

    Returns
    -------
    OneTraining

    Raises
    ------
    ValueError
        If the scores cannot be judged or a parameter is out of its range.
    """
    data, name = loaded.data, loaded.files[0].name
    if not isinstance(data, Rounds):
        raise ValueError(
            f"{name} has no membership for each score: --one-run needs canaries, one a row, with "
            "their scores and whether they were in"
        )
    _require_one_target(loaded)
    if claim is not None and claim.epsilon is None:
        raise ValueError(
            "--one-run bounds no mu: claim an epsilon, or see leakscore.audit.one_run_fdp"
        )
    validation.count("seed", setting.seed, high=None)
    if lower_is_member is None:
        require_direction(loaded)
    scores = _negate(data.scores) if lower_is_member else data.scores
    audit = Audit(scores[data.member], scores[~data.member])
    if not audit.constant:
        _require_coins(loaded, audit.n_members, audit.n_nonmembers, stated=setting.random_bits)
    void = words.no_evidence_key(constant=audit.constant, below_chance=audit.below_chance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on coins: `_require_coins` has checked them
        bounds = tuple(
            one_run(scores, data.member, k="all", delta=d, confidence=confidence, rng=setting.seed)
            for d in dict.fromkeys(deltas)
        )
    verdict, first = None, bounds[0]
    if claim is not None and claim.epsilon is not None:  # its delta is the first one
        most, claimed = first.max_certifiable, claim.epsilon
        verdict = ClaimVerdict.of(first.epsilon, most, claimed, void=bool(void))
    return OneTraining(
        input=_audit_input(loaded, audit, bool(lower_is_member)),
        setting=setting,
        claim=claim,
        verdict=verdict,
        confidence=confidence,
        bounds=bounds,
        void=void,
    )


def _require_one_target(loaded: LoadedScores) -> None:
    """Refuse the outputs of several trainings."""
    attack = loaded.attack
    if attack is not None and (attack.left_out or attack.targets > 1):
        raise ValueError(
            f"{loaded.files[0].name} holds {attack.targets} targets: --one-run needs observed (N,) "
            "and member (N,) of one training"
        )


def _require_coins(loaded: LoadedScores, members: int, nonmembers: int, *, stated: bool) -> None:
    """Refuse memberships whose numbers show that no fair coins decided them."""
    name, size = loaded.files[0].name, members + nonmembers
    for notice in words.no_fair_coins(members, nonmembers, "--one-run certifies nothing"):
        raise ValueError(f"{name}: {notice.message}")
    if loaded.attack is not None and loaded.model_size == members:
        raise ValueError(
            f"{name}: the target and all {loaded.attack.shadow_models} shadow models hold exactly "
            f"{members} of {size} records. No fair coins decided that, and --one-run "
            "certifies nothing"
        )
    if suspiciously_even(members, size) and not stated:
        raise ValueError(
            f"{name}: exactly half of {size} canaries are in. If that number was fixed, no "
            "fair coins decided, and --one-run certifies nothing; if each had a fair coin of its "
            "own, say --random-bits"
        )


def _bound_at(training: OneTraining) -> str:
    bound = training.bounds[0]
    return words.bound_at(bound.epsilon, bound.delta, training.confidence)
