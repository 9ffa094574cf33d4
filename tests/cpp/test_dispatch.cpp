// Choice of the ISA level.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "kernels/dispatch.hpp"

int main() {
  const auto supported = leakscore::supported_isas();
  CHECK(!supported.empty());
  CHECK(std::string(leakscore::kernels().isa) == supported.back());  // the best one by default

  for (const std::string& isa : supported) {
    leakscore::select_isa(isa);
    const leakscore::Kernels& table = leakscore::kernels();
    CHECK(table.isa == isa);
    CHECK(table.normal != nullptr && table.scores != nullptr && table.random != nullptr);
  }
  for (const char* unknown : {"v5", "V2", " v2", "avx2"}) {
    std::string message;
    try {
      leakscore::select_isa(unknown);
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    CHECK(message.find(unknown) != std::string::npos);
    CHECK(message.find(supported.front()) != std::string::npos);
    CHECK(leakscore::kernels().isa == supported.back());  // a refused name changes nothing
  }
  leakscore::select_isa(supported.front());
  leakscore::select_isa("");
  CHECK(leakscore::kernels().isa == supported.back());
  return leakscore::check::result();
}
