// Promises of single transformations beyond the laws for every op: jvp, simplify, collapse, and
// gradients with recomputation.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/collapse.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/jvp.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"
#include "tests/laws/laws.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

using Code = std::vector<Value> (*)(std::span<const Value>);

// ---- grad

// exp(x) + tanh(x) + sin(x), the three written in this order or the other way round.
Function three_ways(bool reversed) {
  return trace("f", {{"x", {Dtype::kF32, {64}}}}, [&](std::span<const Value> in) {
    Value e, t, s;
    if (reversed) {
      s = sin(in[0]);
      t = tanh(in[0]);
      e = exp(in[0]);
    } else {
      e = exp(in[0]);
      t = tanh(in[0]);
      s = sin(in[0]);
    }
    const Value first = e + t;
    return std::vector<Value>{first + s};
  });
}

// Compilers evaluate the operands of an expression in different orders. The bits of a gradient that
// adds three cotangents must not depend on that.
TEST(Grad, DoesNotDependOnTheOrderInWhichOpsWereWritten) {
  const Function one = vjp(three_ways(false), {0});
  const Function other = vjp(three_ways(true), {0});
  const std::vector<Tensor> inputs = random_inputs(one, Key(1), -3, 3);
  EXPECT_TRUE(interpret(one, inputs)[1].same_bits(interpret(other, inputs)[1]));
}

// ---- jvp

double item(const Function& f, const std::vector<double>& inputs, std::size_t output) {
  std::vector<Tensor> tensors;
  for (double x : inputs) tensors.push_back(Tensor::scalar(x));
  return interpret(f, tensors)[output].item<double>();
}

TEST(Jvp, OfJvpIsTheSecondDerivative) {
  const Function f = trace(
      "f", {{"x", {Dtype::kF64, {}}}},
      [](std::span<const Value> in) { return std::vector<Value>{in[0] * in[0] * in[0]}; }, {"y"});
  const Function first = jvp(f, {0});
  EXPECT_EQ(first.inputs()[1].name, "tangent.x");
  EXPECT_EQ(first.outputs()[0].name, "y");
  EXPECT_EQ(first.outputs()[1].name, "tangent.y");
  EXPECT_EQ(item(first, {2, 10}, 0), 8);
  EXPECT_EQ(item(first, {2, 10}, 1), 120);
  // Along the first input alone: d/dx of 3 x^2 t.
  const Function second = jvp(first, {0});
  EXPECT_EQ(second.inputs()[2].name, "tangent.tangent.x");
  EXPECT_EQ(item(second, {2, 10, 1}, 3), 120);
  EXPECT_EQ(jvp(first, {0, 1}).inputs().size(), 4u);
}

TEST(Jvp, MovesOnlyWhatItIsAskedTo) {
  const Function f = trace(
      "f", {{"x", {Dtype::kF64, {}}}, {"y", {Dtype::kF64, {}}}}, [](std::span<const Value> in) {
        return std::vector<Value>{in[0] * in[1], cast(in[0], Dtype::kI32), in[1]};
      });
  const Function g = jvp(f, {1});
  ASSERT_EQ(g.outputs().size(), 5u);  // no tangent of the integer
  EXPECT_EQ(g.outputs()[3].name, "tangent.0");
  EXPECT_EQ(g.outputs()[4].name, "tangent.2");
  EXPECT_EQ(item(g, {3, 5, 7}, 3), 21);
  EXPECT_EQ(item(g, {3, 5, 7}, 4), 7);
}

TEST(Jvp, SharesTheWorkWithTheFunction) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {4}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{tanh(in[0])};
  });
  const Function g = jvp(f, {0});
  // tanh, 1 (a constant, repeated), y^2, 1 - y^2, times the tangent
  EXPECT_LE(g.nodes().size(), 6u) << short_text(g);
  for (const Node& node : g.nodes()) EXPECT_NE(node.op, &op::barrier);
}

