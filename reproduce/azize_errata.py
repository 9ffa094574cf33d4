"""Corrections of formulas of Azize & Basu: each beside the printed formula, and the evidence.

Every row is a number that can be measured without the formula in question: in a simulated game, or
from an exact law. It must agree with our formula, and must not agree with the printed one.
`docs/explanation/errata.md` explains each row. Papers: "How Much Does Each Datapoint Leak Your
Privacy?" (2024) and its later version "Some Targets Are Harder to Identify than Others".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference, leakage, scores, tradeoff, whitebox
from leakscore.distributions import ncx2, norm
from leakscore.games import Bernoulli, EmpiricalMean, GameSummary, Gaussian, fixed_target, summarize
from reproduce._outcome import STANDARD_ERRORS, Erratum, Outcome

Doubles = npt.NDArray[np.float64]
Score = Callable[[Doubles], Any]

TITLE = "Azize & Basu, errata: measured, beside our formula (theory) and the printed one"
BAR = 0.3  # height of the bars of the figure


def reproduce(*, rounds: int = 20_000, seed: int = 1) -> Outcome:
    """Measure every row; each has its own generator."""
    children = np.random.default_rng(seed).spawn(len(_ROWS))
    rows = tuple(row(rounds, rng) for row, rng in zip(_ROWS, children, strict=True))
    return Outcome(TITLE, rounds, seed, rows, {})


def draw(outcome: Outcome, path: Path) -> None:
    """Draw measured, ours and printed, in units of ours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.55 * len(outcome.rows) + 1.2), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(outcome.rows))[::-1]
    scale = np.array([row.theory for row in outcome.rows])
    measured = np.array([row.measured for row in outcome.rows]) / scale
    ours = np.ones(place.size)
    printed = np.array([row.printed for row in outcome.rows if isinstance(row, Erratum)]) / scale
    limit = 2.5
    axes.barh(place + BAR / 2, ours, BAR, color="C0", label="corrected formula")
    axes.barh(place - BAR / 2, np.clip(printed, -limit, limit), BAR, color="C3", label="as printed")
    axes.axvline(1.0, color="black", lw=1, ls=":")
    error = np.array([row.tolerance for row in outcome.rows]) / np.abs(scale)
    axes.errorbar(measured, place, xerr=error, fmt=".", color="black", label="measured, 4 s.e.")
    axes.set_yticks(place, [row.name for row in outcome.rows], fontsize=8)
    axes.set(xlabel="in units of our formula (cut at 2.5)", title="Azize & Basu, errata")
    axes.legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=150)


# --- the rows ------------------------------------------------------------------------------------


def _row(name: str, measured: Any, ours: Any, printed: Any, error: Any) -> Erratum:
    return Erratum(
        name, float(measured), float(ours), STANDARD_ERRORS * float(error), float(printed)
    )


def played(
    population: Gaussian | Bernoulli,
    target: Doubles,
    mechanism: EmpiricalMean,
    rounds: int,
    rng: np.random.Generator,
    score: Score,
    threshold: float = 0.0,
) -> GameSummary:
    """Play as many rounds with the target as without, and sum up the scores."""
    values, member = fixed_target(
        population, target, mechanism, 2 * rounds, rng, score=score, balanced=True
    )
    return summarize(values, member, threshold=threshold)


def measured_leakage(result: GameSummary) -> tuple[float, float]:
    """Return (difference of the means)^2 / variance, and its standard error."""
    shift = result.member_mean - result.nonmember_mean
    variance = 0.5 * (result.member_variance + result.nonmember_variance)
    means = np.hypot(result.member_mean_se, result.nonmember_mean_se) / shift
    spread = 0.5 * np.hypot(result.member_variance_se, result.nonmember_variance_se) / variance
    measured = shift**2 / variance
    return measured, float(measured * np.hypot(2.0 * means, spread))


def _edgeworth(rounds: int, rng: np.random.Generator) -> Erratum:
    """Compare the second-order term of the expansion with the exact likelihood ratio."""
    del rounds, rng
    n, p = 10**8, 0.2
    mean = p + 2.0 * np.sqrt(p * (1 - p) / n)
    sd = np.sqrt(p * (1 - p))
    a, d, skewness = (1 - p) / sd, np.sqrt(n) * (mean - p) / sd, (1 - 2 * p) / sd
    reference = Reference([p], [p * (1 - p)])
    first = a * d / np.sqrt(n)
    exact = n * (scores.bernoulli_llr([mean], [1.0], [p]) - first)
    kurtosis = (1 - 6 * p * (1 - p)) / (p * (1 - p))
    ours = n * (scores.edgeworth_llr([mean], [1.0], reference, n, [skewness], [kurtosis]) - first)
    printed = ours - 5 * skewness * a * (d**2 - 1) / 2
    # The exact ratio also has a third-order term, here 21 / sqrt n.
    return _row("Edgeworth: second-order term, n = 1e8", exact, ours, printed, 10 / np.sqrt(n))


