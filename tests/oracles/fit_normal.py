"""Fit the polynomials of the normal law: ``python -m tests.oracles.fit_normal > HEADER``.

Writes cpp/include/leakscore/special/normal_coefficients.hpp. Each polynomial interpolates at
Chebyshev nodes in 50 digits; its error is then measured, coefficients rounded to double, on a grid
that does not contain the nodes.
"""

from __future__ import annotations

from mpmath import mp, mpf

from tests.oracles import normal


def scaled_mills(q):
    """Return (1 + a) Phi(-a) exp(a^2/2) at q."""
    if q == 1:
        return 1 / mp.sqrt(2 * mp.pi)
    a = 5 * (1 + q) / (1 - q)
    return (1 + a) * normal.mills(a)


def scaled_tail_quantile(q):
    """Return a / r at q, where r = sqrt(-log Phi(-a))."""
    r = (6 + 4 * q) / (1 - q)
    return normal.quantile_of_tail(-r * r) / r


def scaled_central_quantile(w):
    """Return Phi^-1(p) / (2p - 1) at w = -log(4 p (1 - p))."""
    if w == 0:
        return mp.sqrt(mp.pi / 2)
    y = mp.sqrt(-mp.expm1(-w))
    return normal.quantile_of_tail(-w - mp.log(2 * (1 + y))) / y


