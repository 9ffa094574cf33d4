"""Batches other than Poisson samples, and noise that is correlated between steps.

Every record in the same number of an epoch's steps (random allocation), batches of a fixed size,
Poisson batches that are cut to a largest size, a fresh permutation in every epoch (shuffled).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.tradeoff.composed import ComposedTradeOff, subsampled_gaussian
from leakscore.tradeoff.composition.laws import (
    AllocatedEpoch,
    LargestOutput,
    MixedStep,
    ReplacedStep,
)
from leakscore.tradeoff.composition.octaves import Component
from leakscore.tradeoff.composition.steps import AllocatedSteps, GaussianStep, Parts
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.gaussian_curves import gaussian
from leakscore.tradeoff.premise import (
    ALLOCATION,
    CORRELATED,
    EXACT_NOISE,
    FIXED_SAMPLE,
    SHUFFLED,
    TRUNCATED,
    Premise,
)
from leakscore.typing import Doubles

# Of several steps, whose ratios are added up, and of one, whose loss is a log.
LEAST_NOISE, LEAST_ALONE = 0.06, 0.01
MOST_STEPS = 10**6
_MOST_EPOCHS = 10**5


@validation.named_arguments
def random_allocation(
    noise_multiplier: float,
    steps_per_epoch: int,
    *,
    selected: int = 1,
    num_epochs: int = 1,
    reallocate: bool = True,
) -> TradeOff:
    """Return the trade-off curve of DP-SGD where a record is in k of T steps, drawn uniformly.

    H0 is the data without the record and H1 the data with it. In an epoch the record is in exactly
    `selected` of `steps_per_epoch` steps, all sets as probable, independently of other records.
    The release of a step is the sum of the batch's contributions, each of norm at most 1, with
    noise of standard deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution; with several steps at least
        0.06, times sqrt(num_epochs) without `reallocate`.
    steps_per_epoch : int
        Number of steps of an epoch, 1 to 10^6.
    selected : int
        Number of steps that hold the record, 1 to `steps_per_epoch`.
    num_epochs : int
        Number of epochs, 1 to 10^5.
    reallocate : bool
        True: the steps are drawn anew in every epoch. False: once, and the same steps hold the
        record in every epoch (balls in bins).

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds of kind "guarantee", about a record added or
        removed; ``gaussian`` where every step holds the record. Both directions, and epsilon(0) is
        inf. There is no `ComposedTradeOff.estimate`.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, `selected` is above `steps_per_epoch`, or the noise is too
        small for the lattice.

    Notes
    -----
    Proved tight for `selected` 1: the pair is attained by constant gradients, so both bounds differ
    by the spacing of a lattice only, squared. At delta = 1e-5 their epsilons differ by less than
    1e-3 max(epsilon, 0.1).

    Proved, but not tight, for 1 < `selected` < `steps_per_epoch`: the lower curve reveals a random
    partition of the steps into `selected` blocks, one of whose steps each holds the record; the
    upper curve is the attack that adds up the log ratios of single steps. The curve lies between
    them, and finer arithmetic does not narrow that gap.

    A curve of random allocation may lie below that of Poisson sampling at the rate
    selected / steps_per_epoch in one direction and above in the other.

    Without `reallocate` all epochs of a bin add up: it is one epoch at noise_multiplier /
    sqrt(num_epochs).

    References
    ----------
    Feldman & Shenfeld, "Privacy amplification by random allocation" (arXiv 2502.08202).
    Chua et al., "Balls-and-bins sampling for DP-SGD" (arXiv 2412.16802).

    Examples
    --------
    >>> f = random_allocation(1.0, 100)
    >>> low, high = f.interval("epsilon", 1e-5)
    >>> print(round(low, 3), round(high, 3), f.neighbours)
    0.621 0.621 add-remove
    >>> print(round(random_allocation(1.0, 100, num_epochs=10).epsilon(1e-5), 2))
    1.7
    """
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    slots = validation.steps("steps_per_epoch", steps_per_epoch)
    hits = validation.steps("selected", selected)
    epochs = validation.steps("num_epochs", num_epochs)
    again = validation.flag("reallocate", reallocate)
    if hits > slots:
        raise ValueError(f"selected={hits} must be <= steps_per_epoch={slots}")
    premise = Premise("add-remove", (ALLOCATION, EXACT_NOISE))
    if hits == slots:
        return gaussian(math.sqrt(hits * epochs) / noise)._about(premise)
    validation.count("steps_per_epoch", slots, 1, MOST_STEPS, why=": compose fewer steps")
    validation.count("num_epochs", epochs, 1, _MOST_EPOCHS, why=": compose fewer epochs")
    mu, turns = (1.0 / noise, epochs) if again else (math.sqrt(epochs) / noise, 1)
    moved = 1.0 if again else math.sqrt(epochs)
    require_noise(noise, moved, slots, "gaussian(sqrt(selected * num_epochs) / noise_multiplier)")
    name = (
        f"random_allocation(noise_multiplier={noise!r}, steps_per_epoch={slots}, "
        f"selected={hits}, num_epochs={epochs}, reallocate={again})"
    )
    parts = allocated(mu, slots, hits, turns)
    attack: Parts | None = None
    if hits > 1:
        attack = [(AllocatedSteps(mu, hits / slots, slots=slots, hits=hits), slots * turns)]
    return ComposedTradeOff(parts, name, premise, attack=attack)


def require_noise(noise: float, moved: float, slots: int, guarantee: str) -> None:
    """Refuse noise whose ratios overflow, and name a curve that holds for the same batches.

    A record moves the output by `moved` times what it contributes.
    """
    least = (LEAST_NOISE if slots > 1 else LEAST_ALONE) * moved
    if noise < least:
        raise ValueError(
            f"noise_multiplier={noise!r} must be >= {least:.4g} with {slots} step(s): the "
            f"ratios of smaller noise overflow; take {guarantee} as a guarantee, which lets the "
            "attacker see the batches"
        )


def allocated(mu: float, slots: int, hits: int, epochs: int) -> Parts:
    """Give the epochs of one step each whose product dominates k of T."""
    longer = slots % hits
    parts: Parts = []
    for size, count in ((slots // hits + 1, longer), (slots // hits, hits - longer)):
        if not count:
            continue
        epoch = AllocatedEpoch(mu=mu, slots=size) if size > 1 else GaussianStep(mu, 1.0)
        parts.append((epoch, count * epochs))
    return parts


# In a full batch the record takes the place of another one, which moves the sum by 2.
_SEEN = "gaussian(2 * sqrt(num_steps) / noise_multiplier)"
_TAIL = 1e-11  # relative error of a binomial tail


@validation.named_arguments
def fixed_batch_gaussian(
    noise_multiplier: float, batch_size: int, num_records: int, num_steps: int
) -> TradeOff:
    """Return the trade-off curve of DP-SGD on batches of a fixed size, drawn without replacement.

    H0 is the data with another record in the record's place. Every step draws `batch_size` of the
    `num_records` records anew, all sets as probable, and releases the sum of their contributions,
    each of norm at most 1, with noise of standard deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution, at least 0.06 with several
        steps and 0.01 with one. A replaced record moves a sum by 2: accountants whose noise
        multiplier is relative to that sensitivity take half of this one.
    batch_size : int
        Number of records in a batch, 1 to `num_records`.
    num_records : int
        Number of records.
    num_steps : int
        Number of steps, 1 to 10^6.

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds, of kind "guarantee" and ``neighbours="replace"``;
        ``gaussian`` where a batch is all of the data. A record added or removed changes the number
        of records, and is not defined here.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `batch_size` is above `num_records`.

    Notes
    -----
    Proved, but not known to be tight. The lower curve is the product of the pairs that dominate a
    single step (Dong et al., theorem 4.2): they hold for the worst of both orders in every step.
    The upper curve is an attack on data whose other contributions are all the same. The worst data
    of a single step differ between both orders, and no product of one pair is known to be tight
    (Lebeda et al.): finer arithmetic does not narrow the gap. It would where batches hold less than
    a millionth of the records: the even lattice of losses then makes wide, certified intervals.

    References
    ----------
    Dong, Roth & Su, "Gaussian differential privacy" (arXiv 1905.02383).
    Lebeda et al., "Avoiding pitfalls for privacy accounting of subsampled mechanisms" (arXiv
    2405.20769).

    Examples
    --------
    >>> f = fixed_batch_gaussian(2.0, 100, 1000, 100)
    >>> low, high = f.interval("epsilon", 1e-5)
    >>> print(round(low, 2), round(high, 2), f.neighbours)
    7.05 7.8 replace
    """
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    records = validation.steps("num_records", num_records)
    batch = validation.steps("batch_size", batch_size)
    steps = validation.steps("num_steps", num_steps)
    if batch > records:
        raise ValueError(f"batch_size={batch} must be <= num_records={records}")
    premise = Premise("replace", (FIXED_SAMPLE, EXACT_NOISE))
    mu, rate = 2.0 / noise, batch / records
    if batch == records:
        return gaussian(mu * math.sqrt(steps))._about(premise)
    validation.count("num_steps", steps, 1, MOST_STEPS, why=": compose fewer steps")
    require_noise(noise, 1.0, steps, _SEEN)
    name = (
        f"fixed_batch_gaussian(noise_multiplier={noise!r}, batch_size={batch}, "
        f"num_records={records}, num_steps={steps})"
    )
    parts: Parts = [(ReplacedStep(mu=mu, sampled=rate), steps)]
    attack: Parts = [(GaussianStep(mu, rate), steps)]
    return ComposedTradeOff(parts, name, premise, attack=attack)


@validation.named_arguments
def truncated_poisson_gaussian(
    noise_multiplier: float,
    sample_rate: float,
    max_batch_size: int,
    num_records: int,
    num_steps: int,
) -> TradeOff:
    """Return the trade-off curve of DP-SGD on Poisson batches that are cut to a largest size.

    H0 is the data without the record and H1 the data with it. In every step each record comes with
    probability `sample_rate`; where more than `max_batch_size` come, a uniform subset of that many
    is kept. The release is the sum of the contributions, each of norm at most 1 and not divided by
    the size of the batch, with noise of standard deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution, at least 0.06 with several
        steps and 0.01 with one.
    sample_rate : float
        Probability of a record to come, in (0, 1].
    max_batch_size : int
        The largest size of a batch, at least 1. From `num_records` on nothing is cut.
    num_records : int
        Number of records, with the record in question.
    num_steps : int
        Number of steps, 1 to 10^6.

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds, of kind "guarantee", about a record added or
        removed; ``subsampled_gaussian`` where nothing is cut.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range.

    Notes
    -----
    Proved, but not known to be tight. The lower curve reveals in every step whether a batch was
    full without the record: the record then takes another one's place, which moves the sum by 2.
    The upper curve is an attack on data whose other contributions are 0. Where batches are hardly
    ever cut, both are the curve of Poisson sampling.

    References
    ----------
    Annamalai et al. on truncated Poisson sampling (arXiv 2508.15089).

    Examples
    --------
    >>> f = truncated_poisson_gaussian(1.0, 0.01, 200, 10_000, 100)
    >>> low, high = f.interval("epsilon", 1e-5)
    >>> print(round(low, 3), round(high, 3))
    0.718 0.718
    """
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    most = validation.steps("max_batch_size", max_batch_size)
    records = validation.steps("num_records", num_records)
    steps = validation.steps("num_steps", num_steps)
    if most >= records:
        return subsampled_gaussian(noise, rate, steps)
    validation.count("num_steps", steps, 1, MOST_STEPS, why=": compose fewer steps")
    mu = 1.0 / noise
    require_noise(noise, 1.0, steps, _SEEN)
    name = (
        f"truncated_poisson_gaussian(noise_multiplier={noise!r}, sample_rate={rate!r}, "
        f"max_batch_size={most}, num_records={records}, num_steps={steps})"
    )
    components, drawn = _cases(mu, rate, most, records)
    parts: Parts = [(MixedStep(components=components, error=2.0 * _TAIL), steps)]
    attack: Parts = [(GaussianStep(mu, drawn), steps)]
    premise = Premise("add-remove", (TRUNCATED, EXACT_NOISE))
    return ComposedTradeOff(parts, name, premise, attack=attack)


def _cases(mu: float, rate: float, most: int, records: int) -> tuple[tuple[Component, ...], float]:
    """Give the cases of a step: room in the batch, or none; and how often the record is in it.

    Without room it takes the place of another one with a probability of B/n P(Bin(n, q) > B) /
    P(Bin(n-1, q) >= B). The rate of the attack is rounded down.
    """
    from scipy.special import betainc, betaincc

    full = float(betainc(most, records - most, rate))
    room = float(betaincc(most, records - most, rate))
    beyond = float(betainc(most + 1, records - most, rate))
    cases = []
    if room > 0.0:
        cases.append(Component(room, mu, rate))
    if full > 0.0:
        replaced = min(most / records * (beyond / full), 1.0)
        cases.append(Component(full, 2.0 * mu, replaced))
    drawn = sum(case.weight * case.rate for case in cases)
    return tuple(cases), drawn * (1.0 - 2.0 * _TAIL)


_RELATIONS = ("replace", "zero-out")


@validation.named_arguments
def shuffled_gaussian(
    noise_multiplier: float,
    steps_per_epoch: int,
    *,
    num_epochs: int = 1,
    neighbours: str = "replace",
) -> TradeOff:
    """Return the trade-off curve of DP-SGD on shuffled records, as data loaders make batches.

    In every epoch a fresh permutation of the records is cut into `steps_per_epoch` batches of equal
    size.
    A step releases the sum of the contributions, each of norm at most 1, with noise of standard
    deviation `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution; with several steps at least
        0.06, or 0.12 for `neighbours` "replace".
    steps_per_epoch : int
        Number of steps of an epoch, 1 to 10^6.
    num_epochs : int
        Number of epochs, 1 to 10^5.
    neighbours : {"replace", "zero-out"}
        ``"replace"``: H0 holds another record in the record's place. ``"zero-out"``: a record whose
        contributions are 0. A record added or removed would change the size of a batch.

    Returns
    -------
    TradeOff
        A `ComposedTradeOff` of certified bounds, of kind "guarantee": the lower curve holds for
        every data set, the upper one is attained by an attack on one. ``gaussian`` for one step.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range.

    Notes
    -----
    Proved, and believed to be loose. The lower curve reveals the permutation, so that one step an
    epoch holds the record and nothing hides in which one: no amplification by shuffling is proved
    at noise of this size. The upper curve is an attack on data whose other contributions are all
    the same: the average ratio of the steps for "replace", the largest output for "zero-out".
    Poisson accounting of a shuffled training claims less than this attack reaches: see
    ``interval``.

    References
    ----------
    Chua et al., "How private are DP-SGD implementations?" (arXiv 2403.17673) and "Scalable DP-SGD:
    shuffling vs. Poisson subsampling" (arXiv 2411.04205).

    Examples
    --------
    >>> low, high = shuffled_gaussian(1.0, 100).interval("epsilon", 1e-5)
    >>> print(round(low, 2), round(high, 2))
    5.4 10.0
    """
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    slots = validation.steps("steps_per_epoch", steps_per_epoch)
    epochs = validation.steps("num_epochs", num_epochs)
    relation = validation.choice("neighbours", neighbours, _RELATIONS)
    premise = Premise(relation, (SHUFFLED, EXACT_NOISE))
    moved = 2.0 if relation == "replace" else 1.0
    mu = moved / noise
    if slots == 1:
        return gaussian(mu * math.sqrt(epochs))._about(premise)
    validation.count("steps_per_epoch", slots, 1, MOST_STEPS, why=": compose fewer steps")
    validation.count("num_epochs", epochs, 1, _MOST_EPOCHS, why=": compose fewer epochs")
    twice = "2 * " if relation == "replace" else ""
    require_noise(noise, moved, slots, f"gaussian({twice}sqrt(num_epochs) / noise_multiplier)")
    name = (
        f"shuffled_gaussian(noise_multiplier={noise!r}, steps_per_epoch={slots}, "
        f"num_epochs={epochs}, "
        f"neighbours={relation!r})"
    )
    parts: Parts = [(GaussianStep(mu * math.sqrt(epochs), 1.0), 1)]
    view = AllocatedEpoch if relation == "replace" else LargestOutput
    attack: Parts = [(view(mu=mu, slots=slots), epochs)]
    return ComposedTradeOff(parts, name, premise, attack=attack)


_KINDS = ("identity", "tree", "square-root", "banded")
_MOST = 10**4
_LEAST_SHIFT = 1e-150  # below, squares have few digits


@validation.named_arguments
def correlated_gaussian(
    strategy_matrix: npt.ArrayLike, participation: npt.ArrayLike, noise_multiplier: float = 1.0
) -> TradeOff:
    """Return the trade-off curve of training with correlated noise.

    With x_s the sum of the contributions in step s, each of norm at most 1, the releases are C x +
    sigma z, z standard normal and sigma the `noise_multiplier`. H0 is the data without the record
    and H1 the data with it; a record takes part in the steps of one pattern, and the attacker knows
    which. Contributions may depend on all earlier releases.

    Parameters
    ----------
    strategy_matrix : (T, T) array_like
        C, lower triangular without a row of zeros.
    participation : (P, T) array_like
        The possible patterns: 0/1 for each of the T steps. See `participation_patterns`.
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution.

    Returns
    -------
    TradeOff
        ``gaussian`` where no two steps of a pattern have a negative entry in C'C: proved tight.
        Otherwise a `ComposedTradeOff` between two Gaussian curves: contributions of either sign
        bound it from below (proved, not known to be tight), the largest pattern of equal
        contributions attains the upper one. About a record added or removed, of kind "guarantee".

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, the matrix is not lower triangular or has a row of zeros, or
        patterns are not 0/1 or of another length.

    Notes
    -----
    The outputs differ by m_t = sum_s C_ts pi_s v_s / sigma with v_s of norm at most 1, chosen from
    what came before. The square of m's norm is at most B^2, the largest over patterns of
    sum pi_s pi_s' abs(C'C)_ss' / sigma^2, and a step of the missing norm makes it B^2 always: then
    the log-ratio is N(+-B^2/2, B^2).

    Patterns are taken as known: there is no amplification by sampling.

    References
    ----------
    Denisov et al., "Improved differential privacy for SGD via optimal private linear operators on
    adaptive streams" (arXiv 2202.08312).

    Examples
    --------
    >>> C = strategy_matrix("square-root", 64)
    >>> f = correlated_gaussian(C, participation_patterns(64, num_epochs=2), 4.0)
    >>> print(round(f.epsilon(1e-5), 2), f.neighbours)
    2.42 add-remove
    """
    matrix = _triangular(strategy_matrix)
    patterns = _patterns(participation, matrix.shape[0])
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # refused below
        shifts = matrix / noise
        product = shifts.T @ shifts
        squares = np.einsum("ps,ps->p", patterns @ np.abs(product), patterns)
    absolute = float(np.sqrt(squares.max()))
    if not _LEAST_SHIFT < absolute < np.inf:
        raise ValueError(
            f"strategy_matrix over noise_multiplier={noise!r} must be in the range of doubles: "
            f"the largest shift is {absolute!r}"
        )
    premise = Premise("add-remove", (CORRELATED, EXACT_NOISE))
    together = (patterns.T @ patterns) > 0.0
    if not (product[together] < 0.0).any():
        return gaussian(absolute)._about(premise)
    # Rounded outwards: a sum of T products errs by T units of its terms' sizes, whatever cancels;
    # those of two columns are at most the product of their lengths. Sums of sizes err by T units.
    unit = 8.0 * matrix.shape[0] * 2.0**-53
    squares += unit * np.square(patterns @ np.sqrt(np.diagonal(product)))
    equal = np.abs(shifts @ patterns.T) - unit * (np.abs(shifts) @ patterns.T)
    attained = np.linalg.norm(np.maximum(equal, 0.0), axis=0).max()
    name = f"correlated_gaussian of {matrix.shape[0]} steps, noise_multiplier={noise!r}"
    parts: Parts = [(GaussianStep(float(np.sqrt(squares.max())), 1.0), 1)]
    attack: Parts = [(GaussianStep(float(attained), 1.0), 1)]
    return ComposedTradeOff(parts, name, premise, attack=attack)


def strategy_matrix(kind: str, num_steps: int, *, bands: int | None = None) -> Doubles:
    """Return a strategy matrix C of correlated noise, lower triangular.

    Parameters
    ----------
    kind : {"identity", "tree", "square-root", "banded"}
        ``"identity"``: independent noise, DP-SGD. ``"tree"``: sums over the nodes of a binary tree
        (DP-FTRL), as the triangular matrix with the same C'C. ``"square-root"``: the square root of
        the matrix of prefix sums. ``"banded"``: the same, without what is `bands` or more steps
        back (as BandMF has it before its entries are optimised).
    num_steps : int
        Number of steps, 1 to 10^4.
    bands : int, optional
        Number of bands, 1 to `num_steps`; for "banded" only.

    Returns
    -------
    (num_steps, num_steps) ndarray
        The matrix; no entry is negative.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `bands` is given for another kind or missing.

    Examples
    --------
    >>> print(strategy_matrix("banded", 3, bands=2))
    [[1.  0.  0. ]
     [0.5 1.  0. ]
     [0.  0.5 1. ]]
    """
    validation.choice("kind", kind, _KINDS)
    steps = validation.count("num_steps", num_steps, 1, _MOST)
    if (kind == "banded") != (bands is not None):
        raise ValueError(
            f"bands={bands!r} must be given with kind='banded', and only then, not {kind!r}"
        )
    if kind == "identity":
        return np.eye(steps)
    if kind == "tree":
        return _tree(steps)
    width = steps if bands is None else validation.count("bands", bands, 1, steps)
    # binom(2k, k) / 4^k, the coefficients of (1 - x)^(-1/2)
    k = np.arange(1.0, width)
    column = np.concatenate([[1.0], np.cumprod((2.0 * k - 1.0) / (2.0 * k))])
    matrix = np.zeros((steps, steps))
    for back, value in enumerate(column):
        matrix[np.arange(back, steps), np.arange(steps - back)] = value
    return matrix


def participation_patterns(num_steps: int, *, num_epochs: int = 1) -> Doubles:
    """Return the patterns of a record that comes once an epoch, at the same place of each.

    Parameters
    ----------
    num_steps : int
        Number of steps of all epochs, a multiple of `num_epochs`, up to 10^4.
    num_epochs : int
        Number of epochs.

    Returns
    -------
    (num_steps / num_epochs, num_steps) ndarray
        A row for each place: 1 in the steps of the record, 0 elsewhere.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or epochs are not of equal length.

    Examples
    --------
    >>> print(participation_patterns(4, num_epochs=2))
    [[1. 0. 1. 0.]
     [0. 1. 0. 1.]]
    """
    steps = validation.count("num_steps", num_steps, 1, _MOST)
    epochs = validation.count("num_epochs", num_epochs, 1)
    if steps % epochs:
        raise ValueError(f"num_steps={steps} must be a multiple of num_epochs={epochs}")
    return np.tile(np.eye(steps // epochs), (1, epochs))


def _tree(steps: int) -> Doubles:
    """Factor the Gram matrix of the nodes of a binary tree that are complete after `steps`.

    With the order of the steps reversed, Cholesky's factor L L' becomes C'C.
    """
    gram = np.zeros((steps, steps))
    size = 1
    while size <= steps:
        for start in range(0, steps - size + 1, size):
            gram[start : start + size, start : start + size] += 1.0
        size *= 2
    factor = np.linalg.cholesky(gram[::-1, ::-1])
    return np.asarray(np.maximum(factor.T[::-1, ::-1], 0.0), dtype=np.float64)


def _triangular(value: npt.ArrayLike) -> Doubles:
    matrix = validation.doubles("strategy_matrix", value, ndim=2)
    rows, cols = matrix.shape
    if rows != cols or not 1 <= rows <= _MOST:
        raise ValueError(
            f"strategy_matrix of shape {matrix.shape} must be (T, T), T in [1, {_MOST}]"
        )
    validation.lower_triangular(matrix)
    empty = ~matrix.any(axis=1)
    if empty.any():
        raise ValueError(f"row {int(np.argmax(empty))} of strategy_matrix must not be zero")
    return matrix


def _patterns(value: npt.ArrayLike, steps: int) -> Doubles:
    patterns = validation.patterns(value, steps)
    if not patterns.any():
        raise ValueError("participation must have a record take part in some step")
    return patterns
