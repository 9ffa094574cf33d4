"""The games on the training of a model: batches drawn, the target in some, and the steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import gcd
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.games._populations import (
    Empirical,
    Gaussian,
    Key,
    Population,
    RecordTable,
    ReleasedMean,
    Sampler,
    coins,
    key_at,
    key_from,
    num_rounds,
    require_population,
    require_score,
    uniform_below,
)
from leakscore.games._releases import draw_steps, insertion_law, play_blocks
from leakscore.games._training import Batches, Training, data_set, pad_batches
from leakscore.results import Drawn
from leakscore.typing import Array, Doubles, Flags, Indices, Seed

_BLOCK = 1 << 18  # doubles of the records in memory at once: 2 MB
_WORDS = 1 << 12  # random words of one key
_BLOCK_NUMBERS = 1 << 19  # doubles of the records of a step, and records of all steps, in a block
_STREAM_BLOCK = 1 << 21  # doubles of the parameters that a score receives at once: 16 MB
_ROW = 8  # rows for the core are padded to a multiple of this
_COPIED = 1 << 21  # largest table copied for the core: 16 MB, more if it has few columns
_WORK = 1 << 27  # most products of one training in the core: less than a second


def dpsgd(
    population: Population,
    target: npt.ArrayLike,
    training: Training,
    insertion: int | Literal["uniform"] | npt.ArrayLike | Batches,
    rounds: int,
    rng: Seed = None,
    *,
    score: Callable[[Doubles], npt.ArrayLike] | None = None,
    other: npt.ArrayLike | None = None,
) -> Drawn[Doubles, Flags, Array]:
    """Play rounds of the membership game on the training of a linear or logistic model.

    By default every step has a fresh batch. A fair coin decides whether the target's record takes
    the place of one record of one batch; all parameters, before and after each step, are released.

    With `Batches` a training draws its batches from one data set. Then the coin decides whether the
    target is in the data set.

    Parameters
    ----------
    population : Bernoulli, Gaussian or Empirical
        What the records are drawn from: d inputs and, last, the response. An Empirical must have
        ``replace=True``. Responses of a logistic model are labels, so a Gaussian is refused. With
        `Batches` an Empirical with ``replace=False``: its rows are the other records.
    target : (d + 1,) array_like
        The target's record.
    training : Training
        Model, batches, learning rate, clipping and noise.
    insertion : int, "uniform", (T,) array_like or Batches
        Step of a target that is in, counted from 0, or the law of the step, as in `sequential`; or
        how the records of the data set are assigned to batches.
    rounds : int
        Number of rounds R, at least 1.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Source of the game's 128-bit key; nothing else is drawn from it. None: fresh entropy. The
        result stores the seed: ``rng=result.seed`` plays the same game.
    score : callable, optional
        Maps parameters (r, T + 1, k) to scores (r,) or (r, j). The game then passes it blocks of
        about 16 MB and never stores all parameters. Scores may be infinite but not NaN.
    other : (d + 1,) array_like, optional
        With `Batches`: the record in the target's place if the target is out. None: no record; in
        batches of a fixed size and shuffles, a record without gradient ("zero-out").

    Returns
    -------
    theta : (R, T + 1, k) ndarray
        The parameters, or the scores if `score` is given. `sequential.sgd_llr` is the best test.
    member : (R,) ndarray of bool
        Whether the target was in.
    step : (R,) ndarray of int
        The target's step, -1 if it was in none: it moved the parameters from index step to
        step + 1. With `Batches` (R, T) of bool: the steps with the target, or the record in its
        place.

    Raises
    ------
    TypeError
        If the population, the training or the generator is of another type.
    ValueError
        If target, population and model do not fit, `insertion` is not a step, parameters overflow,
        or a score is NaN or of the wrong shape.

    See Also
    --------
    leakscore.sequential.game_tradeoff : The bound on every test in the game without `Batches`.
    leakscore.sequential.allocation_llr : The best test where the steps are hidden.

    Notes
    -----
    With `Batches` sums of clipped gradients are divided by ``training.n``, whatever the size of a
    batch. In a linear model a target [1, -y] with a large y has the gradient ``clip`` in every
    step, [1, y] the opposite, and a record of zeros none. So games can play the data that attain
    the bounds of `tradeoff`.

    Algorithms 1 and 2 of T. Michel, D. Basu and E. Kaufmann, sequential membership inference, with
    the DP-SGD of their section 4.2. Reproducible like `fixed_target`, but for the last bits of the
    steps: sums of products, by BLAS or the core, may differ in them between machines.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.games import Gaussian, Training, dpsgd
    >>> cov = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 3.0]])  # y = x1 + x2 + e
    >>> training = Training("linear", 50, 10, 0.1, clip=4.0, noise_multiplier=0.5)
    >>> population, target = Gaussian(np.zeros(3), cov), [2.0, 0.0, 9.0]
    >>> theta, member, step = dpsgd(population, target, training, 3, 2000, rng=1)
    >>> theta.shape
    (2000, 11, 2)
    >>> fall = training.losses(theta[:, 3], target) - training.losses(theta[:, 4], target)
    >>> bool(fall[member].mean() > fall[~member].mean())
    True
    """
    require_population(population)
    validation.instance("training", training, Training)
    record = validation.vector("target", target, size=population.dim)
    batched = isinstance(insertion, Batches)
    _require_records(population, record, training, batched)
    rounds = num_rounds(rounds, False)
    require_score(score, "parameters")
    if isinstance(insertion, Batches):
        stand_in = None if other is None else validation.vector("other", other, size=record.size)
        if stand_in is not None:
            training._require_labels("other", stand_in[-1:])
        key, seed = key_from(rng)
        target_steps = np.empty((rounds, training.num_steps), dtype=np.bool_)
        trainer: _Trainer = _DataSetBatches(
            training, insertion, other_records(population), record, other=stand_in, key=key
        )
        theta = trainer.play_rounds(rounds, target_steps, score)
        return Drawn((theta, coins(key, rounds, False), target_steps), seed)
    if other is not None:
        raise ValueError(f"other={other!r} must be given only where insertion is a Batches")
    law = insertion_law(insertion, training.num_steps)
    key, seed = key_from(rng)
    member = coins(key, rounds, False)
    step = draw_steps(key, member, law)
    trainer = _FreshBatches(training, population, record, rounds=rounds, key=key)
    return Drawn((trainer.play_rounds(rounds, step, score), member, step), seed)


class _Trainer(ABC):
    """Plays rounds of a game in blocks, which start at multiples of `block`."""

    block: int

    def __init__(self, training: Training, inputs: int, key: Key) -> None:
        self.training, self.key = training, key
        self.size = training.size(inputs)
        self.start = training._start(self.size)

    def play_rounds(
        self,
        rounds: int,
        steps: npt.NDArray[Any],
        score: Callable[[Doubles], npt.ArrayLike] | None,
    ) -> Doubles:
        """Return the parameters of all rounds, or their scores; `steps` is an input or output."""
        shape = rounds, self.training.num_steps + 1, self.size

        def play(first: int, out: Doubles) -> None:
            self._play(first, out, steps[first:])

        return play_blocks(play, shape, score, tile=self.block, checked=_scores)

    def _play(self, first: int, out: Doubles, steps: npt.NDArray[Any]) -> None:
        """Write the parameters before and after every step of rounds [first, first + len(out))."""
        for start in range(0, len(out), self.block):
            part = slice(start, start + self.block)
            theta = out[part]
            noise = self.training._noise(self.key, first + start, len(theta), self.size)
            self._descend(first + start, theta, steps[: len(out)][part], noise)
            if not np.isfinite(theta).all():
                self._refuse()

    @abstractmethod
    def _descend(
        self, first: int, out: Doubles, steps: npt.NDArray[Any], noise: Doubles | None
    ) -> None:
        """Play a block of rounds."""

    def _refuse(self) -> None:
        """Raise an error that explains why parameters are not finite."""
        raise ValueError("learning_rate must be so small that the parameters do not diverge")


def _scores(given: npt.ArrayLike, rounds: int) -> Doubles:
    """Validate the scores of a block."""
    scores = validation.real_array("score(theta)", given).astype(np.float64)
    if scores.ndim not in (1, 2) or len(scores) != rounds:
        raise ValueError(
            f"score(theta) of shape {scores.shape} must be ({rounds},) or ({rounds}, j)"
        )
    if np.isnan(scores).any():
        raise ValueError("score(theta) must hold no NaN")
    return scores


def _require_records(
    population: Population, target: Doubles, training: Training, batched: bool
) -> None:
    """Refuse records that do not fit the model."""
    if population.dim < 2:
        raise ValueError("population must have at least 2 coordinates: input and response")
    if isinstance(population, Empirical) and not (population.replace or batched):
        raise ValueError("population must have replace=True: batches are drawn anew")
    if training.model == "logistic":
        if isinstance(population, Gaussian):
            raise ValueError("population must have labels, not Gaussian responses")
        if isinstance(population, Empirical):
            training._require_labels("X", np.asarray(population.X)[:, -1])
    training._require_labels("target", target[-1:])


class _TableRecords:
    """Single rows of a table, drawn with replacement by one random word each (a mean uses 128)."""

    def __init__(self, rows: RecordTable, training: Training) -> None:
        self.rows, self.training = rows, training
        # Rows are gathered step by step, so that a step reads them from the cache.
        n, steps = training.n, training.num_steps
        parameters = training.size(rows.X.shape[1] - 1)
        most = min(_BLOCK // (n * rows.X.shape[1]), _BLOCK // (n * steps))
        self.block = max(1, min(most, _STREAM_BLOCK // ((steps + 1) * parameters)))

    def batches(self, key: Key, first: int, rounds: int) -> Callable[[int], Doubles]:
        """Return a function that writes the records (rounds, n, d + 1) of a step to one array."""
        X, rows = self.rows.X, self.draw_rows(key, first, rounds)
        records = np.empty((rounds, self.training.n, X.shape[1]))

        def batch(t: int) -> Doubles:
            if X.dtype == records.dtype:
                np.take(X, rows[:, t], axis=0, out=records, mode="clip")  # without a buffer
            else:
                records[...] = X[rows[:, t]]
            return records

        return batch

    def draw_rows(self, key: Key, first_round: int, rounds: int) -> Indices:
        """Draw the row number of each record, (rounds, T, n)."""
        rows = np.empty((rounds, self.training.num_steps, self.training.n), dtype=np.int64)
        first = first_round * self.training.num_steps * self.training.n
        end = first + rows.size
        for place in range(first // _WORDS, -(-end // _WORDS)):
            low, high = max(first, place * _WORDS), min(end, (place + 1) * _WORDS)
            words = _core.coin_words(key_at(key, place), high - place * _WORDS)
            drawn = uniform_below(words[low - place * _WORDS :], np.array(self.rows.available))
            if self.rows.exclude is not None:
                drawn += drawn >= self.rows.exclude
            rows.reshape(-1)[low - first : high - first] = drawn
        return rows


class _LinearTable:
    """The table's rows and the target, on which the core trains a linear model.

    The gradient of a record is its residual times its inputs. So neither records nor gradients are
    gathered, and the largest residual that is not clipped is computed once for each row.
    """

    def __init__(self, rows: _TableRecords, target: Doubles, rounds: int) -> None:
        self.rows, self.training, self.target = rows, rows.training, target
        training, inputs = rows.training, target.size - 1
        drawn, parameters = training.n * training.num_steps, inputs * (training.num_steps + 1)
        self.block = max(1, min(_BLOCK // drawn, _STREAM_BLOCK // parameters))
        X = rows.rows.X
        # Fewer records than the table has do not pay for a copy of it.
        self.whole_table = self._append_target(X) if rounds * drawn >= len(X) else None

    def _append_target(self, X: Array) -> tuple[Doubles, Doubles, Doubles]:
        """Return inputs, responses and largest unclipped residuals, the target's last."""
        target, size = self.target, self.target.size - 1
        inputs = _aligned_zeros(len(X) + 1, -(-size // _ROW) * _ROW)
        inputs[:-1, :size], inputs[-1, :size] = X[:, :-1], target[:-1]
        responses = np.append(np.asarray(X[:, -1], dtype=np.float64), target[-1])
        with np.errstate(over="ignore", invalid="ignore"):
            return inputs, responses, self.training._residual_limits(inputs[:, :size])

    @staticmethod
    def fits(rows: _TableRecords) -> bool:
        """Whether the table is small enough to copy, and a training short enough for one call."""
        training = rows.training
        work = training.n * training.num_steps * rows.rows.X.shape[1]
        return training.model == "linear" and rows.rows.X.size <= _COPIED and work <= _WORK

    def draw_batches(
        self, key: Key, first: int, steps: Indices
    ) -> tuple[tuple[Doubles, Doubles, Doubles], Indices]:
        """Return inputs, responses and largest unclipped residuals, and the rows of each batch."""
        rows = self.rows.draw_rows(key, first, len(steps))
        table = self.whole_table
        if table is None:
            table = self._append_target(self.rows.rows.X[rows.reshape(-1)])
            rows = np.arange(rows.size).reshape(rows.shape)
        present = np.flatnonzero(steps >= 0)
        rows[present, steps[present], 0] = len(table[0]) - 1
        return table, rows


def _aligned_zeros(rows: int, cols: int) -> Doubles:
    """Return zeros whose rows start cache lines: loads across two lines take twice as long."""
    zeros = np.zeros(rows * cols + _ROW)
    start = -(zeros.__array_interface__["data"][0] // zeros.itemsize) % _ROW
    return zeros[start : start + rows * cols].reshape(rows, cols)


class _SampledRecords:
    """Records of a law, drawn as means of one record each."""

    def __init__(self, population: Population, training: Training) -> None:
        single = ReleasedMean(1)
        self.sampler: Sampler = population._sampler(np.zeros(population.dim), single)
        self.dim, self.training = population.dim, training
        # A block of rounds depends only on sizes, and starts at a tile of the sampler.
        drawn = training.n * training.num_steps
        step = self.sampler.tile // gcd(self.sampler.tile, drawn)
        self.block = max(1, _BLOCK // (drawn * self.dim * step)) * step

    def batches(self, key: Key, first: int, rounds: int) -> Callable[[int], Doubles]:
        """Return a function that returns the records (rounds, n, d + 1) of a step."""
        steps, n = self.training.num_steps, self.training.n
        records = np.empty((rounds, steps, n, self.dim))
        no_target = np.zeros(rounds * steps * n, dtype=np.bool_)
        start = first * steps * n
        self.sampler.fill(key, start, no_target, records.reshape(-1, self.dim))
        return lambda t: records[:, t]


class _FreshBatches(_Trainer):
    """Plays trainings on fresh batches, with the target in one of them."""

    def __init__(
        self, training: Training, population: Population, target: Doubles, *, rounds: int, key: Key
    ) -> None:
        super().__init__(training, population.dim - 1, key)
        self.target = target
        self.records: _TableRecords | _SampledRecords = (
            _TableRecords(population._rows(), training)
            if isinstance(population, Empirical)
            else _SampledRecords(population, training)
        )
        self.table: _LinearTable | None = None
        if isinstance(self.records, _TableRecords) and _LinearTable.fits(self.records):
            self.table = _LinearTable(self.records, target, rounds)
        self.block = self.records.block if self.table is None else self.table.block

    def _descend(
        self, first: int, out: Doubles, steps: npt.NDArray[Any], noise: Doubles | None
    ) -> None:
        if self.table is not None:
            table, batches = self.table.draw_batches(self.key, first, steps)
            rates = np.full(self.training.num_steps, self.training.learning_rate)
            _core.linear_descents(*table, batches, self.start, rates, noise, out)
            return
        batch = self.records.batches(self.key, first, len(out))

        def with_target(t: int) -> Doubles:
            records = batch(t)
            records[steps == t, 0] = self.target
            return records

        self.training._descend(self.start, with_target, noise, out)

    def _refuse(self) -> None:
        if isinstance(self.records, _TableRecords):
            validation.finite("X", self.records.rows.X)
        super()._refuse()


def other_records(population: Population) -> Doubles:
    """Return the records of the data set other than the target."""
    if not isinstance(population, Empirical) or population.replace:
        raise ValueError(
            "population must be an Empirical with replace=False, the data set, as batches "
            "are drawn from it"
        )
    X = np.asarray(population.X, dtype=np.float64)
    rows = X if population.exclude is None else np.delete(X, population.exclude, axis=0)
    return validation.finite("X", rows)


class _DataSetBatches(_Trainer):
    """Plays trainings on batches of one data set."""

    def __init__(
        self,
        training: Training,
        batches: Batches,
        others: Doubles,
        target: Doubles,
        *,
        other: Doubles | None,
        key: Key,
    ) -> None:
        self.batches, self.records = batches, len(others) + 1
        batches._require(self.records, training.num_steps)
        super().__init__(training, target.size - 1, key)
        self.table = data_set(others, target, other)
        self.keeps_place = batches._sizes_are_fixed or other is not None
        expected = batches._mean_size(self.records, training.num_steps)
        most = expected * max(target.size, training.num_steps) + training.num_steps * self.size
        self.block = max(1, _BLOCK_NUMBERS // most)

    def _descend(
        self, first: int, out: Doubles, steps: npt.NDArray[Any], noise: Doubles | None
    ) -> None:
        """Play a block, and write which steps have the target or the record in its place.

        A whole block is always drawn. So the width of its batches, and with it the order of sums,
        does not depend on the number of rounds.
        """
        rounds = len(out)
        member = coins(self.key, first + self.block, False)[first:]
        present = np.ones(self.block, np.bool_) if self.keeps_place else member
        drawn = self.batches._draw(
            self.key, first, present, records=self.records, steps=self.training.num_steps
        )
        index = pad_batches(*drawn, fill=self.records)[:rounds]
        is_target = index == 0
        steps[:] = is_target.any(axis=-1)
        index[is_target & ~member[:rounds, np.newaxis, np.newaxis]] = self.records + 1
        self.training._descend(self.start, lambda t: self.table[index[:, t]], noise, out)
