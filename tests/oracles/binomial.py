"""Binomial tails by their plain sums in interval arithmetic."""

from __future__ import annotations

from flint import arb, ctx, fmpq, fmpz


def exact(value: float) -> arb:
    return arb(fmpq(*value.as_integer_ratio()))


def log_lower_tail(k: int, n: int, p: arb, q: arb) -> tuple[arb, arb]:
    """Return log P(Bin(n, p) <= k) and its slope -d/dp: terms from k down until none matters."""
    term = total = arb(1)
    for j in range(k, 0, -1):
        term = term * j / (n - j + 1) * (q / p)
        total += term
        if j % 16 == 0 and (term < total * arb(2) ** -160) == 1:
            break
    if n <= 5000:
        log_choose = arb(fmpz.bin_uiui(n, k)).log()
    else:
        log_choose = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    return log_choose + k * p.log() + (n - k) * q.log() + total.log(), (n - k) / q / total


def relative_errors(
    bound: float, complement: float, k: int, n: int, alpha: float, bits: int = 400
) -> tuple[float, float]:
    """Return (bound / U - 1, complement / (1 - U) - 1), U the upper bound: one step of Newton.

    The step is exact to the second order of an error that is itself below 1e-14. A result that
    is 1 is right to a rounding if the other one is, and gives 0.
    """
    before = ctx.prec
    ctx.prec = bits
    try:
        found = []
        for value, is_bound in ((bound, True), (complement, False)):
            if value == 1.0:
                found.append(0.0)
                continue
            here = exact(value)
            p, q = (here, 1 - here) if is_bound else (1 - here, here)
            if alpha <= 0.5:
                log, slope = log_lower_tail(k, n, p, q)
                step = (log - exact(alpha).log()) / slope
            else:  # P(X > k) = P(n - X <= n - k - 1), small where the other is nearly one
                log, slope = log_lower_tail(n - k - 1, n, q, p)
                step = ((1 - exact(alpha)).log() - log) / slope
            off = -step if is_bound else step
            found.append(float(off / here))
        return found[0], found[1]
    finally:
        ctx.prec = before
