"""The first frequencies of a discrete Fourier transform, from moments of blocks of cells.

A sum of many steps is heard at low frequencies only, at which e^(-2 pi i j k / N) hardly turns
within a block of B cells. With r from -1 to 1 the place of a cell in its block, and c the block's
middle,

    z_k = sum_c e^(-2 pi i c k / N) sum_p (-i a)^p / p! sum_r r^p mass,    a = pi B k / N <= 1/2,

one short transform for each moment. The masses sum to 1, so that the series without its terms from
p on errs by at most a^p / p! (1 + a/(p+1) + ...) <= 1.1 a^p / p!.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles

_U = 2.0**-53
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
    order, left = 1, 1.1 * float(angle[-1])
    while left > _REST:
        order += 1
        left *= float(angle[-1]) / order
    places = (2.0 * np.arange(block) - (block - 1)) / block
    powers = places ** np.arange(order)[:, np.newaxis]
    factors = np.zeros((order - 1, few), dtype=np.complex128)
    factors.imag = -angle / np.arange(1, order)[:, np.newaxis]
    turn = np.exp(-1j * (block - 1) / block * angle).astype(np.complex128, copy=False)
    return powers, factors, turn
