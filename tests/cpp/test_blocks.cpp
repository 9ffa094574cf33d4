// Rows as doubles: in place, or copied into room that is large enough.
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "kernels/blocks.hpp"

namespace {

using leakscore::DType;
using leakscore::Matrix;
using leakscore::RowRange;

// Room for what kernels read is none for floats in place: too small for a copy as doubles.
void room_for_kernels_is_refused() {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  const Matrix m{reinterpret_cast<const std::byte*>(data), 2, 3, 12, 4, DType::float32, false};
  const RowRange range{0, 2, 1, 2};
  std::vector<double> for_kernels = leakscore::buffer_for(m, 2);
  bool refused = false;
  try {
    leakscore::doubles_at(m, 1, range, for_kernels);
  } catch (const std::length_error&) {
    refused = true;
  }
  CHECK(for_kernels.empty() && refused);
  double room[2] = {};
  const double* row = leakscore::doubles_at(m, 1, range, room);
  CHECK(row == room && row[0] == 5.0 && row[1] == 6.0);
}

void doubles_stay_where_they_are() {
  const double data[6] = {1, 2, 3, 4, 5, 6};
  const Matrix m{reinterpret_cast<const std::byte*>(data), 2, 3, 24, 8, DType::float64, false};
  CHECK(leakscore::doubles_at(m, 1, {0, 2, 1, 2}, {}) == data + 4);
}

}  // namespace

int main() {
  room_for_kernels_is_refused();
  doubles_stay_where_they_are();
  return leakscore::check::result();
}
