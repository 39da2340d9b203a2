// The laws on Functions nobody thought of. LIMPID_RANDOM_SECONDS makes the search longer; a failure
// names the seed and shows the Function.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "limpid/compile/executable.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"
#include "tests/laws/random_function.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

bool all_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_numbers(a[i], b[i])) return false;
  return true;
}

// Compiled equals interpreted, on every instruction set, alone and shared.
void expect_compiles(const Function& f, const std::vector<Tensor>& inputs, ThreadPool& pool) {
  const std::vector<Tensor> expected = interpret(f, inputs);
  for (kernels::Isa isa : kernels::available_isas()) {
    const Executable executable = compile(f, {isa});
    ASSERT_TRUE(all_same(executable(inputs), expected)) << name(isa) << "\n"
                                                        << to_text(f) << executable.plan();
    ASSERT_TRUE(all_same(executable(inputs, &pool), expected)) << name(isa) << ", shared";
  }
}

void expect_laws(std::uint64_t seed, ThreadPool& pool) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Key key(seed);
  const Function f = random_function(key, 3 + static_cast<int>(key.below(20, 1u << 20)));
  verify(f);
  ASSERT_EQ(parse_function(to_text(f)), f);
  const std::vector<Tensor> inputs = random_inputs(f, key.fold_in(1));
  expect_compiles(f, inputs, pool);
  ASSERT_TRUE(all_same(interpret(simplify(f), inputs), interpret(f, inputs))) << to_text(f);

  std::vector<std::optional<std::int64_t>> axes(f.inputs().size(), 0);
  const Function batched = vmap(f, axes, 3);
  const std::vector<Tensor> rows = random_inputs(batched, key.fold_in(2));
  const std::vector<Tensor> stacked = interpret(batched, rows);
  for (std::int64_t i = 0; i < 3; ++i) {
    std::vector<Tensor> single;
    for (std::size_t k = 0; k < rows.size(); ++k)
      single.push_back(rows[k].rows(i, 1).reshape(f.inputs()[k].type.shape));
    const std::vector<Tensor> expected = interpret(f, single);
    for (std::size_t o = 0; o < expected.size(); ++o)
      ASSERT_TRUE(same_numbers(stacked[o].rows(i, 1).reshape(expected[o].shape()), expected[o]))
          << to_text(f);
  }
  expect_compiles(batched, rows, pool);

  const Function loss = trace("loss", f.inputs(), [&](std::span<const Value> in) {
    Value total;
    for (const Value& out : in.front().builder().inline_function(f, in))
      total = total ? total + sum(out) : sum(out);
    return std::vector<Value>{total};
  });
  const Function gradient = value_and_grad(loss, {0});
  verify(gradient);
  expect_compiles(gradient, inputs, pool);
}

TEST(RandomFunctions, ObeyTheLaws) {
  const char* text = std::getenv("LIMPID_RANDOM_SECONDS");
  const double seconds = text ? std::atof(text) : 5;
  const char* first = std::getenv("LIMPID_RANDOM_SEED");
  ThreadPool pool({.threads = 3});
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 0;
  std::uint64_t tried = 0;
  do {
    expect_laws(seed++, pool);
    ++tried;
    if (testing::Test::HasFailure()) return;
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
           seconds);
  RecordProperty("functions", std::to_string(tried));
  EXPECT_GT(tried, 20u);
}

}  // namespace
}  // namespace limpid::laws
