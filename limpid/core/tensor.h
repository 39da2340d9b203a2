// Tensor: an immutable n-dimensional array. A value: copies share the buffer.
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

// Where a tensor's elements are.
enum class Device : std::uint8_t { kCpu };

class Tensor {
 public:
  // Every buffer that the library allocates begins at a multiple of this many bytes.
  static constexpr std::size_t kAlignment = 64;

  // f32 of shape [0].
  Tensor();

  // The one way to make an array: `fill` receives the fresh, zeroed elements, and after it they are
  // constant. T stands for the dtype (see dtype_of).
  template <class T>
  static Tensor generate(const Shape& shape, const std::function<void(std::span<T>)>& fill) {
    return generate_bytes(Type{dtype_of<T>, shape}, [&](std::span<std::byte> bytes) {
      fill(std::span<T>(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)));
    });
  }
  static Tensor generate_bytes(const Type& type,
                               const std::function<void(std::span<std::byte>)>& fill);

  // A copy of row-major values. Throws kShape where values.size() is not shape.elements().
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

  // Elements that `fill` makes when they are first read; they stay then. It may be called from any
  // thread, and more than once: see read_once().
  static Tensor deferred(const Type& type, std::function<void(std::span<std::byte>)> fill);

  // Elements that somebody else owns (a mapped file, say), kept alive by `owner`, never written.
  // Throws kShape unless there are type.bytes() bytes, kInvalidArgument where they do not begin at
  // a multiple of size_of(type.dtype).
  static Tensor borrow(const Type& type, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  Dtype dtype() const { return type_.dtype; }
  Device device() const { return Device::kCpu; }
  std::int64_t elements() const { return type_.shape.elements(); }

  // The elements, row-major. Throws kDtype where T is not the tensor's dtype.
  template <class T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>);
    return {reinterpret_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  // The only element. Throws kShape unless there is exactly one.
  template <class T>
  T item() const {
    check_count(shape(), 1);
    return values<T>()[0];
  }
  std::span<const std::byte> bytes() const { return {data(), type_.bytes()}; }
  // The address of the elements, or of what makes them: with the owner it tells whether two tensors
  // are one object.
  const void* identity() const { return data_ ? data_ : owner_.get(); }
  // What keeps the elements alive. Empty where nobody owns them.
  std::weak_ptr<const void> owner() const { return owner_; }
  // The same elements, for one reader: those that are deferred and not read yet are made for the
  // result alone, so that they do not stay.
  Tensor read_once() const;

  // The same elements under another shape, without a copy. Throws kShape where the counts differ.
  Tensor reshape(const Shape& shape) const;
  // Rows [first, first + count) of the leading dimension, without a copy. Throws kShape outside of
  // it.
  Tensor rows(std::int64_t first, std::int64_t count) const;

  // Same type and same bytes: -0 and +0 differ, a NaN equals itself.
  bool same_bits(const Tensor& other) const;

 private:
  struct Deferred;

  Tensor(const Type& type, const std::byte* data, std::shared_ptr<const void> owner)
      : type_(type), data_(data), owner_(std::move(owner)) {}
  static void check_count(const Shape& shape, std::size_t count);
  void check_dtype(Dtype wanted) const;
  const std::byte* data() const { return data_ ? data_ : make_deferred(); }
  const std::byte* make_deferred() const;

  Type type_;
  const std::byte* data_;  // nullptr: the owner is a Deferred
  std::shared_ptr<const void> owner_;
};

// Several tensors at once: `fill` receives the fresh, zeroed memory of all of them.
std::vector<Tensor> generate_together(std::span<const Type> types,
                                      const std::function<void(std::span<void* const>)>& fill);

// Zeroed memory at a multiple of Tensor::kAlignment. Throws kInvalidArgument where the system has
// none left.
std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes);

// A 64-bit FNV-1a hash of type and elements: equal tensors hash alike on every machine of the same
// byte order.
std::uint64_t hash(const Tensor& tensor);
// hash() of each, in less time.
std::vector<std::uint64_t> hashes(std::span<const Tensor> tensors);
std::uint64_t hash(std::span<const std::byte> bytes, std::uint64_t seed = 0xcbf29ce484222325ull);

}  // namespace limpid
