// Op: one constant record that defines one operation completely. The records are in limpid/ops,
// one file per family with a list of its ops (those of loops are in limpid/transforms, as their
// gradients are transformations); all_ops() joins the lists. Code that works on Functions goes
// through all_ops() and does not name single ops.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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
// Defined in limpid/kernels/kernels.h. Only declared here, so that a new kernel does not recompile
// every user of a record.
enum class Element : std::uint8_t;
}  // namespace kernels
inline constexpr kernels::Element kNoElement{255};

struct Op;

// A function pointer of a record that knows at compile time whether it was given. (Under some
// sanitizers the comparison of a function pointer with nullptr is not a constant expression.)
template <class F>
class Rule {
 public:
  constexpr Rule() = default;
  // Implicit, so that records are written and read as if the members were function pointers.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Rule(F function) : function_(function), given_(true) {}
  constexpr bool given() const { return given_; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator F() const { return function_; }

 private:
  F function_ = nullptr;
  bool given_ = false;
};

// One use of an op, as its rules receive it.
struct Call {
  const Op& op;
  std::span<const Type> inputs;
  std::span<const Type> outputs;  // empty while the type rule runs
  const Attributes& attributes;
  std::string_view scope;  // the layer, for messages: "layers.0", or ""
};

// "linear 'layers.0'", or "linear" outside of a layer: the start of every error message about a
// call.
std::string where(const Call& call);

// Gives the types of the results. Throws kShape, kDtype or kInvalidArgument; the message states
// what was expected and what was given.
using TypeRule = std::vector<Type> (*)(const Call& call);

// Reference arithmetic, the specification of an op's bits. Inputs and outputs are row-major and do
// not overlap.
using Reference = void (*)(const Call& call, std::span<const void* const> in,
                           std::span<void* const> out);

// The body of a composition: computes the results by other ops.
using Body = std::vector<Value> (*)(std::span<const Value> inputs, const Attributes& attributes);

// Computes the results of a composition that runs Functions of its attributes, without making its
// body first: a loop's body has all of its steps. The bits are those of the body.
using Evaluation = std::vector<Tensor> (*)(const Call& call, std::span<const Tensor> inputs);

// A cheaper Value with the same bits as the call's only result (NaNs aside): an existing Value, or
// one call of simpler ops. A default Value if there is none. Repeated application must terminate.
using Simplification = Value (*)(std::span<const Value> inputs, const Attributes& attributes);

// Reverse mode: computes the cotangent of every input from the cotangents of the outputs. A default
// Value stands for zero in both. The rule is written in ops, so it can be differentiated again.
struct GradientCall {
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  std::span<const Value> cotangents;
  const Attributes& attributes;
};
using Gradient = std::vector<Value> (*)(const GradientCall& call);

// Reverse mode of an op whose rule needs more than the results of the call, such as what each step
// of a loop leaves for its gradient. The call is made with `attributes` instead of its own, which
// may give it further results after its own; the rule sees all of them.
struct PreparedGradient {
  Attributes attributes;
  std::function<std::vector<Value>(const GradientCall& call)> rule;
};
// `wanted` marks the inputs whose cotangents are asked for.
using Preparation = PreparedGradient (*)(const Call& call, std::span<const bool> wanted);

// How to differentiate an op: by a rule, through the body of a composition, or not at all, with the
// reason. A composition may have both: a rule that returns an empty vector declines, and the body
// is differentiated. It declines by types and attributes alone.
struct GradientRule {
  Rule<Gradient> rule = {};
  bool through_body = false;
  std::string_view none_because;
  Rule<Preparation> preparation = {};

