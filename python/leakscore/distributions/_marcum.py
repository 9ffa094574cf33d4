"""Marcum's functions, the tails of the noncentral chi-square law in another form."""

from __future__ import annotations

from leakscore.distributions._distribution import MASS, Elementwise, docstring, elementwise

_MARCUM = {
    "m": "Order, half the degrees of freedom: any positive number.",
    "a": "Noncentrality, at least 0.",
    "b": "Threshold; below 0 the result is NaN.",
}
_MARCUM_NOTES = """With Marcum's function Q_m(a, b), P(X > b) for the length X of a normal vector of
2m coordinates with unit variances and a mean of length `a`: `ncx2.sf(b**2, 2 * m, a**2)`, but
without rounding of the squares, so that all digits are kept in far tails. Accuracy and method are
those of `ncx2`."""


def _marcum(name: str, summary: str, last: dict[str, str], example: str) -> Elementwise:
    arguments = {"m": _MARCUM["m"], "a": _MARCUM["a"], **last}
    return elementwise(
        name, tuple(arguments), docstring(summary, arguments, _MARCUM_NOTES, example)
    )


marcum_q = _marcum(
    "marcum_q",
    "Marcum's function Q_m(a, b), to full relative accuracy.",
    {"b": _MARCUM["b"]},
    ">>> marcum_q(1, 3.0, [2.0, 40.0])\narray([8.86720754e-001, 2.09357540e-299])",
)
marcum_p = _marcum(
    "marcum_p",
    "The complement 1 - Q_m(a, b) of Marcum's function, to full relative accuracy.",
    {"b": _MARCUM["b"]},
    ">>> marcum_p(1, 30.0, [2.0, 29.0])\narray([2.08317525e-173, 1.54587647e-001])",
)
marcum_q_inv = _marcum(
    "marcum_q_inv",
    "The threshold `b` at which Marcum's function Q_m(a, b) is `q`.",
    {"q": MASS[1]},
    ">>> marcum_q_inv(1, 3.0, [0.5, 1e-300])\narray([ 3.16524579, 40.08207834])",
)
