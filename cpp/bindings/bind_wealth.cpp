// Wealths of a monitor. Arguments arrive validated; one lock for each object, as calls change it.
#include <mutex>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "leakscore/bounds/wealth.hpp"

namespace leakscore {
namespace {

class LockedWealth {
 public:
  LockedWealth(const Doubles& tangents, std::vector<std::int64_t> sizes, std::int64_t followed,
               double log_limit, bool pairs, double inclusion, std::int64_t limit)
      : wealth_(rows_of(tangents), std::move(sizes), followed, log_limit, pairs, inclusion, limit) {
  }
  LockedWealth(const LockedWealth& other) : wealth_(other.copied()) {}

  void add(const Doubles& scores, const Packed<bool>& member) {
    const std::lock_guard lock(mutex_);
    for (py::ssize_t i = 0; i < scores.size(); ++i) wealth_.add(scores.data()[i], member.data()[i]);
  }
  std::vector<std::int64_t> counts() {
    const std::lock_guard lock(mutex_);
    return {wealth_.rounds(), wealth_.members(), wealth_.waiting()};
  }
  double log_wealth(std::size_t process) {
    const std::lock_guard lock(mutex_);
    return wealth_.log_wealth(process);
  }
  std::vector<double> log_peaks() {
    const std::lock_guard lock(mutex_);
    return wealth_.log_peaks();
  }
  LockedWealth merged(const LockedWealth& other) const {
    LockedWealth both(*this);
    both.wealth_.absorb(other.copied());
    return both;
  }
  py::bytes state() {
    const std::lock_guard lock(mutex_);
    StateWriter writer;
    wealth_.exchange(writer);
    return writer.bytes;
  }
  void restore(const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    StateReader reader(bytes);
    wealth_.exchange(reader);
    reader.require_end();
  }

 private:
  static std::vector<Tangent> rows_of(const Doubles& tangents) {
    std::vector<Tangent> rows;
    for (py::ssize_t i = 0; i < tangents.shape(0); ++i) {
      rows.push_back({tangents.at(i, 0), tangents.at(i, 1), tangents.at(i, 2)});
    }
    return rows;
  }
  Wealth copied() const {
    const std::lock_guard lock(mutex_);
    return wealth_;
  }

  mutable std::mutex mutex_;
  Wealth wealth_;
};

}  // namespace

void bind_wealth(py::module_& m) {
  py::class_<LockedWealth>(m, "Wealth")
      .def(py::init<const Doubles&, std::vector<std::int64_t>, std::int64_t, double, bool, double,
                    std::int64_t>(),
           py::arg("tangents").noconvert(), py::arg("sizes"), py::arg("followed"),
           py::arg("log_limit"), py::arg("pairs"), py::arg("inclusion"), py::arg("limit"))
      .def("add", &LockedWealth::add, py::arg("scores").noconvert(), py::arg("member").noconvert())
      .def("counts", &LockedWealth::counts)
      .def("log_wealth", &LockedWealth::log_wealth, py::arg("process"))
      .def("log_peaks", &LockedWealth::log_peaks)
      .def("merged", &LockedWealth::merged, py::arg("other"))
      .def("state", &LockedWealth::state)
      .def("restore", &LockedWealth::restore, py::arg("state"));
}

}  // namespace leakscore
