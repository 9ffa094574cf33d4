"""The mutations of `scripts/mutate`: what is undone, and which tests must fail then.

Of the certified terms of docs/explanation/certified-bounds.md: deleted, or turned round, or made so
large that the bound says nothing, where `scripts/mutants` does not make the same by itself.
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
        """Whether the module must be built again."""
        return self.file.startswith("cpp/")


TRADEOFF = "python/leakscore/tradeoff/"
COMPOSITION = TRADEOFF + "composition/sums.py"
LOW_FREQUENCIES = TRADEOFF + "composition/sums.py"
ENDS = TRADEOFF + "composition/ends.py"
LATTICE = TRADEOFF + "composition/steps.py"
ERRORS = ("tests/tradeoff/test_errors.py",)
LOW = ("tests/tradeoff/test_low_frequencies.py",)
CELLS = ("tests/tradeoff/test_lattice.py",)
SUMS = ("tests/tradeoff/test_ends.py",)

LOOKS = TRADEOFF + "operations.py"
BELOW = ("tests/tradeoff/test_below.py",)
EQUAL_STEPS = ("tests/tradeoff/test_equal_steps.py",)
OCTAVES = TRADEOFF + "composition/octaves.py"
OCTAVE_CURVES = TRADEOFF + "composition/laws.py"
OCTAVE_STEPS = TRADEOFF + "composition/octaves.py"
KNOWN_LAWS = TRADEOFF + "composition/laws.py"
OCTAVE = ("tests/tradeoff/test_octaves.py",)
OCTAVE_SUMS = ("tests/tradeoff/test_octave_sums.py",)
KNOWN = ("tests/tradeoff/test_known.py",)
REGROUPED = ("tests/tradeoff/test_regrouped.py",)

LONG_CHANGES = "python/leakscore_app/report/engine/crowd.py"
UNREAD = ("tests/report/test_unread.py",)
ATTACKERS = ("tests/streaming/test_attackers.py",)

BATCHES = (
    Mutation(
        "octaves-sum-10",
        OCTAVES,
        "(3 * first.half + 8 * rows + 20) * _U",
        "(30 * first.half + 80 * rows + 200) * _U",
        OCTAVE,
    ),
    Mutation("octaves-place-10", OCTAVES, "law.moved + 5.0 * _U", "law.moved + 50.0 * _U", OCTAVE),
    Mutation(
        "octaves-top",
        OCTAVES,
        "lost = law.lost[0] + gone[0], law.lost[1] + gone[1]",
        "lost = law.lost",
        OCTAVE_SUMS,
    ),
    Mutation(
        "octaves-bottom",
        OCTAVES,
        "lost = (law.lost[0] + gone[0], law.lost[1] + gone[1])",
        "lost = law.lost",
        OCTAVE_SUMS,
    ),
    Mutation(
        "octaves-statistic-lost",
        OCTAVES,
        "within = max(within, float(law.under_h1[where].sum()))",
        "within = max(within, 0.0)",
        OCTAVE_SUMS,
    ),
    Mutation(
        "octaves-underflow",
        OCTAVE_CURVES,
        "np.where(outside < _UNDERFLOW, np.fmax(outside, member - points), outside)",
        "outside",
        KNOWN,
    ),
    Mutation(
        "octaves-underflow-tests",
        OCTAVE_CURVES,
        "for part in (_UNDERFLOW, lost[0])]",
        "for part in (-np.inf, lost[0])]",
        OCTAVE,
    ),
    Mutation(
        "octaves-underflow-missed",
        OCTAVE_CURVES,
        "for part in (lost[1], _UNDERFLOW)]",
        "for part in (lost[1], -np.inf)]",
        OCTAVE,
    ),
    Mutation("known-largest-10", KNOWN_LAWS, "rounding=2e-12", "rounding=2e-9", KNOWN),
    Mutation("octaves-one-of-all", OCTAVES, "if first is not second:", "if False:", OCTAVE),
    Mutation("octaves-node-0", OCTAVE_STEPS, "+ terms) * _U", "+ terms) * 0.0", OCTAVE_SUMS),
    Mutation("octaves-node-10", OCTAVE_STEPS, "+ terms) * _U", "+ terms) * 10.0 * _U", OCTAVE),
    Mutation("known-moved", ENDS, "if moved > 0.0:", "if moved < 0.0:", KNOWN),
    Mutation(
        "known-lost", ENDS, "n * law.moved, n * max(part.losses.lost)", "n * law.moved, 0.0", KNOWN
    ),
    Mutation(
        "regrouped-masses-0", LATTICE, "law.rounding + (terms + 20) * 2.0", "0.0 * 2.0", REGROUPED
    ),
    Mutation(
        "regrouped-masses-10", LATTICE, "(terms + 20) * 2.0", "(10 * terms + 200) * 2.0", REGROUPED
    ),
    Mutation("regrouped-places-0", LATTICE, "law.moved + 1e-15 * (", "0.0 * (", REGROUPED),
    Mutation("regrouped-places-10", LATTICE, "law.moved + 1e-15 * (", "1e-14 * (", REGROUPED),
    Mutation("hits-below", LATTICE, "np.logaddexp(hit[0], below)", "hit[0]", REGROUPED),
    Mutation("hits-above", LATTICE, "np.logaddexp(hit[-1], above)", "hit[-1]", REGROUPED),
    Mutation(
        "known-cut",
        KNOWN_LAWS,
        "lost=(law.lost[0] + gone, law.lost[1] + gone)",
        "lost=law.lost",
        REGROUPED,
    ),
    Mutation(
        "octaves-zero",
        OCTAVE_CURVES,
        "1.001 * float(under_h0[at_zero]",
        "0.0 * float(under_h0[at_zero]",
        REGROUPED,
    ),
    Mutation(
        "octaves-zero-h1",
        OCTAVE_CURVES,
        "1.001 * float(under_h1[at_zero]",
        "0.0 * float(under_h1[at_zero]",
        REGROUPED,
    ),
    Mutation(
        "truncated-attack",
        TRADEOFF + "batches.py",
        "drawn * (1.0 - 2.0 * _TAIL)",
        "drawn",
        REGROUPED,
    ),
)

COMPOSITIONS = (
    Mutation("composition-unit-0", COMPOSITION, "_UNIT = 100.0 * _U", "_UNIT = 0.0", ERRORS),
    Mutation(
        "composition-unit-10", COMPOSITION, "_UNIT = 100.0 * _U", "_UNIT = 1000.0 * _U", ERRORS
    ),
    Mutation("composition-product-0", COMPOSITION, "_PRODUCT = 4.0 * _U", "_PRODUCT = 0.0", ERRORS),
    Mutation(
        "composition-product-10", COMPOSITION, "_PRODUCT = 4.0 * _U", "_PRODUCT = 40.0 * _U", ERRORS
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
        "composition-near-10",
        COMPOSITION,
        "rest * unit + 84.0 * _U",
        "rest * unit + 840.0 * _U",
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
    Mutation("low-frequencies-0", LOW_FREQUENCIES, "20.0) * _U + _REST", "20.0) * 0.0", LOW),
    Mutation("low-frequencies-10", LOW_FREQUENCIES, "20.0) * _U + _REST", "20.0) * 10.0 * _U", LOW),
    Mutation(
        "low-frequencies-end",
        LOW_FREQUENCIES,
        "while remainder > _REST",
        "while remainder > 1e-9",
        LOW,
    ),
    Mutation(
        "low-frequencies-turn",
        LOW_FREQUENCIES,
        "remainder = 1, 1.1 * float",
        "remainder = 1, 1e-6 * float",
        LOW,
    ),
    Mutation("composition-silent", COMPOSITION, "> _FAINT - 1.0)", "> -2.0)", LOW),
    Mutation(
        "composition-below",
        COMPOSITION,
        "first.log_outside[0] + (first.tilt.scale_at(edges[0]) + first.tilt.slack)",
        "-np.inf",
        ERRORS,
    ),
    Mutation(
        "composition-above",
        COMPOSITION,
        "last.log_outside[1] + (last.tilt.scale_at(edges[1]) + last.tilt.slack)",
        "-np.inf",
        ERRORS,
    ),
    Mutation(
        "composition-chernoff",
        COMPOSITION,
        "self._exponents[tilt] - tilt * self.spacing * edge",
        "self._exponents[tilt] - tilt * self.spacing * edge - 2.0",
        ERRORS,
    ),
    Mutation("hull-below", LOOKS, "if self._lower:", "if False:", BELOW),
    Mutation(
        "hull-below-lines",
        TRADEOFF + "polygon.py",
        "height = flat * (1.0 - place)",
        "height = 1.0 - place",
        BELOW,
    ),
    Mutation(
        "composition-exponents",
        COMPOSITION,
        "total += law.count * (other - log_total + error)",
        "total += law.count * (other - log_total)",
        EQUAL_STEPS,
    ),
    Mutation(
        "composition-totals", COMPOSITION, "_U * (150.0 +", "_U * 0.0 * (150.0 +", EQUAL_STEPS
    ),
    Mutation("composition-totals-10", COMPOSITION, "150.0 + 4.0", "1500.0 + 40.0", EQUAL_STEPS),
    Mutation(
        "composition-cells",
        COMPOSITION,
        "errors = law.error * weights",
        "errors = 0.0 * weights",
        ERRORS,
    ),
    Mutation("lattice-nodes-5", LATTICE, "(5, 0.2)", "(5, 20.0)", CELLS),
    Mutation("lattice-nodes-3", LATTICE, "(3, 0.007)", "(3, 7.0)", CELLS),
    Mutation(
        "inverse-share-delta",
        TRADEOFF + "sampled.py",
        "np.where(epsilon > 1.0, far, near)",
        "near",
        ("tests/tradeoff/test_algebra.py",),
    ),
    Mutation(
        "ends-tests",
        ENDS,
        "np.logaddexp(masses[0], masses[1]), sign)",
        "np.logaddexp(masses[0], masses[1]), -sign)",
        SUMS,
    ),
    Mutation(
        "ends-running-sums",
        TRADEOFF + "polygon.py",
        "return _core.running_log_sums(start, np.ascontiguousarray(log_mass))",
        "return np.logaddexp.accumulate(np.append(start, log_mass))",
        SUMS,
    ),
    Mutation("ends-hidden-10", ENDS, "np.log(1.001 * sum(", "np.log(10.0 * sum(", SUMS),
    Mutation("ends-nothing", ENDS, "np.log1p(-distance)", "np.log1p(-0.0 * distance)", SUMS),
    Mutation(
        "absolute-sum-rounding-10",
        TRADEOFF + "composition/ends.py",
        "rounding = 1e-14 * (",
        "rounding = 1e-13 * (",
        SUMS,
    ),
)

UNIFORM = "python/leakscore/sequential/_uniform.py"
SEQUENTIAL = ("tests/sequential/test_bounds.py",)

AVERAGES = "python/leakscore/sequential/_octaves.py"
AVERAGE = ("tests/sequential/test_octaves.py",)
NEARLY = ("tests/sequential/test_nearly_one.py",)

ERRORS_OF_SEQUENCES = (
    Mutation("average-sums-0", AVERAGES, "_SUMS = 2e-11", "_SUMS = 0.0", AVERAGE),
    Mutation("average-sums-10", AVERAGES, "_SUMS = 2e-11", "_SUMS = 2e-10", AVERAGE),
    Mutation("average-excess-0", AVERAGES, "- wide * (np", "- 0.0 * (np", NEARLY),
    Mutation("average-excess-10", AVERAGES, "- wide * (np", "- 10.0 * wide * (np", NEARLY),
    Mutation("average-log-0", AVERAGES, "- self.moved * (1.0", "- 0.0 * (1.0", NEARLY),
    Mutation(
        "average-log-10", AVERAGES, "- self.moved * (1.0", "- 10.0 * self.moved * (1.0", NEARLY
    ),
    Mutation("average-beyond", AVERAGES, "1.001 * float(ncx2.cdf", "0.0 * float(ncx2.cdf", AVERAGE),
    Mutation(
        "average-constant",
        AVERAGES,
        "+ law.under_h0 * (sure / whole)",
        "+ law.under_h1 * (sure / whole)",
        AVERAGE,
    ),
    Mutation(
        "sequential-ulps-0",
        UNIFORM,
        "_ULPS = 8.0 * _U",
        "_ULPS = 0.0 * _U",
        SEQUENTIAL,
    ),
    Mutation(
        "sequential-logarithm-10",
        UNIFORM,
        "_LAW + _BELOW + ulps * slope",
        "_LAW + _BELOW + 10.0 * ulps * slope",
        SEQUENTIAL,
    ),
    Mutation(
        "sequential-place-0",
        UNIFORM,
        "rounding = _ULPS / self.cell",
        "rounding = 0.0",
        SEQUENTIAL,
    ),
    Mutation(
        "sequential-steps",
        UNIFORM,
        "slack = self.steps * self.slack",
        "slack = self.slack",
        SEQUENTIAL,
    ),
    Mutation(
        "sequential-fft-0",
        UNIFORM,
        "error = 8.0 * _U * np.log2(size)",
        "error = 0.0 * _U * np.log2(size)",
        SEQUENTIAL,
    ),
    Mutation(
        "sequential-fft-10",
        UNIFORM,
        "error = 8.0 * _U * np.log2(size)",
        "error = 80.0 * _U * np.log2(size)",
        SEQUENTIAL,
    ),
    Mutation(
        "sequential-fft-factors",
        UNIFORM,
        "return _Sum(masses, error + self.error + other.error)",
        "return _Sum(masses, error)",
        SEQUENTIAL,
    ),
    Mutation(
        "sequential-mean-0",
        UNIFORM,
        "np.copysign(rest.error * norms[place], slack)",
        "0.0",
        SEQUENTIAL,
    ),
)

AUDIT = "python/leakscore/audit/"
ROUNDING = ("tests/audit/test_rounding.py",)
BANDS = ("tests/audit/test_bands.py", "tests/audit/test_levels.py", "tests/audit/test_rounding.py")
ONE_RUN = ("tests/audit/test_one_run.py",)
EVERY = ("tests/audit/test_one_run_every.py",)
TIES = ("tests/audit/test_one_run_ties.py",)
UNIONS = ("tests/audit/test_union_levels.py",)
FAR = ("tests/audit/test_far_share.py",)
WORST = ("tests/audit/test_one_run_worst.py",)
MONITOR = ("tests/audit/test_monitor_parts.py", "tests/audit/test_monitor.py")
BETS = ("tests/audit/test_monitor_theorems.py",)
TESTER = ("tests/testing/test_levels.py",)
FDP = ("tests/audit/test_one_run_fdp.py",)
OUTCOMES = ("tests/audit/test_four_outcomes.py",)
NOISE = ("tests/leakage/test_noise.py",)
SHAPED = ("tests/leakage/test_shaped.py",)

AUDITS = (
    Mutation(
        "band-up",
        AUDIT + "bands.py",
        "self.critical) * (1.0 + 4.0 * _ULP)",
        "self.critical)",
        BANDS,
    ),
    Mutation(
        "band-down",
        AUDIT + "bands.py",
        "(1.0 - upper) * (1.0 - _ULP)",
        "(1.0 - upper)",
        BANDS,
    ),
    Mutation(
        "split-down",
        AUDIT + "methods.py",
        "* (1.0 - 4.0 * _ULP) - 2.0 * _ULP",
        "",
        ROUNDING,
    ),
    Mutation(
        "split-down-10",
        AUDIT + "methods.py",
        "* (1.0 - 4.0 * _ULP) - 2.0 * _ULP",
        "* (1.0 - 40.0 * _ULP) - 20.0 * _ULP",
        ROUNDING,
    ),
    Mutation(
        "mu-down-10",
        AUDIT + "claims.py",
        "- 4.0 * _ULP * (np",
        "- 40.0 * _ULP * (np",
        ROUNDING,
    ),
    Mutation(
        "models-epsilon",
        AUDIT + "claims.py",
        "gdp_epsilon(delta, mu) * (1.0 - _ROUNDING)",
        "gdp_epsilon(delta, mu)",
        ROUNDING,
    ),
    Mutation(
        "one-run-down",
        AUDIT + "training.py",
        "* (1.0 - 2.0**-50) - 2.0**-51",
        "",
        ROUNDING,
    ),
    Mutation(
        "roc-area-0",
        AUDIT + "roc.py",
        "_SLACK = 2.0**-46",
        "_SLACK = 0.0",
        ROUNDING,
    ),
    Mutation(
        "roc-area-10",
        AUDIT + "roc.py",
        "_SLACK = 2.0**-46",
        "_SLACK = 2.0**-42",
        ROUNDING,
    ),
    Mutation(
        "lines-misses",
        AUDIT + "training_curves.py",
        "np.nextafter(1.0 - right, 2.0)",
        "np.nextafter(1.0 - right, 0.0)",
        FDP,
    ),
    Mutation(
        "fdp-p-value",
        AUDIT + "training_curves.py",
        "return math.exp(high)",
        "return math.exp(low)",
        FDP,
    ),
    Mutation(
        "credible-possible",
        AUDIT + "methods.py",
        "return float(sign_change(excess, low, high)[0])",
        "return float(sign_change(excess, low, high)[0]) + 1e-6",
        ("tests/audit/test_split.py",),
    ),
    Mutation(
        "certificate-dip",
        TRADEOFF + "operations.py",
        "np.minimum(lowest, np.minimum(start, end))",
        "np.minimum(start, end)",
        ("tests/tradeoff/test_certificate.py",),
    ),
    Mutation(
        "calibrate-safe-end",
        TRADEOFF + "_calibrate.py",
        "return crossed(excess, *bracket, _CLOSE_SLOW if slow else _CLOSE)[1]",
        "return crossed(excess, *bracket, _CLOSE_SLOW if slow else _CLOSE)[0]",
        ("tests/tradeoff/test_calibrate.py",),
    ),
    Mutation(
        "noise-aim",
        "python/leakscore/leakage/_noise.py",
        "aim = budget * (1 - 2e-13) * divisor",
        "aim = budget * (1 - 2e-11) * divisor",
        NOISE,
    ),
    Mutation(
        "shaped-noise-clip",
        "python/leakscore/leakage/noise/interior.py",
        "raised = np.where(shares > nearly, 1.0, shares)",
        "raised = np.where(shares > 10.0, 1.0, shares)",
        SHAPED,
    ),
    Mutation(
        "shaped-noise-slope",
        "python/leakscore/leakage/noise/interior.py",
        "factor = 1.0 / max(1.0, float(slopes.max()))",
        "factor = 1.0",
        SHAPED,
    ),
    Mutation(
        "budget-safe-end",
        "python/leakscore/leakage/_noise.py",
        "mu, _ = bisect(within, 0.0, high)",
        "mu = bisect(within, 0.0, high)[1] * (1 + 1e-13)",
        NOISE,
    ),
    Mutation(
        "gram-centred",
        "python/leakscore/reference/low_rank.py",
        "    gram -= means[:, np.newaxis] - means.mean()\n",
        "",
        ("tests/reference/test_low_rank.py",),
    ),
    Mutation(
        "unread-guess-largest",
        LONG_CHANGES,
        "share = largest * (np.sqrt(before)",
        "share = (np.sqrt(before)",
        UNREAD,
    ),
    Mutation(
        "unread-guess-moved",
        LONG_CHANGES,
        "(np.sqrt(before) + np.sqrt(max(moved, 0.0)))",
        "np.sqrt(before)",
        UNREAD,
    ),
    Mutation(
        "unread-growth-scatter",
        LONG_CHANGES,
        "moved**2 / (1 - weight * (1 + count / rest)) * rest",
        "moved**2 * rest",
        UNREAD,
    ),
    Mutation(
        "unread-growth-mean",
        LONG_CHANGES,
        "np.sqrt(before) + np.sqrt(count * weight) / rest",
        "np.sqrt(before)",
        UNREAD,
    ),
    Mutation(
        "records-enough",
        "python/leakscore_app/report/engine/leakage.py",
        "else (middle, high)\n    return high",
        "else (middle, high)\n    return low",
        ("tests/report/test_remedies.py",),
    ),
    Mutation(
        "words-lower-bound",
        "python/leakscore_app/audits/words.py",
        "** -decimals, ROUND_FLOOR",
        "** -decimals",
        ("tests/audit_file/test_page.py",),
    ),
    Mutation(
        "words-upper-bound",
        "python/leakscore_app/audits/words.py",
        "Context(digits, ROUND_CEILING)",
        "Context(digits, ROUND_FLOOR)",
        ("tests/audit_file/test_page.py",),
    ),
)

BOUNDS = "cpp/include/leakscore/bounds/"
SPECIAL = "cpp/include/leakscore/special/"
CROSSING = ("tests/audit/test_crossing.py",)
CLOPPER = ("tests/distributions/test_clopper_pearson.py",)
SORTED = ("tests/audit/test_sorted_bits.py",)
GX2 = ("tests/distributions/test_gx2.py", "tests/distributions/test_gx2_error.py")

COMPILED = (
    Mutation(
        "attackers-spread",
        "cpp/kernels/attackers.cpp",
        "grow * (form[l] - along[l] * along[l] / rest)",
        "grow * form[l]",
        ATTACKERS,
    ),
    Mutation(
        "attackers-alone",
        "cpp/kernels/attackers.cpp",
        "rounding_of_variance = 1e-9",
        "rounding_of_variance = 0.0",
        ATTACKERS,
    ),
    Mutation(
        "clopper-pearson-0",
        SPECIAL + "clopper_pearson.hpp",
        "margin = 0x1p-50, least",
        "margin = 0.0, least",
        CLOPPER,
    ),
    Mutation(
        "clopper-pearson-10",
        SPECIAL + "clopper_pearson.hpp",
        "margin = 0x1p-50, least",
        "margin = 0x1p-46, least",
        CLOPPER,
    ),
    Mutation(
        "berk-jones-0",
        BOUNDS + "berk_jones.hpp",
        "margin = 0x1p-48",
        "margin = 0.0",
        BANDS,
    ),
    Mutation(
        "berk-jones-10",
        BOUNDS + "berk_jones.hpp",
        "margin = 0x1p-48",
        "margin = 0x1p-44",
        BANDS,
    ),
    Mutation(
        "berk-jones-difference",
        BOUNDS + "berk_jones.hpp",
        "(1.0 - least) + 0x1p-53",
        "(1.0 - least)",
        BANDS,
    ),
    Mutation(
        "linear-band",
        BOUNDS + "bands.hpp",
        "1.0 + 4.0 * std::numeric_limits",
        "1.0 + 0.0 * std::numeric_limits",
        BANDS,
    ),
    Mutation(
        "epsilon-down",
        BOUNDS + "epsilon.hpp",
        "std::log(quotient) * (1.0 - 2.0 * ulp)",
        "std::log(quotient)",
        ROUNDING,
    ),
    Mutation(
        "epsilon-quotient",
        BOUNDS + "epsilon.hpp",
        "(1.0 - delta - high - ulp) / low",
        "(1.0 - delta - high) / low",
        ROUNDING,
    ),
    Mutation(
        "epsilon-down-10",
        BOUNDS + "epsilon.hpp",
        "std::log(quotient) * (1.0 - 2.0 * ulp)",
        "std::log(quotient) * (1.0 - 40.0 * ulp)",
        ROUNDING,
    ),
    Mutation(
        "one-run-tails",
        BOUNDS + "one_run.hpp",
        "tails.error = (4.0 * steps + 64.0)",
        "tails.error = 0.0 * (4.0 * steps + 64.0)",
        ONE_RUN,
    ),
    Mutation(
        "one-run-tails-10",
        BOUNDS + "one_run.hpp",
        "tails.error = (4.0 * steps + 64.0)",
        "tails.error = 10.0 * (4.0 * steps + 64.0)",
        ONE_RUN,
    ),
    Mutation(
        "one-run-epsilon",
        BOUNDS + "one_run.hpp",
        "  return low;\n}\n\n}  // namespace leakscore",
        "  return high * (1.0 + 1e-11);\n}\n\n}  // namespace leakscore",
        ONE_RUN,
    ),
    Mutation(
        "one-run-exposed",
        BOUNDS + "one_run.hpp",
        "tails.at_least + q * run.exposed;",
        "tails.at_least + 0.5 * q * run.exposed;",
        ONE_RUN,
    ),
    Mutation(
        "one-run-curve",
        BOUNDS + "one_run_curve.hpp",
        "(1.0 - 8.0 * z * z * std::numeric_limits<double>::epsilon())",
        "1.0",
        FDP,
    ),
    Mutation(
        "one-run-limit",
        BOUNDS + "one_run_curve.hpp",
        "limit = guesses / canaries;",
        "limit = guesses / canaries * (1.0 - 65536.0 * ulp);",
        FDP,
    ),
    Mutation(
        "one-run-every",
        BOUNDS + "one_run_every.hpp",
        "share * down - exposed * up / (1.0 + std::exp(epsilon_));",
        "share * down;",
        EVERY,
    ),
    Mutation(
        "one-run-every-one-end",
        AUDIT + "training.py",
        "_walk(0.25, 0.5 * all_, lowest, (0, 1))",
        "_walk(0.5, 0.5 * all_, lowest, (0, 1))",
        TIES,
    ),
    Mutation(
        "one-run-every-p-value",
        AUDIT + "training.py",
        "min(1.0, p / self.share)",
        "min(1.0, p)",
        TIES,
    ),
    Mutation(
        "lots-none",
        AUDIT + "scores.py",
        "ties.integers(0, 2**32, scores.size, dtype=np.uint32)",
        "ties.integers(0, 1, scores.size, dtype=np.uint32)",
        TIES,
    ),
    Mutation(
        "one-run-grid-share",
        AUDIT + "training.py",
        "miss = (1.0 - level) / len(grid)",
        "miss = 1.0 - level",
        UNIONS,
    ),
    Mutation(
        "one-run-grid-p-value",
        AUDIT + "training.py",
        "len(grid) * min(p_values)",
        "min(p_values)",
        UNIONS,
    ),
    Mutation(
        "bands-halves",
        AUDIT + "methods.py",
        "band(self.name, n, 0.5 * miss)",
        "band(self.name, n, miss)",
        UNIONS,
    ),
    Mutation("split-halves", AUDIT + "methods.py", "alpha=0.5 * miss", "alpha=miss", UNIONS),
    Mutation(
        "roc-quarters",
        AUDIT + "roc.py",
        "miss = (1.0 - level) / 4.0",
        "miss = (1.0 - level) / 2.0",
        ("tests/audit/test_roc_band.py",),
    ),
    Mutation(
        "many-halves",
        AUDIT + "certified.py",
        "(4.0 if both else 2.0)",
        "2.0",
        ("tests/audit/test_many.py",),
    ),
    Mutation(
        "far-share-middle",
        AUDIT + "bands.py",
        "far_counts(n, FAR_SHARE * miss)",
        "far_counts(n, miss)",
        FAR,
    ),
    Mutation(
        "far-share-ends",
        AUDIT + "bands.py",
        "allowed = miss * (1.0 - FAR_SHARE) if n > 2 * ENDS else miss",
        "allowed = miss",
        FAR,
    ),
    Mutation(
        "far-inequalities",
        AUDIT + "bands.py",
        "math.log(2 * number / miss)",
        "math.log(number / miss)",
        FAR,
    ),
    Mutation(
        "monitor-bracket",
        AUDIT + "monitor.py",
        "least = curve.lower",
        "least = curve.upper",
        ("tests/audit/test_monitor_brackets.py",),
    ),
    Mutation(
        "told-and-added",
        "python/leakscore_app/report/engine/leakage.py",
        "np.where(earlier > self.largest_leakage(), 0.0, earlier) + added",
        "np.maximum(np.where(earlier > self.largest_leakage(), 0.0, earlier), added)",
        ("tests/report/test_accumulated.py",),
    ),
    Mutation(
        "one-run-exposed-kinds",
        AUDIT + "training.py",
        "(0.5 if one_kind else 1.0) * self.canaries",
        "0.5 * self.canaries",
        ONE_RUN,
    ),
    Mutation(
        "one-run-every-exposed",
        AUDIT + "training.py",
        "_walk(0.5, all_, both, (1, 1))",
        "_walk(0.5, 0.5 * all_, both, (1, 1))",
        EVERY,
    ),
    Mutation(
        "fdp-kinds",
        AUDIT + "training.py",
        "(0.5 if one_kind else 1.0) * self.canaries",
        "0.5 * self.canaries",
        (*FDP, *WORST),
    ),
    Mutation(
        "monitor-extremes-bins",
        BOUNDS + "betting_table.hpp",
        "bin < bins_.size(); ++bin) see(bin_share(bin));",
        "bin < 1; ++bin) see(bin_share(bin));",
        BETS,
    ),
    Mutation(
        "monitor-extremes-bottom",
        BOUNDS + "betting_table.hpp",
        "      if (const LearnedShare r = bottom_share(expert); r.odds != 0.0) see(r);\n",
        "",
        BETS,
    ),
    Mutation(
        "monitor-stale",
        BOUNDS + "wealth.hpp",
        "table_.learn(bet.score, bet.member, [&](std::size_t j) { stale_[j] = true; });",
        "table_.learn(bet.score, bet.member, [](std::size_t) {});",
        MONITOR,
    ),
    Mutation(
        "monitor-pair-cost",
        BOUNDS + "wealth.hpp",
        "times * cost[l]",
        "std::min(times, 1.0) * cost[l]",
        (*BETS, *MONITOR),
    ),
    Mutation(
        "monitor-inclusion",
        BOUNDS + "wealth.hpp",
        "up = t.epsilon + table_.logit(), down = t.epsilon - table_.logit()",
        "up = t.epsilon, down = t.epsilon",
        BETS,
    ),
    Mutation(
        "monitor-merge-waiting",
        BOUNDS + "wealth.hpp",
        "    waiting_.clear();\n",
        "",
        MONITOR,
    ),
    Mutation(
        "monitor-reverse-curve",
        AUDIT + "monitor.py",
        'for way in ("forward", "reverse")',
        'for way in ("forward", "forward")',
        (*BETS, *MONITOR),
    ),
    Mutation(
        "monitor-delta-forward",
        BOUNDS + "wealth.hpp",
        "inclusion_ * t.forward * std::max(phi, 0.0)",
        "0.0 * t.forward * std::max(phi, 0.0)",
        BETS,
    ),
    Mutation(
        "monitor-delta-reverse",
        BOUNDS + "wealth.hpp",
        "(1.0 - inclusion_) * t.reverse * std::max(psi, 0.0)",
        "0.0 * t.reverse * std::max(psi, 0.0)",
        BETS,
    ),
    Mutation(
        "monitor-clip",
        BOUNDS + "wealth.hpp",
        "epsilon_[l] < odds ? won : 0.0",
        "0.0 < odds ? won : 0.0",
        BETS,
    ),
    Mutation(
        "monitor-prior",
        BOUNDS + "wealth.hpp",
        "prior_.push_back(1.0 - total);",
        "prior_.push_back(1.0);",
        MONITOR,
    ),
    Mutation(
        "monitor-merge",
        BOUNDS + "wealth.hpp",
        "peak_[i] = std::max(0.0, base_[i] - rounding());",
        "peak_[i] += other.peak_[i];",
        MONITOR,
    ),
    Mutation(
        "monitor-rounding",
        BOUNDS + "wealth.hpp",
        "return 0x1p-44 * static_cast<double>(rounds_);",
        "return -0x1p-44 * static_cast<double>(rounds_);",
        MONITOR,
    ),
    Mutation(
        "monitor-learns-first",
        BOUNDS + "wealth.hpp",
        "    for (std::size_t j = 0; j < table_.ready_groups(); ++j) play(j, bets);\n",
        "    for (const Bet& bet : bets) {\n"
        "      table_.learn(bet.score, bet.member, [&](std::size_t j) { stale_[j] = true; });\n"
        "    }\n"
        "    for (std::size_t j = 0; j < table_.ready_groups(); ++j) play(j, bets);\n",
        BETS,
    ),
    Mutation(
        "monitor-tangents",
        AUDIT + "monitor.py",
        "delta * (1.0 + _RELATIVE) + _ABSOLUTE",
        "0.9 * delta",
        MONITOR,
    ),
    Mutation(
        "tester-average",
        "python/leakscore/testing/_check.py",
        " - math.log(len(kept)))",
        ")",
        TESTER,
    ),
    Mutation(
        "tester-taught",
        "python/leakscore/testing/_check.py",
        "    bits: list[Flags] = []\n",
        "    bits: list[Flags] = []\n"
        "    for (_, score), monitor in zip(kept, monitors, strict=True):\n"
        "        monitor.update(_finite(score(learned)), game.toss(len(learned)))\n",
        TESTER,
    ),
    Mutation(
        "tester-rounding",
        "python/leakscore/testing/_check.py",
        "now - 2.0**-44 * played_rounds",
        "now",
        TESTER,
    ),
    Mutation(
        "monitor-run",
        AUDIT + "monitor.py",
        "run = int(np.argmax(open_))",
        "run = int(np.flatnonzero(~open_).max(initial=-1)) + 1",
        MONITOR,
    ),
    Mutation(
        "fdp-shares",
        AUDIT + "training_curves.py",
        "Curves(tradeoff, neighbours), miss / len(grid)",
        "Curves(tradeoff, neighbours), miss",
        FDP,
    ),
    Mutation(
        "four-outcomes-rounding",
        BOUNDS + "four_outcomes.hpp",
        "rounding = 1.0 - 2e-11",
        "rounding = 1.0",
        OUTCOMES,
    ),
    Mutation(
        "four-outcomes-rounding-10",
        BOUNDS + "four_outcomes.hpp",
        "rounding = 1.0 - 2e-11",
        "rounding = 1.0 - 2e-10",
        OUTCOMES,
    ),
    Mutation(
        "four-outcomes-exposed",
        BOUNDS + "four_outcomes.hpp",
        "{share_ * delta_, (1.0 - share_) * delta_}",
        "{0.5 * share_ * delta_, 0.5 * (1.0 - share_) * delta_}",
        OUTCOMES,
    ),
    Mutation(
        "four-outcomes-both",
        AUDIT + "methods.py",
        "/ (2.0 if both else 1.0)",
        "/ 1.0",
        OUTCOMES,
    ),
    Mutation(
        "sorted-bits-rounding",
        BOUNDS + "sorted_bits.hpp",
        "rounding = 1.0 + 1e-10, left_out = 1e-16",
        "rounding = 1.0, left_out = 0.0",
        SORTED,
    ),
    Mutation(
        "sorted-bits-rounding-10",
        BOUNDS + "sorted_bits.hpp",
        "rounding = 1.0 + 1e-10, left_out = 1e-16",
        "rounding = 1.0 + 1e-9, left_out = 1e-15",
        SORTED,
    ),
    Mutation(
        "sorted-bits-exposed",
        BOUNDS + "sorted_bits.hpp",
        "for (; f < exposed_.size(); ++f) crossed += exposed_[f];",
        "for (; f < exposed_.size(); ++f) crossed += 0.0 * exposed_[f];",
        SORTED,
    ),
    Mutation(
        "crossing-left-out",
        BOUNDS + "crossing.hpp",
        "left_out = 38.0",
        "left_out = 12.0",
        CROSSING,
    ),
    Mutation(
        "crossing-jumps",
        BOUNDS + "crossing.hpp",
        "least_jump = 1e-20",
        "least_jump = 1e-8",
        CROSSING,
    ),
    Mutation(
        "crossing-stays",
        BOUNDS + "crossing.hpp",
        "least_stay = 1e-40",
        "least_stay = 1e-8",
        CROSSING,
    ),
    Mutation(
        "gx2-rounding-0",
        SPECIAL + "gx2_contour.hpp",
        "constexpr double rounding = 0x1p-53",
        "constexpr double rounding = 0.0",
        GX2,
    ),
    Mutation(
        "gx2-settled",
        SPECIAL + "gx2_contour.hpp",
        "settled = 1e-8",
        "settled = 1e-3",
        GX2,
    ),
    Mutation(
        "gx2-rounding-10",
        SPECIAL + "gx2_contour.hpp",
        "constexpr double rounding = 0x1p-53",
        "constexpr double rounding = 0x1p-49",
        GX2,
    ),
)

CAPS = "tests/tradeoff/test_caps.py"
OUTWARDS = ("tests/tradeoff/test_outwards.py",)
POLYGON = TRADEOFF + "polygon.py"

FAR_STEPS = (
    Mutation(
        "caps-in-the-lower-curve",
        ENDS,
        "        fitting, log_none = revealed(parts)",
        "        fitting, log_none = shrunk(parts), 0.0",
        (f"{CAPS}::test_epsilon_grows_with_the_shift_across_every_cap",),
    ),
    Mutation(
        "caps-none-seen",
        TRADEOFF + "composition/steps.py",
        "log_none * (1.0 + 1e-14)",
        "0.5 * log_none",
        (f"{CAPS}::test_beyond_the_last_cap_the_record_is_seen",),
    ),
    Mutation(
        "caps-rounding-0",
        TRADEOFF + "composition/steps.py",
        "log_none * (1.0 + 1e-14)",
        "log_none",
        (CAPS,),
    ),
    Mutation(
        "caps-not-shrunk",
        TRADEOFF + "composition/steps.py",
        "replace(step, mu=step.most)",
        "replace(step, mu=2.0 * step.most)",
        (CAPS,),
    ),
    Mutation(
        "lattice-masses",
        LATTICE,
        "if not abs(lost) <= allowed:",
        "if False:",
        (f"{CAPS}::test_masses_that_do_not_add_up_are_refused",),
    ),
    Mutation(
        "lattice-shares",
        LATTICE,
        "_steep_sums(step, log_density",
        "_steep_sums(step, 0.9 * log_density",
        (f"{CAPS}::test_one_gaussian_step_holds_the_closed_form",),
    ),
    Mutation("outwards-0", POLYGON, "_ULPS = 16.0 * 2.0**-53", "_ULPS = 0.0", OUTWARDS),
    Mutation(
        "outwards-10", POLYGON, "_ULPS = 16.0 * 2.0**-53", "_ULPS = 160.0 * 2.0**-53", OUTWARDS
    ),
    Mutation("outwards-next-to-1", POLYGON, "_NEARLY_ALL = 0.999", "_NEARLY_ALL = 2.0", OUTWARDS),
    Mutation(
        "outwards-turned",
        POLYGON,
        'name="certified upper curve", side=1)',
        'name="certified upper curve", side=-1)',
        OUTWARDS,
    ),
)

RECORD = ("tests/shadow/test_risk_certified.py",)
HOLM = "python/leakscore/audit/blind.py"
RECORDS_OF_SHADOWS = "python/leakscore/shadow/records.py"

RECORDS = (
    Mutation(
        "records-holm",
        HOLM,
        "p[order] * remaining",
        "p[order]",
        RECORD,
    ),
    Mutation(
        "records-holm-ties",
        HOLM,
        "tests.sum() - (np.cumsum(tests[order]) - tests[order])",
        "np.arange(p.size, 0, -1)",
        RECORD,
    ),
    Mutation(
        "records-holm-last",
        HOLM,
        "tests.sum() - (np.cumsum(tests[order]) - tests[order])",
        "tests.sum() - np.cumsum(tests[order]) + 1",
        RECORD,
    ),
    Mutation(
        "records-hits",
        RECORDS_OF_SHADOWS,
        "np.maximum(self.hits - 1.0, 0.0)",
        "self.hits",
        RECORD,
    ),
    Mutation("records-p-0", RECORDS_OF_SHADOWS, "_ROUNDING = 1e-10", "_ROUNDING = 0.0", RECORD),
    Mutation("records-p-10", RECORDS_OF_SHADOWS, "_ROUNDING = 1e-10", "_ROUNDING = 1e-9", RECORD),
    Mutation(
        "records-power",
        RECORDS_OF_SHADOWS,
        'clopper_pearson(self.hits, self.trials, confidence, "lower")',
        'clopper_pearson(self.hits, self.trials, 0.9 * confidence, "lower")',
        ("tests/shadow/test_risk.py",),
    ),
    Mutation(
        "records-epsilon-shares",
        RECORDS_OF_SHADOWS,
        "1.0 - (1.0 - confidence) / shadow.num_records, 1.0",
        "confidence, 1.0",
        RECORD,
    ),
    Mutation(
        "records-epsilon-up",
        RECORDS_OF_SHADOWS,
        "math.nextafter(1.0 - (1.0 - confidence) / shadow.num_records, 1.0)",
        "1.0 - (1.0 - confidence) / shadow.num_records",
        RECORD,
    ),
)

MUTATIONS = (
    *COMPOSITIONS,
    *BATCHES,
    *FAR_STEPS,
    *ERRORS_OF_SEQUENCES,
    *AUDITS,
    *RECORDS,
    *COMPILED,
)
