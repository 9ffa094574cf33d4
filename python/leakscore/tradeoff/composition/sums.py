"""Sums of independent losses on a lattice: their laws by FFT, with certified errors.

Each law is composed several times, tilted by exp(theta loss) and normalised. So every part of it is
once in the middle of a window, where the FFT's absolute error is small against it. A block of cells
is read from the tilt with the least error at that block.

The error of one cell of a tilted law (u = 2^-53; N the length of the FFT):

- The FFT of one step's masses, which sum to 1, errs by at most d = 8 u log2(N) at each frequency:
  log2(N) butterflies, each of a relative error below (1 + 4 sqrt 2) u (Higham, Accuracy and
  Stability of Numerical Algorithms, theorem 24.2, term by term). Of many different steps those
  of large variance silence all but the first frequencies; the other steps' are found from moments
  (`low_frequencies`) there, and left out beyond, where none exceeds 1.
- A product of powers then errs by at most prod (|z| + d)^n - prod |z|^n, plus 4 n u prod |z|^n for
  the products, and the inverse FFT by the mean of that over the frequencies plus d times that of
  prod |z|^n.
- Frequencies with prod (|z| + d)^n below e^-92 are left out, which adds that error.
- The window wraps around: mass outside is added to cells inside. Chernoff's bound on these lattice
  laws bounds that mass.
- Masses of one step, the cells' ends, and sums of them have a relative error of at most `_UNIT`
  times the size of the logarithms that go into them, n times that after n steps.

First frequencies. A sum of many steps is heard at low frequencies only, at which e^(-2 pi i j k /
N) hardly turns within a block of B cells. With r from -1 to 1 the place of a cell in its block, and
c the block's middle,

    z_k = sum_c e^(-2 pi i c k / N) sum_p (-i a)^p / p! sum_r r^p mass,    a = pi B k / N <= 1/2,

one short transform for each moment. The masses sum to 1, so that the series without its terms from
p on errs by at most a^p / p! (1 + a/(p+1) + ...) <= 1.1 a^p / p!.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.numeric import by_squaring
from leakscore.tradeoff.composition.plan import MANY, Window
from leakscore.typing import Doubles

Complexes: TypeAlias = npt.NDArray[np.complex128]

_U = 2.0**-53
_UNIT = 100.0 * _U
_PRODUCT = 4.0 * _U  # of one of the n factors of a power
_FAINT = -92.0
_SPILT = -36.0
_NEAR = 3
_AT_ONCE = 4  # transforms of a size, which numpy takes in half of the time

# The first point of a lattice, logs of its masses, and how many such steps there are.
Part = tuple[float, Doubles, int]


@dataclass(frozen=True)
class BlockMasses:
    """Certified logs of the masses of blocks of cells.

    The masses of a block are split between its first point (row 0 of `low` and `high`) and the next
    block's (row 1), so that the sum of e^loss is kept. `offset` is the loss of block 0, `width` the
    blocks' distance, `first` the first block.
    """

    offset: float
    width: float
    first: int
    low: Doubles
    high: Doubles
    log_below: float  # mass left of the first block
    log_above: float

    @property
    def points(self) -> Doubles:
        """Losses of the blocks' first points, and of the end of the last."""
        return self.offset + self.width * (self.first + np.arange(self.low.shape[1] + 1))


