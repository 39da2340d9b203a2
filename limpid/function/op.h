// Op: one constexpr record that says all about one operation. The records stand in limpid/ops, a
// family a file, each file with the list of its own; all_ops() joins the lists. Everything that
// works on Functions walks all_ops() and never names an op.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/type.h"
#include "limpid/function/attributes.h"
#include "limpid/function/value.h"

namespace limpid {

namespace kernels {
// limpid/kernels/kernels.h lists them; a new one is no concern of those who only hold a record.
enum class Element : std::uint8_t;
}  // namespace kernels
inline constexpr kernels::Element kNoElement{255};

struct Op;

// A function of a record that knows at compile time whether it was given: under some sanitizers the
// address of a function does not.
template <class F>
class Rule {
 public:
  constexpr Rule() = default;
  // A record is written, and read, as if its members were plain functions.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Rule(F function) : function_(function), given_(true) {}
  constexpr bool given() const { return given_; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator F() const { return function_; }

 private:
  F function_ = nullptr;
  bool given_ = false;
};

// One use of an op, as its rules see it.
struct Call {
  const Op& op;
  std::span<const Type> inputs;
  std::span<const Type> outputs;  // empty while the type rule runs
  const Attributes& attributes;
  std::string_view scope;  // the layer, for messages: "layers.0", or ""
};

// "linear 'layers.0'", or "linear" outside of a layer: how every error about a call begins.
std::string where(const Call& call);

// The types of the results; throws kShape, kDtype or kInvalidArgument with what was expected and
// what came.
using TypeRule = std::vector<Type> (*)(const Call& call);

// Reference arithmetic: row-major inputs and outputs, which do not overlap. It is the
// specification.
using Reference = void (*)(const Call& call, std::span<const void* const> in,
                           std::span<void* const> out);

// A composition's meaning: the same results by other ops.
using Body = std::vector<Value> (*)(std::span<const Value> inputs, const Attributes& attributes);

// The one result of a call had for less, bit for bit (NaNs aside): another value, or what one call
// of simpler things makes; a default Value where there is nothing better. Each use must bring the
// function nearer to one that no rule changes.
using Simplification = Value (*)(std::span<const Value> inputs, const Attributes& attributes);

// Reverse mode: the cotangent of every input, given those of the outputs; a default Value stands
// for zero, both ways. Written in ops, so that it can be differentiated again.
struct GradientCall {
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  std::span<const Value> cotangents;
  const Attributes& attributes;
};
using Gradient = std::vector<Value> (*)(const GradientCall& call);

// How the derivative is had: by a rule, through the body of a composition, or not at all, and then
// why.
struct GradientRule {
  Rule<Gradient> rule = {};
  bool through_body = false;
  std::string_view none_because;
};
constexpr GradientRule gradient(Gradient rule) { return {rule, false, {}}; }
constexpr GradientRule gradient_through_body() { return {{}, true, {}}; }
constexpr GradientRule no_gradient(std::string_view because) { return {{}, false, because}; }

// vmap: some inputs carry a batch dimension of `size` in front; all results must. At least one
// input is batched.
struct BatchingCall {
  std::span<const Value> inputs;
  std::span<const bool> batched;
  std::int64_t size;
  const Attributes& attributes;
  Builder& builder;
};
using Batching = std::vector<Value> (*)(const BatchingCall& call);

// How a vmap is had: by a rule, or through the body of a composition.
struct BatchingRule {
  Rule<Batching> rule = {};
  bool through_body = false;
};
constexpr BatchingRule batching(Batching rule) { return {rule, false}; }
constexpr BatchingRule batching_through_body() { return {{}, true}; }

// The kernel that serves an op on f32 (and on the lanes named in kernels::Element). Without one a
// composition is replaced by its body, and a primitive runs its reference arithmetic.
enum class KernelKind : std::uint8_t {
  kNone,
  kElement,     // lane by lane: `element`
  kCast,        // lane by lane, which element depends on the dtypes
  kConstant,    // lane by lane where it is one value
  kRandomBits,  // lane by lane, from a scalar key
  kBroadcast,   // lane by lane reading of a smaller tensor
  kReshape,     // no work at all
  kBarrier,     // no work at all, but what follows is not moved before it
  kTranspose,   // last two dimensions
  kMatmul,
  kLinear,
  kQuantizedLinear,
  kSoftmax,
  kLogSoftmax,
  kSum,
  kMax,
  kMin,
  kLayerNorm,  // x, gamma and beta where given
  kRmsNorm,    // x, gamma where given
  kLayerNormGradient,
  kRmsNormGradient,
  kMove,  // a permutation, a part or a joining: elements are copied and nothing is computed
  kGather,
  kScatterAdd,
  kUpdateRows,
  kAttention,
  kCachedAttention,
  kAdamUpdate,
};
struct Kernel {
  KernelKind kind = KernelKind::kNone;
  kernels::Element element = kNoElement;      // where the first numeric input is f32
  kernels::Element element_i32 = kNoElement;  // where it is i32
};
constexpr Kernel element_kernel(kernels::Element element) {
  return {KernelKind::kElement, element, kNoElement};
}

// How ONNX has the op: an operator of the default domain. Where `is_node` does not hold, a row in
// limpid/formats/onnx writes its calls; a composition without a row is written as its body.
struct Onnx {
  std::string_view name = {};
  int since = 0;         // the version that brought today's meaning
  bool is_node = false;  // a call is one node of the operator without attributes, and vice versa
  int first = since;     // the first version of which that holds
  std::string_view none_because = {};  // why calls cannot be written
};
constexpr Onnx onnx_node(std::string_view name, int since, int first) {
  return {name, since, true, first, {}};
}
constexpr Onnx onnx_node(std::string_view name, int since) { return onnx_node(name, since, since); }
constexpr Onnx no_onnx(std::string_view because, Onnx similar = {}) {
  similar.none_because = because;
  return similar;
}

// A call of a function in limpid/emit/parts: the numbers that it takes before the addresses of
// operands, scratch and results.
struct CppCall {
  std::string function;
  std::vector<std::int64_t> numbers;
  std::int64_t scratch = 0;  // elements like the first operand's that it works with, if any
};

// How limpid/emit writes a primitive in C++: as an expression of its elements {0}, {1} and {2}, a
// format string of fmt, or as a call. `by_emit`: limpid/emit/lower.cc has a row for the op, which
// only places elements there.
struct Cpp {
  std::string_view floating = {};
  std::string_view other = floating;                        // of integers and booleans
  Rule<std::string (*)(const Call& call)> expression = {};  // where it depends on the call
  Rule<CppCall (*)(const Call& call)> call = {};
  bool by_emit = false;

