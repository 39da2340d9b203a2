// Products and attention as steps.
#include <algorithm>

#include "limpid/compile/lowering.h"
#include "limpid/ops/attention.h"

namespace limpid::detail {
namespace {

using Weights = MatmulStep::Weights;

Weights weights_of(Dtype dtype) {
  return dtype == Dtype::kBf16 ? Weights::kBf16
         : dtype == Dtype::kI8 ? Weights::kI8
                               : Weights::kF32;
}

}  // namespace

void Lowering::add_matmul(const Node& node, const Call& call) {
  const bool linear = node.op->kernel.kind != KernelKind::kMatmul;
  const Shape& b = call.inputs[1].shape;
  const Shape& c = call.outputs[0].shape;
  MatmulStep root{};
  root.transpose_a = !linear && call.attributes.get<bool>("transpose_a");
  root.transpose_b = linear || call.attributes.get<bool>("transpose_b");
  root.n = static_cast<std::size_t>(b[b.rank() - (root.transpose_b ? 2 : 1)]);
  root.k = static_cast<std::size_t>(b[b.rank() - (root.transpose_b ? 1 : 2)]);
  root.batch = 1;
  for (std::size_t d = 0; !linear && d + 2 < b.rank(); ++d)
    root.batch *= static_cast<std::size_t>(b[d]);
  root.m = linear ? static_cast<std::size_t>(c.erase(c.rank() - 1).elements())
                  : static_cast<std::size_t>(c[c.rank() - 2]);
  root.weights = weights_of(call.inputs[1].dtype);
  root.a = memory(node.inputs[0]);
  root.b = root.weights == Weights::kF32 ? matrix_operand(node.inputs[1], root)
                                         : narrow_operand(node.inputs[1], root);
  std::size_t operand = 2;
  if (root.weights == Weights::kI8) root.scale = memory(node.inputs[operand++]);
  if (operand < node.inputs.size()) root.bias = memory(node.inputs[operand]);
  Step step;
  const double flops =
      2.0 * static_cast<double>(root.batch * root.m * root.n) * static_cast<double>(root.k);
  const double weight_bytes = static_cast<double>(root.batch * root.k * root.n) *
                              static_cast<double>(bytes_of(root.weights));
  step.nanoseconds =
      std::max(kNanosecondsPerFlop * flops, kNanosecondsPerWeightByte * weight_bytes);
  step.program.elements = elements(node.first_output);
  root.c = add_slot(f_.type(node.first_output), Place::kWorkspace, 0);
  step.root = root;
  plan_.steps.push_back(std::move(step));
  set_memory(node.first_output, root.c, last_step());
}

Layout Lowering::layout_of(const MatmulStep& root) const {
  return {plan_.kernels, root.weights, root.k, root.n, root.transpose_b};
}

SlotId Lowering::matrix_operand(ValueId id, MatmulStep& root) {
  const Known& k = known(resolve(id));
  if (k.how != How::kConstant || root.batch != 1) return memory(id);
  root.packed = true;
  const auto [found, fresh] = packed_.try_emplace({resolve(id), root.transpose_b}, -1);
  if (fresh) found->second = constant_slot(k.constant, layout_of(root));
  return found->second;
}

SlotId Lowering::narrow_operand(ValueId id, MatmulStep& root) {
  root.packed = true;
  const auto [found, fresh] = packed_.try_emplace({resolve(id), root.transpose_b}, -1);
  if (!fresh) return found->second;
  const Known& k = known(resolve(id));
  if (k.how == How::kConstant) {
    found->second = constant_slot(k.constant, layout_of(root));
    return found->second;
  }
  const PackStep pack{
      root.weights, memory(id), add_slot(packed_type(layout_of(root)), Place::kWorkspace, 0),
      root.k,       root.n,     root.transpose_b};
  Step step;
  step.root = pack;
  step.nanoseconds = kNanosecondsPerPackedElement * static_cast<double>(root.k * root.n);
  plan_.steps.push_back(std::move(step));
  found->second = pack.out;
  return pack.out;
}

void Lowering::add_attention(const Node& node, const Call& call) {
  AttentionStep root{};
  root.q = memory(node.inputs[0]);
  root.k = memory(node.inputs[1]);
  root.v = memory(node.inputs[2]);
  root.f64 = call.inputs[0].dtype == Dtype::kF64;
  root.sequences = 1;
  if (node.op->kernel.kind == KernelKind::kCachedAttention) {
    const CachedAttentionSizes sizes = cached_attention_sizes(call);
    root.sequences = sizes.sequences;
    root.each = sizes.each;
    root.position = memory(node.inputs[3]);
  } else {
    root.each = attention_sizes(call);
    if (node.inputs.size() == 4) set_mask(root, node.inputs[3]);
  }
  const arithmetic::AttentionSizes& s = root.each;
  const double pairs = static_cast<double>(root.heads() * root.rows()) *
                       static_cast<double>(s.keys) *
                       (s.ahead < static_cast<std::int64_t>(s.keys) ? 0.5 : 1);
  Step step;
  step.nanoseconds = pairs * (kNanosecondsPerScore +
                              2 * kNanosecondsPerFlop * static_cast<double>(s.size + s.value_size));
  root.out = new_slot(node.first_output);
  step.root = root;
  plan_.steps.push_back(std::move(step));
  set_memory(node.first_output, root.out, last_step());
}

void Lowering::set_mask(AttentionStep& root, ValueId mask) {
  const Known& k = known(resolve(mask));
  const bool repeats =
      !root.f64 && k.how == How::kView && k.inner == 1 && k.period % root.each.keys == 0;
  root.mask = memory(repeats ? k.source : mask);
  root.mask_rows = repeats ? k.period / root.each.keys : root.heads() * root.rows();
}

}  // namespace limpid::detail