TEST(Jvp, RefusesWhatVjpRefuses) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {4}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{cast(in[0] < in[0], Dtype::kF32)};
  });
  try {
    jvp(f, {0});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNoGradient);
  }
}

// ---- simplify

struct TransformCase {
  std::string name;
  Code code;
  std::size_t nodes;  // that are left
};

TEST(Simplify, FindsWhatIsHadForLess) {
  using Out = std::vector<Value>;
  using In = std::span<const Value>;
  const std::vector<TransformCase> cases{
      {"x * 1", [](In in) { return Out{in[0] * 1.0}; }, 0},
      {"1 * x", [](In in) { return Out{1.0 * in[0]}; }, 0},
      {"x / 1", [](In in) { return Out{in[0] / 1.0}; }, 0},
      {"x - 0", [](In in) { return Out{in[0] - 0.0}; }, 0},
      {"x + -0", [](In in) { return Out{in[0] + -0.0}; }, 0},
      {"-0 + x", [](In in) { return Out{-0.0 + in[0]}; }, 0},
      {"--x", [](In in) { return Out{-(-in[0])}; }, 0},
      {"||x||", [](In in) { return Out{abs(abs(in[0]))}; }, 1},
      {"max(x, x)", [](In in) { return Out{maximum(in[0], in[0])}; }, 0},
      {"min(x, inf)",
       [](In in) {
         return Out{minimum(in[0], number_like(in[0], std::numeric_limits<double>::infinity()))};
       },
       0},
      {"max(x, -inf)",
       [](In in) {
         return Out{maximum(in[0], number_like(in[0], -std::numeric_limits<double>::infinity()))};
       },
       0},
      {"c and true",
       [](In in) {
         const Value c = in[0] < in[1];
         return Out{
             logical_and(c, broadcast(constant(c.builder(), Tensor::scalar(true)), c.shape()))};
       },
       1},
      {"n * 1 of 64 bits", [](In in) { return Out{cast(in[0], Dtype::kI64) * 1.0}; }, 1},
      {"d * 1 of 64 bits", [](In in) { return Out{cast(in[0], Dtype::kF64) * 1.0}; }, 1},
      {"select(c, x, x)", [](In in) { return Out{select(in[0] < in[1], in[1] * 1.0, in[1])}; }, 0},
      {"select(true, x, y)",
       [](In in) {
         const Value yes = constant(in[0].builder(), Tensor::scalar(true));
         return Out{select(yes, in[0], in[1])};
       },
       0},
      {"select(false, x, y)",
       [](In in) {
         const Value no = constant(in[0].builder(), Tensor::scalar(false));
         return Out{select(no, in[0], in[1])};
       },
       0},
      {"c or true",
       [](In in) {
         const Value c = in[0] < in[1];
         return Out{
             logical_or(c, broadcast(constant(c.builder(), Tensor::scalar(true)), c.shape()))};
       },
       4},
      {"min(n, lowest)",
       [](In in) {
         const Value n = cast(in[0], Dtype::kI32);
         return Out{minimum(n, number_like(n, std::numeric_limits<std::int32_t>::lowest()))};
       },
       4},
      {"not not", [](In in) { return Out{logical_not(logical_not(in[0] < in[1]))}; }, 1},
      {"reshape back",
       [](In in) {
         return Out{reshape(reshape(in[0], {6}), {2, 3})};
       },
       0},
      {"reshape twice",
       [](In in) {
         return Out{reshape(reshape(in[0], {6}), {3, 2})};
       },
       1},
      {"transpose back",
       [](In in) {
         return Out{transpose(transpose(in[0], {1, 0}), {1, 0})};
       },
       0},
      {"transpose twice",
       [](In in) {
         return Out{transpose(transpose(reshape(in[0], {1, 2, 3}), {1, 2, 0}), {1, 0, 2})};
       },
       2},
      {"transpose of nothing",
       [](In in) {
         return Out{transpose(in[0], {0, 1})};
       },
       0},
      {"broadcast twice",
       [](In in) {
         return Out{broadcast(broadcast(in[0], {4, 2, 3}), {5, 4, 2, 3})};
       },
       1},
      {"slice of all",
       [](In in) {
         return Out{slice(in[0], {0, 0}, {2, 3}, {1, 1})};
       },
       0},
      {"pad by nothing",
       [](In in) {
         return Out{pad(in[0], {0, 0}, {0, 0}, {0, 0})};
       },
       0},
      {"slice of some",
       [](In in) {
         return Out{slice(in[0], {0, 0}, {1, 3}, {1, 1})};
       },
       1},
      {"concatenate of one",
       [](In in) {
         return Out{call(op::concatenate, in.first(1), {{"axis", std::int64_t{0}}})[0]};
       },
       0},
      {"f32 to f64 and back",
       [](In in) { return Out{cast(cast(in[0], Dtype::kF64), Dtype::kF32)}; }, 0},
      {"calls of constants",
       [](In in) {
         Builder& b = in[0].builder();
         return Out{exp(constant(b, 1.5, Dtype::kF32)) + constant(b, 2, Dtype::kF32)};
       },
       1},
      // and what must stay
      {"max(x, inf)",
       [](In in) {
         return Out{maximum(in[0], number_like(in[0], std::numeric_limits<double>::infinity()))};
       },
       3},
      {"c and false",
       [](In in) {
         const Value c = in[0] < in[1];
         return Out{
             logical_and(c, broadcast(constant(c.builder(), Tensor::scalar(false)), c.shape()))};
       },
       4},
      {"min(n, lowest) of 64 bits",
       [](In in) {
         const Value n = cast(in[0], Dtype::kI64);
         return Out{minimum(n, number_like(n, -0x1p63))};
       },
       4},
      {"x + 0", [](In in) { return Out{in[0] + 0.0}; }, 3},
      {"x - -0", [](In in) { return Out{in[0] - -0.0}; }, 3},
      {"0 - x", [](In in) { return Out{0.0 - in[0]}; }, 3},
      {"x * 0", [](In in) { return Out{in[0] * 0.0}; }, 3},
      {"x - x", [](In in) { return Out{in[0] - in[0]}; }, 1},
      {"x / x", [](In in) { return Out{in[0] / in[0]}; }, 1},
      {"1 / x", [](In in) { return Out{1.0 / in[0]}; }, 3},
      {"f32 to i32 and back",
       [](In in) { return Out{cast(cast(in[0], Dtype::kI32), Dtype::kF32)}; }, 2},
      {"f32 to i64 by way of i32",
       [](In in) { return Out{cast(cast(in[0], Dtype::kI32), Dtype::kI64)}; }, 2},
      {"a barrier",
       [](In in) {
         return Out{barrier(in[0]), barrier(in[0])};
       },
       2}};
  for (const TransformCase& c : cases) {
    const Function f =
        trace(c.name, {{"x", {Dtype::kF32, {2, 3}}}, {"y", {Dtype::kF32, {2, 3}}}}, c.code);
    const Function g = simplify(f);
    EXPECT_EQ(g.nodes().size(), c.nodes) << c.name << "\n" << short_text(g);
    EXPECT_EQ(g.inputs().size(), 2u);
    for (std::uint64_t k = 0; k < 8; ++k)
      EXPECT_EQ(simplify_keeps_numbers(f, special_inputs(random_inputs(f, Key(k)), Key(k))), "")
          << c.name;
  }
}

