// The laws on loops over random bodies: a scan is its steps, one after the other; its gradient is
// the definition; its plan has the steps once. LIMPID_RANDOM_SEED sets the first seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/scan.h"
#include "tests/laws/laws.h"
#include "tests/laws/random_function.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

// A random Function as a step: its first input is the carry, which tanh keeps bounded. Each other
// input is a part of something, or shared.
struct RandomLoop {
  Function step;
  std::size_t scanned;
  std::int64_t length;
  bool reverse;
  bool recompute;
};

RandomLoop random_loop(Key key, Dtype dtype) {
  const Function f = random_function(key, 2 + static_cast<int>(key.below(8, 1)), dtype);
  const Function step = trace("step", f.inputs(), [&](std::span<const Value> in) {
    std::vector<Value> results = in.front().builder().inline_function(f, in);
    const Value& last = results.front();
    const Value next = last.type() == in[0].type() ? tanh(last) : tanh(in[0] + tanh(sum(last)));
    results.insert(results.begin(), next);
    return results;
  });
  return {step, key.below(f.inputs().size(), 2), 1 + static_cast<std::int64_t>(key.below(4, 3)),
          key.below(2, 4) == 1, key.below(2, 5) == 1};
}

// With the inputs of the loop, stacked where a step takes a part.
Function function_of(const RandomLoop& loop) {
  std::vector<Input> inputs = loop.step.inputs();
  for (std::size_t i = 1; i <= loop.scanned; ++i)
    inputs[i].type.shape = inputs[i].type.shape.insert(0, loop.length);
  return trace("loop", inputs, [&](std::span<const Value> in) {
    const Scanned all =
        scan(loop.step, in.first(1), in.subspan(1, loop.scanned), in.subspan(1 + loop.scanned),
             {loop.length, loop.reverse, loop.recompute});
    std::vector<Value> results = all.carry;
    results.insert(results.end(), all.stacked.begin(), all.stacked.end());
    return results;
  });
}

Tensor part_of(const Tensor& all, std::int64_t t) { return slice(all, 0, t); }

Tensor stacked(std::span<const Tensor> parts) {
  return Tensor::generate_bytes(
      {parts[0].dtype(), parts[0].shape().insert(0, static_cast<std::int64_t>(parts.size()))},
      [&](std::span<std::byte> out) {
        for (std::size_t i = 0; i < parts.size(); ++i)
          std::copy(parts[i].bytes().begin(), parts[i].bytes().end(),
                    out.begin() + static_cast<std::ptrdiff_t>(i * parts[i].bytes().size()));
      });
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  const Function f =
      trace("sum", {{"a", a.type()}, {"b", b.type()}},
            [](std::span<const Value> in) { return std::vector<Value>{in[0] + in[1]}; });
  return interpret(f, std::vector<Tensor>{a, b})[0];
}

// The gradient by its definition: the vjp of the step at the carries of the forward pass, from the
// last step to the first; the cotangents of what the steps share are added up in this order, from
// +0.
std::vector<Tensor> gradient_by_definition(const RandomLoop& loop, std::span<const Tensor> inputs,
                                           std::span<const Tensor> cotangents) {
  const std::size_t count = loop.step.inputs().size();
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  const Function backward = vjp(loop.step, all);
  const auto time = [&](std::int64_t step) { return loop.reverse ? loop.length - 1 - step : step; };
  const auto arguments = [&](const Tensor& carry, std::int64_t t) {
    std::vector<Tensor> step{carry};
    for (std::size_t i = 1; i < count; ++i)
      step.push_back(i <= loop.scanned ? part_of(inputs[i], t) : inputs[i]);
    return step;
  };
  std::vector<Tensor> carries{inputs[0]};
  for (std::int64_t step = 0; step < loop.length; ++step)
    carries.push_back(interpret(loop.step, arguments(carries.back(), time(step)))[0]);
  std::vector<Tensor> sums(count);
  for (std::size_t i = 1 + loop.scanned; i < count; ++i) sums[i] = Tensor::zeros(inputs[i].type());
  std::vector<std::vector<Tensor>> parts(
      count, std::vector<Tensor>(static_cast<std::size_t>(loop.length)));
  Tensor carried = cotangents[0];
  for (std::int64_t step = loop.length - 1; step >= 0; --step) {
    const std::int64_t t = time(step);
    std::vector<Tensor> in = arguments(carries[static_cast<std::size_t>(step)], t);
    in.push_back(carried);
    for (std::size_t o = 1; o < cotangents.size(); ++o) in.push_back(part_of(cotangents[o], t));
    const std::vector<Tensor> got = interpret(backward, in);
    const std::size_t first = loop.step.outputs().size();
    carried = got[first];
    for (std::size_t i = 1; i < count; ++i) {
      if (i <= loop.scanned)
        parts[i][static_cast<std::size_t>(t)] = got[first + i];
      else
        sums[i] = sum_of(sums[i], got[first + i]);
    }
  }
  std::vector<Tensor> gradient{carried};
  for (std::size_t i = 1; i < count; ++i)
    gradient.push_back(i <= loop.scanned ? stacked(parts[i]) : sums[i]);
  return gradient;
}

