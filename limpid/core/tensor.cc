#include "limpid/core/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "limpid/core/detail/sanitized.h"
#include "limpid/core/error.h"
#include "limpid/core/stop_check.h"

namespace limpid {

namespace {

[[noreturn]] void throw_no_memory(std::size_t bytes) {
  throw Error(ErrorCode::kNoMemory,
              fmt::format("tensor: cannot allocate {} bytes of memory", bytes));
}

// Memory of this size or more is placed on huge pages if the system has them: one sequential read
// is 1.5 times as fast, and a page's parts are spread evenly over a cache.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

alignas(Tensor::kAlignment) constexpr std::array<std::byte, Tensor::kAlignment> kNoElements{};

// A sanitizer watches only the heap.
#if defined(__linux__) && !LIMPID_SANITIZED
constexpr bool kHugePages = true;

std::shared_ptr<std::byte> allocate_huge(std::size_t bytes) {
  const std::size_t rounded = (bytes / kHugePage + 1) * kHugePage;
  const std::size_t mapped = rounded + kHugePage;
  void* const all =
      rounded > bytes && mapped > rounded
          ? mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
          : MAP_FAILED;
  if (all == MAP_FAILED) throw_no_memory(bytes);
  auto* const begin = static_cast<std::byte*>(all);
  const std::size_t skipped =
      (kHugePage - reinterpret_cast<std::uintptr_t>(all) % kHugePage) % kHugePage;
  // If the system refuses, only speed is lost.
  (void)madvise(begin + skipped, rounded, MADV_HUGEPAGE);
  return {begin + skipped, [begin, mapped](std::byte*) { munmap(begin, mapped); }};
}
#else
constexpr bool kHugePages = false;

std::shared_ptr<std::byte> allocate_huge(std::size_t bytes) { throw_no_memory(bytes); }
#endif

}  // namespace

std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes, bool zeroed) {
  if (kHugePages && bytes >= kHugePage) return allocate_huge(bytes);
  // Rounded up, so that a kernel may load whole vectors at the end of the library's buffers.
  const std::size_t rounded = (bytes / Tensor::kAlignment + 1) * Tensor::kAlignment;
  if (rounded < bytes) throw_no_memory(bytes);
  auto* data = static_cast<std::byte*>(
      ::operator new (rounded, std::align_val_t{Tensor::kAlignment}, std::nothrow));
  if (!data) throw_no_memory(bytes);
  std::memset(data + (zeroed ? 0 : bytes), 0, zeroed ? rounded : rounded - bytes);
  return {data, [](std::byte* p) { ::operator delete (p, std::align_val_t{Tensor::kAlignment}); }};
}

// All empty tensors share the memory that a kernel may load past their end. None of them owns
// memory: if a later initialiser of a braced list throws, GCC 12 destroys an omitted member twice,
// which must do no harm.
Tensor::Tensor() : Tensor(Type{Dtype::kF32, Shape{0}}, kNoElements.data(), nullptr) {}

Tensor Tensor::generate_bytes(const Type& type,
                              const std::function<void(std::span<std::byte>)>& fill) {
  std::shared_ptr<std::byte> data = allocate_aligned(type.bytes());
  fill({data.get(), type.bytes()});
  const std::byte* begin = data.get();
  return {type, begin, std::move(data)};
}

Tensor Tensor::zeros(const Type& type) {
  return generate_bytes(type, [](std::span<std::byte>) {});
}

// Guarded by the mutex, except `rows`, which never changes.
struct Tensor::Deferred {
  ReadRows rows;               // of deferred_rows()
  std::int64_t row_count = 0;  // of deferred_rows(); reshape() may have changed the shape
  mutable std::mutex mutex;
  mutable std::function<void(std::span<std::byte>)> fill;
  mutable std::shared_ptr<const std::byte> elements;  // when they have been read
};

Tensor Tensor::deferred(const Type& type, std::function<void(std::span<std::byte>)> fill) {
  if (type.bytes() == 0) return zeros(type);
  auto deferred = std::make_shared<Deferred>();
  deferred->fill = std::move(fill);
  return {type, nullptr, std::move(deferred)};
}

