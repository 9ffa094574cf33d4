"""The results of an audit of a file: frozen dataclasses of numbers and words, and their JSON.

The text, the page and the JSON are all written from the same `Certificates`.

The JSON (``schema_version`` 1; numbers in full precision; infinite ones are "inf" and "-inf"; null
is a value that was not requested or does not apply)
    tool, command, tool_version
        the program that wrote it
    input
        files (name and sha256 of each), format, form ("rounds": a score and a membership each;
        "samples": members beside non-members; "counts" between edges), writer (the program that
        writes such files), columns, dtype, members and nonmembers (how many),
        lower_is_member, notes, attack (null for a file of scores; for outputs of shadow models:
        name; shadow_models and targets: their numbers; left_out: whether the targets are the shadow
        models; tried: the rate of each attack that "choose" compared, null for a named attack)
    setting
        what the user stated and the file does not show: neighbours, threat_model, random_bits,
        seed (for the order of ties), threshold (fixed beforehand, for the methods that take one)
    claim, verdict
        the claim, and "refuted", "consistent" or "cannot-tell", with the reason
    confidence, method, orientation
        of `bounds` and of the verdict; "both" gives each orientation half of the error probability
    bounds
        one entry a delta: every field of an `EpsilonBound` (its threshold is on the scale of the
        file; its assumptions are a sentence each); which scores the test flags; its errors and the
        number of scores; the formula that gives epsilon from the other fields (null for a method
        whose bound does not follow from those of the rates); and critical_values: the rule that
        gives `fpr_upper` and `fnr_upper` (rounded up), with k, n and the critical value for each.
        Each bound fails with probability `miss` at most. critical_values is null for a method
        without a rule; k is null in the middle of more than 200,000 scores, where a maximal
        inequality replaces the rule
    mu
        the same for mu-GDP (a `MuBound`), by the default method of mu if the user chose none; null
        if the chosen method has no band. It holds for every mechanism; an epsilon follows from it
        only for a Gaussian curve
    methods
        the other methods on the same scores: bounds, or why there are none. The verdict does not
        use them: a method chosen by its result has no confidence
    roc
        auc, advantage, tpr_at_fpr: the observed value, which certifies nothing, and bounds on the
        true one. All bounds hold at once, at the confidence, by `method`
    notices
        level, code and message of each thing to know when reading the numbers
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
"""Methods that test one threshold: a given one, or one chosen on half of the scores."""

FORMULAS = {
    "forward": "epsilon = log((1 - delta - fnr_upper) / fpr_upper)",
    "reverse": "epsilon = log((1 - delta - fpr_upper) / fnr_upper)",
}
"""The bound from its other fields, up to the bound 0 and last bits, which are rounded down."""


def percent(confidence: float) -> str:
    """Return a confidence as a percentage."""
    return f"{100 * confidence:.12g}\u00a0%"


@dataclass(frozen=True)
class AuditInput:
    """The files of an audit, and what was read from them."""

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
    """What the user states about the rounds and the file does not show."""

    neighbours: str | None = None
    threat_model: str | None = None
    random_bits: bool = False
    seed: int = 0
    threshold: float | None = None


@dataclass(frozen=True)
class Claim:
    """A claim about the mechanism: (epsilon, delta)-differential privacy, or mu-GDP."""

    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        """Require exactly one claim."""
        stated = self.epsilon is not None, self.delta is not None, self.mu is not None
        if stated not in ((True, True, False), (False, False, True)):
            raise ValueError(f"{self} must be an epsilon with its delta, or a mu")
        for name in ("epsilon", "mu"):
            if (value := getattr(self, name)) is not None:
                validation.scalar(f"claimed {name}", value, 0.0)


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on the claim, and the numbers behind it.

    "refuted": the bound exceeds the claim. "cannot-tell": even perfectly separated scores, as many
    of each kind, would not exceed it, or all scores are equal or reversed. "consistent": otherwise.
    The numbers are epsilons at the claimed delta, or mus.
    """

    verdict: str
    certified: float
    max_certifiable: float
    claimed: float

    @classmethod
    def of(cls, certified: float, most: float, claimed: float, *, void: bool) -> ClaimVerdict:
        """Judge a claim by the bound and by the largest bound that so many scores could certify."""
        word = "refuted" if certified > claimed else "consistent"
        if word == "consistent" and (void or most <= claimed):
            word = "cannot-tell"
        return cls(word, certified, most, claimed)


@dataclass(frozen=True)
class MethodBounds:
    """The bounds of a method, one a delta, or the reason why it has none here."""

    method: str
    bounds: tuple[EpsilonBound, ...]
    refused: str | None = None

    def at(self, delta: float) -> EpsilonBound:
        """Return the bound at one of the deltas."""
        return next(bound for bound in self.bounds if bound.delta == delta)


@dataclass(frozen=True)
class Rate:
    """An observed rate, and bounds on the true one."""

    observed: float
    lower: float
    upper: float


