// Reductions of rows and columns, norms and their gradients as steps.
#include <fmt/format.h>

#include <algorithm>

#include "limpid/compile/lowering.h"
#include "limpid/compile/worker.h"
#include "limpid/core/sums.h"
#include "limpid/ops/norm.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/softmax.h"

namespace limpid::detail {
namespace {

using kernels::Kernels;
using RowKernel = decltype(Kernels::softmax);
using ColumnKernel = decltype(Kernels::sum_columns);

// A kernel on the rows of a matrix.
struct RowsStep : UnaryRoot {
  std::string_view name;
  std::size_t rows = 0, columns = 0;
  std::size_t width = 0;  // of a row of the result

  std::string text(const Names& s) const override {
    return fmt::format("{} = {} 1x{}x{} {}", s(out), name, rows, columns, s(in));
  }
  SlotId* result() override { return &out; }
  std::size_t row_count() const override { return rows; }
  bool joins_rows() const override { return true; }

  void run(const Step& step, const Worker& worker, Piece piece) const override {
    run_range(step, worker, part(rows, 1, piece.index, piece.count));
  }
  void run_rows(const Step& step, const Worker& worker, Range range,
                std::size_t all_rows) const override {
    const std::size_t each = rows / all_rows;
    run_range(step, worker, {range.begin * each, range.end * each});
  }

 protected:
  virtual void work(const Worker& worker, Range range) const = 0;
  const float* read(const Worker& worker, SlotId slot, Range range) const {
    return worker.at<const float>(slot) + range.begin * columns;
  }
  float* write(const Worker& worker, SlotId slot, Range range) const {
    return worker.at<float>(slot) + range.begin * width;
  }

 private:
  void run_range(const Step& step, const Worker& worker, Range range) const {
    work(worker, range);
    run_behind(step, worker, {0, range, {0, width}}, rows, width);
  }
};

struct RowKernelStep final : RowsStep {
  RowKernel kernel = nullptr;

  void work(const Worker& worker, Range range) const override {
    kernel(read(worker, in, range), range.end - range.begin, columns, write(worker, out, range));
  }
};

// A norm, or the gradient of one.
struct NormStep final : RowsStep {
  bool layer = false;  // else RMS
  float eps = 0;
  SlotId gamma = -1, beta = -1;
  // Of a gradient, whose second result exists if there is a gamma.
  SlotId cotangent = -1, out2 = -1;

  Slots slots() const override { return {{in, gamma, beta, cotangent}, {out, out2}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{}{} = {} 1x{}x{} {}{}{}{}", s(out), out2 >= 0 ? ", " + s(out2) : "", name,
                       rows, columns, s(in), cotangent >= 0 ? ", " + s(cotangent) : "",
                       gamma >= 0 ? " * " + s(gamma) : "", beta >= 0 ? " + " + s(beta) : "");
  }
  std::vector<SlotId> whole_slots() const override { return {gamma, beta}; }
  void work(const Worker& worker, Range range) const override {
    const Kernels& k = *worker.plan.kernels;
    const std::size_t count = range.end - range.begin;
    const float* const x = read(worker, in, range);
    float* const to = write(worker, out, range);
    const auto parameter = [&](SlotId s) { return s >= 0 ? worker.at<const float>(s) : nullptr; };
    if (cotangent >= 0)
      (layer ? k.layer_norm_gradient : k.rms_norm_gradient)(
          x, read(worker, cotangent, range), count, columns, eps, parameter(gamma), to,
          out2 >= 0 ? write(worker, out2, range) : nullptr);
    else if (layer)
      k.layer_norm(x, count, columns, eps, parameter(gamma), parameter(beta), to);
    else
      k.rms_norm(x, count, columns, eps, parameter(gamma), to);
  }
};

// Reduces the columns of `outer` matrices of rows x columns, giving outer x columns.
struct ColumnsStep final : UnaryRoot {
  std::string_view name;
  std::size_t outer = 0, rows = 0, columns = 0;
  ColumnKernel kernel = nullptr;

