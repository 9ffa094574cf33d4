"""Sequential audits in the black box: all models of a training against the last one.

The open question of Michel, Basu and Kaufmann: what does the sequence tell an attacker who sees
outputs only? Softmax regressions are trained by gradient descent on random halves of 1000 records
of Fashion-MNIST (14 x 14 pixels) and released several times. The attacker has shadow trainings on
other random halves, and the logit margin of every record in all their releases.
`over_time` scores a record by the ratio of two normal laws of its whole sequence.

Two designs. "From the start": a record is in all releases or in none. "An update": half of 500
records are in from the start, half of 500 others join after step 160, and these are attacked. Two
results, with standard errors over target trainings and paired differences:

* Update: the last release alone has an area of .56, with the one before the update .62, and all
  releases .66. The margin before the update tells how this training differs from others, and the
  difference is free of it: the isolation of the paper's white box, from outputs.
* From the start: earlier releases saw the same records and less of their effect. They add nothing,
  and the normal law of more steps fits heavy-tailed margins less well: area and rates are lower.

Theory is checked on sequences drawn from normal laws with the moments of the shadow trainings:
there the area of the best test is known, and `over_time` stays below it by what estimated moments
cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import shadow
from leakscore.distributions import norm
from reproduce._outcome import (
    SEEN,
    STANDARD_ERRORS,
    Above,
    AtLeast,
    AtMost,
    Outcome,
    Row,
    student,
)
from reproduce._over_time import over_time
from reproduce._shadow_models import halves
from reproduce.azize_training import load
from reproduce.shadow import measures

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.intp]

TITLE = "Sequential audits in the black box: margins after every release, and after the last"
CLASSES, RATE, RECORDS = 10, 0.5, 1000
SHADOWS = 4  # shadow trainings for each target training
LAST, BOTH, ALL = "last release", "before and last", "all releases"
POOLED = "all, one variance"
_LOSS = 0.025  # of area, that estimated moments may cost in the control


@dataclass(frozen=True)
class Design:
    """When models are released, in steps, and after which step the attacked records are in."""

    name: str
    releases: tuple[int, ...]
    joins: int

    @property
    def start(self) -> int:
        """The first release that may have seen an attacked record."""
        return sum(release <= self.joins for release in self.releases)


STARTS = Design("from the start", (10, 20, 40, 80, 160, 320), 0)
UPDATE = Design("an update", (40, 80, 160, 170, 180, 200), 160)


@dataclass(frozen=True)
class Trained:
    """Margins (trainings, attacked records, releases), and who was in."""

    signals: Doubles
    included: Flags

    def split(self, targets: int) -> tuple[Trained, Trained]:
        """Return target trainings and shadow trainings."""
        return (
            Trained(self.signals[:targets], self.included[:targets]),
            Trained(self.signals[targets:], self.included[targets:]),
        )


def train(x: Floats, y: Labels, inside: Flags, releases: tuple[int, ...]) -> Doubles:
    """Train all models at once by gradient descent; who is in may change from release to release.

    `inside` is (releases, trainings, records). Returns the margins of all records after each
    release, (trainings, records, releases).
    """
    trainings = inside.shape[1]
    weights = np.zeros((trainings, CLASSES, x.shape[1]), dtype=np.float32)
    wanted = np.eye(CLASSES, dtype=np.float32)[y][:, np.newaxis]
    margins, step = [], 0
    for release, part in zip(releases, inside, strict=True):
        shares = (part / part.sum(axis=1, keepdims=True)).T.astype(np.float32)[:, :, np.newaxis]
        for _ in range(step, release):
            out = (_softmax(_logits(x, weights)) - wanted) * shares
            moved = out.reshape(len(x), -1).T @ x
            weights -= np.float32(RATE) * moved.reshape(weights.shape)
        step = release
        flat = _logits(x, weights).reshape(-1, CLASSES).astype(np.float64)
        signals = shadow.logit_margin(flat, np.repeat(y, trainings))
        margins.append(signals.reshape(len(x), trainings).T)
    return np.stack(margins, axis=-1)


def _logits(x: Floats, weights: Floats) -> Floats:
    """Return the logits of all records in all trainings, (records, trainings, classes)."""
    out: Floats = x @ weights.reshape(-1, x.shape[1]).T
    return out.reshape(len(x), -1, CLASSES)


def _softmax(logits: Floats) -> Floats:
    logits -= logits.max(axis=-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=-1, keepdims=True)
    return logits


def trained(design: Design, data: Any, trainings: int, rng: np.random.Generator) -> Trained:
    """Train with the attacked records in halves, from the start or from a release on."""
    x, y = data
    known = len(y) // 2 if design.joins else 0  # of so many records a half is in from the start
    included = halves(trainings, len(y) - known, rng)
    before = np.zeros((trainings, len(y)), dtype=np.bool_)
    before[:, :known] = halves(trainings, known, rng)
    after = np.concatenate([before[:, :known], included], axis=1)
    inside = np.stack([after if r > design.joins else before for r in design.releases])
    return Trained(train(x, y, inside, design.releases)[:, known:], included)


def attacks(design: Design, targets: Trained, known: Trained) -> dict[str, Doubles]:
    """Return AUC and true-positive rates of each target training, for each use of the releases."""
    start, count = design.start, len(design.releases)
    before = max(start - 1, 0)  # the last release without the record, or the first of all
    every = list(range(count))
    uses: dict[str, tuple[list[int], int, Any]] = {
        LAST: ([-1], 0, "shrunk"),
        BOTH: ([before, -1], min(start, 1), "shrunk"),
        ALL: (every, start, "shrunk"),
        POOLED: (every, start, "pooled"),
    }
    found = {}
    for use, (places, first, variance) in uses.items():
        observed, signals = (made.signals[..., places] for made in (targets, known))
        scores = over_time(observed, signals, known.included, start=first, variance=variance)
        found[use] = measures(scores, targets.included)
    return found


def reproduce(*, data: tuple[Path, ...], rounds: int = 32, seed: int = 1) -> Outcome:
    """Train, attack and compare; `rounds` target trainings of each design."""
    rng = np.random.default_rng(seed)
    pictures = _pictures(data, rng)
    rows: list[Row] = []
    notes, curves = [], {}
    for design in (STARTS, UPDATE):
        trainings = (1 + SHADOWS) * rounds
        made = trained(design, pictures, trainings + trainings % 2, rng)
        targets, known = made.split(rounds)
        curves[design.name] = found = attacks(design, targets, known)
        notes += _told(design.name, found)
        if design is UPDATE:
            rows += _gains(design.name, found)
        rows += _control(design.name, known, rng)
    unit = f"target trainings of each design, {SHADOWS} times as many shadow trainings"
    return Outcome(TITLE, rounds, seed, tuple(rows), curves, tuple(notes), unit)


def _pictures(data: tuple[Path, ...], rng: np.random.Generator) -> tuple[Floats, Any]:
    images, labels = load(data)
    chosen = rng.permutation(len(labels))[:RECORDS]
    rows, columns = (side // 2 for side in images.shape[1:])
    even = images[chosen][:, : 2 * rows, : 2 * columns]
    small = even.reshape(len(chosen), rows, 2, columns, 2).mean(axis=(2, 4), dtype=np.float32)
    x = np.ones((len(chosen), rows * columns + 1), dtype=np.float32)
    x[:, :-1] = small.reshape(len(chosen), -1) / np.float32(255)
    return x, labels[chosen].astype(np.intp)


def _gains(name: str, found: dict[str, Doubles]) -> list[Row]:
    """Check that the releases before the last one add to it."""
    rows: list[Row] = []
    for use in (BOTH, ALL):
        gain = found[use][:, 0] - found[LAST][:, 0]
        error = max(float(gain.std(ddof=1)) / np.sqrt(gain.size), 1e-6)
        allowed = student(gain.size, SEEN) * error
        rows.append(Above(f"{name}: AUC, {use} - last (>)", float(gain.mean()), 0.0, allowed))
    return rows


def _told(name: str, found: dict[str, Doubles]) -> list[str]:
    lines = [f"{name}: AUC, true-positive % at 1 % (standard errors over trainings)"]
    for use, values in found.items():
        means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        lines.append(
            f"  {use:17s} {means[0]:.4f} ({errors[0]:.4f})  {means[1]:5.2f} ({errors[1]:.2f})"
        )
    gain = found[ALL] - found[LAST]
    mean, error = gain.mean(axis=0), gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
    lines.append(
        f"  all - last        {mean[0]:+.4f} ({error[0]:.4f})  {mean[1]:+5.2f} ({error[1]:.2f})"
    )
    return lines


def _control(name: str, known: Trained, rng: np.random.Generator) -> list[Row]:
    """Attack normal sequences with the moments of these, whose best area is known.

    Both sides have one covariance, that of the shadow trainings about their means, so that the best
    test of a record has the area Phi(|shift|/sqrt(2)), in units of the covariance.
    """
    inside = known.included[..., np.newaxis]
    means = [
        np.ma.masked_array(known.signals, np.broadcast_to(~flags, known.signals.shape))
        .mean(axis=0)
        .data
        for flags in (inside, ~inside)
    ]
    away = known.signals - np.where(inside, *means)
    cov = np.einsum("knl,knm->lm", away, away) / away[..., 0].size
    root = np.linalg.cholesky(cov)
    shift = np.linalg.solve(root, (means[0] - means[1]).T)
    trainings = max(256, 2 * len(known.signals))
    included = halves(trainings, len(means[0]), rng)
    noise = rng.standard_normal((trainings, *means[0].shape)) @ root.T
    made = Trained(np.where(included[..., np.newaxis], *means) + noise, included)
    targets, shadows = made.split(trainings // 4)
    scores = over_time(targets.signals, shadows.signals, shadows.included, variance="pooled")
    areas = _record_areas(scores, targets.included)
    exact = float(norm.cdf(np.sqrt(np.square(shift).sum(axis=0) / 2.0)).mean())
    error = STANDARD_ERRORS * float(areas.std(ddof=1)) / np.sqrt(areas.size)
    mean = float(areas.mean())
    return [
        AtMost(f"{name}: control, AUC by record", mean, exact, error),
        AtLeast(f"{name}: control, less the cost of moments", mean, exact - _LOSS, error),
    ]


def _record_areas(scores: Doubles, members: Flags) -> Doubles:
    """Return the AUC of each record over trainings."""
    areas = []
    for score, inside in zip(scores.T, members.T, strict=True):
        if inside.any() and not inside.all():
            areas.append((score[inside][:, np.newaxis] > score[~inside]).mean())
    return np.array(areas)


def draw(outcome: Outcome, path: Path) -> None:
    """Draw areas and rates with standard errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, column, title in zip(panels, (0, 1), ("AUC", "true-positive % at 1 %"), strict=True):
        for i, (name, found) in enumerate(outcome.curves.items()):
            means = [values[:, column].mean() for values in found.values()]
            errors = [
                values[:, column].std(ddof=1) / np.sqrt(len(values)) for values in found.values()
            ]
            place = np.arange(len(found)) + 0.1 * (i - 0.5)
            axes.errorbar(place, means, yerr=errors, fmt="o", color=f"C{i}", label=name)
        axes.set_xticks(range(len(found)), [use.replace(" ", "\n", 1) for use in found])
        axes.set(title=title)
        axes.legend(fontsize=8)
    figure.suptitle(outcome.title, fontsize=11)
    figure.savefig(path, dpi=150)
