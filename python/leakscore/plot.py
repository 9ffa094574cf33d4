"""Plots of trade-off curves; each takes matplotlib axes and returns them.

An optional room (``pip install "leakscore[plot]"``): nothing else imports it, and matplotlib is
imported when a plot is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from leakscore import validation
from leakscore.audit import Audit
from leakscore.tradeoff import TradeOff, approximate_dp
from leakscore.typing import Doubles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["roc", "trade_off"]

Curve: TypeAlias = TradeOff[Any]  # or an array of them
Rate: TypeAlias = Curve | Audit
Curves: TypeAlias = Curve | Sequence[Curve] | Mapping[str, Curve]
Rates: TypeAlias = Rate | Sequence[Rate] | Mapping[str, Rate]

_POINTS = 801


def trade_off(
    curves: Curves,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    ax: Axes | None = None,
) -> Axes:
    """Draw Type II error against Type I error, and the region that (epsilon, delta)-DP allows.

    Parameters
    ----------
    curves : TradeOff, sequence of TradeOff or mapping from label to TradeOff
        A curve with a shape is drawn once for each of its entries; a curve that is known within
        bounds is drawn as the band between them.
    epsilon : float, optional
        At least 0: shade where the curve of an (epsilon, delta)-private mechanism may lie.
    delta : float
        In [0, 1).
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If a curve is no TradeOff.
    ValueError
        If there is no curve, or `epsilon` or `delta` is out of its range.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from leakscore import plot, tradeoff
    >>> axes = Figure().subplots()
    >>> plot.trade_off({"mu = 1": tradeoff.gaussian(1.0)}, epsilon=1.0, delta=0.1, ax=axes) is axes
    True
    """
    drawn = list(_labelled("curves", curves, (TradeOff,)))
    claim = approximate_dp(0.0 if epsilon is None else epsilon, delta)
    axes = _axes(ax)
    alpha = _rates()
    if epsilon is not None:
        label = rf"({epsilon:g}, {delta:g})-DP allows"
        axes.fill_between(
            alpha, claim(alpha), 1.0 - alpha, color="0.9", lw=0, label=label, zorder=0
        )
    axes.plot([0, 1], [1, 0], color="0.7", lw=0.8, zorder=0)
    for label, curve in drawn:
        _lines(axes, label, alpha, np.asarray([curve(alpha), curve.upper(alpha)]))
    axes.set(xlabel=r"Type I error $\alpha$", ylabel=r"Type II error $\beta$", aspect="equal")
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    axes.legend(fontsize=8)
    return axes


def roc(curves: Rates, *, lowest: float = 1e-5, ax: Axes | None = None) -> Axes:
    """Draw true positive rate against false positive rate, both axes in logarithms.

    Parameters
    ----------
    curves : TradeOff or Audit, sequence of them, or mapping from label to one
        A trade-off curve is drawn down to `lowest`, an audit's empirical ROC curve in steps down to
        its first false positive.
    lowest : float
        Left end of the axis, in (0, 1).
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If a curve is neither a TradeOff nor an Audit.
    ValueError
        If there is no curve, or `lowest` is out of its range.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from leakscore import plot, tradeoff
    >>> axes = plot.roc(tradeoff.gaussian([1.0, 2.0]), ax=Figure().subplots())
    >>> axes.get_xscale(), len(axes.get_lines())
    ('log', 3)
    """
    drawn = list(_labelled("curves", curves, (TradeOff, Audit)))
    start = validation.scalar("lowest", lowest, 0.0, 1.0, closed="neither")
    axes = _axes(ax)
    alpha = np.geomspace(start, 1.0, _POINTS)
    axes.plot([start, 1], [start, 1], color="0.7", lw=0.8, zorder=0)
    for label, curve in drawn:
        if isinstance(curve, Audit):
            empirical = curve.roc()
            axes.step(empirical.fpr, empirical.tpr, where="post", lw=1.2, label=label)
        else:
            powers = np.asarray([curve.power(alpha), curve.upper.power(alpha)])
            _lines(axes, label, alpha, powers)
    axes.set_xscale("log", nonpositive="mask")  # no line to the left edge without false positives
    axes.set_yscale("log", nonpositive="mask")
    axes.set(xlim=(start, 1), ylim=(start, 1.05))
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.legend(fontsize=8)
    return axes


def _axes(ax: Axes | None) -> Axes:
    """Return the axes to draw on."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(f'{error}: plots need pip install "leakscore[plot]"') from error
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _labelled(name: str, curves: Any, kinds: tuple[type, ...]) -> Iterator[tuple[str, Any]]:
    """Return the curves by name; curves without names are named by their `repr`."""
    if isinstance(curves, kinds):
        curves = [curves]
    if not isinstance(curves, Mapping | Sequence) or isinstance(curves, str):
        raise TypeError(f"{name}={curves!r} must be a curve, a sequence or a mapping")
    if not curves:
        raise ValueError(f"{name} must hold at least one curve")
    pairs = curves.items() if isinstance(curves, Mapping) else _named(curves)
    for label, curve in pairs:
        if not isinstance(curve, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"{name} must hold only {names}, not {curve!r}")
        if isinstance(curve, TradeOff) and 0 in curve.shape:
            raise ValueError(f"{name} must hold no curve of shape {curve.shape}")
        yield label, curve


def _named(curves: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return the names of curves; equal names are numbered."""
    names = [repr(curve) for curve in curves]
    return [
        (name if names.count(name) == 1 else f"{name}, {i + 1}", curve)
        for i, (name, curve) in enumerate(zip(names, curves, strict=True))
    ]


def _rates() -> Doubles:
    """Return points of [0, 1], close together at both ends."""
    return 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, _POINTS))


def _lines(axes: Axes, label: str, x: Doubles, ends: Doubles) -> None:
    """Draw a line for each curve, and a band between the bounds of a curve within bounds."""
    rows, others = ends.reshape(2, -1, x.size)
    for i, (row, end) in enumerate(zip(rows, others, strict=True)):
        name = label if len(rows) == 1 else f"{label}[{i}]"
        (line,) = axes.plot(x, row, lw=1.4, label=name)
        if not np.array_equal(row, end):
            axes.fill_between(x, row, end, color=line.get_color(), alpha=0.25, lw=0)
