// Bodies of the vectorised chi-square laws; compiled once per ISA level.
#include "kernels/chi2.hpp"

#include "kernels/chi2_central.hpp"
#include "kernels/chi2_points.hpp"
#include "kernels/table.hpp"
#include "leakscore/special/chi2_block.hpp"
#include "leakscore/special/chi2_quantile.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using namespace chi2_parts;
using chi2_parts::detail::infinity, chi2_parts::detail::nan;

struct Indices {
  std::int16_t at[chunk_size];
  int count;
};

[[gnu::noinline]] void evaluate(Function f, const Arguments arguments, double* out,
                                std::ptrdiff_t count) {
  Chunk chunk;
  ContourBlock block;
  BesselSeries known;
  Blocks blocks;
  Indices all;
  double value[chunk_size];
  for (int i = 0; i < chunk_size; ++i) all.at[i] = static_cast<std::int16_t>(i);
  for (std::ptrdiff_t first = 0; first < count; first += chunk_size) {
    all.count = static_cast<int>(count - first < chunk_size ? count - first : chunk_size);
    const bool ordinary = load_points(arguments, first, all.count, chunk);
    make_blocks(chunk, all.at, all.count, !is_density(f), blocks);
    for (int k = 0; k < blocks.count; ++k) {
      const std::int16_t* index = blocks.index + k * lanes;
      double result[lanes];
      load_block(chunk, index, block);
      evaluate_block(f, block, known, blocks.kind[k], result);
      for (int j = 0; j < blocks.used[k]; ++j) value[index[j]] = result[j];
    }
    if (ordinary) {
      for (int i = 0; i < all.count; ++i) out[first + i] = value[i];
      continue;
    }
    for (int i = 0; i < all.count; ++i) {
      const ChiSquarePoint p = arguments.at(first + i);
      const bool ok = valid_law(p.nu, p.la) && p.x > 0.0 && p.x < infinity;
      const double far = is_log(f) && p.x > largest_x ? p.x / largest_x : 1.0;
      out[first + i] = ok ? value[i] * far : outside(f, p.x, p.nu, p.la);
    }
  }
}

// --- quantiles -----------------------------------------------------------------------------------

// What is searched for, and where.
template <int Size>
struct Searches {
  double factor[Size], decay[Size], decay_low[Size], upper[Size], low[Size], high[Size];
};

template <int Size>
LEAKSCORE_FN Target target_at(const Searches<Size>& s, int i) {
  return {s.factor[i], {s.decay[i], s.decay_low[i]}, s.upper[i] > 0.0};
}

LEAKSCORE_FN void start_search(Searches<chunk_size>& s, int i, const Chunk& chunk, Target t) {
  const Bracket bracket = first_bracket(chunk.nu[i], chunk.la[i], t.upper);
  s.factor[i] = t.factor;
  s.decay[i] = t.decay.high;
  s.decay_low[i] = t.decay.low;
  s.upper[i] = t.upper ? 1.0 : 0.0;
  s.low[i] = bracket.low;
  s.high[i] = bracket.high;
}

LEAKSCORE_FN void load_searches(const Searches<chunk_size>& from, const std::int16_t* index,
                                Searches<lanes>& s) {
  for (int j = 0; j < lanes; ++j) {
    const int i = index[j];
    s.factor[j] = from.factor[i];
    s.decay[j] = from.decay[i];
    s.decay_low[j] = from.decay_low[i];
    s.upper[j] = from.upper[i];
    s.low[j] = from.low[i];
    s.high[j] = from.high[i];
  }
}

