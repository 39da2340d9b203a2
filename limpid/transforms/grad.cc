#include "limpid/transforms/grad.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/barrier.h"
#include "limpid/ops/detail/families.h"
#include "limpid/transforms/detail/slices.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/simplify.h"

namespace limpid {
namespace {

bool differentiable(Dtype dtype) { return dtype == Dtype::kF32 || dtype == Dtype::kF64; }

// Which values depend on the inputs in `wrt`.
std::vector<bool> dependents_of(const Function& f, const std::vector<std::size_t>& wrt) {
  std::vector<bool> inputs(f.inputs().size(), false);
  for (std::size_t i : wrt) inputs[i] = true;
  return dependents(f, inputs);
}

// The prepared gradient rules of the nodes that have one, by their first results.
using PreparedRules = std::map<ValueId, std::function<std::vector<Value>(const GradientCall&)>>;

// The Function with the attributes that its ops prepare for their gradients.
Function prepare(const Function& f, const std::vector<std::size_t>& wrt, PreparedRules& rules) {
  if (std::none_of(f.nodes().begin(), f.nodes().end(),
                   [](const Node& node) { return node.op->gradient.preparation.given(); }))
    return f;
  const std::vector<bool> depends = dependents_of(f, wrt);
  return rewrite(f, [&](Builder& builder, const Node& node, std::span<const Value> inputs) {
    if (!node.op->gradient.preparation.given() ||
        !depends[static_cast<std::size_t>(node.first_output)])
      return builder.call(*node.op, inputs, node.attributes);
    const Function::CallTypes types = f.call_types(node);
    const std::unique_ptr<bool[]> wanted(new bool[node.inputs.size()]);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      wanted[i] = depends[static_cast<std::size_t>(node.inputs[i])];
    PreparedGradient prepared = node.op->gradient.preparation(
        {*node.op, types.inputs, types.outputs, node.attributes, node.scope},
        {wanted.get(), node.inputs.size()});
    std::vector<Value> results = builder.call(*node.op, inputs, std::move(prepared.attributes));
    rules[results.front().id()] = std::move(prepared.rule);
    results.resize(types.outputs.size());
    return results;
  });
}

// The values of a Function as its gradient rules see them: those of the forward pass, or those
// recomputed for the node's segment.
class Recompute {
 public:
  Recompute(const Function& f, std::span<const Value> values, const Segments& segments)
      : f_(f), values_(values), segments_(f.nodes().size()) {
    if (segments)
      for (std::size_t i = 0; i < segments_.size(); ++i)
        segments_[i] = segments(f.nodes()[i].scope);
  }

  std::span<const Value> values_for(Builder& builder, const Node& node) {
    const std::string& segment = segments_[static_cast<std::size_t>(&node - f_.nodes().data())];
    if (segment.empty()) return values_;
    const auto [found, fresh] = again_.try_emplace(segment, f_.types().size());
    if (fresh) write(builder, segment, found->second);
    return found->second;
  }

 private:
  void write(Builder& builder, const std::string& segment, std::vector<Value>& values) {
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (segments_[i] != segment) continue;
      const Node& node = f_.nodes()[i];
      const Builder::Scope scope(builder, node.scope);
      std::vector<Value> inputs;
      for (ValueId id : node.inputs) {
        Value& value = values[static_cast<std::size_t>(id)];
        if (!value) value = entering(builder, values_[static_cast<std::size_t>(id)]);
        inputs.push_back(value);
      }
      auto at = values.begin() + node.first_output;
      for (const Value& v : builder.call(*node.op, inputs, node.attributes)) *at++ = v;
    }
  }

  // A barrier keeps the recomputed ops from being merged with the first ones. Constants are not
  // recomputed.
  static Value entering(const Builder& builder, const Value& value) {
    const Node* maker = builder.maker(value.id());
    return maker && maker->inputs.empty() ? value : barrier(value);
  }

