#include "limpid/compile/packings.h"

#include <algorithm>
#include <compare>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "limpid/compile/pages.h"
#include "limpid/compile/plan.h"

namespace limpid {

namespace detail {

Type packed_type(const Layout& layout) {
  if (layout.weights == Weights::kF32) {
    const std::size_t floats = layout.kernels->packed_floats(layout.k, layout.n);
    return {Dtype::kF32, {static_cast<std::int64_t>(floats)}};
  }
  const kernels::NarrowKernels& narrow = narrow_kernels(*layout.kernels, layout.weights);
  return {Dtype::kU8, {static_cast<std::int64_t>(narrow.packed_bytes(layout.k, layout.n))}};
}

namespace {

void pack(const Constant& constant, std::byte* out) {
  const Layout& l = constant.layout;
  const std::size_t row_stride = l.transposed ? 1 : l.n, column_stride = l.transposed ? l.k : 1;
  const Tensor value = constant.value.read_once();
  if (l.weights == Weights::kF32)
    l.kernels->pack({value.values<float>().data(), row_stride, column_stride}, l.k, l.n, {0, l.n},
                    reinterpret_cast<float*>(out));
  else
    narrow_kernels(*l.kernels, l.weights)
        .pack(value.bytes().data(), row_stride, column_stride, l.k, l.n, out);
}

void write(const Constant& constant, std::byte* out) {
  if (constant.layout.kernels) return pack(constant, out);
  const Tensor value = constant.value.read_once();
  std::copy(value.bytes().begin(), value.bytes().end(), out);
}

}  // namespace
}  // namespace detail

using detail::Constant;

class Packings::Kept {
 public:
  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& [key, entry] : entries_)
      if (!entry.placed.expired()) bytes += detail::round_up(entry.type.bytes());
    return bytes;
  }

  // Places the constants of a plan where its steps read them. Packings and copies are contiguous,
  // in the order in which the steps read them. Large weights have pages of their own, and large
  // constants that need no packing stay where they are.
  void place(std::span<Constant> constants) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const auto& entry) { return entry.second.placed.expired(); });
    // Held from now on: another thread may drop the last plan that uses them.
    std::vector<std::optional<Tensor>> found;
    for (const Constant& constant : constants) found.push_back(find(constant));
    const std::size_t together = bytes_together(constants, found);
    std::shared_ptr<std::byte> memory;
    if (together >= detail::kWorthAHugePage) memory = detail::allocate_pages(together);
    std::byte* next = memory.get();
    for (std::size_t i = 0; i < constants.size(); ++i) {
      Constant& constant = constants[i];
      const std::size_t bytes = placed_type(constant).bytes();
      if (!found[i]) found[i] = find(constant);  // a constant that comes twice
      if (found[i]) {
        constant.value = *std::move(found[i]);
      } else if (memory && lies_together(constant)) {
        make(constant, {memory, next});
        next += detail::round_up(bytes);
      } else if (constant.layout.kernels) {
        make(constant, allocate_aligned(bytes));
      }
    }
  }

 private:
  // An address does not identify a constant: freed memory may hold other elements by now.
  // Entry::source tells them apart.
  struct Key {
    const void* elements;  // Tensor::identity()
    std::size_t bytes;
    detail::Layout layout;

    // NOLINTNEXTLINE(modernize-use-nullptr)
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    std::weak_ptr<const void> source;  // what kept the elements alive
    Type type;
    std::weak_ptr<const std::byte> placed;
  };

  static Key key_of(const Constant& constant) {
    return {constant.value.identity(), constant.value.type().bytes(), constant.layout};
  }

  std::optional<Tensor> find(const Constant& constant) const {
    const auto found = entries_.find(key_of(constant));
    if (found == entries_.end()) return std::nullopt;
    const Entry& entry = found->second;
    const std::weak_ptr<const void> source = constant.value.owner();
    const bool same = !entry.source.owner_before(source) && !source.owner_before(entry.source);
    const std::shared_ptr<const std::byte> placed = entry.placed.lock();
    if (!same || !placed) return std::nullopt;
    return Tensor::borrow(entry.type, {placed.get(), entry.type.bytes()}, placed);
  }

  // Elements that nothing keeps alive may change unnoticed, so they are not cached.
  static bool has_owner(const Constant& constant) { return !constant.value.owner().expired(); }

  static bool lies_together(const Constant& constant) {
    constexpr std::size_t kLarge = 8 * detail::kHugePage;  // its last page may be mostly empty
    return placed_type(constant).bytes() < (constant.layout.kernels ? kLarge : detail::kHugePage);
  }

  // The packings and copies that are placed together.
  static std::size_t bytes_together(std::span<const Constant> constants,
                                    std::span<const std::optional<Tensor>> found) {
    std::size_t bytes = 0;
    std::set<Key> seen;
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const Constant& constant = constants[i];
      if (!lies_together(constant) || found[i]) continue;
      if (has_owner(constant) && !seen.insert(key_of(constant)).second) continue;
      bytes += detail::round_up(placed_type(constant).bytes());
    }
    return bytes;
  }

  void make(Constant& constant, std::shared_ptr<std::byte> memory) {
    const Type type = placed_type(constant);
    detail::write(constant, memory.get());
    if (has_owner(constant))
      entries_.insert_or_assign(key_of(constant), Entry{constant.value.owner(), type, memory});
    const std::span<const std::byte> placed(memory.get(), type.bytes());
    constant.value = Tensor::borrow(type, placed, std::move(memory));
  }

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

Packings::Packings() : kept_(std::make_unique<Kept>()) {}
Packings::~Packings() = default;

std::size_t Packings::bytes() const { return kept_->bytes(); }
void Packings::place(std::span<Constant> constants) { kept_->place(constants); }

}  // namespace limpid
