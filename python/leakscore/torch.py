"""Per-sample gradients of PyTorch modules, and references of them, for `leakscore.whitebox`.

An optional room: nothing else imports it, and it imports PyTorch (2.0 or later) only when it is
used. The CPU build suffices:
``pip install torch --index-url https://download.pytorch.org/whl/cpu``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from leakscore import validation
from leakscore.reference import Moments, Reference

if TYPE_CHECKING:
    import torch

__all__ = ["fit_reference", "per_sample_gradients"]

# Many samples at once cost fewer calls, but the allocator maps larger temporaries again each time.
_CHUNK_BYTES, _CHUNK_SAMPLES = 1 << 24, 128
_ROUNDED = 1e-7  # relative error of a factor in single precision, at most


def per_sample_gradients(
    module: torch.nn.Module,
    loss: Callable[[Any, Any], torch.Tensor],
    inputs: Any,
    targets: torch.Tensor | None = None,
    *,
    c: float | None = None,
    chunk_size: int | None = None,
) -> torch.Tensor:
    """Gradient of the loss of every sample, clipped as in DP-SGD, one a row.

    Parameters
    ----------
    module : torch.nn.Module
        The model, on any device. Batch normalisation mixes samples, has no per-sample gradient and
        is refused: put the module in ``eval`` mode or use group normalisation. Dropout in ``train``
        mode draws a mask for each sample.
    loss : callable
        Maps the module's outputs and the targets, both for a batch of one, to its loss. Without
        `targets` it is ``loss(model, batch)``: `model` is called as the module is, and `batch` is a
        batch of one.
    inputs : (B, ...) Tensor, or dict, list or tuple of them
        Samples, on the module's device. A dict, list or tuple, which may hold others, is a batch
        for ``loss(model, batch)``.
    targets : (B, ...) Tensor, optional
        Their labels.
    c : float, optional
        Clipping norm, above 0: longer rows are scaled down to it. Without it nothing is clipped.
    chunk_size : int, optional
        Samples that are differentiated together, at least 1; by default as many as have 16 MB of
        gradients, but no more than 128. Beside the result, memory holds the gradients of one chunk,
        and what its backward passes keep.

    Returns
    -------
    (B, d) Tensor
        Without a graph, on the module's device and in its precision. The columns are the parameters
        with ``requires_grad`` in the order of ``module.named_parameters()``, each flattened, as
        ``torch.nn.utils.parameters_to_vector`` orders theta. Gradients are written to their place
        as they come. leakscore and ``.numpy()`` read a CPU result without a copy (bfloat16, which
        numpy lacks, after ``.float()``).

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    TypeError
        If `module` is not a module, a part of `inputs` or `targets` is not a tensor, `targets` is
        missing or has nothing to do with a batch, or `loss` does not return a tensor.
    ValueError
        If the parts of a batch differ in their number of samples, or have none, no parameter needs
        a gradient, the module mixes samples, a gradient is not finite, or a number is out of its
        range.

    Notes
    -----
    ``torch.func.vmap`` of ``grad``. Norms are summed in float64. The clipped rows are rounded to
    the module's precision, which may leave a norm above `c`: by 2e-7 of it in single precision,
    1e-3 in half precision, 1e-2 in bfloat16, and more where entries are below its normal numbers.

    Examples
    --------
    >>> import torch
    >>> from leakscore.torch import per_sample_gradients
    >>> line = torch.nn.Linear(2, 1, bias=False)
    >>> mean = lambda outputs, targets: outputs.mean()
    >>> x = torch.tensor([[3.0, 4.0], [0.25, 0.0]])
    >>> per_sample_gradients(line, mean, x, x, c=1.0).tolist()[1]
    [0.25, 0.0]
    """
    pytorch = _pytorch()
    parameters = _trainable(module, pytorch)
    bound = None if c is None else validation.scalar("c", c, 0.0, closed="neither")
    step = _chunk(parameters) if chunk_size is None else chunk_size
    step = validation.count("chunk_size", step, low=1)
    batch = inputs if targets is None else (inputs, targets)
    parts = _parts("inputs", inputs)
    samples = _samples(parts if targets is None else {**parts, "targets": targets}, pytorch)
    if targets is None and len(parts) == 1 and "inputs" in parts:
        raise TypeError(
            "targets must be given with inputs that are a Tensor; a batch is a dict or tuple"
        )

    def sample_loss(theta: dict[str, Any], sample: Any) -> Any:
        def model(*args: Any, **kwargs: Any) -> Any:
            return pytorch.func.functional_call(module, theta, args, kwargs)

        single = _map_tensors(sample, lambda tensor: tensor.unsqueeze(0))
        value = loss(model, single) if targets is None else loss(model(single[0]), single[1])
        if not isinstance(value, pytorch.Tensor):
            raise TypeError(f"loss must return a Tensor, not {type(value).__name__}")
        return value.sum()

    gradients = pytorch.func.vmap(
        pytorch.func.grad(sample_loss), in_dims=(None, 0), randomness="different"
    )
    with pytorch.no_grad():  # no graph of the inputs; `grad` makes its own in any case
        rows: torch.Tensor = _empty_rows(samples, list(parameters.values()), pytorch)
        for start in range(0, samples, step):
            part = slice(start, start + step)
            piece = _map_tensors(batch, operator.itemgetter(part))
            _write(gradients(parameters, piece), rows[part])
            _clip(rows[part], bound, pytorch)
    return rows


def fit_reference(
    module: torch.nn.Module,
    loss: Callable[[Any, Any], torch.Tensor],
    loader: Iterable[Any],
    *,
    loss_takes: Literal["outputs", "batch"] = "outputs",
    c: float | None = None,
    chunk_size: int | None = None,
    cov: Literal["full", "diagonal"] = "diagonal",
    shrinkage: float | Literal["oas"] | None = None,
    ridge: float = 0.0,
    ddof: int = 0,
) -> Reference:
    """Fit the reference of one clipped gradient in one pass over a data loader.

    Parameters
    ----------
    module : torch.nn.Module
        The model, as for `per_sample_gradients`.
    loss : callable
        Loss of a batch of one, as for `per_sample_gradients`.
    loader : iterable
        Batches of any sizes, such as a ``DataLoader``, on the module's device: pairs of inputs and
        targets, or with ``loss_takes="batch"`` dicts, lists or tuples. Only one batch's gradients
        are held at a time.
    loss_takes : {"outputs", "batch"}
        ``loss(outputs, targets)``, or ``loss(model, batch)``.
    c : float, optional
        Clipping norm, above 0.
    chunk_size : int, optional
        Samples that are differentiated together.
    cov : {"diagonal", "full"}
        The variances alone, or the d x d matrix.
    shrinkage, ridge, ddof
        As for `leakscore.Moments.reference`.

    Returns
    -------
    Reference
        Mean and covariance of the gradients of all batches.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    TypeError, ValueError
        If a batch is not of the kind that `loss_takes` says, there are fewer than two samples, or
        `per_sample_gradients` raises it.

    Examples
    --------
    >>> import torch
    >>> from leakscore.torch import fit_reference
    >>> line = torch.nn.Linear(1, 1, bias=False)
    >>> mean = lambda outputs, targets: outputs.mean()
    >>> batches = [(x, torch.zeros(len(x))) for x in torch.tensor([[1.0], [2.0], [6.0]]).split(2)]
    >>> fit_reference(line, mean, batches).mean
    array([3.])
    """
    pytorch = _pytorch()
    dim = sum(parameter.numel() for parameter in _trainable(module, pytorch).values())
    moments = Moments(dim, cov)
    whole = validation.choice("loss_takes", loss_takes, ("outputs", "batch")) == "batch"
    for batch in loader:
        parts = (batch,) if whole else _pair(batch)
        rows = per_sample_gradients(module, loss, *parts, c=c, chunk_size=chunk_size).cpu()
        half = rows.dtype in (pytorch.float16, pytorch.bfloat16)
        moments.update(rows.float() if half else rows)
    return moments.reference(shrinkage=shrinkage, ridge=ridge, ddof=ddof)


def _pytorch() -> Any:
    """Return PyTorch with `torch.func`; if it is missing, the error says how to install it."""
    try:
        import_module("torch.func")
    except ImportError as error:
        raise ImportError(
            f"leakscore.torch needs PyTorch 2.0 or later ({error}): "
            "pip install torch --index-url https://download.pytorch.org/whl/cpu"
        ) from error
    return import_module("torch")


def _trainable(module: Any, pytorch: Any) -> dict[str, Any]:
    """Return the parameters that training changes, by name."""
    if not isinstance(module, pytorch.nn.Module):
        raise TypeError(f"module={module!r} must be a torch.nn.Module")
    parameters = {
        name: parameter.detach()
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    }
    if not parameters:
        raise ValueError("module must have a parameter with requires_grad")
    for name, part in module.named_modules():
        mixes = isinstance(part, pytorch.nn.modules.batchnorm._BatchNorm)
        if mixes and (part.training or part.running_mean is None):
            raise ValueError(
                f"module must treat samples apart, but {name or 'it'} is a "
                f"{type(part).__name__} that normalises over the batch: call module.eval() or use "
                "GroupNorm"
            )
    return parameters


def _chunk(parameters: dict[str, Any]) -> int:
    """Return the number of samples to differentiate at once."""
    size = sum(parameter.numel() * parameter.element_size() for parameter in parameters.values())
    return int(min(max(_CHUNK_BYTES // max(size, 1), 1), _CHUNK_SAMPLES))


def _parts(name: str, batch: Any) -> dict[str, Any]:
    """Return the leaves of a batch of nested dicts, lists and tuples, by name."""
    if isinstance(batch, Mapping):
        pairs: Iterator[tuple[Any, Any]] = iter(batch.items())
    elif isinstance(batch, (tuple, list)):
        pairs = iter(enumerate(batch))
    else:
        return {name: batch}
    named = (_parts(f"{name}[{key!r}]", value) for key, value in pairs)
    return {key: value for parts in named for key, value in parts.items()}


def _map_tensors(batch: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to all tensors of a batch, and keep its structure."""
    if isinstance(batch, Mapping):
        return {key: _map_tensors(value, change) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        parts = [_map_tensors(value, change) for value in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return change(batch)


def _samples(parts: dict[str, Any], pytorch: Any) -> int:
    """Return the number of samples."""
    sizes = {}
    for name, value in parts.items():
        if not isinstance(value, pytorch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, not {type(value).__name__}")
        if value.ndim == 0:
            raise ValueError(f"{name} must have a sample a row, not be a number")
        sizes[name] = len(value)
    if len(set(sizes.values())) != 1 or 0 in sizes.values():
        lengths = " and ".join(f"{name} of length {size}" for name, size in sizes.items())
        raise ValueError(f"{lengths or 'inputs'} must be of the same length, at least 1")
    return next(iter(sizes.values()))


def _pair(batch: Any) -> tuple[Any, Any]:
    """Return the inputs and the targets of a batch."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        length = f" of {len(batch)}" if isinstance(batch, (tuple, list, dict)) else ""
        raise TypeError(
            "loader must yield pairs (inputs, targets), such as of a TensorDataset of two "
            f"tensors, not a {type(batch).__name__}{length}; for loss(model, batch) say "
            "loss_takes='batch'"
        )
    return batch[0], batch[1]


def _empty_rows(samples: int, parameters: list[Any], pytorch: Any) -> Any:
    """Return an empty array for all gradients, in the widest precision of the parameters."""
    dtype = reduce(pytorch.promote_types, (parameter.dtype for parameter in parameters))
    dim = sum(parameter.numel() for parameter in parameters)
    return pytorch.empty((samples, dim), dtype=dtype, device=parameters[0].device)


def _write(gradients: dict[str, Any], rows: Any) -> None:
    """Write the gradients of all parameters to adjacent columns, and free each at once."""
    start = 0
    for name in list(gradients):
        gradient = gradients.pop(name).flatten(start_dim=1)
        rows[:, start : start + gradient.shape[1]] = gradient
        start += gradient.shape[1]


def _clip(rows: Any, bound: float | None, pytorch: Any) -> None:
    """Scale long rows down to the bound, in place; refuse rows that are not finite."""
    norms = pytorch.linalg.vector_norm(rows, dim=1, dtype=pytorch.float64)
    if not bool(pytorch.isfinite(norms).all()):
        raise ValueError("gradients must be finite, but one holds NaN or inf")
    if bound is not None:
        factors = (bound / norms).clamp(max=1.0)  # 1 for zeros, as the quotient is infinite
        narrow = factors.to(rows.dtype)
        # Half precision has no factor below 6e-8, single precision none below 1e-45.
        coarse = bool(((narrow - factors).abs() > _ROUNDED * factors).any())
        rows *= (factors if coarse else narrow).unsqueeze(1)
