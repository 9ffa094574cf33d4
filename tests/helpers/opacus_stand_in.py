"""What `leakscore.opacus` takes of Opacus, by the signatures of 1.6, without PyTorch."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from leakscore.opacus import Accountant


class IAccountant:
    """The base, of which every accountant is registered to be one."""

    registered: list[type] = []  # noqa: RUF012

    @classmethod
    def register(cls, kind: type) -> None:
        cls.registered.append(kind)


ACCOUNTANTS: dict[str, Any] = {"leakscore": Accountant}


def register_accountant(mechanism: str, accountant: Any, force: bool = False) -> None:
    if mechanism in ACCOUNTANTS and not force:
        raise ValueError(f"Accountant for mechanism {mechanism} is already registered")
    ACCOUNTANTS[mechanism] = accountant


class PrivacyEngine:
    """`make_private` and `make_private_with_epsilon` as far as the accountant sees them."""

    def __init__(self, *, accountant: str = "prv") -> None:
        self.accountant = ACCOUNTANTS[accountant]()

    def make_private(
        self,
        *,
        module: Any,
        optimizer: Any,
        data_loader: Any,
        noise_multiplier: float,
        max_grad_norm: float,
        poisson_sampling: bool = True,
        clipping: str = "flat",
    ) -> tuple[Any, Any, Any]:
        sample_rate = 1 / len(data_loader)
        optimizer = SimpleNamespace(noise_multiplier=noise_multiplier, accumulated_iterations=1)
        optimizer.step_hook = self.accountant.get_optimizer_hook_fn(sample_rate=sample_rate)
        return module, optimizer, data_loader

    def make_private_with_epsilon(
        self, *, target_epsilon: float, target_delta: float, epochs: int, **options: Any
    ) -> tuple[Any, Any, Any]:
        rate = 1 / len(options["data_loader"])
        accountant = ACCOUNTANTS[self.accountant.mechanism()]()

        def spent(sigma: float) -> float:
            accountant.history = [(sigma, rate, int(epochs / rate))]
            return float(accountant.get_epsilon(delta=target_delta))

        low, high = 0.0, 20.0
        while target_epsilon - spent(high) > 0.01:
            middle = (low + high) / 2
            low, high = (low, middle) if spent(middle) < target_epsilon else (middle, high)
        return self.make_private(noise_multiplier=high, **options)


class Loader(list[int]):
    """Batches of 4 of 40 records."""

    dataset = range(40)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the stand-in in the place of Opacus."""
    accountants, registry = ModuleType("opacus.accountants"), ModuleType("registry")
    accountants.IAccountant = IAccountant  # type: ignore[attr-defined]
    registry.register_accountant = register_accountant  # type: ignore[attr-defined]
    root = ModuleType("opacus")
    for name, module in (
        ("opacus", root),
        ("opacus.accountants", accountants),
        ("opacus.accountants.registry", registry),
    ):
        monkeypatch.setitem(sys.modules, name, module)


def trained(steps: int, epsilon: float | None = None, **options: Any) -> tuple[Any, Any]:
    """Give an engine after `steps` steps, and its optimizer."""
    engine = PrivacyEngine(accountant="leakscore")
    options = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, **options}
    options |= {"module": None, "optimizer": None, "data_loader": Loader(range(10))}
    make = engine.make_private
    if epsilon is not None:
        del options["noise_multiplier"]
        options |= {"target_epsilon": epsilon, "target_delta": 1e-3, "epochs": 2}
        make = engine.make_private_with_epsilon  # type: ignore[assignment]
    _, optimizer, _ = make(**options)
    for _ in range(steps):
        optimizer.step_hook(optimizer)
    return engine, optimizer
