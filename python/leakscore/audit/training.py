"""Lower bounds on epsilon from a single training with many canaries."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.audit.results import ONE_RUN, Bound
from leakscore.audit.scores import tie_lots
from leakscore.distributions import clopper_pearson
from leakscore.typing import Array, Counts, Flags, Seed

__all__ = ["suspiciously_even"]


_FAR = 6.0  # standard deviations of the number of canaries that are in: once in 5e8 audits
_MANY = 200  # exactly half of so many, or of more, are in at most 1 audit of 17
_FEWEST = 8  # guesses of the preset grid: fewer refute nothing at a share of the level
_STEPS = 20  # values of epsilon per unit that are tested: 0.05, 0.1, ...


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
        Numbers of guesses in and out; for a grid, the pair with the largest bound; for
        ``k="all"`` the size whose count of right guesses is the least probable.
    correct : int
        Number of right guesses among these.
    p_value : float
        Upper bound on the probability of this many right guesses at epsilon = 0, corrected for the
        grid.
    max_certifiable : float
        The largest bound, if all guesses were right.
    delta, confidence : float
        As given.
    seed : int or None
        Passed as `rng` it orders tied scores in the same way. None if nothing was drawn, or if
        `rng` was a generator.
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
    rng: Seed = 0,
) -> OneRunBound:
    """Certify a lower bound on epsilon from one training with many canaries.

    An independent fair coin includes each of m canaries. The k_plus largest scores are guessed in,
    the k_minus smallest out, the others are not guessed, and the right guesses are counted. With
    ``k="all"`` they are counted at every size of a grid, and there is nothing to choose.

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
        If a number is outside its range, lengths differ, ``scores`` is empty or holds NaN, or
        `included` anything but True/False or 1/0.
    TypeError
        If an argument has the wrong type.

    Warns
    -----
    UserWarning
        If the number of canaries that are in is improbable with fair coins: six standard deviations
        off half of them, or exactly half of 200 or more, as if it was fixed beforehand.

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
        return _every_size(scores, included, exposure, level, rng=rng)
    if k_plus is None or k_minus is None:
        raise TypeError(f"{k_plus=} and {k_minus=} must be given together")
    grid = guesses_of(scores, included, k_plus, k_minus)
    # 1 - level is exact where it matters; a small level keeps its digits in the level itself.
    miss = (1.0 - level) / len(grid)
    sure = level if len(grid) == 1 else 1.0 - miss
    bounds = [_epsilon(guesses, exposure, miss, sure) for guesses in grid]
    best = max(range(len(grid)), key=bounds.__getitem__)
    p_values = [
        _core.one_run_p_value(guesses.total, guesses.correct, guesses.exposed * exposure, 0.0)
        for guesses in grid
    ]
    return OneRunBound(
        epsilon=bounds[best],
        **vars(grid[best]),
        p_value=min(1.0, len(grid) * min(p_values)),
        max_certifiable=max(_epsilon(each.perfect(), exposure, miss, sure) for each in grid),
        delta=exposure,
        confidence=level,
        assumptions=ONE_RUN,
    )


def _epsilon(guesses: Guesses, delta: float, miss: float, sure: float) -> float:
    """Return the bound of one pair, rounded down."""
    # confidence= where alpha= would lose the digits of a confidence near 0.
    given = {"alpha": miss} if miss <= 0.5 else {"confidence": sure}
    share, rest = clopper_pearson(guesses.correct, guesses.total, side="lower", **given)
    if share <= rest:
        return 0.0
    plain = (math.log(share) - math.log(rest)) * (1.0 - 2.0**-50) - 2.0**-51
    if delta == 0.0 or plain <= 0.0:
        return max(0.0, plain)
    counts = guesses.total, guesses.correct, guesses.exposed * delta
    return _core.one_run_epsilon(*counts, miss, sure, plain * (1.0 + 2.0**-48))


@dataclass(frozen=True)
class Guesses:
    """The canaries of one training and the guesses about them."""

    canaries: int
    k_plus: int
    k_minus: int
    correct: int

    @property
    def total(self) -> int:
        """The number of guesses."""
        return self.k_plus + self.k_minus

    @property
    def exposed(self) -> float:
        """Number of exposed canaries in the bound: half of them if all guesses are of one kind."""
        one_kind = self.k_plus == 0 or self.k_minus == 0
        return (0.5 if one_kind else 1.0) * self.canaries

    def perfect(self) -> Guesses:
        """Return as many guesses, all of them right."""
        return replace(self, correct=self.total)


