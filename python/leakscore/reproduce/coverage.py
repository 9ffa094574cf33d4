"""How often the certified bounds of `leakscore.audit` are wrong, and how tight they are.

Every method audits scores of mechanisms whose epsilon is known exactly. Its bound is wrong if it
lies above that epsilon: at confidence .95, that may happen in at most one of 20 audits. Beside the
methods stands one that is not offered, since it is not valid: Clopper-Pearson bounds at every
threshold, and the best of them without correction. The study must find that it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.audit import Audit
from leakscore.distributions import clopper_pearson
from leakscore.reproduce._audit_laws import LAWS, Law, laplace
from leakscore.reproduce._audit_means import MEANS, MEANS_ROUNDS
from leakscore.reproduce._outcome import STANDARD_ERRORS, AtMost, Outcome, Row

__all__ = ["Cell", "Coverage", "Design", "Method", "audited", "draw", "reproduce", "tables"]

Doubles = npt.NDArray[np.float64]

TITLE = "Certified bounds on epsilon: how often they are wrong, and how tight they are"
CONFIDENCE = 0.95
MISS = 1 - CONFIDENCE
DELTAS = (1e-5, 1e-2)
UNIT = "audits of each mechanism and number of scores"
ENOUGH = 1500  # audits in which a method that is not valid is found out


@dataclass(frozen=True)
class Design:
    """A mechanism and how many scores of members and of non-members an audit has."""

    law: Law
    members: int
    nonmembers: int

    @property
    def scores(self) -> str:
        """Name the numbers of scores: one if they are equal, otherwise members first."""
        equal = self.members == self.nonmembers
        return str(self.members) if equal else f"{self.members} : {self.nonmembers}"

    def draw(self, rng: np.random.Generator) -> Audit:
        """Draw the scores of one audit."""
        return Audit(self.law.members(rng, self.members), self.law.nonmembers(rng, self.nonmembers))


@dataclass(frozen=True)
class Method:
    """A bound on epsilon at every delta of `DELTAS`, NaN where it is refused.

    `status` says what it claims: "valid" (checked), "not valid" (must be found out) or
    "no claim" (shown beside the others). `share`: one audit in so many is bounded by it.
    """

    name: str
    bound: Callable[[Audit], Doubles]
    status: str = "valid"
    share: int = 1


@dataclass(frozen=True)
class Cell:
    """The bounds of one method on many draws of one design."""

    method: str
    status: str
    law: str
    scores: str
    delta: float
    truth: float
    bounds: Doubles

    @property
    def name(self) -> str:
        """Method, mechanism, number of scores and delta."""
        return f"{self.method}: {self.law}, {self.scores}, {self.delta:g}"

    @property
    def rate(self) -> float:
        """Share of bounds that lie above the truth."""
        return float(np.mean(self.bounds > self.truth))

    @property
    def error(self) -> float:
        """Standard error of that share."""
        return float(np.sqrt(self.rate * (1 - self.rate) / self.bounds.size))

    @property
    def mean(self) -> float:
        """Mean bound."""
        return float(self.bounds.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the bounds."""
        return float(self.bounds.std(ddof=1))


@dataclass(frozen=True)
class NotValid(AtMost):
    """A share of wrong bounds that must be seen to be above its limit."""

    @property
    def ok(self) -> bool:
        """Whether the method fails the check of valid ones."""
        return not super().ok


@dataclass(frozen=True)
class Coverage(Outcome):
    """An outcome whose table has one line per mechanism and one column per method."""

    def table(self) -> str:
        """Return mean bounds and shares of wrong bounds as Markdown, and the failed checks."""
        failed = [str(row) for row in self.rows if not row.ok]
        worst = max((row.z for row in self.rows if type(row) is AtMost), default=0.0)
        return "\n".join(
            [
                f"{self.title}.",
                f"{self.rounds} {self.unit}, seed {self.seed}; confidence {CONFIDENCE:g}.",
                *self.notes,
                "",
                *tables(self.curves["cells"]),
                *failed,
                f"{len(self.rows)} checks: "
                + (f"{len(failed)} FAIL" if failed else "all hold")
                + f" (most that a valid method is above its limit: {worst:.1f} standard errors).",
            ]
        )


