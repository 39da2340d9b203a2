// A plan as text: a step a line, its program behind it. Slots are named in (input), out, const, s
// (workspace) and b (in a band's memory). & is before a step that stands beside the one above it.
#include <fmt/format.h>

#include "limpid/compile/plan.h"

namespace limpid::detail {
namespace {

std::string slot_text(const Plan& plan, SlotId id) {
  const Slot& slot = plan.slots[static_cast<std::size_t>(id)];
  switch (slot.place) {
    case Place::kInput:
      return fmt::format("in{}", slot.offset);
    case Place::kOutput:
      return fmt::format("out{}", slot.offset);
    case Place::kConstant:
      return fmt::format("const{}", slot.offset);
    case Place::kWorkspace:
      return fmt::format("s{}", id);
    case Place::kBand:
      return fmt::format("b{}", id);
  }
  return {};
}

std::string_view kind_text(RowsStep::Kind kind) {
  switch (kind) {
    case RowsStep::Kind::kSoftmax:
      return "softmax";
    case RowsStep::Kind::kLogSoftmax:
      return "log_softmax";
    case RowsStep::Kind::kLayerNorm:
      return "layer_norm";
    case RowsStep::Kind::kRmsNorm:
      return "rms_norm";
    case RowsStep::Kind::kLayerNormGradient:
      return "layer_norm_gradient";
    case RowsStep::Kind::kRmsNormGradient:
      return "rms_norm_gradient";
    case RowsStep::Kind::kSumRows:
      return "sum rows";
    case RowsStep::Kind::kMaxRows:
      return "max rows";
    case RowsStep::Kind::kMinRows:
      return "min rows";
    case RowsStep::Kind::kSumColumns:
      return "sum columns";
    case RowsStep::Kind::kMaxColumns:
      return "max columns";
    case RowsStep::Kind::kMinColumns:
      return "min columns";
  }
  return {};
}

std::string_view weights_text(MatmulStep::Weights weights) {
  switch (weights) {
    case MatmulStep::Weights::kF32:
      return "";
    case MatmulStep::Weights::kBf16:
      return " bf16";
    case MatmulStep::Weights::kI8:
      return " i8";
  }
  return {};
}

struct RootText {
  const Plan& plan;

  std::string s(SlotId id) const { return slot_text(plan, id); }

  std::string operator()(const LanesStep&) const { return "lanes"; }
  std::string operator()(const MatmulStep& m) const {
    return fmt::format("{} = matmul {}x{}x{}x{} {}{} {}{}{}{}{}{}{}", s(m.c), m.batch, m.m, m.n,
                       m.k, s(m.a), m.transpose_a ? "^T" : "", s(m.b), m.transpose_b ? "^T" : "",
                       weights_text(m.weights), m.packed ? " packed" : "",
                       m.scale >= 0 ? " * " + s(m.scale) : "", m.bias >= 0 ? " + " + s(m.bias) : "",
                       m.relu ? " relu" : "");
  }
  std::string operator()(const PackStep& p) const {
    return fmt::format("{} = pack {}x{} {}{}{}", s(p.out), p.k, p.n, s(p.in),
                       p.transposed ? "^T" : "", weights_text(p.weights));
  }
  std::string operator()(const RowsStep& r) const {
    return fmt::format("{}{} = {} {}x{}x{} {}{}{}{}", s(r.out), r.out2 >= 0 ? ", " + s(r.out2) : "",
                       kind_text(r.kind), r.outer, r.rows, r.columns, s(r.in),
                       r.cotangent >= 0 ? ", " + s(r.cotangent) : "",
                       r.gamma >= 0 ? " * " + s(r.gamma) : "",
                       r.beta >= 0 ? " + " + s(r.beta) : "");
  }
  std::string operator()(const TransposeStep& t) const {
    return fmt::format("{} = transpose {}x{}x{} {}", s(t.out), t.outer, t.rows, t.columns, s(t.in));
  }
  std::string operator()(const MoveStep& v) const {
    return fmt::format("{} = move {}x{} bytes {}", s(v.out), v.walk.bytes() / v.walk.run,
                       v.walk.run, s(v.in));
  }
  std::string operator()(const GatherStep& g) const {
    return fmt::format("{} = gather {}x{} {}[{}]", s(g.out), g.rows.batches, g.rows.numbers,
                       s(g.table), s(g.numbers));
  }
  std::string operator()(const ScatterAddStep& a) const {
    return fmt::format("{}[{}] = scatter_add {}x{} {}", s(a.out), s(a.numbers), a.rows.batches,
                       a.rows.numbers, s(a.updates));
  }
  std::string operator()(const AdamStep& u) const {
    return fmt::format("{}, {}, {} = adam_update {} {}, {}, {}, {}", s(u.new_parameter),
                       s(u.new_mean), s(u.new_square), u.elements, s(u.parameter), s(u.gradient),
                       s(u.mean), s(u.square));
  }
  std::string operator()(const AttentionStep& a) const {
    return fmt::format("{} = attention {}x{}x{}x{}{} {} {} {}{}{}", s(a.out), a.heads(), a.rows(),
                       a.each.keys, a.each.size, a.f64 ? " f64" : "", s(a.q), s(a.k), s(a.v),
                       a.mask >= 0 ? " mask " + s(a.mask) : "",
                       a.position >= 0 ? " at " + s(a.position) : "");
  }
  std::string operator()(const UpdateRowsStep& u) const {
    return fmt::format("{} = update {} rows {} at {}", s(u.out), s(u.cache), s(u.rows),
                       s(u.position));
  }
  std::string operator()(const ReferenceStep& r) const {
    std::vector<std::string> in;
    std::vector<std::string> out;
    for (SlotId id : r.in) in.push_back(s(id));
    for (SlotId id : r.out) out.push_back(s(id));
    return fmt::format("{} = reference {} {}", fmt::join(out, ", "), r.op->name,
                       fmt::join(in, ", "));
  }
  std::string operator()(const CopyStep& c) const {
    return fmt::format("{} = copy {}", s(c.out), s(c.in));
  }
};

std::string program_text(const Plan& plan, const Program& p) {
  std::string text;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    const LaneInput& in = p.inputs[i];
    text += fmt::format("\n    r{} = {}", i, slot_text(plan, in.slot));
    if (!in.is_full(p.elements)) text += fmt::format("[i / {} mod {}]", in.inner, in.period);
  }
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    const Instruction& in = p.instructions[i];
    text += fmt::format("\n    r{} = {}", p.inputs.size() + i, in.name);
    if (!in.function) text += " " + slot_text(plan, in.key);
    for (std::int32_t o = 0; o < in.count; ++o)
      text += fmt::format(" r{}", in.operands[static_cast<std::size_t>(o)]);
  }
  for (const LaneOutput& o : p.outputs)
    text += fmt::format("\n    {} = r{}", slot_text(plan, o.slot), o.reg);
  return text;
}

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string text;
  for (const Band& band : plan.bands) {
    if (band.count > 1)
      text +=
          fmt::format("{} steps for {} rows, {} at a time:\n", band.count, band.rows, band.block);
    for (std::size_t i = band.first; i < band.first + band.count; ++i)
      text += (plan.steps[i].beside ? "& " : "") + std::visit(RootText{plan}, plan.steps[i].root) +
              program_text(plan, plan.steps[i].program) + "\n";
  }
  return text;
}

}  // namespace limpid::detail
