#include "limpid/function/interpret.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/number_text.h"
#include "limpid/core/stop_check.h"
#include "limpid/function/arguments.h"
#include "limpid/function/builder.h"

namespace limpid {

void check_arguments(std::string_view function, std::span<const Input> inputs,
                     std::span<const Tensor> tensors) {
  if (tensors.size() != inputs.size())
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("function '{}' takes {}, got {}", function,
                    counted(static_cast<std::int64_t>(inputs.size()), "input"), tensors.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Input& expected = inputs[i];
    if (expected.type == tensors[i].type()) continue;
    throw Error(expected.type.dtype == tensors[i].dtype() ? ErrorCode::kShape : ErrorCode::kDtype,
                fmt::format("function '{}': input '{}': expected {}, got {}", function,
                            expected.name, to_string(expected.type), to_string(tensors[i].type())));
  }
}

void check_arguments(const Function& function, std::span<const Tensor> inputs) {
  check_arguments(function.name(), function.inputs(), inputs);
}

std::int64_t flops_of(const Function& function) {
  std::int64_t total = 0;
  for (const Node& node : function.nodes()) {
    const Function::CallTypes types = function.call_types(node);
    const std::int64_t flops =
        node.op->flops({*node.op, types.inputs, types.outputs, node.attributes, node.scope});
    total = sum_or_most(total, std::max<std::int64_t>(0, flops));
  }
  return total;
}

bool results_are_empty(const Call& call) {
  return std::all_of(call.outputs.begin(), call.outputs.end(),
                     [](const Type& t) { return t.shape.elements() == 0; });
}

std::vector<Tensor> interpret_call(const Call& call, std::span<const Tensor> inputs) {
  if (results_are_empty(call))
    return generate_together(call.outputs, [](std::span<void* const>) {});
  if (call.op.evaluation) return call.op.evaluation(call, inputs);
  if (call.op.body) return interpret(body_of(call), inputs);
  std::vector<const void*> in;
  for (const Tensor& t : inputs) in.push_back(t.bytes().data());
  return generate_together(call.outputs, [&](std::span<void* const> out) {
    const DefaultFloatMode mode;
    call.op.reference(call, in, out);
  });
}

std::vector<Tensor> interpret(const Function& function, std::span<const Tensor> inputs,
                              const Observer& observer) {
  check_arguments(function, inputs);
  std::vector<Tensor> values(inputs.begin(), inputs.end());
  // Values that nothing reads after a node are released with it.
  const std::vector<std::vector<ValueId>> released = last_reads(function);
  for (const Node& node : function.nodes()) {
    throw_if_stopped();
    const Function::CallTypes types = function.call_types(node);
    const Call call{*node.op, types.inputs, types.outputs, node.attributes, node.scope};
    std::vector<Tensor> in;
    for (ValueId id : node.inputs) in.push_back(values[static_cast<std::size_t>(id)]);
    const std::vector<Tensor> results = interpret_call(call, in);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (observer) observer(node, i, results[i]);
      values.push_back(results[i]);
    }
    for (const ValueId id : released[static_cast<std::size_t>(&node - function.nodes().data())])
      values[static_cast<std::size_t>(id)] = Tensor();
  }
  std::vector<Tensor> outputs;
  for (const Output& o : function.outputs())
    outputs.push_back(values[static_cast<std::size_t>(o.value)]);
  return outputs;
}

}  // namespace limpid
