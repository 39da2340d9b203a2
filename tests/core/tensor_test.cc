// Tensors as values.
#include "limpid/core/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include "limpid/core/detail/sanitized.h"
#include "limpid/core/error.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

TEST(Tensor, TellsThatThereIsTooLittleMemory) {
  expect_refused(ErrorCode::kNoMemory, [] {
    Tensor::zeros({Dtype::kU8, {std::int64_t{1} << 58}});
  });
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

TEST(Tensor, HasAnItemIfItHasOneElement) {
  EXPECT_EQ(Tensor::from<float>({1, 1}, {7}).item<float>(), 7);
  const Tensor two = Tensor::from<float>({1, 2}, {1, 2});
  expect_refused(ErrorCode::kShape, [&] { two.item<float>(); });
}

TEST(Tensor, RefusesOtherCountsAndDtypesThanItsOwn) {
  for (const std::size_t count : {0, 5, 7})
    expect_refused(ErrorCode::kShape, [&] {
      Tensor::from<float>({2, 3}, std::vector<float>(count));
    });
  const Tensor t = Tensor::zeros({Dtype::kF32, {2, 3}});
  expect_refused(ErrorCode::kDtype, [&] { (void)t.values<std::int32_t>(); });
  expect_refused(ErrorCode::kDtype, [&] { (void)t.values<double>(); });
  EXPECT_EQ(t.reshape({6, 1}).shape(), (Shape{6, 1}));
  for (const std::int64_t size : {5, 7})
    expect_refused(ErrorCode::kShape, [&] { (void)t.reshape({size}); });
}

// Though its bytes are the same.
TEST(Tensor, OfAnotherTypeIsAnotherOne) {
  const Tensor t = Tensor::zeros({Dtype::kF32, {2, 3}});
  EXPECT_TRUE(t.same_bits(Tensor::zeros(t.type())));
  for (const Type& type : {Type{Dtype::kI32, {2, 3}}, Type{Dtype::kF32, {3, 2}},
                           Type{Dtype::kF32, {6}}, Type{Dtype::kF64, {3}}})
    EXPECT_FALSE(t.same_bits(Tensor::zeros(type))) << to_string(type);
}

TEST(Tensor, PartsAndOtherShapesKeepTheElementsAlive) {
  std::optional<Tensor> t = Tensor::from<float>({3, 2}, {0, 1, 2, 3, 4, 5});
  const Tensor row = t->rows(1, 1), flat = t->reshape({6});
  t.reset();
  EXPECT_FALSE(row.owner().expired());
  EXPECT_FALSE(flat.owner().expired());
  EXPECT_TRUE(row.same_bits(Tensor::from<float>({1, 2}, {2, 3})));
  EXPECT_TRUE(flat.same_bits(Tensor::from<float>({6}, {0, 1, 2, 3, 4, 5})));
}

TEST(Tensor, BorrowsElementsThatFit) {
  alignas(8) std::array<std::byte, 24> bytes{};
  const std::span<const std::byte> all = bytes;
  const auto owner = std::make_shared<int>(0);
  const Tensor t = Tensor::borrow({Dtype::kI32, {2, 3}}, all, owner);
  EXPECT_EQ(t.bytes().data(), bytes.data());
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_NO_THROW(Tensor::borrow({Dtype::kI32, {5}}, all.subspan(4), nullptr));
  EXPECT_NO_THROW(Tensor::borrow({Dtype::kU8, {23}}, all.subspan(1), nullptr));
  EXPECT_NE(Tensor::borrow({Dtype::kF32, {0}}, {}, nullptr).bytes().data(), nullptr);
}

TEST(Tensor, RefusesToBorrowBytesThatAreTooFewTooManyOrMisaligned) {
  alignas(8) std::array<std::byte, 24> bytes{};
  const std::span<const std::byte> all = bytes;
  const auto refused = [](ErrorCode code, const Type& type, std::span<const std::byte> some) {
    expect_refused(code, [&] { Tensor::borrow(type, some, nullptr); });
  };
  refused(ErrorCode::kShape, {Dtype::kI32, {2, 3}}, all.first(23));
  refused(ErrorCode::kShape, {Dtype::kI32, {5}}, all);
  refused(ErrorCode::kInvalidArgument, {Dtype::kF64, {2}}, all.subspan(4, 16));
  refused(ErrorCode::kInvalidArgument, {Dtype::kF16, {2}}, all.subspan(1, 4));
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

// Such as the file that they are read from.
TEST(Tensor, FreesWhatMadeItsDeferredElements) {
  auto source = std::make_shared<float>(5.0f);
  const std::weak_ptr<float> watched = source;
  const Tensor t =
      Tensor::deferred({Dtype::kF32, {}}, [source = std::move(source)](std::span<std::byte> out) {
        std::memcpy(out.data(), source.get(), sizeof *source);
      });
  EXPECT_EQ(t.read_once().item<float>(), 5);
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(t.item<float>(), 5);
  EXPECT_TRUE(watched.expired());
}

// Such as a file on a disk that was away for a moment.
TEST(Tensor, ReadsDeferredElementsAgainAfterAFailure) {
  int reads = 0;
  const Tensor t = Tensor::deferred({Dtype::kU8, {1}}, [&reads](std::span<std::byte> out) {
    if (++reads == 1) throw Error(ErrorCode::kIo, "away");
    out[0] = std::byte{7};
  });
  EXPECT_THROW((void)t.bytes(), Error);
  EXPECT_EQ(t.item<std::uint8_t>(), 7);
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
  // If it has been read already, there is nothing to compute.
  const auto* const kept = t.bytes().data();
  EXPECT_EQ(t.read_once().bytes().data(), kept);
  EXPECT_EQ(made, 2);
}

TEST(Tensor, KeepsElementsThatWereReadBeforeForAReaderThatOutlivesIt) {
  std::atomic<int> made{0};
  Tensor once = Tensor::scalar(0.0F);
  {
    const Tensor t = deferred_numbers({1000}, made);
    (void)t.bytes();
    once = t.read_once();
  }
  EXPECT_FALSE(once.owner().expired());
  EXPECT_EQ(once.values<float>()[999], 999);
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

// The second thread comes while the first one reads.
TEST(Tensor, ReadsDeferredElementsInOneThreadAtATime) {
  std::atomic<int> reading{0}, most{0};
  std::atomic<bool> come{false};
  const Tensor t = Tensor::deferred({Dtype::kU8, {1}}, [&](std::span<std::byte> out) {
    most = std::max(most.load(), ++reading);
    come = true;
    for (int i = 0; i < 10 && most < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    out[0] = std::byte{7};
    --reading;
  });
  std::thread second([&] {
    while (!come) std::this_thread::yield();
    EXPECT_EQ(t.read_once().item<std::uint8_t>(), 7);
  });
  EXPECT_EQ(t.item<std::uint8_t>(), 7);
  second.join();
  EXPECT_EQ(most, 1);
}

// Row r of three has the numbers 10 r and 10 r + 1; `read` counts the rows that were computed.
Tensor deferred_table(std::atomic<int>& read) {
  return Tensor::deferred_rows(
      {Dtype::kF32, {3, 2}},
      [&read](std::int64_t first, std::int64_t count, std::span<std::byte> bytes) {
        read += static_cast<int>(count);
        auto* out = reinterpret_cast<float*>(bytes.data());
        for (std::int64_t r = first; r < first + count; ++r)
          for (int c = 0; c < 2; ++c) *out++ = static_cast<float>(10 * r + c);
      });
}

std::vector<float> rows_of(const Tensor& table, std::int64_t first, std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(2 * count));
  table.read_rows(first, count, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(Tensor, ComputesDeferredRowsAtEveryRead) {
  std::atomic<int> read{0};
  const Tensor t = deferred_table(read);
  EXPECT_TRUE(t.has_deferred_rows());
  EXPECT_EQ(read, 0);
  EXPECT_EQ(rows_of(t, 1, 2), (std::vector<float>{10, 11, 20, 21}));
  EXPECT_EQ(rows_of(t, 1, 1), (std::vector<float>{10, 11}));
  EXPECT_EQ(read, 3);
  const Tensor part = t.rows(1, 2), row = part.rows(1, 1);
  EXPECT_TRUE(row.has_deferred_rows());
  EXPECT_EQ(read, 3);
  EXPECT_EQ(rows_of(row, 0, 1), (std::vector<float>{20, 21}));
  EXPECT_EQ(read, 4);
  EXPECT_FALSE(t.rows(0, 0).has_deferred_rows());
  const Tensor same = Tensor::from<float>({3, 2}, {0, 1, 10, 11, 20, 21});
  EXPECT_EQ(hash(t), hash(same));
  EXPECT_EQ(rows_of(same, 1, 2), (std::vector<float>{10, 11, 20, 21}));
  EXPECT_TRUE(part.same_bits(same.rows(1, 2)));
  EXPECT_TRUE(t.same_bits(same));
  EXPECT_EQ(read, 12);
  EXPECT_TRUE(t.same_bits(same));  // now it has its elements
  EXPECT_EQ(read, 12);
}

TEST(Tensor, DeferredRowsAreThoseOfTheirOwnShape) {
  std::atomic<int> read{0};
  const Tensor t = deferred_table(read);
  const Tensor flat = t.reshape({6}), wider = t.reshape({3, 1, 2});
  EXPECT_TRUE(wider.has_deferred_rows());
  EXPECT_FALSE(flat.has_deferred_rows());
  EXPECT_TRUE(flat.rows(2, 2).same_bits(Tensor::from<float>({2}, {10, 11})));
  for (const auto& [first, count] : {std::pair{-1, 1}, {3, 1}, {2, 2}})
    EXPECT_THROW(rows_of(t, first, count), Error) << first;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(t.rows(1, kMost), Error);
  EXPECT_THROW(t.rows(kMost, 1), Error);
  EXPECT_THROW(t.rows(1, -1), Error);
  EXPECT_THROW(t.read_rows(0, 2, {}), Error);
  std::array<std::byte, 17> more_than_two_rows{};
  EXPECT_THROW(t.read_rows(0, 2, more_than_two_rows), Error);
  const Tensor none = Tensor::zeros({Dtype::kF32, {0, 2}});
  EXPECT_EQ(none.rows(0, 0).type(), none.type());
  none.read_rows(0, 0, {});
  EXPECT_THROW(none.rows(0, 1), Error);
  EXPECT_THROW(Tensor::deferred_rows({Dtype::kF32, {}}, {}), Error);
}

TEST(Tensor, GoesThroughBlocksInOrder) {
  const Shape shape{50'000, 3};
  const Tensor t = Tensor::deferred_rows(
      {Dtype::kI32, shape}, [](std::int64_t first, std::int64_t count, auto bytes) {
        auto* out = reinterpret_cast<std::int32_t*>(bytes.data());
        for (std::int64_t i = 3 * first; i < 3 * (first + count); ++i)
          *out++ = static_cast<std::int32_t>(i);
      });
  std::int64_t next = 0, blocks = 0;
  for_each_block(t, [&](std::int64_t first, std::span<const std::byte> bytes) {
    EXPECT_EQ(3 * first, next);
    std::int32_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    EXPECT_EQ(number, next);
    next += static_cast<std::int64_t>(bytes.size() / sizeof number);
    ++blocks;
  });
  EXPECT_EQ(next, shape.elements());
  EXPECT_GT(blocks, 1);
}

// A row that is longer than a block makes a block by itself.
TEST(Tensor, GoesThroughRowsThatAreLongerThanABlock) {
  const Type type{Dtype::kU8, {3, 100'000}};
  const Tensor t = Tensor::deferred_rows(
      type, [](std::int64_t first, std::int64_t count, std::span<std::byte> bytes) {
        EXPECT_EQ(count, 1);
        std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(first));
      });
  std::int64_t next = 0;
  for_each_block(t, [&](std::int64_t first, std::span<const std::byte> bytes) {
    EXPECT_EQ(first, next++);
    EXPECT_EQ(bytes.size(), 100'000U);
    EXPECT_EQ(bytes.back(), static_cast<std::byte>(first));
  });
  EXPECT_EQ(next, 3);
}

// Memory that another tensor gave back holds its elements.
TEST(Tensor, BeginsWithZerosInMemoryThatWasUsed) {
  for (const std::int64_t size : {8, 1000, 100'000}) {
    const Type type{Dtype::kU8, {size}};
    const Tensor zeros = Tensor::zeros(type);
    for (int i = 0; i < 3; ++i) {
      Tensor::generate_bytes(type, [](std::span<std::byte> out) {
        std::fill(out.begin(), out.end(), std::byte{0xff});
      });
      EXPECT_TRUE(Tensor::zeros(type).same_bits(zeros)) << size;
    }
  }
}

// Of several at once, as of one after the other, whatever their sizes are.
TEST(Tensor, HashesOfManyAreThoseOfEach) {
  std::vector<Tensor> all;
  for (const std::int64_t size : {3, 0, 100, 7, 7, 64, 5, 1, 33, 2, 8}) {
    EXPECT_EQ(hashes(all).size(), all.size());
    all.push_back(Tensor::generate<float>({size}, [&](std::span<float> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i + 10 * all.size());
    }));
    const std::vector<std::uint64_t> together = hashes(all);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(together[i], hash(all[i])) << i;
  }
}

TEST(Dtype, HasItsNameItsSizeAndItsKind) {
  const std::tuple<Dtype, const char*, std::size_t, bool> all[] = {
      {Dtype::kF32, "f32", 4, true},   {Dtype::kF64, "f64", 8, true},
      {Dtype::kBf16, "bf16", 2, true}, {Dtype::kF16, "f16", 2, true},
      {Dtype::kI32, "i32", 4, false},  {Dtype::kI64, "i64", 8, false},
      {Dtype::kI8, "i8", 1, false},    {Dtype::kU8, "u8", 1, false},
      {Dtype::kBool, "bool", 1, false}};
  for (const auto& [dtype, text, size, floating] : all) {
    EXPECT_EQ(name(dtype), text);
    EXPECT_EQ(dtype_from_name(text), dtype);
    EXPECT_EQ(size_of(dtype), size) << text;
    EXPECT_EQ(is_floating(dtype), floating) << text;
  }
  EXPECT_EQ(dtype_from_name("f31"), std::nullopt);
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
  EXPECT_EQ((Shape{1, 2, 1, 2, 1, 2, 1, 2}).rank(), 8U);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST(Errors, OfTensorsAndShapesSayWhatIsWrong) {
  const auto refused = [](const auto& code) { expect_refused(ErrorCode::kShape, code); };
  const Tensor t = Tensor::zeros({Dtype::kF32, {3, 2}});
  alignas(8) std::array<std::byte, 24> bytes{};
  const std::span<std::byte> all = bytes;
  refused([&] { (void)t.rows(2, 5); });
  refused([&] { t.read_rows(0, 2, all.first(17)); });
  refused([] { Tensor::deferred_rows({Dtype::kF32, {}}, {}); });
  refused([] { (void)Shape{3, -1}; });
  refused([] { (void)Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
  refused([] { (void)Shape{2, Shape::kMaxElements}; });
  refused([] { normalize_axis(3, 2, "sum"); });
}

TEST(Shape, CountsItsAxesFromEitherEnd) {
  EXPECT_EQ(normalize_axis(2, 3, "sum"), 2u);
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2u);
  EXPECT_EQ(normalize_axis(-3, 3, "sum"), 0u);
  for (const std::int64_t axis : {3, -4}) EXPECT_THROW(normalize_axis(axis, 3, "sum"), Error);
  EXPECT_THROW(normalize_axis(0, 0, "sum"), Error);
}

// A sanitizer keeps memory that is freed, for a while.
#if defined(__linux__) && !LIMPID_SANITIZED
TEST(Memory, OfLargeTensorsIsGivenBackWhole) {
  const auto mapped = [] {  // pages
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
  };
  constexpr std::int64_t kTimes = 64;
  constexpr std::size_t kBytes = std::size_t{2} << 20, kPage = 4096;
  allocate_aligned(kBytes);
  const std::int64_t before = mapped();
  for (std::int64_t i = 0; i < kTimes; ++i) allocate_aligned(kBytes);
  EXPECT_LT(mapped() - before, kTimes * static_cast<std::int64_t>(kBytes / kPage) / 2);
}
#endif

// Sizes that were counted to the end of their range.
TEST(Memory, RefusesEveryByteThereIs) {
  EXPECT_THROW(allocate_aligned(std::numeric_limits<std::size_t>::max()), Error);
}

}  // namespace
}  // namespace limpid
