"""The game on the means of a growing table: four tests, their exact errors, and rounds of it.

Batches of N Gaussian records; the target is at a given Mahalanobis distance, and in one batch.
SeMI* uses that batch, SeMI-unif and SeMI-max use all batches, "final" uses only the last mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import games, sequential, tradeoff
from leakscore.distributions import ncx2
from leakscore.reference import Reference
from reproduce._sequences import max_error_rates

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

N, LEVEL = 10, 0.01
STAR, UNIFORM, LARGEST, FINAL = TESTS = ("SeMI*", "SeMI-unif", "SeMI-max", "final")
_GUESSED = 100_000  # rounds that locate a threshold, before it is computed exactly
_BLOCK = 1 << 22  # doubles of the releases that are played at once: 32 MB


@dataclass(frozen=True)
class Setting:
    """A game: T batches in d dimensions, and a target at a (Mahalanobis) distance from the mean."""

    steps: int
    distance: float = 3.0
    dim: int = 1
    insertion: Any = 0

    @property
    def square(self) -> float:
        """The squared distance, M."""
        return self.distance**2

    @property
    def target(self) -> Doubles:
        """The target's record."""
        return np.concatenate(([self.distance], np.zeros(self.dim - 1)))

    def play(self, rounds: int, rng: np.random.Generator) -> Iterator[Played]:
        """Play this many rounds in blocks."""
        block = max(1, _BLOCK // (self.steps * self.dim))
        for start in range(0, rounds, block):
            yield Played.of(self, min(block, rounds - start), rng)

    def scores(self, rounds: int, rng: np.random.Generator) -> dict[str, tuple[Doubles, Doubles]]:
        """Play, and return every test's scores: members, nonmembers."""
        blocks = list(zip(*(block.scores() for block in self.play(2 * rounds, rng)), strict=True))
        member = require_both(np.concatenate(blocks.pop()))
        both = zip(TESTS, map(np.concatenate, blocks), strict=True)
        return {name: (score[member], score[~member]) for name, score in both}

    def threshold(self, test: str, alpha: float = LEVEL) -> float:
        """Return the exact threshold at which a test has this Type I error."""
        if test == UNIFORM:
            return self._uniform_threshold(alpha)
        n = N * self.steps if test == FINAL else N
        own = -np.expm1(np.log1p(-alpha) / self.steps) if test == LARGEST else alpha
        quantile = ncx2.ppf(own, self.dim, n * self.square)
        largest = 0.5 * (self.square - self.dim * np.log1p(-1.0 / n))
        return float(largest - 0.5 * quantile / (n - 1.0))

    def _uniform_threshold(self, alpha: float) -> float:
        played = Played.of(self, _GUESSED, np.random.default_rng(0))
        scores = sequential.semi_uniform(played.ratios()[~played.member])
        near = np.quantile(scores, 1.0 - alpha) + np.array([-0.06, 0.0, 0.06])
        logs = np.log(self.rates(UNIFORM, near)[0])
        return float(np.polyval(np.polyfit(logs, near, 2), np.log(alpha)))

    def rates(self, test: str, threshold: Any) -> tuple[Any, Any]:
        """Return both errors of a test at thresholds: exact, or the middles of narrow bounds."""
        if test == UNIFORM:
            alpha, beta = (0.5 * (low + high) for low, high in self.bounds(threshold))
            return alpha, beta
        n = N * self.steps if test == FINAL else N
        alpha, beta = sequential.error_rates(threshold, self.square, n, self.dim)
        if test == LARGEST:
            own, missed = (np.stack([rate] * self.steps, axis=-1) for rate in (alpha, beta))
            return max_error_rates(own, missed)
        return alpha, beta

    def bounds(self, threshold: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return certified bounds, lower and upper, on both errors of SeMI-unif."""
        ends = sequential.uniform_error_rates(threshold, self.square, N, self.dim, self.steps)
        alpha, beta = ((end.lower, end.upper) for end in ends)
        return alpha, beta

    def power(self, test: str) -> float:
        """Return the exact power at alpha = .01."""
        return 1.0 - float(self.rates(test, self.threshold(test))[1])

    def curve(self, test: str) -> tuple[Doubles, Doubles]:
        """Return the exact ROC curve, false and true positive rates: rising, up to 1e-4 from 1."""
        top = 0.5 * (self.square - self.dim * float(np.log1p(-1.0 / N)))
        low = self.threshold(LARGEST, 1.0 - 1e-4) - np.log(self.steps)
        if test != UNIFORM:
            alpha, beta = self.rates(test, np.linspace(top, min(low, -8.0), 2000))
        else:  # costly, and smooth: a spline of few thresholds
            from scipy.interpolate import CubicSpline

            few = np.linspace(low, top, 80)
            both = CubicSpline(few, np.stack(self.rates(test, few)), axis=1)
            alpha, beta = both(np.linspace(top, low, 2000))
        ends = np.concatenate
        return ends(([0.0], alpha, [1.0])), ends(([0.0], 1.0 - beta, [1.0]))

    def auc(self, test: str) -> float:
        """Return the area under the ROC curve, where there is a closed form or quadrature of it."""
        n = N * self.steps if test == FINAL else N
        curve = tradeoff.gaussian_mean(self.square, n, self.dim)
        return float((curve.best_of(self.steps) if test == LARGEST else curve).auc())


@dataclass(frozen=True)
class Played:
    """Rounds of a game."""

    setting: Setting
    releases: Doubles
    member: Flags
    step: npt.NDArray[np.intp]

    @classmethod
    def of(cls, setting: Setting, rounds: int, rng: np.random.Generator) -> Played:
        """Play this many rounds at once."""
        population = games.Gaussian(np.zeros(setting.dim), np.ones(setting.dim))
        where = N, setting.steps, setting.insertion
        return cls(setting, *games.sequential(population, setting.target, *where, rounds, rng))

    def ratios(self) -> Doubles:
        """Return the log-likelihood ratios of all batches, (R, T)."""
        batches = sequential.batch_means(self.releases)
        return sequential.gradient_llr(batches, self.setting.target, _law(self.setting.dim), N)

    def so_far(self) -> Doubles:
        """Return the log-likelihood ratios of every cumulative mean on its own, (R, T)."""
        counts = N * np.arange(1, self.setting.steps + 1)
        return sequential.gradient_llr(
            self.releases, self.setting.target, _law(self.setting.dim), counts
        )

    def scores(self) -> tuple[Doubles, Doubles, Doubles, Doubles, Flags]:
        """Return the scores of all tests, and the truth."""
        ratios = self.ratios()
        known = np.where(
            self.member,
            self.step,
            self.setting.insertion if isinstance(self.setting.insertion, int) else 0,
        )
        own = ratios[np.arange(len(ratios)), known]
        last = sequential.gradient_llr(
            self.releases[:, -1:],
            self.setting.target,
            _law(self.setting.dim),
            N * self.setting.steps,
        )[:, 0]
        unknown = sequential.semi_uniform(ratios), sequential.semi_max(ratios)
        return own, *unknown, last, self.member


def require_both(member: Flags) -> Flags:
    """Refuse rounds whose coins leave a hypothesis fewer than two of them."""
    inside = int(member.sum())
    if min(inside, member.size - inside) < 2:
        raise ValueError(
            f"There must be more rounds: the target is in {inside} of {member.size}, and two are "
            "needed with it and two without"
        )
    return member


def _law(dim: int) -> Reference:
    return Reference(np.zeros(dim), np.ones(dim))
