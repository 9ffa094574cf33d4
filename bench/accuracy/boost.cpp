// Boost.Math's laws behind one C function: the peer of the accuracy page, in double and long
// double.
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

namespace {

namespace policies = boost::math::policies;
using boost::math::complement;

// As scipy configures it: no promotion, and values instead of exceptions where there is a choice.
using Quiet = policies::policy<policies::domain_error<policies::ignore_error>,
                               policies::overflow_error<policies::ignore_error>,
                               policies::evaluation_error<policies::ignore_error>,
                               policies::promote_float<false>, policies::promote_double<false>>;

template <class Law, class Real>
Real evaluate(const std::string& function, const Law& law, Real x) {
  if (function == "pdf") return pdf(law, x);
  if (function == "logpdf") return logpdf(law, x);
  if (function == "cdf") return cdf(law, x);
  if (function == "sf") return cdf(complement(law, x));
  if (function == "logcdf") return logcdf(law, x);
  if (function == "logsf") return logcdf(complement(law, x));
  if (function == "ppf") return quantile(law, x);
  if (function == "isf") return quantile(complement(law, x));
  return std::numeric_limits<Real>::quiet_NaN();
}

template <class Real>
Real evaluate(const std::string& law, const std::string& function, Real x, Real a, Real b) {
  if (law == "norm") return evaluate(function, boost::math::normal_distribution<Real, Quiet>(), x);
  if (law == "chi2")
    return evaluate(function, boost::math::chi_squared_distribution<Real, Quiet>(a), x);
  if (law == "ncx2")
    return evaluate(function, boost::math::non_central_chi_squared_distribution<Real, Quiet>(a, b),
                    x);
  if (law == "beta")
    return evaluate(function, boost::math::beta_distribution<Real, Quiet>(a, b), x);
  return std::numeric_limits<Real>::quiet_NaN();
}

}  // namespace

// NaN where Boost throws.
extern "C" void boost_evaluate(const char* law, const char* function, bool extended,
                               const double* x, const double* a, const double* b, double* out,
                               std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    try {
      out[i] = extended
                   ? static_cast<double>(evaluate<long double>(law, function, x[i], a[i], b[i]))
                   : evaluate<double>(law, function, x[i], a[i], b[i]);
    } catch (...) {
      out[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
}
