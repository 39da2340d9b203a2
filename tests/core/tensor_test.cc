// Tensors as values.
#include "limpid/core/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

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

// Elements 0, 1, 2, ..., and how often they were made.
Tensor deferred_numbers(const Shape& shape, std::atomic<int>& made) {
  return Tensor::deferred({Dtype::kF32, shape}, [&made](std::span<std::byte> bytes) {
    ++made;
    auto* const out = reinterpret_cast<float*>(bytes.data());
    for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) out[i] = static_cast<float>(i);
  });
}

TEST(Tensor, MakesDeferredElementsWhenTheyAreRead) {
  std::atomic<int> made{0};
  const Tensor t = deferred_numbers({3, 2}, made);
  const Tensor copy = t, flat = t.reshape({6});
  EXPECT_TRUE(copy.same_bits(t));
  EXPECT_EQ(copy.identity(), t.identity());
  EXPECT_EQ(made, 0);
  EXPECT_EQ(t.values<float>()[5], 5);
  EXPECT_EQ(copy.bytes().data(), t.bytes().data());
  EXPECT_EQ(flat.bytes().data(), t.bytes().data());
  EXPECT_TRUE(t.rows(1, 2).same_bits(Tensor::from<float>({2, 2}, {2, 3, 4, 5})));
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(deferred_numbers({0}, made).bytes().empty());
  EXPECT_FALSE(deferred_numbers({6}, made).same_bits(Tensor::zeros({Dtype::kF32, {6}})));
}

TEST(Tensor, DoesNotKeepDeferredElementsThatAreReadOnce) {
  std::atomic<int> made{0};
  const Tensor t = deferred_numbers({4}, made);
  std::weak_ptr<const void> elements;
  {
    const Tensor once = t.read_once();
    elements = once.owner();
    EXPECT_TRUE(once.same_bits(Tensor::from<float>({4}, {0, 1, 2, 3})));
  }
  EXPECT_TRUE(elements.expired());
  EXPECT_EQ(made, 1);
  // Where somebody reads them anyway, there is nothing to make.
  const auto* const kept = t.bytes().data();
  EXPECT_EQ(t.read_once().bytes().data(), kept);
  EXPECT_EQ(made, 2);
}

TEST(Tensor, MakesDeferredElementsOnceForManyThreads) {
  std::atomic<int> made{0}, wrong{0};
  const Tensor t = deferred_numbers({1000}, made);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { wrong += t.values<float>()[999] != 999; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(made, 1);
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
