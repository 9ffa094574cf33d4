"""`leakscore.plot`: what is drawn are the curve's own numbers."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest

from leakscore import tradeoff
from leakscore.audit import Audit
from tests.helpers.parts import Between
from tests.runtime.test_isa import run_python

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("agg")

from matplotlib.figure import Figure  # noqa: E402

from leakscore import plot  # noqa: E402

BAND = Between((tradeoff.gaussian(1.2), tradeoff.gaussian(1.0)))


@pytest.fixture
def axes() -> Any:
    return Figure().subplots()


def lines(axes: Any) -> dict[str, Any]:
    """Return the drawn lines by label."""
    return {line.get_label(): line for line in axes.get_lines()}


def test_trade_off_draws_the_curve_and_its_region(axes: Any) -> None:
    curves = {"one": tradeoff.gaussian(1.0), "two": tradeoff.gaussian([0.5, 2.0])}
    assert plot.trade_off(curves, epsilon=1.0, delta=0.01, ax=axes) is axes
    drawn = lines(axes)
    assert {"one", "two[0]", "two[1]"} <= set(drawn)
    x, y = drawn["two[1]"].get_data()
    assert np.array_equal(y, tradeoff.gaussian(2.0)(x))
    (region,) = axes.collections
    edge = region.get_paths()[0].vertices
    for alpha, beta in edge:
        least = max(0.0, 1 - 0.01 - np.e * alpha, (1 - 0.01 - alpha) / np.e)
        assert min(abs(beta - least), abs(beta - (1 - alpha))) < 1e-12


def test_bands_are_filled(axes: Any) -> None:
    plot.trade_off(BAND, ax=axes)
    plot.roc([BAND], ax=axes)
    assert len(axes.collections) == 2


def test_roc_takes_audits_too(axes: Any) -> None:
    rng = np.random.default_rng(0)
    audit = Audit(1 + rng.standard_normal(500), rng.standard_normal(500))
    plot.roc({"measured": audit, "theory": tradeoff.gaussian(1.0)}, lowest=1e-3, ax=axes)
    x, y = lines(axes)["measured"].get_data()
    assert np.array_equal(x, audit.roc().fpr)
    assert np.array_equal(y, audit.roc().tpr)
    x, y = lines(axes)["theory"].get_data()
    assert x[0] == pytest.approx(1e-3)
    assert np.array_equal(y, tradeoff.gaussian(1.0).power(x))


def test_no_line_where_there_are_no_false_positives(axes: Any) -> None:
    """The step at fpr = 0 has no place on a logarithmic axis, least of all its left edge."""
    plot.roc([Audit([3, 2, 1], [0, 1.5, 0.5]), Audit([3, 2, 1], [0, 1.5, 0.5])], ax=axes)
    drawn = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]
    assert len({line.get_label() for line in drawn}) == 2
    for line in drawn:
        points = line.get_transform().transform(line.get_xydata())
        assert not np.isfinite(points[line.get_xdata() == 0, 0]).any()


def test_new_axes_without_any() -> None:
    from matplotlib import pyplot

    for axes in (
        plot.trade_off(tradeoff.gaussian(1.0)),
        plot.roc(tradeoff.gaussian(1.0)),
    ):
        axes.figure.canvas.draw()
        pyplot.close(axes.figure)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plot.trade_off(3.0), TypeError, "curves=3.0"),
        (lambda: plot.trade_off([]), ValueError, "at least one"),
        (lambda: plot.trade_off(tradeoff.gaussian([])), ValueError, "no curve of shape"),
        (lambda: plot.trade_off(["a"]), TypeError, "TradeOff"),
        (lambda: plot.trade_off("abc"), TypeError, "curves='abc'"),
        (lambda: plot.trade_off(tradeoff.gaussian(1), epsilon=-1), ValueError, "epsilon=-1"),
        (lambda: plot.trade_off(tradeoff.gaussian(1), delta=2), ValueError, "delta=2"),
        (lambda: plot.roc([Audit([1.0], [0.0]), 1]), TypeError, "TradeOff or Audit"),
        (lambda: plot.roc(tradeoff.gaussian(1), lowest=0), ValueError, "lowest=0"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = """
import sys
import leakscore.plot
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
from leakscore import tradeoff
try:
    leakscore.plot.roc(tradeoff.gaussian(1.0))
except ImportError as error:
    print(error)
"""
    found: subprocess.CompletedProcess[str] = run_python(code)
    assert "leakscore[plot]" in found.stdout
