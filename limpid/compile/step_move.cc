// Steps that move elements without computing: transpositions, slices, concatenations.
#include <fmt/format.h>

#include <cstring>

#include "limpid/compile/lowering.h"
#include "limpid/compile/move.h"
#include "limpid/compile/worker.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid::detail {
namespace {

// `outer` matrices of rows x columns, each transposed.
struct TransposeStep final : UnaryRoot {
  std::size_t outer = 0, rows = 0, columns = 0;

  std::string text(const Names& s) const override {
    return fmt::format("{} = transpose {}x{}x{} {}", s(out), outer, rows, columns, s(in));
  }
  // Pieces are ranges of columns, over all matrices: each becomes rows of the result.
  void run(const Step&, const Worker& worker, Piece piece) const override {
    const Range all = part(outer * columns, kUnit, piece.index, piece.count);
    for (std::size_t c = all.begin; c < all.end;) {
      const std::size_t first = c / columns * rows * columns, column = c % columns;
      const std::size_t end = std::min(columns, column + (all.end - c));
      worker.plan.kernels->transpose(worker.at<const float>(in) + first, rows, columns,
                                     {column, end}, worker.at<float>(out) + first);
      c += end - column;
    }
  }

 private:
  static constexpr std::size_t kUnit = 32;  // columns that fill cache lines of several rows
};

// A step whose rows are those of its first axes, which it keeps.
template <class Base>
struct ByRows : Base {
  std::size_t rows = 0;                 // 0: none are kept
  std::size_t in_row = 0, out_row = 0;  // bytes

  std::size_t row_count() const override { return rows; }
  bool joins_rows() const override { return true; }
  void run_rows(const Step&, const Worker& worker, Range range,
                std::size_t all_rows) const override {
    const std::size_t each = rows / all_rows;
    for (std::size_t r = range.begin * each; r < range.end * each; ++r) row(worker, r);
  }

 protected:
  virtual void row(const Worker& worker, std::size_t r) const = 0;
};

struct MoveStep final : ByRows<UnaryRoot> {
  Walk walk, row_walk;

  std::string text(const Names& s) const override {
    return fmt::format("{} = move {}x{} bytes {}", s(out), walk.bytes() / walk.run, walk.run,
                       s(in));
  }
  void run(const Step&, const Worker& worker, Piece piece) const override {
    move(walk, worker.at<const std::byte>(in), worker.at<std::byte>(out),
         part(walk.lines(), 1, piece.index, piece.count));
  }
  void row(const Worker& worker, std::size_t r) const override {
    move(row_walk, worker.at<const std::byte>(in) + r * in_row,
         worker.at<std::byte>(out) + r * out_row, {0, row_walk.lines()});
  }
};

// What a pad writes besides its operand.
struct FillStep final : ByRows<Root> {
  SlotId out = -1;
  std::vector<Walk> walks, row_walks;
  std::uint64_t pattern = 0;
  std::size_t element = 0;

  Slots slots() const override { return {{}, {out}}; }
  std::string text(const Names& s) const override {
    std::size_t bytes = 0;
    for (const Walk& walk : walks) bytes += walk.bytes();
    return fmt::format("{} = fill {} bytes", s(out), bytes);
  }
  void run(const Step&, const Worker& worker, Piece piece) const override {
    for (const Walk& walk : walks)
      fill(walk, pattern, element, worker.at<std::byte>(out),
           part(walk.lines(), 1, piece.index, piece.count));
  }
  void row(const Worker& worker, std::size_t r) const override {
    for (const Walk& walk : row_walks)
      fill(walk, pattern, element, worker.at<std::byte>(out) + r * out_row, {0, walk.lines()});
  }
};

// The bytes of `value` as an element of this dtype.
std::uint64_t pattern_of(double value, Dtype dtype) {
  std::uint64_t pattern = 0;
  dispatch_numeric(dtype, [&](auto zero) {
    const auto element = static_cast<decltype(zero)>(value);
    std::memcpy(&pattern, &element, sizeof element);
  });
  return pattern;
}

double nanoseconds_of(const Walk& walk) {
  return kNanosecondsPerMovedByte * static_cast<double>(walk.bytes());
}

// Whether only dimensions of size 1 move.
bool keeps_order(const Call& call) {
  std::int64_t last = -1;
  for (const std::int64_t d : call.attributes.get<std::vector<std::int64_t>>("permutation")) {
    if (call.inputs[0].shape[static_cast<std::size_t>(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

bool is_matrix_transpose(const Call& call) {
  const auto& p = call.attributes.get<std::vector<std::int64_t>>("permutation");
  const std::size_t rank = p.size();
  if (call.inputs[0].dtype != Dtype::kF32 || rank < 2) return false;
  for (std::size_t d = 0; d + 2 < rank; ++d)
    if (p[d] != static_cast<std::int64_t>(d)) return false;
  return p[rank - 1] == static_cast<std::int64_t>(rank) - 2;
}

void add_transpose(Lowering& l, const Node& node, const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  const std::size_t rank = shape.rank();
  TransposeStep root;
  root.in = l.memory(node.inputs[0]);
  root.rows = static_cast<std::size_t>(shape[rank - 2]);
  root.columns = static_cast<std::size_t>(shape[rank - 1]);
  root.outer = static_cast<std::size_t>(Shape(shape.dims().first(rank - 2)).elements());
  l.add_step_of(node, root,
                kNanosecondsPerMovedByte * static_cast<double>(call.outputs[0].bytes()));
}

void add_permutation(Lowering& l, const Node& node, const Call& call) {
  MoveStep root;
  root.in = l.memory(node.inputs[0]);
  root.walk = walk_of_permutation(call);
  l.add_step_of(node, root, nanoseconds_of(root.walk));
}

// A slice, a pad, or a concatenation.
void add_moves(Lowering& l, const Node& node, const Call& call) {
  const std::size_t kept = axes_kept(call);
  const auto rows =
      static_cast<std::size_t>(Shape(call.outputs[0].shape.dims().first(kept)).elements());
  const SlotId out = l.new_slot(node.first_output);
  const auto place = [&](auto& root) {
    root.out = out;
    if (kept == 0) return;
    root.rows = rows;
    root.out_row = call.outputs[0].bytes() / rows;
  };
  if (node.op == &op::pad) {
    FillStep root;
    place(root);
    root.walks = walks_of_filling(call);
    if (kept > 0) root.row_walks = walks_of_filling(call, kept);
    root.element = size_of(call.outputs[0].dtype);
    root.pattern = pattern_of(call.attributes.get<double>("value"), call.outputs[0].dtype);
    double nanoseconds = 0;
    for (const Walk& walk : root.walks) nanoseconds += nanoseconds_of(walk);
    l.add_step(root, nanoseconds);
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (call.inputs[i].shape.elements() == 0) continue;
    const auto walk = [&](std::size_t first) {
      return node.op == &op::slice ? walk_of_slice(call, first)
             : node.op == &op::pad ? walk_of_pad(call, first)
                                   : walk_of_part(call, i, first);
    };
    MoveStep root;
    place(root);
    root.in = l.memory(node.inputs[i]);
    root.in_row = rows == 0 ? 0 : call.inputs[i].bytes() / rows;
    root.walk = walk(0);
    if (kept > 0) root.row_walk = walk(kept);
    l.add_step(root, nanoseconds_of(root.walk));
  }
  l.set_memory(node.first_output, out, l.last_step());
}

constexpr const Op* kTranspose[] = {&op::transpose};
void lower_transpose(Lowering& l, const Node& node, const Call& call) {
  if (keeps_order(call)) return l.set_alias(node.first_output, node.inputs[0]);
  if (is_matrix_transpose(call)) return add_transpose(l, node, call);
  return add_permutation(l, node, call);
}
constexpr const Op* kMoves[] = {&op::slice, &op::pad, &op::concatenate};

constexpr StepKind kMoveKinds[] = {{kTranspose, serves_all, lower_transpose},
                                   {kMoves, serves_all, add_moves}};

}  // namespace

constexpr StepKinds move_steps = kMoveKinds;

}  // namespace limpid::detail