// From the probabilities in chunk.x to searches, and to starting points in chunk.x.
[[gnu::noinline]] void start_searches(Form form, Chunk& chunk, int count,
                                      Searches<chunk_size>& searches) {
  double zeta[chunk_size], w[chunk_size];
  if (form.log)
    for (int i = 0; i < count; ++i)
      start_search(searches, i, chunk, target_of_log(chunk.x[i], form.upper));
  else
    for (int i = 0; i < count; ++i)
      start_search(searches, i, chunk, target_of(chunk.x[i], form.upper));
  for (int i = 0; i < count; ++i) zeta[i] = normal_quantile(target_at(searches, i));
  for (int i = 0; i < count; ++i) w[i] = quantile_guess(chunk.nu[i], chunk.la[i], zeta[i]);
  for (int k = 0; k < quantile_guess_steps; ++k)
    for (int i = 0; i < count; ++i)
      w[i] = quantile_guess_step(w[i], chunk.nu[i], chunk.la[i], zeta[i]);
  for (int i = 0; i < count; ++i) chunk.x[i] = quantile_start(chunk.nu[i], chunk.la[i], w[i]);
}

struct NewtonBlock {
  double x[lanes], arrived[lanes];
};

// In stages, as a choice between two computed values keeps a loop from being vectorised.
[[gnu::noinline]] void newton_steps(const ContourBlock& b, const TailBlock& tails, bool halve,
                                    Searches<lanes>& s, NewtonBlock& next) {
  double complement[lanes], g[lanes], hazard[lanes], step[lanes];
  double by_log_x[lanes], by_x[lanes], halfway[lanes];
  for (int j = 0; j < lanes; ++j) {
    const Tail tail = tail_at(tails, j);
    complement[j] = probability(tail, !tail.upper);
  }
  for (int j = 0; j < lanes; ++j) {
    const Residual r = residual_of(b, j, tail_at(tails, j), complement[j], target_at(s, j));
    g[j] = r.g;
    hazard[j] = r.hazard;
    step[j] = r.step;
  }
  for (int j = 0; j < lanes; ++j) {
    const Bracket bracket = narrowed({s.low[j], s.high[j]}, b.x[j], step[j]);
    s.low[j] = bracket.low;
    s.high[j] = bracket.high;
  }
  for (int j = 0; j < lanes; ++j) {
    by_log_x[j] = grown(b.x[j], step[j]);
    by_x[j] = moved(b.x[j], step[j]);
    halfway[j] = middle({s.low[j], s.high[j]});
  }
  for (int j = 0; j < lanes; ++j) {
    const bool linear = (s.upper[j] > 0.0) & (hazard[j] > 1.0);
    const bool arrived = has_arrived(b.x[j], {g[j], hazard[j], step[j]});
    const bool exhausted = is_exhausted({s.low[j], s.high[j]}, halfway[j]);
    next.x[j] =
        chosen(linear ? by_x[j] : by_log_x[j], {s.low[j], s.high[j]}, halfway[j], halve, arrived);
    next.arrived[j] = (arrived | exhausted) ? 1.0 : 0.0;
  }
}

// One Newton step of every active point; those that have arrived leave the list.
void step(Chunk& chunk, Searches<chunk_size>& searches, Indices& active, Blocks& blocks,
          ContourBlock& block, bool halve) {
  make_blocks(chunk, active.at, active.count, true, blocks);
  active.count = 0;
  for (int k = 0; k < blocks.count; ++k) {
    const std::int16_t* index = blocks.index + k * lanes;
    Searches<lanes> s;
    TailBlock tails;
    NewtonBlock newton;
    load_block(chunk, index, block);
    load_searches(searches, index, s);
    integrate_tails<true>(block, blocks.kind[k], tails);
    newton_steps(block, tails, halve, s, newton);
    for (int j = 0; j < blocks.used[k]; ++j) {
      const std::int16_t i = index[j];
      chunk.x[i] = newton.x[j];
      searches.low[i] = s.low[j];
      searches.high[i] = s.high[j];
      if (!(newton.arrived[j] > 0.0)) active.at[active.count++] = i;
    }
  }
}