@dataclass(frozen=True)
class EqualSteps:
    """Steps of one law: logs of the masses at the points ``first + k * spacing``."""

    first: float
    log_mass: Doubles
    count: int

    @property
    def size(self) -> int:
        """Number of points."""
        return self.log_mass.size

    def _logs(self, step: float) -> Doubles:
        """Give logs of e^(step k) mass."""
        return self.log_mass + step * np.arange(float(self.size))

    def _tilted(self, step: float) -> tuple[Doubles, float]:
        """Give e^(step k) mass over the largest of them, and the log of that one."""
        logs = self._logs(step)
        top = float(logs.max())
        return np.exp(logs - top), top

    def peak(self, step: float) -> float:
        """Give the log of the largest e^(step k) mass."""
        return float(self._logs(step).max())

    def log_total(self, step: float) -> float:
        """Give the log of the sum of e^(step k) mass."""
        weights, top = self._tilted(step)
        return top + float(np.log(weights.sum()))

    def moments(self, step: float) -> tuple[float, float, float]:
        """Give that log, and mean and variance of the tilted law's k."""
        weights, top = self._tilted(step)
        total, cells = float(weights.sum()), np.arange(float(self.size))
        mean = float(weights @ cells) / total
        variance = float(weights @ np.square(cells - mean)) / total
        return top + float(np.log(total)), mean, variance

    def rounding(self, step: float, log_total: float) -> float:
        """Bound the error of `log_total`.

        Logs of masses that count are no larger than the sum's and step times a place, each rounded
        a few times; the sum of the exponentials is rounded less than a hundred times.
        """
        return _U * (150.0 + 4.0 * (abs(log_total) + abs(step) * self.size))

    def masses(self, step: float, log_total: float) -> Doubles:
        """Give e^(step k) mass over their sum."""
        return np.asarray(np.exp(self.log_mass + (step * np.arange(float(self.size)) - log_total)))


def compose_lattices(
    parts: list[Part],
    spacing: float,
    block: int,
    windows: tuple[Window, ...],
    shift: float = 0.0,
) -> BlockMasses:
    """Compose the parts; `shift` is subtracted from every tilt, for a law under H1."""
    offset = sum(first * n for first, _, n in parts)
    steps = [EqualSteps(*part) for part in parts]
    laws = [_Tilt(steps, spacing, window.tilt - shift) for window in windows]
    ranges = [law.range(block, window) for law, window in zip(laws, windows, strict=True)]
    for before, after in pairwise(ranges):  # windows meet
        before.stop = max(before.stop, after.start)
    tilted = [law.window(blocks, block) for law, blocks in zip(laws, ranges, strict=True)]
    return _stitch(tilted, offset, spacing, block)


@dataclass
class _Range:
    """Blocks of a window, and the tilts of Chernoff's bounds below and above them."""

    start: int
    stop: int
    below: float
    above: float


