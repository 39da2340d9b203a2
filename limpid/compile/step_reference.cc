// Steps for primitives without a kernel for their types, by the reference arithmetic; and copies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "limpid/compile/lowering.h"
#include "limpid/compile/worker.h"
#include "limpid/core/error.h"

namespace limpid::detail {
namespace {

struct ReferenceStep final : Root {
  // Most operands, and most results: a run keeps their addresses on the stack.
  static constexpr std::size_t kMost = 64;
  const Op* op = nullptr;
  Attributes attributes;
  Function::CallTypes types;
  std::string scope;
  std::vector<SlotId> in, out;

  Slots slots() const override { return {in, out}; }
  std::string text(const Names& s) const override {
    const auto names = [&](const std::vector<SlotId>& slots) {
      std::vector<std::string> all;
      for (const SlotId slot : slots) all.push_back(s(slot));
      return fmt::format("{}", fmt::join(all, ", "));
    };
    return fmt::format("{} = reference {} {}", names(out), op->name, names(in));
  }
  bool is_shared() const override { return op->elementwise; }
  // A piece of an element-wise op is a call of fewer elements.
  void run(const Step&, const Worker& worker, Piece piece) const override {
    std::array<const void*, kMost> from{};
    std::array<void*, kMost> to{};
    std::array<Type, kMost> operands, results;
    const auto elements = static_cast<std::size_t>(types.outputs[0].shape.elements());
    const Range range =
        op->elementwise ? part(elements, 64, piece.index, piece.count) : Range{0, elements};
    const auto place = [&](SlotId slot, const Type& whole, Type& type) {
      type = op->elementwise
                 ? Type{whole.dtype, Shape{static_cast<std::int64_t>(range.end - range.begin)}}
                 : whole;
      const std::size_t skipped = op->elementwise ? range.begin * size_of(whole.dtype) : 0;
      return worker.at<std::byte>(slot) + skipped;
    };
    for (std::size_t i = 0; i < in.size(); ++i)
      from[i] = place(in[i], types.inputs[i], operands[i]);
    for (std::size_t i = 0; i < out.size(); ++i)
      to[i] = place(out[i], types.outputs[i], results[i]);
    const Call call{
        *op, {operands.data(), in.size()}, {results.data(), out.size()}, attributes, scope};
    op->reference(call, {from.data(), in.size()}, {to.data(), out.size()});
  }
};

struct CopyStep final : UnaryRoot {
  std::string text(const Names& s) const override {
    return fmt::format("{} = copy {}", s(out), s(in));
  }
  bool is_shared() const override { return false; }
  bool writes_in_place(SlotId, SlotId) const override { return true; }
  void run(const Step&, const Worker& worker, Piece) const override {
    const std::size_t bytes = worker.plan.slots[static_cast<std::size_t>(in)].type.bytes();
    if (bytes > 0) std::memcpy(worker.at<void>(out), worker.at<const void>(in), bytes);
  }
};

}  // namespace

void Lowering::add_reference(const Node& node, const Call& call) {
  if (std::max(call.inputs.size(), call.outputs.size()) > ReferenceStep::kMost)
    throw Error(ErrorCode::kInternal,
                fmt::format("{}: {} operands, reference arithmetic in a plan takes at most {}",
                            where(call), call.inputs.size(), ReferenceStep::kMost));
  ReferenceStep root;
  root.op = node.op;
  root.attributes = node.attributes;
  root.types = f_.call_types(node);
  root.scope = node.scope;
  for (const ValueId id : node.inputs) root.in.push_back(memory(id));
  for (std::size_t r = 0; r < call.outputs.size(); ++r)
    root.out.push_back(new_slot(node.first_output + static_cast<ValueId>(r)));
  const std::vector<SlotId> out = root.out;
  add_step(std::move(root),
           kNanosecondsPerReferenceElement * static_cast<double>(call.outputs[0].shape.elements()));
  for (std::size_t r = 0; r < out.size(); ++r)
    set_memory(node.first_output + static_cast<ValueId>(r), out[r], last_step());
}

void add_copy(Plan& plan, SlotId from, SlotId to) {
  auto root = std::make_unique<CopyStep>();
  root->in = from;
  root->out = to;
  plan.steps.emplace_back().root = std::move(root);
}

}  // namespace limpid::detail
