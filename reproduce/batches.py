"""The epsilon of one training, by how its batches were drawn.

50,000 records, batches of 500, 10 epochs, three noises. For each scheme: the epsilon that an attack
attains, the one that is guaranteed, and what Poisson accounting claims for all of them alike. Every
attack is played on the data of its proof, all steps of all epochs. Where only the share of records
in a batch counts, a batch of 1 of 100 stands for 500 of 50,000; where only the rate of the steps
that hold the record counts, batches cut to 1 of 100 stand for those cut to 550. The power of the
best test there must reach the attack's curve and stay below the guarantee's, and the epsilon that
an audit certifies must stay below the guarantee.

The other accountants are asked where they are installed (`dp_accounting`, `jax_privacy`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import audit, games, sequential, tradeoff
from leakscore.games import Batches
from leakscore.tradeoff import TradeOff
from reproduce._batch_accountants import epsilons
from reproduce._outcome import STANDARD_ERRORS, AtLeast, AtMost, Outcome, Row

Doubles = npt.NDArray[np.float64]

RECORDS, BATCH, EPOCHS, DELTA = 50_000, 500, 10, 1e-5
SLOTS = RECORDS // BATCH
STEPS = SLOTS * EPOCHS
RATE = BATCH / RECORDS
LARGEST = 550
NOISES = (0.8, 1.0, 2.0)
ALPHA = 0.1
FAR = 2.0**30
UP, DOWN, NONE = [1.0, -FAR], [1.0, FAR], [0.0, 0.0]  # gradients 1, -1 and 0 at a clip of 1
PATTERN = tradeoff.participation_patterns(STEPS, num_epochs=EPOCHS)[:1]


def banded() -> Doubles:
    """Return a matrix of as many bands as an epoch has steps, its columns of norm 1."""
    matrix = tradeoff.strategy_matrix("banded", STEPS, bands=SLOTS)
    return np.asarray(matrix / np.sqrt(np.square(matrix).sum(axis=0)))


@dataclass(frozen=True)
class Scheme:
    """How batches are drawn, the curve, and the game on the data of the attack's proof."""

    name: str
    curve: Callable[[float], TradeOff]
    batches: Batches
    score: Callable[[Doubles, float], Any]
    """Of the steps' sums, which are 0 where the record is not, and the noise."""
    others: int = 1
    """How many other records there are, if they contribute nothing."""
    against: bool = False
    """Whether all other records contribute -1, and one in its place does, too."""
    zero_out: bool = False
    matrix: Doubles | None = None

    def play(self, noise: float, rounds: int, seed: int) -> tuple[Doubles, Doubles]:
        """Return scores of members and of non-members."""
        training = games.Training(
            "linear",
            2,
            STEPS,
            1.0,
            clip=1.0,
            noise_multiplier=noise,
            strategy_matrix=self.matrix,
        )
        others = [DOWN] * (SLOTS - 1) if self.against else [NONE] * self.others
        scores, member, _ = games.dpsgd(
            games.Empirical(others, replace=False),
            UP,
            training,
            self.batches,
            2 * rounds,
            seed,
            score=lambda theta: self._scores(theta, noise),
            other=DOWN if self.against and not self.zero_out else None,
        )
        return scores[member], scores[~member]

    def _scores(self, theta: Doubles, noise: float) -> Any:
        sums = 2.0 * (theta[:, :-1, 0] - theta[:, 1:, 0])
        return self.score(sums + 1.0 if self.against else sums, noise)


def ratios(x: Doubles, shift: float, noise: float) -> Doubles:
    """Return log-likelihood ratios of steps whose mean is 0 or `shift`."""
    return np.asarray((shift * x - 0.5 * shift**2) / noise**2)


def hidden(x: Doubles, shift: float, noise: float, *, reallocate: bool = True) -> Doubles:
    """Return the ratios of a record in one step of every epoch."""
    llr = ratios(x, shift, noise)
    return np.asarray(
        sequential.allocation_llr(llr, num_epochs=EPOCHS, reallocate=reallocate), dtype=np.float64
    )


def schemes() -> list[Scheme]:
    """Return the schemes of the table."""
    return [*_poisson(), *_allocated(), _fixed(), *_shuffles(), _correlated()]


