// Random words: the published vectors of Philox, and the kernels against Key::word.
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Random123, kat_vectors: philox 4 32 10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// key.h has the definition. No word of the table is the parent of a child's.
TEST(Key, ChildrenAreApartFromItsWords) {
  for (const std::uint64_t bits : {0ull, 1ull, 0x0123456789abcdefull})
    for (const std::uint64_t data : {0ull, 1ull, 5ull, (7ull << 32) + 2}) {
      const Key parent(bits);
      const auto low = static_cast<std::uint32_t>(data),
                 high = static_cast<std::uint32_t>(data >> 32);
      const Words words = philox4x32({low, high, 0, 1}, {static_cast<std::uint32_t>(bits),
                                                         static_cast<std::uint32_t>(bits >> 32)});
      const std::uint64_t child = parent.fold_in(data).bits();
      EXPECT_EQ(child, words[0] | std::uint64_t{words[1]} << 32);
      EXPECT_NE(static_cast<std::uint32_t>(child), parent.word(4 * data));
    }
}

class RandomTest : public OnEveryIsa {};

TEST_P(RandomTest, EqualsTheTableOfTheKey) {
  const std::uint64_t firsts[] = {0, 1, 2, 3, 4, 5, 1000, (1ull << 34) - 50, ~0ull - 400};
  for (const std::uint64_t key : {0ull, 1ull, 0x0123456789abcdefull, ~0ull}) {
    for (const std::uint64_t first : firsts) {
      for (const std::size_t n :
           {0, 1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 131, 300}) {
        std::vector<std::int32_t> out(n + 1, 42);
        k().random_bits(key, first, n, out.data());
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(static_cast<std::uint32_t>(out[i]), Key(key).word(first + i))
              << "key " << key << " first " << first << " n " << n << " i " << i;
        ASSERT_EQ(out[n], 42);
      }
    }
  }
}

LIMPID_ON_EVERY_ISA(RandomTest);

}  // namespace
}  // namespace limpid::kernels
