// The state of an object as bytes: each member in turn, vectors with their lengths. What is read is
// checked against its length, never trusted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace leakscore {

static_assert(std::endian::native == std::endian::little, "bytes are saved in this order");

class StateWriter {
 public:
  template <class T>
  void operator()(const T& value) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_same_v<T, double>);
    append(&value, sizeof value);
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    (*this)(static_cast<std::int64_t>(values.size()));
    if (!values.empty()) append(values.data(), values.size() * sizeof(T));
  }
  void require(bool) const {}

  std::string bytes;

 private:
  void append(const void* from, std::size_t size) {
    bytes.append(static_cast<const char*>(from), size);
  }
};

class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  void operator()(T& value) {
    take(&value, sizeof value);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    std::int64_t size = 0;
    (*this)(size);
    require(size >= 0 && static_cast<std::uint64_t>(size) <= rest_.size() / sizeof(T));
    values.resize(static_cast<std::size_t>(size));
    if (size > 0) take(values.data(), values.size() * sizeof(T));
  }
  void require(bool holds) const {
    if (!holds) throw std::invalid_argument("the saved state is damaged");
  }
  void require_end() const { require(rest_.empty()); }

 private:
  void take(void* to, std::size_t size) {
    require(size <= rest_.size());
    std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
};

}  // namespace leakscore
