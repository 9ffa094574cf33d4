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


class Cells:
    """One step's masses and losses between given ends of cells, in the precision of the context.

    A node's ratio becomes that of one of the ends of its cell, with the same mean. So a cell of
    mass m, and m' with the record, gives its end (m' - m r) / (s - r), where r and s are the ratios
    at its ends; the last cell may reach beyond the support, at whose end an atom may lie.
    """

    def __init__(self, step: Any, x: Any, width: Any) -> None:
        self.normal, self.magnitude = "Gaussian" in repr(step), "Magnitude" in repr(step)
        self.mu, self.rate, self.atomic = step.mu, step.rate, step.atomic
        self.low, self.high = (mp.mpf(float(end)) for end in step.support)
        self.cells = [(float(a), float(b)) for a, b in zip(x[:-1], width, strict=True)]

    def log_ratio(self, x: Any) -> Any:
        """Return the log of the ratio, or of its analytic form beyond the support."""
        mu = mp.mpf(self.mu)
        if self.normal:
            return (mp.log(mp.cosh(mu * x)) if self.magnitude else mu * x) - mu * mu / 2
        return mp.log((mp.exp(2 * x) + 1) / 2) - mu if self.magnitude else 2 * x - mu

    def ratios(self, k: int) -> tuple[Any, Any]:
        start, width = self.cells[k]
        ends = mp.mpf(start), mp.mpf(start) + mp.mpf(width)
        return mp.exp(self.log_ratio(ends[0])), mp.exp(self.log_ratio(ends[1]))

    def losses(self, k: int) -> list[Any]:
        """Return the losses at both ends of a cell."""
        rate = mp.mpf(self.rate)
        return [mp.log(1 - rate + rate * ratio) for ratio in self.ratios(k)]

    def between(self, start: Any, end: Any) -> tuple[Any, Any]:
        """Return the masses between two places without the record and with it."""
        law, mu = normal if self.normal else laplace, mp.mpf(self.mu)
        if not self.magnitude:
            return law(start, end), law(start - mu, end - mu)
        within = law(start - mu, end - mu) + law(start + mu, end + mu)
        return 2 * law(start, end), within

    def within(self, k: int) -> tuple[Any, Any]:
        start, width = self.cells[k]
        return self.between(mp.mpf(start), min(mp.mpf(start) + mp.mpf(width), self.high))

    def beyond(self, first: bool) -> tuple[Any, Any]:
        """Return the masses below or above the support."""
        if not first:
            return self.between(self.high, mp.inf)
        return (mp.mpf(0),) * 2 if self.magnitude else self.between(-mp.inf, self.low)

    def split(self, point: int) -> Any:
        """Return the mass of a point under H0, after the split of both cells beside it."""
        last, total = len(self.cells), mp.mpf(0)
        for k, right in ((point - 1, True), (point, False)):
            if not 0 <= k < last:
                continue
            (low, high), (mass, member) = self.ratios(k), self.within(k)
            end = (member - mass * low) / (high - low)
            if self.atomic and k == last - 1:
                atom = self.beyond(False)[0]
                share = (mp.exp(self.log_ratio(self.high)) - low) / (high - low)
                mass, end = mass + atom, end + atom * share
            total += end if right else mass - end
        return total + (self.beyond(True)[0] if self.atomic and not point else 0)

    def rounded(self, k: int, hit: bool = False) -> tuple[Any, Any]:
        """Return the masses of a cell under H0 and H1, and of what is beyond an end."""
        last = len(self.cells) - 1
        parts = [self.within(k)] if k <= last else []
        parts += [self.beyond(True)] if k == 0 else []
        parts += [self.beyond(False)] if k == last + self.atomic else []
        mass, member = (mp.fsum(side) for side in zip(*parts, strict=True))
        rate = mp.mpf(1 if hit else self.rate)
        return mass, (1 - rate) * mass + rate * member


def normal(start: Any, end: Any) -> Any:
    return mp.ncdf(end) - mp.ncdf(start) if end < 0 else mp.ncdf(-start) - mp.ncdf(-end)


def laplace(start: Any, end: Any) -> Any:
    if start >= 0 or end <= 0:
        near, far = sorted((abs(start), abs(end)))
        return (mp.exp(-near) - mp.exp(-far)) / 2
    return 1 - (mp.exp(start) + mp.exp(-end)) / 2
