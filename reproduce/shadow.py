"""Attacks with shadow models on real data, beside the law that needs none.

Logistic regressions on digits, Wisconsin and Fashion-MNIST; targets are trained apart, shadow
models on complementary halves. AUC, and true-positive rates at false-positive rates of 1 % and
.1 %, are means over targets and over disjoint sets of shadow models; their spread over sets is
beside them.

The choice between scores is also tried where it was not developed: on other data, with other
models. What comes of it is told, not checked.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import shadow
from reproduce._outcome import AtLeast, Outcome, Row
from reproduce._shadow_models import Setting, Trained, settings, train

__all__ = ["attacked", "draw", "reproduce"]

Doubles = npt.NDArray[np.float64]

TITLE = "Shadow models on real data: attacks, their number of models, and the law by leverage"
SIZES, MOST_SETS = (4, 16, 64, 256), 8
RATES = (0.01, 0.001)
ATTACKS = {
    "LiRA": lambda x, t, inside: shadow.lira(x, t, inside, location="median"),
    "bayes": shadow.bayes,
    "base": shadow.base,
    "one step": shadow.one_step,
    "paired": shadow.paired,
}
# AUC, and rates in percent, of an independent run: on other samples of these data.
PUBLISHED = {
    ("digits", 4, "bayes"): (0.579, 3.9, 1.7),
    ("digits", 4, "base"): (0.624, 6.5, 3.0),
    ("digits", 4, "one step"): (0.631, 7.5, 3.2),
    ("digits", 256, "bayes"): (0.629, 7.7, 4.1),
    ("digits", 256, "base"): (0.629, 7.3, 3.5),
    ("digits", 256, "one step"): (0.635, 7.6, 3.7),
    ("Wisconsin", 256, "base"): (0.547, 3.3, None),
    ("Wisconsin", 256, "one step"): (0.549, 3.2, None),
    ("Wisconsin", 0, "law"): (0.550, 3.7, None),
}
_ERRORS = {"digits": (0.002, 0.15, 0.2), "Wisconsin": (0.002, 0.1, 0.1)}  # over targets


@dataclass(frozen=True)
class Cell:
    """AUC and rates in percent: means, errors over targets, spread over sets of models."""

    means: Doubles
    errors: Doubles
    spread: Doubles
    sets: int

    @classmethod
    def of(cls, found: list[Doubles]) -> Cell:
        """Sum up (targets, 3) of each set."""
        every = np.array(found)
        by_set = every.mean(axis=1)
        error = every.mean(axis=0).std(axis=0, ddof=1) / np.sqrt(every.shape[1])
        spread = by_set.std(axis=0, ddof=1) if len(found) > 1 else np.zeros(3)
        return cls(by_set.mean(axis=0), error, spread, len(found))

    def __str__(self) -> str:
        auc, *rates = self.means
        spread = "" if self.sets == 1 else f"  (sets: {self.spread[0]:.3f} {self.spread[1]:.1f})"
        return f"{auc:.3f} {rates[0]:5.1f} {rates[1]:5.1f}{spread}"


def reproduce(*, rounds: int = 64, seed: int = 1, data: tuple[Path, ...] = ()) -> Outcome:
    """Train, attack and compare; `rounds` targets of each of the two small regressions."""
    rows: list[Row] = []
    notes: list[str] = []
    curves: dict[str, Any] = {}
    for setting in settings():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fits that end before they have converged
            trained = train(setting, data, min(1.0, rounds / 64), seed)
        cells = attacked(trained)
        if setting.ridge is not None:
            add_predictions(setting, trained, cells, curves)
        notes += printed_lines(setting, cells)
        rows += comparison_rows(setting, cells)
        if not setting.held_out:
            curves[setting.name] = cells
            curves[f"{setting.name}, scores"] = _pooled(trained)
    for name in ("digits", "Wisconsin", "Fashion"):
        correlation, floor = curves[f"{name}, law"][2], 0.97
        rows.append(AtLeast(f"{name}: rank correlation of the law's mean", correlation, floor, 0.0))
    unit = "targets of digits and of Wisconsin; others in proportion"
    return Outcome(TITLE, rounds, seed, tuple(rows), curves, tuple(notes), unit)


def measures(scores: Doubles, members: npt.NDArray[np.bool_]) -> Doubles:
    """Return AUC and rates in percent of each target, (S, 3)."""
    found = np.empty((len(scores), 1 + len(RATES)))
    for row, (score, inside) in enumerate(zip(scores, members, strict=True)):
        out, ours = np.sort(score[~inside]), score[inside]
        places = (np.searchsorted(out, ours, side) for side in ("left", "right"))
        found[row, 0] = sum(float(place.mean()) for place in places) / (2.0 * out.size)
        for column, rate in enumerate(RATES, 1):
            found[row, column] = 100.0 * (ours > out[-1 - int(rate * out.size)]).mean()
    return found


def attacked(trained: Trained, sizes: tuple[int, ...] = SIZES) -> dict[tuple[int, str], Cell]:
    """Attack with disjoint sets of shadow models of each size."""
    cells: dict[tuple[int, str], Cell] = {}
    models = len(trained.signals)
    for size in (size for size in sizes if size <= models):
        found: dict[str, list[Doubles]] = {}
        for first in range(0, min(models // size, MOST_SETS) * size, size):
            part = slice(first, first + size)
            scores = _scores(trained.observed, trained.signals[part], trained.included[part])
            for name, score in scores.items():
                found.setdefault(name, []).append(measures(score, trained.members))
        cells |= {(size, name): Cell.of(values) for name, values in found.items()}
    return cells


def _scores(observed: Doubles, signals: Doubles, included: Any) -> dict[str, Doubles]:
    """Return the scores of every attack that these models allow, and of the chosen one."""
    found = {}
    for name, attack in ATTACKS.items():
        try:
            found[name] = attack(observed, signals, included)
        except ValueError:  # too few models, or signals that do not vary
            continue
    chosen, _ = shadow.choose(signals, included)
    return found | {"choose": found[chosen.replace("_", " ")]}


def _pooled(trained: Trained) -> dict[str, tuple[Doubles, Doubles]]:
    """Return scores of members and non-members with all shadow models, for a ROC."""
    scores = _scores(trained.observed, trained.signals, trained.included)
    return {
        name: (score[trained.members], score[~trained.members]) for name, score in scores.items()
    }


def add_predictions(
    setting: Setting, trained: Trained, cells: dict[tuple[int, str], Cell], curves: dict[str, Any]
) -> None:
    """Score by the law that needs no shadow model, and compare it with what they show."""
    X = np.column_stack([trained.X, np.ones(trained.y.size)])
    penalty = np.append(np.full(trained.X.shape[1], setting.ridge), 0.0)
    law = shadow.logistic_law(X, trained.y, train_fraction=0.5, ridge=penalty)
    cells[0, "law"] = Cell.of([measures(law.score(trained.observed), trained.members)])
    inside = np.ma.masked_array(trained.signals, ~trained.included)
    out = np.ma.masked_array(trained.signals, trained.included)
    mean, sd = out.mean(axis=0).data, out.std(axis=0, ddof=1).data
    shift = (inside.mean(axis=0).data - mean) / sd
    ranks = (_ranked(mean, law.mean), _ranked(sd, np.sqrt(law.variance)), _ranked(shift, law.shift))
    ratio = float(np.median(np.sqrt(law.variance) / sd))
    curves[f"{setting.name}, law"] = (shift, law.shift, ranks[0], (*ranks, ratio))


def _ranked(x: Doubles, y: Doubles) -> float:
    first, second = (np.argsort(np.argsort(z)).astype(np.float64) for z in (x, y))
    return float(np.corrcoef(first, second)[0, 1])


def printed_lines(setting: Setting, cells: dict[tuple[int, str], Cell]) -> list[str]:
    """Return the table of one setting: AUC, rates at 1 % and .1 %, spread over sets."""
    kind = ", not developed on" if setting.held_out else ""
    lines = [f"{setting.name}{kind}: AUC, true-positive % at 1 % and at .1 %"]
    for (size, name), cell in cells.items():
        models = f"{size} models" if size else "no model"
        lines.append(f"  {models:>10s}  {name:9s} {cell}")
    return lines


def comparison_rows(setting: Setting, cells: dict[tuple[int, str], Cell]) -> list[Row]:
    """Return the numbers that an independent run gives too, within the errors of both."""
    rows: list[Row] = []
    for (name, size, attack), values in PUBLISHED.items():
        if name != setting.name or (size, attack) not in cells:
            continue
        cell = cells[size, attack]
        label = f"{name}, {size or 'no'} models, {attack}"
        kinds = ("AUC", "% at 1 %", "% at .1 %")
        for place, (kind, value) in enumerate(zip(kinds, values, strict=True)):
            if value is None:
                continue
            theirs = _ERRORS[name][place]
            once = cell.spread[place] * np.sqrt(1.0 + 1.0 / cell.sets)
            error = float(np.sqrt(theirs**2 + cell.errors[place] ** 2 + once**2))
            rows.append(Row(f"{label}: {kind}", float(cell.means[place]), value, 4.0 * error))
    return rows


def draw(outcome: Outcome, path: Path) -> None:
    """Draw rates against the number of models, ROC curves and the law's shifts."""
    from matplotlib.figure import Figure

    names = ("digits", "Wisconsin", "Fashion")
    figure = Figure(figsize=(12.5, 11.0), layout="constrained")
    for row, name in zip(figure.subplots(3, 3), names, strict=True):
        cells = outcome.curves[name]
        for attack in (*ATTACKS, "choose"):
            sizes = [size for size, other in cells if other == attack]
            rates = [cells[size, attack].means[1] for size in sizes]
            row[0].plot(sizes, rates, ".-", label=attack)
        row[0].axhline(cells[0, "law"].means[1], color="k", ls=":", label="law, no model")
        row[0].set(xscale="log", xlabel="models", ylabel="% at FPR 1 %", title=name)
        for attack, (inside, out) in outcome.curves[f"{name}, scores"].items():
            at = np.unique(np.geomspace(1, out.size, 200).astype(int)) - 1
            tpr = inside.size - np.searchsorted(np.sort(inside), np.sort(out)[::-1][at], "right")
            row[1].plot((at + 1) / out.size, tpr / inside.size, lw=1.2, label=attack)
        row[1].plot([1e-5, 1], [1e-5, 1], "k:", lw=0.8)
        row[1].set(xscale="log", yscale="log", xlabel="FPR", ylabel="TPR", xlim=(1e-4, 1))
        row[1].set(ylim=(1e-4, 1))
        measured, predicted, *_ = outcome.curves[f"{name}, law"]
        row[2].plot(predicted, measured, ".", ms=2)
        row[2].axline((0, 0), slope=1, color="k", lw=0.8)
        row[2].set(xlabel="predicted shift", ylabel="measured shift, sd")
    figure.axes[0].legend(fontsize=7)
    figure.suptitle(outcome.title, fontsize=11)
    figure.savefig(path, dpi=150)