def _poisson() -> list[Scheme]:
    kept = kept_rate()
    return [
        Scheme(
            "Poisson",
            lambda noise: tradeoff.subsampled_gaussian(noise, RATE, STEPS),
            Batches("poisson", sample_rate=RATE),
            lambda x, noise: sequential.poisson_llr(ratios(x, 1.0, noise), RATE),
        ),
        Scheme(
            f"Poisson, cut at {LARGEST}",
            lambda noise: tradeoff.truncated_poisson_gaussian(noise, RATE, LARGEST, RECORDS, STEPS),
            # One of SLOTS records is kept where any comes: with 1 - (1 - rate)^SLOTS.
            Batches(
                "truncated",
                sample_rate=float(-np.expm1(np.log1p(-kept * SLOTS) / SLOTS)),
                max_batch_size=1,
            ),
            lambda x, noise: sequential.poisson_llr(ratios(x, 1.0, noise), kept),
            others=SLOTS - 1,
        ),
    ]


def kept_rate() -> float:
    """Return how often a record comes to a batch and is not cut.

    It stays where fewer than LARGEST others come, and as one of LARGEST of all otherwise.
    """
    from scipy.stats import binom

    room = float(binom.cdf(LARGEST - 1, RECORDS - 1, RATE))
    return RATE * room + LARGEST / RECORDS * float(binom.sf(LARGEST, RECORDS, RATE))


def _allocated() -> list[Scheme]:
    return [
        Scheme(
            "one step of every epoch",
            lambda noise: tradeoff.random_allocation(noise, SLOTS, num_epochs=EPOCHS),
            Batches("allocated", num_epochs=EPOCHS),
            lambda x, noise: hidden(x, 1.0, noise),
        ),
        Scheme(
            "balls in bins",
            lambda noise: tradeoff.random_allocation(
                noise, SLOTS, num_epochs=EPOCHS, reallocate=False
            ),
            Batches("allocated", num_epochs=EPOCHS, reallocate=False),
            lambda x, noise: hidden(x, 1.0, noise, reallocate=False),
        ),
        Scheme(
            f"{EPOCHS} of {STEPS} steps",
            lambda noise: tradeoff.random_allocation(noise, STEPS, selected=EPOCHS),
            Batches("allocated", selected=EPOCHS),
            lambda x, noise: sequential.allocation_llr(ratios(x, 1.0, noise), selected=EPOCHS),
        ),
    ]


def _fixed() -> Scheme:
    return Scheme(
        "fixed size, replace",
        lambda noise: tradeoff.fixed_batch_gaussian(noise, BATCH, RECORDS, STEPS),
        Batches("fixed", batch_size=1),
        lambda x, noise: sequential.poisson_llr(ratios(x, 2.0, noise), RATE),
        against=True,
    )


def _correlated() -> Scheme:
    matrix = banded()
    return Scheme(
        f"noise of {SLOTS} bands",
        lambda noise: tradeoff.correlated_gaussian(matrix, PATTERN, noise),
        Batches("patterns", participation=PATTERN),
        lambda x, noise: sequential.correlated_llr(
            x[..., np.newaxis], [1.0], matrix, PATTERN, noise
        )[:, 0],
        matrix=matrix,
    )


def _shuffles() -> list[Scheme]:
    return [
        Scheme(
            "shuffled, replace",
            lambda noise: tradeoff.shuffled_gaussian(noise, SLOTS, num_epochs=EPOCHS),
            Batches("shuffled", num_epochs=EPOCHS),
            lambda x, noise: hidden(x, 2.0, noise),
            against=True,
        ),
        Scheme(
            "shuffled, zero-out",
            lambda noise: tradeoff.shuffled_gaussian(
                noise, SLOTS, neighbours="zero-out", num_epochs=EPOCHS
            ),
            Batches("shuffled", num_epochs=EPOCHS),
            lambda x, noise: hidden(x, 2.0, noise) - hidden(x, 1.0, noise),
            against=True,
            zero_out=True,
        ),
    ]


