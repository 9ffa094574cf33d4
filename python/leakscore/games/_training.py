"""Training of linear and logistic models, and the assignment of records to batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.games._populations import Key
from leakscore.numeric import norms
from leakscore.typing import Array, Doubles, Flags, Indices, Row, Rows


@dataclass(frozen=True, eq=False)
class Training:
    """Training of a linear or logistic model by SGD or DP-SGD, on a fresh batch in every step.

    A record is a row of d inputs and, last, the response. Add a column of ones for an intercept.

    Parameters
    ----------
    model : {"linear", "logistic"}
        Least squares, loss (theta'x - y)^2 / 2; or logistic regression of labels
        0, ..., classes - 1, cross-entropy in nats.
    n : int
        Number of records in a batch, at least 2.
    num_steps : int
        Number of steps T, at least 1.
    learning_rate : float or (T,) array_like
        Learning rate of all steps or of each, above 0.
    clip : float, optional
        Largest Euclidean norm of a record's gradient: longer ones are scaled down to it. None: no
        clipping.
    noise_multiplier : float
        Standard deviation, per coordinate, of the Gaussian noise on the **sum** of the clipped
        gradients, over ``clip``, which is then required.
    classes : int
        Number of classes of a logistic model. Of two, theta (d,) is the weight of label 1 against
        0; of more, the (classes, d) weights are one vector, class after class (softmax).
    start : (k,) array_like, optional
        Parameters before the first step; by default 0.
    strategy_matrix : (T, T) array_like, optional
        Lower triangular matrix C of correlated noise (`tradeoff.strategy_matrix`), its diagonal
        without 0: the noise of all steps is C^-1 times the independent noise that
        ``noise_multiplier`` says. None: independent in every step.

    Raises
    ------
    ValueError
        If a number is out of its range, or there is noise without clipping.

    Examples
    --------
    >>> from leakscore.games import Training
    >>> training = Training("linear", 50, 10, 0.1, clip=2.0, noise_multiplier=1.5)
    >>> training.noise_std  # of the averaged gradient
    0.06
    >>> training.gradients([1.0, 0.0], [3.0, 4.0, 1.0])  # (theta'x - y) x, clipped
    array([1.2, 1.6])
    """

    model: Literal["linear", "logistic"]
    n: int
    num_steps: int
    learning_rate: npt.ArrayLike
    clip: float | None = field(default=None, kw_only=True)
    noise_multiplier: float = field(default=0.0, kw_only=True)
    classes: int = field(default=2, kw_only=True)
    start: npt.ArrayLike | None = field(default=None, kw_only=True)
    strategy_matrix: npt.ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validation.choice("model", self.model, ("linear", "logistic"))
        for name, value in (
            ("n", validation.count("n", self.n, 2, why=validation.ONE)),
            ("num_steps", validation.count("num_steps", self.num_steps, low=1)),
            ("classes", validation.count("classes", self.classes, low=2)),
        ):
            object.__setattr__(self, name, value)
        if self.model == "linear" and self.classes != 2:
            raise ValueError(f"classes={self.classes} must be given only with model='logistic'")
        rate = validation.interval("learning_rate", self.learning_rate, 0.0, closed="neither")
        if rate.shape not in ((), (self.num_steps,)):
            raise ValueError(
                f"learning_rate of shape {rate.shape} must be a number or ({self.num_steps},)"
            )
        object.__setattr__(self, "learning_rate", rate.copy() if rate.ndim else float(rate))
        if self.clip is not None:
            clip = validation.scalar("clip", self.clip, 0.0, closed="neither")
            object.__setattr__(self, "clip", clip)
        noise = validation.scalar("noise_multiplier", self.noise_multiplier, 0.0)
        object.__setattr__(self, "noise_multiplier", noise)
        if noise > 0.0 and self.clip is None:
            raise ValueError(
                f"clip must be given with noise_multiplier={noise!r}, which multiplies it"
            )
        if self.start is not None:
            object.__setattr__(self, "start", validation.vector("start", self.start).copy())
        if self.strategy_matrix is not None:
            matrix = np.array(validation.strategy(self.strategy_matrix, self.num_steps))
            if noise == 0.0:
                raise ValueError("strategy_matrix must be given only with noise_multiplier > 0")
            object.__setattr__(self, "strategy_matrix", matrix)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise on the averaged gradient, noise_multiplier clip / n."""
        return 0.0 if self.clip is None else self.noise_multiplier * self.clip / self.n

    def size(self, inputs: int) -> int:
        """Number of parameters of a model with `inputs` inputs.

        Parameters
        ----------
        inputs : int
            Number of inputs d, at least 1.

        Returns
        -------
        int
        """
        inputs = validation.count("inputs", inputs, 1)
        return inputs * (self.classes if self.classes > 2 else 1)

    def gradients(self, theta: npt.ArrayLike, records: npt.ArrayLike) -> Doubles:
        """Clipped gradients of records.

        Parameters
        ----------
        theta : (..., k) array_like
            Parameters.
        records : (..., d + 1) array_like
            Inputs and response; leading axes broadcast with those of `theta`.

        Returns
        -------
        (..., k) ndarray
        """
        weights, x, y = self._arguments(theta, records)
        with np.errstate(over="ignore", invalid="ignore"):
            gradients = self._clip(self._residuals(self._outputs(weights, x), y), x)
            rows = gradients[..., :, np.newaxis] * x[..., np.newaxis, :]
        if not np.isfinite(rows).all():
            raise ValueError("theta and records must be so small that no gradient overflows")
        return rows.reshape(*rows.shape[:-2], -1)

    @overload
    def losses(self, theta: Rows, records: npt.ArrayLike) -> Doubles: ...
    @overload
    def losses(self, theta: npt.ArrayLike, records: Rows) -> Doubles: ...
    @overload
    def losses(self, theta: Row, records: Row) -> float: ...
    @overload
    def losses(self, theta: npt.ArrayLike, records: npt.ArrayLike) -> float | Doubles: ...
    def losses(self, theta: npt.ArrayLike, records: npt.ArrayLike) -> float | Doubles:
        """Losses of records.

        Parameters
        ----------
        theta : (..., k) array_like
            Parameters.
        records : (..., d + 1) array_like
            Inputs and response; leading axes broadcast with those of `theta`.

        Returns
        -------
        float or (...) ndarray
        """
        weights, x, y = self._arguments(theta, records)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = self._outputs(weights, x)
        if not np.isfinite(outputs).all():
            raise ValueError("theta and records must be so small that no output overflows")
        if self.model == "linear":
            with np.errstate(over="ignore"):
                return (0.5 * np.square(outputs[..., 0] - y))[()]
        if self.classes == 2:
            return np.logaddexp(0.0, np.where(y > 0.0, -1.0, 1.0) * outputs[..., 0])[()]
        total: Doubles = np.logaddexp.reduce(outputs, axis=-1)
        chosen = np.broadcast_to(y.astype(np.intp), total.shape)[..., np.newaxis]
        loss: float | Doubles = (total - np.take_along_axis(outputs, chosen, -1)[..., 0])[()]
        return loss

    def _arguments(
        self, theta: npt.ArrayLike, records: npt.ArrayLike
    ) -> tuple[Doubles, Doubles, Doubles]:
        """Return weights (..., outputs, d), inputs (..., d) and responses (...)."""
        at, rows = validation.doubles("theta", theta), validation.doubles("records", records)
        if at.size == 0 or rows.size == 0 or at.ndim == 0 or rows.ndim == 0 or rows.shape[-1] < 2:
            raise ValueError(
                f"theta of shape {at.shape} must be (..., k) and records of shape "
                f"{rows.shape} to be (..., d + 1), neither empty"
            )
        if at.shape[-1] != self.size(rows.shape[-1] - 1):
            raise ValueError(
                f"theta of shape {at.shape} must have {self.size(rows.shape[-1] - 1)} "
                f"coordinates, as records have {rows.shape[-1] - 1} inputs"
            )
        try:
            np.broadcast_shapes(at.shape[:-1], rows.shape[:-1])
        except ValueError:
            raise ValueError(
                f"The leading axes of theta of shape {at.shape} and of records of shape "
                f"{rows.shape} must broadcast"
            ) from None
        self._require_labels("records", rows[..., -1])
        return self._weights(at), rows[..., :-1], rows[..., -1]

    def _require_labels(self, name: str, y: Array) -> None:
        """Refuse responses that are not labels of a logistic model."""
        if self.model == "logistic":
            wrong = (y != np.floor(y)) | (y < 0) | (y >= self.classes)
            if wrong.any():
                raise ValueError(
                    f"The last column of {name} must be labels 0 to {self.classes - 1}, "
                    f"but one is {float(y[wrong].flat[0])!r}"
                )

    def _weights(self, theta: Doubles) -> Doubles:
        outputs = self.classes if self.classes > 2 else 1
        return theta.reshape(*theta.shape[:-1], outputs, theta.shape[-1] // outputs)

    def _outputs(self, weights: Doubles, x: Doubles) -> Doubles:
        return np.asarray((weights @ x[..., np.newaxis])[..., 0])

    def _residuals(self, outputs: Doubles, y: Doubles) -> Doubles:
        """Return the loss's derivative by the outputs; times x it is a record's gradient."""
        if self.model == "linear":
            return np.asarray(outputs - y[..., np.newaxis])
        if self.classes == 2:
            from scipy.special import expit

            return np.asarray(expit(outputs) - y[..., np.newaxis])
        residuals = outputs - outputs.max(axis=-1, keepdims=True)
        np.exp(residuals, out=residuals)
        residuals /= residuals.sum(axis=-1, keepdims=True)
        residuals -= np.arange(self.classes) == y[..., np.newaxis]
        return np.asarray(residuals)

    def _clip(self, residuals: Doubles, x: Doubles) -> Doubles:
        """Scale residuals to those of clipped gradients, in place.

        A gradient's norm is the residuals' norm times that of x. The residuals are divided by one
        norm after the other, because the product overflows before a gradient does.
        """
        if self.clip is None:
            return residuals
        norm, limit = norms(residuals), self._residual_limits(x)
        clipped = np.asarray(norm > limit)
        if not clipped.any():
            return residuals
        norm, limit = (np.where(clipped, array, 1.0)[..., np.newaxis] for array in (norm, limit))
        residuals /= norm
        residuals *= limit
        return residuals

    def _residual_limits(self, x: Doubles) -> Doubles:
        """Return the largest norm (...) of residuals at inputs (..., d) that is not clipped."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray((np.inf if self.clip is None else self.clip) / norms(x))

    def _start(self, size: int) -> Doubles:
        """Return the parameters before the first step."""
        if self.start is None:
            return np.zeros(size)
        return validation.vector("start", self.start, size=size)

    def _noise(self, key: Key, first: int, rounds: int, size: int) -> Doubles | None:
        """Return the noise on the averaged gradients of rounds [first, ...), (rounds, T, k)."""
        if self.noise_std == 0.0:
            return None
        noise: Doubles = np.zeros((rounds * self.num_steps, size))
        no_target = np.zeros(len(noise), dtype=np.bool_)
        std = np.full(size, self.noise_std)
        _core.add_noise(key, first * self.num_steps, no_target, std, noise)
        steps: Doubles = noise.reshape(rounds, self.num_steps, size)
        if self.strategy_matrix is not None:
            _core.correlate_noise(np.asarray(self.strategy_matrix), steps)
        return steps

    def _descend(
        self,
        start: Doubles,
        batch: Callable[[int], Doubles],
        noise: Doubles | None,
        out: Doubles,
    ) -> None:
        """Write the parameters before and after every step, (rounds, T + 1, k).

        `batch` returns the records of a step, (rounds, n, d + 1); the sums are divided by n.
        """
        rates = np.broadcast_to(self.learning_rate, self.num_steps)
        out[:, 0] = start
        with np.errstate(over="ignore", invalid="ignore"):
            for t in range(self.num_steps):
                theta = np.ascontiguousarray(out[:, t])
                gradient = self._sum_gradients(theta, batch(t))
                gradient /= self.n
                if noise is not None:
                    gradient += noise[:, t]
                out[:, t + 1] = theta - rates[t] * gradient

    def _sum_gradients(self, theta: Doubles, records: Doubles) -> Doubles:
        """Return the sums of the clipped gradients of batches: (b, k) and (b, n, d + 1)."""
        x, y = records[..., :-1], records[..., -1]
        outputs = x @ np.swapaxes(self._weights(theta), -1, -2)
        residuals = self._clip(self._residuals(outputs, y), x)
        return (np.swapaxes(residuals, -1, -2) @ x).reshape(theta.shape)


Kind = Literal["poisson", "truncated", "allocated", "fixed", "shuffled", "patterns"]

_KINDS = ("poisson", "truncated", "allocated", "fixed", "shuffled", "patterns")
_NEEDED = {
    "sample_rate": ("poisson", "truncated"),
    "max_batch_size": ("truncated",),
    "batch_size": ("fixed",),
    "participation": ("patterns",),
}
_POSSIBLE = {
    "selected": ("allocated",),
    "num_epochs": ("allocated", "shuffled"),
    "reallocate": ("allocated",),
}


@dataclass(frozen=True, eq=False)
class Batches:
    """How the records of a data set are assigned to the batches of a training.

    Parameters
    ----------
    kind : {"poisson", "truncated", "allocated", "fixed", "shuffled", "patterns"}
        ``"poisson"``: each record is in each step with probability ``sample_rate``.
        ``"truncated"``: the same, but a batch of more than ``max_batch_size`` is cut to a uniform
        subset of that size. ``"allocated"``: each record is in exactly ``selected`` steps of an
        epoch, drawn uniformly. ``"fixed"``: each step draws ``batch_size`` records without
        replacement. ``"shuffled"``: in each epoch a permutation of the records is cut into batches
        of equal size. ``"patterns"``: each record takes part in the steps of a row of
        ``participation``, drawn uniformly.
    sample_rate : float, optional
        In (0, 1].
    max_batch_size, batch_size : int, optional
        At least 1.
    selected : int, optional
        Steps of an epoch that hold a record, by default 1.
    num_epochs : int, optional
        Number of epochs of equal length, by default 1.
    reallocate : bool, optional
        False: steps are drawn once and are the same in all epochs (balls in bins). By default True.
    participation : (P, T) array_like, optional
        Patterns of 0/1, as of `tradeoff.participation_patterns`.

    Raises
    ------
    ValueError
        If an argument is out of range, missing, or of another kind.

    See Also
    --------
    leakscore.games.dpsgd : The game on trainings with these batches.
    leakscore.tradeoff.random_allocation : Their trade-off curves are in that room.

    Examples
    --------
    >>> from leakscore.games import Batches
    >>> Batches("allocated", num_epochs=10).num_epochs
    10
    >>> Batches("truncated", sample_rate=0.01, max_batch_size=128).max_batch_size
    128
    """

    kind: Kind
    sample_rate: float | None = field(default=None, kw_only=True)
    max_batch_size: int | None = field(default=None, kw_only=True)
    batch_size: int | None = field(default=None, kw_only=True)
    selected: int | None = field(default=None, kw_only=True)
    num_epochs: int | None = field(default=None, kw_only=True)
    reallocate: bool | None = field(default=None, kw_only=True)
    participation: npt.ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        kind = validation.choice("kind", self.kind, _KINDS)
        for name, kinds in (_NEEDED | _POSSIBLE).items():
            value = getattr(self, name)
            if value is not None and kind not in kinds:
                raise ValueError(
                    f"{name}={value!r} must be given only with kind in {kinds}, not {kind}"
                )
            if value is None and name in _NEEDED and kind in kinds:
                raise ValueError(f"{name} must be given with kind={kind!r}")
        given: dict[str, Any] = {
            name: validation.count(name, getattr(self, name), 1)
            for name in ("max_batch_size", "batch_size", "selected", "num_epochs")
            if getattr(self, name) is not None
        }
        if self.sample_rate is not None:
            given["sample_rate"] = validation.scalar(
                "sample_rate", self.sample_rate, 0.0, 1.0, closed="right"
            )
        if self.reallocate is not None:
            given["reallocate"] = validation.flag("reallocate", self.reallocate)
        if self.participation is not None:
            rows = validation.matrix("participation", self.participation)
            given["participation"] = validation.binary("participation", rows) != 0
        for name, kinds in _POSSIBLE.items():
            if kind in kinds:
                given.setdefault(name, True if name == "reallocate" else 1)
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def _sizes_are_fixed(self) -> bool:
        """Whether batches have a fixed size, so that a record that is out still has a place."""
        return self.kind in ("fixed", "shuffled")

    def _require(self, records: int, steps: int) -> None:
        """Refuse a data set or a number of steps for which these batches are not defined."""
        slots = self._epoch_steps(steps)
        if self.kind == "fixed" and (self.batch_size or 0) > records:
            raise ValueError(
                f"batch_size={self.batch_size} must be <= {records}, the rows of X and the target"
            )
        if self.kind == "shuffled" and records % slots:
            raise ValueError(
                f"{records} records, the rows of X and the target, must be a multiple of "
                f"{slots}, the steps of an epoch"
            )
        if (self.selected or 1) > slots:
            raise ValueError(f"selected={self.selected} must be <= {slots}, the steps of an epoch")
        if self.participation is not None and np.shape(self.participation)[1] != steps:
            raise ValueError(
                f"participation of shape {np.shape(self.participation)} must be (P, {steps})"
            )

    def _epoch_steps(self, steps: int) -> int:
        """Return the number of steps of an epoch."""
        epochs = self.num_epochs or 1
        if steps % epochs:
            raise ValueError(f"num_steps={steps} must be a multiple of num_epochs={epochs}")
        return steps // epochs

    def _mean_size(self, records: int, steps: int) -> int:
        """Return the approximate mean number of records of a batch."""
        if self.kind == "fixed":
            return self.batch_size or 1
        if self.participation is not None:
            return ceil(records * float(np.asarray(self.participation, np.float64).mean()))
        rate = self.sample_rate or (self.selected or 1) / self._epoch_steps(steps)
        return ceil(records * rate)

    def _draw(
        self, key: Key, first: int, present: Flags, *, records: int, steps: int
    ) -> tuple[npt.NDArray[np.int32], Indices]:
        """Return the records of all steps of all rounds, and the number of each step, (r, T).

        Record 0 is left out of rounds where `present` is False.
        """
        patterns = np.zeros((1, 1), dtype=np.bool_)
        size = self.batch_size or self.max_batch_size or self.selected or 1
        if self.participation is not None:
            patterns = np.ascontiguousarray(self.participation, dtype=np.bool_)
            size = len(patterns)
        # A record is in a step if its word w <= last: with probability (last + 1) / 2^64.
        last = max(ceil((self.sample_rate or 1.0) * 2.0**64), 1) - 1
        slots = self._epoch_steps(steps)
        scheme = (self.kind, records, slots, steps // slots, size, last)
        reallocate = bool(self.reallocate)
        rows, ends = _core.draw_batches(key, first, present, *scheme, reallocate, patterns)
        return rows, np.diff(ends, prepend=0).reshape(-1, steps)


def pad_batches(rows: npt.NDArray[np.int32], sizes: Indices, fill: int) -> Indices:
    """Return the records of every step, padded with `fill`, (r, T, largest)."""
    largest = max(int(sizes.max()), 1)
    index = np.full((*sizes.shape, largest), fill, dtype=np.intp)
    index[np.arange(largest) < sizes[..., np.newaxis]] = rows
    return index


def data_set(others: Doubles, target: Doubles, other: Doubles | None) -> Doubles:
    """Return the rows of a game: target, others, a record without gradient, `other`."""
    zeros = np.zeros((1, target.size))
    last = zeros if other is None else other[np.newaxis]
    return np.concatenate([target[np.newaxis], others, zeros, last])