  // Whether there is a rule, given or prepared.
  constexpr bool by_rule() const { return rule.given() || preparation.given(); }
};
constexpr GradientRule gradient(Gradient rule) { return {rule, false, {}}; }
constexpr GradientRule gradient_through_body() { return {{}, true, {}}; }
constexpr GradientRule gradient_or_body(Gradient rule) { return {rule, true, {}}; }
constexpr GradientRule gradient_prepared(Preparation rule) { return {{}, false, {}, rule}; }
constexpr GradientRule no_gradient(std::string_view because) { return {{}, false, because}; }

// vmap: the inputs marked in `batched`, at least one, have a leading batch dimension of `size`. All
// results must have one.
struct BatchingCall {
  std::span<const Value> inputs;
  std::span<const bool> batched;
  std::int64_t size;
  const Attributes& attributes;
  Builder& builder;
};
using Batching = std::vector<Value> (*)(const BatchingCall& call);

// How to batch an op: by a rule, or through the body of a composition; or by a rule that may
// decline with an empty vector, and then through the body.
struct BatchingRule {
  Rule<Batching> rule = {};
  bool through_body = false;
};
constexpr BatchingRule batching(Batching rule) { return {rule, false}; }
constexpr BatchingRule batching_through_body() { return {{}, true}; }
constexpr BatchingRule batching_or_body(Batching rule) { return {rule, true}; }

// unbatch: where the examples of a batch are in the results of a primitive; nothing if it may mix
// them. And the attributes of the call for one example, if some hold sizes; nothing if there is no
// such call. Defined in limpid/ops/detail/example_axis.h. Only declared here, as few files use it.
struct ExampleCall;
using ExampleAxisRule =
    std::optional<std::vector<std::optional<std::int64_t>>> (*)(const ExampleCall& call);
using ExampleAttributes = std::optional<Attributes> (*)(const ExampleCall& call,
                                                        std::span<const Type> results);

// What an op is, for code that shows or observes a network. It promises the operands that the
// comment names, so that such code need not name ops.
enum class Role : std::uint8_t {
  kNone,
  kLinear,           // a layer of neurons: x, a weight with a row for each, and a bias if given
  kProduct,          // of two matrices
  kConvolution,      // of x and a weight, or one of its gradients
  kNorm,             // of the last dimensions: x, and parameters
  kAttention,        // q, k, v, and a mask if given
  kCachedAttention,  // q, keys, values, position
  kRepeat,           // each element of x, perhaps several times
  kRearrange,        // each element of x once
  kMove,             // elements of x, or of several, beside each other or constants
};

// The kernel that computes an element of an element-wise op. Other kernels belong to kinds of
// steps: limpid/compile/lowering.h.
struct Kernel {
  kernels::Element element = kNoElement;      // if the first numeric input is f32
  kernels::Element element_i32 = kNoElement;  // if it is i32
};
constexpr Kernel element_kernel(kernels::Element element) { return {element, kNoElement}; }

// The corresponding ONNX operator in the default domain. If `is_node` is false, an entry in
// limpid/formats/onnx writes the calls; a composition without an entry is written as its body.
struct Onnx {
  std::string_view name = {};
  int since = 0;         // the opset version that introduced the current semantics
  bool is_node = false;  // each call is one node of the operator without attributes, and vice versa
  int first = since;     // the first opset version for which `is_node` holds
  std::string_view none_because = {};  // the reason why calls cannot be exported
};
constexpr Onnx onnx_node(std::string_view name, int since, int first) {
  return {name, since, true, first, {}};
}
constexpr Onnx onnx_node(std::string_view name, int since) { return onnx_node(name, since, since); }
constexpr Onnx no_onnx(std::string_view because, Onnx similar = {}) {
  similar.none_because = because;
  return similar;
}

// A call of a function in limpid/emit/parts. `numbers` are its first arguments; the addresses of
// operands, scratch and results follow.
struct CppCall {
  std::string function;
  std::vector<std::int64_t> numbers;
  std::int64_t scratch = 0;  // scratch elements that it needs, of the first operand's dtype
};

// How limpid/emit writes a primitive in C++: as an expression of its elements {0}, {1} and {2} (an
// fmt format string), or as a call. `by_emit`: the op only moves elements, and limpid/emit/lower.cc
// has an entry for it.
struct Cpp {
  std::string_view floating = {};
  std::string_view other = floating;                        // for integers and booleans
  Rule<std::string (*)(const Call& call)> expression = {};  // if it depends on the call
  Rule<CppCall (*)(const Call& call)> call = {};
  bool by_emit = false;

  // Whether exactly one way is given.
  constexpr bool given() const {
    return (!floating.empty() || expression.given()) + call.given() + by_emit == 1;
  }
};
// As a call.
constexpr Cpp cpp_call(CppCall (*call)(const Call&)) { return {.call = call}; }
// By the entry in limpid/emit/lower.cc.
constexpr Cpp cpp_by_emit() { return {.by_emit = true}; }

// A use of an op that the law tests run. Floating-point inputs are drawn from [low, high], integers
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
  std::string_view shapes;   // one line: the shapes of the results from those of the inputs
  // An element of each result depends on that element of the inputs alone.
  bool elementwise = false;
  Role role = Role::kNone;
  int min_inputs;
  int max_inputs;
  std::span<const AttributeSpec> attributes;  // all of them required, sorted by name
  Rule<TypeRule> types;
  Rule<Reference> reference = {};    // of a primitive
  Rule<Body> body = {};              // of a composition
  Rule<Evaluation> evaluation = {};  // of a composition that is a loop or a choice
  Rule<Simplification> simplification = {};
  bool opaque = false;  // equal calls are not merged, and calls of constants are not folded
  GradientRule gradient;
  bool smooth = true;  // the derivative is continuous on the range of every example
  BatchingRule batching;
  // Of a primitive that is not element-wise; of a composition, instead of its body's.
  Rule<ExampleAxisRule> example_axis = {};
  Rule<ExampleAttributes> example_attributes = {};
  Rule<std::int64_t (*)(const Call& call)> flops;  // a multiply-add counts as two
  Kernel kernel = {};
  Cpp cpp = {};  // of a primitive; a composition is emitted as its body, or as a call of its bits
  Onnx onnx;
  // The error of a primitive in f32 against the exact value of its formula: "exact", "correctly
  // rounded", or a bound in units in the last place (ulp). Empty for a composition.
  std::string_view accuracy = {};
  std::string_view source = {};  // source of the formula: paper and section
  Rule<std::vector<Example> (*)()> examples;

  constexpr bool is_primitive() const { return reference.given(); }
};

// Whether every required member is given. Checked at compile time for every record of all_ops().
constexpr bool is_complete(const Op& op) {
  const bool one_meaning = op.reference.given() != op.body.given();
  const GradientRule& g = op.gradient;
  const bool one_gradient = (g.by_rule() || g.through_body) == g.none_because.empty();
  const bool body_used = g.through_body || op.batching.through_body;
  const bool emitted =
      op.reference.given() ? op.cpp.given() : !op.cpp.given() || op.cpp.call.given();
  const bool batched = op.batching.rule.given() || op.batching.through_body;
  for (std::size_t i = 1; i < op.attributes.size(); ++i)
    if (!(op.attributes[i - 1].name < op.attributes[i].name)) return false;
  return !op.name.empty() && !op.formula.empty() && !op.shapes.empty() && op.min_inputs >= 0 &&
         op.max_inputs >= op.min_inputs && op.types.given() && one_meaning && one_gradient &&
         batched && (op.body.given() || !body_used) && op.flops.given() && emitted &&
         op.accuracy.empty() == op.body.given() && op.examples.given();
}

// All ops. Defined in limpid/transforms/all_ops.cc.
std::span<const Op* const> all_ops();

// The op with that name, or nullptr.
const Op* find_op(std::string_view name);

}  // namespace limpid