def reproduce(rounds: int = 2000, seed: int = 1) -> Outcome:
    """Tabulate the epsilons of all schemes, and play the attacks.

    Parameters
    ----------
    rounds : int
        Games per hypothesis, scheme and noise.
    seed : int
        Seed of the games.

    Returns
    -------
    Outcome
    """
    rows: list[Row] = []
    table: dict[str, list[tuple[float, float]]] = {}
    for scheme in schemes():
        for noise in NOISES:
            curve = scheme.curve(noise)
            low, high = curve.interval("epsilon", DELTA)
            table.setdefault(scheme.name, []).append((float(low), float(high)))
            rows += compared(f"{scheme.name}, {noise}", curve, *scheme.play(noise, rounds, seed))
    return Outcome(
        f"{RECORDS} records, batches of {BATCH}, {EPOCHS} epochs: epsilon at delta = {DELTA}",
        rounds,
        seed,
        tuple(rows),
        table,
        notes(table),
        unit="rounds per hypothesis, scheme and noise",
    )


def compared(name: str, curve: TradeOff, members: Doubles, nonmembers: Doubles) -> list[Row]:
    """Compare the test's power with both ends of the curve, and an audit with the guarantee."""
    # The threshold is a quantile: alpha lies within as many standard errors of its own.
    around = STANDARD_ERRORS * np.sqrt(ALPHA * (1.0 - ALPHA) / nonmembers.size)
    low, high = curve.interval("power", np.array([ALPHA - around, ALPHA + around]))
    power = float((members > np.quantile(nonmembers, 1.0 - ALPHA)).mean())
    error = STANDARD_ERRORS * float(np.sqrt(max(power * (1.0 - power), 1e-3) / members.size))
    certified = float(audit.Audit(members, nonmembers).epsilon(DELTA, method="weighted-ell"))
    return [
        AtLeast(f"{name}: power, attack", power, float(low[0]), error),
        AtMost(f"{name}: power, guarantee", power, float(high[1]), error),
        AtMost(f"{name}: epsilon, certified", certified, curve.epsilon(DELTA), 0.0),
    ]


def notes(table: dict[str, list[tuple[float, float]]]) -> tuple[str, ...]:
    """Write the table: attack and guarantee of each scheme and noise, and other accountants."""
    head = "".join(f"{f'noise {noise}':>20s}" for noise in NOISES)
    lines = [f"{'attack - guarantee':26s}{head}"]
    for name, ends in table.items():
        lines.append(f"{name:26s}" + "".join(f"{f'{a:.3f} - {b:.3f}':>20s}" for a, b in ends))
    claims = "".join(f"{high:20.3f}" for _, high in table["Poisson"])
    lines.append(f"{'Poisson accounting claims':26s}{claims}")
    for name, asked in epsilons(RATE, STEPS, LARGEST, RECORDS, NOISES, DELTA).items():
        found = "".join(f"{one if isinstance(one, str) else f'{one:.3f}':>20s}" for one in asked)
        lines.append(f"{name:26s}{found}")
    return tuple(lines)


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the bracket of every scheme at every noise."""
    from matplotlib.figure import Figure

    table: dict[str, list[tuple[float, float]]] = outcome.curves
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    axes = figure.subplots(1, len(NOISES), sharey=True, squeeze=False)[0]
    for which, (ax, noise) in enumerate(zip(axes, NOISES, strict=True)):
        for place, brackets in enumerate(table.values()):
            low, high = brackets[which]
            ax.plot(
                [low, high],
                [place, place],
                "-",
                color="C0",
                linewidth=5,
                alpha=0.4,
                solid_capstyle="butt",
            )
            ax.plot(low, place, "|", color="C3", markersize=12)
            ax.plot(high, place, "|", color="C0", markersize=12)
        ax.axvline(table["Poisson"][which][1], color="0.5", linestyle=":")
        ax.set_xscale("log")
        ax.set_xticks([1.0, 3.0, 10.0, 30.0], ["1", "3", "10", "30"])
        ax.minorticks_off()
        ax.set_title(f"noise {noise}")
        ax.set_xlabel("epsilon: attack, guarantee")
    axes[0].set_yticks(range(len(table)), list(table))
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=150)
