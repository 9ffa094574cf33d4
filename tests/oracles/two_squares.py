"""Noncentral chi-squares and curves of two of them in mpmath: integrals through the saddle."""

from __future__ import annotations

from typing import Any

from mpmath import mp, mpf

STEPS, REACH = 14, 20  # of the trapezoidal rule: per standard deviation, and standard deviations


def ncx2_tails(x: Any, dim: Any, centre: Any) -> tuple[Any, Any]:
    """Return cdf and sf: e^(K(s) - s x) / (2 pi i s) on a vertical line off the pole at 0.

    Its decay is that of many coordinates or of a large noncentrality: at least 50 of either.
    """
    q = (mp.sqrt(dim * dim + 4 * centre * x) - dim) / (2 * centre) if centre else x / dim
    step = 1 / mp.sqrt(4 * centre * q**3 + 2 * dim * q * q)
    real = (1 - 1 / q) / 2
    if abs(real) < step:
        real = step if real > 0 else -step

    def term(k: int) -> Any:
        s = mp.mpc(real, k * step / STEPS)
        log_mgf = centre * s / (1 - 2 * s) - dim / 2 * mp.log(1 - 2 * s)
        return mp.re(mp.exp(log_mgf - s * x) / s)

    total = term(0) / 2 + mp.fsum(term(k) for k in range(1, STEPS * REACH))
    tail = abs(total) * step / STEPS / mp.pi
    return (1 - tail, tail) if real > 0 else (tail, 1 - tail)


class MeanCurve:
    """A mean of `records` with a target at squared distance `distance`, against one without it.

    S n/(n-1) with the target, and S without it, are noncentral chi-squares; small S are accused, or
    large ones if `reverse`.
    """

    def __init__(self, distance: float, records: float, dim: float, *, reverse: bool) -> None:
        self.dim, self.centre = mpf(dim), mpf(distance) * mpf(records)
        self.gap, self.reverse = 1 / (mpf(records) - 1), reverse
        self.most = (mpf(distance) + self.dim * mp.log1p(self.gap)) / 2
        self.mu = mp.sqrt(mpf(distance) / records + self.dim / (2 * mpf(records) ** 2))

    def rates(self, epsilon: Any) -> tuple[Any, Any]:
        """Return alpha and power where the ratio is e^epsilon."""
        s = 2 * (self.most - (-epsilon if self.reverse else epsilon)) / self.gap
        grown = 1 + self.gap
        without = ncx2_tails(s, self.dim, self.centre)
        with_it = ncx2_tails(s * grown, self.dim, self.centre / grown)
        return (with_it[1], without[1]) if self.reverse else (without[0], with_it[0])

    def delta(self, epsilon: Any) -> Any:
        alpha, power = self.rates(epsilon)
        return power - mp.exp(epsilon) * alpha