  std::string text(const Names& s) const override {
    return fmt::format("{} = {} {}x{}x{} {}", s(out), name, outer, rows, columns, s(in));
  }
  SlotId* result() override { return &out; }
  void run(const Step& step, const Worker& worker, Piece piece) const override {
    const Range some = part(columns, 16, piece.index, piece.count);
    const float* from = worker.at<const float>(in);
    float* to = worker.at<float>(out);
    for (std::size_t o = 0; o < outer; ++o) {
      kernel(from + o * rows * columns, rows, columns, some, to + o * columns);
      run_behind(step, worker, {0, {o, o + 1}, some}, outer, columns);
    }
  }
};

// The blocks of `length` x inner matrices, of `block` x inner elements, each reduced to 1 x inner:
// so threads share a long row, or many rows of few columns. A ColumnsStep combines the results.
struct BlocksStep final : RowsStep {
  std::size_t length = 0, block = 0, blocks = 0;
  RowKernel rows_kernel = nullptr;  // if the matrices are rows
  ColumnKernel columns_kernel = nullptr;

  // Without full blocks these are no rows of its input.
  std::size_t row_count() const override { return length % block == 0 ? rows : 0; }
  void work(const Worker& worker, Range range) const override {
    const float* const from = worker.at<const float>(in);
    float* const to = worker.at<float>(out);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::size_t first = i % blocks * block;
      const std::size_t count = std::min(block, length - first);
      const float* const at = from + (i / blocks * length + first) * width;
      if (rows_kernel)
        rows_kernel(at, 1, count, to + i);
      else
        columns_kernel(at, count, width, {0, width}, to + i * width);
    }
  }
};

// Reductions to few results of many elements are shared by blocks.
constexpr std::size_t kFewResults = 64, kManyElements = std::size_t{1} << 16;

// The totals of blocks, as a tree.
void add_totals(const float* in, std::size_t rows, std::size_t columns, Range part, float* out) {
  for (std::size_t c = part.begin; c < part.end; ++c) {
    arithmetic::Tree<float> tree;
    for (std::size_t r = 0; r < rows; ++r) tree.add(in[r * columns + c]);
    out[c] = tree.total();
  }
}

// Kernels along the last axis, and along another one.
struct AlongAxis {
  const Op* op;
  std::string_view rows_name;
  RowKernel Kernels::*rows;
  std::string_view columns_name = {};
  ColumnKernel Kernels::*columns = nullptr;

