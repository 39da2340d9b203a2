#include "limpid/core/key.h"

namespace limpid {
namespace {

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(p1) ^ counter[1] ^ key[0], low(p1), high(p0) ^ counter[3] ^ key[1], low(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::uint32_t Key::word(std::uint64_t i) const {
  const std::uint64_t block = i / 4;
  return philox4x32({low(block), high(block), 0, 0}, {low(bits_), high(bits_)})[i % 4];
}

Key Key::fold_in(std::uint64_t data) const {
  const auto words = philox4x32({low(data), high(data), 0, 1}, {low(bits_), high(bits_)});
  return Key(words[0] | std::uint64_t{words[1]} << 32);
}

}  // namespace limpid
