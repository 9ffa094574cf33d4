"""The black box over time: a record's signals in every model of a sequence, as one vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.shadow.sides import arrays, moments, variances
from leakscore.shadow.sides.arrays import Shadow, Targets
from leakscore.shadow.sides.moments import Side
from leakscore.typing import Array, Doubles


def over_time(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    start: int = 0,
    variance: Literal["shrunk", "pooled"] = "shrunk",
) -> Doubles:
    """Score records by their signals in all models of a sequence: in from a step on, or never.

    Parameters
    ----------
    observed : (N, L) or (S, N, L) array_like
        Logit margins of a target sequence of L models, or of S of them, at N records: the model
        after each step, epoch or update.
    signals : (K, N, L) array_like
        The same of K shadow sequences, read where they lie.
    included : (K, N) array_like of bool
        Which sequence was trained on which record from step `start` on; 0 and 1 will do.
    start : int
        The first of the L models whose training may have seen the record, in [0, L - 1]. Earlier
        models tell how the sequence differs from others, and nothing else.
    variance : {"shrunk", "pooled"}
        Of each record and step, drawn to a common value; or one for all records. Correlations
        between steps are one for all records on each side.

    Returns
    -------
    (N,) or (S, N) ndarray
        Log-ratios of the normal densities IN and OUT, larger for members.

    Raises
    ------
    ValueError
        If a record has no model on a side; if no prior can be fitted, or steps are so alike that
        their correlations are singular; if signals are NaN or infinite; if shapes do not fit.

    Notes
    -----
    The densities are those of a new sequence: variances are (1 + 1/c) times as large, as means are
    known from c models only. With the last model alone, ``signals[..., -1:]``, the score is that of
    `lira` with such variances.

    Every step has means of its own to be known, and few sequences do not know them: on logistic
    regressions of digits and Wisconsin, up to 32 shadow sequences, the score was below that of the
    last model alone where records were in from the first step on, and hardly above it otherwise
    (``python -m reproduce shadow-over-time``). Where records enter late, `innovations` and `paired`
    told far more; where they do not, score the last model.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> rng = np.random.default_rng(0)
    >>> included = rng.permuted(np.repeat([[True], [False]], 8, axis=0) | np.zeros((1, 300), bool))
    >>> before = rng.normal(size=(16, 300))
    >>> after = before + 0.1 * rng.normal(size=(16, 300)) + 0.3 * included
    >>> signals = np.stack([before, after], axis=-1)
    >>> scores = leakscore.shadow.over_time(signals[0], signals[1:], included[1:], start=1)
    >>> bool(scores[included[0]].mean() > scores[~included[0]].mean())
    True
    """
    shadow, targets = _sequences(observed, signals, included)
    first = validation.count("start", start, 0, shadow.signals.shape[2] - 1)
    kind = validation.choice("variance", variance, ("shrunk", "pooled"))
    sides = moments.of(shadow)
    _refuse_few(sides)
    laws = [
        _law(shadow, side, kind, name, inside)
        for side, name, inside in ((sides.inside, "IN", True), (sides.outside, "OUT", False))
    ]
    shared = _shared_mean(sides, first)
    ratio = [law.log_density(targets.values, shared, first) for law in laws]
    scores = ratio[0] - ratio[1]
    return scores[0] if targets.single else scores


def innovations(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    start: int,
) -> tuple[Doubles, Doubles]:
    """Return what the last model of a sequence says beyond those that cannot know the record.

    Parameters
    ----------
    observed : (N, L) or (S, N, L) array_like
        Logit margins of a target sequence of L models, or of S of them, at N records.
    signals : (K, N, L) array_like
        The same of K shadow sequences, read where they lie.
    included : (K, N) array_like of bool
        Which sequence was trained on which record from step `start` on; 0 and 1 will do.
    start : int
        The first of the L models whose training may have seen the record, in [1, L - 1].

    Returns
    -------
    observed : (N,) or (S, N) ndarray
        The target's last margins less what its models before `start` make expected.
    signals : (K, N) ndarray
        The same of the shadow sequences: both for any score of one model, as `paired`.

    Raises
    ------
    ValueError
        If a record has no model on a side; if signals are NaN or infinite; if shapes do not fit.

    Notes
    -----
    Margins of earlier models have one law whether the record comes in later or not. So the ratio of
    the densities of the sequence is that of the last margin given them: for normal laws with
    correlations that all records share, that of the residual of a linear regression, and of all
    steps but the last from `start` on nothing is used. Coefficients are common to all records,
    fitted to deviations from each record's mean IN and OUT; they are no secret of the target.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> rng = np.random.default_rng(0)
    >>> included = rng.permuted(np.repeat([[True], [False]], 8, axis=0) | np.zeros((1, 300), bool))
    >>> before = rng.normal(size=(16, 300))
    >>> after = before + 0.1 * rng.normal(size=(16, 300)) + 0.3 * included
    >>> signals = np.stack([before, after], axis=-1)
    >>> x, t = leakscore.shadow.innovations(signals[0], signals[1:], included[1:], start=1)
    >>> bool(t.std() < 0.3), bool(x[included[0]].mean() > x[~included[0]].mean() + 0.2)
    (True, True)
    """
    shadow, targets = _sequences(observed, signals, included)
    first = validation.count("start", start, 1, shadow.signals.shape[2] - 1)
    sides = moments.of(shadow)
    _refuse_few(sides)
    slopes = _slopes(shadow, sides, first)
    left = np.empty(shadow.signals.shape[:2])
    for where, t, _ in shadow.blocks():
        left[:, where] = _residual(t, slopes)
    found = _residual(targets.values, slopes)
    return (found[0] if targets.single else found), left


def _slopes(shadow: Shadow, sides: moments.Sides, first: int) -> Doubles:
    """Return the coefficients of the last margin on those before `first`, of all records."""
    used = [*range(first), -1]
    gram = np.zeros((first + 1, first + 1))
    for where, t, inside in shadow.blocks():
        of_in, of_out = (side.mean[where][:, used] for side in (sides.inside, sides.outside))
        away = (t[..., used] - np.where(inside[..., np.newaxis], of_in, of_out)).reshape(
            -1, first + 1
        )
        gram += away.T @ away
    scale = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    unit = gram / np.outer(scale, scale)
    slopes, *_ = np.linalg.lstsq(unit[:first, :first], unit[:first, first], rcond=1e-10)
    return np.asarray(slopes * scale[first] / scale[:first])


def _residual(t: Doubles, slopes: Doubles) -> Doubles:
    return np.asarray(t[..., -1] - t[..., : slopes.size] @ slopes)


def _sequences(observed: object, signals: object, included: object) -> tuple[Shadow, Targets]:
    """Check sequences of signals against each other."""
    shadow = arrays.read(signals, included)
    if shadow.signals.ndim != 3:
        raise ValueError(
            f"Expected signals of shape {shadow.signals.shape} to be (K, N, L): sequences, "
            "records, steps"
        )
    return shadow, arrays.targets(observed, shadow)


def _refuse_few(sides: moments.Sides) -> None:
    for side, name in ((sides.inside, "IN"), (sides.outside, "OUT")):
        arrays.refuse_few(
            side.count[:, 0] < 1, f"a model {name} at least for each record", "use more models"
        )


@dataclass(frozen=True)
class _TimeLaw:
    """Normal law of the steps of each record: means, sd, and one factor of the correlations."""

    side: Side
    sd: Doubles
    factor: Doubles

    def log_density(self, x: Doubles, shared: Doubles, first: int) -> Doubles:
        """Return the log density less a constant; steps before `first` are about a shared mean."""
        away = self.side.centred(x)
        away[..., :first] = x[..., :first] - shared
        sd = self.sd * np.sqrt(1.0 + 1.0 / self.side.count)
        z = np.linalg.solve(
            self.factor, np.moveaxis(away / sd, -1, 0).reshape(len(self.factor), -1)
        )
        log_root = np.log(np.diagonal(self.factor)).sum() + np.log(sd).sum(axis=-1)
        return np.asarray(-0.5 * (z * z).sum(axis=0).reshape(x.shape[:-1]) - log_root)


def _shared_mean(sides: moments.Sides, first: int) -> Doubles:
    """Return the mean of all models at the steps before the record is in any of them."""
    inside, outside = sides.inside, sides.outside
    total = inside.count * inside.mean + outside.count * outside.mean
    return np.asarray((total / (inside.count + outside.count))[:, :first])


def _law(shadow: Shadow, side: Side, kind: str, name: str, inside: bool) -> _TimeLaw:
    sd = np.sqrt(variances.chosen(side, kind, name))
    arrays.refuse_few(~(sd > 0.0), f"signals that vary between the models {name},", "drop a step")
    sums = np.zeros((sd.shape[1], sd.shape[1]))
    width = max(1, (1 << 18) // (shadow.models * sd.shape[1]))
    for start in range(0, shadow.num_records, width):
        where = slice(start, start + width)
        z = _standardised(shadow.signals[:, where], side, sd, where)
        z *= ((shadow.included[:, where] != 0) == inside)[..., np.newaxis]
        rows = z.reshape(-1, z.shape[-1])
        sums += rows.T @ rows
    scale = np.sqrt(np.diagonal(sums))
    try:
        factor = np.linalg.cholesky(sums / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"Expected signals whose steps are not copies of each other: their correlations {name} "
            "are singular; drop a step"
        ) from None
    return _TimeLaw(side, sd, factor)


def _standardised(signals: Array, side: Side, sd: Doubles, where: slice) -> Doubles:
    away = (signals.astype(np.float64) - side.centre[where]) - side.rest[where]
    return np.asarray(away / sd[where])