[[gnu::noinline]] void invert(Form form, const Arguments arguments, double* out,
                              std::ptrdiff_t count) {
  Chunk chunk;
  ContourBlock block;
  Blocks blocks;
  Indices active;
  Searches<chunk_size> searches;
  for (std::ptrdiff_t first = 0; first < count; first += chunk_size) {
    const int now = static_cast<int>(count - first < chunk_size ? count - first : chunk_size);
    for (int i = 0; i < now; ++i) {
      const ChiSquarePoint p = arguments.at(first + i);
      const bool ok = set_law(chunk, i, p, is_proper(form, p.x));
      chunk.x[i] = ok ? p.x : (form.log ? -1.0 : 0.5);
      chunk.x_low[i] = 0.0;
      active.at[i] = static_cast<std::int16_t>(i);
    }
    start_searches(form, chunk, now, searches);
    active.count = now;
    for (int k = 1; active.count > 0; ++k)
      step(chunk, searches, active, blocks, block, k % newton_steps_between_halvings == 0);
    for (int i = 0; i < now; ++i) {
      const ChiSquarePoint p = arguments.at(first + i);
      const bool ok = valid_law(p.nu, p.la) && is_proper(form, p.x);
      out[first + i] = ok ? chunk.x[i] : end_of_support(form, p.x, p.nu, p.la);
    }
  }
}

// --- entries of the table ------------------------------------------------------------------------

template <Function F>
void chi2(const double* x, const double* df, double* out, std::ptrdiff_t count) {
  central<F>(x, df, out, count, [](const double* at, const double* law, double* to, int now) {
    evaluate(F, {at, law, nullptr, false, false}, to, now);
  });
}

template <Function F>
void ncx2(const double* x, const double* df, const double* nc, double* out, std::ptrdiff_t count) {
  evaluate(F, {x, df, nc, false, false}, out, count);
}

template <Function F>
void marcum(const double* m, const double* a, const double* b, double* out, std::ptrdiff_t count) {
  evaluate(F, {b, m, a, true, false}, out, count);
}

template <bool Upper>
void chi2_quantile(const double* q, const double* df, double* out, std::ptrdiff_t count) {
  central_quantile<Upper>(q, df, out, count,
                          [](const double* at, const double* law, double* to, int now) {
                            invert({Upper, false}, {at, law, nullptr, false, true}, to, now);
                          });
}

template <bool Upper>
void chi2_log_quantile(const double* q, const double* df, double* out, std::ptrdiff_t count) {
  invert({Upper, true}, {q, df, nullptr, false, true}, out, count);
}

template <bool Upper, bool Log>
void ncx2_inverse(const double* q, const double* df, const double* nc, double* out,
                  std::ptrdiff_t count) {
  invert({Upper, Log}, {q, df, nc, false, true}, out, count);
}

void marcum_q_inv(const double* m, const double* a, const double* q, double* out,
                  std::ptrdiff_t count) {
  invert({true, false}, {q, m, a, true, true}, out, count);
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = __builtin_sqrt(out[i]);
}

}  // namespace

const Chi2Kernels chi2_kernels{.chi2_pdf = central_density<false>,
                               .chi2_logpdf = central_density<true>,
                               .chi2_cdf = chi2<Function::cdf>,
                               .chi2_sf = chi2<Function::sf>,
                               .chi2_logcdf = chi2<Function::logcdf>,
                               .chi2_logsf = chi2<Function::logsf>,
                               .chi2_ppf = chi2_quantile<false>,
                               .chi2_isf = chi2_quantile<true>,
                               .chi2_ilogcdf = chi2_log_quantile<false>,
                               .chi2_ilogsf = chi2_log_quantile<true>,
                               .ncx2_pdf = ncx2<Function::pdf>,
                               .ncx2_logpdf = ncx2<Function::logpdf>,
                               .ncx2_cdf = ncx2<Function::cdf>,
                               .ncx2_sf = ncx2<Function::sf>,
                               .ncx2_logcdf = ncx2<Function::logcdf>,
                               .ncx2_logsf = ncx2<Function::logsf>,
                               .ncx2_ppf = ncx2_inverse<false, false>,
                               .ncx2_isf = ncx2_inverse<true, false>,
                               .ncx2_ilogcdf = ncx2_inverse<false, true>,
                               .ncx2_ilogsf = ncx2_inverse<true, true>,
                               .marcum_q = marcum<Function::sf>,
                               .marcum_p = marcum<Function::cdf>,
                               .marcum_q_inv = marcum_q_inv};

}  // namespace leakscore::LEAKSCORE_ISA
