"""Laws on a lattice in exact arithmetic: sums of steps, and the masses of a step's cells."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
from flint import fmpz_poly

BITS = 900  # after the point of a mass: the tails of tilted laws keep their digits


def power(logs: Any, n: int) -> list[Any]:
    """Return the law of the sum of n steps, masses e^logs on 0, 1, ...; errors below 1e-250."""
    with mp.workprec(BITS + 100):
        whole = [int(mp.nint(mp.exp(mp.mpf(x)) * mp.mpf(2) ** BITS)) for x in logs.tolist()]
    return _floats(_power(fmpz_poly(whole), n))


def product(parts: list[tuple[Any, int]]) -> list[Any]:
    """The same for a sequence of laws."""
    result = fmpz_poly([1 << BITS])
    for logs, n in parts:
        with mp.workprec(BITS + 100):
            whole = [int(mp.nint(mp.exp(mp.mpf(x)) * mp.mpf(2) ** BITS)) for x in logs.tolist()]
        result = _short(result * _power(fmpz_poly(whole), n))
    return _floats(result)


def _power(base: fmpz_poly, n: int) -> fmpz_poly:
    result = fmpz_poly([1 << BITS])
    while n:
        if n & 1:
            result = _short(result * base)
        n >>= 1
        if n:
            base = _short(base * base)
    return result


def _short(poly: fmpz_poly) -> fmpz_poly:
    return fmpz_poly([int(c) >> BITS for c in poly.coeffs()])


def _floats(poly: fmpz_poly) -> list[Any]:
    with mp.workprec(BITS + 100):
        return [mp.mpf(int(c)) / mp.mpf(2) ** BITS for c in poly.coeffs()]


def transform(masses: Any, size: int, places: Any) -> list[Any]:
    """Return the Fourier transform of masses at some places of a circle, one by one."""
    with mp.workprec(160):
        points = [(k, mp.mpf(x)) for k, x in enumerate(masses.tolist()) if x]
        found = []
        for j in places:
            turns = (mp.expjpi(mp.mpf(-2 * ((k * int(j)) % size)) / size) * x for k, x in points)
            found.append(mp.fsum(turns))
        return found


def largest(errors: Any) -> float:
    return float(max(abs(x) for x in errors))


def as_floats(values: Any) -> Any:
    return np.array([float(value) for value in values])
