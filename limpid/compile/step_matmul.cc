// Products, and the packing of their weights in a run, as steps.
#include <fmt/format.h>

#include <algorithm>

#include "limpid/compile/lowering.h"
#include "limpid/compile/worker.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/quantized.h"

namespace limpid::detail {
namespace {

std::string_view weights_text(Weights weights) {
  constexpr std::array<std::string_view, 3> kTexts = {"", " bf16", " i8"};
  return kTexts[static_cast<std::size_t>(weights)];
}

Weights weights_of(Dtype dtype) {
  return dtype == Dtype::kBf16 ? Weights::kBf16
         : dtype == Dtype::kI8 ? Weights::kI8
                               : Weights::kF32;
}

// `batch` products of one shape, contiguous in memory.
struct MatmulStep final : Root {
  std::size_t batch = 1, m = 0, n = 0, k = 0;
  SlotId a = -1, b = -1, c = -1;
  SlotId bias = -1;
  SlotId scale = -1;  // of i8
  bool transpose_a = false, transpose_b = false;
  Weights weights = Weights::kF32;  // of b; narrower ones are always packed
  bool packed = false;              // b is what pack() wrote: a constant, or by a PackStep
  bool relu = false;

  Slots slots() const override { return {{a, b, bias, scale}, {c}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{} = matmul {}x{}x{}x{} {}{} {}{}{}{}{}{}{}", s(c), batch, m, n, k, s(a),
                       transpose_a ? "^T" : "", s(b), transpose_b ? "^T" : "",
                       weights_text(weights), packed ? " packed" : "",
                       scale >= 0 ? " * " + s(scale) : "", bias >= 0 ? " + " + s(bias) : "",
                       relu ? " relu" : "");
  }
  std::size_t scratch_bytes(const kernels::Kernels& kernels) const override {
    if (weights == Weights::kF32) return sizeof(float) * kernels.matmul_scratch_floats(m, n, k);
    return narrow_kernels(kernels, weights).scratch_bytes(m, k);
  }
  SlotId* result() override { return &c; }
  bool take_relu() override { return relu = true; }

  bool is_batch() const override { return batch > 1; }
  std::size_t row_count() const override {
    if (is_batch()) return batch;
    return packed && !transpose_a ? m : 0;
  }
  std::vector<SlotId> whole_slots() const override {
    return is_batch() ? std::vector<SlotId>{} : std::vector{b, bias, scale};
  }
  std::size_t weight_bytes() const override { return is_batch() ? 0 : n * k * bytes_of(weights); }
  std::optional<Columns> cut_by_columns(const kernels::Kernels& kernels) const override {
    if (!packed || is_batch()) return {};
    return Columns{m, n, panel_width(kernels)};
  }
  std::optional<RowAction> row_action() const override {
    if (!packed || weights != Weights::kF32 || is_batch() || m != 1) return {};
    return RowAction{.row = {n, k, relu, false}, .a = a, .b = b, .c = c, .bias = bias};
  }

  void run(const Step& step, const Worker& worker, Piece piece) const override {
    if (is_batch()) return run_products(step, worker, part(batch, 1, piece.index, piece.count));
    // Splits the longer side, so that each piece repeats less of the packing of the other operand.
    // A weight's gradient, A^T B, is split by rows: the next step reads it by rows, so a thread
    // finds in its cache what it has written. If the sum is long, packing B for every thread would
    // cost more than that saves.
    constexpr std::size_t kRowUnit = 24;  // whole register tiles on every instruction set
    const bool by_columns =
        packed || (transpose_a ? m < kRowUnit * piece.count || k > 2 * m : n >= m);
    if (by_columns)
      run_product(
          step, worker,
          {0, {0, m}, part(n, panel_width(*worker.plan.kernels), piece.index, piece.count)});
    else
      run_product(step, worker, {0, part(m, kRowUnit, piece.index, piece.count), {0, n}});
  }
  void run_rows(const Step& step, const Worker& worker, Range rows, std::size_t) const override {
    if (is_batch()) return run_products(step, worker, rows);
    run_product(step, worker, {0, rows, {0, n}});
  }

 private:
  std::size_t panel_width(const kernels::Kernels& kernels) const {
    return weights == Weights::kF32 ? kernels.panel_width
                                    : narrow_kernels(kernels, weights).panel_width;
  }
  void run_products(const Step& step, const Worker& worker, Range items) const {
    for (std::size_t i = items.begin; i < items.end; ++i)
      run_product(step, worker, {i, {0, m}, {0, n}});
  }
  void run_product(const Step& step, const Worker& worker, const Area& area) const {
    if (area.rows.begin >= area.rows.end || area.columns.begin >= area.columns.end) return;
    const kernels::Kernels& kernels = *worker.plan.kernels;
    if (weights == Weights::kF32)
      kernels.matmul(arguments(worker, area.item), area.rows, area.columns, worker.floats());
    else
      narrow_kernels(kernels, weights)
          .matmul(narrow_arguments(worker), area.rows, area.columns, worker.scratch);
    run_behind(step, worker, area, m, n);
  }
  kernels::Matmul arguments(const Worker& worker, std::size_t item) const {
    const float* from_a = worker.at<const float>(a) + item * m * k;
    const float* from_b = worker.at<const float>(b) + (packed ? 0 : item * k * n);
    kernels::Matmul arguments{};
    arguments.n = n;
    arguments.k = k;
    arguments.a = transpose_a ? kernels::Matrix{from_a, 1, m} : kernels::Matrix{from_a, k, 1};
    arguments.b = transpose_b ? kernels::Matrix{from_b, 1, k} : kernels::Matrix{from_b, n, 1};
    arguments.packed_b = packed ? from_b : nullptr;
    arguments.c = worker.at<float>(c) + item * m * n;
    arguments.c_row_stride = n;
    arguments.bias = bias >= 0 ? worker.at<const float>(bias) : nullptr;
    arguments.relu = relu;
    return arguments;
  }
  kernels::NarrowMatmul narrow_arguments(const Worker& worker) const {
    kernels::NarrowMatmul arguments{};
    arguments.n = n;
    arguments.k = k;
    arguments.a = worker.at<const float>(a);
    arguments.a_row_stride = k;
    arguments.packed_b = worker.at<const void>(b);
    arguments.scale = scale >= 0 ? worker.at<const float>(scale) : nullptr;
    arguments.c = worker.at<float>(c);
    arguments.c_row_stride = n;
    arguments.bias = bias >= 0 ? worker.at<const float>(bias) : nullptr;
    arguments.relu = relu;
    arguments.from_memory = worker.plan.weights_in_memory;
    return arguments;
  }
};

// Weights that are no constants: of low precision, or shared by all steps of a loop.
struct PackStep final : UnaryRoot {
  Layout layout;

