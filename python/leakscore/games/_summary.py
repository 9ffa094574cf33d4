"""What the scores of a simulated game measure, each number with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit import Audit
from leakscore.results import Result
from leakscore.typing import Doubles


@dataclass(frozen=True, eq=False)
class GameSummary(Result):
    """Measured performance of an attack in a game; made by `summarize`.

    Every name that ends in ``_se`` is the standard error of the number of that name.

    Attributes
    ----------
    n_members, n_nonmembers : int
        Rounds with the target in, and without it.
    threshold : float
        Scores above it were classified as members.
    fpr, fnr : float
        Type I and type II error at that threshold.
    accuracy, advantage : float
        ``1 - (fpr + fnr)/2`` (members and non-members have equal weight) and ``1 - fpr - fnr``.
    auc : float
        Area under the ROC curve, ties counted half.
    alpha : (k,) ndarray
        False positive rates at which the power is reported.
    power : (k,) ndarray
        Largest true positive rate at an observed false positive rate of at most alpha.
    member_mean, nonmember_mean, member_variance, nonmember_variance : float
        Moments of the scores; NaN, with their standard errors, where a score is infinite.

    Examples
    --------
    >>> result = summarize([0.5, -0.5, 2.0, -2.0], [True, True, True, False])
    >>> result.n_members, result.fnr, result.auc
    (3, 0.3333333333333333, 1.0)
    """

    n_members: int
    n_nonmembers: int
    threshold: float
    fpr: float
    fpr_se: float
    fnr: float
    fnr_se: float
    accuracy: float
    accuracy_se: float
    advantage: float
    advantage_se: float
    auc: float
    auc_se: float
    alpha: Doubles
    power: Doubles
    power_se: Doubles
    member_mean: float
    member_mean_se: float
    member_variance: float
    member_variance_se: float
    nonmember_mean: float
    nonmember_mean_se: float
    nonmember_variance: float
    nonmember_variance_se: float


def summarize(
    scores: npt.ArrayLike,
    member: npt.ArrayLike,
    *,
    threshold: float = 0.0,
    alpha: npt.ArrayLike = (0.01, 0.1),
) -> GameSummary:
    """Measure an attack from the scores of a game, with standard errors.

    Parameters
    ----------
    scores : (T,) array_like
        Larger means member; infinite scores are legal, NaN is not.
    member : (T,) array_like of bool or 0/1
        Whether the target was in. Both kinds of rounds must occur.
    threshold : float
        Decide member iff score > threshold. 0, the default, is the best one for a log-likelihood
        ratio. Choose it without these scores: the rates at their best threshold are too good.
    alpha : array_like
        False positive rates, in [0, 1], at which the power is reported.

    Returns
    -------
    GameSummary

    Raises
    ------
    ValueError
        If the lengths differ, a score is NaN, all rounds are of one kind, or `threshold` or `alpha`
        is out of range.

    Notes
    -----
    A rate p of T rounds has the standard error sqrt(p' (1 - p') / T) with p' = (k + 1)/(T + 2)
    instead of the observed k/T, so that it is not 0 where no error was seen. The error of the power
    adds that of the members to that of the threshold, which is estimated from the non-members:
    half the rise of the measured ROC curve between alpha -+ sqrt(alpha (1 - alpha)/T0). That of the
    area is DeLong, DeLong & Clarke-Pearson's (Biometrics 1988), which is 0 for scores without an
    overlap; that of a variance comes from the fourth moment. They describe a simulation. For what
    scores prove about a mechanism see `leakscore.audit.Audit.epsilon`.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import Reference, scores
    >>> from leakscore.games import EmpiricalMean, Gaussian, fixed_target, summarize
    >>> population, target = Gaussian(np.zeros(40), np.ones(40)), np.ones(40)
    >>> reference = Reference(np.zeros(40), np.ones(40))
    >>> attack = lambda means: scores.gaussian_llr(means, target, reference, 20)
    >>> score, member = fixed_target(population, target, EmpiricalMean(20), 4000, 1, score=attack)
    >>> result = summarize(score, member)
    >>> print(f"{result.advantage:.2f} +- {result.advantage_se:.2f}")  # theory: .53
    0.53 +- 0.01
    """
    sample = validation.sample("scores", scores)
    values = validation.scores("scores", sample, sample.size)
    is_member = validation.membership("member", member, values.size)
    cut = validation.scalar("threshold", threshold)
    levels = validation.interval("alpha", alpha, 0.0, 1.0).ravel()

    audit = Audit(values[is_member], values[~is_member])
    members, others = np.sort(values[is_member]), np.sort(values[~is_member])
    false_positives = _rate(int((others > cut).sum()), others.size)
    false_negatives = _rate(int((members <= cut).sum()), members.size)
    fpr, fnr = false_positives[0], false_negatives[0]
    combined = float(np.hypot(false_positives[1], false_negatives[1]))
    measured: dict[str, tuple[Any, Any]] = {
        "fpr": false_positives,
        "fnr": false_negatives,
        "accuracy": (1.0 - 0.5 * (fpr + fnr), 0.5 * combined),
        "advantage": (1.0 - fpr - fnr, combined),
        "auc": (audit.auc(), _auc_error(members, others)),
        "power": (np.asarray(audit.tpr_at(levels)), _power_errors(audit, levels)),
    }
    for name, values in (("member", members), ("nonmember", others)):
        measured[f"{name}_mean"], measured[f"{name}_variance"] = _moments(values)
    return GameSummary(
        n_members=members.size,
        n_nonmembers=others.size,
        threshold=cut,
        alpha=levels,
        **{name: number for name, (number, _) in measured.items()},
        **{f"{name}_se": error for name, (_, error) in measured.items()},
    )


def _rate(count: int, rounds: int) -> tuple[float, float]:
    """Return an observed rate and its standard error, never 0."""
    shrunk = (count + 1.0) / (rounds + 2.0)
    return count / rounds, float(np.sqrt(shrunk * (1.0 - shrunk) / rounds))


def _power_errors(audit: Audit, alpha: Doubles) -> Doubles:
    """Return the standard errors of the power, from the members' share and from the threshold."""
    power = np.asarray(audit.tpr_at(alpha))
    shrunk = (power * audit.n_members + 1.0) / (audit.n_members + 2.0)
    step = np.sqrt(alpha * (1.0 - alpha) / audit.n_nonmembers)
    high = audit.tpr_at(np.minimum(alpha + step, 1.0))
    low = audit.tpr_at(np.maximum(alpha - step, 0.0))
    share = shrunk * (1.0 - shrunk) / audit.n_members
    return np.asarray(np.sqrt(share + (0.5 * (high - low)) ** 2))


