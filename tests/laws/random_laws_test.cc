// The laws on random Functions: LIMPID_RANDOM_FUNCTIONS of them (default: 250), different in every
// run. LIMPID_RANDOM_SEED sets the first seed; a failure prints its seed and the shrunk Function.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <set>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/vmap.h"
#include "tests/laws/laws.h"
#include "tests/laws/random_function.h"
#include "tests/laws/random_values.h"
#include "tests/laws/shrink.h"

namespace limpid::laws {
namespace {

using Law = std::function<std::string(const Function&, Key)>;

// The law, which holds trivially if the Function has no derivative.
Law where_differentiable(const Law& law) {
  return [law](const Function& f, Key key) -> std::string {
    try {
      return law(f, key);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kNoGradient) return "";
      throw;
    }
  };
}

std::vector<std::size_t> reals(const Function& f) {
  std::vector<std::size_t> wrt = inputs_of(f, Dtype::kF32);
  return wrt.empty() ? inputs_of(f, Dtype::kF64) : wrt;
}

const std::vector<std::pair<std::string, Law>>& laws() {
  static const std::vector<std::pair<std::string, Law>> all{
      {"text", [](const Function& f, Key) { return text_is_kept(f); }},
      {"file", file_is_kept},
      {"compile", [](const Function& f,
                     Key key) { return compiled_is_interpreted(f, random_inputs(f, key)); }},
      {"compile on special values",
       [](const Function& f, Key key) {
         return compiled_is_interpreted(f, special_inputs(random_inputs(f, key), key));
       }},
      {"bind", bound_is_called},
      {"donate",
       [](const Function& f, Key key) { return donated_is_interpreted(f, random_inputs(f, key)); }},
      {"simplify",
       [](const Function& f, Key key) { return simplify_keeps_numbers(f, random_inputs(f, key)); }},
      {"simplify on special values",
       [](const Function& f, Key key) {
         return simplify_keeps_numbers(f, special_inputs(random_inputs(f, key), key));
       }},
      {"vmap",
       [](const Function& f, Key key) -> std::string {
         if (f.inputs().empty()) return "";
         const auto axis = static_cast<std::int64_t>(key.below(4, 0)) - 1;
         const auto size = static_cast<std::int64_t>(key.below(5, 1));
         Batch batch = all_batched(f, axis, size);
         for (std::size_t i = 1; i < batch.axes.size(); ++i)
           if (key.below(2, 1 + i)) batch.axes[i].reset();
         return vmap_is_single_calls(f, batch, {}, key);
       }},
      {"compile of vmap",
       [](const Function& f, Key key) -> std::string {
         if (f.inputs().empty()) return "";
         const Function g = vmap(f, all_batched(f, 0, 3).axes, 3);
         return compiled_is_interpreted(g, random_inputs(g, key));
       }},
      {"compile of vjp", where_differentiable([](const Function& f, Key key) -> std::string {
         if (reals(f).empty()) return "";
         const Function g = vjp(f, {reals(f).front()});
         verify(g);
         const std::vector<Tensor> inputs = random_inputs(g, key);
         const std::string wrong = compiled_is_interpreted(g, inputs);
         return wrong.empty() ? compiled_is_interpreted(g, special_inputs(inputs, key)) : wrong;
       })},
      {"jvp", where_differentiable([](const Function& f, Key key) -> std::string {
         if (inputs_of(f, Dtype::kF64).empty()) return "";
         return jvp_is_vjp_transposed(f, random_inputs(f, key), inputs_of(f, Dtype::kF64), key,
                                      NotFinite::kMayBe);
       })}};
  return all;
}

std::string complaint(const Law& law, const Function& f, Key key) {
  try {
    return law(f, key);
  } catch (const std::exception& e) {
    return std::string("throws ") + e.what();
  }
}

void expect_laws(std::uint64_t seed) {
  const Key key(seed);
  const int nodes = 3 + static_cast<int>(key.below(20, 1u << 20));
  // One in four in f64, for the laws that are about real numbers.
  const Function f = random_function(key, nodes, seed % 4 == 3 ? Dtype::kF64 : Dtype::kF32);
  verify(f);
  for (const auto& [name, each] : laws()) {
    const Law& law = each;  // a lambda captures no structured binding
    const std::string wrong = complaint(law, f, key);
    if (wrong.empty()) continue;
    const Function small =
        shrink(f, [&](const Function& g) { return !complaint(law, g, key).empty(); });
    ADD_FAILURE() << "LIMPID_RANDOM_SEED=" << seed << ", law: " << name << "\n"
                  << short_text(small) << complaint(law, small, key);
    return;
  }
}

TEST(RandomFunctions, ObeyTheLaws) {
  const char* const count = std::getenv("LIMPID_RANDOM_FUNCTIONS");
  const char* const first = std::getenv("LIMPID_RANDOM_SEED");
  const std::uint64_t functions = count ? std::strtoull(count, nullptr, 10) : 250;
  std::uint64_t seed = first ? std::strtoull(first, nullptr, 10) : std::random_device()();
  ASSERT_GT(functions, 0u) << "LIMPID_RANDOM_FUNCTIONS";
  std::cout << functions << " Functions, LIMPID_RANDOM_SEED=" << seed << std::endl;
  for (std::uint64_t i = 0; i < functions; ++i) {
    expect_laws(seed++);
    if (testing::Test::HasFailure()) return;
  }
}

// The generator finds every op that can appear in a Function of f32 or f64, without a list.
TEST(RandomFunctions, HoldEveryOp) {
  std::set<const Op*> missing(all_ops().begin(), all_ops().end());
  for (std::uint64_t seed = 0; seed < 400 && !missing.empty(); ++seed)
    for (const Function& f :
         {random_function(Key(seed), 20), random_function(Key(seed), 20, Dtype::kF64)})
      for (const Node& node : f.nodes()) missing.erase(node.op);
  for (const Op* op : missing) ADD_FAILURE() << op->name;
}

// ---- shrinking

// The values that depend on the result of an exp.
std::vector<bool> after_exp(const Function& f) {
  std::vector<bool> after(f.types().size(), false);
  for (const Node& node : f.nodes()) {
    bool any = node.op == &op::exp;
    for (ValueId id : node.inputs) any |= after[static_cast<std::size_t>(id)];
    for (std::size_t r = 0; r < f.output_count(node); ++r)
      after[static_cast<std::size_t>(node.first_output) + r] = any;
  }
  return after;
}

// A deliberate bug, visible if a tanh depends on the result of an exp.
bool has_tanh_after_exp(const Function& f) {
  const std::vector<bool> after = after_exp(f);
  return std::any_of(f.nodes().begin(), f.nodes().end(), [&](const Node& node) {
    return node.op == &op::tanh && after[static_cast<std::size_t>(node.inputs.front())];
  });
}

TEST(Shrink, LeavesWhatMattersAlone) {
  int found = 0;
  for (std::uint64_t seed = 0; found < 20 && seed < 4000; ++seed) {
    const Function f = random_function(Key(seed), 30);
    if (!has_tanh_after_exp(f)) continue;
    ++found;
    const Function small = shrink(f, has_tanh_after_exp);
    verify(small);
    EXPECT_TRUE(has_tanh_after_exp(small));
    EXPECT_EQ(small.outputs().size(), 1u);
    ASSERT_GE(small.nodes().size(), 2u);
    EXPECT_EQ(small.nodes().front().op, &op::exp) << short_text(small);
    EXPECT_EQ(small.nodes().back().op, &op::tanh) << short_text(small);
    // Between the two, only ops that change a type on the path may remain: nothing else is needed,
    // and no other op can be bypassed.
    const std::vector<bool> after = after_exp(small);
    for (std::size_t i = 1; i + 1 < small.nodes().size(); ++i) {
      const Node& node = small.nodes()[i];
      bool on_the_way = false;
      for (ValueId id : node.inputs) {
        if (!after[static_cast<std::size_t>(id)]) continue;
        on_the_way = true;
        EXPECT_NE(small.type(id), small.type(node.first_output)) << short_text(small);
      }
      EXPECT_TRUE(on_the_way) << short_text(small);
    }
  }
  EXPECT_EQ(found, 20);
}

TEST(Shrink, KeepsALawBroken) {
  // The bug: plans lose every exp of more than one element.
  const auto loses = [](const Function& f) {
    return std::any_of(f.nodes().begin(), f.nodes().end(), [&](const Node& node) {
      return node.op == &op::exp && f.type(node.first_output).shape.elements() > 1;
    });
  };
  const Function f = trace("f", {{"a", {Dtype::kF32, {3}}}, {"b", {Dtype::kF32, {3}}}},
                           [](std::span<const Value> in) {
                             const Value e = exp(in[0] * in[1]) + tanh(in[1]);
                             return std::vector<Value>{sum(e), exp(sum(e)), in[0]};
                           });
  const Function small = shrink(f, loses);
  EXPECT_EQ(to_text(small),
            "function f(%x0: f32[3]) {\n  %0 = exp(%x0) : f32[3]\n  return %0\n}\n");
}

}  // namespace
}  // namespace limpid::laws
