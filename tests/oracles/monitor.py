"""A slow twin of `Monitor`: the strategy of its note, expert by expert and round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from leakscore import results

GROUPS = 48


@dataclass
class Expert:
    """Cells as (lowest, highest) scores, with what was learned in each, and a log wealth."""

    cells: list[tuple[float, float, str]] = field(default_factory=list)
    counts: list[list[int]] = field(default_factory=list)
    log_wealth: float = 0.0

    def cell(self, score: float) -> int | None:
        for i, (low, high, kind) in enumerate(self.cells):
            inside = low < score <= high if kind == "bin" else low <= score <= high
            if inside:
                return i
        return None

    def share(self, i: int, inclusion: float) -> float:
        others, members = self.counts[i]
        r = (members + inclusion / 2) / (members + others + 0.5)
        kind = self.cells[i][2]
        return max(r, inclusion) if kind == "top" else min(r, inclusion) if kind == "low" else r


@dataclass
class Betting:
    """Bets against one hockey stick in either direction."""

    epsilon: float
    forward: float
    reverse: float
    inclusion: float = 0.5
    history: list[tuple[float, int]] = field(default_factory=list)
    next: float = 4
    limit: float = math.inf  # rounds after which the edges stay

    def __post_init__(self) -> None:
        self.experts = [Expert() for _ in range(GROUPS + 1)]
        p = self.inclusion
        self.top = p * math.exp(self.epsilon) / (p * math.exp(self.epsilon) + 1 - p)
        self.bottom = p * math.exp(-self.epsilon) / (p * math.exp(-self.epsilon) + 1 - p)

    def play(self, rounds: Sequence[tuple[float, int]]) -> None:
        """Bet on rounds together, then learn them."""
        p = self.inclusion
        for expert in self.experts:
            shares = [expert.share(i, p) for i in range(len(expert.cells))]
            phi = max([r / self.top - 1 for r in shares] + [0.0])
            psi = max([(1 - r) / (1 - self.bottom) - 1 for r in shares] + [0.0])
            c = 1 + p * self.forward * phi + (1 - p) * self.reverse * psi
            for score, member in rounds:
                i = expert.cell(score)
                r = p if i is None else shares[i]
                cut = min(max(r, self.bottom), self.top)
                factor = r / cut if member else (1 - r) / (1 - cut)
                expert.log_wealth += math.log(factor / c)
        for score, member in rounds:
            self.history.append((score, member))
            for expert in self.experts:
                if (i := expert.cell(score)) is not None:
                    expert.counts[i][member] += 1
        self.learn()

    def learn(self) -> None:
        """Draw the edges anew if it is time."""
        if len(self.history) >= self.next:
            self.refit()
            while self.next <= len(self.history):
                self.next = max(self.next + 1, math.floor(1.15 * self.next))
            self.next = math.inf if len(self.history) >= self.limit else min(self.next, self.limit)

    def merged(self, other: Betting) -> Betting:
        """Return bets that have learned the rounds of both, or of the one whose edges stay."""
        frozen = [one for one in (self, other) if one.next == math.inf]
        both = replace(self, history=self.history + other.history, next=4)
        if frozen:
            kept = max(frozen, key=lambda one: len(one.history))
            both = replace(kept, history=kept.history)
            both.experts = [Expert(one.cells, deepcopy(one.counts)) for one in kept.experts]
        elif len(both.history) >= 4:
            both.next = min(len(both.history), self.limit)
            both.learn()
        return both

    def refit(self) -> None:
        ordered = sorted(score for score, _ in self.history)
        n = len(ordered)
        ranks = sorted({round(2 ** (i / 2)) for i in range(60)} & set(range(1, n // 2 + 1)))
        for expert, k in zip(self.experts, ranks[::-1][:GROUPS], strict=False):
            expert.cells = [(ordered[-k], math.inf, "top"), (-math.inf, ordered[k - 1], "low")]
        powers = [4**i for i in range(30) if 4**i <= n / 2]
        edges = sorted([ordered[k - 1] for k in powers] + [ordered[-k] for k in powers])
        inner = list(zip(edges, edges[1:], ["bin"] * len(edges), strict=False))
        self.experts[-1].cells = [
            (-math.inf, edges[0], "lowest"),
            *inner,
            (edges[-1], math.inf, "bin"),
        ]
        for expert in self.experts:
            expert.counts = [[0, 0] for _ in expert.cells]
            for score, member in self.history:
                if (i := expert.cell(score)) is not None:
                    expert.counts[i][member] += 1

    def log_wealth(self) -> float:
        shape = [(j / 2 + 2) ** -1.5 for j in range(GROUPS)]
        prior = [0.9 * x / sum(shape) for x in shape] + [0.1]
        most = max(expert.log_wealth for expert in self.experts)
        total = sum(
            weight * math.exp(expert.log_wealth - most)
            for weight, expert in zip(prior, self.experts, strict=True)
        )
        return most + math.log(total)


def log_e_values(
    scores: Sequence[float],
    member: Sequence[int],
    tangents: Sequence[tuple[float, float, float]],
    *,
    inclusion: float = 0.5,
    pairs: bool = False,
) -> list[float]:
    """Return the log of the average over tangents after every round."""
    bets = [Betting(*tangent, inclusion=inclusion) for tangent in tangents]
    waiting: tuple[list[float], list[float]] = ([], [])
    out = []
    for score, bit in zip(scores, member, strict=True):
        together: list[tuple[float, int]] = [(score, int(bit))]
        if pairs:
            waiting[int(bit)].append(score)
            both = waiting[0] and waiting[1]
            together = [(waiting[b].pop(0), b) for b in (0, 1)] if both else []
        if together:
            for one in bets:
                one.play(together)
        logs = [one.log_wealth() for one in bets]
        most = max(logs)
        out.append(most + math.log(sum(math.exp(x - most) for x in logs) / len(logs)))
    return out


def bets_of(raw: bytes) -> bytes:
    """The bytes of a monitor without its setup, the random identity of its rounds and the sum."""
    _, bets = results.unpack("monitor", 3, raw, "Monitor.to_bytes()")
    return bets.tobytes()
