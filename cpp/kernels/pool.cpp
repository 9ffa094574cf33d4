#include "leakscore/parallel/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "leakscore/parallel/fork.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {
namespace {

struct Job {
  pool_parts::BlockFunction f;
  void* context;
  std::ptrdiff_t blocks;
  const Job* outer;  // the job of whose blocks this one is a part
  std::atomic<std::ptrdiff_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex error_mutex{};
  std::exception_ptr error{};

  // The first exception is kept; no further block is handed out.
  template <class F>
  void attempt(F&& some) {
    try {
      some();
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      next.store(blocks);
      failed.store(true);
    }
  }

  void work();
};

// What a thread is doing. It must not try_lock a std::mutex that it holds: so nesting is known.
struct Activity {
  bool nested = false;       // a call is part of another one, and runs serially
  const Job* job = nullptr;  // the innermost one, of which this thread runs a block
};
thread_local Activity activity;
thread_local bool is_worker = false;

class Doing {
 public:
  explicit Doing(Activity now) : before_(activity) { activity = now; }
  ~Doing() { activity = before_; }
  Doing(const Doing&) = delete;

 private:
  Activity before_;
};

using Clock = std::chrono::steady_clock;

std::atomic<InterruptCheck> interrupt_check{nullptr};
thread_local Clock::time_point next_check{};

// Calls within the check are nested, but no part of the job, which may fail meanwhile.
void check_interrupt() {
  const InterruptCheck check = interrupt_check.load(std::memory_order_relaxed);
  if (check == nullptr || is_worker) return;
  const Clock::time_point now = Clock::now();
  if (now < next_check) return;
  next_check = now + check_interval;
  const Doing checking({true, nullptr});
  check();
}

// Ends a block of a job that has failed elsewhere: its own exception is what the caller sees.
struct Abandoned {};

void Job::work() {
  const Doing working({true, this});
  bool first = true;  // short calls do not read the clock
  for (std::ptrdiff_t b = next.fetch_add(1); b < blocks; b = next.fetch_add(1)) {
    attempt([&] {
      if (!first) poll_interrupt();
      f(context, b);
    });
    first = false;
  }
}

class Pool {
 public:
  // Runs the job on the calling thread and on up to `helpers` workers.
  void run(Job& job, int helpers) {
    int called = 0;
    {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      job_ = &job;
      wanted_ = called = std::min(helpers, workers_);
    }
    for (; called > 0; --called) wake_.notify_one();
    job.work();
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // workers that have not woken yet are no longer needed
    while (!done_.wait_for(lock, check_interval, [this] { return active_ == 0; })) {
      lock.unlock();
      job.attempt(check_interrupt);
      lock.lock();
    }
    job_ = nullptr;
  }

 private:
  void grow(int helpers) {
    for (; workers_ < helpers; ++workers_) {
      try {
        std::thread([this] { loop(); }).detach();
      } catch (const std::system_error&) {
        return;  // no thread to be had: fewer threads, same numbers
      }
    }
  }

  void loop() {
    is_worker = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return wanted_ > 0; });
      --wanted_;
      ++active_;
      Job* job = job_;
      lock.unlock();
      job->work();
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  int wanted_ = 0, active_ = 0, workers_ = 0;
};

std::atomic<int> thread_limit{1};

// Only one call uses the pool at a time.
struct Shared {
  std::mutex busy;
  Pool pool;
};

// A forked child has none of its parent's workers, and any lock may have been held when it was
// made: it starts with a fresh pool. The old one is leaked on purpose, being in an unknown state.
// Workers of a process that ends may still wait on their pool, so it is never destroyed either.
std::atomic<Shared*> shared{nullptr};
[[maybe_unused]] const int fork_handler = at_fork([] { shared.store(nullptr); });

Shared& shared_for_this_process() {
  Shared* current = shared.load();
  if (current != nullptr) return *current;
  auto fresh = std::make_unique<Shared>();
  if (shared.compare_exchange_strong(current, fresh.get())) return *fresh.release();
  return *current;  // another thread was first
}

}  // namespace

int num_threads() { return thread_limit.load(); }

void set_num_threads(int count) { thread_limit.store(std::max(1, count)); }

void set_interrupt_check(InterruptCheck check) { interrupt_check.store(check); }

void poll_interrupt() {
  for (const Job* job = activity.job; job != nullptr; job = job->outer)
    if (job->failed.load(std::memory_order_relaxed)) throw Abandoned{};
  check_interrupt();
}

namespace {
thread_local std::exception_ptr interruption{};
}

bool interrupted() noexcept {
  try {
    if (!interruption) poll_interrupt();
  } catch (...) {
    interruption = std::current_exception();
  }
  return interruption != nullptr;
}

void rethrow_interrupt() {
  if (interruption) std::rethrow_exception(std::exchange(interruption, nullptr));
}

void pool_parts::run_blocks(std::ptrdiff_t blocks, BlockFunction f, void* context) {
  if (blocks == 1) return f(context, 0);
  Job job{f, context, blocks, activity.job};
  const auto helpers = static_cast<int>(std::min<std::ptrdiff_t>(num_threads(), blocks)) - 1;
  if (helpers <= 0 || activity.nested) {
    job.work();
  } else {
    Shared& here = shared_for_this_process();
    std::unique_lock lock(here.busy, std::try_to_lock);
    if (lock.owns_lock())
      here.pool.run(job, helpers);
    else
      job.work();
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace leakscore