def refuse_both(k_plus: object, k_minus: object, k: object) -> None:
    """Refuse two ways to count guesses at once."""
    if k is not None:
        if not isinstance(k, str) or k != "all":
            kind = ValueError if isinstance(k, str) else TypeError
            raise kind(f"k={k!r} must be 'all'; numbers of guesses are k_plus and k_minus")
        if k_plus is not None or k_minus is not None:
            raise ValueError("k='all' must be given without k_plus and k_minus")


def coins(included: npt.ArrayLike, size: int) -> Flags:
    """Validate which canaries were in; warn of a number that is improbable with fair coins."""
    inside = validation.flags("included", included, size)
    members = int(np.count_nonzero(inside))
    fixed = suspiciously_even(members, size)
    if fixed or abs(2 * members - size) > _FAR * math.sqrt(size):
        count = f"Exactly half of {size}" if fixed else f"{members} of {size}"
        warnings.warn(
            f"{count} canaries are in: unless a fair coin of its own decided each, as such numbers "
            "hardly show, nothing is certified. A number that was fixed beforehand is no coin",
            stacklevel=4,
        )
    return inside


def suspiciously_even(members: int, size: int) -> bool:
    """Whether exactly half of many canaries are in, as if the number was fixed."""
    return size >= _MANY and 2 * members == size


def guesses_of(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    k_plus: int | Sequence[int] | None,
    k_minus: int | Sequence[int] | None,
) -> list[Guesses]:
    """Guess the k_plus largest scores in and the k_minus smallest out, for every pair of the grid.

    Without numbers, the grid is the preset one.
    Guesses among scores that tie at a cut, where the order of the canaries would decide, are wrong.
    """
    values = validation.sample("scores", scores)
    inside = coins(included, values.size)
    if k_plus is None or k_minus is None:
        pairs = _preset(values.size)
    else:
        pairs = _pairs(k_plus, k_minus, values.size)
    values = values.astype(np.result_type(values.dtype, np.float32), copy=False)
    packed = np.ascontiguousarray(values), np.ascontiguousarray(inside)
    right = [_core.one_run_right(*packed, *pair) for pair in pairs]
    if min(right) < 0:
        raise ValueError("scores must hold no NaN")
    return [Guesses(values.size, *pair, count) for pair, count in zip(pairs, right, strict=True)]


