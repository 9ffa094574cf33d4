"""Figure 1 and Table 1 of Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024).

Figure 1 draws the angle theta between the target and the record that the attacker takes for it;
here the attack is played. With the target's leakage m, the advantage is that of leakage
m cos^2(theta) and does not depend on the length of the attacker's record. It is reached at the
threshold (m_scal - m_targ)/2, below which the attacker accuses if cos(theta) < 0; at the threshold
0 of a likelihood ratio it is smaller, and for obtuse angles negative.

Table 1 lists a leakage score for four settings. Each is played. The first row holds. The second
holds if noise and variance are in proportion, in all coordinates. The third does not: a record is
in the sample for all coordinates at once, and the advantage is at most the sampling rate. The
fourth lists the scalar product m_scal = m cos(theta), which enters the advantage of theorem 4.5 as
m_scal^2/m_targ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference, leakage, scores, tradeoff
from leakscore.games import EmpiricalMean, Gaussian
from leakscore.games import fixed_target as play
from reproduce._outcome import STANDARD_ERRORS, Erratum, Outcome, Row
from reproduce.azize_errata import measured_leakage, played

Doubles = npt.NDArray[np.float64]

N, M = 1000, 4.0  # records averaged, leakage of the target
ANGLES = (0, 30, 60, 90, 120, 150)
LEVEL, RATE, KAPPA, UNEQUAL = 0.1, 0.3, 1.0, (0.1, 1.0, 10.0)
TABLE = ("empirical mean", "Gaussian noise", "sub-sampling", "similar point")
TITLE = "Azize & Basu (2024), Figure 1 and Table 1: misspecified targets, and leakage by setting"
_REFERENCE = Reference(np.zeros(2), np.ones(2))


def reproduce(*, rounds: int = 40_000, seed: int = 1) -> Outcome:
    """Play every angle and every setting."""
    rng = np.random.default_rng(seed)
    rows = [row for angle in ANGLES for row in _angle(angle, 1.0, rounds, rng)]
    rows += _angle(60, 2.0, rounds, rng)
    table = _table(rounds, rng)
    notes = (
        "printed, advantage at threshold 0: as if 0 were the best threshold (theorem 4.5)",
        "Table 1, printed: the leakage score, or the advantage that follows from it",
    )
    return Outcome(TITLE, rounds, seed, (*rows, *table), {}, notes)


# --- figure 1 ------------------------------------------------------------------------------------


def _records(angle: float, length: float) -> tuple[Doubles, Doubles]:
    """Return the target and the attacker's record at an angle, in two dimensions."""
    size, turn = np.sqrt(N * M), np.deg2rad(angle)
    return np.array([size, 0.0]), length * size * np.array([np.cos(turn), np.sin(turn)])


def _angle(angle: float, length: float, rounds: int, rng: np.random.Generator) -> list[Row]:
    """Compare the laws of the score, the advantage at two thresholds, and a power."""
    z, taken = _records(angle, length)
    own = float(leakage.leakage_score(taken, _REFERENCE, N))
    shared = float(leakage.cross_leakage(taken, z, _REFERENCE, N))
    values, member = play(
        Gaussian(np.zeros(2), np.ones(2)),
        z,
        EmpiricalMean(N),
        2 * rounds,
        rng,
        score=lambda means: scores.covariance_score(means, taken, _REFERENCE, N),
        balanced=True,
    )
    inside, outside = values[member], values[~member]
    name = f"angle {angle:g}" if length == 1.0 else f"angle {angle:g}, twice as long"
    rows: list[Row] = []
    for word, found, mean in (("H0", outside, -own / 2), ("H1", inside, shared - own / 2)):
        error = STANDARD_ERRORS * np.sqrt(own / rounds)
        rows.append(Row(f"{name}: mean, {word}", float(found.mean()), mean, float(error)))
    sign = -1.0 if shared < -1e-9 * own else 1.0
    best = tradeoff.misspecified(own, shared)
    cut = 0.5 * (shared - own)
    rows.append(
        _advantage(
            f"{name}: advantage", sign * inside, sign * outside, sign * cut, best.advantage()
        )
    )
    rows.append(_at_zero(name, inside, outside, own, shared, float(best.advantage())))
    threshold = sign * (-own / 2) - np.sqrt(own) * _quantile()
    rows.append(
        _share(f"{name}: power at {LEVEL:g}", sign * inside > threshold, float(best.power(LEVEL)))
    )
    return rows


