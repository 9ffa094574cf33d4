"""How often the certified bounds of `leakscore.audit` are wrong, and how tight they are.

Every method audits scores of mechanisms whose epsilon is known exactly. Its bound is wrong if it
lies above that epsilon: at confidence .95, that may happen in at most one of 20 audits. Two more
methods are not in the package, because they are not valid: Clopper-Pearson bounds at every
threshold, and the best of them without correction; and a bound of a fixed number of rounds that is
looked at again and again. The study must find that they fail.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.audit import Audit, Monitor, one_run, one_run_fdp
from leakscore.audit.certified import EPSILON_METHODS
from leakscore.distributions import clopper_pearson
from reproduce import _alarms
from reproduce._audit_laws import LAWS, Law, gaussian, laplace, null, response
from reproduce._audit_means import MEANS, MEANS_ROUNDS
from reproduce._outcome import STANDARD_ERRORS, AtLeast, AtMost, Outcome, Row, student

__all__ = ["Cell", "Coverage", "Design", "Method", "audited", "draw", "reproduce", "tables"]

Doubles = npt.NDArray[np.float64]

TITLE = "Certified bounds on epsilon: how often they are wrong, and how tight they are"
CONFIDENCE = 0.95
MISS = 1 - CONFIDENCE
DELTAS = (1e-5, 1e-2)
UNIT = "audits of each mechanism and number of scores"
RARE = 0.1  # a mean bound below which most audits certify nothing, and a few determine it
FEW = 30  # bounds from which their spread can be estimated
ENOUGH = 1500  # audits that reveal a method that is not valid


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

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw the data of one audit."""
        return Audit(self.law.members(rng, self.members), self.law.nonmembers(rng, self.nonmembers))


class Coins(Design):
    """A design in which every round decides by a fair coin whether it has a member."""

    @property
    def scores(self) -> str:
        """Name the number of rounds."""
        return f"{self.members + self.nonmembers} coins"

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw the coins and the scores of one audit."""
        return Audit.from_rounds(*self._rounds(rng), random_bits=True, rng=rng)

    def _rounds(self, rng: np.random.Generator) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        rounds = self.members + self.nonmembers
        inside = rng.random(rounds) < 0.5
        scores = np.empty(rounds)
        scores[inside] = self.law.members(rng, int(inside.sum()))
        scores[~inside] = self.law.nonmembers(rng, int((~inside).sum()))
        return scores, inside


class Canaries(Coins):
    """One training with many independent canaries, in or out by coins."""

    @property
    def scores(self) -> str:
        """Name the number of canaries."""
        return f"{self.members + self.nonmembers} canaries"

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw the scores of the canaries and whether they were in."""
        return self._rounds(rng)


class Watched(Canaries):
    """Rounds with coins, in the order in which they are played and looked at."""

    @property
    def scores(self) -> str:
        """Name the number of rounds."""
        return f"{self.members + self.nonmembers} rounds"


@dataclass(frozen=True)
class Method:
    """A bound on epsilon at every delta of `DELTAS`, NaN where there is none.

    `status` is its claim: "valid" (checked), "if Gaussian" (checked on Gaussian laws), "not valid"
    (must be revealed) or "no claim". `share`: one audit in this many is bounded by it.
    """

    name: str
    bound: Callable[[Any], Doubles]
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
    """A share of wrong bounds that must be significantly above its limit."""

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
                *self._tables(),
                *failed,
                f"{len(self.rows)} checks: "
                + (f"{len(failed)} FAIL" if failed else "all hold")
                + f" (most that a valid method is above its limit: {worst:.1f} standard errors).",
            ]
        )

    def _tables(self) -> Iterator[str]:
        """Yield the lines of the tables of each kind of design."""
        for _, cells in groupby(self.curves["cells"], key=_kind):
            yield from tables(cells)


def _kind(cell: Cell) -> str:
    """Return what is counted, canaries or coins, if not scores."""
    return "".join(filter(str.isalpha, cell.scores))


def tables(cells: Iterable[Cell]) -> Iterator[str]:
    """Yield the lines of two Markdown tables for every delta."""
    cells = list(cells)
    for delta in dict.fromkeys(cell.delta for cell in cells):
        selected = [cell for cell in cells if cell.delta == delta]
        yield from _table(f"Mean bound, delta = {delta:g}", selected, lambda c: f"{c.mean:.2f}")
        yield from _table(f"Share of wrong bounds, delta = {delta:g}", selected, _share)


def _share(cell: Cell) -> str:
    """Return a share with its standard error in units of its last digit."""
    return f"{cell.rate:.4f}({1e4 * cell.error:.0f})".removeprefix("0") if cell.rate else "0"