// Every way from one dtype through a second to a third, on numbers that do not fit.
TEST(Simplify, KeepsCastsOfCasts) {
  const Dtype all[] = {Dtype::kF32, Dtype::kF64, Dtype::kBf16, Dtype::kF16, Dtype::kI32,
                       Dtype::kI64, Dtype::kI8,  Dtype::kU8,   Dtype::kBool};
  for (Dtype a : all)
    for (Dtype b : all)
      for (Dtype c : all) {
        const Function f = trace("f", {{"x", {Dtype::kF64, {40}}}}, [&](std::span<const Value> in) {
          return std::vector<Value>{cast(cast(cast(in[0], a), b), c)};
        });
        for (double most : {3.0, 1e3, 1e12, 1e30}) {
          const std::vector<Tensor> x{random_tensor({Dtype::kF64, {40}}, Key(1), -most, most, 2)};
          EXPECT_EQ(difference(interpret(simplify(f), x), interpret(f, x)), "")
              << name(a) << " " << name(b) << " " << name(c) << " " << most;
        }
      }
}

// ---- collapse

double value(const Tensor& t, std::size_t i) { return static_cast<double>(t.values<float>()[i]); }

// The magnitude in the bound: |W| m + |b|, with m a magnitude of the operand.
std::vector<double> through(const Tensor& w, const std::vector<double>& m, const Tensor* b) {
  std::vector<double> result(static_cast<std::size_t>(w.shape()[0]));
  for (std::size_t o = 0; o < result.size(); ++o) {
    for (std::size_t i = 0; i < m.size(); ++i)
      result[o] += std::fabs(value(w, o * m.size() + i)) * m[i];
    if (b) result[o] += std::fabs(value(*b, o));
  }
  return result;
}

