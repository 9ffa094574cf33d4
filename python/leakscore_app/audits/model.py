"""What an audit of a file certifies: frozen dataclasses of numbers and words, and their JSON.

The text, the page and the JSON all read the same `Certificates`.

The JSON (``schema_version`` 1; numbers in full precision; infinite ones are "inf" and "-inf", null
stands for what was not asked for or does not apply)
    tool, command, tool_version
        what made it
    input
        files (name and sha256 of each), format, form ("rounds": a score and a membership each;
        "samples": members beside non-members; "counts" between edges), writer (the program that
        writes such files), columns, dtype, members and nonmembers (how many),
        lower_is_member, notes, attack (null for a file of scores; of the outputs of shadow models:
        name, shadow_models and targets, how many, left_out, whether the targets are the shadow
        models, and tried, what "choose" saw of each, null for a named attack)
    setting
        what the file does not say: neighbours, threat_model, random_bits, seed (of the order of
        ties), threshold (one that was fixed beforehand, for the methods that take it)
    claim, verdict
        what was claimed, and "refuted", "consistent" or "cannot-tell", with the reason
    confidence, method, orientation
        of `bounds` and of the verdict; "both" gives each orientation half of what may go wrong
    bounds
        one entry a delta: every field of an `EpsilonBound` (its threshold is on the scale of the
        file; its assumptions are a sentence each), what the test flags, its errors and of how many,
        the formula that gives epsilon from the other fields (null for a method whose bound does not
        follow from those of the rates), and critical_values: the rule that gives `fpr_upper` and
        `fnr_upper` (rounded up), with its k, n and critical value for each, which miss with at most
        probability `miss`; null for a method without one, and k where a maximal inequality stands
        for the rule, in the middle of more than 200,000 scores
    mu
        the same for mu-GDP (a `MuBound`), by its own method where none was asked for, null if that
        one has no band: of every mechanism; that an epsilon follows from it needs a Gaussian curve
    methods
        the other methods on the same scores: bounds, or why there are none. The verdict does not
        use them: a method chosen by its result has no confidence
    roc
        auc, advantage, tpr_at_fpr: what is observed, which certifies nothing, and between which
        bounds the truth lies, all at once, at the confidence, by `method`
    notices
        level, code and message of what must be known to read the numbers
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from leakscore import validation
from leakscore.audit import EpsilonBound, MuBound, RocBand
from leakscore.audit.bands import BAND_METHODS, ENDS, band
from leakscore.typing import Doubles
from leakscore_app.audits.shadows import ShadowAttack

ONE_THRESHOLD = ("split", "credible")
"""Methods that look at one threshold: a given one, or the choice of one half of the scores."""

FORMULAS = {
    "forward": "epsilon = log((1 - delta - fnr_upper) / fpr_upper)",
    "reverse": "epsilon = log((1 - delta - fpr_upper) / fnr_upper)",
}
"""How the bound follows from its other fields, but for 0 and the last bits, rounded down."""


def percent(confidence: float) -> str:
    """Return a confidence in words."""
    return f"{100 * confidence:.12g}\u00a0%"


@dataclass(frozen=True)
class AuditInput:
    """What was read."""

    files: tuple[dict[str, str], ...]
    format: str
    form: str
    writer: str | None
    columns: dict[str, str]
    dtype: str
    members: int
    nonmembers: int
    lower_is_member: bool
    notes: tuple[str, ...]
    attack: ShadowAttack | None


@dataclass(frozen=True)
class Setting:
    """What the file does not say."""

    neighbours: str | None = None
    threat_model: str | None = None
    random_bits: bool = False
    seed: int = 0
    threshold: float | None = None


@dataclass(frozen=True)
class Claim:
    """What is claimed of the mechanism: (epsilon, delta)-differential privacy, or mu-GDP."""

    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        """Refuse no claim, and two."""
        stated = self.epsilon is not None, self.delta is not None, self.mu is not None
        if stated not in ((True, True, False), (False, False, True)):
            raise ValueError(f"{self} must be an epsilon with its delta, or a mu")
        for name in ("epsilon", "mu"):
            if (value := getattr(self, name)) is not None:
                validation.scalar(f"claimed {name}", value, 0.0)


@dataclass(frozen=True)
class ClaimVerdict:
    """What the scores say about the claim, and why.

    "refuted": the bound exceeds what is claimed. "cannot-tell": the bound of perfectly separated
    scores, as many of each kind, would not exceed it, or all scores are equal or reversed.
    "consistent": neither. The numbers are epsilons at the claimed delta, or mus.
    """

    verdict: str
    certified: float
    max_certifiable: float
    claimed: float

    @classmethod
    def of(cls, certified: float, most: float, claimed: float, *, void: bool) -> ClaimVerdict:
        """Judge by the bound and the largest that so many scores could have certified."""
        word = "refuted" if certified > claimed else "consistent"
        if word == "consistent" and (void or most <= claimed):
            word = "cannot-tell"
        return cls(word, certified, most, claimed)


@dataclass(frozen=True)
class MethodBounds:
    """The bounds of a method, one a delta, or why it has none here."""

    method: str
    bounds: tuple[EpsilonBound, ...]
    refused: str | None = None

    def at(self, delta: float) -> EpsilonBound:
        """Return the bound at a delta that was asked for."""
        return next(bound for bound in self.bounds if bound.delta == delta)


@dataclass(frozen=True)
class Rate:
    """What is observed, and bounds on the truth."""

    observed: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Shown:
    """What the scores show of the ROC curve; all bounds hold at once."""

    method: str
    auc: Rate
    advantage: Rate
    tpr_at_fpr: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True)
class AuditCurves:
    """Rates and what they certify at single thresholds, which descend on the audit's scale.

    Attributes
    ----------
    rates : RocBand
        At these thresholds.
    epsilon : ndarray
        What each threshold certifies by two bands, which is more than by the four of `rates`.
    """

    rates: RocBand
    epsilon: Doubles


@dataclass(frozen=True, eq=False)
class Certificates:
    """What the scores of a file certify; see `leakscore_app.audits.judge.Judgement`."""

    input: AuditInput
    setting: Setting
    claim: Claim | None
    verdict: ClaimVerdict | None
    confidence: float
    orientation: str
    bounds: MethodBounds
    mu: MuBound | None
    others: tuple[MethodBounds, ...]
    shown: Shown
    curves: AuditCurves
    void: str  # why the scores are no evidence, if they are none: a key of words.NO_EVIDENCE

    @property
    def method(self) -> str:
        """The method of the verdict."""
        return self.bounds.method

    @property
    def percent(self) -> str:
        """The confidence in words."""
        return percent(self.confidence)

    @property
    def deltas(self) -> tuple[float, ...]:
        """What the bounds are asked for at."""
        return tuple(float(bound.delta) for bound in self.bounds.bounds)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the confidence of the bounds to hold."""
        return self.bounds.bounds[0].assumptions

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices."""
        return {
            "input": self.input,
            "setting": self.setting,
            "claim": self.claim,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "method": self.method,
            "orientation": self.orientation,
            "bounds": [self._bound(bound) for bound in self.bounds.bounds],
            "mu": self.mu and self._test(self.mu),
            "methods": [
                {
                    "method": other.method,
                    "refused": other.refused,
                    "bounds": [self._bound(bound) for bound in other.bounds],
                }
                for other in self.others
            ],
            "roc": {
                "method": self.shown.method,
                "auc": self.shown.auc,
                "advantage": self.shown.advantage,
                "tpr_at_fpr": [{"fpr": fpr} | asdict(rate) for fpr, rate in self.shown.tpr_at_fpr],
            },
        }

    def _bound(self, bound: EpsilonBound) -> dict[str, Any]:
        formula = FORMULAS[str(bound.direction)] if self.by_rates(bound) else None
        return self._test(bound) | {"formula": formula}

    def _test(self, bound: EpsilonBound | MuBound) -> dict[str, Any]:
        fields = bound.to_dict()
        nonmembers, members = self.counted(bound)
        wrong, missed = round(fields["fpr"] * nonmembers), round(fields["fnr"] * members)
        values = critical_values(
            bound.method, (wrong, nonmembers), (missed, members), self._miss(bound)
        )
        return fields | {
            "threshold": self.threshold(bound),
            "flags": self.flags(bound),
            "false_positives": wrong,
            "nonmembers_counted": nonmembers,
            "false_negatives": missed,
            "members_counted": members,
            "critical_values": values,
        }

    def _miss(self, bound: EpsilonBound | MuBound) -> float:
        """Return the probability with which each bound on a rate may fail: equal shares."""
        chosen = bound.method in ONE_THRESHOLD and self.setting.threshold is None
        bounds = 4.0 if self.orientation == "both" and not chosen else 2.0
        return (1.0 - self.confidence) / bounds

    def by_rates(self, bound: EpsilonBound) -> bool:
        """Whether a bound follows from its bounds on the error rates, which not every one does."""
        rates = (float(bound.fnr_upper), float(bound.fpr_upper))
        over, under = rates if bound.direction == "forward" else rates[::-1]
        ratio = (1.0 - float(bound.delta) - over) / under
        return bound.epsilon == 0 or math.isclose(ratio, math.exp(bound.epsilon), rel_tol=1e-9)

    def counted(self, bound: EpsilonBound | MuBound) -> tuple[int, int]:
        """Return how many non-members and members the test of a bound was tried on."""
        sizes = (self.input.nonmembers, self.input.members)
        halved = bound.method in ONE_THRESHOLD and self.setting.threshold is None
        return (sizes[0] // 2, sizes[1] // 2) if halved else sizes

    def threshold(self, bound: EpsilonBound | MuBound) -> float:
        """Return the threshold of a bound on the scale of the file."""
        return -float(bound.threshold) if self.input.lower_is_member else float(bound.threshold)

    def flags(self, bound: EpsilonBound | MuBound, threshold: str = "threshold") -> str:
        """Say which scores of the file the test of a bound flags."""
        below = (
            isinstance(bound, EpsilonBound) and bound.orientation == "low"
        ) != self.input.lower_is_member
        above = ">=" if self.input.form == "counts" else ">"  # a bin holds its lower edge
        return f"score {'<' if below else above} {threshold}"


_BETA = "(1 - critical)-quantile of Beta(k + 1, n - k)"
_RULES = {
    **dict.fromkeys(("dkw", "dkw-two-sided", "ks"), "k/n + critical"),
    **dict.fromkeys(("bonferroni", "ell", "split"), _BETA),
    "weighted-ell": "(1 - critical / sqrt(k + 1))-quantile of Beta(k + 1, n - k)",
    "berk-jones": "largest u with n KL(k/n, u) <= critical",
}


def critical_values(
    method: str, fpr: tuple[int, int], fnr: tuple[int, int], miss: float
) -> dict[str, Any] | None:
    """Return the rule that bounds both rates, or None if the method has none.

    `fpr` and `fnr` are errors and scores, `miss` is the probability that each bound may fail with.
    k of the rule is the number of errors or, where not every count is constrained, the next one
    that is; None where a maximal inequality stands for the rule.
    """
    if method not in _RULES:
        return None
    return {
        "miss": miss,
        "rule": f"{_RULES[method]}, at most 1",
        "fpr": _critical(method, *fpr, miss),
        "fnr": _critical(method, *fnr, miss),
    }


def _critical(method: str, errors: int, size: int, miss: float) -> dict[str, Any]:
    critical, k = miss, errors
    if method in BAND_METHODS:
        limits = band(method, size, miss)
        critical = limits.critical
        if limits.knots.size:
            k = int(limits.knots[np.searchsorted(limits.knots, errors)])
    maximal = size > 2 * ENDS and method not in ("dkw", "dkw-two-sided", "ks", "split")
    return {
        "n": size,
        "k": None if maximal and ENDS <= k < size - ENDS else k,
        "critical": critical,
    }
