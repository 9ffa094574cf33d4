"""Signals from what models put out: margins, log-confidences, and innovations of sequences."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.shadow import arrays
from leakscore.shadow.arrays import ModelSums
from leakscore.typing import Array, Counts, Doubles

# log 2 in two doubles
_LOG_TWO, _LOG_TWO_LOW = 0.6931471805599453, 2.3190468138462996e-17


def logit_margin(
    outputs: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    kind: Literal["logits", "probabilities"] = "logits",
) -> Doubles:
    """Return the margin of the labelled class: the logit of its confidence.

    Parameters
    ----------
    outputs : (..., C) array_like
        A model's logits or probabilities of C >= 2 classes. A class may be masked by a logit of
        -inf. For a single logit z of two classes pass (0, z).
    labels : array_like of int
        Classes in 0, ..., C - 1, which broadcast to the outputs' leading axes.
    kind : {"logits", "probabilities"}
        What the outputs are.

    Returns
    -------
    (...) ndarray
        z_y - log sum_{j != y} exp z_j, or log p_y - log sum_{j != y} p_j. Infinite where that is
        exact, as for p_y = 1.

    Raises
    ------
    ValueError
        If a label is not in its range; if outputs are NaN, or the margin is inf - inf; if
        probabilities are not in [0, 1] or do not sum to one.

    Notes
    -----
    Accurate to 1e-12 of ``max(1, abs(margin))``. The sum over the other classes keeps the digits
    that 1 - p_y has lost.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.shadow.logit_margin([[2.0, 0.0], [0.0, 50.0]], [0, 1])
    array([ 2., 50.])
    >>> leakscore.shadow.logit_margin([[0.75, 0.25]], 0, kind="probabilities").round(4)
    array([1.0986])
    """
    validation.choice("kind", kind, ("logits", "probabilities"))
    values = validation.real_array("outputs", outputs)
    if values.ndim == 0 or values.shape[-1] < 2:
        raise ValueError(
            f"outputs of shape {values.shape} must be (..., C) with C >= 2 classes; of one "
            "logit z of two classes, stack (0, z)"
        )
    if values.size == 0:
        raise ValueError(f"outputs of shape {values.shape} must not be empty")
    classes = _labels(labels, values.shape)
    doubles = values.astype(np.float64)
    _refuse(np.isnan(doubles), "outputs", doubles, "hold no NaN")
    labelled = np.take_along_axis(doubles, classes[..., np.newaxis], axis=-1)[..., 0]
    if kind == "probabilities":
        _probabilities(doubles, values.dtype)
        others = doubles.copy()
        np.put_along_axis(others, classes[..., np.newaxis], 0.0, axis=-1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(labelled) - np.log(others.sum(axis=-1)))
    _refuse(doubles == np.inf, "outputs", doubles, "be below inf")
    np.put_along_axis(doubles, classes[..., np.newaxis], -np.inf, axis=-1)
    top = doubles.max(axis=-1)
    empty = ~np.isfinite(top)  # every other class is masked
    if (empty & ~np.isfinite(labelled)).any():
        index = int(np.argmax((empty & ~np.isfinite(labelled)).ravel()))
        raise ValueError(
            f"outputs must have a class that is not masked: row {index} holds only -inf, and "
            "its margin is inf - inf"
        )
    origin = np.where(empty, 0.0, top)
    with np.errstate(divide="ignore", over="ignore"):  # a margin beyond 1.8e308 is infinite
        # labelled - top first: a logsumexp of large logits would be rounded to their size.
        tail = np.log(np.exp(doubles - origin[..., np.newaxis]).sum(axis=-1))
        return np.asarray((labelled - origin) - tail)


def _labels(labels: object, shape: tuple[int, ...]) -> Counts:
    array = validation.real_array("labels", labels)
    if array.dtype.kind not in "iu":
        raise TypeError(f"labels must hold integers, not dtype {array.dtype}")
    outside = (array < 0) | (array >= shape[-1])
    if outside.any():
        index = int(np.argmax(outside))
        raise ValueError(
            f"labels must be in [0, {shape[-1] - 1}], as outputs of shape {shape} have "
            f"{shape[-1]} classes; {int(outside.sum())} are not, the first "
            f"{array.ravel()[index].item()!r} at {index}"
        )
    try:
        return np.broadcast_to(array, shape[:-1]).astype(np.int64)
    except ValueError:
        raise ValueError(
            f"labels of shape {array.shape} must broadcast to {shape[:-1]}, the outputs' "
            f"shape {shape} without its last axis of classes"
        ) from None


def _refuse(bad: npt.NDArray[np.bool_], name: str, values: Array, expected: str) -> None:
    if bad.any():
        index = arrays.first_index(bad)
        raise ValueError(
            f"{name} must {expected}: {int(bad.sum())} of {values.size} are not, the first "
            f"{name}{list(index)}={float(values[index])!r}"
        )


def _probabilities(values: Doubles, dtype: np.dtype[Any]) -> None:
    _refuse((values < 0.0) | (values > 1.0), "outputs", values, "be in [0, 1]")
    # A float32 softmax of many classes is off by a few roundings of each; a float16 one by more.
    unit = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1.2e-7}.get(dtype.name, 2.3e-16)
    slack = max(1e-6, 4.0 * unit * values.shape[-1])
    total = values.sum(axis=-1)
    bad = np.abs(total - 1.0) > slack
    if bad.any():
        index = int(np.argmax(bad))
        raise ValueError(
            f"outputs must sum to one over the last axis: {int(bad.sum())} rows do not, "
            f"the first, row {index}, sums to {float(total.ravel()[index])!r}; pass logits with "
            "kind='logits', or divide by the sum"
        )


def loss_margin(loss: npt.ArrayLike) -> Doubles:
    """Return the margin behind a cross-entropy loss: -log(exp(loss) - 1).

    Parameters
    ----------
    loss : array_like
        Losses -log p in [0, inf]. Losses in float32 keep the digits that a float32 p near 1 has
        lost. NaN gives NaN.

    Returns
    -------
    ndarray
        Margins log p - log(1 - p), of relative accuracy 1e-12.

    Raises
    ------
    ValueError
        If a loss is negative.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.shadow.loss_margin([1e-20, 0.5, 80.0]).round(4)
    array([ 46.0517,   0.4328, -80.    ])
    """
    x = np.asarray(validation.real_array("loss", loss), dtype=np.float64)
    _refuse(x < 0.0, "loss", x, "be >= 0")
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        excess = (x - _LOG_TWO) - _LOG_TWO_LOW
        # exp(x) - 1 = 1 + 2 (exp(x - log 2) - 1), near log 2, where the margin crosses 0
        near = -np.log1p(2.0 * np.expm1(np.where(np.abs(excess) < 0.5, excess, 0.0)))
        large = -x - np.log1p(-np.exp(-np.maximum(x, 1.0)))
        small = -np.log(np.expm1(np.minimum(x, 1.0)))
    return np.asarray(np.where(np.abs(excess) < 0.5, near, np.where(x > 1.0, large, small)))


def confidence_margin(
    confidence: npt.ArrayLike, *, complement: npt.ArrayLike | None = None
) -> Doubles:
    """Return the logit of a confidence.

    Parameters
    ----------
    confidence : array_like
        Probabilities p in [0, 1] of the labelled class. NaN gives NaN.
    complement : array_like, optional
        The sum of the other classes' probabilities, added up from them: its digits are those that
        1 - p has lost.

    Returns
    -------
    ndarray
        log p - log(1 - p), or log p - log(complement); infinite where that is exact.

    Raises
    ------
    ValueError
        If a probability is not in [0, 1], or both are 0.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.shadow.confidence_margin([0.5, 0.75]).round(4)
    array([0.    , 1.0986])
    >>> leakscore.shadow.confidence_margin([1.0], complement=1e-20).round(4)
    array([46.0517])
    """
    p = validation.interval("confidence", confidence, 0.0, 1.0, nan=True)
    with np.errstate(divide="ignore"):
        if complement is None:
            # log p is rounded to p's digits near 1; log1p of p - 1, which is exact, is not.
            top = np.log1p(np.where(p > 0.5, p - 1.0, 0.0))
            return np.asarray(np.where(p > 0.5, top, np.log(p)) - np.log1p(-p))
        q = validation.interval("complement", complement, 0.0, 1.0, nan=True)
        p, q = validation.broadcast(confidence=p, complement=q)
        if ((p == 0.0) & (q == 0.0)).any():
            raise ValueError("confidence and complement must not be 0 both")
        return np.asarray(np.log(p) - np.log(q))


def log_confidence(margin: npt.ArrayLike) -> Doubles:
    """Return the logarithm of the confidence behind a margin: -log(1 + exp(-margin)).

    Parameters
    ----------
    margin : array_like
        Logit margins, infinite ones too. NaN gives NaN.

    Returns
    -------
    ndarray
        log p, of relative accuracy 1e-12.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.shadow.log_confidence([-800.0, 0.0, 50.0])
    array([-8.00000000e+02, -6.93147181e-01, -1.92874985e-22])
    """
    t = np.asarray(validation.real_array("margin", margin), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        tail = np.log1p(np.exp(-np.abs(t)))
    return np.asarray(np.where(t < 0.0, t - tail, -tail))


def sigmoid(margin: Doubles) -> Doubles:
    """Return the confidence behind a margin, relatively accurate in both tails."""
    from scipy.special import expit

    return np.asarray(expit(margin))


def innovations(
    observed: npt.ArrayLike, signals: npt.ArrayLike, included: npt.ArrayLike, *, start: int
) -> tuple[Doubles, Doubles]:
    """Return the last margins of sequences of models, less their regression on earlier margins.

    Parameters
    ----------
    observed : (N, L) or (S, N, L) array_like
        Logit margins of a target sequence of L models, or of S of them, at N records.
    signals : (K, N, L) array_like
        The same of K shadow sequences, read in place.
    included : (K, N) array_like of bool
        Which sequence was trained on which record from step `start` on; 0 and 1 will do.
    start : int
        The first of the L models whose training may include the record, in [1, L - 1].

    Returns
    -------
    observed : (N,) or (S, N) ndarray
        The target's last margins less their expectation given its models before `start`.
    signals : (K, N) ndarray
        The same of the shadow sequences: both for any score of one model, as `paired`.

    Raises
    ------
    ValueError
        If a record has no model on a side; if signals are NaN or infinite; if shapes do not fit.

    Notes
    -----
    Margins of earlier models have the same law whether or not the record comes in later. So the
    density ratio of the sequence is that of the last margin given them. For normal laws with the
    same correlations at all records, that is the ratio for the residual of a linear regression.
    Steps from `start` to the last but one are not used. The coefficients are common to all records,
    fitted to deviations from each record's mean IN and OUT; they use no label of the target.

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
    shadow = arrays.read(signals, included)
    if shadow.signals.ndim != 3:
        raise ValueError(
            f"signals of shape {shadow.signals.shape} must be (K, N, L): sequences, records, steps"
        )
    targets = arrays.targets(observed, shadow)
    first = validation.count("start", start, 1, shadow.signals.shape[2] - 1)
    sums = arrays.sums(shadow)
    for side, name in zip(sums.sides, ("IN", "OUT"), strict=True):
        arrays.refuse_none(side.models[:, 0], name)
    slopes = _slopes(sums, first)
    residuals = np.empty(shadow.signals.shape[:2])
    for where, t, _ in shadow.blocks():
        residuals[:, where] = _residual(t, slopes)
    target = _residual(targets.values, slopes)
    return (target[0] if targets.single else target), residuals


def _slopes(sums: ModelSums, first: int) -> Doubles:
    """Return the coefficients of the last margin on those before `first`, common to all records."""
    used = [*range(first), -1]
    gram = np.zeros((first + 1, first + 1))
    for where, t, inside in sums.shadow.blocks():
        mean_in, mean_out = (side.mean[where][:, used] for side in sums.sides)
        centres = np.where(inside[..., np.newaxis], mean_in, mean_out)
        deviations = (t[..., used] - centres).reshape(-1, first + 1)
        gram += deviations.T @ deviations
    scale = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    unit = gram / np.outer(scale, scale)
    slopes, *_ = np.linalg.lstsq(unit[:first, :first], unit[:first, first], rcond=1e-10)
    return np.asarray(slopes * scale[first] / scale[:first])


def _residual(t: Doubles, slopes: Doubles) -> Doubles:
    return np.asarray(t[..., -1] - t[..., : slopes.size] @ slopes)