  const Function& f_;
  std::span<const Value> values_;
  std::vector<std::string> segments_;  // of every node
  std::map<std::string, std::vector<Value>> again_;
};

// The backward pass.
class Reverse {
 public:
  Reverse(const Function& f, std::span<const Value> values, const std::vector<std::size_t>& wrt,
          const GradOptions& options, const PreparedRules& prepared)
      : f_(f),
        prepared_(prepared),
        values_(values),
        recompute_(f, values, options.recompute),
        depends_(dependents_of(f, wrt)),
        cotangents_(f.types().size()),
        parts_(f.types().size()),
        matters_(f.types().size(), false),
        cut_by_(f.types().size(), nullptr) {}

  // The cotangent of an output. One that is no number has none: it is not read.
  void begin(ValueId id, const Value& cotangent) {
    matters_[static_cast<std::size_t>(id)] = true;
    if (is_floating(cotangent.dtype())) add(id, cotangent);
  }

  // A slice's cotangent waits for those of the value's other slices.
  void add(ValueId id, const Value& cotangent) {
    if (is_computed_with(cotangent.dtype()))
      if (std::optional<detail::Part> part = detail::part_in_zeros(cotangent))
        return parts_[static_cast<std::size_t>(id)].push_back(*std::move(part));
    Value& sum = cotangents_[static_cast<std::size_t>(id)];
    sum = !sum ? cotangent : summand(sum) + summand(cotangent);
  }

  void run(Builder& builder) {
    const std::vector<std::size_t> order = order_of_graph(f_);
    for (auto node = order.rbegin(); node != order.rend(); ++node) step(builder, f_.nodes()[*node]);
    for (std::size_t i = 0; i < f_.inputs().size(); ++i) add_parts(i);
  }

  // The gradient of one input; zeros if the outputs do not depend on it, or only through what is
  // constant to gradients. Throws if they depend on it only through an op without a derivative.
  Value gradient_of(std::size_t input) const {
    if (cotangents_[input]) return cotangents_[input];
    if (const Node* node = cut_by_[input]) {
      const Call call{*node->op, {}, {}, node->attributes, node->scope};
      throw Error(
          ErrorCode::kNoGradient,
          fmt::format("{}: has no gradient, and input '{}' affects the result only through it: {}",
                      where(call), f_.inputs()[input].name,
                      node->op->gradient.none_because.empty()
                          ? fmt::format("its result is {}", to_string(f_.type(node->first_output)))
                          : std::string(node->op->gradient.none_because)));
    }
    return number_like(values_[input], 0);
  }

 private:
  // What is only stored is added in f32.
  static Value summand(const Value& cotangent) {
    return is_computed_with(cotangent.dtype()) ? cotangent : cast(cotangent, Dtype::kF32);
  }

  // Completes the cotangent of a value that has all of them.
  void add_parts(std::size_t id) {
    if (parts_[id].empty()) return;
    const Value parts = detail::sum_of_parts(std::move(parts_[id]), f_.types()[id].shape);
    parts_[id].clear();
    Value& sum = cotangents_[id];
    sum = !sum ? parts : summand(sum) + parts;
  }

