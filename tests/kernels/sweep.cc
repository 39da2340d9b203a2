// Every elementary function at every one of the 2^32 floats, on every instruction set of this
// machine, or on that one which LIMPID_ISA names: the largest error, how many results are not the
// nearest float, and a hash of all results, which is the same for the scalar specification and each
// instruction set. Minutes for each function.
//   sweep                 all of them
//   sweep exp sin power   these
// The floats are taken in blocks of 2^24 in the order of their bits; the hash is hash_floats() of
// each block, and FNV-1a, 64 bits at a time, over the hashes of the blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "limpid/core/arithmetic.h"
#include "tests/kernels/functions.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr std::uint64_t kBlock = 1u << 24;
// Two arguments have too many pairs: a sample.
constexpr std::uint64_t kPairs = 1u << 28;

std::vector<Isa> wanted_isas() {
  if (std::getenv("LIMPID_ISA") != nullptr) return {default_isa()};
  return {available_isas().begin(), available_isas().end()};
}

struct Function {
  const char* name;
  std::optional<Element> element;
  double bound;
  std::uint64_t arguments;
  // Fills the operands from argument `first` on, the results, and the errors.
  std::function<void(std::uint64_t first, float* x, float* y, float* result, Errors& errors)> run;
};

Function of_one(const ElementaryFunction& f) {
  return {f.name, f.element, f.bound, kFloats,
          [&f](std::uint64_t first, float* x, float* y, float* result, Errors& errors) {
            for (std::size_t i = 0; i < kChunk; ++i) {
              x[i] = y[i] = from_bits(static_cast<std::uint32_t>(first + i));
              result[i] = f.specification(x[i]);
              errors.add(x[i], result[i], f.exact(x[i]));
            }
          }};
}

Function power() {
  return {"power", Element::kPower, kPowerBound, kPairs,
          [](std::uint64_t first, float* x, float* y, float* result, Errors& errors) {
            for (std::size_t i = 0; i < kChunk; ++i) {
              std::tie(x[i], y[i]) = power_pair(first + i);
              result[i] = arithmetic::power(x[i], y[i]);
              errors.add(x[i], result[i],
                         std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
            }
          }};
}

// What a block gives: its errors, and the hashes of the specification and of each instruction set.
struct Block {
  Errors errors;
  std::array<std::uint64_t, 5> hashes;
};

Block run_block(const Function& f, const std::vector<Isa>& isas, std::uint64_t first) {
  std::vector<float> x(kChunk), y(kChunk), expected(kChunk), got(kChunk);
  Block block;
  block.hashes.fill(kHashSeed);
  for (std::uint64_t begin = first; begin < first + kBlock; begin += kChunk) {
    f.run(begin, x.data(), y.data(), expected.data(), block.errors);
    block.hashes[0] = hash_floats(expected, block.hashes[0]);
    for (std::size_t i = 0; i < isas.size(); ++i) {
      const Kernels& k = kernels(isas[i]);
      k.element[static_cast<std::size_t>(*f.element)](got.data(), x.data(), y.data(), nullptr,
                                                      kChunk);
      block.hashes[i + 1] = hash_floats(got, block.hashes[i + 1]);
    }
  }
  return block;
}

// All blocks, on every CPU.
std::vector<Block> run_blocks(const Function& f, const std::vector<Isa>& isas) {
  std::vector<Block> blocks(f.arguments / kBlock);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads)
    thread = std::thread([&] {
      for (std::size_t b = next++; b < blocks.size(); b = next++)
        blocks[b] = run_block(f, isas, b * kBlock);
    });
  for (std::thread& thread : threads) thread.join();
  return blocks;
}

// Prints the line of a function; true where all is well.
bool sweep(const Function& f) {
  const std::vector<Isa> isas = f.element ? wanted_isas() : std::vector<Isa>();
  Block all;
  all.hashes.fill(kHashSeed);
  for (const Block& block : run_blocks(f, isas)) {
    all.errors.add(block.errors);
    for (std::size_t i = 0; i < all.hashes.size(); ++i)
      all.hashes[i] = (all.hashes[i] ^ block.hashes[i]) * 0x100000001b3ull;
  }
  std::string differing;
  for (std::size_t i = 0; i < isas.size(); ++i)
    if (all.hashes[i + 1] != all.hashes[0])
      differing += fmt::format("   DIFFERENT: {}", name(isas[i]));
  const double share =
      static_cast<double>(all.errors.not_nearest) / static_cast<double>(f.arguments);
  fmt::print("{:<9} {:.4f} ulp at {:<16.9g} not nearest {:8.5f} %   hash {:016x}{}{}\n", f.name,
             all.errors.largest, all.errors.at, 100 * share, all.hashes[0], differing,
             all.errors.wrong.empty() ? "" : "   WRONG: " + all.errors.wrong);
  std::fflush(stdout);
  return differing.empty() && all.errors.wrong.empty() && all.errors.largest <= f.bound;
}

int run(const std::vector<std::string>& names) {
  std::vector<Function> functions;
  for (const ElementaryFunction& f : elementary_functions()) functions.push_back(of_one(f));
  functions.push_back(power());
  bool good = true;
  for (const Function& f : functions)
    if (names.empty() || std::find(names.begin(), names.end(), f.name) != names.end())
      good = sweep(f) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace limpid::kernels

int main(int argc, char** argv) {
  return limpid::kernels::run(std::vector<std::string>(argv + 1, argv + argc));
}
