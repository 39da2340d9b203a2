// Reductions of rows and columns, norms and updates as steps.
#include "limpid/compile/lowering.h"

namespace limpid::detail {

RowsStep::Kind Lowering::rows_kind(KernelKind kernel, bool last) {
  using Kind = RowsStep::Kind;
  switch (kernel) {
    case KernelKind::kSoftmax:
      return Kind::kSoftmax;
    case KernelKind::kLogSoftmax:
      return Kind::kLogSoftmax;
    case KernelKind::kSum:
      return last ? Kind::kSumRows : Kind::kSumColumns;
    case KernelKind::kMax:
      return last ? Kind::kMaxRows : Kind::kMaxColumns;
    default:
      return last ? Kind::kMinRows : Kind::kMinColumns;
  }
}

RowsStep Lowering::along_axis(const Node& node, const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  std::size_t outer = 1;
  std::size_t inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= static_cast<std::size_t>(shape[d]);
  for (std::size_t d = axis + 1; d < shape.rank(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  const auto length = static_cast<std::size_t>(shape[axis]);
  const bool last = axis + 1 == shape.rank();
  RowsStep root{};
  root.kind = rows_kind(node.op->kernel.kind, last);
  root.outer = last ? 1 : outer;
  root.rows = last ? outer : length;
  root.columns = last ? length : inner;
  return root;
}

RowsStep Lowering::norm_of_rows(const Call& call, RowsStep::Kind kind) {
  const Shape& shape = call.inputs[0].shape;
  const auto kept = shape.rank() - static_cast<std::size_t>(call.attributes.integer("dims"));
  RowsStep root{};
  root.kind = kind;
  root.outer = 1;
  root.rows = static_cast<std::size_t>(Shape(shape.dims().first(kept)).elements());
  root.columns = static_cast<std::size_t>(Shape(shape.dims().subspan(kept)).elements());
  root.eps = static_cast<float>(call.attributes.get<double>("eps"));
  return root;
}

void Lowering::add_norm(const Node& node, const Call& call) {
  using Kind = RowsStep::Kind;
  const bool layer = node.op->kernel.kind == KernelKind::kLayerNorm;
  RowsStep root = norm_of_rows(call, layer ? Kind::kLayerNorm : Kind::kRmsNorm);
  if (node.inputs.size() > 1) root.gamma = memory(node.inputs[1]);
  if (node.inputs.size() > 2) root.beta = memory(node.inputs[2]);
  add_rows(node, root);
}

void Lowering::add_norm_gradient(const Node& node, const Call& call) {
  using Kind = RowsStep::Kind;
  const bool layer = node.op->kernel.kind == KernelKind::kLayerNormGradient;
  RowsStep root = norm_of_rows(call, layer ? Kind::kLayerNormGradient : Kind::kRmsNormGradient);
  root.cotangent = memory(node.inputs[1]);
  if (node.inputs.size() > 2) {
    root.gamma = memory(node.inputs[2]);
    root.out2 = new_slot(node.first_output + 1);
  }
  add_rows(node, root);
  if (root.out2 >= 0) set_memory(node.first_output + 1, root.out2, last_step());
}

void Lowering::add_adam(const Node& node, const Call& call) {
  std::array<SlotId, 8> in{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = memory(node.inputs[i]);
  const auto number = [&](const char* name) { return call.attributes.get<double>(name); };
  const AdamStep root{elements(node.first_output),
                      in[0],
                      in[1],
                      in[2],
                      in[3],
                      in[4],
                      in[5],
                      in[6],
                      in[7],
                      new_slot(node.first_output),
                      new_slot(node.first_output + 1),
                      new_slot(node.first_output + 2),
                      number("beta1"),
                      number("beta2"),
                      number("eps")};
  Step step;
  step.root = root;
  step.nanoseconds = kNanosecondsPerUpdatedElement * static_cast<double>(root.elements);
  plan_.steps.push_back(std::move(step));
  set_memory(node.first_output, root.new_parameter, last_step());
  set_memory(node.first_output + 1, root.new_mean, last_step());
  set_memory(node.first_output + 2, root.new_square, last_step());
}

void Lowering::add_rows(const Node& node, RowsStep root) {
  root.in = memory(node.inputs[0]);
  Step step;
  step.program.elements = elements(node.first_output);
  step.nanoseconds = kNanosecondsPerRowElement * static_cast<double>(elements(node.inputs[0]));
  root.out = add_slot(f_.type(node.first_output), Place::kWorkspace, 0);
  step.root = root;
  plan_.steps.push_back(std::move(step));
  set_memory(node.first_output, root.out, last_step());
}

}  // namespace limpid::detail