  // Whether exactly one way is named.
  constexpr bool given() const {
    return (!floating.empty() || expression.given()) + call.given() + by_emit == 1;
  }
};
// By a call.
constexpr Cpp cpp_call(CppCall (*call)(const Call&)) { return {.call = call}; }
// By the row of limpid/emit/lower.cc.
constexpr Cpp cpp_by_emit() { return {.by_emit = true}; }

// A use of an op that the laws are tried on. Floating inputs are drawn from [low, high]; integers
// from [0, bound).
struct Example {
  std::vector<Type> inputs;
  Attributes attributes;
  double low = -2;
  double high = 2;
  std::int64_t bound = 2;
};

// An attribute that an op requires.
struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
};

struct Op {
  std::string_view name;
  std::string_view formula;  // one line, for the reference page
  std::string_view shapes;   // one line: how those of the inputs lead to those of the results
  int min_inputs;
  int max_inputs;
  std::span<const AttributeSpec> attributes;  // all of them required, sorted by name
  Rule<TypeRule> types;
  Rule<Reference> reference = {};  // a primitive has this,
  Rule<Body> body = {};            // a composition that
  Rule<Simplification> simplification = {};
  bool opaque = false;  // calls alike are not joined, nor computed ahead
  GradientRule gradient;
  bool smooth = true;  // the derivative is continuous on the range of every example
  BatchingRule batching;
  Rule<std::int64_t (*)(const Call& call)> flops;  // a multiply-add counts as two
  Kernel kernel;
  Cpp cpp = {};  // of a primitive: a composition is emitted as its body
  Onnx onnx;
  // How far a primitive in f32 is from the number that its formula names: "exact", "correctly
  // rounded", or a bound in units in the last place. A composition is its body.
  std::string_view accuracy = {};
  std::string_view source = {};  // where the formula comes from: paper and section
  Rule<std::vector<Example> (*)()> examples;

  constexpr bool is_primitive() const { return reference.given(); }
};

// True where nothing is left out: checked at compile time for every record of all_ops().
constexpr bool is_complete(const Op& op) {
  const bool one_meaning = op.reference.given() != op.body.given();
  const GradientRule& g = op.gradient;
  const int gradients = g.rule.given() + g.through_body + !g.none_because.empty();
  const bool body_used = g.through_body || op.batching.through_body;
  const bool one_batching = op.batching.rule.given() != op.batching.through_body;
  for (std::size_t i = 1; i < op.attributes.size(); ++i)
    if (!(op.attributes[i - 1].name < op.attributes[i].name)) return false;
  return !op.name.empty() && !op.formula.empty() && !op.shapes.empty() && op.min_inputs >= 0 &&
         op.max_inputs >= op.min_inputs && op.types.given() && one_meaning && gradients == 1 &&
         one_batching && (op.body.given() || !body_used) && op.flops.given() &&
         op.cpp.given() == op.reference.given() && op.accuracy.empty() == op.body.given() &&
         op.examples.given();
}

// Every op there is. Defined in limpid/ops/all_ops.cc.
std::span<const Op* const> all_ops();

// nullptr where there is no op of that name.
const Op* find_op(std::string_view name);

}  // namespace limpid
