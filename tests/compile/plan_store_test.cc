// PlanStore: what it keeps, and for how long; and that a compiled function keeps plans by it.
#include "limpid/compile/plan_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "limpid/compile/compiled.h"
#include "limpid/ops/ops.h"
#include "tests/compile/count_allocations.h"

namespace limpid {
namespace {

TEST(PlanStore, KeepsTheLastOnesUsed) {
  PlanStore<int, std::string> store(3);
  std::vector<int> made;
  const auto get = [&](int key) -> std::string& {
    return store.get(key, [&] {
      made.push_back(key);
      return "plan " + std::to_string(key);
    });
  };
  const std::string* const first = &get(1);
  get(2);
  get(3);
  EXPECT_EQ(&get(1), first) << "it stays where it is";
  get(4);  // 2 was used before all others
  EXPECT_EQ(&get(1), first);
  EXPECT_EQ(get(2), "plan 2");
  EXPECT_EQ(made, std::vector({1, 2, 3, 4, 2}));
  std::vector<int> keys;
  for (const auto& [key, plan] : store) keys.push_back(key);
  EXPECT_EQ(keys, std::vector({2, 1, 4}));
}

TEST(PlanStore, KeepsNothingOfAPlanThatCannotBeMade) {
  PlanStore<int, int> store;
  EXPECT_THROW(store.get(1, []() -> int { throw std::string(); }), std::string);
  EXPECT_EQ(store.get(1, [] { return 5; }), 5);
}

TEST(PlanStore, ChoosesFewNumbersOfRows) {
  std::vector<std::size_t> all;
  for_each_plan_rows(20, [&](std::size_t rows) { all.push_back(rows); });
  EXPECT_EQ(all, std::vector<std::size_t>({1, 2, 4, 8, 16, 20}));
  for (std::size_t count = 1; count <= 20; ++count)
    EXPECT_EQ(plan_rows(count, 20), *std::lower_bound(all.begin(), all.end(), count));
}

TEST(PlanStore, BoundsThePlansOfCompiledCode) {
  int traced = 0;
  auto f = compile([&](Value x) {
    ++traced;
    return x + x;
  });
  const auto call = [&](std::int64_t size) { f(Tensor::zeros(f32({size}))); };
  for (int round = 0; round < 2; ++round)
    for (std::int64_t size = 1; size <= 64; ++size) call(size);
  EXPECT_EQ(traced, 64);
  call(65);
  call(64);
  EXPECT_EQ(traced, 65);
  call(1);
  EXPECT_EQ(traced, 66) << "it went for the 65th";
}

// A plan with the groups as constants is compiled when they have come again: at once, but after
// each time that others have come, only when they have come twice as often.
TEST(PlanStore, BindsGroupsThatChangeLessAndLessOften) {
  auto f = compile([](const Args& p, Value x) { return tanh(matmul(x, p.at("w"))) + p.at("b"); });
  const auto x = [] { return Tensor::zeros(f32({3, 20})); };  // another one in every call
  const auto group = [] {
    return Params{{"w", Tensor::zeros(f32({20, 30}))}, {"b", Tensor::zeros(f32({30}))}};
  };
  const Params one = group(), two = group();
  f(one, x());
  // The calls that compiled a plan, counted from 0: such a call allocates much.
  const auto compiled_in = [&](const Params& params, int calls) {
    std::vector<int> all;
    for (int i = 0; i < calls; ++i) {
      const Tensor each = x();
      const std::size_t before = allocations();
      f(params, each);
      if (allocations() - before > 60) all.push_back(i);
    }
    return all;
  };
  EXPECT_EQ(compiled_in(one, 5), std::vector({0}));
  EXPECT_EQ(compiled_in(two, 7), std::vector({2}));
  EXPECT_EQ(compiled_in(one, 9), std::vector({4}));
  EXPECT_EQ(compiled_in(two, 12), std::vector({8}));
}

TEST(PlanStore, BindsNothingWithoutGroups) {
  auto f = compile([](Value x) { return tanh(x); });
  const Tensor x = Tensor::zeros(f32({3, 20}));
  const std::size_t before = aligned_allocations();
  f(x);
  f(x);
  // The results, and the memory of one plan's runs.
  EXPECT_EQ(aligned_allocations() - before, 3u);
}

// All plans share the packed weights: constants of the code, and groups that are bound.
TEST(PlanStore, PacksWeightsOnce) {
  const Tensor weight = Tensor::zeros(f32({20, 30}));
  auto of_code = compile([&](Value x) { return matmul(x, constant(x.builder(), weight)); });
  auto of_group = compile([](const Args& p, Value x) { return matmul(x, p.at("w")); });
  const Params params{{"w", weight}};
  const auto memories = [](const auto& call) {
    const std::size_t before = aligned_allocations();
    call();
    return aligned_allocations() - before;
  };
  const auto bound = [&](std::int64_t rows) {
    const Tensor x = Tensor::zeros(f32({rows, 20}));
    of_group(params, x);
    return memories([&] { of_group(params, x); });
  };
  const auto first_call = [&](std::int64_t rows) {
    const Tensor x = Tensor::zeros(f32({rows, 20}));
    return memories([&] { of_code(x); });
  };
  const std::size_t packing = bound(3), found = bound(5);
  EXPECT_EQ(found + 1, packing);
  const std::size_t packing_code = first_call(3), found_code = first_call(5);
  EXPECT_EQ(found_code + 1, packing_code);
}

}  // namespace
}  // namespace limpid
