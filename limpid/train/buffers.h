// Buffers: tensors that a step reads and writes, in two copies that change places. Depends on core.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/params.h"

namespace limpid::train {

class Buffers {
 public:
  // Both copies are these.
  explicit Buffers(const Params& values);

  std::size_t size() const { return types_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  // Of tensor i.
  const Type& type(std::size_t i) const { return types_[i]; }
  // Of the tensors in bytes, which lie one after the other at multiples of 64 bytes.
  std::size_t offset(std::size_t i) const { return offsets_[i]; }
  std::size_t bytes() const { return bytes_; }

  // Where tensor i is read, and where its next values are written.
  const std::byte* now(std::size_t i) const { return copies_[current_].get() + offsets_[i]; }
  // Of tensor i.
  std::byte* next(std::size_t i) const { return copies_[1 - current_].get() + offsets_[i]; }
  // All of the next ones.
  std::byte* next() const { return copies_[1 - current_].get(); }
  void advance() { current_ = 1 - current_; }

  // What is now.
  void zero();
  void copy_from(const Buffers& other);
  void set(const Params& values);
  Params values() const;
  // size() where there is no such name.
  std::size_t index(std::string_view name) const;
  bool next_is_finite() const;

 private:
  std::vector<Type> types_;
  std::vector<std::string> names_;
  std::vector<std::size_t> offsets_;
  std::size_t bytes_ = 0;
  std::shared_ptr<std::byte> copies_[2];
  std::size_t current_ = 0;
};

}  // namespace limpid::train