def _table(title: str, cells: list[Cell], text: Callable[[Cell], str]) -> Iterator[str]:
    methods = list(dict.fromkeys(cell.method for cell in cells))
    by_key = {(cell.law, cell.scores, cell.method): cell for cell in cells}
    yield f"| {title} | scores | epsilon | {' | '.join(methods)} |"
    yield f"| --- | ---: | ---: |{' ---: |' * len(methods)}"
    for law, scores in dict.fromkeys(key[:2] for key in by_key):
        line = [by_key.get((law, scores, method)) for method in methods]
        truth = next(cell.truth for cell in line if cell)
        numbers = [text(cell) if cell else "" for cell in line]
        yield f"| {law} | {scores} | {truth:.2f} | {' | '.join(numbers)} |"
    yield ""


# --- the methods ---------------------------------------------------------------------------------


def _ours(name: str, status: str = "valid", share: int = 1) -> Method:
    def bound(audit: Audit) -> Doubles:
        return np.asarray(audit.epsilon(DELTAS, CONFIDENCE, name).epsilon)

    return Method(name, bound, status, share)


def _credible(audit: Audit) -> Doubles:
    """Bound at the small delta only: a quadrature takes a tenth of a second."""
    return np.array([float(audit.epsilon(min(DELTAS), CONFIDENCE, "credible")), np.nan])


def _if_gaussian(audit: Audit) -> Doubles:
    return np.asarray(audit.epsilon_if_gaussian(DELTAS, CONFIDENCE).epsilon_if_gaussian)


def _sorted_bits(audit: Audit) -> Doubles:
    """Bound at the small delta: it is refused where delta times rounds is large."""
    return np.array([float(audit.epsilon(min(DELTAS), CONFIDENCE, "sorted-bits")), np.nan])


def _four_outcomes(audit: Audit) -> Doubles:
    """Bound at the small delta: it is refused where delta times rounds is large."""
    return np.array([float(audit.epsilon(min(DELTAS), CONFIDENCE, "four-outcomes")), np.nan])


def _guesses(share: float) -> Callable[[Any], Doubles]:
    def bound(drawn: tuple[Doubles, npt.NDArray[np.bool_]]) -> Doubles:
        k = round(share * drawn[0].size / 2)
        return np.array([float(one_run(*drawn, k, k, min(DELTAS), CONFIDENCE)), np.nan])

    return bound


def _guesses_of_gaussian(drawn: tuple[Doubles, npt.NDArray[np.bool_]]) -> Doubles:
    k = drawn[0].size // 20
    bound = one_run_fdp(*drawn, k, k, tradeoff.gaussian, CONFIDENCE)
    curve = bound.tradeoff
    return np.array([0.0 if curve is None else curve.epsilon(min(DELTAS)), np.nan])


def _every_size(drawn: tuple[Doubles, npt.NDArray[np.bool_]]) -> Doubles:
    bound = one_run(*drawn, k="all", delta=min(DELTAS), confidence=CONFIDENCE)
    return np.array([bound.epsilon, np.nan])


def _monitor(drawn: tuple[Doubles, npt.NDArray[np.bool_]]) -> Doubles:
    """Bound after every round: the running bound never falls, so that its end is its largest."""
    monitor = Monitor(None, delta=min(DELTAS), confidence=CONFIDENCE)
    monitor.update(*drawn)
    return np.array([monitor.epsilon(), np.nan])


def looked_at(drawn: tuple[Doubles, npt.NDArray[np.bool_]]) -> Doubles:
    """Return the largest of 20 bounds of a fixed design, one after each 5 %: not valid."""
    scores, member = drawn
    ends = np.linspace(0, scores.size, 21).astype(int)[1:]
    audits = (Audit.from_rounds(scores[:n], member[:n], random_bits=True, rng=0) for n in ends)
    bounds = [float(audit.epsilon(min(DELTAS), CONFIDENCE, "sorted-bits")) for audit in audits]
    return np.array([max(bounds), np.nan])


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