def _centring(rounds: int, rng: np.random.Generator) -> Erratum:
    """Measure the leakage that the score with the covariance about the mean reaches."""
    n, p = 100, rng.uniform(0.25, 0.75, 500)
    z = (p <= 0.5).astype(np.float64)
    reference = Reference(p, p * (1 - p))
    result = played(
        Bernoulli(p),
        z,
        EmpiricalMean(n),
        rounds,
        rng,
        lambda means: scores.covariance_score(means, z, reference, n),
    )
    weights = (z - p) / p  # the second moment of a Bernoulli is p
    reached = ((z - p) @ weights) ** 2 / (n * (weights**2) @ (p * (1 - p)))
    measured, error = measured_leakage(result)
    return _row(
        "centred covariance: leakage of the attack",
        measured,
        leakage.leakage_score(z, reference, n),
        reached,
        error,
    )


def _subsampling(rounds: int, rng: np.random.Generator) -> Erratum:
    """Measure the advantage on the mean of a tenth of the records."""
    n, d, rate = 100, 400, 0.1
    z = np.full(d, 1.4)
    reference = Reference(np.zeros(d), np.ones(d))
    m = float(leakage.leakage_score(z, reference, n))
    result = played(
        Gaussian(np.zeros(d), np.ones(d)),
        z,
        EmpiricalMean(n, sample_rate=rate),
        rounds,
        rng,
        lambda means: scores.covariance_score(means, z, reference, round(rate * n)),
    )
    return _row(
        "sub-sampling a tenth: advantage",
        result.advantage,
        tradeoff.subsampled_mean(m, rate).advantage(),
        tradeoff.gaussian(leakage=rate * m).advantage(),
        result.advantage_se,
    )


def _noise(rounds: int, rng: np.random.Generator) -> Erratum:
    """Measure the leakage left by equal noise on columns of unequal variance."""
    n, variance = 50, np.repeat([0.1, 1.0, 10.0], 40)
    z = 1.5 * np.sqrt(variance)
    reference = Reference(np.zeros(z.size), variance)
    std = 1 / np.sqrt(n)  # the papers' gamma is 1
    result = played(
        Gaussian(np.zeros(z.size), variance),
        z,
        EmpiricalMean(n, noise_std=std),
        rounds,
        rng,
        lambda means: scores.covariance_score(means, z, reference, n, noise_std=std),
    )
    plain = leakage.leakage_score(z, reference, n)
    measured, error = measured_leakage(result)
    return _row(
        "noise on unequal columns: leakage",
        measured,
        leakage.leakage_score(z, reference, n, noise_std=std),
        plain * variance.mean() / (variance.mean() + 1),
        error,
    )


def _gradient_sign(rounds: int, rng: np.random.Generator) -> Erratum:
    """Attack one step of descent, (theta_t - theta_{t+1}) / eta."""
    d, batch, eta, rounds = 20, 32, 0.1, min(rounds, 20_000)
    z = np.full(d, 1.2)
    reference = Reference(np.zeros(d), np.ones(d))
    member = np.arange(rounds) % 2 == 0
    others = np.where(member, batch - 1, batch)
    gradient = rng.standard_normal((rounds, d)) * np.sqrt(others)[:, np.newaxis] / batch
    gradient[member] += z / batch
    # One long path: each step is a round, attacked by itself.
    path = np.concatenate([np.zeros((1, d)), -eta * np.cumsum(gradient, axis=0)])
    values = whitebox.covariance_attack(path, np.tile(z, (rounds, 1)), reference, eta, batch)
    result = summarize(values, member)
    m = z @ z / batch
    # The covariance score of a member has the variance m (1 - 1/n).
    ours = norm.cdf(np.sqrt(m / (2 - 1 / batch)))
    return _row("sign of the step's gradient: AUC", result.auc, ours, 1 - ours, result.auc_se)


def _z_estimator(rounds: int, rng: np.random.Generator) -> Erratum:
    """Attack a mean as a Z-estimator, psi(theta, x) = x - theta, whose V is -1."""
    n, variance = 200, np.geomspace(0.05, 20.0, 300)
    z = 1.2 * np.sqrt(variance)
    result = played(
        Gaussian(np.zeros(z.size), variance),
        z,
        EmpiricalMean(n),
        rounds,
        rng,
        lambda means: scores.z_estimator_llr(means, z, np.diag(variance), np.zeros(z.size), n),
    )
    m = float(leakage.leakage_score(z, Reference(np.zeros(z.size), variance), n))
    reached = (z @ z) ** 2 / (n * (z**2) @ variance)  # of the score z'V^-1 x
    return _row(
        "Z-estimator, metric of the influence: AUC",
        result.auc,
        norm.cdf(np.sqrt(m / (2 - 1 / n))),
        norm.cdf(np.sqrt(reached / 2)),
        result.auc_se,
    )


