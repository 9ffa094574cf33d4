"""Lower bounds on epsilon from a single training with many canaries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.audit.assumptions import of_one_run
from leakscore.audit.bound import Bound
from leakscore.audit.one_training.every import every_count
from leakscore.audit.one_training.guesses import Guesses, guesses_of, refuse_both
from leakscore.distributions import clopper_pearson


@dataclass(frozen=True, eq=False)
class OneRunBound(Bound):
    """A certified lower bound on epsilon from one training; see `one_run`.

    As a number it is `epsilon`: ``float``, ``<`` and ``>=`` take it so.
    ``round(bound, 2)`` and ``f"{bound:.2f}"`` round down, since more would not be
    certified.

    Attributes
    ----------
    epsilon : float
        The training is not (epsilon', delta)-DP for any epsilon' below it, at this confidence. 0
        means no evidence, not safety.
    canaries : int
        Number of canaries m.
    k_plus, k_minus : int
        How many were guessed in and out; for a grid, the pair with the largest bound; for
        ``k="all"`` the size whose count of right guesses is the rarest.
    correct : int
        How many of these guesses are right.
    p_value : float
        Upper bound on the probability of this many right guesses at epsilon = 0, corrected for the
        grid.
    max_certifiable : float
        The largest bound, if all guesses were right.
    delta, confidence : float
        As given.
    seed : int or None
        As `rng` it orders tied scores alike; None if nothing was drawn, or if `rng` was an object
        that its owner has.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold.

    Examples
    --------
    >>> from leakscore.audit import one_run
    >>> bound = one_run(range(100), [False] * 50 + [True] * 50, k_plus=20, k_minus=0)
    >>> bound.correct, round(float(bound), 4), bound.epsilon == bound.max_certifiable
    (20, 1.8227, True)
    """

    epsilon: float
    canaries: int
    k_plus: int
    k_minus: int
    correct: int
    p_value: float
    max_certifiable: float
    delta: float
    confidence: float
    seed: int | None = None

    @property
    def guesses(self) -> int:
        """The number of guesses, k_plus + k_minus."""
        return self.k_plus + self.k_minus

    _number = "epsilon"


def one_run(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    k_plus: int | Sequence[int] | None = None,
    k_minus: int | Sequence[int] | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    *,
    k: str | None = None,
    rng: np.random.Generator | np.random.BitGenerator | np.random.SeedSequence | int | None = 0,
) -> OneRunBound:
    """Certify a lower bound on epsilon from one training with many canaries.

    An independent fair coin includes each of m canaries. The k_plus largest scores are guessed in,
    the k_minus smallest out, the others are not guessed, and the right guesses are counted. With
    ``k="all"`` they are counted at every size of a grid, and nothing is to be chosen.

    Parameters
    ----------
    scores : array_like, shape (m,)
        One per canary, larger means member; computed from the training only, not from the coins.
        Any real dtype. ``+-inf`` are legal; only their order is used.
    included : array_like, shape (m,)
        Whether the canary was in: bool, or 1 and 0.
    k_plus, k_minus : int or sequence of int
        How many to guess in and out, fixed before the scores are seen; together 1 to m. Two
        sequences of one length are a grid of pairs, also fixed before: the bound is the best of
        their bounds, each at confidence ``1 - (1 - confidence) / pairs``. No bound holds, and none
        is offered, for k that are chosen by their result.
    delta : float
        Delta of the (epsilon, delta)-DP claim, in [0, 1).
    confidence : float
        Probability, in (0, 1), with which the bound holds, over the coins and the training.
    k : {"all"}, optional
        Guess from both ends in turn, from the highest down and from the lowest up, all canaries in
        the end, and count the right ones at geometric sizes; instead of k_plus and k_minus. The
        bound is one of 0.05, 0.1, ...
    rng : None, int, SeedSequence, BitGenerator or Generator
        Orders tied scores at random with ``k="all"``, as in `Audit.from_rounds`; None: fresh
        entropy. The result keeps the seed.

    Returns
    -------
    OneRunBound

    Raises
    ------
    ValueError
        If a number is outside its range, lengths differ, `scores` is empty or holds NaN, or
        `included` anything but True/False or 1/0.
    TypeError
        If an argument has the wrong type.

    Warns
    -----
    UserWarning
        If as many canaries are in as fair coins hardly give: six standard deviations off half of
        them, or exactly half of 200 or more, as where the number was fixed beforehand.

    Notes
    -----
    With r guesses, v of them right, q = 1 / (1 + exp(-epsilon)) and W binomial(r, q), every
    (epsilon, delta)-DP training has

    ``P(at least v right) <= P(W >= v) + (1 - q) m delta``,

    and half of the last term if all guesses are of one kind; the proof is in
    docs/explanation/one-run.md. The bound is the largest epsilon at which the right side is below
    1 - confidence. It holds even where the right side does not grow with epsilon, since it depends
    on one number only, v. With ``delta = 0`` it is the logit of the Clopper-Pearson bound on the
    share of right guesses. It is rounded down in the last bits. The published inequality
    (theorem 5.2 of the reference) is exceeded by some mechanisms (docs/explanation/errata.md) and
    is not used.

    The same holds for a walk of guesses and any critical counts, with the probability that a walk
    of steps Bernoulli(q) reaches one of them. With ``k="all"`` there are three walks: from both
    ends in turn, with half of 1 - confidence, and from either end, with a quarter each.

    Guesses among scores that tie at a cut, where the order of the canaries would decide, count as
    wrong: this can only lower the bound, and no result depends on the order.
    `leakscore.whitebox.one_run_guesses` guesses the first of them instead.

    References
    ----------
    T. Steinke, M. Nasr and M. Jagielski, "Privacy auditing with one (1) training run" (NeurIPS
    2023).

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.audit import one_run
    >>> rng = np.random.default_rng(0)
    >>> included = rng.random(2000) < 0.5
    >>> scores = rng.normal(1.5 * included)
    >>> bound = one_run(scores, included, k_plus=100, k_minus=100, delta=1e-5)
    >>> bound.correct, round(float(bound), 2), round(bound.max_certifiable, 2)
    (197, 3.22, 4.19)
    >>> every = one_run(scores, included, k="all", delta=1e-5)
    >>> every.epsilon, every.k_plus, every.k_minus, every.correct
    (3.2, 0, 203, 202)
    """
    exposure = validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    refuse_both(k_plus, k_minus, k)
    if k_plus is None and k_minus is None:
        generator, seed = validation.seeded("rng", rng)
        found = every_count(scores, included, exposure, 1.0 - level, generator)
        return OneRunBound(
            *found, delta=exposure, confidence=level, seed=seed, assumptions=of_one_run()
        )
    if k_plus is None or k_minus is None:
        raise TypeError(f"Expected {k_plus=} and {k_minus=}, both or none")
    grid = guesses_of(scores, included, k_plus, k_minus)
    # 1 - level is exact where it matters; a small level keeps its digits in the level itself.
    miss = (1.0 - level) / len(grid)
    sure = level if len(grid) == 1 else 1.0 - miss
    bounds = [_epsilon(guesses, guesses.correct, exposure, miss, sure) for guesses in grid]
    best = max(range(len(grid)), key=bounds.__getitem__)
    p_values = [
        _core.one_run_p_value(guesses.made, guesses.correct, _exposed(guesses, exposure), 0.0)
        for guesses in grid
    ]
    chosen = grid[best]
    return OneRunBound(
        epsilon=bounds[best],
        canaries=chosen.canaries,
        k_plus=chosen.k_plus,
        k_minus=chosen.k_minus,
        correct=chosen.correct,
        p_value=min(1.0, len(grid) * min(p_values)),
        max_certifiable=max(_epsilon(all_, all_.made, exposure, miss, sure) for all_ in grid),
        delta=exposure,
        confidence=level,
        assumptions=of_one_run(),
    )


def _epsilon(guesses: Guesses, correct: int, delta: float, miss: float, sure: float) -> float:
    """Return the bound of one pair, rounded down."""
    # confidence= where alpha= would lose the digits of a confidence near 0.
    given = {"alpha": miss} if miss <= 0.5 else {"confidence": sure}
    share, rest = clopper_pearson(correct, guesses.made, side="lower", **given)
    if share <= rest:
        return 0.0
    plain = (math.log(share) - math.log(rest)) * (1.0 - 2.0**-50) - 2.0**-51
    if delta == 0.0 or plain <= 0.0:
        return max(0.0, plain)
    return _core.one_run_epsilon(
        guesses.made, correct, _exposed(guesses, delta), miss, sure, plain * (1.0 + 2.0**-48)
    )


def _exposed(guesses: Guesses, delta: float) -> float:
    """Return how many canaries delta gives away at most, of those that can be guessed right."""
    one_kind = guesses.k_plus == 0 or guesses.k_minus == 0
    return (0.5 if one_kind else 1.0) * guesses.canaries * delta
