"""Scores from shadow models as they are written down, in many digits, one record at a time.

Slow, and of nothing but lists and mpmath: signals[k][n], included[k][n]. The fixture
`digits` says how many digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp

Signals = Sequence[Sequence[float]]
Mask = Sequence[Sequence[bool]]


def side(signals: Signals, included: Mask, n: int, inside: bool) -> list[Any]:
    return [
        mp.mpf(float(line[n]))
        for line, mask in zip(signals, included, strict=True)
        if bool(mask[n]) == inside
    ]


def mean(values: list[Any]) -> Any:
    return mp.fsum(values) / len(values)


def squares(values: list[Any]) -> Any:
    m = mean(values) if values else 0
    return mp.fsum((v - m) ** 2 for v in values)


def median(values: list[Any]) -> Any:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def sides(signals: Signals, included: Mask, inside: bool) -> list[list[Any]]:
    return [side(signals, included, n, inside) for n in range(len(signals[0]))]


def log_normal_tail(z: Any) -> Any:
    with mp.workdps(60):
        if z > 50:  # mpmath's erfc of huge arguments needs as many digits as it has zeros
            fraction = mp.mpf(z)
            for j in range(200, 0, -1):
                fraction = z + j / fraction
            return -z * z / 2 - mp.log(2 * mp.pi) / 2 - mp.log(fraction)
        return mp.log(mp.erfc(z / mp.sqrt(2)) / 2)


def prior(all_squares: list[Any], dofs: list[Any]) -> tuple[Any, Any]:
    """nu0 and s0^2 by Smyth's equations, from records with d >= 1."""
    raw = [(ss / d, mp.mpf(d)) for ss, d in zip(all_squares, dofs, strict=True) if d >= 1]
    least = mp.mpf("1e-5") * median([s for s, _ in raw])
    e = [mp.log(max(s, least)) - mp.psi(0, d / 2) + mp.log(d / 2) for s, d in raw]
    centre = mean(e)
    excess = squares(e) / (len(e) - 1) - mean([mp.psi(1, d / 2) for _, d in raw])
    if excess <= 0:
        return mp.inf, mp.exp(centre)
    low, high = mp.mpf("1e-6"), mp.mpf("1e12")
    for _ in range(100):  # trigamma falls
        middle = mp.sqrt(low * high)
        low, high = (middle, high) if mp.psi(1, middle) > excess else (low, middle)
    return 2 * low, mp.exp(centre + mp.psi(0, low) - mp.log(low))


def fitted(groups: list[list[Any]]) -> tuple[Any, Any]:
    return prior([squares(g) for g in groups], [len(g) - 1 for g in groups])


def shrunk(nu0: Any, s02: Any, ss: Any, d: Any) -> Any:
    return s02 if mp.isinf(nu0) else (nu0 * s02 + ss) / (nu0 + d)


def variances(groups: list[list[Any]], kind: str) -> list[Any]:
    if kind == "per-record":
        return [squares(g) / (len(g) - 1) for g in groups]
    if kind == "pooled":
        every = mp.fsum(squares(g) for g in groups) / sum(max(len(g) - 1, 0) for g in groups)
        return [every] * len(groups)
    nu0, s02 = fitted(groups)
    return [shrunk(nu0, s02, squares(g), len(g) - 1) for g in groups]


def lira(
    observed: Sequence[float],
    signals: Signals,
    included: Mask,
    kind: str = "online",
    variance: str = "per-record",
    location: str = "mean",
) -> list[Any]:
    centre = mean if location == "mean" else median
    outside = sides(signals, included, False)
    v_out = variances(outside, variance)
    deviations = [mp.mpf(float(x)) - centre(g) for x, g in zip(observed, outside, strict=True)]
    if kind != "online":
        z = [d / mp.sqrt(v) for d, v in zip(deviations, v_out, strict=True)]
        if kind == "offline":
            return [-log_normal_tail(each) for each in z]
        return [-mp.log(2) - log_normal_tail(abs(each)) for each in z]
    inside = sides(signals, included, True)
    v_in = variances(inside, variance)
    return [
        (d * d / v0 - (mp.mpf(float(x)) - centre(g)) ** 2 / v1 + mp.log(v0 / v1)) / 2
        for x, d, v0, g, v1 in zip(observed, deviations, v_out, inside, v_in, strict=True)
    ]


