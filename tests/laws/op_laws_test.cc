// The laws, tried on every example of every op in all_ops(). A new op is under them as soon as its
// record is in the array.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

class OpLaws : public testing::TestWithParam<const Op*> {
 protected:
  const Op& op() const { return *GetParam(); }
};

TEST_P(OpLaws, IsFoundByItsName) { EXPECT_EQ(find_op(op().name), &op()); }

TEST_P(OpLaws, HasExamples) { EXPECT_FALSE(op().examples().empty()); }

// What a composition's type rule says is what its body gives.
TEST_P(OpLaws, FunctionIsWellFormedBodyIncluded) {
  for (const Example& e : op().examples()) {
    SCOPED_TRACE(example_text(op(), e));
    const Function f = function_of(op(), e);
    EXPECT_NO_THROW(verify(f));
    const Function open = expand(f);
    EXPECT_NO_THROW(verify(open));
    EXPECT_EQ(open.type(open.outputs()[0].value), f.type(f.outputs()[0].value));
    for (const Node& node : open.nodes()) EXPECT_TRUE(node.op->is_primitive()) << node.op->name;
  }
}

TEST_P(OpLaws, PrintParsePrintIsTheIdentity) {
  for (const Example& e : op().examples()) {
    const Function f = function_of(op(), e);
    const std::string text = to_text(f);
    const Function back = parse_function(text);
    EXPECT_EQ(back, f) << text;
    EXPECT_EQ(to_text(back), text);
  }
}

TEST_P(OpLaws, CompiledEqualsInterpretedOnEveryInstructionSet) {
  for (const Example& e : op().examples()) {
    SCOPED_TRACE(example_text(op(), e));
    const Function f = function_of(op(), e);
    const std::vector<Tensor> inputs = random_inputs(e, Key(1));
    const std::vector<Tensor> expected = interpret(f, inputs);
    for (kernels::Isa isa : kernels::available_isas()) {
      const std::vector<Tensor> got = compile(f, {isa})(inputs);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(same_numbers(got[i], expected[i])) << name(isa);
    }
  }
}

// Zeros of both signs, the smallest and largest numbers, infinities and NaN, in every place.
TEST_P(OpLaws, CompiledEqualsInterpretedOnSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> special{0.0f,
                                   -0.0f,
                                   1e-45f,
                                   -1e-45f,
                                   1.17549435e-38f,
                                   1.0f,
                                   -1.0f,
                                   88.73f,
                                   -104.f,
                                   3.4e38f,
                                   -3.4e38f,
                                   inf,
                                   -inf,
                                   std::numeric_limits<float>::quiet_NaN()};
  for (const Example& e : op().examples()) {
    SCOPED_TRACE(example_text(op(), e));
    const Function f = function_of(op(), e);
    std::vector<Tensor> inputs = random_inputs(e, Key(2));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].dtype() != Dtype::kF32) continue;
      inputs[i] = Tensor::generate<float>(inputs[i].shape(), [&](std::span<float> out) {
        for (std::size_t k = 0; k < out.size(); ++k)
          out[k] = special[Key(3 + i).below(special.size(), k)];
      });
    }
    const std::vector<Tensor> expected = interpret(f, inputs);
    for (kernels::Isa isa : kernels::available_isas()) {
      const std::vector<Tensor> got = compile(f, {isa})(inputs);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(same_numbers(got[i], expected[i])) << name(isa);
    }
  }
}

TEST_P(OpLaws, ExpandAndSimplifyKeepTheBits) {
  for (const Example& e : op().examples()) {
    SCOPED_TRACE(example_text(op(), e));
    const Function f = function_of(op(), e);
    const std::vector<Tensor> inputs = random_inputs(e, Key(4));
    const std::vector<Tensor> expected = interpret(f, inputs);
    const std::vector<Tensor> open = interpret(expand(f), inputs);
    const std::vector<Tensor> simple = interpret(simplify(f), inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(open[i].same_bits(expected[i]));
      EXPECT_TRUE(simple[i].same_bits(expected[i]));
    }
  }
}

// ---- vmap

