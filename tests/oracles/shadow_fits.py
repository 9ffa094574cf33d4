"""`one_step` and `paired` as they are written down, in many digits, one record at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import mpmath as mp

from tests.oracles.shadow import (
    Mask,
    Signals,
    fitted,
    log_t,
    mean,
    prior,
    shrunk,
    sides,
    sigma,
    squares,
)


def _pulled(signals: Signals, included: Mask, g: list[Any]) -> list[list[Any]]:
    groups = []
    for n, gain in enumerate(g):
        column = [mp.mpf(float(line[n])) for line in signals]
        groups.append(
            [
                t - gain * sigma(-t) if mask[n] else t
                for t, mask in zip(column, included, strict=True)
            ]
        )
    return groups


def _laws(groups: list[list[Any]]) -> list[tuple[Any, Any, Any]]:
    nu0, s02 = fitted(groups)
    return [(mean(g), shrunk(nu0, s02, squares(g), len(g) - 1), nu0 + len(g) - 1) for g in groups]


def _quotient(numerator: Any, denominator: Any) -> Any:
    return max(mp.mpf(0), numerator / denominator) if denominator != 0 else mp.mpf(0)


def influences(signals: Signals, included: Mask, per_record: bool) -> list[Any]:
    inside, outside = sides(signals, included, True), sides(signals, included, False)
    both = [n for n in range(len(inside)) if inside[n] and outside[n]]
    e = {n: mean([sigma(-t) for t in inside[n]]) for n in both}
    gain = {n: mean(inside[n]) - mean(outside[n]) for n in both}
    g0 = _quotient(mp.fsum(gain.values()), mp.fsum(e.values()))
    g = [g0] * len(inside)
    for _ in range(3 if per_record else 0):
        laws = _laws(_pulled(signals, included, g))
        w = {
            n: laws[n][1] * (mp.mpf(1) / len(inside[n]) + mp.mpf(1) / len(outside[n])) for n in both
        }
        g0 = _quotient(
            mp.fsum(gain[n] * e[n] / w[n] for n in both), mp.fsum(e[n] ** 2 / w[n] for n in both)
        )
        tau2 = _quotient(
            mp.fsum(((gain[n] - g0 * e[n]) ** 2 - w[n]) * e[n] ** 2 / w[n] ** 2 for n in both),
            mp.fsum(e[n] ** 4 / w[n] ** 2 for n in both),
        )
        g = [
            max(mp.mpf(0), (g0 + tau2 * gain[n] * e[n] / w[n]) / (1 + tau2 * e[n] ** 2 / w[n]))
            if n in gain
            else g0
            for n in range(len(inside))
        ]
    return g


def one_step(
    observed: Sequence[float],
    signals: Signals,
    included: Mask,
    influence: str | Sequence[float] = "global",
) -> list[Any]:
    if isinstance(influence, str):
        g = influences(signals, included, influence == "per-record")
    else:
        g = [mp.mpf(float(value)) for value in influence]
    found = []
    laws = _laws(_pulled(signals, included, g))
    for value, gain, (m, v, nu) in zip(observed, g, laws, strict=True):
        x, s2 = mp.mpf(float(value)), v * (1 + mp.mpf(1) / len(signals))
        y = x - gain * sigma(-x)
        ratio = log_t(y, m, s2, nu) - log_t(x, m, s2, nu)
        found.append(ratio + mp.log1p(gain * sigma(x) * sigma(-x)))
    return found


def curves(u: list[Any]) -> Callable[[list[Any], list[Any]], list[Any]]:
    records = len(u)
    count = max(1, min(20, records // 100))
    order = sorted(range(records), key=lambda n: u[n])
    group = {n: rank * count // records for rank, n in enumerate(order)}
    members = [[n for n in range(records) if group[n] == b] for b in range(count)]

    def curve(y: list[Any], weight: list[Any]) -> list[Any]:
        points = [
            (mean([u[n] for n in some]), mp.fsum(weight[n] * y[n] for n in some) / total)
            for some in members
            if (total := mp.fsum(weight[n] for n in some)) > 0
        ]
        found = []
        for x in u:
            value = points[0][1] if x <= points[0][0] else points[-1][1]
            for (x0, y0), (x1, y1) in pairwise(points):
                if x0 < x <= x1:
                    value = y0 + (y1 - y0) * (x - x0) / (x1 - x0)
            found.append(value)
        return found

    return curve


def _level(groups: list[list[Any]], curve: Any) -> list[Any]:
    some = [g for g in groups if len(g) >= 2]
    least = mp.mpf("0.001") * mean([squares(g) / (len(g) - 1) for g in some])
    values, weights = [], []
    for g in groups:
        d = mp.mpf(max(len(g) - 1, 1))
        s2 = max(squares(g) / d, least)
        values.append(mp.log(s2) - mp.psi(0, d / 2) + mp.log(d / 2))
        weights.append(mp.mpf(len(g) >= 2))
    return [mp.exp(value) for value in curve(values, weights)]


def _pairs(included: Mask) -> list[tuple[int, int]]:
    left, found = list(range(len(included))), []
    while left:
        k = left.pop(0)
        partner = [
            j for j in left if all(a != b for a, b in zip(included[k], included[j], strict=True))
        ]
        if not partner:
            return []
        left.remove(partner[0])
        found.append((k, partner[0]))
    return found


def _correlation(
    signals: Signals, included: Mask, of_in: tuple[Any, Any], of_out: tuple[Any, Any], q: list[Any]
) -> Any:
    couples = _pairs(included)
    if not couples:
        return mp.mpf(0)

    def z(k: int, n: int) -> Any:
        means, variances = of_in if included[k][n] else of_out
        return (mp.mpf(float(signals[k][n])) - means[n]) / mp.sqrt(variances[n])

    terms = [
        2 * mp.fsum(z(i, n) * z(j, n) for i, j in couples) / q[n] for n in range(len(q)) if q[n] > 0
    ]
    return min(mp.mpf(0), max(mp.mpf(-1), mean(terms)))


def paired(observed: Sequence[float], signals: Signals, included: Mask) -> list[Any]:
    records, models = range(len(observed)), len(signals)
    inside, outside = sides(signals, included, True), sides(signals, included, False)
    m_in, m_out = [mean(g) for g in inside], [mean(g) for g in outside]
    curve = curves([(i + o) / 2 for i, o in zip(m_in, m_out, strict=True)])
    v_in, v_out = _level(inside, curve), _level(outside, curve)
    q = [squares(inside[n]) / v_in[n] + squares(outside[n]) / v_out[n] for n in records]
    rho = _correlation(signals, included, (m_in, v_in), (m_out, v_out), q)
    d = (models - 2) / (1 + rho**2)
    s2 = [max(value, mp.mpf("0.001") * mean(q)) / (models - 2) for value in q]
    nu0, f0 = prior([d * s for s in s2], [d] * len(s2))
    f = [shrunk(nu0, f0, d * s, d) for s in s2]
    nu = nu0 + d
    k = 1 if mp.isinf(nu) else nu / (max(nu, mp.mpf("2.5")) - 2)
    a_in = [v / len(g) for v, g in zip(v_in, inside, strict=True)]
    a_out = [v / len(g) for v, g in zip(v_out, outside, strict=True)]
    r2 = [rho * mp.sqrt(i * o) for i, o in zip(a_in, a_out, strict=True)]
    w = [i + o - 2 * r for i, o, r in zip(a_in, a_out, r2, strict=True)]
    gain = [i - o for i, o in zip(m_in, m_out, strict=True)]
    h = curve(gain, [1 / value for value in f])
    spread = curve(
        [(gain[n] - h[n]) ** 2 / (f[n] * k) - w[n] for n in records], [1 / v**2 for v in w]
    )
    found = []
    for n in records:
        a, v_s = (a_out[n] - r2[n]) / w[n], (a_in[n] * a_out[n] - r2[n] ** 2) / w[n]
        s = a * m_in[n] + (1 - a) * m_out[n]
        total = max(mp.mpf(0), spread[n])
        r = total / (total + w[n])
        p, e = r * w[n] * f[n], h[n] + r * (gain[n] - h[n])
        sd = mp.sqrt(k * p)
        if sd > 0:
            z_e = max(mp.mpf(-30), e / sd)
            e = sd * (z_e + mp.npdf(z_e) / mp.ncdf(z_e))
        else:
            e = max(e, mp.mpf(0))
        x = mp.mpf(float(observed[n]))
        of_in = log_t(x, s + (1 - a) * e, f[n] * (v_in[n] + v_s) + (1 - a) ** 2 * p, nu)
        found.append(of_in - log_t(x, s - a * e, f[n] * (v_out[n] + v_s) + a**2 * p, nu))
    return found
