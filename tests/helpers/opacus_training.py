"""A small training by Opacus itself, where it is installed."""

from __future__ import annotations

from typing import Any


def trained(steps: int, epsilon: float | None = None, **options: Any) -> tuple[Any, Any]:
    """Give an engine of Opacus after `steps` steps of a small model, and its optimizer."""
    import torch
    from opacus import PrivacyEngine

    torch.manual_seed(1)
    module = torch.nn.Linear(3, 2)
    data = torch.utils.data.TensorDataset(torch.randn(40, 3), torch.arange(40) % 2)
    engine = PrivacyEngine(accountant="leakscore")
    options = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, **options}
    options |= {"module": module, "optimizer": torch.optim.SGD(module.parameters(), lr=0.1)}
    options |= {"data_loader": torch.utils.data.DataLoader(data, batch_size=4)}
    make = engine.make_private
    if epsilon is not None:
        del options["noise_multiplier"]
        options |= {"target_epsilon": epsilon, "target_delta": 1e-3, "epochs": 2}
        make = engine.make_private_with_epsilon
    module, optimizer, loader = make(**options)
    batches = [batch for _ in range(-(-steps // 10)) for batch in loader][:steps]
    for x, y in batches:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()
    return engine, optimizer
