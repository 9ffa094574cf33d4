"""Networks in PyTorch, all of them trained together: one tensor holds the same layer of each."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.shadow import logit_margin

__all__ = ["available", "margins"]

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WIDTH, EPOCHS, BATCH, RATE = 64, 40, 100, 3e-3


def available() -> bool:
    """Whether PyTorch is there."""
    return find_spec("torch") is not None


def margins(X: Doubles, y: Any, inside: Flags, seed: int) -> Doubles:
    """Return margins (M, N) of M networks of one hidden layer, each trained on its own records.

    Batches are drawn from all records, in one order for all networks, and each learns from those
    of a batch that are its own: about half of them. Weights begin differently.
    """
    import torch

    rng = torch.Generator().manual_seed(seed)
    models, classes = len(inside), int(y.max()) + 1
    sizes = ((X.shape[1], WIDTH), (WIDTH, classes))
    weights: list[Any] = []
    for before, after in sizes:
        bound = (6.0 / before) ** 0.5
        start = (2.0 * torch.rand((models, before, after), generator=rng) - 1.0) * bound
        weights += [start.requires_grad_(), torch.zeros((models, 1, after), requires_grad=True)]
    records = torch.tensor(X, dtype=torch.float32)
    labels, own = torch.tensor(y), torch.tensor(inside)
    optimizer = torch.optim.Adam(weights, lr=RATE)
    for _ in range(EPOCHS):
        order = torch.randperm(len(y), generator=rng)
        for batch in order.split(2 * BATCH):
            logits = _logits(records[batch], weights)
            losses = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), labels[batch].expand(models, -1), reduction="none"
            )
            mine = own[:, batch]
            optimizer.zero_grad()
            ((losses * mine).sum(1) / mine.sum(1).clamp(min=1)).sum().backward()
            optimizer.step()
    with torch.no_grad():
        outputs = _logits(records, weights).numpy()
    return np.array([logit_margin(each.astype(np.float64), y) for each in outputs])


def _logits(records: Any, weights: list[Any]) -> Any:
    first, first_bias, second, second_bias = weights
    return (records @ first + first_bias).relu() @ second + second_bias
