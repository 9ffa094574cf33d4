"""`leakscore.torch` on batches of any parts with a loss of the model and the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference
from leakscore.torch import fit_reference, per_sample_gradients

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


class Pooled(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The mean of embedded tokens under a mask, and a line of it."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(7, 3)
        self.out = torch.nn.Linear(3, 2)

    def forward(self, ids: Any, mask: Any) -> Any:
        weights = mask / mask.sum(dim=1, keepdim=True)
        return self.out((self.words(ids) * weights.unsqueeze(2)).sum(dim=1))


def weighted_loss(model: Any, batch: Any) -> Any:
    outputs = model(batch["ids"], mask=batch["mask"])
    losses = torch.nn.functional.cross_entropy(outputs, batch["labels"], reduction="none")
    return (losses * batch["weight"]).mean()


@pytest.fixture
def batch() -> dict[str, Any]:
    torch.manual_seed(4)
    mask = (torch.arange(5) < torch.randint(1, 6, (9, 1))).float()
    labels, weight = torch.arange(9) % 2, torch.linspace(0.5, 2.0, 9)
    return {"ids": torch.randint(0, 7, (9, 5)), "mask": mask, "labels": labels, "weight": weight}


def backward(module: Any, loss: Any, pieces: list[Any]) -> np.ndarray:
    """Return the gradients of a plain loop over batches of one."""
    rows = []
    for piece in pieces:
        module.zero_grad()
        loss(module, piece).backward()
        rows.append(torch.cat([p.grad.flatten() for p in module.parameters()]).double().numpy())
    module.zero_grad()
    return np.array(rows)


@pytest.mark.parametrize("chunk_size", [2, None])
def test_a_dict_is_a_batch(batch: dict[str, Any], chunk_size: int | None) -> None:
    module = Pooled()
    rows = per_sample_gradients(module, weighted_loss, batch, chunk_size=chunk_size)
    assert rows.dtype == torch.float32
    pieces = [{name: part[i : i + 1] for name, part in batch.items()} for i in range(9)]
    expected = backward(module, weighted_loss, pieces)
    np.testing.assert_allclose(rows.numpy(), expected, rtol=1e-4, atol=1e-6)
    assert not rows.requires_grad


def test_a_batch_of_three_parts_or_of_parts_in_parts(batch: dict[str, Any]) -> None:
    module = Pooled()
    plain = per_sample_gradients(module, weighted_loss, batch)

    def of_parts(model: Any, parts: Any) -> Any:
        text, labels, weight = parts
        return weighted_loss(model, {**text, "labels": labels, "weight": weight})

    text = {"ids": batch["ids"], "mask": batch["mask"]}
    for kind in (tuple, list):
        parts = kind([text, batch["labels"], batch["weight"]])
        np.testing.assert_array_equal(per_sample_gradients(module, of_parts, parts), plain)


def test_one_pass_fits_the_reference_of_dicts(batch: dict[str, Any]) -> None:
    module = Pooled()
    parts = [{name: part[i] for name, part in batch.items()} for i in (slice(0, 4), slice(4, 9))]
    estimate = fit_reference(module, weighted_loss, parts, loss_takes="batch", c=0.1)
    rows = per_sample_gradients(module, weighted_loss, batch, c=0.1).numpy()
    expected = Reference.fit(rows, "diagonal")
    np.testing.assert_allclose(estimate.mean, expected.mean, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(estimate.cov, expected.cov, rtol=1e-4, atol=1e-10)


def test_a_pair_may_be_a_batch_too() -> None:
    module = torch.nn.Linear(3, 2)
    x, y = torch.randn(6, 3), torch.arange(6) % 2
    loss = torch.nn.functional.cross_entropy
    whole = lambda model, pair: loss(model(pair[0]), pair[1])  # noqa: E731
    plain = per_sample_gradients(module, loss, x, y)
    np.testing.assert_array_equal(per_sample_gradients(module, whole, (x, y)), plain)
    by_batch = fit_reference(module, whole, [(x, y)], loss_takes="batch")
    np.testing.assert_array_equal(by_batch.mean, fit_reference(module, loss, [(x, y)]).mean)


def test_parts_that_are_refused_are_named(batch: dict[str, Any]) -> None:
    module = Pooled()
    for change, error, message in (
        ({"mask": None}, TypeError, r"inputs\['mask'\] must be a torch\.Tensor, not NoneType"),
        ({"ids": batch["ids"].numpy()}, TypeError, r"inputs\['ids'\].*ndarray"),
        ({"weight": torch.tensor(1.0)}, ValueError, r"inputs\['weight'\] must have a sample a row"),
        ({"labels": batch["labels"][:8]}, ValueError, r"inputs\['labels'\] of length 8"),
        ({"mask": batch["mask"] * float("nan")}, ValueError, "finite"),
    ):
        with pytest.raises(error, match=message):
            per_sample_gradients(module, weighted_loss, {**batch, **change})
    with pytest.raises(ValueError, match="inputs must be of the same length"):
        per_sample_gradients(module, weighted_loss, {})
    with pytest.raises(TypeError, match="targets must be given with inputs that are a"):
        per_sample_gradients(module, weighted_loss, batch["ids"])
    with pytest.raises(TypeError, match="loss must return a Tensor, not dict"):
        per_sample_gradients(module, lambda model, part: {"loss": 1.0}, batch)
    with pytest.raises(ValueError, match="loss_takes='model'"):
        fit_reference(module, weighted_loss, [batch], loss_takes="model")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="loss_takes='batch'"):
        fit_reference(module, weighted_loss, [batch])
