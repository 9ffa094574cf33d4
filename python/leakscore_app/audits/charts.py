"""The charts of the page: the ROC curve with its bounds, and epsilon against the threshold."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from leakscore_app.audits.model import Certificates
from leakscore_app.audits.words import lower_bound, number
from leakscore_app.document.svg import Axis, Chart, decades, nice_ticks

Doubles = npt.NDArray[np.float64]


def roc(findings: Certificates) -> str:
    """Log-log ROC: what was observed, and what is certain at this confidence."""
    curves, bound = findings.curves, findings.bounds.bounds[0]
    sizes = (findings.input.nonmembers, findings.input.members)
    low = _decade(min(1e-2, 1 / max(sizes)))
    foot = _decade(min(0.1, max(float(curves.tpr[curves.fpr <= low].max()), 1 / sizes[1])))
    fpr, tpr = float(bound.fpr_upper), 1 - float(bound.fnr_upper)
    chart = Chart(
        title="ROC curve",
        description=(
            f"True against false positives, logarithmic. With {findings.percent} "
            f"confidence the attack's true curve lies in the band, by {findings.shown.method}."
            + (
                f" The certificate, at most {number(fpr)} false positives and at least "
                f"{number(tpr)} true ones, needs two of the band's four sides, and may lie outside."
                if findings.by_rates(bound)
                else ""
            )
        ),
        x=Axis(low, 1, decades(low, 1), "false positives (of non-members)", log=True),
        y=Axis(foot, 1, decades(foot, 1), "true positives (of members)", log=True),
    )
    below = _stairs(curves.fpr_upper, curves.tpr_lower)
    above = _stairs(curves.fpr_lower, curves.tpr_upper)
    xs, ys = (forth + back[::-1] for forth, back in zip(below, above, strict=True))
    chart.region(xs, ys, "area informed", "band")
    chance = np.geomspace(max(low, foot), 1, 2).tolist()
    chart.line(chance, chance, "line chance")
    chart.line(*_stairs(curves.fpr, curves.tpr), "line informed", "observed")
    if bound.epsilon > 0 and findings.by_rates(bound):
        chart.dots([fpr], [tpr], "dot weaker", "the certificate")
    chart.legend("guessing", "line chance")
    return chart.render()


def _decade(value: float) -> float:
    """Return the power of ten at or below a value."""
    return float(10.0 ** math.floor(math.log10(value) + 1e-9))


def _stairs(x: Doubles, y: Doubles) -> tuple[list[float], list[float]]:
    """Return the corners of a curve that keeps its height up to the next point."""
    return np.repeat(x, 2)[1:].tolist(), np.repeat(y, 2)[:-1].tolist()


def thresholds(findings: Certificates) -> str:
    """What each threshold certifies, with the chosen one, the cap and the claim."""
    curves, bound = findings.curves, findings.bounds.bounds[0]
    sign = -1.0 if findings.input.lower_is_member else 1.0
    finite = np.isfinite(curves.thresholds)
    x, y = sign * curves.thresholds[finite], curves.epsilon[finite]
    low, high = _span(x, y)
    cap = float(bound.max_certifiable)
    claimed = (findings.claim and findings.claim.epsilon) or 0.0
    top = 1.12 * max(cap, min(claimed, 2 * cap), 0.1)
    chosen = findings.threshold(bound)
    chart = Chart(
        title="Epsilon against the threshold",
        description=(
            f"What each threshold certifies at delta = {number(float(bound.delta), 10)}, by "
            f"{findings.shown.method}. The bound by {findings.method} is "
            f"{lower_bound(float(bound.epsilon))}, at the threshold {number(chosen)}; perfectly "
            f"separated, so many scores could certify {lower_bound(cap)}."
        ),
        x=Axis(low, high, nice_ticks(low, high), "threshold"),
        y=Axis(0, top, nice_ticks(0, top, 6), "epsilon at least"),
    )
    shown = (x >= low) & (x <= high)
    chart.line(x[shown].tolist(), y[shown].tolist(), "line informed", "certified")
    chart.horizontal(cap, "most certifiable")
    if 0 < claimed <= top:
        chart.horizontal(claimed, "claimed")
    if bound.epsilon > 0 and math.isfinite(chosen):
        chart.vertical(chosen, "chosen", at_foot=True)
    return chart.render()


def _span(x: Doubles, y: Doubles) -> tuple[float, float]:
    """Return the range of thresholds that certify something, and a little around it."""
    of_use = x[y > 0] if np.any(y > 0) else x
    if of_use.size == 0:
        return -1.0, 1.0
    low, high = (float(end) for end in np.clip([of_use.min(), of_use.max()], -1e300, 1e300))
    margin = max(0.08 * (high - low), 1e-9 * max(abs(low), abs(high))) or 1.0
    return low - margin, high + margin