def _glir(rounds: int, rng: np.random.Generator) -> Erratum:
    """Measure how often the p-value of a non-member is below 5 %."""
    n, d = 8, 30
    z = np.full(d, 0.8)
    means = rng.standard_normal((rounds, d)) / np.sqrt(n)
    p = np.exp(-scores.glir(means, z, Reference(np.zeros(d), np.ones(d)), n))
    # With the prefactor n - 1: S (n - 1)/n below the quantile.
    quantile = ncx2.ppf(0.05, d, n * z @ z)
    printed = ncx2.cdf(quantile * n / (n - 1), d, n * z @ z)
    error = np.sqrt(0.05 * 0.95 / rounds)
    return _row("GLiR: p-values below 5 %", np.mean(p < 0.05), 0.05, printed, error)


def _threshold(rounds: int, rng: np.random.Generator) -> Erratum:
    """Measure the level of the threshold at 5 %."""
    n, d = 100, 50
    z = np.full(d, 1.5)
    reference = Reference(np.zeros(d), np.ones(d))
    m = float(leakage.leakage_score(z, reference, n))
    result = played(
        Gaussian(np.zeros(d), np.ones(d)),
        z,
        EmpiricalMean(n),
        rounds,
        rng,
        lambda means: scores.covariance_score(means, z, reference, n),
        threshold=float(scores.oracle_threshold(0.05, m)),
    )
    printed = norm.sf(norm.isf(0.05) + np.sqrt(m))  # +m/2 for -m/2
    return _row("threshold at 5 %: Type I error", result.fpr, 0.05, printed, result.fpr_se)


def _misspecified(rounds: int, rng: np.random.Generator) -> Erratum:
    """Attack a neighbour of the target at the right threshold."""
    n, d = 400, 400
    attacked, z = np.full(d, 2.0), np.full(d, 1.0)
    reference = Reference(np.zeros(d), np.ones(d))
    own = float(leakage.leakage_score(attacked, reference, n))
    shared = float(leakage.cross_leakage(attacked, z, reference, n))
    result = played(
        Gaussian(np.zeros(d), np.ones(d)),
        z,
        EmpiricalMean(n),
        rounds,
        rng,
        lambda means: scores.covariance_score(means, attacked, reference, n),
        threshold=(shared - own) / 2,
    )
    root = np.sqrt(own)
    printed = norm.sf((own / 2 - shared) / root) - norm.sf(own / 2 / root)  # at the threshold 0
    ours = tradeoff.misspecified(own, shared).advantage()
    return _row(
        "misspecified target: advantage", result.advantage, ours, printed, result.advantage_se
    )


def _scalar_product(rounds: int, rng: np.random.Generator) -> Erratum:
    """Measure the leakage that a scalar product against a drawn record reaches."""
    n, d = 100, 500
    z, drawn = np.ones(d), rng.standard_normal(d)
    result = played(
        Gaussian(np.zeros(d), np.ones(d)),
        z,
        EmpiricalMean(n),
        rounds,
        rng,
        lambda means: scores.scalar_product(means, z, drawn),
    )
    weights = z - drawn
    exact = (z @ weights) ** 2 / (n * weights @ weights)
    measured, error = measured_leakage(result)
    return _row("scalar product: leakage reached", measured, exact, z @ z / n, error)


def _finite_n(rounds: int, rng: np.random.Generator) -> Erratum:
    """Measure the advantage against the mean of 20 Gaussian records."""
    n, d = 20, 100
    z = np.ones(d)
    reference = Reference(np.zeros(d), np.ones(d))
    rounds *= 5  # the difference is .012
    result = played(
        Gaussian(np.zeros(d), np.ones(d)),
        z,
        EmpiricalMean(n),
        rounds,
        rng,
        lambda means: scores.gaussian_llr(means, z, reference, n),
    )
    return _row(
        "20 records: advantage",
        result.advantage,
        tradeoff.gaussian_mean(z @ z, n, d).advantage(),
        tradeoff.gaussian(leakage=z @ z / n).advantage(),
        result.advantage_se,
    )


def _reference_bias(rounds: int, rng: np.random.Generator) -> Erratum:
    """Measure the mean score of non-members with 100 fresh references for every round."""
    n, n0, d = 100, 100, 400
    z = np.ones(d)
    rounds = min(rounds, 20_000)
    mu0 = rng.standard_normal((rounds, d)) / np.sqrt(n0)
    mean = rng.standard_normal((rounds, d)) / np.sqrt(n)
    away = z - mu0
    score = np.einsum("ij,ij->i", away, mean - mu0) - np.einsum("ij,ij->i", away, away) / (2 * n)
    m = z @ z / n
    ours = d / n0 * (1 - 1 / (2 * n)) - m / 2
    error = score.std() / np.sqrt(rounds)
    return _row("100 references: mean score under H0", score.mean(), ours, -m / 2, error)


_ROWS = (
    _edgeworth,
    _centring,
    _subsampling,
    _noise,
    _gradient_sign,
    _z_estimator,
    _glir,
    _threshold,
    _misspecified,
    _scalar_product,
    _finite_n,
    _reference_bias,
)
