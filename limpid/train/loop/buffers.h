// Buffers: double-buffered tensors: a step reads one copy and writes the other. Depends on core.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/params.h"

namespace limpid::train {

class Buffers {
 public:
  // Both copies start with these values.
  explicit Buffers(const Params& values);

  std::size_t size() const { return types_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  // The type of tensor i.
  const Type& type(std::size_t i) const { return types_[i]; }
  // Offset and total size in bytes. The tensors are contiguous, each at a multiple of 64 bytes.
  std::size_t offset(std::size_t i) const { return offsets_[i]; }
  std::size_t bytes() const { return bytes_; }

  // The current values of tensor i, to read.
  const std::byte* now(std::size_t i) const { return copies_[current_].get() + offsets_[i]; }
  // The next values of tensor i, to write.
  std::byte* next(std::size_t i) const { return copies_[1 - current_].get() + offsets_[i]; }
  // The memory of all next values.
  std::byte* next() const { return copies_[1 - current_].get(); }
  void advance() { current_ = 1 - current_; }

  // These change or return the current values.
  void zero();
  void copy_from(const Buffers& other);
  void set(const Params& values);
  Params values() const;
  // The index of this tensor; size() if there is none.
  std::size_t index(std::string_view name) const;
  bool next_is_finite() const;

 private:
  std::vector<Type> types_;
  std::vector<std::string> names_;
  std::vector<std::size_t> offsets_;
  std::size_t bytes_ = 0;
  std::array<std::shared_ptr<std::byte>, 2> copies_;
  std::size_t current_ = 0;
};

}  // namespace limpid::train
