// Row-wise scores. Every function returns (result, flags); flags are those of kernels/scores.hpp.
#include "bindings/arrays.hpp"
#include "kernels/drivers.hpp"
#include "kernels/scores.hpp"

namespace leakscore {
namespace {

Doubles result_for(const Matrix& observed, const Matrix& target, bool paired) {
  if (paired) return Doubles(observed.rows);
  return Doubles({observed.rows, target.rows});
}

template <Score score>
py::tuple score_of(const py::array& observed, const py::array& target, const Doubles& mean,
                   const Doubles& variance, const Doubles& noise_std, double n, bool paired) {
  const Matrix x = matrix_of(observed);
  const Matrix z = matrix_of(target);
  const Known known{mean.data(), variance.data(), noise_std.data(), noise_std.size() == 1, n};
  Doubles out = result_for(x, z, paired);
  double* result = out.mutable_data();
  const int flags = without_gil([&] { return scores(score, x, z, paired, known, result); });
  return py::make_tuple(std::move(out), flags);
}

py::tuple bernoulli(const py::array& observed, const py::array& target, const Doubles& p,
                    bool paired) {
  const Matrix x = matrix_of(observed);
  const Matrix z = matrix_of(target);
  const double* probability = p.data();
  Doubles out = result_for(x, z, paired);
  double* result = out.mutable_data();
  const int flags = without_gil([&] { return bernoulli_llr(x, z, paired, probability, result); });
  return py::make_tuple(std::move(out), flags);
}

py::tuple log_ratios(const py::array& observed, const Doubles& p) {
  const Matrix x = matrix_of(observed);
  const double* probability = p.data();
  Doubles difference({x.rows, x.cols}), zeros(x.rows);
  double *differences = difference.mutable_data(), *sums = zeros.mutable_data();
  const int flags =
      without_gil([&] { return bernoulli_log_ratios(x, probability, differences, sums); });
  const bool usable = (flags & ~certain_mean) == 0, certain = (flags & certain_mean) != 0;
  return py::make_tuple(std::move(difference), std::move(zeros), usable, certain);
}

py::tuple homer(const py::array& observed, const py::array& target, const Doubles& p) {
  const Matrix x = matrix_of(observed);
  const Matrix z = matrix_of(target);
  const double* mean = p.data();
  Doubles out = result_for(x, z, false);
  double* result = out.mutable_data();
  const int flags = without_gil([&] { return homer_distance(x, z, mean, result); });
  return py::make_tuple(std::move(out), flags);
}

template <SeriesScore score>
py::tuple series_of(const py::array& observed, const py::array& target, const Doubles& mean,
                    const Doubles& variance, const Doubles& skewness, const Doubles& kurtosis,
                    double n) {
  const Matrix x = matrix_of(observed);
  const Matrix z = matrix_of(target);
  const KnownLaw known{mean.data(), variance.data(), skewness.data(), kurtosis.data(), n};
  Doubles out = result_for(x, z, false);
  double* result = out.mutable_data();
  const int flags = without_gil([&] { return series_scores(score, x, z, known, result); });
  return py::make_tuple(std::move(out), flags);
}

template <SeriesScore score>
void def_series(py::module_& m, const char* name) {
  m.def(name, &series_of<score>, py::arg("observed"), py::arg("target"),
        py::arg("mean").noconvert(), py::arg("variance").noconvert(),
        py::arg("skewness").noconvert(), py::arg("kurtosis").noconvert(), py::arg("n"));
}

template <Score score>
void def_score(py::module_& m, const char* name) {
  m.def(name, &score_of<score>, py::arg("observed"), py::arg("target"), py::arg("mean").noconvert(),
        py::arg("variance").noconvert(), py::arg("noise_std").noconvert(), py::arg("n"),
        py::arg("paired"));
}

}  // namespace

void bind_scores(py::module_& m) {
  def_score<Score::covariance_score>(m, "covariance_score");
  def_score<Score::gaussian_llr>(m, "gaussian_llr");
  def_score<Score::add_remove_llr>(m, "add_remove_llr");
  def_score<Score::scalar_product>(m, "scalar_product");
  def_score<Score::weighted_sum>(m, "weighted_sum");
  def_series<SeriesScore::edgeworth_second>(m, "edgeworth_second");
  def_series<SeriesScore::edgeworth_third>(m, "edgeworth_third");
  m.def("bernoulli_llr", &bernoulli, py::arg("observed"), py::arg("target"),
        py::arg("p").noconvert(), py::arg("paired"));
  m.def("bernoulli_log_ratios", &log_ratios, py::arg("observed"), py::arg("p").noconvert());
  m.def("homer_distance", &homer, py::arg("observed"), py::arg("target"), py::arg("p").noconvert());
}

}  // namespace leakscore