std::vector<double> magnitudes(const Tensor& x) {
  std::vector<double> m;
  for (float v : x.values<float>()) m.push_back(std::fabs(static_cast<double>(v)));
  return m;
}

void expect_within(const Function& f, const Function& g, const Params& params, const Tensor& x,
                   const std::vector<double>& bound, bool& moved) {
  const Tensor a = interpret(bind(f, params), std::vector<Tensor>{x})[0];
  const Tensor b = interpret(bind(g, params), std::vector<Tensor>{x})[0];
  ASSERT_EQ(a.type(), b.type());
  for (std::size_t i = 0; i < bound.size(); ++i) {
    EXPECT_LE(std::fabs(value(a, i) - value(b, i)), bound[i]) << i;
    moved |= value(a, i) != value(b, i);
  }
}

Tensor drawn(const Shape& shape, Key key, double low = -1) {
  return random_tensor({Dtype::kF32, shape}, key, low, 1, 2);
}

constexpr double kEps = 0x1p-23;

TEST(Collapse, OfTwoLinearsIsWithinItsBound) {
  bool moved = false;
  for (std::uint64_t k = 0; k < 60; ++k) {
    const Key key(k);
    const auto size = [&](std::size_t i) {
      return static_cast<std::int64_t>(1 + key.below(i == 3 ? 3 : 300, i));
    };
    const std::int64_t n = size(0);
    const std::int64_t h = size(1);
    Params params{{"w1", drawn({h, n}, key.fold_in(0))},
                  {"w2", drawn({size(2), h}, key.fold_in(1))}};
    const bool first = key.below(2, 10);
    const bool second = key.below(2, 11);
    if (first) params.set("b1", drawn({h}, key.fold_in(2)));
    if (second) params.set("b2", drawn({size(2)}, key.fold_in(3)));
    std::vector<Input> inputs = nn::inputs_of(params);
    inputs.push_back({"x", {Dtype::kF32, {1, n}}});
    const Function f = trace("f", inputs, [&](std::span<const Value> in) {
      const Args p = nn::args_of(params, in);
      const Value hidden = linear(in.back(), p.at("w1"), first ? p.at("b1") : Value());
      return std::vector<Value>{linear(hidden, p.at("w2"), second ? p.at("b2") : Value())};
    });
    const Collapsed c = collapse(f);
    ASSERT_EQ(c.done.size(), 1u);
    EXPECT_EQ(
        c.done[0],
        fmt::format("linear and linear merged into one layer of weight f32[{}, {}]", size(2), n));
    const Tensor x = drawn({1, n}, key.fold_in(4));
    std::vector<double> bound =
        through(params.at("w2"),
                through(params.at("w1"), magnitudes(x), first ? &params.at("b1") : nullptr),
                second ? &params.at("b2") : nullptr);
    for (double& b : bound) b *= static_cast<double>(n + h + 2) * kEps;
    expect_within(f, c.function, params, x, bound, moved);
  }
  EXPECT_TRUE(moved);  // otherwise nothing was measured
}

