// What a child of fork() must forget of its parent.
#pragma once

#ifndef _WIN32
#include <pthread.h>
#endif

namespace leakscore {

// Has `in_child` called at the beginning of every child of fork() from now on. Windows knows no
// fork. The result, without a meaning, lets a call initialise a variable.
inline int at_fork([[maybe_unused]] void (*in_child)()) {
#ifdef _WIN32
  return 0;
#else
  return pthread_atfork(nullptr, nullptr, in_child);
#endif
}

}  // namespace leakscore
