"""What accountants say of the same mechanisms: docs/reference/accountants.md."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore.tradeoff import (
    TradeOff,
    approximate_dp,
    from_pld,
    from_profile,
    from_rdp,
    subsampled_gaussian,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "accountants.md"
ALPHA = np.array([1e-4, 1e-3, 1e-2])
DELTA, DELTAS = 1e-5, np.logspace(-2.0, -8.0, 7)
STEPS_DRAWN = 300_000_000  # of the simulation of one mechanism
Betas = npt.NDArray[np.float64]


class Mechanism(NamedTuple):
    """Gaussian noise on Poisson samples."""

    noise: float
    rate: float
    steps: int


MECHANISMS = [
    Mechanism(0.2, 0.0001, 100),
    Mechanism(0.3, 0.001, 1000),
    Mechanism(0.5, 0.002, 10_000),
    Mechanism(0.5, 0.02, 50),
    Mechanism(0.7, 0.01, 1000),
    Mechanism(1.0, 0.001, 10_000),
    Mechanism(1.0, 0.01, 1000),
    Mechanism(1.15, 0.0075, 400),
    Mechanism(2.7, 0.08, 1000),
    Mechanism(4.0, 1.0, 16),
    Mechanism(10.5, 0.08, 1000),
    Mechanism(100.0, 0.1, 10_000),
]


def _pld(mechanism: Mechanism) -> Any:
    laws = import_module("dp_accounting.pld.privacy_loss_distribution")
    law = laws.from_gaussian_mechanism(mechanism.noise, sampling_prob=mechanism.rate)
    return law.self_compose(mechanism.steps)


def _betas(curve: TradeOff) -> Betas:
    return np.asarray(curve.symmetrized()(ALPHA))


def _inverted(mechanism: Mechanism) -> Betas:
    return _betas(from_pld(_pld(mechanism)))


def _single(mechanism: Mechanism) -> Betas:
    epsilon = _pld(mechanism).get_epsilon_for_delta(DELTA)
    return np.asarray(approximate_dp(epsilon, DELTA)(ALPHA))


def _riskcal_direct(mechanism: Mechanism) -> Betas:
    return np.asarray(import_module("riskcal.calibration").get_beta_for_dpsgd(*mechanism, ALPHA))


def _riskcal_accountant(mechanism: Mechanism) -> Betas:
    accountant = import_module("riskcal.accountants").CTDAccountant()
    accountant.history = [tuple(mechanism)]
    return np.asarray(accountant.get_beta(alpha=ALPHA))


def _opacus_rdp(mechanism: Mechanism) -> Betas:
    analysis = import_module("opacus.accountants.analysis.rdp")
    orders = np.array(import_module("opacus.accountants").RDPAccountant.DEFAULT_ALPHAS)
    noise, rate, steps = mechanism
    spent = analysis.compute_rdp(q=rate, noise_multiplier=noise, steps=steps, orders=orders)
    first = np.unique(orders, return_index=True)[1]
    return _betas(from_rdp(orders[first], np.asarray(spent)[first]))


def _opacus_prv(mechanism: Mechanism) -> Betas:
    accountant = import_module("opacus.accountants").PRVAccountant()
    accountant.history = [tuple(mechanism)]
    epsilon = np.array([accountant.get_epsilon(delta) for delta in DELTAS])
    kept = np.diff(epsilon, prepend=-np.inf) > 0.0
    return _betas(from_profile(epsilon[kept], DELTAS[kept]))


RIVALS: dict[str, Callable[[Mechanism], Betas]] = {
    "dp-accounting, `from_pld`": _inverted,
    "its epsilon(1e-5) alone": _single,
    "riskcal, direct": _riskcal_direct,
    "riskcal, accountant": _riskcal_accountant,
    "Opacus RDP, `from_rdp`": _opacus_rdp,
    "Opacus PRV, 7 deltas": _opacus_prv,
}


def drawn(mechanism: Mechanism, rng: np.random.Generator) -> tuple[Betas, Betas]:
    """Simulate the likelihood-ratio test; return beta and its standard error at each alpha.

    Outputs of members alone: those of non-members have the weight exp(-loss) there.
    """
    noise, rate, steps = mechanism
    rounds = min(STEPS_DRAWN // steps, 1_000_000)
    losses = np.zeros(rounds)
    for _ in range(steps):
        x = rng.standard_normal(rounds) + (rng.random(rounds) < rate) / noise
        losses += np.log1p(rate * np.expm1(x / noise - 0.5 / noise**2))
    losses.sort()
    largest = losses[::-1]
    flagged = np.cumsum(np.exp(-largest)) / rounds  # alpha of the largest 1, 2, ... losses
    thresholds = largest[np.searchsorted(flagged, ALPHA)]
    counts = np.interp(ALPHA, np.append(0.0, flagged), np.arange(rounds + 1.0))
    # To first order an error of alpha moves beta by exp(threshold) times as much.
    parts = np.exp(np.minimum(thresholds - losses[:, np.newaxis], 0.0))
    return 1.0 - counts / rounds, parts.std(axis=0) / rounds**0.5


def _other(call: Callable[[Mechanism], Betas], mechanism: Mechanism) -> list[str]:
    """Give the cells of another accountant, or how it fails."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [f"{beta:.5f}" for beta in call(mechanism)]
    except ImportError:
        return ["not installed"] * ALPHA.size
    except (ArithmeticError, RuntimeError, ValueError, MemoryError) as error:
        return [type(error).__name__] * ALPHA.size


def lines(mechanisms: list[Mechanism] = MECHANISMS, seed: int = 0) -> list[str]:
    """Return the table, three lines a mechanism."""
    columns = ["noise, rate, steps", "alpha", "ours, lower", "upper - lower", *RIVALS, "simulated"]
    table = [f"| {' | '.join(columns)} |", "| --- |" + " ---: |" * (len(columns) - 1)]
    for index, mechanism in enumerate(mechanisms):
        print(mechanism, flush=True)
        curve = subsampled_gaussian(*mechanism).symmetrized()
        ends = [np.asarray(getattr(curve, end, curve)(ALPHA)) for end in ("lower", "upper")]
        rivals = [_other(call, mechanism) for call in RIVALS.values()]
        beta, error = drawn(mechanism, np.random.default_rng([seed, index]))
        for i, alpha in enumerate(ALPHA):
            cells = [", ".join(f"{number:g}" for number in mechanism), f"{alpha:g}"]
            cells += [f"{ends[0][i]:.6f}", f"{ends[1][i] - ends[0][i]:.0e}"]
            cells += [rival[i] for rival in rivals]
            decided = error[i] < 0.1 * min(beta[i], 1.0 - beta[i])
            cells.append(f"{beta[i]:.5f} ± {error[i]:.5f}" if decided else "")
            table.append(f"| {' | '.join(cells)} |")
    return table


def _versions() -> str:
    names = ("dp-accounting", "riskcal", "opacus")
    return "Measured: " + ", ".join(f"{name} {_version(name)}" for name in names) + "."


def _version(name: str) -> str:
    try:
        return version(name)
    except ImportError:
        return "not installed"


def write() -> None:
    """Measure, and write the block of the page."""
    text = "\n".join([_versions(), "", *lines()])
    page, count = re.subn(
        r"(<!-- accountants -->\n).*?(<!-- end -->)",
        lambda ends: f"{ends[1]}{text}\n{ends[2]}",
        PAGE.read_text("utf-8"),
        flags=re.S,
    )
    if count != 1:
        raise SystemExit(f"{PAGE} has {count} blocks 'accountants'")
    PAGE.write_text(page, "utf-8")
