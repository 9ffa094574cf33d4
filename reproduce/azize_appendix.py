"""Figure 5 (a-f) of Azize & Basu, "Some Targets Are Harder to Identify than Others" (AISTATS).

The six panels on the mean of Bernoulli records: (a-e) as in Figure 2 of their preprint, the module
`azize`, and (f) the easy target under sub-sampling, which is compared with the exact law; the claim
of the paper is drawn beside it (`azize_subsampling` says why it fails).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reproduce import azize, azize_subsampling
from reproduce._outcome import Outcome
from reproduce.azize import SHADES, D, N

TITLE = (
    f"Azize & Basu (AISTATS), Figure 5 (a-f): mean of n={N} Bernoulli records, d={D}, "
    "p in [.25, .75]"
)


def reproduce(*, rounds: int = 10_000, seed: int = 1) -> Outcome:
    """Play all games and compare them with the theory."""
    plain = azize.reproduce(rounds=rounds, seed=seed)
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.25, 0.75, D)  # as in the other panels
    easy = azize.targets(p, rng)["easy"]
    rng = rng.spawn(1)[0]
    sampled = {
        rate: azize_subsampling.play("easy", easy, p, rate, rounds, rng)
        for rate in azize_subsampling.RATES
    }
    rows = [row for game in sampled.values() for row in game.rows()]
    return Outcome(TITLE, rounds, seed, (*plain.rows, *rows), plain.curves | {"rates": sampled})


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the six panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 7.6), layout="constrained")
    axes = figure.subplots(2, 3)
    azize.panels(axes, outcome.curves["targets"], outcome.curves["noise"])
    rates = {rf"$\rho$ = {rate:g}": game for rate, game in outcome.curves["rates"].items()}
    azize_subsampling.curves(axes[1, 2], rates, "(f) easy target, sub-sampling", SHADES)
    figure.suptitle(
        f"{outcome.title}\nsolid: {outcome.rounds} simulated rounds per hypothesis; "
        "dotted: theory; dashed in (f): the paper's claim",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)
