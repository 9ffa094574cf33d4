"""Right guesses at every size on canaries of one training: docs/explanation/one-run.md."""

from __future__ import annotations

import numpy as np

from reproduce.coverage import EVERY_SIZE, PLAN, audited

TRAININGS = 2000


def every_size(trainings: int = TRAININGS, seed: int = 31) -> list[str]:
    """Return mean bounds of ``one_run(k="all")``, and how often each is above the truth."""
    designs = [design for design, methods in PLAN if EVERY_SIZE in methods]
    lines = [
        "| scores | canaries | epsilon | mean bound | wrong |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for i, design in enumerate(designs):
        rng = np.random.default_rng([seed, i])
        [cell] = audited(design, (EVERY_SIZE,), trainings, rng)
        canaries = f"{design.members + design.nonmembers:,}"
        wrong = f"{cell.rate:.4f} ± {cell.error:.4f}" if cell.rate else "0"
        numbers = (canaries, f"{cell.truth:.2f}", f"{cell.mean:.2f}", wrong)
        lines.append(f"| {cell.law} | {' | '.join(numbers)} |")
    return [
        *lines,
        "",
        f"{trainings:,} trainings a line, delta = {cell.delta:g}, confidence .95, with one "
        "standard error; allowed are .05.",
    ]