TEST(Collapse, OfABatchNormIsWithinItsBound) {
  bool moved = false;
  for (std::uint64_t k = 0; k < 60; ++k) {
    const Key key(k);
    const auto n = static_cast<std::int64_t>(1 + key.below(300, 0));
    const auto m = static_cast<std::int64_t>(1 + key.below(50, 1));
    const bool biased = key.below(2, 2);
    Params params{{"beta", drawn({m}, key.fold_in(0))},
                  {"gamma", drawn({m}, key.fold_in(1))},
                  {"mean", drawn({m}, key.fold_in(2))},
                  {"var", drawn({m}, key.fold_in(3), 0.1)},
                  {"w", drawn({m, n}, key.fold_in(4))}};
    if (biased) params.set("bias", drawn({m}, key.fold_in(5)));
    std::vector<Input> inputs = nn::inputs_of(params);
    inputs.push_back({"x", {Dtype::kF32, {1, n}}});
    const Function f = trace("f", inputs, [&](std::span<const Value> in) {
      const Args p = nn::args_of(params, in);
      const Value h = linear(in.back(), p.at("w"), biased ? p.at("bias") : Value());
      return std::vector<Value>{
          batch_norm_inference(h, p.at("gamma"), p.at("beta"), p.at("mean"), p.at("var"))};
    });
    const Collapsed c = collapse(f);
    ASSERT_EQ(c.done.size(), 1u);
    EXPECT_EQ(c.done[0], "batch_norm_inference folded into linear");
    const Tensor x = drawn({1, n}, key.fold_in(6));
    std::vector<double> bound =
        through(params.at("w"), magnitudes(x), biased ? &params.at("bias") : nullptr);
    for (std::size_t o = 0; o < bound.size(); ++o) {
      const double scale =
          std::fabs(value(params.at("gamma"), o)) / std::sqrt(value(params.at("var"), o) + 1e-5);
      bound[o] = static_cast<double>(n + 9) * kEps *
                 (scale * (bound[o] + std::fabs(value(params.at("mean"), o))) +
                  std::fabs(value(params.at("beta"), o)));
    }
    expect_within(f, c.function, params, x, bound, moved);
  }
  EXPECT_TRUE(moved);
}

// Three linear layers with dropout between them: one product of constants remains, and the report
// names each layer.
TEST(Collapse, SaysWhatItDidAndFoldsConstants) {
  const nn::Mlp net = nn::mlp({20, 30, 10, 5}, nn::activation_from_name("identity").apply, 0.5);
  const Params params = net.init(Key(1));
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"x", {Dtype::kF32, {20}}});
  inputs.push_back({"key", {Dtype::kI64, {}}});
  const Function f = trace("f", inputs, [&](std::span<const Value> in) {
    return std::vector<Value>{net(nn::args_of(params, in), in[in.size() - 2], in.back())};
  });
  const Collapsed c = collapse(bind(f, params));
  const std::vector<std::string> expected{
      "dropout 'layers.0' removed: dropout does nothing at inference",
      "dropout 'layers.1' removed: dropout does nothing at inference",
      "linear 'layers.0' and linear 'layers.1' merged into one layer of weight f32[10, 20]",
      "linear 'layers.0' and linear 'layers.2' merged into one layer of weight f32[5, 20]"};
  EXPECT_EQ(c.done, expected);
  EXPECT_EQ(c.function.nodes().size(), 3u) << short_text(c.function);
  EXPECT_EQ(c.function.inputs().size(), 2u);
}

