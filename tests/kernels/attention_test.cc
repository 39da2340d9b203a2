// Attention against the scalar specification.
#include "limpid/core/attend.h"

#include <memory>

#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

// kFirst: the first keys are seen, by all rows as many; kHiding: -inf is added to some.
enum class Mask { kNone, kSeen, kFirst, kAdded, kHiding };

constexpr Mask kAllMasks[] = {Mask::kNone, Mask::kSeen, Mask::kFirst, Mask::kAdded, Mask::kHiding};

// One head of keys.
struct Case {
  std::size_t group = 1, queries = 1, keys = 1, size = 4, value_size = 4;
  std::int64_t ahead = 0;
  bool in_columns = false;  // the keys
  Mask mask = Mask::kNone;
  bool tiny = false;  // values so small that their products with most weights are -0

  std::size_t rows() const { return group * queries; }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.group << " x " << c.queries << " queries, " << c.keys << " keys, sizes " << c.size
             << " and " << c.value_size << ", ahead " << c.ahead << (c.in_columns ? " columns" : "")
             << (c.mask == Mask::kNone ? "" : " masked");
}

struct Data {
  Guarded q, k, v, added, out;
  std::vector<float> want;
  std::unique_ptr<bool[]> seen;

  Data(const Case& c, std::uint64_t seed, bool special)
      : q(c.rows() * c.size, 1),
        k(c.keys * c.size, 3),
        v(c.keys * c.value_size, seed % 4),  // begins or ends at a protected page
        added(c.rows() * c.keys, 1),
        out(c.rows() * c.value_size, 5),
        want(c.rows() * c.value_size, kNan),
        seen(new bool[c.rows() * c.keys]) {
    std::uint64_t i = 0;
    for (Guarded* g : {&q, &k, &v, &added})
      for (std::size_t j = 0; j < g->size(); ++j, ++i)
        (*g)[j] = special && Key(seed).uniform(i) < 0.02f
                      ? special_values()[i % special_values().size()]
                      : value(seed + 1, i);
    if (c.tiny) std::fill_n(v.data(), v.size(), -1e-45f);
    for (std::size_t j = 0; j < c.rows() * c.keys; ++j) {
      seen[j] = c.mask == Mask::kFirst ? j % c.keys < c.keys * (seed % 4) / 3
                                       : Key(seed + 2).uniform(j) < 0.5f;
      const bool whole_row = j / c.keys % 5 == 3;
      if (c.mask == Mask::kHiding && (whole_row || !seen[j])) added[j] = -kInf;
    }
  }
};

void expect_specified(const Kernels& kernels, const Case& c, std::uint64_t seed,
                      bool special = false, std::size_t pieces = 1) {
  Data d(c, seed, special);
  const arithmetic::AttentionSizes sizes{1,
                                         c.group,
                                         c.queries,
                                         c.keys,
                                         c.size,
                                         c.value_size,
                                         c.in_columns ? 1 : c.size,
                                         c.in_columns ? c.keys : 1,
                                         0.3,
                                         c.ahead};
  std::vector<float> reference_scratch(c.size + c.keys);
  const auto specify = [&](const auto& mask) {
    arithmetic::attend(sizes, d.q.data(), d.k.data(), d.v.data(), mask, reference_scratch.data(),
                       d.want.data());
  };
  const bool is_seen = c.mask == Mask::kSeen || c.mask == Mask::kFirst;
  if (is_seen)
    specify(arithmetic::SeenKeys{d.seen.get()});
  else if (c.mask != Mask::kNone)
    specify(arithmetic::AddedNumbers<float>{d.added.data()});
  else
    specify(arithmetic::EveryKey{});

  const Attention attention{
      .queries = c.queries,
      .keys = c.keys,
      .size = c.size,
      .value_size = c.value_size,
      .scale = 0.3f,
      .ahead = c.ahead,
      .q = d.q.data(),
      .k = {d.k.data(), sizes.key_step, sizes.element_step},
      .v = d.v.data(),
      .out = d.out.data(),
      .seen = is_seen ? reinterpret_cast<const std::uint8_t*>(d.seen.get()) : nullptr,
      .added = c.mask == Mask::kAdded || c.mask == Mask::kHiding ? d.added.data() : nullptr,
      .mask_row = 0,
      .mask_rows = c.rows()};
  Guarded scratch(kernels.attention_scratch_floats(c.keys, c.size, c.value_size), 0);
  for (std::size_t p = 0; p < pieces; ++p)
    kernels.attention(attention, {c.rows() * p / pieces, c.rows() * (p + 1) / pieces},
                      scratch.data());
  EXPECT_TRUE(same_values(d.out.data(), d.want.data(), d.want.size())) << c;
  EXPECT_TRUE(d.out.guards_intact() && scratch.guards_intact()) << c;
}

class AttentionTest : public OnEveryIsa {};