std::string gradient_is_definition(const RandomLoop& loop, Key key) {
  const Function f = function_of(loop);
  std::vector<std::size_t> all(f.inputs().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const Function backward = vjp(f, all);
  const std::vector<Tensor> inputs = random_inputs(backward, key);
  const std::vector<Tensor> got = interpret(backward, inputs);
  return difference(std::span(got).subspan(f.outputs().size()),
                    gradient_by_definition(loop, std::span(inputs).first(f.inputs().size()),
                                           std::span(inputs).subspan(f.inputs().size())));
}

std::string wrong_law(const RandomLoop& loop, Key key) {
  const Function f = function_of(loop);
  verify(f);
  const std::vector<Tensor> inputs = random_inputs(f, key);
  if (const std::string w = text_is_kept(f); !w.empty()) return "text: " + w;
  if (const std::string w = file_is_kept(f, key); !w.empty()) return "file: " + w;
  if (const std::string w = difference(interpret(expand(f), inputs), interpret(f, inputs));
      !w.empty())
    return "step by step: " + w;
  if (const std::string w = compiled_is_interpreted(f, inputs); !w.empty()) return "compile: " + w;
  if (const std::string w = bound_is_called(f, key); !w.empty()) return "bind: " + w;
  if (const std::string w = donated_is_interpreted(f, inputs); !w.empty()) return "donate: " + w;
  if (const std::string w = simplify_keeps_numbers(f, inputs); !w.empty()) return "simplify: " + w;
  Batch batch = all_batched(f, 0, 3);
  for (std::size_t i = 1; i < batch.axes.size(); ++i)
    if (key.below(2, 8 + i)) batch.axes[i].reset();
  if (const std::string w = vmap_is_single_calls(f, batch, {}, key); !w.empty())
    return "vmap: " + w;
  try {
    if (const std::string w = gradient_is_definition(loop, key); !w.empty())
      return "gradient: " + w;
    const Function backward = vjp(f, {0});
    if (const std::string w = compiled_is_interpreted(backward, random_inputs(backward, key));
        !w.empty())
      return "compiled gradient: " + w;
    if (inputs_of(f, Dtype::kF64).empty()) return "";
    if (const std::string w =
            jvp_is_vjp_transposed(f, inputs, inputs_of(f, Dtype::kF64), key, NotFinite::kMayBe);
        !w.empty())
      return "jvp: " + w;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kNoGradient) throw;
  }
  return "";
}

TEST(RandomLoops, ObeyTheLaws) {
  const char* const first = std::getenv("LIMPID_RANDOM_SEED");
  std::uint64_t seed = first ? std::strtoull(first, nullptr, 10) : std::random_device()();
  std::cout << "LIMPID_RANDOM_SEED=" << seed << std::endl;
  for (int i = 0; i < 100; ++i, ++seed) {
    const Key key(seed);
    const RandomLoop loop = random_loop(key, seed % 4 == 3 ? Dtype::kF64 : Dtype::kF32);
    // The laws run each loop some dozen times by the reference arithmetic.
    if (flops_of(function_of(loop)) > 300'000) continue;
    std::string wrong;
    try {
      wrong = wrong_law(loop, key);
    } catch (const std::exception& e) {
      wrong = e.what();
    }
    ASSERT_EQ(wrong, "") << "LIMPID_RANDOM_SEED=" << seed << "\n" << short_text(function_of(loop));
  }
}

// ---- what the plan of a loop takes

Function long_loop(std::int64_t length, bool gradient) {
  const Type row{Dtype::kF32, {4, 16}}, weight{Dtype::kF32, {16, 16}};
  const Function f =
      trace("loop", {{"h", row}, {"w", weight}, {"x", {Dtype::kF32, {length, 4, 16}}}},
            [](std::span<const Value> in) {
              const auto [last, all] = scan(
                  [&](Value h, Value x) {
                    const Value next = tanh(linear(h, in[1]) + x);
                    return std::tuple{next, sum(next, 1)};
                  },
                  in[0], in[2]);
              return std::vector<Value>{sum(last) + sum(all)};
            });
  return gradient ? grad(f, {0, 1}) : f;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The plan has one step for all times, and its memory grows by what the loop keeps alone.
TEST(Loops, OfManyStepsHaveThePlanOfFew) {
  for (const bool gradient : {false, true}) {
    const Executable few = compile(long_loop(10, gradient));
    const Executable many = compile(long_loop(1000, gradient));
    EXPECT_EQ(lines_of(many.plan()), lines_of(few.plan()));
    // Each step keeps its sums, and for the gradient its carry or tanh: 4 and 64 floats.
    const std::size_t a_step = (gradient ? 2 * 64 + 3 * 4 : 4) * sizeof(float);
    EXPECT_LE(many.workspace_bytes(), few.workspace_bytes() + 990 * a_step + 1000);
  }
}

// Loops of loops: the gradient of 900 steps keeps 30 carries, and 30 values of one inner loop.
TEST(Loops, OfLoopsKeepFewValuesIfTheyAreComputedAgain) {
  const Type row{Dtype::kF32, {64}};
  const auto loss = [&](bool recompute) {
    const Function f = trace(
        "loss", {{"h", row}, {"x", {Dtype::kF32, {30, 30, 64}}}}, [&](std::span<const Value> in) {
          const auto step = [](Value h, Value x) {
            return std::tuple{tanh(h * x), std::tuple<>()};
          };
          const auto steps = [&](Value h, Value xs) { return scan(step, h, xs); };
          return std::vector<Value>{
              sum(std::get<0>(scan(steps, in[0], in[1], {.recompute = recompute})))};
        });
    return grad(f, {0});
  };
  const std::vector<Tensor> inputs = random_inputs(loss(true), Key(1));
  EXPECT_EQ(difference(compile(loss(true))(inputs), compile(loss(false))(inputs)), "");
  EXPECT_GE(compile(loss(false)).workspace_bytes(), 900u * 256);
  EXPECT_LE(compile(loss(true)).workspace_bytes(), 5 * 30 * 256 + 10'000u);
}

}  // namespace
}  // namespace limpid::laws
