"""Figure 3 of Azize & Basu, "Some Targets Are Harder to Identify than Others" (AISTATS).

A model is trained on Fashion-MNIST for one epoch of SGD in batches of 64 with learning rate 0.001.
The attacker sees the parameters after every step and decides whether a target was in the private
set. As in the paper, the attacker has 1000 references; the model is softmax regression (d = 7850)
or a small CNN; and an easy, a medium and a hard target are those of the largest, the middle and the
smallest Mahalanobis distance of their gradients, here of 1000 candidates. The covariance attack is
compared with the scalar product, and for the CNN the attack on all parameters with that on the last
layer.

What is not comparable with the paper's figure:

* The private set and the CNN are our choice: 640 records make 10 batches, and the last layer has
  4010 of 8538 parameters, the paper's 4080.
* The paper's covariance, of 1000 references in more dimensions, has no inverse, and the paper gives
  no remedy. Here it is a low-rank `Reference`, centred and shrunk by Schaefer and Strimmer's rule,
  with a ridge of half the mean variance: pixels that are black in all references have no variance.
* The paper adds up the scores of the steps, which is the likelihood ratio of a target that is in
  every batch. Here the target is in one batch, so the ratio is the log-mean-exp; the sum is
  reported beside it. Scalar products are not likelihood ratios; the largest of the steps is used.
* So the paper's curves, of 100 runs, are not compared. The checks are the order of the
  targets, that of the attacks, and the theory.

The target's gradient is taken at the parameters of the same step of the same run. The references'
mean and covariance are those at the same step of a separate training by the attacker, on records
that have no other role: at this learning rate scores are within a hundredth of those with
references refitted in the run, and 10 Gram matrices suffice in place of 10 for each run. Rounds are
paired: the same private set with one record replaced by the target, in a random batch, and without.

Theory predicts the softmax regression. A score of weights w separates the step that the target is
in by an effective leakage m = (w'(g* - mu))^2 / (b w'C w), with the mean mu and covariance C of the
whole population, of which the attacker's references are only a part. If the scores of steps were
Gaussian with that leakage, the AUC of the epoch would follow. It is reported, not checked, because
they are not Gaussian: a single record's product with w has an excess kurtosis of 30 to 130, of
which the mean of 64 keeps up to 2, and large scores without the target cost AUC. The checked AUC is
that of batches drawn at random from the population, with the actual products of its records.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leakscore.audit import Audit
from reproduce._auc import Auc
from reproduce._data import PACKAGES
from reproduce._epoch import (
    ATTACKS,
    NAMES,
    Attack,
    Attacker,
    Doubles,
    Played,
    Records,
    Sizes,
    attackers,
    divide,
    epoch_scores,
    play,
    targets,
)
from reproduce._idx import read_images_and_labels
from reproduce._law import laws
from reproduce._models import CLASSES, Cnn, Logistic, Model
from reproduce._outcome import Outcome, Row

SIZES = Sizes()
TITLE = (
    "Azize & Basu (AISTATS), Figure 3: one epoch of SGD on Fashion-MNIST, every step seen, "
    f"batches of {SIZES.batch}, {SIZES.references} references"
)
LOGISTIC, LAST, FULL = "logistic", "CNN last layer", "CNN all"
_COLOURS = ("C0", "C2", "C3")


@dataclass(frozen=True)
class Results:
    """All attacks on one model: their scores and areas."""

    played: Played
    distances: Doubles  # of the targets, for the attacker

    def scores(self, attack: Attack, target: int) -> tuple[Doubles, Doubles]:
        """Scores of the epoch: members, nonmembers."""
        pair = self.played.members[attack], self.played.nonmembers[attack]
        members, nonmembers = (epoch_scores(attack, steps[:, target]) for steps in pair)
        return members, nonmembers

    def auc(self, attack: Attack, target: int) -> Auc:
        """Area of an attack on a target."""
        return Auc.of(*self.scores(attack, target))

    def summed(self, view: str, target: int) -> Auc:
        """Area of the covariance scores added up, as the paper does."""
        played, attack = self.played, (view, "covariance")
        members, nonmembers = played.members[attack], played.nonmembers[attack]
        return Auc.of(members[:, target].sum(axis=-1), nonmembers[:, target].sum(axis=-1))

    def order_rows(self, view: str) -> list[Row]:
        """Check that other targets have a larger AUC than the hard one, and than by scalar product.

        The easy and the medium target are not compared: gradients are so far from Gaussian that the
        exact AUC of the softmax regression has them in the other order.
        """
        areas = [self.auc((view, "covariance"), j) for j in range(len(NAMES))]
        rows = [
            area.at_least(areas[-1], f"{view}: AUC {name} - {NAMES[-1]}")
            for name, area in zip(NAMES[:-1], areas[:-1], strict=True)
        ]
        for j, name in enumerate(NAMES):
            scalar = self.auc((view, "scalar"), j)
            rows.append(areas[j].at_least(scalar, f"{view}: {name}, covariance - scalar"))
        return rows

    def notes(self, view: str) -> list[str]:
        """One line a target: all areas with their standard errors."""
        lines = []
        for j, name in enumerate(NAMES):
            areas = {
                "covariance": self.auc((view, "covariance"), j),
                "(steps added up)": self.summed(view, j),
                "scalar product": self.auc((view, "scalar"), j),
            }
            words = [f"{of} {area.value:.3f} +- {area.error:.3f}" for of, area in areas.items()]
            lines.append(f"AUC {view}, {name}: {', '.join(words)}")
        return lines

    def chosen(self, view: str, batch: int) -> str:
        """Describe how the targets were chosen."""
        m = ", ".join(f"{distance / batch:.1f}" for distance in self.distances)
        return f"Targets by the attacker's leakage score in the first step, {view}: {m}"


def load(data: tuple[Path, ...]) -> tuple[Any, Any]:
    """Read images and labels; an error names the package they should be of."""
    package = PACKAGES["azize-3"]
    images, labels = data
    try:
        return read_images_and_labels(images, labels, CLASSES)
    except ValueError as error:
        raise ValueError(f"{error} (not as in Debian's package {package.name})") from error


def reproduce(*, data: tuple[Path, ...], rounds: int = 100, seed: int = 1) -> Outcome:
    """Train, attack and compare."""
    images, labels = load(data)
    roles, logistic, cnn, theory = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)
    )
    records = divide(images, labels, SIZES, roles)
    results, rows, notes = _logistic(records, SIZES, rounds, logistic, theory)
    curves: dict[str, Any] = {LOGISTIC: results}
    try:
        model = Cnn(images.shape[1:], seed)
    except ImportError as error:
        notes.append(f"The CNN was NOT run: {error}")
    else:
        curves["CNN"], more, lines = _cnn(model, records, SIZES, rounds, cnn)
        rows, notes = rows + more, notes + lines
    return Outcome(TITLE, rounds, seed, tuple(rows), curves, tuple(notes))


def _attack(
    model: Model,
    records: Records,
    sizes: Sizes,
    views: dict[str, slice],
    rounds: int,
    rng: np.random.Generator,
) -> tuple[Results, Any, Any, dict[str, Attacker]]:
    """Prepare and play; targets are chosen by the first view."""
    known, path = attackers(model, records, sizes, views)
    chosen, distances = targets(model, records, next(iter(known.values())))
    played = play(model, records, sizes, chosen, known, rounds, rng)
    return Results(played, distances), path, chosen, known


def _logistic(
    records: Records,
    sizes: Sizes,
    rounds: int,
    rng: np.random.Generator,
    theory: np.random.Generator,
) -> tuple[Results, list[Row], list[str]]:
    """Softmax regression: against the theory, and the order of attacks and targets."""
    model = Logistic(records.images[0].size)
    views = {LOGISTIC: slice(None)}
    results, path, chosen, known = _attack(model, records, sizes, views, rounds, rng)
    rows, gaussian = [], []
    for kind, law in laws(model, records, sizes.batch, path, chosen, known[LOGISTIC]).items():
        attack = LOGISTIC, kind
        for j, name in enumerate(NAMES):
            rows.append(law.row(LOGISTIC, attack, j, results.played))
            drawn = law.auc(attack, j, theory)
            rows.append(results.auc(attack, j).row(f"{LOGISTIC}: {name}, AUC, {kind}", drawn))
        areas = [f"{law.gaussian_auc(attack, j, theory):.3f}" for j in range(len(NAMES))]
        gaussian.append(f"AUC {LOGISTIC}, {kind}, were its steps Gaussian: {', '.join(areas)}")
    rows += results.order_rows(LOGISTIC)
    for j, name in enumerate(NAMES):
        once = results.auc((LOGISTIC, "covariance"), j)
        added = results.summed(LOGISTIC, j)
        rows.append(once.at_least(added, f"{LOGISTIC}: {name}, in one batch - in all"))
    notes = [results.chosen(LOGISTIC, sizes.batch), *results.notes(LOGISTIC), *gaussian]
    return results, rows, notes


def _cnn(
    model: Cnn, records: Records, sizes: Sizes, rounds: int, rng: np.random.Generator
) -> tuple[Results, list[Row], list[str]]:
    """CNN: the order of attacks and targets, and all parameters against the last layer."""
    views = {LAST: slice(-model.last, None), FULL: slice(None)}
    with model.one_thread():
        results, *_ = _attack(model, records, sizes, views, rounds, rng)
    rows = results.order_rows(LAST) + results.order_rows(FULL)
    for j, name in enumerate(NAMES):
        last, full = (results.auc((view, "covariance"), j) for view in (LAST, FULL))
        rows.append(full.at_least(last, f"CNN: {name}, all parameters - last layer"))
    notes = [line for view in views for line in results.notes(view)]
    return results, rows, [results.chosen(LAST, sizes.batch), *notes]


def draw(outcome: Outcome, path: Path) -> None:
    """Draw a panel of ROC curves for each view of a model, and all areas."""
    from matplotlib.figure import Figure

    views = [(LOGISTIC, outcome.curves[LOGISTIC], "softmax regression, all 10 x 785 weights")]
    if "CNN" in outcome.curves:
        views += [
            (LAST, outcome.curves["CNN"], "CNN, last layer"),
            (FULL, outcome.curves["CNN"], "CNN, all parameters"),
        ]
    figure = Figure(figsize=(4.6 * (len(views) + 1), 5.2), layout="constrained")
    axes = figure.subplots(1, len(views) + 1)
    for panel, (view, results, title) in zip(axes, views, strict=False):
        _curves(panel, view, results, title)
    _areas(axes[-1], outcome, [(view, results) for view, results, _ in views])
    missing = "" if len(views) > 1 else "; CNN not run: it needs PyTorch"
    figure.suptitle(
        f"{outcome.title}\n{outcome.rounds} rounds per hypothesis; solid: covariance attack; "
        f"dashed: scalar product{missing}",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)


def _curves(axes: Any, view: str, results: Results, title: str) -> None:
    for j, (name, colour) in enumerate(zip(NAMES, _COLOURS, strict=True)):
        for kind, style in zip(ATTACKS, ("-", "--"), strict=True):
            roc = Audit(*results.scores((view, kind), j)).roc()
            width, label = (1.8, name) if style == "-" else (1.0, None)
            axes.plot(roc.fpr, roc.tpr, style, color=colour, lw=width, label=label, clip_on=False)
    axes.plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0)
    axes.set(title=title, xlabel="false positive rate", ylabel="true positive rate")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(fontsize=8, loc="lower right", title="target")


def _areas(axes: Any, outcome: Outcome, views: list[tuple[str, Results]]) -> None:
    """Draw all areas with a standard error, and their theory."""
    expected = {row.name: row.theory for row in outcome.rows}
    places, labels = [], []
    for i, (view, results) in enumerate(views):
        for j, (name, colour) in enumerate(zip(NAMES, _COLOURS, strict=True)):
            place = i * (len(NAMES) + 1) + j
            places.append(place)
            labels.append(f"{view}, {name}")
            for kind, marker, filled in zip(ATTACKS, "os", (colour, "white"), strict=True):
                area = results.auc((view, kind), j)
                axes.errorbar(
                    area.value, place, xerr=area.error, fmt=marker, color=colour, mfc=filled, ms=5
                )
                theory = expected.get(f"{view}: {name}, AUC, {kind}")
                if theory is not None:
                    axes.plot(theory, place, "|", color="black", ms=14, mew=1.2)
    axes.plot([], [], "o", color="0.3", label="covariance attack")
    axes.plot([], [], "s", color="0.3", mfc="white", label="scalar product")
    axes.plot([], [], "|", color="black", ms=12, label="theory")
    axes.axvline(0.5, color="0.7", lw=0.8, zorder=0)
    axes.set_yticks(places, labels, fontsize=8)
    axes.invert_yaxis()
    axes.set(title="area under the curve, one standard error", xlabel="AUC", xlim=(0.4, 1.03))
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