  void step(Builder& builder, const Node& node) {
    const std::size_t first = static_cast<std::size_t>(node.first_output);
    const std::size_t count = f_.output_count(node);
    for (std::size_t r = first; r < first + count; ++r) add_parts(r);
    const auto is_number = [&](std::size_t id) { return is_floating(f_.types()[id].dtype); };
    bool reached = false;
    bool matters = false;
    bool numbers = false;  // among the results that matter
    const Node* cut_by = node.op->gradient.by_rule() ? nullptr : &node;
    for (std::size_t r = first; r < first + count; ++r) {
      reached = reached || cotangents_[r];
      matters = matters || matters_[r];
      numbers = numbers || (matters_[r] && is_number(r));
      if (!cut_by) cut_by = cut_by_[r];
    }
    if (!matters || !depends_[first]) return;
    // It makes integers or truths of numbers.
    if (!cut_by && !numbers && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
          return is_number(static_cast<std::size_t>(id));
        }))
      cut_by = &node;
    std::vector<Value> result(node.inputs.size());
    std::vector<bool> constant(node.inputs.size(), false);
    if (node.op->gradient.by_rule() && numbers) {
      const std::span<const Value> values = recompute_.values_for(builder, node);
      const Builder::Scope scope(builder, node.scope);
      std::vector<Value> inputs;
      for (ValueId id : node.inputs) inputs.push_back(values[static_cast<std::size_t>(id)]);
      const auto ask = [&](std::span<const Value> cotangents) {
        const GradientCall call{inputs, values.subspan(first, count), cotangents, node.attributes};
        const auto prepared = prepared_.find(node.first_output);
        std::vector<Value> answers =
            prepared != prepared_.end() ? prepared->second(call) : node.op->gradient.rule(call);
        if (answers.size() != inputs.size())
          throw Error(ErrorCode::kInternal,
                      fmt::format("grad of '{}': the rule of {} gives {} cotangents, expected {}",
                                  f_.name(), node.op->name, answers.size(), inputs.size()));
        return answers;
      };
      const std::span<Value> cotangents = std::span(cotangents_).subspan(first, count);
      for (std::size_t r = 0; r < count; ++r)
        if (cotangents[r]) cotangents[r] = cast(cotangents[r], f_.types()[first + r].dtype);
      if (reached) result = ask(cotangents);
      // A rule that gives a number no cotangent says that it is a constant. A result that only ops
      // without a derivative read has no cotangent: the rule is asked once more, with zeros.
      std::vector<Value> all(cotangents.begin(), cotangents.end());
      bool complete = reached;
      for (std::size_t r = 0; r < count; ++r)
        if (matters_[first + r] && is_number(first + r) && !all[r]) {
          all[r] = number_like(values_[first + r], 0);
          complete = false;
        }
      const std::vector<Value> answers = complete ? result : ask(all);
      for (std::size_t i = 0; i < answers.size(); ++i)
        constant[i] = !answers[i] && is_number(static_cast<std::size_t>(node.inputs[i]));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto id = static_cast<std::size_t>(node.inputs[i]);
      if (!depends_[id]) continue;
      if (result[i]) add(node.inputs[i], result[i]);
      if (constant[i]) continue;
      matters_[id] = true;
      if (!cut_by_[id]) cut_by_[id] = cut_by;
    }
  }

  const Function& f_;
  const PreparedRules& prepared_;
  std::span<const Value> values_;
  Recompute recompute_;
  std::vector<bool> depends_;
  std::vector<Value> cotangents_;
  std::vector<std::vector<detail::Part>> parts_;  // further cotangents of each value
  // Of each value: whether the outputs depend on it by more than constants, and an op without a
  // derivative in between, if there is one.
  std::vector<bool> matters_;
  std::vector<const Node*> cut_by_;
};

void check_differentiable(const Function& f, const std::vector<std::size_t>& wrt) {
  for (std::size_t i : wrt) {
    if (i >= f.inputs().size())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("grad of '{}': there is no input {}", f.name(), i));
    if (!differentiable(f.inputs()[i].type.dtype))
      throw Error(ErrorCode::kDtype,
                  fmt::format("grad of '{}': input '{}' is {}, expected f32 or f64", f.name(),
                              f.inputs()[i].name, to_string(f.inputs()[i].type)));
  }
}

// Whether the derivative of a call is that of its body. A rule that may decline is asked, with
// scratch values for the call's.
bool through_body(const Call& call) {
  const GradientRule& gradient = call.op.gradient;
  if (!gradient.through_body || !gradient.rule) return gradient.through_body;
  Builder scratch{std::string(call.op.name)};
  int count = 0;
  const auto input = [&](const Type& type) { return scratch.input(std::to_string(count++), type); };
  std::vector<Value> inputs, cotangents;
  for (const Type& type : call.inputs) inputs.push_back(input(type));
  for (const Type& type : call.op.types(call))
    cotangents.push_back(is_floating(type.dtype) ? input(type) : Value());
  const std::vector<Value> outputs = scratch.call(call.op, inputs, call.attributes);
  return gradient.rule({inputs, outputs, cotangents, call.attributes}).empty();
}

