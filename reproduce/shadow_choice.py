"""The choice between scores, held out: 20 settings that none of the scores was developed on.

Small models of scikit-learn on its data sets and on simulated ones. For sets of 4 and of 8 shadow
models, in complementary pairs, `choose` is compared with each score, by the true-positive rate at a
false-positive rate of 1 %, over targets that were trained apart. What comes of it is told for every
setting; over all of them the choice must not be worse than the better of `base` and `bayes`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reproduce._outcome import STANDARD_ERRORS, AtLeast, Outcome, Row
from reproduce._shadow_models import Setting, bundled, digits, train
from reproduce.shadow import attacked

__all__ = ["draw", "reproduce", "settings"]

Doubles = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

TITLE = "The choice between scores of shadow models, on settings that it was not developed on"
MODELS, TARGETS, SIZES = 32, 16, (4, 8)
SHOWN = ("bayes", "base", "one step", "paired", "choose")


def _estimator(module: str, name: str, **options: Any) -> Callable[[int], Any]:
    """Return how to make an estimator of scikit-learn; `random_state=0` is the model's number."""

    def model(seed: int) -> Any:
        from importlib import import_module

        own = options | ({"random_state": seed} if "random_state" in options else {})
        return getattr(import_module(f"sklearn.{module}"), name)(**own)

    return model


def _logistic(C: float) -> Callable[[int], Any]:
    return _estimator("linear_model", "LogisticRegression", C=C, max_iter=300)


def _network(width: int, epochs: int) -> Callable[[int], Any]:
    return _estimator(
        "neural_network",
        "MLPClassifier",
        hidden_layer_sizes=(width,),
        max_iter=epochs,
        learning_rate_init=5e-3,
        tol=0.0,
        random_state=0,
    )


def _discriminant(shrinkage: float) -> Callable[[int], Any]:
    return _estimator(
        "discriminant_analysis", "LinearDiscriminantAnalysis", solver="lsqr", shrinkage=shrinkage
    )


def _quadratic(share: float) -> Callable[[int], Any]:
    name = "QuadraticDiscriminantAnalysis"
    return _estimator("discriminant_analysis", name, reg_param=share)


def _machine(C: float, gamma: float) -> Callable[[int], Any]:
    return _estimator("svm", "SVC", C=C, gamma=gamma)


def _even(paths: Any, rng: np.random.Generator) -> tuple[Doubles, Labels]:
    X, y = digits(paths, rng)
    return X, y % 2


def _made(maker: str, **options: Any) -> Callable[[Any, np.random.Generator], Any]:
    def load(_: Any, rng: np.random.Generator) -> tuple[Doubles, Labels]:
        from sklearn import datasets  # type: ignore[import-untyped]

        X, y = getattr(datasets, f"make_{maker}")(random_state=int(rng.integers(2**31)), **options)
        if X.shape[1] == 2:
            X = np.column_stack([X, X**2, X**3])
        return (X - X.mean(axis=0)) / X.std(axis=0), y.astype(np.intp)

    return load


def _heavy_tails(_: Any, rng: np.random.Generator) -> tuple[Doubles, Labels]:
    X = rng.standard_t(2.5, size=(1500, 15))
    return X, (X[:, :3].sum(axis=1) + rng.standard_t(3, size=1500) > 0).astype(np.intp)


