// Stopping a long call from outside, as Ctrl-C does.
//
// The core does not know who may want to stop it: a check is registered once (the Python binding
// looks for signals), and the thread that made a call asks it now and then. An exception of the
// check ends the call like one of a block: no further block starts, workers end theirs early where
// they poll, and the exception reaches the caller when nothing runs any more.
#pragma once

#include <chrono>

namespace leakscore {

// The least time between two checks of a thread.
inline constexpr std::chrono::milliseconds check_interval{100};

// A check returns, or throws what the call is to end with. It may call this library itself. Workers
// of the pool never run it. Null for none.
using InterruptCheck = void (*)();
void set_interrupt_check(InterruptCheck check);

// To be called about every millisecond by code that may run longer than half a second without a new
// block of parallel_for. It costs the reading of a clock. Throws what the check throws and, within
// a block of a job that has failed elsewhere, an exception that ends the block.
void poll_interrupt();

// The same for code that is compiled without exceptions: whether poll_interrupt() has thrown. The
// caller of such code rethrows what it threw.
bool interrupted() noexcept;
void rethrow_interrupt();

// poll_interrupt() in every `period`-th call, for loops whose turns are short.
class SparsePoll {
 public:
  explicit SparsePoll(int period) : period_(period), left_(period) {}

  void operator()() {
    if (--left_ > 0) [[likely]]
      return;
    left_ = period_;
    poll_interrupt();
  }

 private:
  int period_, left_;
};

}  // namespace leakscore
