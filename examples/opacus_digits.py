"""DP-SGD on digits with Opacus: what its training may leak, certified, and what canaries show.

A network of one hidden layer learns scikit-learn's digits, on one core in five seconds. The
accountant is leakscore's: it gives the trade-off curve of the whole training, between certified
ends. 500 of the records are canaries, with labels drawn at random. A coin decides whether a canary
is in; the gradients of those that are out are multiplied by 0, which is the relation of the curve.
After the training, guesses by the canaries' losses bound epsilon from below.

Run it: pip install 'leakscore[opacus]' scikit-learn && python examples/opacus_digits.py
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from leakscore import audit
from leakscore.opacus import Accountant  # which registers it as "leakscore"

CANARIES, TEST, BATCH, EPOCHS, DELTA = 500, 297, 60, 30, 1e-5


def data(rng: np.random.Generator) -> tuple[Any, Any, np.ndarray]:
    """Return the training set, with a weight for each record, the test set and the coins."""
    X, y = load_digits(return_X_y=True)
    order = rng.permutation(len(X))
    X, y = X[order] / 16.0, y[order]
    y[:CANARIES] = rng.integers(0, 10, CANARIES)
    weight = np.ones(len(X))
    weight[:CANARIES] = rng.random(CANARIES) < 0.5
    tensors = [torch.tensor(part) for part in (X.astype(np.float32), y, weight.astype(np.float32))]
    train = TensorDataset(*(tensor[:-TEST] for tensor in tensors))
    test = TensorDataset(*(tensor[-TEST:] for tensor in tensors))
    return train, test, weight[:CANARIES] > 0


def losses(module: Any, x: Any, y: Any) -> Any:
    """Return the loss of every record."""
    return torch.nn.functional.cross_entropy(module(x), y, reduction="none")


def train(records: Any, noise: float, epochs: int) -> tuple[Any, Accountant]:
    """Train with Opacus; return the model and the accountant."""
    module = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the random generator, and of hooks
        engine = PrivacyEngine(accountant="leakscore")
        module, optimizer, loader = engine.make_private(
            module=module,
            optimizer=torch.optim.SGD(module.parameters(), lr=1.0),
            data_loader=DataLoader(records, batch_size=BATCH),
            noise_multiplier=noise,
            max_grad_norm=1.0,
        )
        for _ in range(epochs):
            for x, y, weight in loader:
                optimizer.zero_grad()
                (weight * losses(module, x, y)).mean().backward()
                optimizer.step()
    return module, engine.accountant


def main(epochs: int = EPOCHS) -> None:
    """Train at two noises, and audit."""
    for noise in (0.6, 1.5):
        rng = np.random.default_rng(7)
        torch.manual_seed(7)
        records, test, member = data(rng)
        module, accountant = train(records, noise, epochs)
        curve = accountant.curve()
        low, high = curve.interval("epsilon", DELTA)
        with torch.no_grad():
            x, y, _ = test.tensors
            accuracy = float((module(x).argmax(dim=1) == y).float().mean())
            x, y, _ = records.tensors
            scores = -losses(module, x[:CANARIES], y[:CANARIES]).double().numpy()
        bound = audit.one_run(scores, member, k_plus=50, k_minus=50, delta=DELTA)
        print(f"noise {noise}: {len(accountant)} steps, {accuracy:.1%} of the test digits right")
        print(f"  epsilon({DELTA}) is between {low:.5f} and {high:.5f} ({curve.neighbours})")
        print(f"  power at 0.1 %: {curve.power(1e-3):.4f}, at 1 %: {curve.power(1e-2):.4f}")
        print(f"  advantage: {curve.advantage():.4f}, best guess: {curve.bayes(0.5):.4f}")
        print(f"  canaries: {bound.correct} of 100 guesses right, epsilon >= {bound.epsilon:.3f}")


if __name__ == "__main__":
    main()
