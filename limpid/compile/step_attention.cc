// Attention as a step.
#include "limpid/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/compile/lowering.h"
#include "limpid/compile/worker.h"
#include "limpid/core/attend.h"
#include "limpid/ops/cache.h"

namespace limpid::detail {
namespace {

// Attention of `sequences` of sizes `each`, or to their caches.
struct AttentionStep final : Root {
  SlotId q = -1, k = -1, v = -1, out = -1;
  SlotId mask = -1;
  SlotId position = -1;  // of a cache, one for each sequence: each.ahead
  std::size_t sequences = 1;
  arithmetic::AttentionSizes each{};
  std::size_t mask_rows = 0;  // that there are in memory
  bool f64 = false;           // no kernel: by the specification, a head at a time

  std::size_t heads() const { return sequences * each.heads; }
  std::size_t rows() const { return each.group * each.queries; }  // of a head of keys

  Slots slots() const override { return {{q, k, v, mask, position}, {out}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{} = attention {}x{}x{}x{}{} {} {} {}{}{}", s(out), heads(), rows(),
                       each.keys, each.size, f64 ? " f64" : "", s(q), s(k), s(v),
                       mask >= 0 ? " mask " + s(mask) : "",
                       position >= 0 ? " at " + s(position) : "");
  }
  std::size_t scratch_bytes(const kernels::Kernels& kernels) const override {
    if (f64) return sizeof(double) * (each.size + each.keys);
    return sizeof(float) * kernels.attention_scratch_floats(each.keys, each.size, each.value_size);
  }

  // Pieces take whole heads if they divide evenly; otherwise heads are split into as many parts as
  // there are pieces.
  void run(const Step&, const Worker& worker, Piece piece) const override {
    if (f64) return run_f64(worker, piece);
    const std::size_t parts = heads() % piece.count == 0 ? 1 : piece.count;
    const Range all = part(heads() * parts, 1, piece.index, piece.count);
    for (std::size_t i = all.begin; i < all.end;) {
      const std::size_t head = i / parts;
      const std::size_t end = std::min(all.end, (head + 1) * parts);
      const Range some{part(rows(), 1, i % parts, parts).begin,
                       part(rows(), 1, (end - 1) % parts, parts).end};
      worker.plan.kernels->attention(arguments(worker, head), some, worker.floats());
      i = end;
    }
  }

 private:
  bool mask_is_bool(const Worker& worker) const {
    return mask >= 0 &&
           worker.plan.slots[static_cast<std::size_t>(mask)].type.dtype == Dtype::kBool;
  }
  std::int64_t ahead(const Worker& worker, std::size_t head) const {
    return position >= 0 ? worker.at<const std::int32_t>(position)[head / each.heads] : each.ahead;
  }

  kernels::Attention arguments(const Worker& worker, std::size_t head) const {
    const bool seen = mask_is_bool(worker);
    return {.queries = each.queries,
            .keys = each.keys,
            .size = each.size,
            .value_size = each.value_size,
            .scale = static_cast<float>(each.scale),
            .ahead = ahead(worker, head),
            .q = worker.at<const float>(q) + head * rows() * each.size,
            .k = {worker.at<const float>(k) + head * each.keys * each.size, each.key_step,
                  each.element_step},
            .v = worker.at<const float>(v) + head * each.keys * each.value_size,
            .out = worker.at<float>(out) + head * rows() * each.value_size,
            .seen = seen ? worker.at<const std::uint8_t>(mask) : nullptr,
            .added = mask >= 0 && !seen ? worker.at<const float>(mask) : nullptr,
            .mask_row = mask >= 0 ? head * rows() % mask_rows : 0,
            .mask_rows = mask_rows};
  }

  void run_f64(const Worker& worker, Piece piece) const {
    arithmetic::AttentionSizes one = each;  // head
    one.heads = 1;
    const auto* const masked = mask >= 0 ? worker.at<const std::byte>(mask) : nullptr;
    const std::size_t scores = rows() * one.keys;
    const Range all = part(heads(), 1, piece.index, piece.count);
    for (std::size_t h = all.begin; h < all.end; ++h) {
      one.ahead = ahead(worker, h);
      const auto attend = [&](const auto& seen) {
        arithmetic::attend(one, worker.at<const double>(q) + h * rows() * one.size,
                           worker.at<const double>(k) + h * one.keys * one.size,
                           worker.at<const double>(v) + h * one.keys * one.value_size, seen,
                           reinterpret_cast<double*>(worker.scratch),
                           worker.at<double>(out) + h * rows() * one.value_size);
      };
      if (!masked)
        attend(arithmetic::EveryKey{});
      else if (mask_is_bool(worker))
        attend(arithmetic::SeenKeys{reinterpret_cast<const bool*>(masked) + h * scores});
      else
        attend(
            arithmetic::AddedNumbers<double>{reinterpret_cast<const double*>(masked) + h * scores});
    }
  }
};

// The slot of a mask with `rows` rows of `keys`. A broadcast that repeats whole rows is read
// directly, with fewer rows.
SlotId mask_operand(Lowering& l, ValueId mask, std::size_t keys, bool may_repeat,
                    std::size_t& rows) {
  const Lowering::Known& k = l.known(l.resolve(mask));
  if (!may_repeat || k.how != Lowering::How::kView || k.inner != 1 || k.period % keys != 0)
    return l.memory(mask);
  rows = k.period / keys;
  return l.memory(k.source);
}

void add_attention(Lowering& l, const Node& node, const Call& call) {
  AttentionStep root;
  root.q = l.memory(node.inputs[0]);
  root.k = l.memory(node.inputs[1]);
  root.v = l.memory(node.inputs[2]);
  root.f64 = call.inputs[0].dtype == Dtype::kF64;
  if (node.op == &op::cached_attention) {
    const CachedAttentionSizes sizes = cached_attention_sizes(call);
    root.sequences = sizes.sequences;
    root.each = sizes.each;
    root.position = l.memory(node.inputs[3]);
  } else {
    root.each = attention_sizes(call);
    root.mask_rows = root.heads() * root.rows();
    if (node.inputs.size() == 4)
      root.mask = mask_operand(l, node.inputs[3], root.each.keys, !root.f64, root.mask_rows);
  }
  const arithmetic::AttentionSizes& s = root.each;
  const double pairs = static_cast<double>(root.heads() * root.rows()) *
                       static_cast<double>(s.keys) *
                       (s.ahead < static_cast<std::int64_t>(s.keys) ? 0.5 : 1);
  l.add_step_of(node, root,
                pairs * (kNanosecondsPerScore +
                         2 * kNanosecondsPerFlop * static_cast<double>(s.size + s.value_size)));
}

constexpr const Op* kAttentions[] = {&op::scaled_dot_product_attention, &op::cached_attention};

constexpr StepKind kAttentionKinds[] = {{kAttentions, serves_all, add_attention}};

}  // namespace

constexpr StepKinds attention_steps = kAttentionKinds;

}  // namespace limpid::detail