// As a decoder asks: one query, the first keys of a cache.
TEST_P(AttentionTest, OfOneQueryToEveryNumberOfKeys) {
  for (std::size_t keys = 1; keys <= 4096; keys += keys < 600 ? 1 : 37)
    for (const bool in_columns : {false, true})
      expect_specified(k(),
                       {.keys = keys,
                        .size = 3,
                        .value_size = 4,
                        .ahead = static_cast<std::int64_t>(keys) - 1,
                        .in_columns = in_columns},
                       keys);
}
TEST_P(AttentionTest, ToAPartOfACache) {
  for (const std::size_t places : {40u, 300u, 4096u})
    for (std::size_t seen = 1; seen <= places; seen += seen < 80 ? 1 : 401)
      for (const std::size_t queries : {1u, 2u, 7u, 30u})
        expect_specified(k(),
                         {.group = 3,
                          .queries = queries,
                          .keys = places,
                          .size = 2,
                          .value_size = 16,
                          .ahead = static_cast<std::int64_t>(seen) - 1,
                          .in_columns = true},
                         seen);
}

TEST_P(AttentionTest, OfEveryLengthToItself) {
  for (std::size_t n = 1; n <= 4096; n = n < 130 ? n + 1 : n * 2 - 126) {
    const std::size_t queries = std::min<std::size_t>(n, 130);
    expect_specified(k(),
                     {.queries = queries,
                      .keys = n,
                      .size = 5,
                      .value_size = 3,
                      .ahead = static_cast<std::int64_t>(n - queries)},
                     n, false, 1 + n % 3);
    expect_specified(k(), {.queries = queries, .keys = n, .ahead = static_cast<std::int64_t>(n)},
                     n + 1);
  }
}

// Several query heads that share keys, in parts that end within a head: its last row sees fewer
// keys than rows of the head before.
TEST_P(AttentionTest, InPartsThatEndWithinAHead) {
  for (const std::size_t n : {7u, 30u, 70u})
    for (const std::size_t pieces : {2u, 4u, 5u})
      expect_specified(k(), {.group = 3, .queries = n, .keys = n, .size = 5}, n, false, pieces);
}

TEST_P(AttentionTest, OfHeadsOfEverySize) {
  for (std::size_t size = 0; size <= 70; ++size)
    expect_specified(
        k(),
        {.group = 2, .queries = 9, .keys = 20, .size = size, .value_size = 70 - size, .ahead = 11},
        size);
  for (const std::size_t size : {255u, 256u, 257u, 600u})
    for (const bool in_columns : {false, true})
      for (const std::size_t queries : {3u, 20u})
        expect_specified(k(),
                         {.queries = queries,
                          .keys = 50,
                          .size = size,
                          .value_size = 130,
                          .ahead = 20,
                          .in_columns = in_columns},
                         size);
}

TEST_P(AttentionTest, WithMasksAndQueriesThatSeeNothing) {
  for (const Mask mask : kAllMasks)
    for (const std::int64_t ahead : {-400, -7, -1, 0, 5, 600})
      for (const std::size_t keys : {0u, 1u, 17u, 64u, 300u, 520u})
        for (const std::size_t value_size : {8u, 16u, 33u})
          expect_specified(k(),
                           {.group = 2,
                            .queries = 15,
                            .keys = keys,
                            .value_size = value_size,
                            .ahead = ahead,
                            .mask = mask},
                           keys, false, 2);
}

TEST_P(AttentionTest, OfNoQueries) { expect_specified(k(), {.queries = 0, .keys = 5}, 1); }

// A few rows of scores alone then take more than the cache.
TEST_P(AttentionTest, ToManyKeys) {
  expect_specified(k(), {.queries = 2, .keys = 20000, .size = 1, .value_size = 1, .ahead = 19998},
                   1);
}

// No path may add +0 to a sum that is -0.
TEST_P(AttentionTest, OfValuesThatUnderflowToMinusZero) {
  for (const Mask mask : kAllMasks)
    for (const std::size_t keys : {20u, 300u})
      expect_specified(k(), {.queries = 9, .keys = keys, .ahead = 12, .mask = mask, .tiny = true},
                       keys);
}

// A hidden key may hold anything.
TEST_P(AttentionTest, WithInfinitiesAndNanAnywhere) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const Mask mask : kAllMasks)
      for (const bool in_columns : {false, true})
        expect_specified(k(),
                         {.group = 1 + seed % 3,
                          .queries = 1 + seed,
                          .keys = 60 + 7 * seed,
                          .size = 3,
                          .value_size = 16,
                          .ahead = static_cast<std::int64_t>(seed) - 3,
                          .in_columns = in_columns,
                          .mask = mask},
                         seed, true);
}

LIMPID_ON_EVERY_ISA(AttentionTest);

}  // namespace
}  // namespace limpid::kernels
