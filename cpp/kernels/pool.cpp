#include "leakscore/parallel/pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace leakscore {
namespace {

// std::mutex::try_lock by the thread that already holds it is undefined, so nesting is tracked here.
thread_local bool inside_block = false;

struct Job {
  detail::BlockFunction f;
  void* context;
  std::ptrdiff_t blocks;
  std::atomic<std::ptrdiff_t> next{0};
  std::mutex error_mutex{};
  std::exception_ptr error{};

  void work() {
    const bool outer = inside_block;
    inside_block = true;
    for (std::ptrdiff_t b = next.fetch_add(1); b < blocks; b = next.fetch_add(1)) {
      try {
        f(context, b);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(blocks);
      }
    }
    inside_block = outer;
  }
};

class Pool {
 public:
  // Runs the job on the calling thread and on up to `helpers` workers.
  void run(Job& job, int helpers) {
    {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      job_ = &job;
      wanted_ = std::min(helpers, static_cast<int>(workers_));
    }
    wake_.notify_all();
    job.work();
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // workers that have not woken yet are no longer needed
    done_.wait(lock, [this] { return active_ == 0; });
    job_ = nullptr;
  }

 private:
  void grow(int helpers) {
    for (; static_cast<int>(workers_) < helpers; ++workers_) {
      try {
        std::thread([this] { loop(); }).detach();
      } catch (const std::system_error&) {
        return;  // no thread to be had: fewer threads, same numbers
      }
    }
  }

  void loop() {
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
  int wanted_ = 0, active_ = 0;
  std::size_t workers_ = 0;
};

std::atomic<int> thread_limit{1};

// Only one call uses the pool at a time. After a fork the child has none of the parent's workers,
// and the parent's lock may have been held: the child starts with a fresh lock and pool. The old ones
// are leaked on purpose, as workers (or the parent's state) may still refer to them.
struct Shared {
  std::mutex busy;
  Pool pool;
  pid_t owner = getpid();
};
std::atomic<Shared*> shared{nullptr};

Shared& shared_for_this_process() {
  Shared* current = shared.load();
  while (current == nullptr || current->owner != getpid()) {
    auto* fresh = new Shared;
    if (shared.compare_exchange_strong(current, fresh)) return *fresh;
    delete fresh;
  }
  return *current;
}

}  // namespace

int num_threads() { return thread_limit.load(); }

void set_num_threads(int count) { thread_limit.store(std::max(1, count)); }

void detail::run_blocks(std::ptrdiff_t blocks, BlockFunction f, void* context) {
  Job job{f, context, blocks};
  const auto helpers = static_cast<int>(std::min<std::ptrdiff_t>(num_threads(), blocks)) - 1;
  if (helpers <= 0 || inside_block) {
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