// Element i of a tensor along its axis.
Tensor slice(const Tensor& batch, std::size_t axis, std::int64_t i) {
  std::int64_t outer = 1;
  std::size_t inner = size_of(batch.dtype());
  for (std::size_t d = 0; d < axis; ++d) outer *= batch.shape()[d];
  for (std::size_t d = axis + 1; d < batch.shape().rank(); ++d)
    inner *= static_cast<std::size_t>(batch.shape()[d]);
  const auto size = static_cast<std::size_t>(batch.shape()[axis]);
  return Tensor::generate_bytes(
      {batch.dtype(), batch.shape().erase(axis)}, [&](std::span<std::byte> out) {
        for (std::size_t o = 0; o < static_cast<std::size_t>(outer); ++o)
          std::memcpy(out.data() + o * inner,
                      batch.bytes().data() + (o * size + static_cast<std::size_t>(i)) * inner,
                      inner);
      });
}

// Batches some inputs of f (those of a bit set in `mask`) at the given axis and compares with
// single calls.
void expect_vmap_is_stacking(const Function& f, const Example& e, unsigned mask, std::int64_t axis,
                             std::int64_t size) {
  std::vector<std::optional<std::int64_t>> axes(e.inputs.size());
  Example batched = e;
  std::vector<std::size_t> at(e.inputs.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(mask >> i & 1)) continue;
    at[i] = axis < 0 ? e.inputs[i].shape.rank() : 0;
    axes[i] = axis;
    batched.inputs[i].shape = e.inputs[i].shape.insert(at[i], size);
  }
  const Function g = vmap(f, axes, size);
  verify(g);
  const std::vector<Tensor> inputs = random_inputs(batched, Key(5));
  const std::vector<Tensor> stacked = interpret(g, inputs);
  for (std::int64_t i = 0; i < size; ++i) {
    std::vector<Tensor> single = inputs;
    for (std::size_t k = 0; k < single.size(); ++k)
      if (axes[k]) single[k] = slice(inputs[k], at[k], i);
    const std::vector<Tensor> expected = interpret(f, single);
    for (std::size_t o = 0; o < expected.size(); ++o)
      ASSERT_TRUE(slice(stacked[o], 0, i).same_bits(expected[o])) << "row " << i << " of " << size;
  }
}

TEST_P(OpLaws, VmapEqualsSingleCalls) {
  for (const Example& e : op().examples()) {
    SCOPED_TRACE(example_text(op(), e));
    const Function f = function_of(op(), e);
    for (unsigned mask = 1; mask < 1u << e.inputs.size(); ++mask)
      for (std::int64_t axis : {0, -1})
        for (std::int64_t size : {0, 1, 3}) expect_vmap_is_stacking(f, e, mask, axis, size);
  }
}

// ---- gradients, in double

// The example with its floating inputs in f64, or nothing where the op does not take that.
std::optional<Example> in_double(const Op& op, Example e) {
  for (Type& t : e.inputs)
    if (t.dtype == Dtype::kF32) t.dtype = Dtype::kF64;
  try {
    function_of(op, e);
  } catch (const Error&) {
    return std::nullopt;
  }
  return e;
}

// A scalar of f's outputs: the sum of each floating output times fixed random weights.
Function weighted_sum(const Function& f, Key key) {
  return trace(f.name(), f.inputs(), [&](std::span<const Value> in) {
    Value total;
    std::size_t i = 0;
    for (const Value& out : in.front().builder().inline_function(f, in)) {
      if (out.dtype() != Dtype::kF64) continue;
      const Tensor weights = random_tensor(out.type(), key.fold_in(i++), -1, 1, 2);
      const Value term = sum(out * constant(out.builder(), weights));
      total = total ? total + term : term;
    }
    return std::vector<Value>{total};
  });
}

Tensor moved(const Tensor& x, const Tensor& direction, double step) {
  return Tensor::generate<double>(x.shape(), [&](std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = x.values<double>()[i] + step * direction.values<double>()[i];
  });
}

