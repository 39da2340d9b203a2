// The bits of every op, as published: one hash an op, over its examples. Every machine, compiler
// and instruction set gives them, or breaks the promise (docs/arithmetic.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "limpid/compile/executable.h"
#include "limpid/function/interpret.h"
#include "limpid/function/op.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

struct Published {
  std::string_view op;
  std::uint64_t hash;
};

constexpr Published kPublished[] = {
#include "tests/laws/hashes.inc"
};

// f64 has the functions of the C++ library, which differ.
bool has_published_bits(const Function& f) {
  return std::none_of(f.types().begin(), f.types().end(),
                      [](const Type& t) { return t.dtype == Dtype::kF64; });
}

// The hashes of the results, one after the other.
template <class Run>
std::uint64_t hash_of(const Op& op, const Run& run) {
  std::uint64_t all = hash(std::span<const std::byte>{});
  for (const Example& e : op.examples()) {
    const Function f = function_of(op, e);
    if (!has_published_bits(f)) continue;
    for (const Tensor& t : run(f, random_inputs(e, Key(1)))) {
      const std::uint64_t one = hash(t);
      all = hash(std::as_bytes(std::span(&one, 1)), all);
    }
  }
  return all;
}

class Hashes : public testing::TestWithParam<const Op*> {};

TEST_P(Hashes, AreThePublishedOnes) {
  const Op& op = *GetParam();
  const auto line = [&](std::uint64_t h) {
    return fmt::format("{{\"{}\", 0x{:016x}}},", op.name, h);
  };
  const std::string interpreted =
      line(hash_of(op, [](const Function& f, const auto& in) { return interpret(f, in); }));
  const auto* const published = std::find_if(std::begin(kPublished), std::end(kPublished),
                                             [&](const Published& p) { return p.op == op.name; });
  if (published == std::end(kPublished))
    GTEST_SKIP() << "tests/laws/hashes.inc does not have " << interpreted;
  EXPECT_EQ(interpreted, line(published->hash));
  for (const kernels::Isa isa : kernels::available_isas())
    EXPECT_EQ(
        line(hash_of(op, [&](const Function& f, const auto& in) { return compile(f, {isa})(in); })),
        line(published->hash))
        << name(isa);
}

INSTANTIATE_TEST_SUITE_P(
    AllOps, Hashes, testing::ValuesIn(std::vector<const Op*>(all_ops().begin(), all_ops().end())),
    [](const testing::TestParamInfo<const Op*>& which) { return std::string(which.param->name); });

}  // namespace
}  // namespace limpid::laws