def tables(cells: Iterable[Cell]) -> Iterator[str]:
    """Yield the lines of two Markdown tables for every delta."""
    cells = list(cells)
    for delta in dict.fromkeys(cell.delta for cell in cells):
        here = [cell for cell in cells if cell.delta == delta]
        yield from _table(f"Mean bound, delta = {delta:g}", here, lambda c: f"{c.mean:.2f}")
        yield from _table(f"Share of wrong bounds, delta = {delta:g}", here, _share)


def _share(cell: Cell) -> str:
    """Return a share with its standard error in units of its last digit."""
    return f"{cell.rate:.4f}({1e4 * cell.error:.0f})".removeprefix("0") if cell.rate else "0"


def _table(title: str, cells: list[Cell], text: Callable[[Cell], str]) -> Iterator[str]:
    methods = list(dict.fromkeys(cell.method for cell in cells))
    found = {(cell.law, cell.scores, cell.method): cell for cell in cells}
    yield f"| {title} | scores | epsilon | {' | '.join(methods)} |"
    yield f"| --- | ---: | ---: |{' ---: |' * len(methods)}"
    for law, scores in dict.fromkeys(key[:2] for key in found):
        line = [found.get((law, scores, method)) for method in methods]
        truth = next(cell.truth for cell in line if cell)
        numbers = [text(cell) if cell else "" for cell in line]
        yield f"| {law} | {scores} | {truth:.2f} | {' | '.join(numbers)} |"
    yield ""


# --- the methods ---------------------------------------------------------------------------------


def _ours(name: str, **options: Any) -> Method:
    def bound(audit: Audit) -> Doubles:
        return np.asarray(audit.epsilon(DELTAS, CONFIDENCE, name).epsilon)

    return Method(name, bound, **options)


def uncorrected(audit: Audit) -> Doubles:
    """Return the largest Clopper-Pearson bound over all thresholds: not valid, for comparison."""
    roc, n1, n0 = audit.roc(), audit.n_members, audit.n_nonmembers
    fpr = _clopper_pearson(n0)[np.rint(roc.fpr * n0).astype(int)]
    fnr = _clopper_pearson(n1)[np.rint((1.0 - roc.tpr) * n1).astype(int)]
    delta = np.array(DELTAS)[:, np.newaxis]
    best = np.maximum((1.0 - delta - fpr) / fnr, (1.0 - delta - fnr) / fpr).max(axis=1)
    return np.asarray(np.log(np.maximum(best, 1.0)))


@cache
def _clopper_pearson(n: int) -> Doubles:
    """Return the upper bound on an error rate at every number of errors."""
    return np.asarray(clopper_pearson(np.arange(n + 1), n, 1 - MISS / 2, "upper")[0])


METHODS = (
    _ours("dkw-two-sided"),
    _ours("dkw"),
    Method("uncorrected", uncorrected, "not valid"),
)
DESIGNS = (
    *(Design(law, size, size) for law in LAWS for size in (100, 1000)),
    Design(laplace(2.0), 100, 1000),
    Design(laplace(2.0), 1000, 100),
)


# --- the study -----------------------------------------------------------------------------------


def reproduce(*, rounds: int = 2000, seed: int = 1) -> Outcome:
    """Audit every mechanism `rounds` times."""
    cells = study([(design, METHODS) for design in DESIGNS], rounds, seed)
    return Coverage(TITLE, rounds, seed, tuple(checks(cells)), {"cells": cells}, unit=UNIT)


