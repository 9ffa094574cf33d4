"""What a ledger of questions returns: an answer, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass

from leakscore.results import Result
from leakscore.typing import Doubles

__all__ = ["Answer", "Refusal"]


@dataclass(frozen=True, eq=False)
class Answer(Result):
    """An answer of a `Ledger`.

    Attributes
    ----------
    number : int
        Of the answer, from 1. That of the next answer if it is a preview.
    statistic : str
    columns : tuple of int
    values : (k,) ndarray
        The count, or the sums or means of the columns, with their noise; empty of a preview.
    count : float or None
        Of a mean, how many records the selection has, with noise: a mean is taken to be published
        with its count, and is the noisy sum over the noisy count, which counts as 1 at least.
    noise_std : (k,) ndarray
        Standard deviation of all noise in each value, that of earlier answers included.
    standard_errors : float
        The same in units of the value's own standard error, of the value where that is largest.
    leakage : float
        The largest leakage of a record after this answer.
    free : bool
        Whether it follows from earlier answers and tells nothing new.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import leakage
    >>> table = np.random.default_rng(0).normal(size=(1000, 2))
    >>> answer = leakage.Ledger(table, max_advantage=0.1).ask(table[:, 0] > 0, "mean", [1])
    >>> answer.number, answer.free, answer.noise_std.tolist()
    (1, False, [0.0])
    """

    number: int
    statistic: str
    columns: tuple[int, ...]
    values: Doubles
    count: float | None
    noise_std: Doubles
    standard_errors: float
    leakage: float
    free: bool


@dataclass(frozen=True, eq=False)
class Refusal(Result):
    """A question that a `Ledger` does not answer. Nothing was recorded.

    Attributes
    ----------
    statistic : str
    columns : tuple of int
    exceeding : int
        How many records would leak more than the limit without noise.
    leakage : float
        The largest leakage of a record without noise; +inf if it would give itself away.
    standard_errors : float
        The noise that an answer would need, in units of its own standard error; more than
        `max_noise`. +inf if no noise is enough.
    collides : tuple of int
        Numbers of the earlier answers from which, with this one, the worst record follows. Empty if
        the answer would tell too much of it alone.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import leakage
    >>> table = np.random.default_rng(0).normal(size=(1000, 2))
    >>> ledger = leakage.Ledger(table, max_advantage=0.1)
    >>> _ = ledger.ask(np.ones(1000, dtype=bool), "sum", [1])
    >>> refusal = ledger.ask(np.arange(1000) > 0, "sum", [1])
    >>> refusal.exceeding, refusal.leakage, refusal.collides
    (1, inf, (1,))
    """

    statistic: str
    columns: tuple[int, ...]
    exceeding: int
    leakage: float
    standard_errors: float
    collides: tuple[int, ...]
