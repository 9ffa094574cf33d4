"""A logistic regression, binary or multinomial, by Newton's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles

_STEPS = 100
_SETTLED = 1e-10  # of a Newton step, in units of the logits


def sigmoid(x: Doubles) -> Doubles:
    """Return 1/(1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, small) / (1.0 + small)


class LogisticFit(NamedTuple):
    """A fit: logits (N, C) are X W contrast', the Hessian is that of W by columns of W."""

    classes: npt.NDArray[np.intp]
    contrast: Doubles  # (C, width): one logit for two classes, C for more
    logits: Doubles
    probabilities: Doubles
    hessian: Doubles

    def margins(self, logits: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Return margins at other logits, their gradients by the logits, and the residuals."""
        rows = np.arange(logits.shape[0])
        others = logits.copy()
        others[rows, self.classes] = -np.inf
        top = others.max(axis=1, keepdims=True)
        weights = np.exp(others - top)
        total = weights.sum(axis=1, keepdims=True)
        margin = logits[rows, self.classes] - (top + np.log(total))[:, 0]
        gradient = -weights / total
        gradient[rows, self.classes] = 1.0
        return margin, gradient, gradient * sigmoid(-margin)[:, np.newaxis]


def fitted(X: Doubles, classes: npt.NDArray[np.intp], share: float, ridge: Doubles) -> LogisticFit:
    """Minimise share times the sum of losses plus the sum of ridge w^2 / 2."""
    count = int(classes.max()) + 1
    contrast = np.eye(count) if count > 2 else np.array([[0.0], [1.0]])
    width = contrast.shape[1]
    W = np.zeros((X.shape[1], width))
    hot = np.zeros((X.shape[0], count))
    hot[np.arange(X.shape[0]), classes] = 1.0
    value, p = _loss(X, W, contrast, hot, share, ridge)
    for _ in range(_STEPS):
        slope = share * X.T @ ((p - hot) @ contrast) + ridge[:, np.newaxis] * W
        hessian = _hessian(X, p, contrast, share, ridge)
        try:
            step = np.linalg.solve(hessian, slope.T.ravel()).reshape(width, -1).T
        except np.linalg.LinAlgError:
            break
        size = 1.0
        while size > 1e-6:  # halved until the loss falls: far from the end steps are too long
            lower, nearer = _loss(X, W - size * step, contrast, hot, share, ridge)
            if lower <= value + 1e-13 * abs(value):
                break
            size *= 0.5
        W, value, p = W - size * step, lower, nearer
        if np.abs(X @ step).max() < _SETTLED * (1.0 + np.abs(X @ W).max()):
            hessian = _hessian(X, p, contrast, share, ridge)
            return LogisticFit(classes, contrast, X @ W @ contrast.T, p, hessian)
    raise ValueError(
        "Expected ridge to make the fit finite: a plane separates classes, or columns of X depend "
        "on each other; pass a larger ridge"
    )


def _loss(
    X: Doubles, W: Doubles, contrast: Doubles, hot: Doubles, share: float, ridge: Doubles
) -> tuple[float, Doubles]:
    logits = X @ W @ contrast.T
    top = logits.max(axis=1, keepdims=True)
    weights = np.exp(logits - top)
    total = weights.sum(axis=1, keepdims=True)
    losses = (top + np.log(total))[:, 0] - (logits * hot).sum(axis=1)
    penalty = 0.5 * float((ridge[:, np.newaxis] * W * W).sum())
    return share * float(losses.sum()) + penalty, weights / total


def _hessian(X: Doubles, p: Doubles, contrast: Doubles, share: float, ridge: Doubles) -> Doubles:
    """Return the Hessian by blocks of logits; of C logits plus what fixes their common part.

    Logits that move together change no probability. Without a ridge the Hessian is 0 along them; no
    gradient has such a part, so any positive number there leaves all results as they are.
    """
    width, d = contrast.shape[1], X.shape[1]
    q = p @ contrast
    result = np.empty((width, d, width, d))
    for a in range(width):
        for b in range(a + 1):
            weights = p @ (contrast[:, a] * contrast[:, b]) - q[:, a] * q[:, b]
            result[a, :, b, :] = share * (X * weights[:, np.newaxis]).T @ X
            result[b, :, a, :] = result[a, :, b, :]
    for a in range(width):
        result[a, range(d), a, range(d)] += ridge
    if width > 1:
        unit = share * (X * X).sum(axis=0).max() / width**2
        result[:, range(d), :, range(d)] += unit
    return result.reshape(width * d, width * d)
