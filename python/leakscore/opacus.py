"""An accountant of Opacus that answers with the trade-off curve of the whole training.

``import leakscore.opacus`` registers it: ``PrivacyEngine(accountant="leakscore")``. An optional
room: nothing else imports it. Opacus 1.5 or 1.6 (``pip install 'leakscore[opacus]'``); where it is
not installed, the accountant still takes steps and histories.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from leakscore import validation
from leakscore.tradeoff import TradeOff, compose, gaussian, subsampled_gaussian
from leakscore.tradeoff.premise import Premise, about

__all__ = ["Accountant"]

_RELATION = "zero-out"
_PUBLIC = "the number of records is public: the sample rate and the divisor are computed from it"
_KEYS = ("history", "mechanism", "neighbours", "plan")


class Accountant:
    """The history of a DP-SGD training, and its certified curve; Opacus' accountant "leakscore".

    It accounts for Gaussian noise on sums over Poisson samples, in steps of any noise multipliers
    and sample rates.

    Attributes
    ----------
    history : list of (float, float, int)
        Noise multiplier, sample rate and number of steps; equal steps in a row are one entry.
    plan : dict or None
        Noise multiplier, sample rate and number of records of the last ``make_private``.

    Notes
    -----
    Refused: ``poisson_sampling=False``, ``clipping="adaptive"``, which also releases a quotient by
    the number of records in the batch, gradients that are accumulated over several samples, and
    steps without noise. Opacus cannot tell whether the training takes the loader that it returns;
    the curve is about a training that does.

    Opacus computes the sample rate and the divisor from the number of records, so that the curve
    has ``neighbours="zero-out"``: the record, or zeros in place of its gradients. For a record that
    is there or not see `leakscore.tradeoff.averaged_gaussian_attack`.

    Examples
    --------
    >>> accountant = Accountant()
    >>> for _ in range(100):
    ...     accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    >>> accountant.history, len(accountant)
    ([(1.0, 0.01, 100)], 100)
    >>> print(round(accountant.get_epsilon(1e-5), 3), round(accountant.curve().power(0.01), 3))
    0.718 0.015
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []
        self.plan: dict[str, Any] | None = None

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Account for one step.

        Parameters
        ----------
        noise_multiplier : float
            Standard deviation of the noise over the clipping norm; positive.
        sample_rate : float
            Of Poisson sampling, in (0, 1].

        Raises
        ------
        TypeError, ValueError
            If an argument is no number in its range.
        """
        last = self.history[-1] if self.history else None
        noise, rate, count = _entry((noise_multiplier, sample_rate, 1))
        if last is not None and tuple(last[:2]) == (noise, rate):
            self.history[-1] = (noise, rate, last[2] + count)
        else:
            self.history.append((noise, rate, count))

    def __len__(self) -> int:
        return sum(entry[2] for entry in self.history)

    def curve(self) -> TradeOff:
        """Return the certified trade-off curve of all steps.

        Returns
        -------
        TradeOff
            A guarantee with ``neighbours="zero-out"``, see `leakscore.tradeoff.compose`.

        Raises
        ------
        TypeError, ValueError
            If an entry of `history` is no noise multiplier, sample rate and number of steps.
        """
        entries = [_entry(entry) for entry in self.history]
        steps = [subsampled_gaussian(*entry) for entry in entries]
        whole = compose(steps) if steps else gaussian(0.0)
        return about(whole, Premise(_RELATION, (*whole.assumptions, _PUBLIC)))

    def get_epsilon(self, delta: float) -> float:
        """Return the certified upper end of epsilon.

        Parameters
        ----------
        delta : float
            In [0, 1].

        Returns
        -------
        float
            0 before the first step.

        Raises
        ------
        TypeError, ValueError
            If delta is no number in its range, or `curve` raises it.
        """
        return float(self.curve().epsilon(delta))

    @classmethod
    def mechanism(cls) -> str:
        """Return the name by which Opacus knows this accountant.

        Returns
        -------
        str
            "leakscore".
        """
        return "leakscore"

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return what Opacus calls after every step's noise.

        Parameters
        ----------
        sample_rate : float
            Of Poisson sampling, in (0, 1].

        Returns
        -------
        callable
            Takes the optimizer and accounts for its step.

        Raises
        ------
        ValueError
            If ``make_private`` was called with an option that is not accounted for, or something
            else calls this.
        """
        # Opacus hands over the rate alone: whether batches are Poisson samples is known to the
        # function that calls.
        options = sys._getframe(1).f_locals
        if "poisson_sampling" not in options:
            raise ValueError(
                "get_optimizer_hook_fn must be called by PrivacyEngine.make_private, which "
                "says how batches are drawn; call step for each Poisson sample instead"
            )
        if not options["poisson_sampling"]:
            raise ValueError(
                "poisson_sampling must be True, not False: batches of a shuffled list have "
                "another curve; see tradeoff.shuffled_gaussian and fixed_batch_gaussian"
            )
        if options.get("clipping") == "adaptive":
            raise ValueError(
                "clipping must be 'flat' or 'per_layer', not 'adaptive': it divides by the number "
                "of records in the batch, which no noise covers"
            )
        rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
        records = len(options["data_loader"].dataset) if "data_loader" in options else None
        noise = options.get("noise_multiplier")
        self.plan = {"noise_multiplier": noise, "sample_rate": rate, "num_records": records}

        def account(optimizer: Any) -> None:
            batches = int(optimizer.accumulated_iterations)
            if batches != 1:
                raise ValueError(
                    f"A step must have one Poisson sample, not gradients of {batches}: a record "
                    "may be in several; enlarge the sample and take BatchMemoryManager for memory"
                )
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return account

    def state_dict(self, destination: Any = None) -> Any:
        """Return all that a resumed training needs.

        Parameters
        ----------
        destination : dict, optional
            Where to write; by default a new one.

        Returns
        -------
        dict
            history, mechanism, neighbours and plan.
        """
        state = OrderedDict[str, Any]() if destination is None else destination
        values = (list(self.history), self.mechanism(), _RELATION, self.plan and dict(self.plan))
        state.update(zip(_KEYS, values, strict=True))
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from what `state_dict` returned.

        Parameters
        ----------
        state_dict : dict
            The state of an accountant of this class.

        Raises
        ------
        TypeError
            If it is no dict.
        ValueError
            If it is of another mechanism, lacks a key or has a broken history, if this accountant
            has taken steps, which would be forgotten, or if ``make_private`` was called with other
            parameters than those of the state.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"state_dict={state_dict!r} must be a dict")
        missing = [key for key in _KEYS if key not in state_dict]
        if "mechanism" in missing or state_dict["mechanism"] != self.mechanism():
            raise ValueError(
                f"mechanism={state_dict.get('mechanism')!r} of state_dict must be "
                f"{self.mechanism()!r}; the history of another accountant can be set as `history`"
            )
        if missing:
            raise ValueError(f"state_dict must hold {missing[0]!r}")
        if state_dict["neighbours"] != _RELATION:
            raise ValueError(
                f"neighbours={state_dict['neighbours']!r} of state_dict must be {_RELATION!r}"
            )
        if len(self):
            raise ValueError(
                f"The accountant must have no steps yet: loading would forget {len(self)}; load "
                "into a new PrivacyEngine"
            )
        history = [_entry(entry) for entry in state_dict["history"]]
        self._require_plan(state_dict["plan"])
        self.history = history
        self.plan = state_dict["plan"] and dict(state_dict["plan"])

    def _require_plan(self, plan: Mapping[str, Any] | None) -> None:
        """Refuse a state of other parameters than those of this engine."""
        for name, value in (self.plan or {}).items():
            stated = None if plan is None else plan.get(name)
            if stated != value:
                raise ValueError(
                    f"{name}={stated!r} of state_dict must be {value!r}, as in "
                    "make_private; where the training changes on purpose, load the state before "
                    "make_private, and both parts are composed"
                )


def _entry(entry: Iterable[Any]) -> tuple[float, float, int]:
    """Check an entry of a history."""
    parts = tuple(entry) if isinstance(entry, (tuple, list)) else ()
    if len(parts) != 3:
        raise ValueError(f"{entry!r} of history must be (noise_multiplier, sample_rate, num_steps)")
    return (
        validation.scalar("noise_multiplier", parts[0], 0.0, closed="neither"),
        validation.scalar("sample_rate", parts[1], 0.0, 1.0, closed="right"),
        validation.steps("num_steps", parts[2]),
    )


def _register() -> None:
    """Tell Opacus of the accountant, where it is installed."""
    try:
        accountants = import_module("opacus.accountants")
    except ModuleNotFoundError as error:
        if error.name != "opacus":
            raise
        return
    accountants.IAccountant.register(Accountant)
    registry = import_module("opacus.accountants.registry")
    registry.register_accountant(Accountant.mechanism(), Accountant, force=True)


_register()
