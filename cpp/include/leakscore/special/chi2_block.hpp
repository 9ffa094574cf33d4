// The functions of one block of points: shared by evaluation and by the search for quantiles.
// Numerics: the saddles of chi2_saddle.hpp and the sums of chi2_contour.hpp (after Rice 1968); the
// series of chi2_tails.hpp, chi2_mixture.hpp and chi2_bessel.hpp.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_chunk.hpp"
#include "leakscore/special/chi2_law.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

// The saddles of a block and the sums over its contours.
template <bool WithTail, bool WithDensity>
[[maybe_unused, gnu::noinline]] static void integrate(ContourBlock& b, int kind) {
  const ContourNodes& nodes = contour_nodes();
  find_saddles(b);
  if (kind == concentrated_class)
    concentrated_sums<WithTail, WithDensity>(b, nodes.table[0]);
  else if (kind == direct_class)
    direct_sums<WithTail, WithDensity>(b, nodes);
  else
    table_sums<WithTail, WithDensity>(b, nodes.table[kind]);
}

template <bool Concentrated>
[[maybe_unused, gnu::noinline]] static void find_tails(const ContourBlock& b, TailBlock& tails) {
  for (int i = 0; i < lanes; ++i) {
    const Tail tail = accurate_tail<Concentrated>(b, i);
    tails.mass[i] = tail.mass;
    tails.decay[i] = tail.decay.high;
    tails.decay_low[i] = tail.decay.low;
    tails.upper[i] = tail.upper ? 1.0 : 0.0;
  }
}

LEAKSCORE_FN Tail tail_at(const TailBlock& tails, int i) {
  return {tails.mass[i], {tails.decay[i], tails.decay_low[i]}, tails.upper[i] > 0.0};
}

// Saddles, sums and accurate tails; or the tails alone, with a density for Newton's steps.
template <bool WithDensity>
LEAKSCORE_FN void integrate_tails(ContourBlock& b, int kind, TailBlock& tails) {
  if (kind == lower_class) return lower_tails(b, tails);
  if (kind == upper_class) return upper_tails(b, tails);
  if (kind == middle_class) return middle_tails(b, tails);
  if (kind == mixture_lower_class) return mixture_tails<false, WithDensity>(b, tails);
  if (kind == mixture_upper_class) return mixture_tails<true, WithDensity>(b, tails);
  integrate<true, WithDensity>(b, kind);
  if (kind == concentrated_class)
    find_tails<true>(b, tails);
  else
    find_tails<false>(b, tails);
}

LEAKSCORE_FN void evaluate_bessel(Function f, ContourBlock& b, BesselSeries& known, int kind,
                                  double* result) {
  TailBlock found;
  if (kind == bessel_near_class)
    near_density(b, known, found);
  else
    far_density(b, known, found);
  for (int i = 0; i < lanes; ++i) {
    const Extended decay{found.decay[i], found.decay_low[i]};
    result[i] = f == Function::pdf ? detail::decayed(found.mass[i], decay)
                                   : (log_sum(found.mass[i], 0.0) - decay.low) - decay.high;
  }
}

[[maybe_unused, gnu::noinline]] static void evaluate_block(Function f, ContourBlock& b,
                                                           BesselSeries& known, int kind,
                                                           double* result) {
  TailBlock tails;
  if (kind >= bessel_near_class) return evaluate_bessel(f, b, known, kind, result);
  if (is_density(f))
    integrate<false, true>(b, kind);
  else
    integrate_tails<false>(b, kind, tails);
  const bool upper = f == Function::sf || f == Function::logsf;
  if (f == Function::pdf)
    for (int i = 0; i < lanes; ++i) result[i] = density(b, i);
  else if (f == Function::logpdf)
    for (int i = 0; i < lanes; ++i) result[i] = log_density(b, i);
  else if (is_log(f))
    for (int i = 0; i < lanes; ++i) result[i] = log_probability(tail_at(tails, i), upper);
  else
    for (int i = 0; i < lanes; ++i) result[i] = probability(tail_at(tails, i), upper);
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