Tensor Tensor::deferred_rows(const Type& type, ReadRows read) {
  if (type.shape.rank() == 0) throw Error(ErrorCode::kShape, "tensor: a scalar has no rows");
  if (type.bytes() == 0) return zeros(type);
  auto deferred = std::make_shared<Deferred>();
  deferred->rows = std::move(read);
  deferred->row_count = type.shape[0];
  deferred->fill = [rows = deferred->rows, count = type.shape[0]](std::span<std::byte> out) {
    rows(0, count, out);
  };
  return {type, nullptr, std::move(deferred)};
}

// nullptr where rows are not deferred, or no longer the rows of the reader.
const Tensor::ReadRows* Tensor::row_reader() const {
  if (data_) return nullptr;
  const auto& deferred = *static_cast<const Deferred*>(owner_.get());
  const bool same_rows = shape().rank() > 0 && shape()[0] == deferred.row_count;
  return deferred.rows && same_rows ? &deferred.rows : nullptr;
}

const std::byte* Tensor::make_deferred() const {
  const auto& deferred = *static_cast<const Deferred*>(owner_.get());
  const std::lock_guard lock(deferred.mutex);
  if (!deferred.elements) {
    const std::shared_ptr<std::byte> elements = allocate_aligned(type_.bytes());
    deferred.fill({elements.get(), type_.bytes()});
    deferred.elements = elements;
    deferred.fill = nullptr;  // frees what it captured
  }
  return deferred.elements.get();
}

Tensor Tensor::read_once() const {
  if (data_) return *this;
  const auto& deferred = *static_cast<const Deferred*>(owner_.get());
  const std::lock_guard lock(deferred.mutex);
  if (!deferred.elements) return generate_bytes(type_, deferred.fill);
  return {type_, deferred.elements.get(), owner_};
}

Tensor Tensor::borrow(const Type& type, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner) {
  if (bytes.size() != type.bytes())
    throw Error(ErrorCode::kShape, fmt::format("tensor: {} takes {} bytes, got {}", to_string(type),
                                               type.bytes(), bytes.size()));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(type.dtype) != 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("tensor: elements of {} must begin at a multiple of {} bytes",
                            name(type.dtype), size_of(type.dtype)));
  return {type, bytes.empty() ? kNoElements.data() : bytes.data(), std::move(owner)};
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.elements() != elements())
    throw Error(ErrorCode::kShape,
                fmt::format("reshape: {} has {} elements, {} has {}", to_string(this->shape()),
                            elements(), to_string(shape), shape.elements()));
  return {Type{dtype(), shape}, data_, owner_};
}

void Tensor::check_rows(std::int64_t first, std::int64_t count) const {
  if (shape().rank() == 0 || first < 0 || count < 0 || first > shape()[0] - count)
    throw Error(ErrorCode::kShape, fmt::format("rows: [{}, {} + {}) is outside of shape {}", first,
                                               first, count, to_string(shape())));
}

std::size_t Tensor::row_bytes() const {
  return shape()[0] == 0 ? 0 : type_.bytes() / static_cast<std::size_t>(shape()[0]);
}

Tensor Tensor::rows(std::int64_t first, std::int64_t count) const {
  check_rows(first, count);
  const Type part{dtype(), shape().replace(0, count)};
  if (row_reader())
    return deferred_rows(part, [whole = *this, first](std::int64_t begin, std::int64_t rows,
                                                      std::span<std::byte> out) {
      (*whole.row_reader())(first + begin, rows, out);
    });
  return {part, data() + row_bytes() * static_cast<std::size_t>(first), owner_};
}

void Tensor::read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) const {
  check_rows(first, count);
  const std::size_t row = row_bytes();
  if (out.size() != row * static_cast<std::size_t>(count))
    throw Error(ErrorCode::kShape, fmt::format("rows: {} rows of {} do not have {} bytes", count,
                                               to_string(type_), out.size()));
  if (out.empty()) return;
  if (const ReadRows* const read = row_reader()) return (*read)(first, count, out);
  std::memcpy(out.data(), data() + row * static_cast<std::size_t>(first), out.size());
}

bool Tensor::same_bits(const Tensor& other) const {
  return type_ == other.type_ &&
         (identity() == other.identity() || std::memcmp(data(), other.data(), type_.bytes()) == 0);
}

void Tensor::check_count(const Shape& shape, std::size_t count) {
  if (static_cast<std::size_t>(shape.elements()) != count)
    throw Error(ErrorCode::kShape, fmt::format("tensor: shape {} takes {} values, got {}",
                                               to_string(shape), shape.elements(), count));
}

