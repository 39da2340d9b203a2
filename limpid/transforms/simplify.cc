#include "limpid/transforms/simplify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/ops/constant.h"
#include "limpid/transforms/detail/bodies.h"
#include "limpid/transforms/rewrite.h"

namespace limpid {
namespace {

// Which values an output needs.
std::vector<bool> needed_values(const Function& f) {
  std::vector<bool> needed(f.types().size(), false);
  for (const Output& o : f.outputs()) needed[static_cast<std::size_t>(o.value)] = true;
  for (std::size_t i = f.nodes().size(); i-- > 0;) {
    const Node& node = f.nodes()[i];
    bool any = false;
    for (std::size_t r = 0; r < f.output_count(node); ++r)
      any = any || needed[static_cast<std::size_t>(node.first_output) + r];
    if (!any) continue;
    for (ValueId id : node.inputs) needed[static_cast<std::size_t>(id)] = true;
  }
  return needed;
}

// Calls in one bucket have the same op and inputs and print the same attributes; they are then
// compared exactly. Large tensors are distinguished only by type and address, which keeps this
// linear.
std::string bucket(const Node& node, std::span<const Value> inputs) {
  // Not its name: all ops that a program defines have the same.
  std::string key = std::to_string(reinterpret_cast<std::uintptr_t>(node.op));
  for (const Value& v : inputs) key += "," + std::to_string(v.id());
  for (const auto& [name, value] : node.attributes) {
    key += ";" + name + "=" + attribute_text(value, {.max_elements = 16, .bodies = false});
    if (const auto* t = std::get_if<Tensor>(&value); t && t->elements() > 16)
      key += std::to_string(reinterpret_cast<std::uintptr_t>(t->identity()));
  }
  return key;
}

struct Seen {
  Attributes attributes;
  std::vector<Value> results;
};

// What all folding of one Function may cost: a text may ask for much in a few bytes.
struct Budget {
  std::int64_t flops = std::int64_t{1} << 28;  // a moment of reference arithmetic
  // Of results; the elements of the given constants allow more.
  std::int64_t elements = std::int64_t{1} << 22;
};

Budget budget_of(const Function& f) {
  Budget budget;
  for (const Node& node : f.nodes())
    if (node.op == &op::constant)
      budget.elements = sum_or_most(budget.elements,
                                    product_or_most(4, f.type(node.first_output).shape.elements()));
  return budget;
}

// One pass over a Function.
class Pass {
 public:
  Pass(const Function& f, Budget& budget) : f_(f), budget_(budget), needed_(needed_values(f)) {}

  Function run() {
    return rewrite(f_, [&](Builder& builder, const Node& node, std::span<const Value> inputs) {
      return write(builder, node, inputs);
    });
  }
  bool changed() const { return changed_; }

 private:
  std::vector<Value> write(Builder& builder, const Node& node, std::span<const Value> inputs) {
    std::vector<Value> results(f_.output_count(node));
    const auto first = needed_.begin() + node.first_output;
    const auto last = first + static_cast<std::ptrdiff_t>(results.size());
    const bool dead = std::find(first, last, true) == last;
    changed_ |= dead;
    if (dead) return results;
    if (std::vector<Value> part = detail::pruned(builder, node, inputs, {first, last});
        !part.empty()) {
      changed_ = true;
      return part;
    }
    if (node.op->opaque) return builder.call(*node.op, inputs, node.attributes);
    std::vector<Seen>& alike = seen_[bucket(node, inputs)];
    for (const Seen& s : alike)
      if (s.attributes == node.attributes) {
        changed_ = true;
        return s.results;
      }
    results = folded(builder, node, inputs);
    if (results.empty()) results = by_rule(node, inputs);
    changed_ |= !results.empty();
    if (results.empty()) results = builder.call(*node.op, inputs, node.attributes);
    alike.push_back({node.attributes, results});
    return results;
  }

  // The results of a call of constants; nothing if the call is not worth folding.
  std::vector<Value> folded(Builder& builder, const Node& node, std::span<const Value> inputs) {
    if (inputs.empty() || node.op->role == Role::kRepeat) return {};
    std::vector<Tensor> values;
    for (const Value& v : inputs) {
      const Node* maker = builder.maker(v.id());
      if (!maker || maker->op != &op::constant) return {};
      values.push_back(maker->attributes.get<Tensor>("value"));
    }
    const Function::CallTypes types = f_.call_types(node);
    const Call call{*node.op, types.inputs, types.outputs, node.attributes, node.scope};
    if (!may_fold(call)) return {};
    std::vector<Value> results;
    for (const Tensor& t : interpret_call(call, values)) results.push_back(constant(builder, t));
    return results;
  }

  // Whether it is worth it, and within the budget, of which it is then taken.
  bool may_fold(const Call& call) {
    constexpr std::int64_t kFew = 4096;  // elements
    std::int64_t in = 0;
    std::int64_t out = 0;
    for (const Type& t : call.inputs) in = sum_or_most(in, t.shape.elements());
    for (const Type& t : call.outputs) out = sum_or_most(out, t.shape.elements());
    const std::int64_t flops = call.op.flops(call);
    if (out > std::min(std::max(in, kFew), budget_.elements) || flops > budget_.flops) return false;
    budget_.elements -= out;
    budget_.flops -= flops;
    return true;
  }

  std::vector<Value> by_rule(const Node& node, std::span<const Value> inputs) const {
    if (!node.op->simplification.given()) return {};
    const Simplification rule = node.op->simplification;
    const Value result = rule(inputs, node.attributes);
    if (!result) return {};
    if (!(result.type() == f_.type(node.first_output)))
      throw Error(ErrorCode::kInternal,
                  fmt::format("simplify of '{}': the rule of {} gives {}, expected {}", f_.name(),
                              node.op->name, to_string(result.type()),
                              to_string(f_.type(node.first_output))));
    return {result};
  }

  const Function& f_;
  Budget& budget_;
  std::vector<bool> needed_;
  std::map<std::string, std::vector<Seen>> seen_;
  bool changed_ = false;
};

}  // namespace

Function simplify(const Function& function) {
  // Networks take a few; a text can be made to take one for every op.
  constexpr int kMostPasses = 32;
  Budget budget = budget_of(function);
  Function f = function;
  for (int passes = 0; passes < kMostPasses; ++passes) {
    Pass pass(f, budget);
    Function simpler = pass.run();
    if (!pass.changed()) return simpler;
    f = std::move(simpler);
  }
  return f;
}

}  // namespace limpid