def _quantile() -> float:
    from leakscore.distributions import norm

    return float(norm.ppf(LEVEL))


def _advantage(name: str, inside: Doubles, outside: Doubles, cut: float, theory: Any) -> Row:
    caught, accused = (inside > cut).mean(), (outside > cut).mean()
    variance = caught * (1.0 - caught) + accused * (1.0 - accused)
    error = STANDARD_ERRORS * np.sqrt(max(variance, 1.0 / inside.size) / inside.size)
    return Row(name, float(caught - accused), float(theory), float(error))


def _share(name: str, said: npt.NDArray[np.bool_], theory: float) -> Row:
    error = STANDARD_ERRORS * np.sqrt(theory * (1.0 - theory) / said.size)
    return Row(name, float(said.mean()), theory, float(error))


def _at_zero(
    name: str, inside: Doubles, outside: Doubles, own: float, shared: float, best: float
) -> Row:
    """Return the advantage at the threshold 0, which the theorem takes for the best one."""
    from leakscore.distributions import norm

    root = np.sqrt(own)
    theory = norm.sf((own / 2 - shared) / root) - norm.sf(own / 2 / root)
    row = _advantage(f"{name}: advantage at threshold 0", inside, outside, 0.0, theory)
    if row.tolerance < 0.6 * abs(row.theory - best):
        return Erratum(row.name, row.measured, row.theory, row.tolerance, best)
    return row


# --- table 1 -------------------------------------------------------------------------------------


def _table(rounds: int, rng: np.random.Generator) -> list[Row]:
    """Measure the leakage of all settings of the table; of sub-sampling the advantage."""
    wide = Gaussian(np.zeros(2), np.ones(2))
    z, similar = _records(60, 1.0)
    std = np.sqrt(KAPPA / N)
    return [
        _measured(TABLE[0], (wide, z, EmpiricalMean(N), z, _REFERENCE, 0.0), M, M, rounds, rng),
        _measured(
            f"{TABLE[1]}, in proportion",
            (wide, z, EmpiricalMean(N, noise_std=std), z, _REFERENCE, std),
            M / (1.0 + KAPPA),
            M / (1.0 + KAPPA),
            rounds,
            rng,
        ),
        _unequal(std, rounds, rng),
        _sampled(z, rounds, rng),
        _measured(
            f"{TABLE[3]}, 60 degrees",
            (wide, z, EmpiricalMean(N), similar, _REFERENCE, 0.0),
            M / 4.0,
            M / 2.0,
            rounds,
            rng,
        ),
    ]


def _measured(
    name: str, game: Any, theory: float, printed: float, rounds: int, rng: np.random.Generator
) -> Row:
    """Measure the leakage of an attack: the squared shift of its score over its variance."""
    population, z, mechanism, taken, reference, std = game
    found = played(
        population,
        z,
        mechanism,
        rounds,
        rng,
        lambda means: scores.covariance_score(means, taken, reference, N, noise_std=std),
    )
    measured, error = measured_leakage(found)
    fields = f"Table 1, {name}", measured, theory, STANDARD_ERRORS * error
    return Row(*fields) if theory == printed else Erratum(*fields, printed)


