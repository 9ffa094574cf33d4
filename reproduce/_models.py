"""The two classifiers that are attacked while they train: softmax regression and a small CNN.

Both are one vector of parameters to the game; images are bytes, labels below `CLASSES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import leakscore.torch

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

CLASSES = 10
_SMALLEST = 11  # side of an image that both convolutions fit in


class Model(Protocol):
    """What the game needs of a classifier."""

    start: npt.NDArray[Any]  # parameters before the first step, (d,)

    def gradients(self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes) -> Floats:
        """Gradient of the loss of every record, one a row, (k, d)."""

    def mean_gradient(
        self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes
    ) -> npt.NDArray[Any]:
        """Their mean, (d,), without the rows."""

    def clipped_sum(
        self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes, clip: float
    ) -> npt.NDArray[Any]:
        """Sum of the gradients, each scaled down to a norm of at most `clip`, (d,)."""

    def predicted(self, theta: npt.NDArray[Any], images: Bytes) -> npt.NDArray[np.intp]:
        """Label of the largest score of every record."""


class Logistic:
    """Softmax regression of the pixels and a constant; starts at 0.

    The gradient of the cross-entropy of (x, y) is r (x) [x; 1] with r = softmax(W [x; 1]) - e_y, so
    that sums over records are products of two small matrices.
    """

    def __init__(self, pixels: int) -> None:
        self.features = pixels + 1
        self.start = np.zeros(CLASSES * self.features)

    def gradients(self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes) -> Floats:
        """Gradient of the loss of every record, a row of the weights of a class after another."""
        x = self._inputs(images)
        rows: Floats = self._residuals(theta, x, labels)[:, :, np.newaxis] * x[:, np.newaxis, :]
        return rows.reshape(len(x), -1)

    def mean_gradient(self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes) -> Doubles:
        """Their mean."""
        x = self._inputs(images)
        total = self._residuals(theta, x, labels).T @ x
        return np.asarray(total, dtype=np.float64).ravel() / len(x)

    def clipped_sum(
        self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes, clip: float
    ) -> Doubles:
        """Sum of the clipped gradients: the norm of r [x; 1] is the product of two norms."""
        x = self._inputs(images)
        residuals = self._residuals(theta, x, labels)
        norms = np.sqrt(np.square(residuals).sum(axis=1) * np.square(x).sum(axis=1))
        residuals *= np.minimum(1.0, clip / np.maximum(norms, 1e-30))[:, np.newaxis]
        return np.asarray(residuals.T @ x, dtype=np.float64).ravel()

    def predicted(self, theta: npt.NDArray[Any], images: Bytes) -> npt.NDArray[np.intp]:
        """Label of the largest score of every record."""
        weights = theta.reshape(CLASSES, -1).astype(np.float32)
        return np.asarray((self._inputs(images) @ weights.T).argmax(axis=1))

    def projections(
        self, theta: npt.NDArray[Any], directions: Doubles, images: Bytes, labels: Bytes
    ) -> Doubles:
        """Inner products of the gradients with the directions (j, d), (k, j)."""
        x = self._inputs(images)
        residuals = self._residuals(theta, x, labels)
        weights = directions.reshape(-1, self.features).astype(np.float32)  # (j classes, features)
        products = (x @ weights.T).reshape(len(x), -1, CLASSES)
        return np.asarray(np.einsum("kjc,kc->kj", products, residuals, dtype=np.float64))

    def _inputs(self, images: Bytes) -> Floats:
        """Return pixels in [0, 1] and a 1."""
        x = np.ones((len(images), self.features), dtype=np.float32)
        np.divide(images.reshape(len(images), -1), np.float32(255), out=x[:, :-1])
        return x

    def _residuals(self, theta: npt.NDArray[Any], x: Floats, labels: Bytes) -> Floats:
        """Return softmax(W x) - e_y."""
        scores: Floats = x @ theta.reshape(CLASSES, -1).astype(np.float32).T
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        scores[np.arange(len(x)), labels] -= 1
        return scores


class Cnn:
    """Two convolutions and a linear layer; PyTorch's initial weights, all in float32.

    On 28 x 28 images it has 8538 parameters, of which the last layer has 4010, at the end.
    """

    def __init__(self, shape: tuple[int, int], seed: int) -> None:
        torch = leakscore.torch._pytorch()
        if min(shape) < _SMALLEST:
            raise ValueError(f"images must be of at least {_SMALLEST} x {_SMALLEST}, not {shape}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            body = [
                torch.nn.Conv2d(1, 16, 5, stride=2),
                torch.nn.Tanh(),
                torch.nn.Conv2d(16, 16, 4, stride=2),
                torch.nn.Tanh(),
                torch.nn.Flatten(),
            ]
            width = torch.nn.Sequential(*body)(torch.zeros(1, 1, *shape)).shape[1]
            head = torch.nn.Linear(width, CLASSES)
            self.module = torch.nn.Sequential(*body, head)
        self.last = sum(parameter.numel() for parameter in head.parameters())
        self.torch, self.loss = torch, torch.nn.functional.cross_entropy
        vector = torch.nn.utils.parameters_to_vector(self.module.parameters())
        self.start = vector.detach().numpy().copy()

    def gradients(self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes) -> Floats:
        """Gradient of the loss of every record."""
        self._load(theta)
        rows = leakscore.torch.per_sample_gradients(
            self.module, self.loss, *self._tensors(images, labels)
        )
        return rows.numpy()  # type: ignore[no-any-return]

    def mean_gradient(self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes) -> Floats:
        """Their mean, in one backward pass."""
        self._load(theta)
        x, y = self._tensors(images, labels)
        parts = self.torch.autograd.grad(self.loss(self.module(x), y), self.module.parameters())
        return np.asarray(self.torch.nn.utils.parameters_to_vector(parts))

    def clipped_sum(
        self, theta: npt.NDArray[Any], images: Bytes, labels: Bytes, clip: float
    ) -> Doubles:
        """Sum of the clipped gradients."""
        rows = self.gradients(theta, images, labels)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        scales = np.minimum(1.0, clip / np.maximum(norms, 1e-30)).astype(np.float32)
        return np.asarray(scales @ rows, dtype=np.float64)

    def predicted(self, theta: npt.NDArray[Any], images: Bytes) -> npt.NDArray[np.intp]:
        """Label of the largest score of every record."""
        self._load(theta)
        x, _ = self._tensors(images, np.zeros(len(images), dtype=np.uint8))
        with self.torch.no_grad():
            return np.asarray(self.module(x).argmax(dim=1))

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Compute in one thread: steps are small, and digits do not depend on the machine."""
        threads = self.torch.get_num_threads()
        self.torch.set_num_threads(1)
        try:
            yield
        finally:
            self.torch.set_num_threads(threads)

    def _load(self, theta: npt.NDArray[Any]) -> None:
        vector = self.torch.from_numpy(theta.copy())
        self.torch.nn.utils.vector_to_parameters(vector, self.module.parameters())

    def _tensors(self, images: Bytes, labels: Bytes) -> tuple[Any, Any]:
        x = self.torch.from_numpy(images.astype(np.float32) / np.float32(255)).unsqueeze(1)
        return x, self.torch.from_numpy(labels.astype(np.int64))
