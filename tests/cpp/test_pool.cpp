// The thread pool: every block once, any number of threads, nesting, concurrency, exceptions, fork.
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "leakscore/parallel/pool.hpp"

namespace {

using leakscore::parallel_for;
using leakscore::set_num_threads;

double busy(std::ptrdiff_t block) {
  double sum = 0;
  for (int i = 1; i < 2000; ++i) sum += 1.0 / static_cast<double>(i + block);
  return sum;
}

void every_block_once() {
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    for (const std::ptrdiff_t blocks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(blocks));
      parallel_for(blocks, [&](std::ptrdiff_t b) { ++seen[static_cast<std::size_t>(b)]; });
      bool once = true;
      for (const auto& count : seen) once = once && count == 1;
      CHECK(once);
    }
  }
}

void more_than_one_thread_takes_part() {
  set_num_threads(2);
  std::atomic<int> arrived{0};
  std::atomic<bool> together{true};
  // Each block waits for the other: this can only end quickly if two threads run.
  parallel_for(2, [&](std::ptrdiff_t) {
    ++arrived;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived < 2) {
      if (std::chrono::steady_clock::now() > deadline) {
        together = false;
        return;
      }
      std::this_thread::yield();
    }
  });
  CHECK(together);
}

void one_thread_means_the_calling_thread() {
  set_num_threads(1);
  const auto caller = std::this_thread::get_id();
  bool same = true;
  parallel_for(50, [&](std::ptrdiff_t) { same = same && std::this_thread::get_id() == caller; });
  CHECK(same);
}

void a_nested_call_is_serial() {
  set_num_threads(4);
  std::atomic<int> inner{0}, wrong{0};
  parallel_for(16, [&](std::ptrdiff_t) {
    const auto here = std::this_thread::get_id();
    parallel_for(16, [&](std::ptrdiff_t) {
      ++inner;
      if (std::this_thread::get_id() != here) ++wrong;
    });
  });
  CHECK(inner == 256);
  CHECK(wrong == 0);
}

void concurrent_calls_all_finish() {
  set_num_threads(4);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat)
        parallel_for(20, [&](std::ptrdiff_t b) { total += busy(b) > 0 ? 1 : 0; });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(total == 6 * 50 * 20);
}

void the_first_exception_reaches_the_caller() {
  for (const int threads : {1, 2, 8}) {
    set_num_threads(threads);
    std::atomic<int> running{0};
    std::string caught;
    try {
      parallel_for(200, [&](std::ptrdiff_t b) {
        ++running;
        busy(b);
        --running;
        if (b >= 50) throw std::runtime_error("block");
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    CHECK(caught == "block");
    CHECK(running == 0);  // nothing still runs when the call has returned
    std::atomic<int> after{0};
    parallel_for(10, [&](std::ptrdiff_t) { ++after; });
    CHECK(after == 10);
  }
}

#ifdef __SANITIZE_THREAD__
constexpr const char* no_fork = "ThreadSanitizer supports no new threads after a fork";
#elif defined(_WIN32)
constexpr const char* no_fork = "Windows has no fork";
#elif defined(LEAKSCORE_EMULATED)
constexpr const char* no_fork = "an emulator's fork copies the locks of its own threads";
#else
#define LEAKSCORE_CAN_FORK
// The exit code of a child that counts blocks; a hang is ended by the alarm.
int exit_code_of_child() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::atomic<int> count{0};
    parallel_for(100, [&](std::ptrdiff_t b) { count += busy(b) > 0 ? 1 : 0; });
    _exit(count == 100 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void a_forked_child_has_a_pool_of_its_own() {
  set_num_threads(4);
  parallel_for(100, [](std::ptrdiff_t b) { busy(b); });
  CHECK(exit_code_of_child() == 0);
}

void a_fork_while_the_pool_is_busy() {
  set_num_threads(4);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) parallel_for(64, [](std::ptrdiff_t b) { busy(b); });
  });
  int failed = 0;
  for (int repeat = 0; repeat < 20; ++repeat) failed += exit_code_of_child() != 0;
  stop = true;
  other.join();
  CHECK(failed == 0);
}

#endif

#ifndef _WIN32  // where clock() goes on while a process sleeps
void waiting_workers_use_no_time() {
  set_num_threads(4);
  parallel_for(100, [](std::ptrdiff_t b) { busy(b); });
  const std::clock_t before = std::clock();  // CPU time of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  CHECK(used < 0.05);
}
#endif

}  // namespace

int main() {
  every_block_once();
  more_than_one_thread_takes_part();
  one_thread_means_the_calling_thread();
  a_nested_call_is_serial();
  concurrent_calls_all_finish();
  the_first_exception_reaches_the_caller();
#ifdef LEAKSCORE_CAN_FORK
  a_forked_child_has_a_pool_of_its_own();
  a_fork_while_the_pool_is_busy();
#else
  std::printf("a_forked_child_has_a_pool_of_its_own, a_fork_while_the_pool_is_busy: left out, %s\n",
              no_fork);
#endif
#ifndef _WIN32
  waiting_workers_use_no_time();
#endif
  return leakscore::check::result();
}
