// Loops over points of the central chi-square law: its density, and where closed forms serve.
#pragma once

#include <cstddef>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_chunk.hpp"
#include "leakscore/special/chi2_closed.hpp"
#include "leakscore/special/chi2_density.hpp"
#include "leakscore/special/chi2_law.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {
namespace {

// --- densities of the central law ----------------------------------------------------------------

// Which of the forms of chi2_density.hpp serves.
enum DensityForm : std::uint8_t { direct_form, near_form, concentrated_form, density_forms };

struct Densities {
  double x[chunk_size], df[chunk_size], constant[chunk_size], constant_low[chunk_size];
  double high[chunk_size], low[chunk_size];
  DensityForm form[chunk_size];
  int found[density_forms];  // points of each
};

// Safe arguments, and what depends on df alone, computed once for equal neighbours.
void load_densities(const double* x, const double* df, int count, Densities& d) {
  for (int& found : d.found) found = 0;
  double known = 0.0;
  bool known_direct = false;
  Extended constant{0.0, 0.0};
  for (int i = 0; i < count; ++i) {
    const bool ok = valid_law(df[i], 0.0) && x[i] > 0.0 && x[i] < detail::infinity;
    d.x[i] = ok ? (x[i] < largest_x ? x[i] : largest_x) : 1.0;
    d.df[i] = ok ? df[i] : 2.0;
    const bool is_direct = density_is_direct(d.x[i], d.df[i]);
    if (d.df[i] != known || is_direct != known_direct) {
      known = d.df[i];
      known_direct = is_direct;
      constant = density_constant(known, known_direct);
    }
    d.constant[i] = constant.high;
    d.constant_low[i] = constant.low;
    const bool is_near = density_is_near(d.x[i], d.df[i]);
    d.form[i] = is_direct ? direct_form : (is_near ? near_form : concentrated_form);
    ++d.found[d.form[i]];
  }
}

// The logarithms of the points of one form. Others are computed and thrown away.
template <DensityForm form, Extended (*log_density)(double, double, Extended)>
void densities_of(Densities& d, int count) {
  if (d.found[form] == 0) return;
  double high[chunk_size], low[chunk_size];
  for (int i = 0; i < count; ++i) {
    const Extended log = log_density(d.x[i], d.df[i], {d.constant[i], d.constant_low[i]});
    high[i] = log.high;
    low[i] = log.low;
  }
  const bool all = d.found[form] == count;
  for (int i = 0; i < count; ++i)
    if (all || d.form[i] == form) {
      d.high[i] = high[i];
      d.low[i] = low[i];
    }
}

template <bool Log>
[[gnu::noinline]] void central_density(const double* x, const double* df, double* out,
                                       std::ptrdiff_t count) {
  constexpr Function f = Log ? Function::logpdf : Function::pdf;
  Densities d;
  for (std::ptrdiff_t first = 0; first < count; first += chunk_size) {
    const int now = static_cast<int>(count - first < chunk_size ? count - first : chunk_size);
    load_densities(x + first, df + first, now, d);
    densities_of<direct_form, direct_log_density>(d, now);
    densities_of<near_form, near_log_density>(d, now);
    densities_of<concentrated_form, concentrated_log_density>(d, now);
    double value[chunk_size];
    if constexpr (Log)
      for (int i = 0; i < now; ++i) value[i] = d.high[i] + d.low[i];
    else
      for (int i = 0; i < now; ++i) value[i] = detail::decayed(1.0, {-d.high[i], -d.low[i]});
    for (int i = 0; i < now; ++i) {
      const double at = x[first + i], law = df[first + i];
      const bool ok = valid_law(law, 0.0) && at > 0.0 && at < detail::infinity;
      const double far = Log && at > largest_x ? at / largest_x : 1.0;
      out[first + i] = ok ? value[i] * far : outside(f, at, law, 0.0);
    }
  }
}

// --- one and two degrees of freedom --------------------------------------------------------------

// Which points of a chunk have a closed form.
struct Closed {
  bool at[chunk_size];
  bool any, all;
};

template <class Proper>
Closed find_closed(const double* x, const double* df, int count, Proper proper) {
  Closed found;
  found.any = false;
  found.all = true;
  for (int i = 0; i < count; ++i) {
    found.at[i] = (df[i] == 1.0 || df[i] == 2.0) && proper(x[i]);
    found.any |= found.at[i];
    found.all &= found.at[i];
  }
  return found;
}

// out = f(x, df): `closed` where there is one, `open` elsewhere.
template <class Proper, class ClosedForm, class Open>
void chunks(const double* x, const double* df, double* out, std::ptrdiff_t count, Proper proper,
            ClosedForm closed, Open open) {
  double value[chunk_size];
  for (std::ptrdiff_t first = 0; first < count; first += chunk_size) {
    const int now = static_cast<int>(count - first < chunk_size ? count - first : chunk_size);
    const double *xs = x + first, *laws = df + first;
    const Closed where = find_closed(xs, laws, now, proper);
    if (!where.all) open(xs, laws, out + first, now);
    if (!where.any) continue;
    for (int i = 0; i < now; ++i) value[i] = closed(xs[i], laws[i]);
    for (int i = 0; i < now; ++i)
      if (where.at[i]) out[first + i] = value[i];
  }
}

// F of each point; `open` computes it where there is no closed form.
template <Function F, class Open>
[[gnu::noinline]] void central(const double* x, const double* df, double* out, std::ptrdiff_t count,
                               Open open) {
  const auto proper = [](double at) { return at > 0.0 && at < largest_x; };
  const auto closed = [](double at, double law) {
    return closed_form<F>(at > 0.0 && at < largest_x ? at : 1.0, law);
  };
  chunks(x, df, out, count, proper, closed, open);
}

template <bool Upper, class Open>
[[gnu::noinline]] void central_quantile(const double* q, const double* df, double* out,
                                        std::ptrdiff_t count, Open open) {
  const auto proper = [](double p) { return p >= smallest_closed_mass && p < 1.0; };
  const auto closed = [](double p, double law) {
    return closed_quantile<Upper>(p >= smallest_closed_mass && p < 1.0 ? p : 0.5, law);
  };
  chunks(q, df, out, count, proper, closed, open);
}

}  // namespace
}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
