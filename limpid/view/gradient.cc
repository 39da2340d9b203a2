#include "limpid/view/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/standardize.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/problem.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/rewrite.h"

namespace limpid::view {
namespace {

bool has_derivative(Dtype dtype) { return dtype == Dtype::kF32 || dtype == Dtype::kF64; }

[[noreturn]] void refuse_gradient(const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "gradient: " + why);
}

// The values that reach the output through ops with a derivative.
std::vector<bool> reaching(const Function& f, ValueId output) {
  std::vector<bool> reached(f.types().size(), false);
  reached[static_cast<std::size_t>(output)] = true;
  for (auto node = f.nodes().rbegin(); node != f.nodes().rend(); ++node) {
    bool any = false;
    for (std::size_t r = 0; r < f.output_count(*node); ++r)
      any = any || reached[static_cast<std::size_t>(node->first_output) + r];
    if (!any || !node->op->gradient.none_because.empty()) continue;
    for (const ValueId id : node->inputs)
      if (has_derivative(f.type(id).dtype)) reached[static_cast<std::size_t>(id)] = true;
  }
  return reached;
}

// The scalar to differentiate, from the values of the Function and the target, if any.
using Scalar = std::function<Value(std::span<const Value> values, const Value& target)>;

struct Probed {
  // Takes a probe for each of these values (-0 changes no bit), then the target. The target is an
  // input, so that one plan serves all examples.
  Function function;
  std::vector<ValueId> values;  // in the order of the probes, as numbered in the Function
};

// x + -0 is x, bit for bit, and the gradient with respect to -0 is that with respect to x.
Probed with_probes(const Function& f, const std::vector<bool>& reached, const Scalar& scalar,
                   const std::optional<Tensor>& target) {
  Probed probed;
  std::vector<std::string> names;
  for (std::size_t id = 0; id < reached.size(); ++id)
    if (reached[id]) {
      probed.values.push_back(static_cast<ValueId>(id));
      names.push_back(value_name(f, static_cast<ValueId>(id)));
    }
  if (target) names.push_back("target");
  names = further_names(f, "probe", std::move(names));
  Builder builder(f.name());
  std::vector<Value> values;
  for (const Input& i : f.inputs()) values.push_back(builder.input(i.name, i.type));
  std::vector<Value> probes(f.types().size());
  for (std::size_t i = 0; i < probed.values.size(); ++i)
    probes[static_cast<std::size_t>(probed.values[i])] =
        builder.input(names[i], f.type(probed.values[i]));
  const Value goal = target ? builder.input(names.back(), target->type()) : Value();
  const auto probe = [&](std::size_t id, const Value& value) {
    return probes[id] ? value + probes[id] : value;
  };
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = probe(i, values[i]);
  rewrite_nodes(builder, f, values,
                [&](Builder& b, const Node& node, std::span<const Value> inputs) {
                  std::vector<Value> results = b.call(*node.op, inputs, node.attributes);
                  for (std::size_t r = 0; r < results.size(); ++r)
                    results[r] = probe(static_cast<std::size_t>(node.first_output) + r, results[r]);
                  return results;
                });
  const Value result = scalar(values, goal);
  probed.function = builder.finish({&result, 1}, {"value"});
  return probed;
}

Tensor negative_zeros(const Type& type) {
  if (type.dtype == Dtype::kF64)
    return Tensor::generate<double>(
        type.shape, [](std::span<double> out) { std::fill(out.begin(), out.end(), -0.0); });
  return Tensor::generate<float>(
      type.shape, [](std::span<float> out) { std::fill(out.begin(), out.end(), -0.0f); });
}

// ---- what is differentiated

const Output& output_of(const Function& f, const std::string& name) {
  if (f.outputs().empty()) refuse_gradient("the function has no output");
  for (const Output& o : f.outputs())
    if (name.empty() || o.name == name) return o;
  refuse_gradient(fmt::format("there is no output {}", in_quotes(name)));
}

Tensor target_tensor(const Ready& ready, const std::optional<std::vector<double>>& given, Task task,
                     const Type& output) {
  const bool classes = task == Task::kClassification || task == Task::kNextToken;
  const Shape shape = classes ? output.shape.erase(output.shape.rank() - 1) : output.shape;
  if (!given) {
    if (!ready.known) refuse_gradient("the loss needs a target, or an example that has one");
    const Dataset& data = *ready.known->data;
    const Tensor target = data.targets_of(ready.known->index, 1);
    if (target.elements() != shape.elements())
      refuse_gradient("the example has no target that fits the output");
    return target.reshape(shape);
  }
  if (static_cast<std::int64_t>(given->size()) != shape.elements())
    refuse_gradient(
        fmt::format("expected {} numbers as a target, got {}", shape.elements(), given->size()));
  if (!classes)
    return Tensor::generate<float>(shape, [&](std::span<float> out) {
      std::transform(given->begin(), given->end(), out.begin(),
                     [](double x) { return static_cast<float>(x); });
    });
  return Tensor::generate<std::int32_t>(shape, [&](std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double x = (*given)[i];
      if (!(x >= 0 && x < static_cast<double>(output.shape.back())) || x != std::trunc(x))
        refuse_gradient(fmt::format("{} is not a class: there are {}", x, output.shape.back()));
      out[i] = static_cast<std::int32_t>(x);
    }
  });
}

