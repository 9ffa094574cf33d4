"""`leakscore.opacus` with Opacus installed: its checkpoints, its divisor, the example."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import tradeoff

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("opacus", reason="Opacus is not installed")

from tests.helpers import opacus_training  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Secure RNG", "ignore:Full backward hook")


def test_a_checkpoint_of_opacus_resumes(tmp_path: Any) -> None:
    engine, optimizer = opacus_training.trained(7)
    module = optimizer_module(optimizer)
    engine.save_checkpoint(path=tmp_path / "state.pt", module=module, optimizer=optimizer)
    other, fresh = opacus_training.trained(0)
    other.load_checkpoint(
        path=tmp_path / "state.pt", module=optimizer_module(fresh), optimizer=fresh
    )
    assert other.accountant.history == [(1.0, 0.1, 7)]
    with pytest.raises(ValueError, match="forget 7"):
        other.load_checkpoint(path=tmp_path / "state.pt", module=module)


def optimizer_module(optimizer: Any) -> Any:
    """A module of the optimizer's parameters, whose state Opacus saves beside ours."""
    return torch.nn.ParameterList(optimizer.params)


def test_the_divisor_of_opacus_tells_of_a_record() -> None:
    """Steps of an optimizer of Opacus with gradients of zero, divided by 500 and by 499."""
    from opacus.optimizers import DPOptimizer

    torch.manual_seed(3)
    dimension, rounds = 26_010, 1000
    squares = []
    for batch in (500, 499):
        weights = torch.nn.Parameter(torch.zeros(dimension))
        options: Any = {"noise_multiplier": 7.0, "max_grad_norm": 1.0}
        plain = torch.optim.SGD([weights], lr=1.0)
        optimizer = DPOptimizer(plain, expected_batch_size=batch, **options)
        released = []
        for _ in range(rounds):
            weights.data.zero_()
            optimizer.zero_grad()
            weights.grad_sample = torch.zeros(1, dimension)
            optimizer.step()
            released.append(float(weights.data.double().square().sum()))
        squares.append(np.array(released))
    inside, outside = squares
    attack = tradeoff.averaged_gaussian_attack(50_000, 0.01, 1, dimension)
    middle = 7.0**2 * dimension / (500.0 * 499.0)  # of the two laws: the best threshold
    advantage = (inside <= middle).mean() - (outside <= middle).mean()
    assert advantage == pytest.approx(attack.advantage(), abs=4 * np.sqrt(0.5 / rounds))
    assert advantage > 4 * np.sqrt(0.5 / rounds)


def test_the_example_trains(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    example = Path(__file__).parents[1] / "examples" / "opacus_digits.py"
    runpy.run_path(str(example))["main"](epochs=1)
    printed = capsys.readouterr().out
    assert printed.count("zero-out") == 2
    assert "25 steps" in printed
