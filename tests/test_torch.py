"""`leakscore.torch`: against one backward pass a sample where PyTorch is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from leakscore import Reference, validation
from leakscore.torch import fit_reference, per_sample_gradients
from leakscore.whitebox import clip
from tests.runtime.test_isa import run_python

INSTALLED = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not INSTALLED, reason="PyTorch is not installed")


@pytest.fixture
def example() -> tuple[Any, ...]:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.manual_seed(3)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Tanh(), torch.nn.Linear(18, 4)
    )
    module[0].bias.requires_grad_(False)
    return module, torch.nn.functional.cross_entropy, torch.randn(11, 1, 5, 5), torch.arange(11) % 4


def backward(module: Any, loss: Any, inputs: Any, targets: Any) -> np.ndarray:
    """Return the gradients of a plain loop."""
    rows = []
    for x, y in zip(inputs, targets, strict=True):
        module.zero_grad()
        loss(module(x[None]), y[None]).backward()
        parts = [p.grad.flatten() for p in module.parameters() if p.requires_grad]
        rows.append(np.concatenate([part.numpy() for part in parts]))
    module.zero_grad()
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize("chunk_size", [1, 4, 100, None])
def test_gradients_are_those_of_backward(example: tuple[Any, ...], chunk_size: int | None) -> None:
    rows = per_sample_gradients(*example, chunk_size=chunk_size)
    np.testing.assert_allclose(rows.numpy(), backward(*example), rtol=1e-4, atol=1e-6)
    assert not rows.requires_grad
    assert all(parameter.grad is None for parameter in example[0].parameters())


@pytest.mark.parametrize("c", [1e-3, 1.0, 1e6])
def test_clipping_is_that_of_whitebox(example: tuple[Any, ...], c: float) -> None:
    clipped = per_sample_gradients(*example, c=c).numpy()
    raw = per_sample_gradients(*example).numpy()
    np.testing.assert_allclose(clipped, clip(raw, c), rtol=1e-5, atol=1e-6 * c)


@needs_torch
@pytest.mark.parametrize(
    ("precision", "size", "c", "error"),
    [("float16", 30.0, 1e-3, 1e-3), ("bfloat16", 30.0, 1e-3, 1e-2), ("float32", 1e37, 1e-10, 2e-7)],
)
def test_factors_that_the_precision_lacks(
    precision: str, size: float, c: float, error: float
) -> None:
    """Factors of 1e-6 and 1e-48: one fifth off in half precision, and 0 in single precision."""
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    line = torch.nn.Linear(50, 1, bias=False).to(getattr(torch, precision))
    x = (size * torch.randn(20, 50)).to(line.weight.dtype)
    rows = per_sample_gradients(line, lambda outputs, _: outputs.sum(), x, x, c=c).double().numpy()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), c, rtol=error)
    length = np.linalg.norm(x.double().numpy(), axis=1, keepdims=True)
    np.testing.assert_allclose(rows, c * x.double().numpy() / length, rtol=error, atol=1e-4 * c)


@pytest.mark.parametrize("cov", ["diagonal", "full"])
def test_one_pass_fits_the_reference_of_all_rows(example: tuple[Any, ...], cov: Any) -> None:
    module, loss, inputs, targets = example
    batches = [(inputs[part], targets[part]) for part in (slice(0, 4), slice(4, 5), slice(5, 11))]
    found = fit_reference(module, loss, iter(batches), c=0.7, cov=cov, ridge=0.01, ddof=1)
    rows = per_sample_gradients(*example, c=0.7).numpy()
    expected = Reference.fit(rows, cov, ridge=0.01, ddof=1)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.cov, expected.cov, rtol=1e-5, atol=1e-8)


def test_what_cannot_be_differentiated(example: tuple[Any, ...]) -> None:
    module, loss, inputs, targets = example
    with pytest.raises(ValueError, match="targets"):
        per_sample_gradients(module, loss, inputs, targets[:-1])
    with pytest.raises(TypeError, match="module"):
        per_sample_gradients(loss, loss, inputs, targets)
    with pytest.raises(ValueError, match="c=0"):
        per_sample_gradients(module, loss, inputs, targets, c=0.0)
    with pytest.raises(ValueError, match="finite"):
        per_sample_gradients(module, loss, inputs * float("nan"), targets)
    with pytest.raises(TypeError, match=r"inputs must be a torch\.Tensor, not ndarray"):
        per_sample_gradients(module, loss, inputs.numpy(), targets)
    with pytest.raises(ValueError, match="targets must have a sample a row"):
        per_sample_gradients(module, loss, inputs, targets[0])
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(ValueError, match="requires_grad"):
        per_sample_gradients(module, loss, inputs, targets)


@pytest.mark.parametrize(
    ("precision", "tolerance"), [("float64", 1e-12), ("float16", 5e-3), ("bfloat16", 4e-2)]
)
def test_every_precision(example: tuple[Any, ...], precision: str, tolerance: float) -> None:
    torch = pytest.importorskip("torch")
    module, loss, inputs, targets = example
    expected = clip(backward(module.double(), loss, inputs.double(), targets), 0.5)
    dtype = getattr(torch, precision)
    rows = per_sample_gradients(module.to(dtype), loss, inputs.to(dtype), targets, c=0.5)
    assert rows.dtype == dtype
    np.testing.assert_allclose(rows.double().numpy(), expected, rtol=0, atol=tolerance / 2)
    found = fit_reference(module, loss, [(inputs.to(dtype), targets)], c=0.5)
    np.testing.assert_allclose(found.mean, expected.mean(axis=0), rtol=0, atol=tolerance / 2)


def test_results_have_no_graph_and_are_not_copied(example: tuple[Any, ...]) -> None:
    module, loss, inputs, targets = example
    rows = per_sample_gradients(module, loss, inputs.requires_grad_(), targets, c=1.0)
    assert not rows.requires_grad
    assert rows.is_contiguous()
    assert np.shares_memory(validation.matrix("rows", rows), rows.numpy())
    assert Reference.fit(rows, "low-rank").mean.shape == (rows.shape[1],)


def test_samples_that_a_module_mixes_have_no_gradient_of_their_own() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    total = lambda outputs, targets: (outputs - targets).square().sum()  # noqa: E731
    inputs, targets = torch.randn(5, 3), torch.randn(5, 4)
    with pytest.raises(ValueError, match=r"but 1 is a BatchNorm1d.*module\.eval\(\)"):
        per_sample_gradients(module, total, inputs, targets)
    rows = per_sample_gradients(module.eval(), total, inputs, targets)
    np.testing.assert_allclose(rows, backward(module, total, inputs, targets), rtol=1e-4, atol=1e-6)
    module[1] = torch.nn.BatchNorm1d(4, track_running_stats=False).eval()
    with pytest.raises(ValueError, match="normalises over the batch"):
        per_sample_gradients(module, total, inputs, targets)


def test_weights_that_are_used_twice_and_those_that_are_not() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4))
    module[2].weight = module[0].weight
    module.spare = torch.nn.Linear(4, 1)
    module.forward = lambda x: module[2](module[1](module[0](x)))
    total = lambda outputs, targets: (outputs - targets).square().sum()  # noqa: E731
    inputs, targets = torch.randn(3, 4), torch.randn(3, 4)
    rows = per_sample_gradients(module, total, inputs, targets).numpy()
    assert not rows[:, 24:].any()
    module.spare.requires_grad_(False)
    np.testing.assert_allclose(
        rows[:, :24], backward(module, total, inputs, targets), rtol=1e-4, atol=1e-5
    )


def test_a_data_loader_is_read_once(example: tuple[Any, ...]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    module, loss, inputs, targets = example
    data = torch.utils.data.TensorDataset(inputs, targets)
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    found = fit_reference(module, loss, loader)
    expected = fit_reference(module, loss, [[inputs, targets]])
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-5, atol=1e-8)
    for batch in (inputs, (inputs,), (inputs, targets, targets), {"x": inputs}):
        with pytest.raises(TypeError, match=r"pairs \(inputs, targets\).*, not a "):
            fit_reference(module, loss, [batch])
    with pytest.raises(ValueError, match="at least 2"):
        fit_reference(module, loss, [])


@needs_torch
def test_the_examples_run() -> None:
    code = "import doctest, leakscore.torch; assert not doctest.testmod(leakscore.torch).failed"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "call",
    ["per_sample_gradients(None, None, [], [])", "fit_reference(None, None, [])"],
)
def test_without_pytorch_the_remedy_is_named(call: str) -> None:
    done = run_python(
        "import sys; sys.modules['torch'] = None; import leakscore.torch as room; "
        f"room.{call}"
    )  # fmt: skip
    assert done.returncode != 0
    assert "ImportError: leakscore.torch needs PyTorch" in done.stderr
    assert "pip install torch --index-url" in done.stderr


def test_nothing_imports_it() -> None:
    code = (
        "import sys, leakscore.whitebox, leakscore_app.cli;"
        " assert 'leakscore.torch' not in sys.modules"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr
