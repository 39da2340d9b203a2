// Steps that move elements without computing: transpositions, slices, concatenations.
#include <fmt/format.h>

#include "limpid/compile/lowering.h"
#include "limpid/compile/move.h"
#include "limpid/compile/worker.h"
#include "limpid/ops/indexing.h"

namespace limpid::detail {
namespace {

// `outer` matrices of rows x columns, each transposed.
struct TransposeStep final : UnaryRoot {
  std::size_t outer = 0, rows = 0, columns = 0;

  std::string text(const Names& s) const override {
    return fmt::format("{} = transpose {}x{}x{} {}", s(out), outer, rows, columns, s(in));
  }
  void run(const Step&, const Worker& worker, Piece piece) const override {
    const Range items = part(outer, 1, piece.index, piece.count);
    for (std::size_t i = items.begin; i < items.end; ++i) {
      const std::size_t first = i * rows * columns;
      worker.plan.kernels->transpose(worker.at<const float>(in) + first, rows, columns,
                                     worker.at<float>(out) + first);
    }
  }
};

struct MoveStep final : UnaryRoot {
  Walk walk;

  std::string text(const Names& s) const override {
    return fmt::format("{} = move {}x{} bytes {}", s(out), walk.bytes() / walk.run, walk.run,
                       s(in));
  }
  void run(const Step&, const Worker& worker, Piece piece) const override {
    move(walk, worker.at<const std::byte>(in), worker.at<std::byte>(out),
         part(walk.lines(), 1, piece.index, piece.count));
  }
};

double nanoseconds_of(const Walk& walk) {
  return kNanosecondsPerMovedByte * static_cast<double>(walk.bytes());
}

}  // namespace

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
  TransposeStep root;
  root.in = memory(node.inputs[0]);
  root.rows = static_cast<std::size_t>(shape[rank - 2]);
  root.columns = static_cast<std::size_t>(shape[rank - 1]);
  root.outer = static_cast<std::size_t>(Shape(shape.dims().first(rank - 2)).elements());
  add_step_of(node, root,
              kNanosecondsPerMovedByte * static_cast<double>(f_.type(node.first_output).bytes()));
}

void Lowering::add_permutation(const Node& node, const Call& call) {
  MoveStep root;
  root.in = memory(node.inputs[0]);
  root.walk = walk_of_permutation(call);
  add_step_of(node, root, nanoseconds_of(root.walk));
}

void Lowering::add_moves(const Node& node, const Call& call) {
  MoveStep root;
  root.out = new_slot(node.first_output);
  const bool slice = node.op == &op::slice;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!slice && call.inputs[i].shape.elements() == 0) continue;
    root.in = memory(node.inputs[i]);
    root.walk = slice ? walk_of_slice(call) : walk_of_part(call, i);
    add_step(root, nanoseconds_of(root.walk));
  }
  set_memory(node.first_output, root.out, last_step());
}

}  // namespace limpid::detail
