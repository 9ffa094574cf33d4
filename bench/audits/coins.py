"""The sorted-bits test by simulation, as docs/explanation/sorted-bits.md shows it."""

from __future__ import annotations

import numpy as np

from leakscore.audit import Audit
from reproduce._audit_laws import Law, gaussian, laplace, response

DELTA = 1e-5
LAWS = (*map(gaussian, (0.5, 1.0, 2.0, 3.0, 4.0)), *map(laplace, (1.0, 2.0)), response(1.0))
ROUNDS = (200, 2000)
AUDITS = 4000


def sorted_bits(audits: int = AUDITS, seed: int = 21) -> list[str]:
    """Return the table of mean bounds, and of how often each is above two values of epsilon."""
    lines = [
        "| scores | rounds | epsilon(1e-5) | mean bound | above epsilon(1e-5) | above epsilon(0) |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for i, law in enumerate(LAWS):
        for rounds in ROUNDS:
            bounds = _bounds(law, rounds, audits, [seed, i, rounds])
            at_zero = round(law.epsilon(0.0), 9)  # of randomised response without rounding
            shares = [_share(bounds > epsilon) for epsilon in (law.epsilon(DELTA), at_zero)]
            truth = f"{law.epsilon(DELTA):.5f}"
            cells = [law.name, f"{rounds:,}", truth, f"{bounds.mean():.3f}", *shares]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _bounds(law: Law, rounds: int, audits: int, seed: list[int]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = np.empty(audits)
    for i in range(audits):
        member = rng.random(rounds) < 0.5
        scores = np.empty(rounds)
        scores[member] = law.members(rng, int(member.sum()))
        scores[~member] = law.nonmembers(rng, int((~member).sum()))
        audit = Audit.from_rounds(scores, member, random_bits=True, rng=rng)
        found[i] = audit.epsilon(DELTA, method="sorted-bits").epsilon
    return found


def _share(above: np.ndarray) -> str:
    """Return a share in percent, and its standard error."""
    share = float(above.mean())
    error = 100 * (share * (1 - share) / above.size) ** 0.5
    return f"{100 * share:.2f} ± {error:.2f} %" if share else "0"