TEST(Collapse, WidensWeightsThatAreStoredInBf16) {
  const Dtype f32 = Dtype::kF32, bf16 = Dtype::kBf16;
  const Function two =
      trace("two", {{"x", {f32, {2, 3}}}, {"a", {bf16, {4, 3}}}, {"b", {bf16, {2, 4}}}},
            [](auto x) { return std::vector<Value>{linear(linear(x[0], x[1]), x[2])}; });
  const Collapsed merged = collapse(two);
  EXPECT_EQ(merged.done.size(), 1u);
  const auto stored = [](const Shape& shape) {
    return Tensor::generate<Bf16>(shape, [](std::span<Bf16> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_bf16(static_cast<float>(i % 5));
    });
  };
  const std::vector<Tensor> in{Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}), stored({4, 3}),
                               stored({2, 4})};
  // Small integers: every sum is exact.
  EXPECT_TRUE(interpret(merged.function, in)[0].same_bits(interpret(two, in)[0]));
  const Type row{f32, {4}};
  const Function norm = trace(
      "norm",
      {{"x", {f32, {2, 3}}}, {"w", {bf16, {4, 3}}}, {"g", row}, {"b", row}, {"m", row}, {"v", row}},
      [](auto x) {
        return std::vector<Value>{batch_norm_inference(linear(x[0], x[1]), x[2], x[3], x[4], x[5])};
      });
  EXPECT_EQ(collapse(norm).done.size(), 1u);
}

TEST(Collapse, LeavesWhatIsReadElsewhere) {
  const Function f = trace(
      "f", {{"x", {Dtype::kF32, {3}}}, {"w", {Dtype::kF32, {3, 3}}}, {"v", {Dtype::kF32, {3, 3}}}},
      [](std::span<const Value> in) {
        const Value h = linear(in[0], in[1]);
        return std::vector<Value>{linear(h, in[2]), relu(linear(relu(h), in[2]))};
      });
  const Collapsed c = collapse(f);
  EXPECT_TRUE(c.done.empty());
  EXPECT_EQ(c.function, f);
  // By the caller, too.
  const Function given = trace("f", f.inputs(), [](std::span<const Value> in) {
    const Value h = linear(in[0], in[1]);
    return std::vector<Value>{h, linear(h, in[2])};
  });
  EXPECT_TRUE(collapse(given).done.empty());
  EXPECT_EQ(collapse(given).function, given);
}

// The channels of a sequence are the second dimension, and a linear's outputs the last.
TEST(Collapse, LeavesABatchNormOfSequences) {
  const Type three{Dtype::kF32, {3}};
  const Function f = trace("f",
                           {{"x", {Dtype::kF32, {1, 3, 4}}},
                            {"w", {Dtype::kF32, {3, 4}}},
                            {"gamma", three},
                            {"beta", three},
                            {"mean", three},
                            {"var", three}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{batch_norm_inference(
                                 linear(in[0], in[1]), in[2], in[3], in[4], in[5])};
                           });
  const Collapsed c = collapse(f);
  EXPECT_TRUE(c.done.empty());
  EXPECT_EQ(c.function, f);
}

// ---- recompute

struct Deep {
  nn::Mlp net;
  Function loss;
  std::vector<std::size_t> wrt;
};

Deep deep_net(std::int64_t layers, std::int64_t width, std::int64_t batch,
              Value (*activation)(Value), double rate) {
  Deep deep{nn::mlp(std::vector<std::int64_t>(static_cast<std::size_t>(layers) + 1, width),
                    activation, rate),
            {},
            {}};
  const Params params = deep.net.init(Key(1));
  std::vector<Input> inputs = nn::inputs_of(params);
  for (std::size_t i = 0; i < inputs.size(); ++i) deep.wrt.push_back(i);
  inputs.push_back({"x", {Dtype::kF32, {batch, width}}});
  inputs.push_back({"labels", {Dtype::kI32, {batch}}});
  inputs.push_back({"key", {Dtype::kI64, {}}});
  deep.loss = trace("loss", inputs, [&](std::span<const Value> in) {
    const std::size_t n = in.size();
    const Value logits = deep.net(nn::args_of(params, in), in[n - 3], in[n - 1]);
    return std::vector<Value>{mean(softmax_cross_entropy(logits, in[n - 2]))};
  });
  return deep;
}