// Takes one element of an output. To multiply the others by zero would give NaN if one is infinite.
Scalar element_of_output(ValueId id, const Type& type, std::int64_t element) {
  if (element < 0 || element >= type.shape.elements())
    refuse_gradient(
        fmt::format("the output is {}, which has no element {}", to_string(type), element));
  return [=](std::span<const Value> values, const Value&) {
    const Value flat = reshape(values[static_cast<std::size_t>(id)], Shape{type.shape.elements()});
    return reshape(slice(flat, 0, element, element + 1), Shape{});
  };
}

// As in training: a regression scales its targets as the model says. With `counted`, only the first
// rows of the output count.
Scalar loss_of_output(const Function& f, ValueId id, const train::Loss& loss,
                      std::optional<std::int64_t> counted) {
  std::vector<std::pair<std::string, std::size_t>> scales;
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    if (is_standardization(f.inputs()[i].name)) scales.emplace_back(f.inputs()[i].name, i);
  return [=](std::span<const Value> values, const Value& target) {
    Value output = values[static_cast<std::size_t>(id)];
    if (counted) {
      const std::int64_t width = output.shape().back();
      output = reshape(output, Shape{output.shape().elements() / width, width});
      output = slice(output, 0, 0, *counted);
    }
    Args non_trainable;
    for (const auto& [name, at] : scales) non_trainable.set(name, values[at]);
    return mean(train::losses_in_scale(loss)(non_trainable, output, target));
  };
}

// The node that makes each value, and the nodes that use it.
struct Places {
  std::vector<std::int64_t> maker;
  std::vector<std::vector<std::size_t>> users;

  explicit Places(const Function& f) : maker(f.types().size(), -1), users(f.types().size()) {
    for (std::size_t n = 0; n < f.nodes().size(); ++n) {
      const Node& node = f.nodes()[n];
      for (std::size_t r = 0; r < f.output_count(node); ++r)
        maker[static_cast<std::size_t>(node.first_output) + r] = static_cast<std::int64_t>(n);
      for (const ValueId id : node.inputs) {
        auto& list = users[static_cast<std::size_t>(id)];
        if (list.empty() || list.back() != n) list.push_back(n);
      }
    }
  }
};

// How the gradient flows through a node to one of its operands.
std::string rule_of(const Node& node) {
  return node.op->gradient.none_because.empty()
             ? std::string(node.op->formula)
             : fmt::format("none: {}", node.op->gradient.none_because);
}

}  // namespace

