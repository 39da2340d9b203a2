// Tensors as values.
#include "limpid/core/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "limpid/core/error.h"

namespace limpid {
namespace {

std::string borrow_error(const Type& type, std::span<const std::byte> bytes) {
  try {
    Tensor::borrow(type, bytes, nullptr);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// A compiler that destroys a default tensor twice does no harm: GCC 12 does where a braced list
// leaves a member out and a later initialiser throws.
TEST(Tensor, DefaultOnesOwnNoMemory) {
  const Tensor a;
  const Tensor b;
  EXPECT_EQ(a.type(), (Type{Dtype::kF32, Shape{0}}));
  EXPECT_TRUE(a.bytes().empty());
  EXPECT_EQ(a.bytes().data(), b.bytes().data());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.bytes().data()) % Tensor::kAlignment, 0U);
}

TEST(Tensor, BorrowsElementsThatFit) {
  alignas(8) std::array<std::byte, 24> bytes{};
  const std::span<const std::byte> all = bytes;
  const auto owner = std::make_shared<int>(0);
  const Tensor t = Tensor::borrow({Dtype::kI32, {2, 3}}, all, owner);
  EXPECT_EQ(t.bytes().data(), bytes.data());
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(borrow_error({Dtype::kI32, {5}}, all.subspan(4)), "");
  EXPECT_EQ(borrow_error({Dtype::kU8, {23}}, all.subspan(1)), "");
  EXPECT_NE(Tensor::borrow({Dtype::kF32, {0}}, {}, nullptr).bytes().data(), nullptr);
}

TEST(Tensor, RefusesToBorrowBytesThatAreTooFewTooManyOrMisaligned) {
  alignas(8) std::array<std::byte, 24> bytes{};
  const std::span<const std::byte> all = bytes;
  EXPECT_EQ(borrow_error({Dtype::kI32, {2, 3}}, all.first(23)),
            "tensor: i32[2, 3] takes 24 bytes, 23 were given");
  EXPECT_EQ(borrow_error({Dtype::kI32, {5}}, all), "tensor: i32[5] takes 20 bytes, 24 were given");
  EXPECT_EQ(borrow_error({Dtype::kF64, {2}}, all.subspan(4, 16)),
            "tensor: elements of f64 must begin at a multiple of 8 bytes");
  EXPECT_EQ(borrow_error({Dtype::kF16, {2}}, all.subspan(1, 4)),
            "tensor: elements of f16 must begin at a multiple of 2 bytes");
}

// For any size of an object: that of this machine, and of one with addresses of 32 bits.
TEST(Shape, HasAsManyElementsAsAnObjectMayHave) {
  for (const std::int64_t object : {std::int64_t{std::numeric_limits<std::ptrdiff_t>::max()},
                                    std::int64_t{std::numeric_limits<std::int32_t>::max()}}) {
    const std::int64_t most = most_elements(object);
    EXPECT_GT(most, object / 32);
    EXPECT_LE(8 * most, object / 2) << "two sizes cannot be added";
    EXPECT_EQ(elements_of(std::array{most}, most), most);
    EXPECT_EQ(elements_of(std::array{most / 2, std::int64_t{2}}, most), most / 2 * 2);
    EXPECT_EQ(elements_of(std::array{most / 2 + 1, std::int64_t{2}}, most), std::nullopt);
    EXPECT_EQ(elements_of(std::array{most + 1}, most), std::nullopt);
    EXPECT_EQ(elements_of(std::array{std::int64_t{0}, most, std::int64_t{2}}, most), std::nullopt);
    EXPECT_EQ(elements_of(std::array{std::int64_t{0}, most}, most), 0);
  }
  EXPECT_EQ(Shape{Shape::kMaxElements}.elements(), Shape::kMaxElements);
  EXPECT_THROW(Shape{Shape::kMaxElements + 1}, Error);
}

// Sizes that were counted to the end of their range.
TEST(Memory, RefusesEveryByteThereIs) {
  EXPECT_THROW(allocate_aligned(std::numeric_limits<std::size_t>::max()), Error);
}

}  // namespace
}  // namespace limpid