def exp_remainder(r):
    """Return (exp(r) - 1 - r) / r^2 at r."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 40])


def log_remainder(z):
    """Return (log(1 + f) - 2 s) / s^3 at z = s^2, where s = f / (2 + f)."""
    return mp.nsum(lambda k: 2 * z**k / (2 * k + 3), [0, 60])


def fit(f, low, high, degree):
    """Return monomial coefficients (mpf) of the interpolant of `f` at Chebyshev nodes."""
    nodes = [
        (high + low) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * degree + 2))
        for k in range(degree + 1)
    ]
    matrix = mp.matrix(degree + 1, degree + 1)
    for i, x in enumerate(nodes):
        for j in range(degree + 1):
            matrix[i, j] = x**j
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes])))


def value(coefficients, x):
    """Return c[0] + c[1] x + ..."""
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def error(f, low, high, coefficients, points=1201):
    """Return the largest relative error of the polynomial."""
    worst = mpf(0)
    for i in range(points):
        x = low + (high - low) * i / (points - 1)
        true = f(x)
        worst = max(worst, abs(value(coefficients, x) / true - 1))
    return worst


def far_quantile(order):
    """Return rational c[k][j], a^2 = s - u + sum_k u^j c[k][j] / s^k, of log Phi(-a) = -L.

    With s = 2 L - log(2 pi) and u = log s, the expansion of Mills' ratio gives
    a^2 = s - log(a^2) + 2 log(1 - 1/a^2 + 3/a^4 - ...), solved by iteration on truncated series in
    e = 1/s whose coefficients are polynomials in u.
    """
    size = order + 1

    def multiply(x, y):
        out = [{} for _ in range(size)]
        for i, left in enumerate(x):
            for k, right in enumerate(y[: size - i]):
                for p, cp in left.items():
                    for r, cr in right.items():
                        out[i + k][p + r] = out[i + k].get(p + r, mpf(0)) + cp * cr
        return out

    def combine(x, y, factor):
        return [
            {p: a.get(p, mpf(0)) + factor * b.get(p, mpf(0)) for p in {*a, *b}}
            for a, b in zip(x, y, strict=True)
        ]

    zero = [{} for _ in range(size)]

    def log1p(x):
        total, power = zero, x
        for k in range(1, size):
            total = combine(total, power, mpf((-1) ** (k + 1)) / k)
            power = multiply(power, x)
        return total

    def shifted(x):  # e * x
        return [{}, *x[:-1]]

    y = zero  # a^2 = s (1 + e y)
    for _ in range(size + 1):
        grown = shifted(y)
        inverse = one = [{0: mpf(1)}] + [{}] * order  # 1 / (1 + e y)
        for _ in range(size):
            inverse = combine(one, multiply(grown, inverse), -1)
        reciprocal = shifted(inverse)  # 1 / a^2
        series, term = zero, one
        for k in range(1, size):
            term = combine(zero, multiply(term, reciprocal), -(2 * k - 1))
            series = combine(series, term, 1)
        y = combine(combine([{1: mpf(-1)}] + [{}] * order, log1p(grown), -1), log1p(series), 2)
    return [[row.get(j, mpf(0)) for j in range(k + 1)] for k, row in enumerate(y)][1:]


def hexadecimal(x):
    return float(x).hex()


def array(name, values):
    lines = "".join(f"    {hexadecimal(v)},\n" for v in values)
    return f"inline constexpr double {name}[] = {{\n{lines}}};\n"


def polynomial(name, says, f, low, high, degree, extended):
    """Return the C++ of one polynomial; `extended` adds the low half of the constant term."""
    exact = fit(f, low, high, degree)
    rounded = [mpf(float(c)) for c in exact]
    low_half = exact[0] - rounded[0]
    if extended:
        rounded[0] += mpf(float(low_half))
    text = f"// {says}\n// Relative error {mp.nstr(error(f, low, high, rounded), 2)}.\n"
    if extended:
        text += f"inline constexpr double {name}_low = {hexadecimal(low_half)};\n"
    return text + array(name, exact)


def polynomials():
    """Return name, meaning, function, interval, degree and whether the constant has a low half."""
    half_log2 = mp.log(2) / 2 * mpf("1.0001")
    largest_s = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
    r_low, r_high = mpf(2), mpf("27.5")  # masses from exp(-4) down to 1e-328
    w_high = 4 - 2 * mp.log(2) - mp.log1p(-mp.exp(-4))
    return [
        (
            "exp_poly",
            "(exp(r) - 1 - r) / r^2 for |r| <= log(2)/2, in r.",
            exp_remainder,
            -half_log2,
            half_log2,
            10,
            False,
        ),
        (
            "density",
            "exp(-r/2) / sqrt(2 pi) for |r| <= log(2), in r.",
            lambda r: mp.exp(-r / 2) / mp.sqrt(2 * mp.pi),
            -2 * half_log2,
            2 * half_log2,
            11,
            True,
        ),
        (
            "log_poly",
            "(log(1+f) - 2s) / s^3 for 1+f in [sqrt(1/2), sqrt(2)], s = f/(2+f), in s^2.",
            log_remainder,
            mpf(0),
            largest_s**2,
            7,
            False,
        ),
        (
            "mills",
            "(1+a) Phi(-a) exp(a^2/2) for a >= 0, in q = (a-5)/(a+5).",
            scaled_mills,
            mpf(-1),
            mpf(1),
            24,
            True,
        ),
        (
            "central_quantile",
            "Phi^-1(p) / (2p-1), min(p, 1-p) >= exp(-4), in w = -log(4p(1-p)).",
            scaled_central_quantile,
            mpf(0),
            w_high,
            17,
            True,
        ),
        (
            "tail_quantile",
            "a / r, r = sqrt(-log Phi(-a)), for r in [2, 27.5], in q = (r-6)/(r+4).",
            scaled_tail_quantile,
            (r_low - 6) / (r_low + 4),
            (r_high - 6) / (r_high + 4),
            28,
            True,
        ),
    ]


def far_series(mass_log):
    """Return the text of the far series, with its error where it is taken up."""
    rows = far_quantile(4)
    s = 2 * mass_log - mp.log(2 * mp.pi)
    u = mp.log(s)
    square = s - u + sum(value(row, u) / s**k for k, row in enumerate(rows, start=1))
    worst = abs(mp.sqrt(square) / normal.quantile_of_tail(-mass_log) - 1)
    return (
        "// Far tail: a^2 = s - u + sum_k far_quantile_k(u) / s^k, k = 1...4, where\n"
        "// s = -2 log Phi(-a) - log(2 pi), u = log s.\n"
        f"// Relative error of a {mp.nstr(worst, 2)} at log Phi(-a) = -{mass_log}, less beyond.\n"
    ) + "".join(array(f"far_quantile_{k}", row) for k, row in enumerate(rows, start=1))


@mp.workdps(60)
def header():
    """Return the text of normal_coefficients.hpp."""
    return "".join(
        [
            "// Generated by tests/oracles/fit_normal.py, which says how; not edited by hand.\n"
            "// Coefficients from the constant term up.\n"
            "#pragma once\n\n"
            "namespace leakscore::coefficients {\n\n",
            *(polynomial(*row) + "\n" for row in polynomials()),
            far_series(750),
            "\n}  // namespace leakscore::coefficients\n",
        ]
    )


if __name__ == "__main__":
    print(header(), end="")
