#include "limpid/core/dtype.h"

#include <array>

namespace limpid {
namespace {

struct Entry {
  Dtype dtype;
  std::string_view name;
  std::size_t size;
  bool floating;
};

constexpr std::array<Entry, 9> kEntries{{
    {Dtype::kF32, "f32", 4, true},
    {Dtype::kF64, "f64", 8, true},
    {Dtype::kBf16, "bf16", 2, true},
    {Dtype::kF16, "f16", 2, true},
    {Dtype::kI32, "i32", 4, false},
    {Dtype::kI64, "i64", 8, false},
    {Dtype::kI8, "i8", 1, false},
    {Dtype::kU8, "u8", 1, false},
    {Dtype::kBool, "bool", 1, false},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    if (static_cast<std::size_t>(kEntries[i].dtype) != i) return false;
  return true;
}
static_assert(in_order(), "kEntries is indexed by Dtype");

const Entry& entry(Dtype dtype) { return kEntries[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t size_of(Dtype dtype) { return entry(dtype).size; }
std::string_view name(Dtype dtype) { return entry(dtype).name; }
bool is_floating(Dtype dtype) { return entry(dtype).floating; }

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const Entry& e : kEntries)
    if (e.name == name) return e.dtype;
  return std::nullopt;
}

}  // namespace limpid
