"""The black box over time on real data: what a sequence of models tells beyond its last one.

Logistic regressions of digits and Wisconsin, trained by gradient descent in four stages; after
each, the attacker sees the margins. Every sequence is trained on a random half of a core that is
attacked by nobody. A record is in from the first stage on, or from the last one on, or never.

All attacks see the same shadow sequences, K of them, and score the same targets; errors are over
disjoint sets of shadow sequences, of differences between two attacks too. That what the last model
says beyond the earlier ones tells more than the last model where records enter late is checked;
everything else is told as found.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import shadow
from leakscore.shadow import logit_margin
from reproduce._outcome import SEEN, Above, Outcome, Row, student
from reproduce._over_time import over_time
from reproduce._shadow_models import bundled, digits
from reproduce.shadow import measures

__all__ = ["draw", "reproduce"]

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

TITLE = "The black box over time: a sequence of models against the last one alone"
STAGES, STEPS, SETS = 4, 15, 6
SIZES = (8, 16, 32)
DATA = {"digits": digits, "Wisconsin": bundled("breast_cancer", 500)}
ENTRIES = {"from the first stage on": 0, "from the last stage on": STAGES - 1}
NAMES = ("over time", "last, the same law", "last, bayes", "last, paired")
LATE = ("innovation, bayes", "innovation, paired")


@dataclass(frozen=True)
class Sequences:
    """Margins of each stage (M, N, L) at the records that are attacked, and who was in."""

    margins: Doubles
    included: Flags


def reproduce(*, rounds: int = 32, seed: int = 1) -> Outcome:
    """Train, attack and compare; `rounds` target sequences of each data set and entry."""
    rows: list[Row] = []
    notes = ["AUC, true-positive % at 1 % and at .1 %, with errors over sets of shadow sequences"]
    curves: dict[str, Any] = {}
    for place, (data, load) in enumerate(DATA.items()):
        X, y = load((), np.random.default_rng(seed))
        for entry, first in ENTRIES.items():
            rng = np.random.default_rng((seed, place, first))
            made = train(X, y, rounds + SETS * max(SIZES), first, rng)
            notes.append(f"{data}, members {entry}")
            for size in SIZES:
                found = compared(made, rounds, size, first)
                curves[f"{data}, {entry}, {size}"] = found
                notes += told(size, found)
                if first and size == max(SIZES):
                    gain = found["innovation, paired"] - found["last, paired"]
                    error = gain[:, 1].std(ddof=1) / np.sqrt(SETS) * student(SETS) / 4.0
                    label = f"{data}, {entry}: % beyond the last"
                    rows.append(Above(label, float(gain[:, 1].mean()), 0.0, SEEN * float(error)))
    unit = "target sequences of each data set and entry"
    return Outcome(TITLE, rounds, seed, tuple(rows), curves, tuple(notes), unit)


def train(X: Doubles, y: Any, sequences: int, first: int, rng: np.random.Generator) -> Sequences:
    """Train all sequences together, stage by stage; half of the records are attacked."""
    records = y.size // 2
    included = rng.random((sequences, records)) < 0.5
    core = rng.random((sequences, y.size - records)) < 0.5
    design = np.column_stack([X, np.ones(y.size)])
    labels = np.eye(int(y.max()) + 1)[y]
    weights = np.zeros((sequences, design.shape[1], labels.shape[1]))
    speed = np.zeros_like(weights)
    rate = 4.0 / np.linalg.norm(design, 2) ** 2 * y.size  # of a mean loss over half of them
    margins = []
    for stage in range(STAGES):
        inside = np.concatenate([included & (stage >= first), core], axis=1)
        share = inside / inside.sum(axis=1, keepdims=True)
        for _ in range(STEPS):
            p = _softmax(design @ weights)
            slope = design.T @ ((p - labels) * share[..., np.newaxis])
            speed = 0.9 * speed - 0.5 * rate * slope
            weights = weights + speed
        logits = (design @ weights)[:, :records]
        margins.append([logit_margin(each, y[:records]) for each in logits])
    return Sequences(np.moveaxis(np.array(margins), 0, -1), included)


def _softmax(logits: Doubles) -> Doubles:
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def compared(made: Sequences, targets: int, size: int, first: int) -> dict[str, Doubles]:
    """Return AUC and rates of each attack by each set of `size` shadow sequences, (sets, 3)."""
    x, members = made.margins[:targets], made.included[:targets]
    names = NAMES + (LATE if first else ())
    found: dict[str, list[Doubles]] = {name: [] for name in names}
    for number in range(SETS):
        part = slice(targets + number * size, targets + (number + 1) * size)
        t, inside = made.margins[part], made.included[part]
        some = (inside.sum(axis=0) >= 2) & (inside.sum(axis=0) <= size - 2)
        x_, t_, inside = x[:, some], t[:, some], inside[:, some]
        last, of_last = t_[..., -1], x_[..., -1]
        scores = [
            over_time(x_, t_, inside, start=first),
            over_time(x_[..., -1:], t_[..., -1:], inside),
            shadow.bayes(of_last, last, inside),
            shadow.paired(of_last, last, inside),
        ]
        if first:
            new, of_new = shadow.innovations(x_, t_, inside, start=first)
            scores += [shadow.bayes(new, of_new, inside), shadow.paired(new, of_new, inside)]
        for name, score in zip(names, scores, strict=True):
            found[name].append(measures(score, members[:, some]).mean(axis=0))
    return {name: np.array(values) for name, values in found.items()}


def told(size: int, found: dict[str, Doubles]) -> list[str]:
    """Return a line an attack, and the difference that the sequence makes."""
    lines = [f"  {size:3d} sequences  {name:18s} {_with_errors(of)}" for name, of in found.items()]
    for first, second in (("over time", NAMES[1]), (LATE[1], "last, paired")):
        if first in found:
            gain = _with_errors(found[first] - found[second])
            lines.append(f"  {size:3d} sequences    {first} less {second}: {gain.strip()}")
    return lines


def _with_errors(values: Doubles) -> str:
    means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    auc, *rates = zip(means, errors, strict=True)
    percent = (f"{mean:5.1f} ({error:.1f})" for mean, error in rates)
    return " ".join([f"{auc[0]:6.3f} ({auc[1]:.3f})", *percent])


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the rates at 1 % against the number of shadow sequences."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 7.5), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True)
    for line, data in zip(panels, DATA, strict=True):
        for panel, entry in zip(line, ENTRIES, strict=True):
            for name in NAMES + (LATE if ENTRIES[entry] else ()):
                every = [outcome.curves[f"{data}, {entry}, {size}"][name][:, 1] for size in SIZES]
                errors = [of.std(ddof=1) / np.sqrt(SETS) for of in every]
                panel.errorbar(SIZES, [of.mean() for of in every], errors, label=name, capsize=2)
            panel.set(xscale="log", title=f"{data}, {entry}", xlabel="shadow sequences")
            panel.set_ylabel("% at FPR 1 %")
    panels[0, 1].legend(fontsize=7)
    figure.suptitle(outcome.title, fontsize=11)
    figure.savefig(path, dpi=150)