  bool reduces() const { return columns != nullptr; }
  ColumnKernel combine(const Kernels& k) const { return op == &op::sum ? add_totals : k.*columns; }
};
constexpr AlongAxis kAlongAxis[] = {
    {&op::softmax, "softmax", &Kernels::softmax},
    {&op::log_softmax, "log_softmax", &Kernels::log_softmax},
    {&op::sum, "sum rows", &Kernels::sum_rows, "sum columns", &Kernels::sum_columns},
    {&op::max, "max rows", &Kernels::max_rows, "max columns", &Kernels::max_columns},
    {&op::min, "min rows", &Kernels::min_rows, "min columns", &Kernels::min_columns}};

// Except for its operands other than x.
NormStep norm_of_rows(const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  const auto kept = shape.rank() - static_cast<std::size_t>(call.attributes.integer("dims"));
  NormStep root;
  root.layer = &call.op == &op::layer_norm || &call.op == &op::layer_norm_gradient;
  root.name = call.op.name;
  root.rows = static_cast<std::size_t>(Shape(shape.dims().first(kept)).elements());
  root.columns = static_cast<std::size_t>(Shape(shape.dims().subspan(kept)).elements());
  root.width = root.columns;
  root.eps = static_cast<float>(call.attributes.get<double>("eps"));
  return root;
}

void add_along_axis(Lowering& l, const Node& node, const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  const auto length = static_cast<std::size_t>(shape[axis]);
  std::size_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= static_cast<std::size_t>(shape[d]);
  for (std::size_t d = axis + 1; d < shape.rank(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  const AlongAxis& along = *std::find_if(std::begin(kAlongAxis), std::end(kAlongAxis),
                                         [&](const AlongAxis& a) { return a.op == &call.op; });
  const bool last = axis + 1 == shape.rank();
  if (along.reduces() && outer * inner <= kFewResults && length * inner >= kManyElements) {
    BlocksStep blocks;
    blocks.name = last ? along.rows_name : along.columns_name;
    blocks.length = length;
    blocks.block = last ? arithmetic::kRowBlock : arithmetic::kBlock;
    blocks.blocks = (length + blocks.block - 1) / blocks.block;
    blocks.rows = outer * blocks.blocks;
    blocks.columns = blocks.block * inner;
    blocks.width = inner;
    if (last)
      blocks.rows_kernel = l.kernels().*along.rows;
    else
      blocks.columns_kernel = l.kernels().*along.columns;
    blocks.in = l.memory(node.inputs[0]);
    blocks.out = l.add_slot({Dtype::kF32, Shape{static_cast<std::int64_t>(blocks.rows),
                                                static_cast<std::int64_t>(inner)}},
                            Place::kWorkspace, 0);
    ColumnsStep combine;
    combine.name = "combine";
    combine.kernel = along.combine(l.kernels());
    combine.outer = outer;
    combine.rows = blocks.blocks;
    combine.columns = inner;
    combine.in = blocks.out;
    const auto work = [](std::size_t elements) {
      return kNanosecondsPerRowElement * static_cast<double>(elements);
    };
    l.add_step(blocks, work(outer * length * inner));
    return l.add_step_of(node, combine, work(blocks.rows * inner), l.elements(node.first_output));
  }
  if (last) {
    RowKernelStep root;
    root.name = along.rows_name;
    root.kernel = l.kernels().*along.rows;
    root.rows = outer;
    root.columns = length;
    root.width = along.reduces() ? 1 : length;
    return l.add_rows(node, root);
  }
  ColumnsStep root;
  root.name = along.columns_name;
  root.kernel = l.kernels().*along.columns;
  root.outer = outer;
  root.rows = length;
  root.columns = inner;
  l.add_rows(node, root);
}

void add_norm(Lowering& l, const Node& node, const Call& call) {
  NormStep root = norm_of_rows(call);
  if (node.inputs.size() > 1) root.gamma = l.memory(node.inputs[1]);
  if (node.inputs.size() > 2) root.beta = l.memory(node.inputs[2]);
  l.add_rows(node, root);
}

void add_norm_gradient(Lowering& l, const Node& node, const Call& call) {
  NormStep root = norm_of_rows(call);
  root.cotangent = l.memory(node.inputs[1]);
  if (node.inputs.size() > 2) {
    root.gamma = l.memory(node.inputs[2]);
    root.out2 = l.new_slot(node.first_output + 1);
  }
  l.add_rows(node, root);
  if (root.out2 >= 0) l.set_memory(node.first_output + 1, root.out2, l.last_step());
}

constexpr const Op* kSoftmaxes[] = {&op::softmax, &op::log_softmax};
bool serves_softmax(const Call& call) {
  const auto rank = static_cast<std::int64_t>(call.inputs[0].shape.rank());
  return serves_f32(call) && call.attributes.integer("axis") + 1 == rank;
}
constexpr const Op* kReductions[] = {&op::sum, &op::max, &op::min};
constexpr const Op* kNorms[] = {&op::layer_norm, &op::rms_norm};
constexpr const Op* kNormGradients[] = {&op::layer_norm_gradient, &op::rms_norm_gradient};

constexpr StepKind kRowKinds[] = {{kSoftmaxes, serves_softmax, add_along_axis},
                                  {kReductions, serves_f32, add_along_axis},
                                  {kNorms, serves_f32, add_norm},
                                  {kNormGradients, serves_f32, add_norm_gradient}};

}  // namespace

constexpr StepKinds row_steps = kRowKinds;

}  // namespace limpid::detail
