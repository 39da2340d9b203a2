#include "limpid/train/loop/buffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace limpid::train {

Buffers::Buffers(const Params& values) {
  for (const auto& [name, value] : values) {
    types_.push_back(value.type());
    names_.push_back(name);
    offsets_.push_back(bytes_);
    bytes_ +=
        (value.bytes().size() + Tensor::kAlignment - 1) / Tensor::kAlignment * Tensor::kAlignment;
  }
  for (auto& copy : copies_) copy = allocate_aligned(bytes_);
  set(values);
  advance();
  set(values);
}

void Buffers::zero() { std::memset(copies_[current_].get(), 0, bytes_); }

void Buffers::copy_from(const Buffers& other) {
  std::memcpy(copies_[current_].get(), other.copies_[other.current_].get(), bytes_);
}

void Buffers::set(const Params& values) {
  for (std::size_t i = 0; i < size(); ++i) {
    const std::span<const std::byte> bytes = values.at(names_[i]).bytes();
    std::copy(bytes.begin(), bytes.end(), copies_[current_].get() + offsets_[i]);
  }
}

Params Buffers::values() const {
  Params result;
  for (std::size_t i = 0; i < size(); ++i)
    result.set(names_[i], Tensor::generate_bytes(types_[i], [&](std::span<std::byte> out) {
                 std::memcpy(out.data(), now(i), out.size());
               }));
  return result;
}

std::size_t Buffers::index(std::string_view name) const {
  return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
}

bool Buffers::next_is_finite() const {
  const auto finite = [&]<class T>(std::size_t i, T) {
    const std::span<const T> values{reinterpret_cast<const T*>(next(i)),
                                    types_[i].bytes() / sizeof(T)};
    return std::all_of(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
  };
  for (std::size_t i = 0; i < size(); ++i) {
    if (types_[i].dtype == Dtype::kF32 && !finite(i, float{})) return false;
    if (types_[i].dtype == Dtype::kF64 && !finite(i, double{})) return false;
  }
  return true;
}

}  // namespace limpid::train