@dataclass(frozen=True)
class RocSummary:
    """Numbers of the ROC curve; all bounds hold at once."""

    method: str
    auc: Rate
    advantage: Rate
    tpr_at_fpr: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True)
class AuditCurves:
    """Rates and bounds at single thresholds, which descend on the audit's scale.

    Attributes
    ----------
    rates : RocBand
        At these thresholds.
    epsilon : ndarray
        The bound at each threshold by two one-sided bands, which is above that by the four of
        `rates`.
    """

    rates: RocBand
    epsilon: Doubles


@dataclass(frozen=True, eq=False)
class Certificates:
    """The bounds and the verdict of a file; see `leakscore_app.audits.judge.Judgement`."""

    input: AuditInput
    setting: Setting
    claim: Claim | None
    verdict: ClaimVerdict | None
    confidence: float
    orientation: str
    bounds: MethodBounds
    mu: MuBound | None
    others: tuple[MethodBounds, ...]
    shown: RocSummary
    curves: AuditCurves
    void: str  # a key of words.NO_EVIDENCE if the scores are no evidence, otherwise ""

    @property
    def method(self) -> str:
        """The method that the verdict is based on."""
        return self.bounds.method

    @property
    def percent(self) -> str:
        """The confidence as a percentage."""
        return percent(self.confidence)

    @property
    def deltas(self) -> tuple[float, ...]:
        """The deltas of the bounds."""
        return tuple(float(bound.delta) for bound in self.bounds.bounds)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions behind the confidence of the bounds."""
        return self.bounds.bounds[0].assumptions

    def contents(self) -> dict[str, Any]:
        """Return the fields of the JSON besides envelope and notices."""
        return {
            "input": self.input,
            "setting": self.setting,
            "claim": self.claim,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "method": self.method,
            "orientation": self.orientation,
            "bounds": [self._bound_fields(bound) for bound in self.bounds.bounds],
            "mu": self.mu and self._test_fields(self.mu),
            "methods": [
                {
                    "method": other.method,
                    "refused": other.refused,
                    "bounds": [self._bound_fields(bound) for bound in other.bounds],
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

    def _bound_fields(self, bound: EpsilonBound) -> dict[str, Any]:
        formula = FORMULAS[str(bound.direction)] if self.by_rates(bound) else None
        return self._test_fields(bound) | {"formula": formula}

    def _test_fields(self, bound: EpsilonBound | MuBound) -> dict[str, Any]:
        fields = bound.to_dict()
        nonmembers, members = self.counted(bound)
        wrong, missed = round(fields["fpr"] * nonmembers), round(fields["fnr"] * members)
        values = critical_values(
            bound.method, (wrong, nonmembers), (missed, members), self._miss_probability(bound)
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

    def _miss_probability(self, bound: EpsilonBound | MuBound) -> float:
        """Return the probability that one bound on a rate fails: all have equal shares."""
        chosen = bound.method in ONE_THRESHOLD and self.setting.threshold is None
        bounds = 4.0 if self.orientation == "both" and not chosen else 2.0
        return (1.0 - self.confidence) / bounds

    def by_rates(self, bound: EpsilonBound) -> bool:
        """Whether epsilon follows from the bounds on the error rates, as for most methods."""
        rates = (float(bound.fnr_upper), float(bound.fpr_upper))
        above, below = rates if bound.direction == "forward" else rates[::-1]
        ratio = (1.0 - float(bound.delta) - above) / below
        return bound.epsilon == 0 or math.isclose(ratio, math.exp(bound.epsilon), rel_tol=1e-9)

    def counted(self, bound: EpsilonBound | MuBound) -> tuple[int, int]:
        """Return how many non-members and members the test of a bound counted."""
        sizes = (self.input.nonmembers, self.input.members)
        halved = bound.method in ONE_THRESHOLD and self.setting.threshold is None
        return (sizes[0] // 2, sizes[1] // 2) if halved else sizes

    def threshold(self, bound: EpsilonBound | MuBound) -> float:
        """Return the threshold of a bound on the scale of the file."""
        return -float(bound.threshold) if self.input.lower_is_member else float(bound.threshold)

    def flags(self, bound: EpsilonBound | MuBound, threshold: str = "threshold") -> str:
        """Return the rule by which the test of a bound flags scores of the file."""
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

    `fpr` and `fnr` are numbers of errors and of scores; `miss` is the probability that one bound
    fails. The rule's k is the number of errors, or the next constrained count if not every count is
    constrained, or None where a maximal inequality replaces the rule.
    """
    if method not in _RULES:
        return None
    return {
        "miss": miss,
        "rule": f"{_RULES[method]}, at most 1",
        "fpr": _critical_value(method, *fpr, miss),
        "fnr": _critical_value(method, *fnr, miss),
    }


def _critical_value(method: str, errors: int, size: int, miss: float) -> dict[str, Any]:
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