def _auc_error(members: Doubles, others: Doubles) -> float:
    """Return the standard error of the area, from each score's share of correctly ordered pairs."""
    ahead = share_below(members, others)
    behind = 1.0 - share_below(others, members)
    total = 0.0
    for shares in (ahead, behind):
        if shares.size == 1:
            return float("nan")  # one round has no information about the spread
        total += float(shares.var(ddof=1)) / shares.size
    return float(np.sqrt(total))


def share_below(values: Doubles, others: Doubles) -> Doubles:
    """Return the share of the others (sorted) below each value, ties counted half."""
    low = np.searchsorted(others, values, side="left")
    high = np.searchsorted(others, values, side="right")
    return np.asarray(0.5 * (low + high) / others.size)


def _moments(values: Doubles) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the mean and the variance of sorted scores, each with its standard error."""
    nan = float("nan")
    if values.size == 1 or not np.isfinite(values[[0, -1]]).all():
        single = values.size == 1 and np.isfinite(values[0])
        return (float(values[0]) if single else nan, nan), (nan, nan)
    # In units of a power of two, so that fourth powers of the largest do not overflow.
    largest = float(np.abs(values[[0, -1]]).max())
    unit = 2.0 ** max(int(np.frexp(largest)[1]) - 200, 0)
    values = values / unit
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    fourth = float(((values - mean) ** 4).mean())
    spread = max(fourth - variance**2, 0.0) / values.size
    square = unit * unit if unit < 2.0**500 else float("inf")

    def rescaled(number: float, times: float) -> float:
        return float(number * times) if number else number

    return (
        (rescaled(mean, unit), rescaled(float(np.sqrt(variance / values.size)), unit)),
        (rescaled(variance, square), rescaled(float(np.sqrt(spread)), square)),
    )
