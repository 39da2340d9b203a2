// Tensor: an immutable n-dimensional array. Copies share the buffer.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "limpid/core/type.h"

namespace limpid {

// The memory that holds a tensor's elements.
enum class Device : std::uint8_t { kCpu };

class Tensor {
 public:
  // Alignment in bytes of every buffer that the library allocates.
  static constexpr std::size_t kAlignment = 64;

  // An empty tensor: f32, shape [0].
  Tensor();

  // Allocates a tensor and lets `fill` write its elements, which are zero before and constant
  // after. T determines the dtype (see dtype_of). Throws kNoMemory if there is not enough memory.
  template <class T>
  static Tensor generate(const Shape& shape, const std::function<void(std::span<T>)>& fill) {
    return generate_bytes(Type{dtype_of<T>, shape}, [&](std::span<std::byte> bytes) {
      fill(std::span<T>(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)));
    });
  }
  static Tensor generate_bytes(const Type& type,
                               const std::function<void(std::span<std::byte>)>& fill);

  // A copy of row-major values. Throws kShape if values.size() is not shape.elements().
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values) {
    check_count(shape, values.size());
    return generate<T>(shape, [&](std::span<T> out) {
      if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
    });
  }
  template <class T>
  static Tensor from(const Shape& shape, std::initializer_list<T> values) {
    return from(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values) {
    return from(shape, std::span<const T>(values));
  }
  template <class T>
  static Tensor scalar(T value) {
    return from(Shape{}, std::span<const T>(&value, 1));
  }
  static Tensor zeros(const Type& type);

  // A tensor whose elements are computed by `fill` at the first read and then kept. `fill` may be
  // called from any thread, and more than once: see read_once().
  static Tensor deferred(const Type& type, std::function<void(std::span<std::byte>)> fill);

  // Writes rows [first, first + count) of the leading dimension to `out`, which has their size.
  using ReadRows =
      std::function<void(std::int64_t first, std::int64_t count, std::span<std::byte> out)>;
  // A tensor whose rows are computed at every read by read_rows(), by for_each_block() and through
  // rows(), and not kept: a table that needs no memory. Any other read computes all elements, and
  // the tensor keeps them. `read` may be called from several threads at once. Throws kShape for a
  // scalar.
  static Tensor deferred_rows(const Type& type, ReadRows read);

  // A tensor over memory that `owner` keeps alive (a mapped file, say); it is never written. Throws
  // kShape unless there are type.bytes() bytes, kInvalidArgument unless the address is a multiple
  // of size_of(type.dtype).
  static Tensor borrow(const Type& type, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  Dtype dtype() const { return type_.dtype; }
  Device device() const { return Device::kCpu; }
  std::int64_t elements() const { return type_.shape.elements(); }

  // The elements, row-major. Throws kDtype if T is not the tensor's dtype.
  template <class T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>);
    return {reinterpret_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  // The only element. Throws kShape unless there is exactly one, kDtype if T is not the tensor's
  // dtype.
  template <class T>
  T item() const {
    check_one();
    return values<T>()[0];
  }
  std::span<const std::byte> bytes() const { return {data(), type_.bytes()}; }
  // The address of the elements, or of their generator if they are deferred. Together with owner()
  // it tells whether two tensors share one buffer.
  const void* identity() const { return data_ ? data_ : owner_.get(); }
  // The object that keeps the elements alive; empty if there is none.
  std::weak_ptr<const void> owner() const { return owner_; }
  // The same elements for a single reader. Deferred elements that were not read yet are computed
  // for the result alone and not kept in this tensor.
  Tensor read_once() const;

  // The same elements with another shape, without a copy. Throws kShape if the element counts
  // differ.
  Tensor reshape(const Shape& shape) const;
  // Rows [first, first + count) of the leading dimension, without a copy. Throws kShape if out of
  // range.
  Tensor rows(std::int64_t first, std::int64_t count) const;
  // Copies these rows to `out`. Throws kShape if they are out of range or `out` has another size.
  void read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) const;
  // Whether this is a tensor of deferred_rows().
  bool has_deferred_rows() const { return row_reader() != nullptr; }

  // Whether type and bytes are equal: -0 and +0 differ, a NaN equals a NaN with the same bits.
  bool same_bits(const Tensor& other) const;

 private:
  friend std::vector<Tensor> generate_together(
      std::span<const Type> types, const std::function<void(std::span<void* const>)>& fill);
  struct Deferred;

  Tensor(const Type& type, const std::byte* data, std::shared_ptr<const void> owner)
      : type_(type), data_(data), owner_(std::move(owner)) {}
  static void check_count(const Shape& shape, std::size_t count);
  void check_one() const;
  void check_dtype(Dtype wanted) const;
  const std::byte* data() const { return data_ ? data_ : make_deferred(); }
  const std::byte* make_deferred() const;
  const ReadRows* row_reader() const;
  void check_rows(std::int64_t first, std::int64_t count) const;
  std::size_t row_bytes() const;

  Type type_;
  const std::byte* data_;  // nullptr: the owner is a Deferred
  std::shared_ptr<const void> owner_;
};

// Allocates several tensors at once: `fill` receives the memory of all of them and writes every
// element; it is not zeroed.
std::vector<Tensor> generate_together(std::span<const Type> types,
                                      const std::function<void(std::span<void* const>)>& fill);

// Calls use(first, bytes) for blocks of rows that make up the tensor, in order; `first` is the
// first row of the block. Rows of Tensor::deferred_rows() are computed block by block; another
// tensor is a single block.
void for_each_block(
    const Tensor& tensor,
    const std::function<void(std::int64_t first, std::span<const std::byte> bytes)>& use);

// Memory, zeroed unless told otherwise, aligned to Tensor::kAlignment. Throws kNoMemory if there is
// not enough.
std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes, bool zeroed = true);

// A 64-bit FNV-1a hash of type and elements. It is the same on all machines of one byte order.
std::uint64_t hash(const Tensor& tensor);
// hash() of each tensor, faster than one by one.
std::vector<std::uint64_t> hashes(std::span<const Tensor> tensors);
std::uint64_t hash(std::span<const std::byte> bytes, std::uint64_t seed = 0xcbf29ce484222325ull);

}  // namespace limpid
