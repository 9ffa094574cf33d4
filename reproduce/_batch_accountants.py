"""What other accountants say of the schemes of `reproduce.batches`, where they are installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

MISSING = "not installed"


def epsilons(
    rate: float,
    steps: int,
    largest: int,
    records: int,
    noises: Sequence[float],
    delta: float,
) -> dict[str, list[float | str]]:
    """Return the epsilon of each accountant and scheme at every noise.

    Parameters
    ----------
    rate : float
        Size of a batch over the number of records.
    steps : int
        Steps of the training.
    largest : int
        Size at which Poisson batches are cut.
    records : int
        Number of records.
    noises : sequence of float
        Noise over the clipping norm.
    delta : float

    Returns
    -------
    dict of list
        "not installed" where an accountant is missing.
    """
    batch = round(rate * records)
    asked: dict[str, Callable[[float], float]] = {
        "dp-accounting, Poisson": lambda noise: _poisson(noise, rate, steps, delta),
        f"dp-accounting, cut at {largest}": lambda noise: _truncated(
            noise, rate, largest, records, steps, delta
        ),
        "dp-accounting, fixed (RDP)": lambda noise: _fixed(noise, batch, records, steps, delta),
        "jax-privacy, fixed": lambda noise: _jax_fixed(noise, batch, records, steps, delta),
    }
    return {name: [_asked(one, noise) for noise in noises] for name, one in asked.items()}


def _asked(accountant: Callable[[float], float], noise: float) -> float | str:
    try:
        return accountant(noise)
    except ImportError:
        return MISSING


def _poisson(noise: float, rate: float, steps: int, delta: float) -> float:
    dp: Any = import_module("dp_accounting")
    event = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise))
    return float(_pld().compose(event, steps).get_epsilon(delta))


def _truncated(
    noise: float, rate: float, largest: int, records: int, steps: int, delta: float
) -> float:
    dp: Any = import_module("dp_accounting")
    event = dp.dp_event.TruncatedSubsampledGaussianDpEvent(records, rate, largest, noise)
    return float(_pld().compose(event, steps).get_epsilon(delta))


def _fixed(noise: float, batch: int, records: int, steps: int, delta: float) -> float:
    dp: Any = import_module("dp_accounting")
    rdp: Any = import_module("dp_accounting.rdp")
    # Its multiplier is over the sensitivity of a replacement, which is twice the clipping norm.
    event = dp.SampledWithoutReplacementDpEvent(records, batch, dp.GaussianDpEvent(noise / 2.0))
    accountant = rdp.RdpAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_ONE)
    return float(accountant.compose(event, steps).get_epsilon(delta))


def _jax_fixed(noise: float, batch: int, records: int, steps: int, delta: float) -> float:
    jax: Any = import_module("jax_privacy.accounting")
    if not hasattr(jax, "DpsgdTrainingAccountant"):  # after 2.0 its event is that of dp-accounting
        return _fixed(noise, batch, records, steps, delta)
    asked = jax.DpParams(
        noise_multipliers=noise,
        num_samples=records,
        delta=delta,
        batch_size=batch,
        sampling_method=jax.SamplingMethod.FIXED_BATCH_SIZE,
    )
    accountant = jax.DpsgdTrainingAccountant(jax.PldAccountantConfig())
    return float(accountant.compute_epsilon(steps, asked))


def _pld() -> Any:
    return import_module("dp_accounting.pld").PLDAccountant()