void Tensor::check_one() const {
  if (shape().elements() != 1)
    throw Error(ErrorCode::kShape,
                fmt::format("item: expected a tensor of one element, got {}", to_string(type_)));
}

void Tensor::check_dtype(Dtype wanted) const {
  if (wanted != dtype())
    throw Error(ErrorCode::kDtype,
                fmt::format("tensor: elements are {}, not {}", name(dtype()), name(wanted)));
}

std::vector<Tensor> generate_together(std::span<const Type> types,
                                      const std::function<void(std::span<void* const>)>& fill) {
  std::vector<Tensor> results;
  std::vector<void*> memory;
  for (const Type& type : types) {
    std::shared_ptr<std::byte> data = allocate_aligned(type.bytes(), false);
    memory.push_back(data.get());
    const std::byte* begin = data.get();
    results.push_back(Tensor(type, begin, std::move(data)));
  }
  fill(memory);
  return results;
}

void for_each_block(
    const Tensor& tensor,
    const std::function<void(std::int64_t first, std::span<const std::byte> bytes)>& use) {
  if (!tensor.has_deferred_rows()) return use(0, tensor.bytes());
  constexpr std::size_t kBlock = std::size_t{1} << 16;  // bytes
  const std::int64_t all = tensor.shape()[0];
  const std::size_t row = tensor.type().bytes() / static_cast<std::size_t>(all);
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(1, kBlock / row));
  const std::shared_ptr<std::byte> block = allocate_aligned(static_cast<std::size_t>(rows) * row);
  for (std::int64_t first = 0; first < all; first += rows) {
    const std::int64_t count = std::min(rows, all - first);
    const std::span<std::byte> bytes(block.get(), static_cast<std::size_t>(count) * row);
    tensor.read_rows(first, count, bytes);
    use(first, bytes);
  }
}

namespace {

constexpr std::uint64_t kHashPrime = 0x100000001b3ull;

}  // namespace

std::uint64_t hash(std::span<const std::byte> bytes, std::uint64_t seed) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::uint64_t h = seed;
  while (!bytes.empty()) {
    throw_if_stopped();
    const auto chunk = bytes.first(std::min(bytes.size(), kChunk));
    for (const std::byte b : chunk) h = (h ^ static_cast<std::uint64_t>(b)) * kHashPrime;
    bytes = bytes.subspan(chunk.size());
  }
  return h;
}

std::uint64_t hash(const Tensor& tensor) {
  const std::string type = to_string(tensor.type());
  std::uint64_t h = hash(std::as_bytes(std::span(type)));
  for_each_block(tensor,
                 [&](std::int64_t, std::span<const std::byte> bytes) { h = hash(bytes, h); });
  return h;
}

// Each byte of a hash waits for a multiplication; four independent hashes take the time of one.
std::vector<std::uint64_t> hashes(std::span<const Tensor> tensors) {
  constexpr std::size_t kTogether = 4;
  std::vector<std::uint64_t> all;
  for (const Tensor& tensor : tensors) {
    const std::string type = to_string(tensor.type());
    all.push_back(hash(std::as_bytes(std::span(type))));
  }
  const auto next = [](std::uint64_t h, std::byte b) {
    return (h ^ static_cast<std::uint64_t>(b)) * kHashPrime;
  };
  std::size_t i = 0;
  for (; i + kTogether <= tensors.size(); i += kTogether) {
    std::array<std::span<const std::byte>, kTogether> bytes;
    for (std::size_t k = 0; k < kTogether; ++k) bytes[k] = tensors[i + k].bytes();
    std::size_t common = bytes[0].size();
    for (const auto& b : bytes) common = std::min(common, b.size());
    // Variables, not an array: the compiler keeps them in registers.
    std::uint64_t h0 = all[i], h1 = all[i + 1], h2 = all[i + 2], h3 = all[i + 3];
    for (std::size_t at = 0; at < common; ++at) {
      h0 = next(h0, bytes[0][at]);
      h1 = next(h1, bytes[1][at]);
      h2 = next(h2, bytes[2][at]);
      h3 = next(h3, bytes[3][at]);
    }
    const std::array<std::uint64_t, kTogether> h{h0, h1, h2, h3};
    for (std::size_t k = 0; k < kTogether; ++k) all[i + k] = hash(bytes[k].subspan(common), h[k]);
  }
  for (; i < tensors.size(); ++i) all[i] = hash(tensors[i].bytes(), all[i]);
  return all;
}

}  // namespace limpid
