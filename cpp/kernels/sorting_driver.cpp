// Sorting of many numbers: pieces that stay in the second cache by the kernels, then merges.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/sorting.hpp"
#include "leakscore/bounds/sweep.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t piece_bytes = 1 << 19;
constexpr ptrdiff_t few = 1 << 10;  // elements that are sorted on the stack

void sort_block(double* x, ptrdiff_t count) { kernels().sorting->doubles(x, count); }
void sort_block(float* x, ptrdiff_t count) { kernels().sorting->floats(x, count); }

// Sorts `count` elements in `room`, which holds them and up to sorting_block more.
template <class T>
bool sort_piece(T* x, ptrdiff_t count, T* room) {
  int numbers = 1;
  for (ptrdiff_t i = 0; i < count; ++i) {
    numbers &= x[i] == x[i];
    room[i] = x[i] + T{0};
  }
  if (numbers == 0) return false;
  const ptrdiff_t whole = blocks_of(count, sorting_block) * sorting_block;
  std::fill(room + count, room + whole, std::numeric_limits<T>::infinity());
  sort_block(room, whole);
  std::copy_n(room, count, x);
  return true;
}

// Four merges without branches, side by side, as their steps do not wait for each other.
template <class T>
void merge_into(std::span<const T> first, std::span<const T> second, T* out) {
  constexpr ptrdiff_t lanes = 4, most = 1 << 16;
  const ptrdiff_t total = std::ssize(first) + std::ssize(second), share = total / lanes;
  std::array<ptrdiff_t, lanes + 1> i, j;
  for (ptrdiff_t k = 0; k <= lanes; ++k) {
    const ptrdiff_t at = k < lanes ? k * share : total;
    i[k] = sweep_parts::members_after(second, first, at);
    j[k] = at - i[k];
  }
  const std::array<ptrdiff_t, lanes + 1> end_i = i, end_j = j;
  for (ptrdiff_t done = 0; done < share;) {
    poll_interrupt();
    // No lane can leave an array before its shorter rest is used up.
    ptrdiff_t together = std::min(most, share - done);
    for (ptrdiff_t k = 0; k < lanes; ++k)
      together = std::min({together, std::ssize(first) - i[k], std::ssize(second) - j[k]});
    if (together == 0) break;
    for (ptrdiff_t s = done; s < done + together; ++s)
      for (ptrdiff_t k = 0; k < lanes; ++k) {
        const T a = first[i[k]], b = second[j[k]];
        const bool take = b < a;
        out[k * share + s] = take ? b : a;
        i[k] += !take;
        j[k] += take;
      }
    done += together;
  }
  for (ptrdiff_t k = 0; k < lanes; ++k)
    std::merge(first.begin() + i[k], first.begin() + end_i[k + 1], second.begin() + j[k],
               second.begin() + end_j[k + 1], out + (i[k] + j[k]));
}

// Merges the pieces two by two, to and fro between x and another array.
template <class T>
void merge_pieces(T* x, ptrdiff_t count, ptrdiff_t piece) {
  const auto other = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
  T *from = x, *to = other.get();
  for (ptrdiff_t run = piece; run < count; run *= 2) {
    for (ptrdiff_t start = 0; start < count; start += 2 * run) {
      const ptrdiff_t middle = std::min(start + run, count), end = std::min(middle + run, count);
      merge_into(std::span<const T>(from + start, from + middle),
                 std::span<const T>(from + middle, from + end), to + start);
    }
    std::swap(from, to);
  }
  if (from != x) std::copy_n(from, count, x);
}

template <class T>
bool sort_on_stack(T* x, ptrdiff_t count) {
  alignas(64) std::array<T, few> room;
  return sort_piece(x, count, room.data());
}

}  // namespace

template <class T>
bool sort_numbers(T* x, ptrdiff_t count) {
  if (count <= few) return sort_on_stack(x, count);
  constexpr ptrdiff_t most = piece_bytes / static_cast<ptrdiff_t>(sizeof(T));
  const ptrdiff_t piece = blocks_of(count, blocks_of(count, most));
  Scratch scratch(1, piece + sorting_block);  // in doubles, enough for both
  T* const room = reinterpret_cast<T*>(scratch.take(piece + sorting_block));
  for (ptrdiff_t start = 0; start < count; start += piece) {
    poll_interrupt();
    if (!sort_piece(x + start, std::min(piece, count - start), room)) return false;
  }
  if (piece < count) merge_pieces(x, count, piece);
  return true;
}

template bool sort_numbers(double*, ptrdiff_t);
template bool sort_numbers(float*, ptrdiff_t);

}  // namespace leakscore