def study(plan: Iterable[tuple[Design, tuple[Method, ...]]], rounds: int, seed: int) -> list[Cell]:
    """Audit every design by its methods, each design with a generator of its own."""
    plan = list(plan)
    children = np.random.default_rng(seed).spawn(len(plan))
    return [
        cell
        for (design, methods), rng in zip(plan, children, strict=True)
        for cell in audited(design, methods, rounds, rng)
    ]


def audited(
    design: Design, methods: tuple[Method, ...], rounds: int, rng: np.random.Generator
) -> Iterator[Cell]:
    """Draw the scores of `rounds` audits and bound epsilon by every method."""
    bounds: dict[str, list[Doubles]] = {method.name: [] for method in methods}
    for i in range(rounds):
        audit = design.draw(rng)
        for method in methods:
            if i % method.share == 0:
                bounds[method.name].append(method.bound(audit))
    for k, delta in enumerate(DELTAS):
        truth = design.law.epsilon(delta)
        for method in methods:
            values = np.array(bounds[method.name])[:, k]
            if not np.isnan(values).all():
                yield Cell(
                    method.name, method.status, design.law.name, design.scores, delta, truth, values
                )


def checks(cells: list[Cell]) -> Iterator[Row]:
    """Compare shares of wrong bounds with their limit, and mean bounds with known ones."""
    for cell in cells:
        if cell.status == "valid":
            allowed = STANDARD_ERRORS * np.sqrt(MISS * CONFIDENCE / cell.bounds.size)
            yield AtMost(cell.name, cell.rate, MISS, float(allowed))
        known = MEANS.get((cell.law, cell.scores, cell.delta), {}).get(cell.method)
        if known is not None:
            scale = np.hypot(1 / np.sqrt(cell.bounds.size), 1 / np.sqrt(MEANS_ROUNDS))
            allowed = STANDARD_ERRORS * cell.deviation * scale + 0.005
            yield Row(f"mean of {cell.name}", cell.mean, known, float(allowed))
    # With a likelihood ratio that is flat in the tail, choosing the threshold costs the most.
    flat = [c for c in cells if c.law.startswith("Laplace") and c.scores == "1000"]
    for name in dict.fromkeys(cell.method for cell in cells if cell.status == "not valid"):
        wrong = [c.bounds > c.truth for c in flat if c.method == name and c.delta == min(DELTAS)]
        audits = sum(map(len, wrong))
        if audits >= ENOUGH:
            allowed = STANDARD_ERRORS * np.sqrt(MISS * CONFIDENCE / audits)
            rate = float(np.concatenate(wrong).mean())
            yield NotValid(f"{name}: Laplace, 1000", rate, MISS, float(allowed))


def draw(outcome: Outcome, path: Path) -> None:
    """Draw how often every method is wrong, and its mean bounds as a share of epsilon."""
    from matplotlib.figure import Figure

    cells = outcome.curves["cells"]
    methods = list(dict.fromkeys(cell.method for cell in cells))
    figure = Figure(figsize=(11, 0.4 * len(methods) + 1.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for place, method in enumerate(methods):
        own = [cell for cell in cells if cell.method == method]
        colour = "C0" if own[0].status == "valid" else "C3"
        left.plot([cell.rate for cell in own], [place] * len(own), "o", color=colour, alpha=0.5)
        leaks = [cell.mean / cell.truth for cell in own if cell.truth]
        right.plot(leaks, [place] * len(leaks), "o", color=colour, alpha=0.5)
    left.axvline(MISS, color="black", lw=1, ls=":", label=f"allowed, {MISS:g}")
    left.set_yticks(range(len(methods)), methods)
    left.invert_yaxis()
    left.set(xlabel="share of wrong bounds", title="one dot per mechanism, scores and delta")
    left.legend(fontsize=8)
    right.set(xlabel="mean bound as a share of epsilon", title="red: not a confidence bound")
    figure.suptitle(outcome.title, fontsize=10)
    figure.savefig(path, dpi=150)
