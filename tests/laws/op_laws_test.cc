// The laws, tried on every example of every op in all_ops(). A new op is under them as soon as its
// record is in the array.
#include <gtest/gtest.h>

#include <optional>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/control.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/jvp.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"
#include "tests/laws/laws.h"
#include "tests/laws/random_values.h"
#include "tests/refusals.h"

namespace limpid::laws {
namespace {

class OpLaws : public testing::TestWithParam<const Op*> {
 protected:
  const Op& op() const { return *GetParam(); }

  static Domain domain_of(const Example& e) { return {e.low, e.high, e.bound}; }

  // The inputs of a floating dtype, f32 if there are any; none if the op has no derivative, or no
  // result of a floating dtype.
  std::vector<std::size_t> differentiable_inputs(const Function& f) const {
    if (std::none_of(f.outputs().begin(), f.outputs().end(),
                     [&](const Output& o) { return is_floating(f.type(o.value).dtype); }))
      return {};
    for (Dtype d : {Dtype::kF32, Dtype::kF64}) {
      const std::vector<std::size_t> places = inputs_of(f, d);
      if (!places.empty() && op().gradient.none_because.empty()) return places;
    }
    return {};
  }
};

TEST_P(OpLaws, IsFoundByItsName) { EXPECT_EQ(find_op(op().name), &op()); }

TEST_P(OpLaws, HasExamples) { EXPECT_FALSE(op().examples().empty()); }

// A composition's type rule agrees with the types of its body.
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
  for (const Example& e : op().examples()) EXPECT_EQ(text_is_kept(function_of(op(), e)), "");
}

TEST_P(OpLaws, SaveLoadSaveIsTheIdentity) {
  for (const Example& e : op().examples())
    EXPECT_EQ(file_is_kept(function_of(op(), e), Key(10)), "") << example_text(op(), e);
}

// ---- compiled, opened, simplified

TEST_P(OpLaws, CompiledEqualsInterpretedOnEveryInstructionSetAndThreads) {
  for (const Example& e : op().examples())
    EXPECT_EQ(compiled_is_interpreted(function_of(op(), e), random_inputs(e, Key(1))), "")
        << example_text(op(), e);
}

// In batches the steps are long enough for every thread to have a part.
TEST_P(OpLaws, CompiledEqualsInterpretedInBatches) {
  const Example e = op().examples().front();
  if (e.inputs.empty()) return;
  const Function f = function_of(op(), e);
  const Function batch = vmap(f, all_batched(f, 0, 70).axes, 70);
  EXPECT_EQ(compiled_is_interpreted(batch, random_inputs(batch, Key(1), e.low, e.high, e.bound)),
            "");
}

// Zeros of both signs, the smallest and largest numbers, infinities and NaN, in every place.
TEST_P(OpLaws, CompiledAndSimplifiedEqualInterpretedOnSpecialValues) {
  for (const Example& e : op().examples()) {
    const Function f = function_of(op(), e);
    const std::vector<Tensor> inputs = special_inputs(random_inputs(e, Key(2)), Key(3));
    EXPECT_EQ(compiled_is_interpreted(f, inputs), "") << example_text(op(), e);
    EXPECT_EQ(simplify_keeps_numbers(f, inputs), "") << example_text(op(), e);
  }
}

TEST_P(OpLaws, ExpandAndSimplifyKeepTheNumbers) {
  for (const Example& e : op().examples())
    EXPECT_EQ(simplify_keeps_numbers(function_of(op(), e), random_inputs(e, Key(4))), "")
        << example_text(op(), e);
}

// An op of constants is a constant, of the same bits.
TEST_P(OpLaws, SimplifyFoldsConstants) {
  if (op().opaque || op().min_inputs == 0 || op().role == Role::kRepeat) return;
  for (const Example& e : op().examples()) {
    const Function f = function_of(op(), e);
    const std::vector<Tensor> inputs = random_inputs(e, Key(4));
    Params values;
    for (std::size_t i = 0; i < inputs.size(); ++i) values.set(f.inputs()[i].name, inputs[i]);
    const Function folded = simplify(bind(f, values));
    for (const Node& node : folded.nodes()) EXPECT_EQ(node.op, &op::constant) << short_text(folded);
    EXPECT_EQ(difference(interpret(folded, {}), interpret(f, inputs)), "");
  }
}

// ---- vmap

TEST_P(OpLaws, VmapEqualsSingleCalls) {
  for (const Example& e : op().examples()) {
    const Function f = function_of(op(), e);
    for (unsigned mask = 1; mask < 1u << e.inputs.size(); ++mask)
      for (std::int64_t axis : {0, 1, -1})
        for (std::int64_t size : {0, 1, 3}) {
          Batch batch = all_batched(f, axis, size);
          for (std::size_t i = 0; i < e.inputs.size(); ++i)
            if (!(mask >> i & 1)) batch.axes[i].reset();
          EXPECT_EQ(vmap_is_single_calls(f, batch, domain_of(e), Key(5)), "")
              << example_text(op(), e) << ", inputs " << mask << " at axis " << axis;
        }
  }
}

TEST_P(OpLaws, VmapEqualsSingleCallsForEverySize) {
  const Example e = op().examples().back();
  if (e.inputs.empty()) return;
  const Function f = function_of(op(), e);
  for (std::int64_t size = 0; size <= 70; ++size)
    EXPECT_EQ(vmap_is_single_calls(f, all_batched(f, 0, size), domain_of(e), Key(5)), "");
}

TEST_P(OpLaws, VmapOfVmapAndOfTheGradient) {
  for (const Example& e : op().examples()) {
    if (e.inputs.empty()) continue;
    SCOPED_TRACE(example_text(op(), e));
    const Function f = function_of(op(), e);
    const Function once = vmap(f, all_batched(f, -1, 2).axes, 2);
    EXPECT_EQ(vmap_is_single_calls(once, all_batched(once, 1, 3), domain_of(e), Key(5)), "");
    const std::vector<std::size_t> wrt = differentiable_inputs(f);
    if (wrt.empty()) continue;
    const Function backward = vjp(f, wrt);
    EXPECT_EQ(vmap_is_single_calls(backward, all_batched(backward, 0, 3), domain_of(e), Key(5)),
              "");
    const Function forward = jvp(f, wrt);
    EXPECT_EQ(vmap_is_single_calls(forward, all_batched(forward, 0, 3), domain_of(e), Key(5)), "");
    // A batch of predicates computes both functions: the other one's zeros are added.
    if (&op() == &op::cond) continue;
    EXPECT_EQ(gradient_of_vmap_is_single_gradients(f, 3, domain_of(e), Key(5)), "");
  }
}

// ---- gradients

TEST_P(OpLaws, JvpIsVjpTransposed) {
  for (const Example& e : op().examples()) {
    const Function f = function_of(op(), e);
    const std::vector<std::size_t> wrt = differentiable_inputs(f);
    if (wrt.empty()) continue;
    EXPECT_EQ(jvp_is_vjp_transposed(f, random_inputs(e, Key(8)), wrt, Key(11)), "")
        << example_text(op(), e);
  }
}

// Compiled gradients have the bits of interpreted ones.
TEST_P(OpLaws, CompiledGradientEqualsInterpreted) {
  for (const Example& e : op().examples()) {
    const Function f = function_of(op(), e);
    const std::vector<std::size_t> wrt = differentiable_inputs(f);
    if (wrt.empty()) continue;
    const Function backward = vjp(f, wrt);
    EXPECT_EQ(
        compiled_is_interpreted(backward, random_inputs(backward, Key(12), e.low, e.high, e.bound)),
        "")
        << example_text(op(), e);
  }
}

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

// A scalar from f's outputs: the sum of each output of that dtype times fixed random weights.
Function weighted_sum(const Function& f, Key key, Dtype dtype = Dtype::kF64) {
  return trace(f.name(), f.inputs(), [&](std::span<const Value> in) {
    Value total;
    std::size_t i = 0;
    for (const Value& out : in.front().builder().inline_function(f, in)) {
      if (out.dtype() != dtype) continue;
      const Tensor weights = random_tensor(out.type(), key.fold_in(i++), -1, 1, 2);
      const Value term = sum(out * constant(out.builder(), weights));
      total = total ? total + term : term;
    }
    return std::vector<Value>{total};
  });
}

TEST_P(OpLaws, GradientAgreesWithCentralDifferences) {
  if (!op().gradient.none_because.empty()) return;
  if (&op() == &op::stop_gradient) return;  // it is 0 by definition: tests/programs
  for (const Example& e : op().examples()) {
    const std::optional<Example> wide = in_double(op(), e);
    if (!wide) continue;
    const Function f = function_of(op(), *wide);
    const std::vector<std::size_t> wrt = inputs_of(f, Dtype::kF64);
    // A cast from an integer dtype has no floating input; a cast to an integer has no slope.
    if (wrt.empty() || !has_output_of(f, Dtype::kF64)) continue;
    SCOPED_TRACE(example_text(op(), *wide));
    const Function loss = weighted_sum(f, Key(7));
    const std::vector<Tensor> inputs = random_inputs(*wide, Key(8));
    // Truncation of order step^2 and rounding of order epsilon / step leave about ten digits.
    EXPECT_EQ(gradient_is_difference(loss, inputs, wrt, {1e-5, 1e-8}, Key(6)), "");
    if (!op().smooth) continue;
    // Second order: the weighted gradient is a loss, too.
    const Function again = weighted_sum(grad(loss, wrt), Key(9));
    EXPECT_EQ(gradient_is_difference(again, inputs, wrt, {1e-5, 1e-7}, Key(6)), "");
  }
}

// The ops that do not take f64. Truncation of order step^2 and rounding of order epsilon / step
// leave three digits.
TEST_P(OpLaws, GradientInSinglePrecisionAgreesWithCentralDifferences) {
  if (!op().gradient.none_because.empty()) return;
  for (const Example& e : op().examples()) {
    if (in_double(op(), e)) continue;
    const Function f = function_of(op(), e);
    const std::vector<std::size_t> wrt = inputs_of(f, Dtype::kF32);
    if (wrt.empty() || !has_output_of(f, Dtype::kF32)) continue;
    SCOPED_TRACE(example_text(op(), e));
    EXPECT_EQ(gradient_is_difference(weighted_sum(f, Key(7), Dtype::kF32), random_inputs(e, Key(8)),
                                     wrt, {1e-2, 2e-3}, Key(6)),
              "");
  }
}

// Asking for a derivative that an op lacks gives an error with the op's name and layer.
TEST_P(OpLaws, WithoutGradientSaysWhy) {
  if (op().gradient.none_because.empty()) return;
  for (const Example& e : op().examples()) {
    Builder builder("asks");
    std::vector<Value> inputs;
    std::vector<Value> floating;
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
      // Every input is computed from a floating one, so that the result depends on a differentiable
      // value.
      const Value x = builder.input("x" + std::to_string(i), {Dtype::kF64, e.inputs[i].shape});
      floating.push_back(x);
    }
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
      inputs.push_back(cast(floating[i], e.inputs[i].dtype));
    const Builder::Scope scope(builder, "head");
    const Value result = builder.call(op(), inputs, e.attributes).front();
    const Function f = builder.finish(std::vector<Value>{sum(cast(result, Dtype::kF64))});
    expect_refused(ErrorCode::kNoGradient, [&] { grad(f, {0}); });
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllOps, OpLaws, testing::ValuesIn(std::vector<const Op*>(all_ops().begin(), all_ops().end())),
    [](const testing::TestParamInfo<const Op*>& which) { return std::string(which.param->name); });

}  // namespace
}  // namespace limpid::laws
