// A small thread pool for the blocks of one call.
//
// The caller cuts its work into blocks by size alone (about 64K elements), never by the number of
// threads, and each block writes its own results: so the numbers do not depend on how many threads
// took part. Only one call uses the pool at a time; a nested or concurrent call runs its blocks
// serially. Workers sleep between calls (no spinning) and are started again in a forked child.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace leakscore {

inline constexpr std::ptrdiff_t block_elements = 65536;

// The number of threads a call may use, the calling one included. At least 1.
int num_threads();
void set_num_threads(int count);

namespace pool_parts {
using BlockFunction = void (*)(void* context, std::ptrdiff_t block);
void run_blocks(std::ptrdiff_t blocks, BlockFunction f, void* context);
}  // namespace pool_parts

// Calls f(block) for every block in [0, blocks), in any order, perhaps concurrently. The first
// exception that a block throws is rethrown here after all started blocks have ended. Between
// blocks, and while it waits for workers, the calling thread may be interrupted (interrupt.hpp).
template <class F>
void parallel_for(std::ptrdiff_t blocks, F&& f) {
  using Callable = std::remove_reference_t<F>;
  const auto call = [](void* context, std::ptrdiff_t block) {
    (*static_cast<Callable*>(context))(block);
  };
  pool_parts::run_blocks(blocks, call,
                         const_cast<std::remove_const_t<Callable>*>(std::addressof(f)));
}

}  // namespace leakscore