// The derivative of a scalar Function along a random direction: by its gradient, and by central
// differences.
void expect_gradient(const Function& loss, const std::vector<Tensor>& inputs,
                     const std::vector<std::size_t>& wrt, double tolerance) {
  const std::vector<Tensor> gradients = interpret(grad(loss, wrt), inputs);
  constexpr double kStep = 1e-5;
  std::vector<Tensor> ahead = inputs;
  std::vector<Tensor> behind = inputs;
  double by_gradient = 0;
  double size = 0;
  for (std::size_t k = 0; k < wrt.size(); ++k) {
    const Tensor direction = random_tensor(inputs[wrt[k]].type(), Key(6).fold_in(k), -1, 1, 2);
    for (std::size_t i = 0; i < direction.values<double>().size(); ++i) {
      const double term = gradients[k].values<double>()[i] * direction.values<double>()[i];
      by_gradient += term;
      size += std::fabs(term);
    }
    ahead[wrt[k]] = moved(inputs[wrt[k]], direction, kStep);
    behind[wrt[k]] = moved(inputs[wrt[k]], direction, -kStep);
  }
  const double difference =
      (interpret(loss, ahead)[0].item<double>() - interpret(loss, behind)[0].item<double>()) /
      (2 * kStep);
  EXPECT_NEAR(by_gradient, difference, tolerance * (1 + size)) << to_text(loss);
}

std::vector<std::size_t> floating_inputs(const Function& f) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    if (f.inputs()[i].type.dtype == Dtype::kF64) places.push_back(i);
  return places;
}

bool has_floating_output(const Function& f) {
  for (const Output& o : f.outputs())
    if (f.type(o.value).dtype == Dtype::kF64) return true;
  return false;
}

TEST_P(OpLaws, GradientAgreesWithCentralDifferences) {
  if (!op().gradient.none_because.empty()) return;
  for (const Example& e : op().examples()) {
    const std::optional<Example> wide = in_double(op(), e);
    if (!wide) continue;
    const Function f = function_of(op(), *wide);
    const std::vector<std::size_t> wrt = floating_inputs(f);
    // A cast from an integer dtype has nothing to differentiate by, one to an integer no slope.
    if (wrt.empty() || !has_floating_output(f)) continue;
    SCOPED_TRACE(example_text(op(), *wide));
    const Function loss = weighted_sum(f, Key(7));
    const std::vector<Tensor> inputs = random_inputs(*wide, Key(8));
    // Truncation of order step^2 and rounding of order epsilon / step leave about ten digits.
    expect_gradient(loss, inputs, wrt, 1e-8);
    if (!op().smooth) continue;
    // Second order: the gradient itself, weighted, is a loss again.
    const Function first = grad(loss, wrt);
    const Function again = weighted_sum(first, Key(9));
    expect_gradient(again, inputs, wrt, 1e-7);
  }
}

// Asking an op for a derivative that it does not have says so, with its name and its layer.
TEST_P(OpLaws, WithoutGradientSaysWhy) {
  if (op().gradient.none_because.empty()) return;
  for (const Example& e : op().examples()) {
    Builder builder("asks");
    std::vector<Value> inputs;
    std::vector<Value> floating;
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
      // Every input is made of a floating one, so that the result depends on something
      // differentiable.
      const Value x = builder.input("x" + std::to_string(i), {Dtype::kF64, e.inputs[i].shape});
      floating.push_back(x);
    }
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
      inputs.push_back(cast(floating[i], e.inputs[i].dtype));
    const Builder::Scope scope(builder, "head");
    const Value result = builder.call(op(), inputs, e.attributes).front();
    const Function f = builder.finish(std::vector<Value>{sum(cast(result, Dtype::kF64))});
    try {
      grad(f, {0});
      ADD_FAILURE() << op().name << " gave a gradient";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNoGradient);
      EXPECT_NE(std::string(error.what()).find(std::string(op().name) + " 'head'"),
                std::string::npos)
          << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllOps, OpLaws, testing::ValuesIn(std::vector<const Op*>(all_ops().begin(), all_ops().end())),
    [](const testing::TestParamInfo<const Op*>& which) { return std::string(which.param->name); });

}  // namespace
}  // namespace limpid::laws