def settings() -> tuple[Setting, ...]:
    """Return the 20 settings."""
    wisconsin = bundled("breast_cancer", 569)
    hard = _made(
        "classification", n_samples=1500, n_features=30, n_informative=8, n_classes=4, flip_y=0.1
    )
    wide = _made("classification", n_samples=1000, n_features=200, n_informative=10, flip_y=0.05)
    moons = _made("moons", n_samples=1500, noise=0.3)
    blobs = _made("blobs", n_samples=1500, n_features=10, centers=12, cluster_std=5.0)
    trees = _estimator(
        "ensemble", "ExtraTreesClassifier", n_estimators=30, max_depth=8, random_state=0
    )
    made = (
        ("digits, logistic C = .1", digits, _logistic(0.1)),
        ("digits, logistic C = 100", digits, _logistic(100.0)),
        ("digits, network", digits, _network(32, 30)),
        ("digits, extremely random trees", digits, trees),
        ("even digits, logistic C = 1", _even, _logistic(1.0)),
        ("even digits, LDA", _even, _discriminant(0.05)),
        ("Wisconsin, logistic C = 1", wisconsin, _logistic(1.0)),
        ("Wisconsin, QDA", wisconsin, _quadratic(0.2)),
        ("Wisconsin, SVM", wisconsin, _machine(3.0, 0.03)),
        ("4 classes, logistic C = 10", hard, _logistic(10.0)),
        ("4 classes, network", hard, _network(48, 60)),
        ("4 classes, QDA", hard, _quadratic(0.1)),
        ("200 columns, logistic C = .01", wide, _logistic(0.01)),
        ("200 columns, logistic C = 1", wide, _logistic(1.0)),
        ("200 columns, LDA", wide, _discriminant(0.3)),
        ("moons, SVM", moons, _machine(10.0, 1.0)),
        ("12 classes, logistic C = 10", blobs, _logistic(10.0)),
        ("12 classes, network", blobs, _network(32, 30)),
        ("heavy tails, logistic C = 10", _heavy_tails, _logistic(10.0)),
        ("heavy tails, network", _heavy_tails, _network(32, 60)),
    )
    return tuple(
        Setting(name, load, model, MODELS, TARGETS, held_out=True) for name, load, model in made
    )


def reproduce(*, rounds: int = TARGETS, seed: int = 1) -> Outcome:
    """Train, attack and compare; `rounds` targets of each setting, and models in proportion."""
    cells = {}
    for number, setting in enumerate(settings()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fits that end before they have converged
            trained = train(setting, (), min(1.0, rounds / TARGETS), seed + 1000 * number)
        cells[setting.name] = attacked(trained, SIZES)
    rows: list[Row] = []
    notes = ["True-positive % at a false-positive rate of 1 %: " + ", ".join(SHOWN)]
    rates: dict[int, dict[str, Doubles]] = {}
    for size in SIZES:
        rates[size] = {
            attack: np.array([found[size, attack].means[1] for found in cells.values()])
            for attack in SHOWN
        }
        notes.append(f"{size} models")
        table = np.column_stack(list(rates[size].values()))
        for name, line in zip((*cells, "mean"), (*table, table.mean(axis=0)), strict=True):
            notes.append(f"  {name:32s}" + " ".join(f"{value:5.1f}" for value in line))
        gain = rates[size]["choose"] - np.maximum(rates[size]["base"], rates[size]["bayes"])
        error = float(gain.std(ddof=1) / np.sqrt(gain.size))
        notes.append(f"  choose less the better of base and bayes: {gain.min():.1f} at the least")
        rows.append(
            AtLeast(
                f"{size} models: choose less the better of two",
                float(gain.mean()),
                0.0,
                STANDARD_ERRORS * error,
            )
        )
    unit = "targets of each setting; shadow models in proportion"
    return Outcome(TITLE, rounds, seed, tuple(rows), {"rates": rates}, tuple(notes), unit)


def draw(outcome: Outcome, path: Path) -> None:
    """Draw what was chosen against the better of `base` and `bayes`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.5), layout="constrained")
    for axes, size in zip(figure.subplots(1, 2), SIZES, strict=True):
        rates = outcome.curves["rates"][size]
        axes.plot(np.maximum(rates["base"], rates["bayes"]), rates["choose"], "o", ms=4)
        axes.axline((3.0, 3.0), slope=1, color="k", lw=0.8)
        axes.set(xscale="log", yscale="log", title=f"{size} models")
        axes.set(xlabel="better of base and bayes, %", ylabel="choose, %")
    figure.suptitle(outcome.title, fontsize=10)
    figure.savefig(path, dpi=150)
