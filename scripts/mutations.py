"""The mutations of `scripts/mutate`: what is undone, and which tests must fail then.

One for every certified term of docs/certified.md: deleted, or turned round, or made so large that
the bound says nothing.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MUTATIONS", "Mutation"]


class Mutation(NamedTuple):
    """One text of one file and what takes its place; tests as pytest takes them."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def compiled(self) -> bool:
        """Whether the module must be built anew."""
        return self.file.startswith("cpp/")


TRADEOFF = "python/leakscore/tradeoff/"
COMPOSITION = TRADEOFF + "_composition.py"
ENDS = TRADEOFF + "_ends.py"
LATTICE = TRADEOFF + "_lattice.py"
ERRORS = ("tests/test_tradeoff_errors.py",)
SUMS = ("tests/test_tradeoff_ends.py",)

COMPOSITIONS = (
    Mutation("composition-unit-0", COMPOSITION, "_UNIT = 100.0 * _U", "_UNIT = 0.0", ERRORS),
    Mutation(
        "composition-unit-10", COMPOSITION, "_UNIT = 100.0 * _U", "_UNIT = 1000.0 * _U", ERRORS
    ),
    Mutation("composition-product-0", COMPOSITION, "_PRODUCT = 4.0 * _U", "_PRODUCT = 0.0", ERRORS),
    Mutation(
        "composition-product-10", COMPOSITION, "_PRODUCT = 4.0 * _U", "_PRODUCT = 40.0 * _U", ERRORS
    ),
    Mutation(
        "composition-product-left-out",
        COMPOSITION,
        "(count * _PRODUCT + inverse) * size_of",
        "inverse * size_of",
        ERRORS,
    ),
    Mutation(
        "composition-inverse-left-out",
        COMPOSITION,
        "(count * _PRODUCT + inverse) * size_of",
        "count * _PRODUCT * size_of",
        ERRORS,
    ),
    Mutation("composition-fft-0", COMPOSITION, "return 8.0 * _U", "return 0.0 * _U", ERRORS),
    Mutation("composition-fft-10", COMPOSITION, "return 8.0 * _U", "return 80.0 * _U", ERRORS),
    Mutation(
        "composition-forward-left-out",
        COMPOSITION,
        "weights @ (raised + ",
        "weights @ (0.0 * raised + ",
        ERRORS,
    ),
    Mutation(
        "composition-near-0",
        COMPOSITION,
        "rest * unit + 12.0 * (width + 4) * _U",
        "rest * unit",
        ERRORS,
    ),
    Mutation(
        "composition-near-10",
        COMPOSITION,
        "rest * unit + 12.0 * (width + 4) * _U",
        "rest * unit + 120.0 * (width + 4) * _U",
        ERRORS,
    ),
    Mutation(
        "composition-rest-0",
        COMPOSITION,
        "rest * unit + 12.0 * (width + 4) * _U",
        "12.0 * (width + 4) * _U",
        ERRORS,
    ),
    Mutation(
        "composition-wrapped-around",
        COMPOSITION,
        "error += float(np.exp(below) + np.exp(above))",
        "error += 0.0",
        ERRORS,
    ),
    Mutation(
        "composition-wrapped-around-10",
        COMPOSITION,
        "error += float(np.exp(below) + np.exp(above))",
        "error += 10.0 * float(np.exp(below) + np.exp(above))",
        ERRORS,
    ),
    Mutation("composition-faint", COMPOSITION, "_FAINT = -92.0", "_FAINT = -3.0", ERRORS),
    Mutation(
        "composition-below",
        COMPOSITION,
        "first.log_below + first.log_scale - first.theta * edges[0]",
        "-np.inf",
        ERRORS,
    ),
    Mutation(
        "composition-above",
        COMPOSITION,
        "last.log_above + last.log_scale - last.theta * edges[1]",
        "-np.inf",
        ERRORS,
    ),
    Mutation(
        "composition-chernoff",
        COMPOSITION,
        "return min(float(total), 0.0)",
        "return min(float(total) - 2.0, 0.0)",
        ERRORS,
    ),
    Mutation(
        "composition-cells",
        COMPOSITION,
        "errors = law.error * weights",
        "errors = 0.0 * weights",
        ERRORS,
    ),
    Mutation(
        "lattice-clipped-ends",
        LATTICE,
        "masses[0] = np.logaddexp(masses[0], below)",
        "masses[0] = masses[0]",
        ERRORS,
    ),
    Mutation(
        "lattice-clipped-ends-above",
        LATTICE,
        "masses[-1] = np.logaddexp(masses[-1], above)",
        "masses[-1] = masses[-1]",
        ERRORS,
    ),
    Mutation("lattice-nodes-5", LATTICE, "(5, 0.2)", "(5, 20.0)", ERRORS),
    Mutation("lattice-nodes-3", LATTICE, "(3, 0.007)", "(3, 7.0)", ERRORS),
    Mutation(
        "inverse-share-delta",
        TRADEOFF + "_algebra.py",
        "np.where(np.abs(epsilon) > 1.0, epsilon",
        "np.where(epsilon < -1.0, epsilon",
        ("tests/test_tradeoff_algebra.py",),
    ),
    Mutation(
        "hull-bisection",
        TRADEOFF + "_hull.py",
        "while high - low > 1e-15 * high:",
        "while high - low > 1e-3 * high:",
        ("tests/test_tradeoff_algebra.py",),
    ),
    Mutation("ends-rounding-0", ENDS, "_ROUNDING = 1e-12", "_ROUNDING = 0.0", SUMS),
    Mutation("ends-rounding-10", ENDS, "_ROUNDING = 1e-12", "_ROUNDING = 1e-11", SUMS),
    Mutation(
        "ends-points-0", ENDS, "_ROUNDING + 8e-16 * np.abs(sums.points).max()", "_ROUNDING", SUMS
    ),
    Mutation("ends-points-10", ENDS, "_ROUNDING + 8e-16", "_ROUNDING + 8e-15", SUMS),
    Mutation("ends-tests", ENDS, "+ sign * _ROUNDING", "- sign * _ROUNDING", SUMS),
    Mutation(
        "ends-hidden",
        ENDS,
        "below = np.logaddexp(sums.log_below, hidden)",
        "below = sums.log_below",
        SUMS,
    ),
    Mutation(
        "ends-hidden-above",
        ENDS,
        "above = np.logaddexp(sums.log_above + points[-1], hidden)",
        "above = sums.log_above + points[-1]",
        SUMS,
    ),
    Mutation("ends-hidden-10", ENDS, "np.log(1.001 * sum(", "np.log(10.0 * sum(", SUMS),
    Mutation("ends-nothing", ENDS, "np.log1p(-distance)", "np.log1p(-0.0 * distance)", SUMS),
    Mutation(
        "absolute-sum-outside",
        TRADEOFF + "_absolute_sum.py",
        "np.minimum(missed + outside, 1.0)",
        "np.minimum(missed, 1.0)",
        SUMS,
    ),
    Mutation(
        "absolute-sum-alpha",
        TRADEOFF + "_absolute_sum.py",
        "(1.0 - 1e-12), log_beta",
        "1.0, log_beta",
        SUMS,
    ),
    Mutation(
        "absolute-sum-rounding-10",
        TRADEOFF + "_absolute_sum.py",
        "rounding = 1e-12 + 2e-15",
        "rounding = 1e-11 + 2e-14",
        SUMS,
    ),
)

MUTATIONS = COMPOSITIONS
