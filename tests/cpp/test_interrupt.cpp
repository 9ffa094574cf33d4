// Interruption: whose check is asked, what it ends, and that nothing runs on.
#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"

namespace {

using leakscore::parallel_for;
using leakscore::set_num_threads;

struct Stop {};

std::thread::id caller;
std::atomic<int> checks_left{0}, checks_elsewhere{0};

// Throws at the last of the checks that are left.
void check() {
  if (std::this_thread::get_id() != caller) ++checks_elsewhere;
  if (--checks_left <= 0) throw Stop{};
}

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

// How many blocks ran before a check ended the call; -1 if none did. Nothing may run afterwards.
template <class Block>
int blocks_until_interrupted(std::ptrdiff_t blocks, int checks, Block block) {
  caller = std::this_thread::get_id();
  checks_left = checks;
  checks_elsewhere = 0;
  std::atomic<int> started{0}, running{0};
  bool stopped = false;
  leakscore::set_interrupt_check(check);
  try {
    parallel_for(blocks, [&](std::ptrdiff_t b) {
      struct Running {
        std::atomic<int>& count;
        explicit Running(std::atomic<int>& one) : count(one) { ++count; }
        ~Running() { --count; }
      } const here(running);
      ++started;
      block(b);
    });
  } catch (const Stop&) {
    stopped = true;
  }
  leakscore::set_interrupt_check(nullptr);
  CHECK(running == 0);
  CHECK(checks_elsewhere == 0);
  std::atomic<int> after{0};
  parallel_for(100, [&](std::ptrdiff_t) { ++after; });
  CHECK(after == 100);
  return stopped ? started.load() : -1;
}

void a_check_ends_a_call() {
  for (const int threads : {1, 2, 8}) {
    set_num_threads(threads);
    const int first = blocks_until_interrupted(100000, 1, [](std::ptrdiff_t) { wait_a_little(); });
    CHECK(first >= 1 && first < 2000);
    const int third = blocks_until_interrupted(100000, 3, [](std::ptrdiff_t) { wait_a_little(); });
    CHECK(third > first && third < 100000);  // two checks let it go on
    CHECK(blocks_until_interrupted(100, 1 << 20, [](std::ptrdiff_t) { wait_a_little(); }) == -1);
  }
}

void poll_until(const std::atomic<bool>& ended) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!ended && std::chrono::steady_clock::now() < deadline) {
    leakscore::poll_interrupt();
    wait_a_little();
  }
}

// The caller has nothing left to do and waits; the last block, on a worker, ends where it polls.
void a_check_ends_a_wait() {
  set_num_threads(2);
  std::atomic<bool> never{false}, taken{false};
  const auto before = std::chrono::steady_clock::now();
  const int started = blocks_until_interrupted(2, 10, [&](std::ptrdiff_t) {
    if (std::this_thread::get_id() != caller) {
      taken = true;
      poll_until(never);
    } else {
      poll_until(taken);
    }
  });
  CHECK(started >= 1);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(30));
}

void a_check_ends_a_long_block_and_a_nested_call() {
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const std::atomic<bool> never{false};
    const auto before = std::chrono::steady_clock::now();
    CHECK(blocks_until_interrupted(4, 1, [&](std::ptrdiff_t) { poll_until(never); }) >= 1);
    CHECK(blocks_until_interrupted(4, 2, [&](std::ptrdiff_t) {
            parallel_for(100000, [](std::ptrdiff_t) { wait_a_little(); });
          }) >= 1);
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(30));
  }
}

// A check may itself use the pool, as the handler of a signal may.
void a_check_that_calls_back() {
  set_num_threads(4);
  static std::atomic<int> inner;
  inner = 0;
  leakscore::set_interrupt_check([] { parallel_for(50, [](std::ptrdiff_t) { ++inner; }); });
  std::atomic<int> outer{0};
  parallel_for(400, [&](std::ptrdiff_t) {
    wait_a_little();
    ++outer;
  });
  leakscore::set_interrupt_check(nullptr);
  CHECK(outer == 400);
  CHECK(inner >= 50 && inner % 50 == 0);
}

void without_exceptions() {
  caller = std::this_thread::get_id();
  checks_left = 1;
  leakscore::set_interrupt_check(check);
  std::this_thread::sleep_for(2 * leakscore::check_interval);
  CHECK(leakscore::interrupted());
  leakscore::set_interrupt_check(nullptr);
  CHECK(leakscore::interrupted());  // until somebody has heard of it
  bool thrown = false;
  try {
    leakscore::rethrow_interrupt();
  } catch (const Stop&) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(!leakscore::interrupted());
  leakscore::rethrow_interrupt();
}

}  // namespace

int main() {
  a_check_ends_a_call();
  a_check_ends_a_wait();
  a_check_ends_a_long_block_and_a_nested_call();
  a_check_that_calls_back();
  without_exceptions();
  return leakscore::check::result();
}