_ELSEWHERE = ("split", "credible", "sorted-bits", "four-outcomes")
METHODS = (
    *(_ours(name) for name in EPSILON_METHODS if name not in _ELSEWHERE),
    _ours("split", share=2),
    Method("four-outcomes", _four_outcomes, share=10),
    Method("if Gaussian", _if_gaussian, "if Gaussian", share=5),
    Method("uncorrected", uncorrected, "not valid"),
)
CREDIBLE = Method("credible", _credible, "no claim", share=40)
COIN_METHODS = (Method("sorted-bits", _sorted_bits),)
EVERY_SIZE = Method("one_run, every size", _every_size)
CANARY_METHODS = (
    Method("one_run, all guessed", _guesses(1.0)),
    Method("one_run, a tenth", _guesses(0.1)),
    Method("one_run_fdp, Gaussian, a tenth", _guesses_of_gaussian, "if Gaussian", 10),
    EVERY_SIZE,
)
WATCHED_METHODS = (
    Method("Monitor, after every round", _monitor),
    Method("sorted-bits, looked at 20 times", looked_at, "not valid"),
)
SIZES = (100, 1000)
FLAT = ("1000", "1000 rounds")
COIN_LAWS = (
    null(),
    gaussian(0.5),
    gaussian(1.0),
    gaussian(3.0),
    laplace(1.0),
    laplace(2.0),
    response(1.0),
    response(3.0),
)
MANY = ("Gaussian 1", "Laplace 1", "response 1", "response 3")  # also with 2,000 canaries
SHOWN = ("nothing leaks, 100", "Gaussian 3, 1000", "response 3, 100")  # by credible bounds too
PLAN: tuple[tuple[Design, tuple[Method, ...]], ...] = (
    *(
        (Design(law, size, size), METHODS + (CREDIBLE,) * (f"{law.name}, {size}" in SHOWN))
        for law in LAWS
        for size in SIZES
    ),
    *((Design(laplace(2.0), *sizes), METHODS) for sizes in ((100, 1000), (1000, 100))),
    *((Coins(law, size, size), COIN_METHODS) for law in COIN_LAWS for size in SIZES),
    *((Canaries(law, 100, 100), CANARY_METHODS) for law in COIN_LAWS),
    *((Canaries(law, 1000, 1000), (EVERY_SIZE,)) for law in COIN_LAWS if law.name in MANY),
    *((Watched(law, 500, 500), WATCHED_METHODS) for law in COIN_LAWS),
)


# --- the study -----------------------------------------------------------------------------------


def reproduce(*, rounds: int = 800, seed: int = 1) -> Outcome:
    """Audit every mechanism `rounds` times, each design with its own generator."""
    children = np.random.default_rng(seed).spawn(len(PLAN))
    cells = [
        cell
        for (design, methods), rng in zip(PLAN, children, strict=True)
        for cell in audited(design, methods, rounds, rng)
    ]
    tested = list(_alarms.alarms(rounds, seed))
    notes = [
        f"{row.name}: {row.measured:.4f} of {rounds} true claims refuted; by the best of "
        f"all numbers of outputs, which is not valid, {wrong:.4f}."
        for row, wrong in tested
    ]
    rows = (*checks(cells), *(row for row, _ in tested), *_revealed(tested, rounds))
    return Coverage(TITLE, rounds, seed, rows, {"cells": cells}, tuple(notes), unit=UNIT)


def _revealed(tested: list[tuple[Row, float]], runs: int) -> Iterator[Row]:
    """Yield the check that a test of the same outputs that is not valid is found out."""
    if runs >= ENOUGH:
        allowed = STANDARD_ERRORS * np.sqrt(MISS * CONFIDENCE / runs)
        yield NotValid("chosen by its result: Laplace 1", tested[0][1], MISS, float(allowed))


def audited(
    design: Design, methods: tuple[Method, ...], rounds: int, rng: np.random.Generator
) -> Iterator[Cell]:
    """Draw the scores of `rounds` audits and bound epsilon by every method."""
    bounds: dict[str, list[Doubles]] = {method.name: [] for method in methods}
    for i in range(rounds):
        drawn = design.draw(rng)
        for method in methods:
            if i % min(method.share, max(rounds // 2, 1)) == 0:
                with warnings.catch_warnings():
                    # The study's coins are fair, and look unfair by chance.
                    warnings.simplefilter("ignore", UserWarning)
                    bounds[method.name].append(method.bound(drawn))
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
        if cell.status == "valid" or (cell.status, cell.law.split()[0]) == (
            "if Gaussian",
            "Gaussian",
        ):
            allowed = STANDARD_ERRORS * np.sqrt(MISS * CONFIDENCE / cell.bounds.size)
            yield AtMost(cell.name, cell.rate, MISS, float(allowed))
        mean = MEANS.get((cell.law, cell.scores, cell.delta), {}).get(cell.method)
        if mean is not None and mean >= RARE and cell.bounds.size >= FEW:
            scale = np.sqrt(1 / cell.bounds.size + 1 / MEANS_ROUNDS)
            allowed = student(cell.bounds.size) * cell.deviation * scale + 0.005
            # The simulation of sorted-bits knew epsilon to the next lower multiple of .05.
            row = AtLeast if cell.method == "sorted-bits" else Row
            yield row(f"mean of {cell.name}", cell.mean, mean, float(allowed))
    # With a likelihood ratio that is flat in the tail, choosing the threshold costs the most.
    flat = [c for c in cells if c.law.startswith("Laplace") and c.scores in FLAT]
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