// The group of "layers.13", in groups of six: "2".
std::string in_groups(std::string_view scope) {
  constexpr std::string_view kLayers = "layers.";
  if (!scope.starts_with(kLayers)) return "";
  return std::to_string(std::stoi(std::string(scope.substr(kLayers.size()))) / 6);
}

TEST(Recompute, KeepsTheBits) {
  for (Value (*activation)(Value) : {relu, gelu, tanh})
    for (double rate : {0.0, 0.3}) {
      const Deep deep = deep_net(13, 9, 5, activation, rate);
      const std::vector<Tensor> inputs = random_inputs(deep.loss, Key(2), -0.5, 0.5, 9);
      const std::vector<Tensor> expected = interpret(value_and_grad(deep.loss, deep.wrt), inputs);
      for (const Segments& segments : {Segments(in_groups), each_of({"layers.3", "layers.1"})}) {
        const Function g = value_and_grad(deep.loss, deep.wrt, {segments});
        verify(g);
        EXPECT_EQ(difference(interpret(g, inputs), expected), "");
        EXPECT_EQ(compiled_is_interpreted(g, inputs), "");
        EXPECT_EQ(simplify_keeps_numbers(g, inputs), "");
        EXPECT_EQ(text_is_kept(g), "");
      }
    }
}

TEST(Recompute, TakesLessMemory) {
  for (const char* activation : {"relu", "gelu", "tanh"}) {
    const Deep deep = deep_net(32, 64, 256, nn::activation_from_name(activation).apply, 0);
    const Executable all = compile(value_and_grad(deep.loss, deep.wrt));
    const Executable some = compile(value_and_grad(deep.loss, deep.wrt, {in_groups}));
    constexpr std::size_t kActivation = 256 * 64 * 4;
    // All 32 activations at once; or those between the groups and those within one, plus a few.
    EXPECT_GE(all.workspace_bytes(), 31 * kActivation);
    EXPECT_LE(some.workspace_bytes(), all.workspace_bytes() / 2) << some.plan();
    RecordProperty(activation,
                   fmt::format("{} to {}", all.workspace_bytes(), some.workspace_bytes()));
    const std::vector<Tensor> inputs = random_inputs(deep.loss, Key(2), -0.1, 0.1, 64);
    EXPECT_EQ(difference(some(inputs), all(inputs)), "");
  }
}

TEST(Recompute, OfScopesTakesWhatIsInside) {
  const Segments segments = each_of({"a", "b.c"});
  EXPECT_EQ(segments("a"), "a");
  EXPECT_EQ(segments("a.x.y"), "a");
  EXPECT_EQ(segments("ab"), "");
  EXPECT_EQ(segments("b"), "");
  EXPECT_EQ(segments("b.c.0"), "b.c");
}

// Batches and derivatives of a gradient are the same with and without recomputation.
TEST(Recompute, GoesThroughOtherTransformations) {
  const Function f = trace("f", {{"x", {Dtype::kF64, {3}}}}, [](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "head");
    return std::vector<Value>{sum(tanh(exp(in[0]) * in[0]))};
  });
  const Function plain = grad(f, {0});
  const Function again = grad(f, {0}, {each_of({"head"})});
  const auto barriers = [](const Function& g) {
    return std::count_if(g.nodes().begin(), g.nodes().end(),
                         [](const Node& n) { return n.op == &op::barrier; });
  };
  EXPECT_GT(barriers(again), 0);
  EXPECT_EQ(barriers(plain), 0);
  EXPECT_EQ(vmap_is_single_calls(again, {{0}, 3}, {}, Key(1)), "");
  const std::vector<Tensor> inputs = random_inputs(vjp(plain, {0}), Key(2), -1, 1);
  EXPECT_EQ(difference(interpret(vjp(again, {0}), inputs), interpret(vjp(plain, {0}), inputs)), "");
  EXPECT_EQ(jvp_is_vjp_transposed(again, std::vector<Tensor>{inputs[0]}, {0}, Key(3)), "");
}

}  // namespace
}  // namespace limpid::laws
