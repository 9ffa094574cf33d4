"""The cheaper remedies of a long table: fewer columns, clipped values, fewer and more records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Moments
from leakscore_app.passes.scores import WorstRows
from leakscore_app.report._model import Doubles, Remedy
from leakscore_app.report._remedies import CLIPS, DROPS, GROWTHS, LEAVES, MOST_RECORDS, Budget
from leakscore_app.report.streamed.judged import law_of
from leakscore_app.report.streamed.people import Crowd
from leakscore_app.report.streamed.views import Estimate, Outcome, View, remedy

_SURE = 1e-10  # share of a variance that squares still tell from none
_DIGITS = 1e-9  # share of a variance below which it is not found as a difference
_LARGEST = 0.5  # joint leverage up to which a bound is worth having
_ROUNDING = 1 + 1e-6  # far more than the rounding of scores


@dataclass(frozen=True, eq=False)
class Clipping:
    """A clipped table: its limits and moments, the law that was guessed, and its worst rows."""

    limits: Doubles
    moments: Moments
    guess: TableLaw | None
    worst: WorstRows | None


@dataclass(frozen=True, eq=False)
class Change:
    """A changed release, and how it reads as a remedy."""

    view: View
    told: Callable[[Outcome], Remedy]


def changes_of(
    crowd: Crowd,
    budget: Budget,
    columns: Sequence[str],
    limits: Sequence[Clipping],
    least: float,
    estimate: Estimate,
    *,
    plain: bool = True,
) -> list[Change]:
    """Return all changes that are tried.

    Parameters
    ----------
    crowd : Crowd
    budget : Budget
    columns : sequence of str
    limits : sequence of Clipping
    least : float
        No record that is not kept has a larger score; -inf if all are kept.
    estimate : callable
        Reads the moments of all records but some.
    plain : bool
        Whether columns may be left out or clipped: features of a record belong together.
    """
    return [
        *(_fewer_columns(crowd, columns) if plain else ()),
        *(_clipped(crowd, limits) if plain else ()),
        *_without_worst(crowd, least, estimate),
        *_more_records(crowd, budget),
    ]


def _change(view: View, kind: str, what: str, cost: str, **more: Any) -> Change:
    return Change(view, lambda outcome: remedy(kind, what, cost, outcome, **more))


def _divisor(crowd: Crowd) -> float:
    return float(crowd.n * crowd.correction)


def _known(crowd: Crowd) -> dict[int, float]:
    """Return the scores of records that were estimated anew."""
    scores = crowd.distances(crowd.law)
    return {
        int(row): float(score)
        for row, score in zip(crowd.numbers, scores, strict=True)
        if int(row) in crowd.refitted
    }


def _fewer_columns(crowd: Crowd, columns: Sequence[str]) -> list[Change]:
    """Leave out, one after another, the column whose loss helps the worst record most."""
    kept, smaller = list(range(crowd.dim)), crowd
    dropped: list[str] = []
    found = []
    while len(kept) > 1 and len(dropped) < DROPS[-1]:
        _, without = smaller.shares(int(np.argmax(smaller.informed())))
        dropped.append(columns[kept.pop(int(np.argmin(without)))])
        smaller = crowd.with_columns(kept)
        if len(dropped) in DROPS:
            number = f"{len(dropped)} column{'s' if len(dropped) > 1 else ''}"
            found.append(
                _change(
                    View(smaller.law, _divisor(crowd), 1.0, _known(smaller)),
                    "fewer columns",
                    f"without {number}: {', '.join(dropped)}",
                    f"{number} less",
                )
            )
    return found


def _clipped(crowd: Crowd, limits: Sequence[Clipping]) -> list[Change]:
    found = []
    for share, clipping in zip(CLIPS, limits, strict=True):
        moments = clipping.moments
        law = _clipped_law(crowd.law, clipping.limits, moments)
        moved = np.abs(moments.mean / crowd.scale - crowd.law.mean).max()
        shift = float(moved) * float(np.sqrt(crowd.n))
        if law is None:
            continue
        found.append(
            _change(
                _guessed(law, clipping, crowd),
                "winsorising",
                f"columns clipped at {100 * share:g} % and {100 - 100 * share:g} %",
                f"moves a mean by up to {shift:.2g} standard errors",
                clipped=share,
                mean_shift=shift,
            )
        )
    return found


def _guessed(law: TableLaw, clipping: Clipping, crowd: Crowd) -> View:
    """Return the view of a clipped table, with its worst rows by the guess if that was good."""
    plain = View(law, _divisor(crowd), np.inf, {})
    guess, worst = clipping.guess, clipping.worst
    if guess is None or worst is None or len(law.kept) < len(guess.kept):
        return plain
    least = float(worst.scores[-1]) if law.rows > len(worst.rows) else 0.0
    return replace(plain, kept=worst, bound=bound_by_guess(law, guess, least))


def bound_by_guess(law: TableLaw, guess: TableLaw, least: float) -> float:
    """Bound the scores by a law of all rows whose scores by a guess of it are `least` at most.

    With C and m the covariance and the mean of the law, C~ and m~ those of the guess, all in one
    unit, and L the largest eigenvalue of C^-1 C~, |y|_C <= sqrt(L) |y|_C~ for every y, so that

        |x - m|_C <= sqrt(L) (|x - m~|_C~ + |m~ - m|_C~).

    A score is N p / (1 - p) with p = |x - m|^2 / (N - 1).
    """
    others, unit = law.rows - 1, guess.scale / law.scale
    cov = guess.cov * np.outer(unit, unit)
    root = np.linalg.cholesky(law.cov)
    half = np.linalg.solve(root, cov)
    largest = float(np.linalg.eigvalsh(np.linalg.solve(root, half.T))[-1])
    step = guess.mean * unit - law.mean
    moved = float(step @ np.linalg.solve(cov, step))
    before = others * least / (law.rows + least)
    share = largest * (np.sqrt(before) + np.sqrt(max(moved, 0.0))) ** 2 / others
    return float(_ROUNDING * law.rows * share / (1 - share)) if share < 1 else np.inf


def guess_of(law: TableLaw, limits: Doubles, sample: Doubles) -> TableLaw | None:
    """Guess the law of a clipped table from a sample of its rows; None if a column is constant."""
    moments = Moments(sample.shape[1])
    moments.update(np.clip(sample, *limits))
    clipped = _clipped_law(law, limits, moments)
    if clipped is None or len(clipped.kept) < len(law.kept):
        return None
    return clipped


def _clipped_law(law: TableLaw, ends: Doubles, moments: Moments) -> TableLaw | None:
    """Return the law of clipped values without columns that now tell nothing more."""
    cov = moments.cov
    kept = _independent(cov, np.flatnonzero(ends[0] < ends[1]).tolist())
    if not kept:
        return None
    clipped = law_of(moments.mean, cov, law.rows, kept, law.read, ends[:, kept])
    return TableLaw(
        law.kept[kept], law.read, law.rows, clipped.scale, clipped.mean, clipped.cov, clipped.limits
    )


def _independent(cov: Doubles, columns: Sequence[int]) -> list[int]:
    """Return the columns that vary and do not follow from earlier ones."""
    kept: list[int] = []
    for j in columns:
        if not cov[j, j] > 0:
            continue
        tried = [*kept, j]
        scale = np.sqrt(np.diag(cov)[tried])
        part = cov[np.ix_(tried, tried)] / scale / scale[:, np.newaxis]
        left = part[-1, -1]
        if kept:
            left -= part[-1, :-1] @ np.linalg.solve(part[:-1, :-1], part[:-1, -1])
        if left > _SURE:
            kept = tried
    return kept


def _without_worst(crowd: Crowd, least: float, estimate: Estimate) -> list[Change]:
    """Leave the worst records out: those behind them become the unusual ones."""
    found = []
    order = np.argsort(-crowd.informed(), kind="stable")
    for count in LEAVES:
        worst = order[:count]
        rest = crowd.size - count
        n = min(crowd.n, rest)
        if crowd.finite and n > rest - 1:
            continue
        share = _joint_leverage(crowd, worst)
        rows = frozenset(int(row) for row in crowd.numbers[worst])
        if 1 - share < _DIGITS:  # what is left of some variance would have lost its digits
            (moments,) = estimate([rows])
            law = replace(crowd.law, rows=rest, mean=moments.mean, cov=moments.cov)
        else:
            law = crowd.law.without(crowd.raw[worst])
        if not _regular(law.cov):
            kept = _independent(law.cov, range(crowd.dim))
            if not kept:  # the other records are all the same
                continue
            law = law.with_columns(kept)
        correction = 1 - n / rest if crowd.finite else 1.0
        what = "the worst record" if count == 1 else f"the {count} worst records"
        found.append(
            _change(
                View(law, n * correction, _growth(share, crowd.size, count, least), {}, rows),
                "fewer records",
                f"without {what}",
                "the next records stand out more",
            )
        )
    return found


def _regular(cov: Doubles) -> bool:
    variances = np.diag(cov)
    return bool(variances.min() > 0) and bool(
        np.linalg.eigvalsh(cov / np.sqrt(np.outer(variances, variances)))[0] > _SURE
    )


def _joint_leverage(crowd: Crowd, worst: np.ndarray) -> float:
    """Return the largest share of the variance in any direction that is of these records."""
    away = crowd.centred[worst]
    joint = away @ crowd.reference.solve(away).T / (crowd.size - 1)
    return float(np.linalg.eigvalsh((joint + joint.T) / 2)[-1])


def _growth(leverage: float, size: int, count: int, least: float) -> float:
    """Bound the scores of the records that are not kept when others are left out, over `least`.

    Of N records k are left out, N' remain; `leverage` is their joint one. With T the scatter about
    the mean, A the left out records less the mean and L the largest eigenvalue of A T^-1 A', the
    scatter left is T - A' (I + 11'/N') A, at least 1 - L (1 + k/N') times T, and the mean moves by
    1'A / N', in units of T by at most sqrt(k L) / N'. A score is N p / (1 - p) with
    p = N/(N-1) (x-m)' T^-1 (x-m).
    Return inf if the records that are left out weigh much.
    """
    rest = size - count
    weight = max(leverage * (size - 1) / size, 0.0)
    if not (least > 0 and weight < _LARGEST and weight * (1 + count / rest) < 1):
        return np.inf
    before = least / (size + least) * (size - 1) / size
    moved = np.sqrt(before) + np.sqrt(count * weight) / rest
    share = moved**2 / (1 - weight * (1 + count / rest)) * rest / (rest - 1)
    return _ROUNDING * rest * share / (1 - share) / least if share < 1 else np.inf


def _more_records(crowd: Crowd, budget: Budget) -> list[Change]:
    """Average more records: of the same population, or of this table if it is the population."""
    sizes = [crowd.n * growth for growth in GROWTHS]
    if not crowd.finite:
        worst = float(crowd.informed().max()) * crowd.n
        enough = budget.fewest_records(worst, MOST_RECORDS)
        sizes += [] if enough is None or enough <= crowd.n else [enough]
    found = []
    for n in sorted(set(sizes)):
        if crowd.finite and n > crowd.size - 1:
            continue
        missing = max(n - crowd.size, 0)
        divisor = n * (1 - n / crowd.size) if crowd.finite else float(n)
        found.append(
            _change(
                View(crowd.law, divisor, 1.0, _known(crowd)),
                "larger n",
                f"the mean of {n} records",
                f"{missing} more records than there are" if missing else "none",
                records_missing=missing,
            )
        )
    return found
