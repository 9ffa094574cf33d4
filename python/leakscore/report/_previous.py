"""What leaks if means of the first rows of the table were published before: batch by batch.

The differences of cumulative means give away the mean of every batch of rows between them, and
nothing else: without noise a record in a batch of b leaks M / b, where the present mean of all n
alone leaks M / n (`leakage.release_leakage`; T. Michel, D. Basu and E. Kaufmann, sequential
membership inference). For the records published before, the present mean adds nothing to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from leakscore import _validate, leakage, tradeoff
from leakscore.leakage.joint import release_modes
from leakscore.report._leakage import Population, counts_of, risk_of
from leakscore.report._model import ALPHA, Batch, Counts, Doubles, Game, Noise, Previous, Remedy
from leakscore.report._remedies import MOST_RECORDS, Budget, noise_of, remedy_of
from leakscore.tables.records import Records

__all__ = ["Earlier", "earlier_of", "joint_leakage", "previous_of"]

_GROWTHS = (2, 5)


@dataclass(frozen=True)
class Earlier:
    """How many rows of the file, and how many judged records, were behind each earlier mean."""

    rows: tuple[int, ...]
    records: tuple[int, ...]


def earlier_of(
    previous: int | Sequence[int], records: Records, rows: int, n: int | None, population: str
) -> Earlier:
    """Return what was published before; refuse counts that are no history of these rows.

    Rows that are not judged were not in those means either.
    """
    previous = [previous] if np.ndim(previous) == 0 else list(previous)  # type: ignore[list-item, arg-type]
    if population == "finite":
        raise ValueError(
            f"Expected no previous={previous} with a finite population: the earlier means "
            "are of these very rows, which are a sample of a larger population, not drawn anew"
        )
    size = len(records.rows)
    if n is not None and n != size:
        raise ValueError(
            f"Expected no n={n} with previous={previous}: the mean of all {size} records is "
            "published now"
        )
    counts = [_validate.count("previous", count, 1, rows - 1) for count in previous]
    if not counts:
        raise ValueError("Expected previous=[] to hold a number of rows")
    if any(later <= count for count, later in pairwise(counts)):
        raise ValueError(f"Expected previous={counts} to increase")
    judged = np.searchsorted(records.rows, counts, side="right").tolist()
    steps = zip(pairwise([0, *counts, rows]), pairwise([0, *judged, size]), strict=True)
    for (start, stop), (before, after) in steps:
        if before == after:
            raise ValueError(
                f"Expected previous={counts} with a record between any two means; none of the rows "
                f"{start + 1} to {stop} is judged"
            )
    return Earlier(tuple(counts), tuple(judged))


def previous_of(
    people: Population,
    scores: Doubles,
    earlier: Earlier,
    budget: Budget,
    records: Records,
    worst: int,
    noise: Noise,
    play: Callable[[Population, int, float], Game],
) -> Previous:
    """Judge every record by all means, and find what helps the new ones.

    Parameters
    ----------
    people : Population
    scores : (N,) ndarray
        Leakage of the present mean alone.
    earlier : Earlier
    budget : Budget
    records : Records
    worst : int
        How many new, and old, records are listed.
    noise : Noise
        What the present mean alone would need.
    play : callable
        Plays the game of a record in the mean of a batch (a population with n its size), with
        noise of a standard deviation on that mean.
    """
    totals = np.array([*earlier.records, people.size])
    sizes = np.diff(totals, prepend=0)
    batch = np.repeat(sizes, sizes)
    joint = joint_leakage(people, scores, totals)
    new = slice(earlier.records[-1], None)
    order = np.argsort(-joint, kind="stable")
    worst_new = tuple(order[order >= new.start][:worst].tolist())
    worst_old = tuple(order[order < new.start][:worst].tolist())
    alone, together = risk_of(scores, None), risk_of(joint, None)

    last = int(sizes[-1])
    game, found = None, None
    if last > 1:
        playable = [i for i in order.tolist() if i >= new.start and np.isfinite(joint[i])]
        game, found = _noise_of_the_new(people, last, playable, budget, records, play, new)
    return Previous(
        rows_published=earlier.rows,
        records_published=(*earlier.records, people.size),
        joint=together,
        power_if_gaussian=_if_gaussian(joint * batch, batch, people.dim),
        batch_sizes=batch,
        batches=_batches(totals, sizes, alone.leakage, joint, records),
        worst_new=worst_new,
        worst_old=worst_old,
        worst_new_rows=tuple(records.rows[list(worst_new)].tolist()),
        worst_old_rows=tuple(records.rows[list(worst_old)].tolist()),
        game=game,
        noise=found,
        remedies=(
            *_larger_batch(joint[new], last, budget, records.rows[new]),
            *_same_noise(people, scores, totals, noise, records.rows),
        ),
    )


def _noise_of_the_new(
    people: Population,
    size: int,
    playable: list[int],
    budget: Budget,
    records: Records,
    play: Callable[[Population, int, float], Game],
    new: slice,
) -> tuple[Game | None, Noise]:
    """Play the worst new record in the mean of the new ones, and give the noise that helps them."""
    own = people.with_n(size)
    game = play(own, playable[0], 0.0) if playable else None

    def noisy(index: int, noise_std: float) -> Game:
        kept = game if noise_std == 0 else None
        return kept if kept is not None else play(own, index, noise_std)

    found = noise_of(own, budget, records.rows, records.columns, noisy, new)
    return game, _on_all(found, size / people.n, people.scale)


def _batches(
    totals: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    alone: Doubles,
    joint: Doubles,
    records: Records,
) -> tuple[Batch, ...]:
    return tuple(
        Batch(
            rows=(int(records.rows[stop - size]), int(records.rows[stop - 1])),
            records=int(size),
            new=stop == totals[-1],
            alone=_counts(alone, records, slice(stop - size, stop)),
            joint=_counts(joint, records, slice(stop - size, stop)),
        )
        for stop, size in zip(totals.tolist(), sizes.tolist(), strict=True)
    )


def joint_leakage(
    people: Population, scores: Doubles, totals: npt.NDArray[np.int64], noise_std: float = 0.0
) -> Doubles:
    """Leakage of every record, left out, given all cumulative means, as `release_leakage` has it.

    Parameters
    ----------
    people : Population
        Infinite, in the order in which the records were added.
    scores : (N,) ndarray
        Leakage of each record from the mean of `people.n` without noise.
    totals : (T,) ndarray
        Records behind each mean, the last N.
    noise_std : float
        Of the independent noise on each mean, in standard deviations of a record.
    """
    sizes = np.diff(totals, prepend=0)
    if noise_std == 0:
        batch = np.repeat(sizes, sizes)
        return np.where(batch > 1, scores * (people.n / batch), np.inf)
    step = np.repeat(np.arange(len(sizes)), sizes)
    result = np.zeros(people.size)
    scales, weights = release_modes(totals.astype(np.float64))
    for scale, weight in zip(scales, weights.T, strict=True):
        known = people.reference.add_diagonal(noise_std**2 * scale)
        distances = 2 * leakage.leave_one_out(people.values, known, 2)
        result += weight[step] * distances
    return result


def _if_gaussian(distances: Doubles, batch: npt.NDArray[np.int64], dim: int) -> Doubles:
    """Power of the best test if records were Gaussian, exact for the smallest batch of two."""
    power = np.ones(len(distances))
    inside = np.isfinite(distances)
    curve = tradeoff.gaussian_mean(distances[inside], batch[inside], dim)
    power[inside] = curve.power(ALPHA)
    return power


def _counts(scores: Doubles, records: Records, part: slice) -> Counts:
    return counts_of("informed", risk_of(scores[part], None), records.rows[part])


def _on_all(found: Noise, share: float, scale: Doubles) -> Noise:
    """Turn the noise of a batch's mean into that of the mean of all, of which it is a share.

    The attacker subtracts what was published without noise and divides by the share. `scale` is
    the standard deviation of the columns, in units of which the noise was found.
    """
    return replace(
        found,
        standard_errors=found.standard_errors * float(np.sqrt(share)),
        theory_standard_errors=found.theory_standard_errors * float(np.sqrt(share)),
        noise_std={
            name: float(share * std * unit)
            for (name, std), unit in zip(found.noise_std.items(), scale, strict=True)
        },
    )


def _larger_batch(
    joint: Doubles, size: int, budget: Budget, rows: npt.NDArray[np.int64]
) -> Iterator[Remedy]:
    """Wait until more new records are there: their leakage falls as their batch grows."""
    sizes = [size * growth for growth in _GROWTHS]
    if size > 1:
        enough = budget.fewest_records(float(joint.max()) * size, MOST_RECORDS)
        sizes += [] if enough is None or enough <= size else [enough]
    for larger in sorted(set(sizes)) if size > 1 else ():
        yield remedy_of(
            "larger batch",
            f"wait for {larger} new records",
            f"{larger - size} more new records than there are",
            rows,
            joint * (size / larger),
        )


def _same_noise(
    people: Population,
    scores: Doubles,
    totals: npt.NDArray[np.int64],
    noise: Noise,
    rows: npt.NDArray[np.int64],
) -> Iterator[Remedy]:
    """Score all means again as if each had carried the noise that the present one alone needs."""
    if noise.standard_errors:
        std = noise.standard_errors / np.sqrt(people.n)
        yield remedy_of(
            "noise on every mean",
            f"noise of {noise.standard_errors:.3g} standard errors of the present mean on all "
            f"{len(totals)} means",
            "too late for the means published without it",
            rows,
            joint_leakage(people, scores, totals, std),
        )
