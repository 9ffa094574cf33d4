"""Shadow models and targets of real data: which records they saw, and their margins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.shadow import logit_margin
from reproduce import _shadow_networks
from reproduce._idx import read_images_and_labels

__all__ = ["Setting", "Trained", "bundled", "digits", "settings", "train"]

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.intp]
_LEAST = 1e-12  # what a probability of 0 or 1 is clipped to, with room for the margin's digits


@dataclass(frozen=True)
class Setting:
    """A data set and a model; `held_out` if the choice of a score was not developed on either.

    `model` makes one of a seed, or `together` trains all: from records, labels, who is in and a
    seed to margins.
    """

    name: str
    load: Callable[[tuple[Path, ...], np.random.Generator], tuple[Doubles, Labels]]
    model: Callable[[int], Any] | None
    models: int  # shadow models
    targets: int
    ridge: float | None = None  # of a logistic regression
    held_out: bool = False
    together: Callable[[Doubles, Labels, Flags, int], Doubles] | None = None


@dataclass(frozen=True)
class Trained:
    """Margins of shadow models and of targets, and what each was trained on."""

    signals: Doubles
    included: Flags
    observed: Doubles
    members: Flags
    X: Doubles
    y: Labels


def train(setting: Setting, paths: tuple[Path, ...], share: float, seed: int) -> Trained:
    """Train on complementary halves; `share` shrinks the numbers of models and of targets."""
    rng = np.random.default_rng(seed)
    X, y = setting.load(paths, rng)
    models = max(8, 2 * round(0.5 * share * setting.models))
    targets = max(2, round(share * setting.targets))
    included = halves(models, y.size, rng)
    members = halves(2 * targets, y.size, rng)[::2]
    inside = np.concatenate([included, members])
    if setting.together is not None:
        margins = setting.together(X, y, inside, seed)
    else:
        margins = _one_by_one(setting, X, y, inside, seed)
    return Trained(margins[:models], included, margins[models:], members, X, y)


def _one_by_one(setting: Setting, X: Doubles, y: Labels, inside: Flags, seed: int) -> Doubles:
    assert setting.model is not None
    made = (setting.model(seed + number) for number in range(len(inside)))
    return np.array([_margins(model, X, y, own) for model, own in zip(made, inside, strict=True)])


def halves(models: int, records: int, rng: np.random.Generator) -> Flags:
    """Return random halves of the records, each followed by its complement."""
    included = np.zeros((models, records), dtype=np.bool_)
    for pair in range(0, models, 2):
        included[pair, rng.permutation(records)[: records // 2]] = True
        included[pair + 1] = ~included[pair]
    return included


def _margins(model: Any, X: Doubles, y: Labels, inside: Flags) -> Doubles:
    model.fit(X[inside], y[inside])
    if hasattr(model, "decision_function"):
        logits = np.asarray(model.decision_function(X))
        if logits.ndim == 1:
            logits = np.column_stack([np.zeros(y.size), logits])
        return np.asarray(logit_margin(logits, y))
    p = np.clip(model.predict_proba(X), _LEAST, None)
    return np.asarray(logit_margin(p / p.sum(axis=1, keepdims=True), y, kind="probabilities"))


def _sample(X: Any, y: Any, size: int, rng: np.random.Generator) -> tuple[Doubles, Labels]:
    """Draw records, and bring each feature that varies to mean 0 and standard deviation 1."""
    rows = rng.permutation(len(y))[:size]
    X, y = np.asarray(X, dtype=np.float64)[rows], np.asarray(y)[rows].astype(np.intp)
    spread = X.std(axis=0)
    varies = spread > 0.0
    return (X[:, varies] - X.mean(axis=0)[varies]) / spread[varies], y


def bundled(name: str, size: int) -> Callable[[Any, np.random.Generator], tuple[Doubles, Labels]]:
    def load(_: Any, rng: np.random.Generator) -> tuple[Doubles, Labels]:
        from sklearn import datasets  # type: ignore[import-untyped]

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return _sample(X, y > np.median(y) if name == "diabetes" else y, size, rng)

    return load


def digits(_: Any, rng: np.random.Generator) -> tuple[Doubles, Labels]:
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    X, y = load_digits(return_X_y=True)
    rows = rng.permutation(len(y))[:1500]
    return X[rows] / 16.0, y[rows].astype(np.intp)


def _fashion(paths: tuple[Path, ...], rng: np.random.Generator) -> tuple[Doubles, Labels]:
    images, labels = read_images_and_labels(paths[0], paths[1], 10)
    rows = rng.permutation(len(labels))[:2000]
    small = images[rows].reshape(rows.size, 14, 2, 14, 2).mean(axis=(2, 4))
    return small.reshape(rows.size, -1) / 255.0, labels[rows].astype(np.intp)


def _logistic(C: float) -> Callable[[int], Any]:
    def model(_: int) -> Any:
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

        return LogisticRegression(C=C, max_iter=2000, tol=1e-5)

    return model


def _network(width: int, epochs: int) -> Callable[[int], Any]:
    def model(seed: int) -> Any:
        from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]

        return MLPClassifier(
            (width,), max_iter=epochs, learning_rate_init=3e-3, tol=0.0, random_state=seed
        )

    return model


def _boosted(seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier  # type: ignore[import-untyped]

    return GradientBoostingClassifier(n_estimators=60, max_depth=2, random_state=seed)


def _discriminant(_: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # type: ignore[import-untyped]

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)


def settings() -> tuple[Setting, ...]:
    """Return the experiments; a network where PyTorch is there."""
    plain = (
        Setting("digits", digits, _logistic(10.0), 256, 64, 0.1),
        Setting("Wisconsin", bundled("breast_cancer", 500), _logistic(10.0), 256, 64, 0.1),
        Setting("Fashion", _fashion, _logistic(1.0), 64, 16, 1.0),
        Setting("diabetes", bundled("diabetes", 442), _network(32, 150), 64, 32, held_out=True),
        Setting("wine", bundled("wine", 178), _boosted, 64, 32, held_out=True),
        Setting("digits, LDA", digits, _discriminant, 64, 32, held_out=True),
    )
    if not _shadow_networks.available():
        return plain
    network = ("Fashion, network (PyTorch)", _fashion, None, 64, 16)
    return (*plain, Setting(*network, held_out=True, together=_shadow_networks.margins))
