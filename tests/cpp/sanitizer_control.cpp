// Mistakes made on purpose: scripts/sanitize calls them to prove that its sanitizers are live.
#include <climits>
#include <cstddef>
#include <memory>
#include <thread>

namespace {

volatile std::size_t hidden_index = 8;  // volatile: the compiler must not see the mistake
volatile int hidden_number = INT_MAX;
int shared_number = 0;
alignas(double) unsigned char bytes[2 * sizeof(double)] = {};
volatile std::size_t hidden_offset = 1;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] double heap_overflow() {
  const auto values = std::make_unique<double[]>(8);
  return values[hidden_index];
}

[[gnu::visibility("default")]] int signed_overflow() { return hidden_number + 1; }

[[gnu::visibility("default")]] double odd_address() {
  return *reinterpret_cast<const double*>(bytes + hidden_offset);
}

[[gnu::visibility("default")]] int data_race() {
  const auto count = [] {
    for (int i = 0; i < 100000; ++i) shared_number = shared_number + 1;
  };
  std::thread other(count);
  count();
  other.join();
  return shared_number;
}

}  // extern "C"
