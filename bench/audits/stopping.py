"""After how many rounds a monitor refutes a claim, beside fixed numbers that suffice as often.

    python -m bench.audits stopping

writes the table of docs/how-to/watching.md. Each row plays rounds with fair coins until the claim
is refuted, to the round; the median and the 80 % quantile of these times stand beside the *fixed*
numbers of rounds (members and non-members together) at which half of the audits with other methods
succeed. These are found on a grid of ratio 1.1, by interpolation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.audit import Audit, Monitor

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


Claim = tuple[float, float]
ROWS: list[tuple[str, Draw, Claim | tradeoff.TradeOff]] = [
    ("normal 1", normal(1.0), (0.5, 1e-5)),
    ("normal 1", normal(1.0), (1.0, 1e-5)),
    ("normal 2", normal(2.0), (1.0, 1e-5)),
    ("normal 3", normal(3.0), (4.0, 1e-5)),
    ("Laplace 1.5", laplace(1.5), (1.0, 0.0)),
    ("response 1", response(1.0), (0.5, 0.0)),
    ("response 3", response(3.0), (2.0, 0.0)),
    ("5 % of members far out", some_far, (1.0, 1e-5)),
    ("separated", normal(60.0), (4.0, 1e-5)),
    ("normal 2", normal(2.0), tradeoff.gaussian(1.0)),
    ("normal 1.5", normal(1.5), tradeoff.gaussian(1.0)),
]
METHODS = ("weighted-ell", "four-outcomes", "sorted-bits")
RATIO = 1.1
MOST = 20_000


def stopping_time(draw: Draw, claim: object, rng: np.random.Generator) -> int:
    """Return the round of the refutation, at most 20,000."""
    monitor = Monitor(claim, epsilons=())
    while monitor.rounds < MOST:
        member = rng.random(BLOCK) < 0.5
        scores, before = draw(rng, member), monitor.to_bytes()
        monitor.update(scores, member)
        if monitor.refuted:
            monitor = Monitor.from_bytes(before)
            for score, bit in zip(scores, member, strict=True):
                monitor.update([score], [bit])
                if monitor.refuted:
                    break
            break
    return monitor.rounds


def succeeds(draw: Draw, claim: object, method: str, rounds: int, rng: np.random.Generator) -> bool:
    """Whether an audit of a fixed number of rounds refutes the claim."""
    half = rounds // 2
    member = rng.random(rounds) < 0.5 if method == "sorted-bits" else np.arange(rounds) < half
    if member.all() or not member.any():
        return False
    audit = Audit.from_rounds(
        draw(rng, member), member, random_bits=method == "sorted-bits", rng=rng
    )
    if isinstance(claim, tradeoff.GaussianTradeOff):
        return bool(float(audit.mu()) >= float(claim.mu))
    epsilon, delta = claim  # type: ignore[misc]
    return bool(float(audit.epsilon(delta, method=method)) >= epsilon)


def fixed(draw: Draw, claim: object, method: str, audits: int) -> float:
    """Return about how many rounds let half of the audits succeed."""

    def share(k: int) -> float:
        rng = np.random.default_rng(k)
        rounds = 2 * round(RATIO**k / 2)
        return sum(succeeds(draw, claim, method, rounds, rng) for _ in range(audits)) / audits

    low, high = 24, 104  # 10 and 20,000 rounds
    shares = {low: 0.0, high: 1.0}
    while high - low > 1:
        middle = (low + high) // 2
        shares[middle] = share(middle)
        low, high = (middle, high) if shares[middle] < 0.5 else (low, middle)
    step = (0.5 - shares[low]) / (shares[high] - shares[low])
    return RATIO ** (low + step)


def microseconds(epsilons: object, rounds: int = 20_000) -> float:
    """Return the CPU time of a round in one update."""
    rng = np.random.default_rng(0)
    member = rng.random(rounds) < 0.5
    monitor = Monitor((1.0, 1e-5), epsilons=epsilons)  # type: ignore[arg-type]
    scores = rng.normal(1.0 * member)
    begun = time.process_time()
    monitor.update(scores, member)
    return (time.process_time() - begun) / rounds * 1e6


def _row(name: str, draw: Draw, claim: Claim | tradeoff.TradeOff, runs: int) -> str:
    rng = np.random.default_rng(1)
    times = [stopping_time(draw, claim, rng) for _ in range(runs)]
    median, far = np.quantile(times, [0.5, 0.8])
    cells = [name, f"{claim[0]:g}, {claim[1]:g}" if isinstance(claim, tuple) else "gaussian(1)"]
    cells.append(f"{median:.0f} ({far:.0f})")
    if isinstance(claim, tuple):
        cells += [f"{fixed(draw, claim, method, runs // 4):.0f}" for method in METHODS]
    else:
        cells += [f"{fixed(draw, claim, 'mu', runs // 4):.0f}, `Audit.mu`", "", ""]
    return f"| {' | '.join(cells)} |"


def stopping(runs: int = 400) -> Iterator[str]:
    """Yield the table."""
    yield f"| scores | claim | monitor | {' | '.join(f'`{name}`' for name in METHODS)} |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for name, draw, claim in ROWS:
        yield _row(name, draw, claim, runs)
    yield ""
    yield (
        f"{runs} audits of the monitor, {runs // 4} of each fixed number. A round costs "
        f"{microseconds(()):.0f} us with the claim alone, {microseconds(None):.0f} us with 200 "
        "values of epsilon."
    )