def _unequal(std: float, rounds: int, rng: np.random.Generator) -> Row:
    """Measure equal noise on unequal columns; printed: the formula with the mean variance."""
    variance = np.array(UNEQUAL)
    z = np.sqrt(N * M * variance / variance.size)
    reference = Reference(np.zeros(variance.size), variance)
    game = Gaussian(np.zeros(variance.size), variance), z, EmpiricalMean(N, noise_std=std)
    theory = float(leakage.leakage_score(z, reference, N, noise_std=std))
    printed = M * variance.mean() / (variance.mean() + KAPPA)
    name = f"{TABLE[1]}, unequal columns"
    return _measured(name, (*game, z, reference, std), theory, float(printed), rounds, rng)


def _sampled(z: Doubles, rounds: int, rng: np.random.Generator) -> Row:
    """Measure the advantage on the mean of a sample."""
    found = played(
        Gaussian(np.zeros(2), np.ones(2)),
        z,
        EmpiricalMean(N, sample_rate=RATE),
        rounds,
        rng,
        lambda means: scores.covariance_score(means, z, _REFERENCE, round(RATE * N)),
    )
    return Erratum(
        f"Table 1, {TABLE[2]}, rho = {RATE:g}: advantage",
        found.advantage,
        float(tradeoff.subsampled_mean(M, RATE).advantage()),
        STANDARD_ERRORS * found.advantage_se,
        float(tradeoff.gaussian(leakage=RATE * M).advantage()),
    )


# --- the drawing ---------------------------------------------------------------------------------


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the records at their angles, the advantage against the angle, and the table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.5, 4.6), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    rows = {row.name: row for row in outcome.rows}
    first.annotate("", (1.0, 0.0), (0.0, 0.0), arrowprops={"color": "C3", "arrowstyle": "->"})
    first.text(1.02, 0.0, "target", color="C3", va="center")
    for angle in ANGLES[1:]:
        x, y = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        first.annotate("", (x, y), (0.0, 0.0), arrowprops={"color": "C0", "arrowstyle": "->"})
        advantage = rows[f"angle {angle:g}: advantage"].measured
        first.text(1.05 * x, 1.05 * y, f"{advantage:.2f}", ha="center", color="C0")
    first.set(title="attacker's record, and its advantage", xlim=(-1.3, 1.5), ylim=(-0.2, 1.3))
    first.set_aspect("equal")
    fine = np.linspace(0, 180, 181)
    exact = [
        float(tradeoff.misspecified(M, M * np.cos(np.deg2rad(angle))).advantage()) for angle in fine
    ]
    second.plot(fine, exact, color="C0", label="best threshold")
    for name, colour in (("advantage", "C0"), ("advantage at threshold 0", "C1")):
        found = [rows[f"angle {angle:g}: {name}"] for angle in ANGLES]
        second.plot(ANGLES, [row.measured for row in found], "o", color=colour, ms=5)
        if colour == "C1":
            label = "threshold 0"
            second.plot(ANGLES, [row.theory for row in found], ":", color=colour, label=label)
    second.axhline(0, color="0.8", lw=0.8)
    second.set(title=f"advantage, m = {M:g}", xlabel="angle, degrees", ylabel="advantage")
    second.legend(fontsize=8)
    _draw_table(third, [row for row in outcome.rows if row.name.startswith("Table 1, ")])
    figure.suptitle(outcome.title, fontsize=11)
    figure.savefig(path, dpi=150)


def _draw_table(axes: Any, rows: list[Row]) -> None:
    cells = [
        [
            row.name.removeprefix("Table 1, "),
            f"{row.measured:.3f}",
            f"{row.theory:.3f}",
            f"{row.printed if isinstance(row, Erratum) else row.theory:.3f}",
        ]
        for row in rows
    ]
    axes.axis("off")
    table = axes.table(
        cells, colLabels=["setting", "measured", "theory", "printed"], loc="center", cellLoc="left"
    )
    table.auto_set_font_size(False)
    table.set_fontsize(7.5)
    table.auto_set_column_width(range(4))
    axes.set(title="Table 1: leakage, each setting played")
