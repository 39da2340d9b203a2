// Random words: Philox4x32-10 of limpid/core/key.h, several counters at once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/random.cc"
#include "limpid/core/key.h"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/lanes-inl.h"

#ifndef LIMPID_KERNELS_RANDOM_WORDS_
#define LIMPID_KERNELS_RANDOM_WORDS_
namespace limpid::kernels {
// One call of the scalar bijection gives four words. It is baseline code: functions of std::array
// must not be instantiated for a target that the CPU may lack.
void random_words(std::uint64_t key, std::uint64_t first, std::size_t n, std::int32_t* out);
}  // namespace limpid::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
void random_bits(std::uint64_t key, std::uint64_t first, std::size_t n, std::int32_t* out) {
  random_words(key, first, n, out);
}
#else

using U64 = hn::ScalableTag<std::uint64_t>;
using VU64 = hn::Vec<U64>;

constexpr int kRounds = 10;
// Counters per vector: a word takes the low half of a 64-bit lane, which holds its products.
constexpr std::size_t kCounters = kLanes / 2;
// Vectors in flight, to cover the latency of the multiplications.
constexpr std::size_t kFlight = 4;

struct RoundKeys {
  VU64 low[kRounds], high[kRounds];

  HWY_INLINE explicit RoundKeys(std::uint64_t key) {
    auto low_word = static_cast<std::uint32_t>(key);
    auto high_word = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < kRounds; ++round) {
      low[round] = hn::Set(U64(), low_word);
      high[round] = hn::Set(U64(), high_word);
      low_word += 0x9E3779B9u;
      high_word += 0xBB67AE85u;
    }
  }
};

// The low halves of the products' operands are the words; what the upper halves hold is ignored.
HWY_INLINE VU64 product(VU64 word, std::uint32_t multiplier) {
  return hn::MulEven(hn::BitCast(U32(), word), hn::Set(U32(), multiplier));
}

// The words of kCounters counters in the order of the table. Lane 2 j is counter j, lane 2 j + 1 is
// counter kCounters / 2 + j: so interleaving puts them in order.
HWY_INLINE void store_words(const VU64 (&c)[4], std::int32_t* out) {
  const U64 d;
  const VU64 low = hn::Set(d, 0xffffffffu);
  const VU64 first = hn::Or(hn::And(c[0], low), hn::ShiftLeft<32>(c[1]));
  const VU64 second = hn::Or(hn::And(c[2], low), hn::ShiftLeft<32>(c[3]));
  store(hn::InterleaveLower(d, first, second), d, out);
  store(hn::InterleaveUpper(d, first, second), d, out + kLanes);
}

// 4 * kCounters * kFlight words from the counter `block` on.
HWY_INLINE void philox(VU64 offsets, std::uint64_t block, const RoundKeys& keys,
                       std::int32_t* out) {
  const U64 d;
  VU64 c[kFlight][4];
  LIMPID_UNROLL
  for (std::size_t f = 0; f < kFlight; ++f) {
    c[f][0] = hn::Add(hn::Set(d, block + f * kCounters), offsets);
    c[f][1] = hn::ShiftRight<32>(c[f][0]);
    c[f][2] = hn::Zero(d);
    c[f][3] = hn::Zero(d);
  }
  LIMPID_UNROLL
  for (int round = 0; round < kRounds; ++round) {
    LIMPID_UNROLL
    for (std::size_t f = 0; f < kFlight; ++f) {
      const VU64 p0 = product(c[f][0], 0xD2511F53u);
      const VU64 p1 = product(c[f][2], 0xCD9E8D57u);
      c[f][0] = hn::Xor(hn::ShiftRight<32>(p1), hn::Xor(c[f][1], keys.low[round]));
      c[f][1] = p1;
      c[f][2] = hn::Xor(hn::ShiftRight<32>(p0), hn::Xor(c[f][3], keys.high[round]));
      c[f][3] = p0;
    }
  }
  LIMPID_UNROLL
  for (std::size_t f = 0; f < kFlight; ++f) store_words(c[f], out + f * 4 * kCounters);
}

void random_bits(std::uint64_t key, std::uint64_t first, std::size_t n, std::int32_t* out) {
  constexpr std::size_t kWords = 4 * kCounters * kFlight;
  alignas(64) std::uint64_t lanes[kCounters];
  for (std::size_t j = 0; j < kCounters; ++j) lanes[j] = j / 2 + j % 2 * (kCounters / 2);
  const VU64 offsets = hn::Load(U64(), lanes);
  const RoundKeys keys(key);

  while (n > 0) {
    const auto skipped = static_cast<std::size_t>(first % 4);
    std::size_t count = kWords;
    if (skipped == 0 && n >= kWords) {
      philox(offsets, first / 4, keys, out);
    } else {
      alignas(64) std::int32_t words[kWords];
      philox(offsets, first / 4, keys, words);
      count = HWY_MIN(n, kWords - skipped);
      __builtin_memcpy(out, words + skipped, count * sizeof(std::int32_t));
    }
    first += count;
    out += count;
    n -= count;
  }
}
#endif

void fill_random(Kernels& table) { table.random_bits = random_bits; }

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void random_words(std::uint64_t key, std::uint64_t first, std::size_t n, std::int32_t* out) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  for (std::size_t i = 0; i < n;) {
    const std::uint64_t block = (first + i) / 4;
    const auto words = philox4x32({low(block), low(block >> 32), 0, 0}, {low(key), low(key >> 32)});
    for (auto w = static_cast<std::size_t>((first + i) % 4); w < 4 && i < n; ++w, ++i)
      out[i] = static_cast<std::int32_t>(words[w]);
  }
}

void fill_random(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_random(table)) }

}  // namespace limpid::kernels
#endif