// Writes the ops of f, then the backward pass. Its cotangents are further inputs, or 1 for the
// first output.
Function differentiate(const Function& original, const std::vector<std::size_t>& wrt,
                       const GradOptions& options, bool keep_outputs, bool with_cotangents) {
  check_differentiable(original, wrt);
  // A composition whose derivative is that of its body is inlined.
  PreparedRules prepared;
  const Function f = prepare(expand(original, through_body), wrt, prepared);
  Builder builder(original.name());
  std::vector<Value> values;
  for (const Input& i : f.inputs()) values.push_back(builder.input(i.name, i.type));
  std::vector<Value> seeds;
  if (with_cotangents) {
    std::vector<std::string> names;
    for (std::size_t o = 0; o < f.outputs().size(); ++o) names.push_back(std::to_string(o));
    names = further_names(f, "cotangent", std::move(names));
    for (std::size_t o = 0; o < f.outputs().size(); ++o)
      seeds.push_back(builder.input(names[o], f.type(f.outputs()[o].value)));
  }
  rewrite_nodes(builder, f, values,
                [](Builder& b, const Node& node, std::span<const Value> inputs) {
                  return b.call(*node.op, inputs, node.attributes);
                });
  const std::vector<Value> outputs = outputs_of(f, values);
  if (!with_cotangents) seeds.push_back(number_like(outputs[0], 1));

  Reverse reverse(f, values, wrt, options, prepared);
  for (std::size_t o = 0; o < seeds.size(); ++o) reverse.begin(f.outputs()[o].value, seeds[o]);
  reverse.run(builder);

  std::vector<Value> results;
  std::vector<std::string> names;
  if (keep_outputs) {
    results = outputs;
    names = output_names(f);
  }
  for (std::size_t i : wrt) {
    results.push_back(reverse.gradient_of(i));
    names.push_back("grad." + f.inputs()[i].name);
  }
  return simplify(builder.finish(results, std::move(names)));
}

void check_scalar_loss(const Function& f) {
  if (f.outputs().empty())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("grad of '{}': the function has no output", f.name()));
  const Type& loss = f.type(f.outputs()[0].value);
  if (loss.shape.rank() != 0)
    throw Error(ErrorCode::kShape, fmt::format("grad of '{}': the loss is {}, expected a scalar",
                                               f.name(), to_string(loss)));
  if (!differentiable(loss.dtype))
    throw Error(ErrorCode::kDtype, fmt::format("grad of '{}': the loss is {}, expected f32 or f64",
                                               f.name(), to_string(loss)));
}

}  // namespace

Segments each_of(std::vector<std::string> scopes) {
  return [scopes = std::move(scopes)](std::string_view scope) -> std::string {
    for (const std::string& s : scopes)
      if (is_at_or_below(scope, s)) return s;
    return "";
  };
}

Segments every(std::int64_t layers) {
  return [layers](std::string_view scope) -> std::string {
    for (std::size_t begin = 0; begin < scope.size();) {
      const std::size_t end = std::min(scope.find('.', begin), scope.size());
      std::int64_t number = 0;
      const auto [rest, error] = std::from_chars(scope.data() + begin, scope.data() + end, number);
      if (error == std::errc() && rest == scope.data() + end && number >= 0)
        return fmt::format("{}{}", scope.substr(0, begin), number / layers);
      begin = end + 1;
    }
    return "";
  };
}

Function vjp(const Function& f, const Wrt& wrt, const GradOptions& options) {
  return differentiate(f, wrt.positions_in(f), options, true, true);
}

Function value_and_grad(const Function& f, const Wrt& wrt, const GradOptions& options) {
  check_scalar_loss(f);
  return differentiate(f, wrt.positions_in(f), options, true, false);
}

Function grad(const Function& f, const Wrt& wrt, const GradOptions& options) {
  check_scalar_loss(f);
  return differentiate(f, wrt.positions_in(f), options, false, false);
}

}  // namespace limpid