  std::string text(const Names& s) const override {
    return fmt::format("{} = pack {}x{} {}{}{}", s(out), layout.k, layout.n, s(in),
                       layout.transposed ? "^T" : "", weights_text(layout.weights));
  }
  bool is_shared() const override { return false; }
  void run(const Step&, const Worker& worker, Piece) const override {
    const Layout& l = layout;
    const std::size_t row_stride = l.transposed ? 1 : l.n, column_stride = l.transposed ? l.k : 1;
    if (l.weights == Weights::kF32)
      return worker.plan.kernels->pack({worker.at<const float>(in), row_stride, column_stride}, l.k,
                                       l.n, {0, l.n}, worker.at<float>(out));
    narrow_kernels(*worker.plan.kernels, l.weights)
        .pack(worker.at<const void>(in), row_stride, column_stride, l.k, l.n, worker.at<void>(out));
  }
};

void add_matmul(Lowering& l, const Node& node, const Call& call) {
  const bool linear = node.op != &op::matmul;
  const Shape& b = call.inputs[1].shape;
  const Shape& c = call.outputs[0].shape;
  MatmulStep root;
  root.transpose_a = !linear && call.attributes.get<bool>("transpose_a");
  root.transpose_b = linear || call.attributes.get<bool>("transpose_b");
  root.n = static_cast<std::size_t>(b[b.rank() - (root.transpose_b ? 2 : 1)]);
  root.k = static_cast<std::size_t>(b[b.rank() - (root.transpose_b ? 1 : 2)]);
  for (std::size_t d = 0; !linear && d + 2 < b.rank(); ++d)
    root.batch *= static_cast<std::size_t>(b[d]);
  root.m = linear ? static_cast<std::size_t>(c.erase(c.rank() - 1).elements())
                  : static_cast<std::size_t>(c[c.rank() - 2]);
  root.weights = weights_of(call.inputs[1].dtype);
  root.a = l.memory(node.inputs[0]);
  const bool lasting =
      root.batch == 1 && (l.known(l.resolve(node.inputs[1])).how == Lowering::How::kConstant ||
                          l.is_invariant(node.inputs[1]));
  root.packed = lasting || root.weights != Weights::kF32;
  root.b = root.packed ? l.packed_operand(node.inputs[1], {&l.kernels(), root.weights, root.k,
                                                           root.n, root.transpose_b})
                       : l.memory(node.inputs[1]);
  std::size_t operand = 2;
  if (root.weights == Weights::kI8) root.scale = l.memory(node.inputs[operand++]);
  if (operand < node.inputs.size()) root.bias = l.memory(node.inputs[operand]);
  const double flops =
      2.0 * static_cast<double>(root.batch * root.m * root.n) * static_cast<double>(root.k);
  const double weight_bytes = static_cast<double>(root.batch * root.k * root.n) *
                              static_cast<double>(bytes_of(root.weights));
  root.c = l.new_slot(node.first_output);
  l.add_step(root, std::max(kNanosecondsPerFlop * flops, kNanosecondsPerWeightByte * weight_bytes),
             l.elements(node.first_output));
  l.set_memory(node.first_output, root.c, l.last_step());
}

constexpr const Op* kLinears[] = {&op::linear, &op::quantized_linear};
constexpr const Op* kMatmul[] = {&op::matmul};
bool serves_matmul(const Call& call) {
  if (!serves_f32(call)) return false;
  return call.inputs[1].dtype == Dtype::kF32 ||
         (!call.attributes.get<bool>("transpose_a") && call.inputs[1].shape.rank() == 2);
}

constexpr StepKind kMatmulKinds[] = {{kLinears, serves_f32, add_matmul},
                                     {kMatmul, serves_matmul, add_matmul}};

}  // namespace

SlotId Lowering::packed_operand(ValueId id, const Layout& layout) {
  const auto [found, fresh] = packed_.try_emplace({resolve(id), layout}, -1);
  if (!fresh) return found->second;
  if (const Known& k = known(resolve(id)); k.how == How::kConstant)
    return found->second = constant_slot(k.constant, layout);
  if (is_invariant(id)) {
    plan_.packed_inputs.push_back({static_cast<std::size_t>(resolve(id)), layout});
    return found->second = add_slot(packed_type(layout), Place::kInput,
                                    f_.inputs().size() + plan_.packed_inputs.size() - 1);
  }
  PackStep pack;
  pack.in = memory(id);
  pack.out = add_slot(packed_type(layout), Place::kWorkspace, 0);
  pack.layout = layout;
  add_step(pack, kNanosecondsPerPackedElement * static_cast<double>(layout.k * layout.n));
  return found->second = pack.out;
}

constexpr StepKinds matmul_steps = kMatmulKinds;

}  // namespace limpid::detail
