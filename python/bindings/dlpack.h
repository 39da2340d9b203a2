// The structures of DLPack (https://dmlc.github.io/dlpack), as version 1.0 lays them out in memory,
// and the exchange of tensors by them. Depends on array.h.
#pragma once

#include <cstdint>
#include <optional>

#include "array.h"

namespace limpid::python {

struct DlDevice {
  std::int32_t type;  // 1: a CPU
  std::int32_t id;
};
struct DlDtype {
  std::uint8_t code;  // 0 integer, 1 unsigned, 2 float, 4 bfloat, 6 bool
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t rank;
  DlDtype dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; nullptr: row-major
  std::uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor* self);
};
struct DlManagedTensorVersioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(DlManagedTensorVersioned* self);
  std::uint64_t flags;
  DlTensor tensor;
};
inline constexpr std::int32_t kDlCpu = 1;
inline constexpr std::uint64_t kDlReadOnly = 1, kDlCopied = 2;
inline constexpr const char* kNoReadOnly = "DLPack before version 1.0 has no word for read-only";

// A capsule with the tensor. Its elements are a copy, which the receiver may write to, unless
// `copy` is false and the version has a word for read-only.
py::object to_dlpack(const Array& array, bool versioned, std::optional<bool> copy);

// What an object with __dlpack__ holds; by its __array__ where it refuses. Throws ValueError for
// another device than a CPU, TypeError for a dtype that Limpid does not have.
Leaf from_dlpack(py::handle object, const char* where);

// Copies a leaf's elements, for `why`; throws what no_copy() asks for.
Tensor copied(const Leaf& leaf);
void say_copy(const char* where, const std::string& why);

}  // namespace limpid::python