def _preset(m: int) -> list[tuple[int, int]]:
    """Return the pairs of every size: from both ends, from the highest and from the lowest."""
    sizes = [_FEWEST]
    while 2 * sizes[-1] < m:
        sizes.append(2 * sizes[-1])
    pairs = [(size // 2, size // 2) for size in sizes if size <= m]
    pairs += [(m - m // 2, m // 2)]
    for size in sizes:
        if size <= m // 2:
            pairs += [(size, 0), (0, size)]
    return pairs


def _pairs(
    k_plus: int | Sequence[int], k_minus: int | Sequence[int], m: int
) -> list[tuple[int, int]]:
    """Return the pairs of a grid, or the one pair."""
    grid: list[Any] = [(k_plus, k_minus)]
    shapes = tuple(
        () if np.isscalar(size) else validation.real_array(name, size).shape
        for name, size in (("k_plus", k_plus), ("k_minus", k_minus))
    )
    if shapes != ((), ()):
        if shapes[0] != shapes[1] or len(shapes[0]) != 1 or shapes[0] == (0,):
            raise ValueError(
                f"k_plus={k_plus!r} and k_minus={k_minus!r} must be two numbers or two "
                "sequences of one length, at least 1"
            )
        grid = list(zip(*grid[0], strict=True))
    pairs = []
    for each in grid:
        plus = validation.count("k_plus", each[0], high=m)
        minus = validation.count("k_minus", each[1], high=m)
        if not 0 < plus + minus <= m:
            raise ValueError(
                f"k_plus={plus} and k_minus={minus} must make 1 to {m} guesses, one at most "
                "of each canary"
            )
        pairs.append((plus, minus))
    return pairs


class Walk(NamedTuple):
    """A sequence of guesses, and the numbers of right ones among the first `sizes`.

    Attributes
    ----------
    share : float
        Of 1 - confidence.
    exposed : float
        Canaries times delta, half of it if all guesses are of one kind.
    plus, minus : ndarray
        How many of each size are guessed in and out.
    """

    share: float
    exposed: float
    sizes: Counts
    right: Counts
    plus: Counts
    minus: Counts

    def refutes(self, epsilon: float, miss: float) -> bool:
        """Whether a count is critical; False if delta uses up all of `miss`."""
        share = self.share * miss
        return _core.one_run_every_refutes(self.sizes, self.right, self.exposed, share, epsilon)

    def p_value(self) -> float:
        """Return the least 1 - confidence at which epsilon = 0 is refuted, from above."""
        p = _core.one_run_every_p_value(self.sizes, self.right, self.exposed)
        return min(1.0, p / self.share)

    def perfect(self) -> Walk:
        """Return the walk whose guesses are all right."""
        return self._replace(right=self.sizes)


def _every_size(
    scores: npt.ArrayLike, included: npt.ArrayLike, delta: float, confidence: float, *, rng: Seed
) -> OneRunBound:
    """Bound epsilon from three walks of guesses: from both ends in turn, and from either end."""
    generator, seed = validation.seeded("rng", rng)
    values = validation.sample("scores", scores)
    inside, miss = coins(included, values.size), 1.0 - confidence
    if values.dtype.kind not in "iub" and bool(np.isnan(values).any()):
        raise ValueError("scores must hold no NaN")
    walks = _walks(values, inside, delta, generator) if values.size > 1 else []
    steps = _refuted(walks, miss)
    against = [walk for walk in walks if walk.refutes(steps / _STEPS, miss)] if steps else walks
    plus, minus, right = _strongest(against, steps / _STEPS) if walks else (0, 0, 0)
    return OneRunBound(
        epsilon=steps / _STEPS,
        canaries=values.size,
        k_plus=plus,
        k_minus=minus,
        correct=right,
        p_value=min((walk.p_value() for walk in walks), default=1.0),
        max_certifiable=_refuted([walk.perfect() for walk in walks], miss) / _STEPS,
        delta=delta,
        confidence=confidence,
        seed=seed,
        assumptions=ONE_RUN,
    )


def _walks(scores: Array, inside: Flags, delta: float, rng: np.random.Generator) -> list[Walk]:
    """Return the three walks; ties are ordered by lots that do not depend on the coins."""
    half = scores.size // 2
    ranked = inside[np.lexsort((tie_lots(scores, rng), scores))]
    highest, lowest = ranked[::-1][:half], ~ranked[:half]
    both = np.stack([highest, lowest], axis=1).ravel()
    all_ = scores.size * delta
    return [
        _walk(0.5, all_, both, (1, 1)),
        _walk(0.25, 0.5 * all_, highest, (1, 0)),
        _walk(0.25, 0.5 * all_, lowest, (0, 1)),
    ]


def _walk(share: float, exposed: float, right: Flags, turns: tuple[int, int]) -> Walk:
    sizes = _core.sorted_bits_grid(2 * right.size)
    counts = np.cumsum(right, dtype=np.int64)[sizes - 1]
    plus = sizes if turns == (1, 0) else (sizes + 1) // 2 * turns[0]
    return Walk(share, exposed, sizes, counts, plus=plus, minus=sizes - plus)


def _refuted(walks: list[Walk], miss: float) -> int:
    """Return the number of refuted values 0.05, 0.1, ... before the first that is not refuted."""
    steps = 0
    while any(walk.refutes((steps + 1) / _STEPS, miss) for walk in walks):
        steps += 1
    return steps


def _strongest(walks: list[Walk], epsilon: float) -> tuple[int, int, int]:
    """Return guesses in, guesses out and right guesses where the count is least probable."""
    from scipy.special import betainc

    q = 1.0 / (1.0 + np.exp(-epsilon))
    tails = [
        np.where(walk.right, betainc(np.maximum(walk.right, 1), walk.sizes - walk.right + 1, q), 1)
        for walk in walks
    ]
    best = min(range(len(walks)), key=lambda i: float(tails[i].min()))
    walk, place = walks[best], int(np.argmin(tails[best]))
    return int(walk.plus[place]), int(walk.minus[place]), int(walk.right[place])