def log_t(x: Any, location: Any, scale2: Any, nu: Any) -> Any:
    z2 = (x - location) ** 2 / scale2
    if mp.isinf(nu):
        return -z2 / 2 - mp.log(2 * mp.pi * scale2) / 2
    constant = mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2) - mp.log(nu * mp.pi * scale2) / 2
    return constant - (nu + 1) / 2 * mp.log1p(z2 / nu)


def log_t_tail(z: Any, nu: Any) -> Any:
    """log P(T > z) by the regularised incomplete beta function."""
    if mp.isinf(nu):
        return log_normal_tail(z)
    x = nu / (nu + z * z)
    half = mp.betainc(nu / 2, mp.mpf(1) / 2, 0, x, regularized=True) / 2
    return mp.log(half if z > 0 else 1 - half)


Known = tuple[float, float, float, float]  # mean, strength, dof, variance


def predictive(groups: list[list[Any]], prior_of: str | Known) -> list[tuple[Any, Any, Any]]:
    """Location, squared scale and degrees of freedom of each record."""
    if isinstance(prior_of, tuple):
        mu0, k0, nu0, s02 = (mp.mpf(value) for value in prior_of)
    else:
        (nu0, s02), mu0, k0 = fitted(groups), mp.mpf(0), mp.mpf(0)
    if prior_of == "empirical":
        mu0 = mean([mean(g) for g in groups if g])
        terms = []
        for g in groups:
            nu = nu0 + len(g) - 1
            if g and nu > 2:
                v = shrunk(nu0, s02, squares(g), len(g) - 1)
                share = 1 if mp.isinf(nu) else (nu - 2) / nu
                terms.append((mean(g) - mu0) ** 2 * share / v - mp.mpf(1) / len(g))
        k0 = 1 / max(mp.mpf("1e-6"), mean(terms))
    found = []
    for g in groups:
        c, ss, m = len(g), squares(g), mean(g) if g else mp.mpf(0)
        d = c if k0 > 0 else c - 1
        pull = k0 * c * (m - mu0) ** 2 / (k0 + c)
        v = shrunk(nu0, s02, ss + pull, d)
        found.append(((k0 * mu0 + c * m) / (k0 + c), (1 + 1 / (k0 + c)) * v, nu0 + d))
    return found


def bayes(
    observed: Sequence[float],
    signals: Signals,
    included: Mask,
    kind: str = "online",
    prior_of: str | tuple[Known, Known] = "flat-mean",
) -> list[Any]:
    of_in, of_out = (prior_of, prior_of) if isinstance(prior_of, str) else prior_of
    outside = predictive(sides(signals, included, False), of_out)
    x = [mp.mpf(float(value)) for value in observed]
    if kind == "offline":
        return [
            -log_t_tail((v - m) / mp.sqrt(s2), nu)
            for v, (m, s2, nu) in zip(x, outside, strict=True)
        ]
    inside = predictive(sides(signals, included, True), of_in)
    return [log_t(v, *i) - log_t(v, *o) for v, i, o in zip(x, inside, outside, strict=True)]


def sigma(t: Any) -> Any:
    return 1 / (1 + mp.exp(-t))


def base(
    observed: Sequence[float],
    signals: Signals,
    included: Mask,
    kind: str = "online",
    a: float = 0.3,
    confidence: Callable[[Any], Any] = sigma,
) -> list[Any]:
    found = []
    for n, x in enumerate(observed):
        outside = mean([confidence(t) for t in side(signals, included, n, False)])
        if kind == "online":
            inside = mean([confidence(t) for t in side(signals, included, n, True)])
            average = (inside + outside) / 2
        else:
            average = ((1 + mp.mpf(a)) * outside + (1 - mp.mpf(a))) / 2
        found.append(mp.log(confidence(mp.mpf(float(x)))) - mp.log(average))
    return found


def leave_one_out(
    score: Callable[[Any, Any, Any], list[Any]],
    signals: Signals,
    included: Mask,
    groups: Sequence[int] | None = None,
) -> list[list[Any]]:
    of = range(len(signals)) if groups is None else groups
    found = []
    for k, observed in enumerate(signals):
        kept = [j for j in range(len(signals)) if of[j] != of[k]]
        found.append(score(observed, [signals[j] for j in kept], [included[j] for j in kept]))
    return found
