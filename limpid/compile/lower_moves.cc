// Elements that are moved, and nothing computed of them.
#include "limpid/compile/lowering.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/rows.h"

namespace limpid::detail {

bool Lowering::keeps_order(const Call& call) {
  std::int64_t last = -1;
  for (const std::int64_t d : call.attributes.get<std::vector<std::int64_t>>("permutation")) {
    if (call.inputs[0].shape[static_cast<std::size_t>(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

bool Lowering::is_matrix_transpose(const Call& call) {
  const auto& p = call.attributes.get<std::vector<std::int64_t>>("permutation");
  const std::size_t rank = p.size();
  if (call.inputs[0].dtype != Dtype::kF32 || rank < 2) return false;
  for (std::size_t d = 0; d + 2 < rank; ++d)
    if (p[d] != static_cast<std::int64_t>(d)) return false;
  return p[rank - 1] == static_cast<std::int64_t>(rank) - 2;
}

void Lowering::add_transpose(const Node& node, const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  const std::size_t rank = shape.rank();
  TransposeStep root{};
  root.in = memory(node.inputs[0]);
  root.rows = static_cast<std::size_t>(shape[rank - 2]);
  root.columns = static_cast<std::size_t>(shape[rank - 1]);
  root.outer = static_cast<std::size_t>(Shape(shape.dims().first(rank - 2)).elements());
  root.out = new_slot(node.first_output);
  Step step;
  step.root = root;
  step.nanoseconds =
      kNanosecondsPerMovedByte * static_cast<double>(f_.type(node.first_output).bytes());
  plan_.steps.push_back(std::move(step));
  set_memory(node.first_output, root.out, last_step());
}

void Lowering::add_move(SlotId in, SlotId out, const Walk& walk) {
  Step step;
  step.root = MoveStep{in, out, walk};
  step.nanoseconds = kNanosecondsPerMovedByte * static_cast<double>(walk.bytes());
  plan_.steps.push_back(std::move(step));
}

void Lowering::add_permutation(const Node& node, const Call& call) {
  const SlotId in = memory(node.inputs[0]), out = new_slot(node.first_output);
  add_move(in, out, walk_of_permutation(call));
  set_memory(node.first_output, out, last_step());
}

void Lowering::add_moves(const Node& node, const Call& call) {
  const SlotId out = new_slot(node.first_output);
  if (node.op == &op::slice)
    add_move(memory(node.inputs[0]), out, walk_of_slice(call));
  else
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (call.inputs[i].shape.elements() > 0)
        add_move(memory(node.inputs[i]), out, walk_of_part(call, i));
  set_memory(node.first_output, out, last_step());
}

RowNumbers Lowering::row_numbers(const Type& numbers, const Shape& table, std::size_t batch) {
  const Rows r = rows_of(numbers.shape, table, batch);
  return {static_cast<std::size_t>(r.batches), static_cast<std::size_t>(r.numbers),
          static_cast<std::size_t>(r.rows), numbers.dtype == Dtype::kI64};
}

void Lowering::add_gather(const Node& node, const Call& call) {
  const std::size_t batch = batch_of(call);
  const Shape& table = call.inputs[0].shape;
  const std::size_t width =
      rows_of(call.inputs[1].shape, table, batch).width * size_of(call.inputs[0].dtype);
  Step step;
  const GatherStep root{memory(node.inputs[0]), memory(node.inputs[1]), new_slot(node.first_output),
                        row_numbers(call.inputs[1], table, batch), width};
  step.root = root;
  step.nanoseconds = kNanosecondsPerMovedByte * static_cast<double>(call.outputs[0].bytes());
  plan_.steps.push_back(std::move(step));
  set_memory(node.first_output, root.out, last_step());
}

void Lowering::add_scatter_add(const Node& node, const Call& call) {
  const std::size_t batch = batch_of(call);
  const Shape& table = call.outputs[0].shape;
  Step step;
  const ScatterAddStep root{memory(node.inputs[0]), memory(node.inputs[1]),
                            new_slot(node.first_output), row_numbers(call.inputs[0], table, batch),
                            rows_of(call.inputs[0].shape, table, batch).width};
  step.root = root;
  step.nanoseconds = kNanosecondsPerMovedByte *
                     static_cast<double>(call.inputs[1].bytes() + call.outputs[0].bytes());
  plan_.steps.push_back(std::move(step));
  set_memory(node.first_output, root.out, last_step());
}

void Lowering::add_update_rows(const Node& node, const Call& call) {
  const UpdateRowsStep root{memory(node.inputs[0]), memory(node.inputs[1]), memory(node.inputs[2]),
                            new_slot(node.first_output), update_sizes(call)};
  Step step;
  step.root = root;
  plan_.steps.push_back(std::move(step));
  set_memory(node.first_output, root.out, last_step());
}

}  // namespace limpid::detail