Gradients gradient(Session& session, const GradientRequest& request) {
  const Prepared prepared = prepare(session, request.subject);
  const Function& f = prepared.edited.function;
  const Output& output = output_of(f, request.name);
  const Type& type = f.type(output.value);
  if (!has_derivative(type.dtype))
    throw Error(ErrorCode::kDtype,
                fmt::format("gradient: the output is {}, expected f32 or f64", to_string(type)));
  const OpenModel& open = *prepared.ready.open;
  Scalar scalar;
  std::optional<Tensor> target;
  if (request.output) {
    scalar = element_of_output(output.value, type, *request.output);
  } else {
    const Task task = open.config ? open.config->task : Task::kClassification;
    if (type.shape.rank() == 0) refuse_gradient("the output has no classes");
    const train::Loss loss = train::loss_config_of(open.model).value_or(train::usual_loss(task));
    target = target_tensor(prepared.ready, request.target, task, type);
    const std::int64_t rows = target->elements();
    std::optional<std::int64_t> counted = counted_rows(prepared.ready, rows);
    if (counted == rows)
      counted.reset();
    else
      target = target->reshape({rows}).rows(0, *counted);
    scalar = loss_of_output(f, output.value, loss, counted);
  }
  const Probed probed = with_probes(f, reaching(f, output.value), scalar, target);
  std::size_t bytes = 0;  // of the probes
  for (const ValueId id : probed.values)
    bytes = sum_or_most<std::size_t>(bytes, memory_of(f.type(id)));
  session.check_memory(bytes);
  std::vector<std::size_t> wrt;
  std::vector<Tensor> inputs = prepared.ready.inputs;
  for (const ValueId id : probed.values) {
    wrt.push_back(inputs.size());
    inputs.push_back(negative_zeros(f.type(id)));
  }
  if (target) inputs.push_back(*target);
  const Function with_gradients = value_and_grad(probed.function, Wrt(wrt));
  const std::vector<Tensor> results = session.compiled(with_gradients)(inputs, &session.pool());

  // Under the names of the model's own Function, last value first.
  Gradients all{.value = exact_at(results[0], 0)};
  const Function& original = prepared.ready.model.function;
  const std::int64_t most = std::min(request.values, session.limits().values);
  std::int64_t left = session.limits().shown;
  const Places places(original);
  std::vector<std::size_t> result_of(f.types().size(), 0);  // 0: none
  for (std::size_t i = 0; i < probed.values.size(); ++i)
    result_of[static_cast<std::size_t>(probed.values[i])] = 1 + i;
  for (std::size_t i = original.types().size(); i-- > 0;) {
    const auto id = static_cast<ValueId>(i);
    const std::size_t result = result_of[static_cast<std::size_t>(prepared.edited.values[i])];
    if (result == 0) continue;
    const Tensor& tensor = results[result];
    GradientRow row{.value = value_name(original, id), .op = "input", .type = tensor.type()};
    if (!request.only.empty() &&
        std::find(request.only.begin(), request.only.end(), row.value) == request.only.end())
      continue;
    row.node = places.maker[i];
    if (row.node >= 0) {
      const Node& node = original.nodes()[static_cast<std::size_t>(row.node)];
      row.layer = node.scope;
      row.op = node.op->name;
    }
    for (const std::size_t n : places.users[i]) {
      const Node& user = original.nodes()[n];
      row.from.push_back(
          {value_name(original, user.first_output), std::string(user.op->name), rule_of(user)});
    }
    row.statistics = statistics(tensor);
    if (most > 0 && left > 0) row.values = values_of(tensor, {}, std::min(most, left));
    left -= std::min(most, tensor.elements());
    all.rows.push_back(std::move(row));
  }
  return all;
}

Json to_json(const Gradients& gradients) {
  Json rows = Json::array();
  for (const GradientRow& row : gradients.rows) {
    Json from = Json::array();
    for (const auto& user : row.from)
      from.push_back({{"value", user.value}, {"op", user.op}, {"rule", user.rule}});
    Json r{{"value", row.value},
           {"layer", row.layer},
           {"op", row.op},
           {"dtype", name(row.type.dtype)},
           {"shape", to_json(row.type.shape)},
           {"statistics", to_json(row.statistics)},
           {"node", row.node},
           {"from", from}};
    if (row.values) r["values"] = to_json(*row.values);
    rows.push_back(std::move(r));
  }
  return {{"value", to_json(gradients.value)}, {"rows", rows}};
}

}  // namespace limpid::view
