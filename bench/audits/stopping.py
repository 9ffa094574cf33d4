"""After how many rounds a monitor refutes a claim, and how often it refutes a true one.

    python -m bench.audits.stopping [--runs 400]

Each row plays rounds with fair coins until the claim is refuted, and prints the median and the
80 % quantile of the rounds beside the *fixed* number of rounds at which half of the audits with
``method="weighted-ell"`` succeed (`required_rounds`, members and non-members together).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.audit import Monitor, required_rounds

Doubles = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, npt.NDArray[np.bool_]], Doubles]

BLOCK = 16


def normal(mu: float) -> Draw:
    return lambda rng, member: rng.normal(mu * member)


def laplace(epsilon: float) -> Draw:
    return lambda rng, member: rng.laplace(epsilon * member)


def response(epsilon: float) -> Draw:
    truth = 1 / (1 + np.exp(-epsilon))
    return lambda rng, member: np.where(rng.random(member.size) < truth, member, ~member) * 1.0


def some_far(rng: np.random.Generator, member: npt.NDArray[np.bool_]) -> Doubles:
    return rng.normal(size=member.size) + 8.0 * (member & (rng.random(member.size) < 0.05))


ROWS: list[tuple[str, Draw, object, object]] = [
    ("normal 1", normal(1.0), (0.5, 1e-5), tradeoff.gaussian(1.0)),
    ("normal 1", normal(1.0), (1.0, 1e-5), tradeoff.gaussian(1.0)),
    ("normal 2", normal(2.0), (1.0, 1e-5), tradeoff.gaussian(2.0)),
    ("normal 3", normal(3.0), (4.0, 1e-5), tradeoff.gaussian(3.0)),
    ("Laplace 1.5", laplace(1.5), (1.0, 0.0), tradeoff.laplace(1.5)),
    ("response 1", response(1.0), (0.5, 0.0), tradeoff.approximate_dp(1.0, 0.0)),
    ("response 3", response(3.0), (2.0, 0.0), tradeoff.approximate_dp(3.0, 0.0)),
    ("5 % far out", some_far, (1.0, 1e-5), None),
    ("separated", normal(60.0), (4.0, 1e-5), None),
    ("normal 2", normal(2.0), tradeoff.gaussian(1.0), None),
    ("normal 1.5", normal(1.5), tradeoff.gaussian(1.0), None),
]


def stopping_time(draw: Draw, claim: object, rng: np.random.Generator) -> int:
    """Return the rounds until refutation, to a block; 20,000 if it does not come."""
    monitor = Monitor(claim, epsilons=())
    while monitor.rounds < 20_000:
        member = rng.random(BLOCK) < 0.5
        monitor.update(draw(rng, member), member)
        if monitor.refuted:
            break
    return monitor.rounds


def microseconds(epsilons: object, rounds: int = 20_000) -> float:
    """Return the CPU time of a round in one update."""
    rng = np.random.default_rng(0)
    member = rng.random(rounds) < 0.5
    monitor = Monitor((1.0, 1e-5), epsilons=epsilons)  # type: ignore[arg-type]
    scores = rng.normal(1.0 * member)
    begun = time.process_time()
    monitor.update(scores, member)
    return (time.process_time() - begun) / rounds * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    for name, draw, claim, curve in ROWS:
        rng = np.random.default_rng(1)
        times = [stopping_time(draw, claim, rng) for _ in range(runs)]
        fixed = ""
        if curve is not None:
            epsilon, delta = claim  # type: ignore[misc]
            plan = required_rounds(curve, epsilon=epsilon, delta=delta, power=0.5)  # type: ignore[arg-type]
            fixed = f"{2 * plan.rounds:7d}"
        median, far = np.quantile(times, [0.5, 0.8])
        print(f"{name:12s} {claim!s:22s} {median:7.0f} ({far:5.0f}) {fixed}", flush=True)
    print(f"a round: {microseconds(()):.1f} us; with 200 epsilons: {microseconds(None):.1f} us")


if __name__ == "__main__":
    main()