class _Tilt:
    """One step's laws, tilted and normalised."""

    def __init__(self, steps: list[EqualSteps], spacing: float, theta: float) -> None:
        self.theta, self.spacing, self.steps = theta, spacing, steps
        self.totals: list[float] = []  # logs of what normalises one step's masses
        self.variances: list[float] = []
        self._exponents: dict[float, float] = {}  # logs of mean e^(tilt loss), by Chernoff's tilt
        self.log_scale = self.mean = self.slack = 0.0
        self.last = 0
        for law in steps:
            n, last = law.count, law.size - 1
            total, mean, variance = law.moments(theta * spacing)
            self.totals.append(total)
            self.log_scale += n * (total + theta * law.first)
            self.mean += n * mean
            self.variances.append(n * variance)
            top = law.peak(theta * spacing)
            size = (1.0 + abs(theta)) * (abs(law.first) + spacing * law.size) + abs(top)
            self.slack += n * _UNIT * (4.0 + size)
            self.last += n * last

    def scale_at(self, loss: Any) -> Any:
        """Give log of a mass at a loss over the tilted and normalised mass there."""
        return self.log_scale - self.theta * loss

    def laws(self) -> Iterator[tuple[Doubles, int]]:
        """Give one step's masses, those of many different steps in the order of their variance.

        The first leave few frequencies.
        """
        order = np.arange(len(self.steps))
        if order.size >= MANY:
            order = np.argsort(-np.array(self.variances), kind="stable")
        for place in order.tolist():
            law = self.steps[place]
            yield law.masses(self.theta * self.spacing, self.totals[place]), law.count

    def _outside(self, edge: float, tilt: float) -> float:
        """Bound the log of the mass beyond an edge, in cells, by Chernoff."""
        if tilt not in self._exponents:
            self._exponents[tilt] = self._exponent(tilt)
        return min(self._exponents[tilt] - tilt * self.spacing * edge, 0.0)

    def _exponent(self, tilt: float) -> float:
        """Bound the log of the mean of e^(tilt loss) from above; losses from the first point on."""
        total = 0.0
        start, end = self.theta * self.spacing, (self.theta + tilt) * self.spacing
        for law, log_total in zip(self.steps, self.totals, strict=True):
            other = law.log_total(end)
            error = law.rounding(start, log_total) + law.rounding(end, other)
            total += law.count * (other - log_total + error)
        return total

    def range(self, block: int, window: Window) -> _Range:
        """Place a window around the mean of this law, and widen it if it leaves out too much."""
        below, above = window.below - window.tilt, window.above - window.tilt
        low, high = window.low / self.spacing, window.high / self.spacing
        for _ in range(8):
            start = max(int((self.mean - low) // block) - 1, 0)
            stop = min(int((self.mean + high) // block) + 2, self.last // block + 1)
            spilt = self._outside(start * block - 1, below), self._outside(stop * block, above)
            if start > 0 and spilt[0] > _SPILT:
                low *= 1.5
            elif stop * block <= self.last and spilt[1] > _SPILT:
                high *= 1.5
            else:
                break
        return _Range(start, stop, below, above)

    def window(self, blocks: _Range, block: int) -> _Composed:
        """Compose in a window of blocks."""
        from scipy.fft import next_fast_len

        low, high = blocks.start * block, blocks.stop * block
        cells = high - low
        below, above = -np.inf, -np.inf
        if low > 0:
            below = self._outside(low - 1, blocks.below)
        if high <= self.last:
            above = self._outside(high, blocks.above)
        unit = SIZES if len(self.steps) >= MANY else 2
        size = unit * next_fast_len(-(-cells // unit), real=True)
        spectrum, error = self._spectrum(size)
        law = np.fft.irfft(spectrum, size)
        law = np.roll(law, -(low % size))[:cells]
        error += float(np.exp(below) + np.exp(above))
        return _Composed(self, blocks.start, law, error, log_outside=(below, above))

    def _spectrum(self, size: int) -> tuple[Complexes, float]:
        spectra: dict[int, Complexes] = {}  # products of steps that come as often
        faint, count = np.zeros(size // 2 + 1), 0
        width = faint.size  # frequencies that the steps so far leave
        few, block = width, 0  # how to find them
        laws = self.laws()
        while batch := list(islice(laws, 1 if block else _AT_ONCE)):
            if block:
                transforms = [low_frequencies(batch[0][0], size, few, block)]
            else:
                transforms = _transforms([masses for masses, _ in batch], size)
            for (z, unit), (_, n) in zip(transforms, batch, strict=True):
                z = z[:width]
                spectra[n] = spectra[n][: z.size] * z if n in spectra else z
                faint[: z.size] += n * np.log(np.abs(z) + unit)
                count += n
            width = 1 + int(np.flatnonzero(faint[:width] > _FAINT - 1.0)[-1])
            if len(self.steps) >= MANY and (not block or 2 * width <= few):
                few, block = width, block_size(width, size)
        inverse = _fft_unit(size)
        heard = np.flatnonzero(faint > _FAINT)
        product = np.ones(heard.size, dtype=complex)
        for n, z in spectra.items():
            product *= by_squaring(z[heard], n, np.multiply)
        weights = np.where((heard == 0) | (2 * heard == size), 1.0, 2.0) / size
        size_of = np.abs(product)
        raised = np.maximum(np.exp(faint[heard]) - size_of, 0.0)
        error = float(weights @ (raised + (count * _PRODUCT + inverse) * size_of))
        error += float(np.exp(_FAINT))
        spectrum = np.zeros(size // 2 + 1, dtype=complex)
        spectrum[heard] = product
        return spectrum, error


@dataclass(frozen=True)
class _Composed:
    """A tilted law in its window: its cells from a first block on, and the error of each."""

    tilt: _Tilt
    first: int  # block
    cells: Doubles
    error: float
    log_outside: tuple[float, float]  # below and above


def _fft_unit(size: int) -> float:
    """Bound the error of an FFT, or of its inverse, in any entry if the moduli add up to 1."""
    return 8.0 * _U * float(np.log2(size))


def _transforms(laws: list[Doubles], size: int) -> list[tuple[Complexes, float]]:
    """Give the FFTs of some steps' masses, and bounds on their errors.

    Where a few neighbouring cells hold nearly all of the mass, their part is summed directly, with
    an error of some u, and the FFT's error applies to the rest only.
    """
    rows, near = np.zeros((len(laws), size)), list[tuple[int, Doubles, float]]()
    for row, masses in zip(rows, laws, strict=True):
        cells = _folded(masses, size) if masses.size > size else masses
        row[: cells.size] = cells
        first, width, rest = _heaviest(cells)
        if rest > 0.25:
            near.append((0, cells[:0], 1.0))
        else:
            near.append((first, cells[first : first + width], rest))
            row[first : first + width] = 0.0
    unit = _fft_unit(size)
    transforms: list[tuple[Complexes, float]] = []
    for spectrum, (first, cells, rest) in zip(np.fft.rfft(rows), near, strict=True):
        if cells.size:
            error = rest * unit + 84.0 * _U
            transforms.append((_summed(first, cells, size) + spectrum, error))
        else:
            transforms.append((spectrum, unit))
    return transforms


def _heaviest(masses: Doubles) -> tuple[int, int, float]:
    """Give the first of the neighbouring cells that hold most, their number, and the other mass."""
    total = np.concatenate([[0.0], np.cumsum(masses)])
    width = min(_NEAR, masses.size)
    first = int((total[width:] - total[:-width]).argmax())
    return first, width, float(masses[:first].sum() + masses[first + width :].sum())


def _summed(first: int, cells: Doubles, size: int) -> Complexes:
    """Give the transform of a few cells, term by term."""
    turn = _turns(1, size)
    z = np.full(turn.size, cells[-1], dtype=complex)
    for mass in cells[-2::-1]:  # Horner's rule
        z *= turn
        z += mass
    z *= _turns(first, size)
    return z


def _turns(cell: int, size: int) -> Complexes:
    """Give e^(-2 pi i cell k / size) at each frequency k: a product of two, of angles up to pi."""
    count = size // 2 + 1
    long = 1 + int(np.sqrt(count))

    def turned(frequencies: npt.NDArray[np.int64]) -> Complexes:
        angle = (cell * frequencies + size // 2) % size - size // 2
        return np.asarray(np.exp(angle * (-2j * np.pi / size)))

    far, near = turned(np.arange(0, count, long)), turned(np.arange(long))
    return np.asarray((far[:, np.newaxis] * near).reshape(-1)[:count])


def _folded(masses: Doubles, size: int) -> Doubles:
    """Add up the entries of the same place on a circle."""
    turns = -(-masses.size // size)
    padded = np.pad(masses, (0, turns * size - masses.size))
    return np.asarray(padded.reshape(turns, size).sum(axis=0))


def _stitch(tilted: list[_Composed], offset: float, spacing: float, block: int) -> BlockMasses:
    """Take every block from the tilt with the least error at it, scaled back."""
    width = spacing * block
    cell = spacing * np.arange(block)
    # The part of a block's cells that goes to its end, (e^cell - 1) / (e^width - 1).
    share = np.exp(cell - width) * (np.expm1(-cell) / np.expm1(-width))
    starts = [tilted[0].first]
    for before, after in pairwise(tilted):
        # log error + log_scale - theta loss is a line for each; the one to the right is steeper.
        gap = np.log(after.error) + after.tilt.log_scale
        gap -= np.log(before.error) + before.tilt.log_scale
        cross = (gap / max(after.tilt.theta - before.tilt.theta, 1e-300) - offset) / width
        end = before.first + before.cells.size // block
        low = max(after.first, starts[-1])
        starts.append(int(np.clip(cross, low, max(end, low))) if np.isfinite(cross) else low)
    last = tilted[-1]
    starts.append(last.first + last.cells.size // block)
    lows, highs = [], []
    for law, begin, end in zip(tilted, starts[:-1], starts[1:], strict=True):
        cells = law.cells.reshape(-1, block)[begin - law.first : end - law.first]
        tilt = law.tilt
        decay = np.exp(-tilt.theta * cell)
        weights = np.stack([decay * (1.0 - share), decay * share])
        sums = weights @ cells.T
        errors = law.error * weights.sum(axis=1, keepdims=True)
        scale = tilt.scale_at(offset + width * np.arange(begin, end))
        with np.errstate(divide="ignore"):
            lows.append(np.log(np.maximum(sums - errors, 0.0)) + (scale - tilt.slack))
            highs.append(np.log(np.maximum(sums + errors, 0.0)) + (scale + tilt.slack))
    edges = offset + width * starts[0], offset + width * starts[-1]
    first = tilted[0]
    return BlockMasses(
        offset=offset,
        width=width,
        first=starts[0],
        low=np.concatenate(lows, axis=1),
        high=np.concatenate(highs, axis=1),
        log_below=first.log_outside[0] + (first.tilt.scale_at(edges[0]) + first.tilt.slack),
        log_above=last.log_outside[1] + (last.tilt.scale_at(edges[1]) + last.tilt.slack),
    )


_MOST_TURN = 0.5
_LEAST_BLOCK, _MOST_BLOCK = 16, 256
SIZES = _MOST_BLOCK  # a divisor of the sizes of transforms
_REST = 3e-17


def block_size(few: int, size: int) -> int:
    """Give the cells of a block for so many frequencies, or 0 where a whole transform is best."""
    most = _MOST_TURN * size / (np.pi * few)
    if most < _LEAST_BLOCK or size % SIZES:
        return 0
    return 1 << int(np.log2(min(most, _MOST_BLOCK)))


def low_frequencies(
    masses: Doubles, size: int, few: int, block: int
) -> tuple[npt.NDArray[np.complex128], float]:
    """Give the first values of a transform of that size, and a bound on their error.

    Moments err by at most block + order roundings of a sum of 1, the short transforms as
    `sums._fft_unit` says; with the weights a^p / p! these errors add up to less than e^(1/2) times
    as much. Horner's rule (six roundings a step, each a share of e^a), the turn and the end of the
    series come on top.
    """
    powers, factors, turn = _series(size, few, block)
    count = -(-masses.size // block)
    padded = np.pad(masses, (0, count * block - masses.size)).reshape(count, block)
    spectra = np.fft.rfft(powers @ padded.T, size // block)[:, :few]
    z = spectra[-1]
    for factor, spectrum in zip(factors[::-1], spectra[-2::-1], strict=True):  # Horner's rule
        z = z * factor + spectrum
    transforms = 8.0 * float(np.log2(size // block))
    error = (1.65 * (transforms + block + len(powers)) + 20.0) * _U + _REST
    return z * turn, error


@lru_cache(maxsize=8)
def _series(
    size: int, few: int, block: int
) -> tuple[Doubles, npt.NDArray[np.complex128], npt.NDArray[np.complex128]]:
    """Give powers of places, -i a / p at each frequency, and turns by half a block."""
    angle = np.pi * block / size * np.arange(few)
    order, remainder = 1, 1.1 * float(angle[-1])
    while remainder > _REST:
        order += 1
        remainder *= float(angle[-1]) / order
    places = (2.0 * np.arange(block) - (block - 1)) / block
    powers = places ** np.arange(order)[:, np.newaxis]
    factors = np.zeros((order - 1, few), dtype=np.complex128)
    factors.imag = -angle / np.arange(1, order)[:, np.newaxis]
    turn = np.exp(-1j * (block - 1) / block * angle).astype(np.complex128, copy=False)
    return powers, factors, turn
