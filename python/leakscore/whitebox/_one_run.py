"""Audits with one training: coins include canaries, and scores guess which were included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore._drawn import Drawn
from leakscore.typing import Flags, Seed

_Signs = npt.NDArray[np.int8]


def one_run(
    train: Callable[[Flags], npt.ArrayLike],
    m: int,
    k_plus: int,
    k_minus: int,
    rng: Seed = None,
) -> Drawn[_Signs, _Signs]:
    """Audit with one training: include each of m canaries by a fair coin, train, score, guess.

    Parameters
    ----------
    train : callable
        Takes the (m,) bool array of which canaries are in, trains on them and on any other data,
        and returns the canaries' scores (m,), larger meaning member; any black- or white-box score.
    m : int
        Number of canaries, at least 1.
    k_plus, k_minus : int
        How many to guess in and out; see `one_run_guesses`.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Source of the coins; None: fresh entropy. The result keeps the seed, ``result.seed``.

    Returns
    -------
    selection : (m,) ndarray of int8
        1 if the canary was in, -1 if not.
    guesses : (m,) ndarray of int8
        1, -1, or 0 for no guess.

    Raises
    ------
    TypeError
        If `train` is no function.
    ValueError
        If a number is out of its range, or scores are NaN or of the wrong shape.

    Notes
    -----
    Of k guesses that a purely epsilon-DP training allows, the number of right ones is below
    Binomial(k, 1 / (1 + exp(-epsilon))) in law.

    References
    ----------
    T. Steinke, M. Nasr and M. Jagielski, "Privacy auditing with one (1) training run" (NeurIPS
    2023); A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
    algorithm 5.

    Examples
    --------
    >>> from leakscore import whitebox
    >>> leaky = lambda included: included * 1.0  # a training that gives its canaries away
    >>> selection, guesses = whitebox.one_run(leaky, 8, 2, 2, rng=1)
    >>> int((selection * guesses).sum())
    4
    """
    if not callable(train):
        raise TypeError(f"Expected train={train!r} to be a function of the canaries included")
    m = validation.count("m", m, low=1)
    _guesses(m, k_plus, k_minus)
    generator, seed = validation.seeded("rng", rng)
    included = generator.integers(0, 2, size=m, dtype=np.int8).astype(np.bool_)
    selection = np.where(included, np.int8(1), np.int8(-1))
    scores = validation.scores("train(included)", train(included), m)
    return Drawn((selection, one_run_guesses(scores, k_plus, k_minus)), seed)


def one_run_guesses(scores: npt.ArrayLike, k_plus: int, k_minus: int) -> _Signs:
    """Guess that the canaries of the largest scores are in and those of the smallest are out.

    Parameters
    ----------
    scores : (m,) array_like
        One score per canary, larger meaning member; infinite ones are ordered like others.
    k_plus, k_minus : int
        How many to guess in and out, at least 0 and at most m together.

    Returns
    -------
    (m,) ndarray of int8
        1 for the k_plus largest scores, -1 for the k_minus smallest, 0 for the others. Of scores
        that tie at a cut the first are taken: ties carry no information, and canaries that were
        selected by coins may be in any order.

    Raises
    ------
    ValueError
        If scores are not 1-D, are empty or hold NaN, or k_plus + k_minus > m.

    References
    ----------
    A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), algorithm 5.

    Examples
    --------
    >>> from leakscore import whitebox
    >>> whitebox.one_run_guesses([0.5, 3.0, -1.0, 2.0], k_plus=1, k_minus=2)
    array([-1,  1, -1,  0], dtype=int8)
    """
    values = validation.sample("scores", scores)
    if np.isnan(values).any():
        raise ValueError("Expected scores to hold no NaN")
    k_plus, k_minus = _guesses(values.size, k_plus, k_minus)
    ascending = np.argsort(values, kind="stable")
    guesses = np.zeros(values.size, dtype=np.int8)
    guesses[ascending[:k_minus]] = -1
    descending = np.argsort(-values.astype(np.float64), kind="stable")
    guesses[descending[guesses[descending] == 0][:k_plus]] = 1
    return guesses


def _guesses(m: int, k_plus: int, k_minus: int) -> tuple[int, int]:
    k_plus = validation.count("k_plus", k_plus, high=m)
    return k_plus, validation.count("k_minus", k_minus, high=m - k_plus)
