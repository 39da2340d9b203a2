// Lowers a Function to a Plan: which op becomes which step, and which element-wise ops are fused to
// which step.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "limpid/compile/lowering.h"
#include "limpid/core/error.h"
#include "limpid/core/stop_check.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/barrier.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/random.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/simplify.h"

namespace limpid::detail {
namespace {

using kernels::Element;

// Weights of more bytes do not stay in a cache from one run to the next. A constant, as virtual
// machines report third-level caches of hundreds of megabytes.
constexpr std::size_t kLastLevel = std::size_t{32} << 20;

bool exceed_caches(const std::vector<Step>& steps) {
  std::size_t weights = 0;
  for (const Step& step : steps)
    if (step.root) weights += step.root->weight_bytes();
  return weights > kLastLevel;
}

bool is_lane(Dtype dtype) {
  return dtype == Dtype::kF32 || dtype == Dtype::kI32 || dtype == Dtype::kBool;
}

bool all_lanes(std::span<const Type> types) {
  return std::all_of(types.begin(), types.end(), [](const Type& t) { return is_lane(t.dtype); });
}

// The element kernel of a call, or kNoElement if there is none for its types.
Element element_of(const Call& call) {
  const Kernel& kernel = call.op.kernel;
  if (call.inputs.empty() || !all_lanes(call.inputs)) return kNoElement;
  const Dtype dtype = call.inputs.back().dtype;
  if (kernel.element == Element::kSelect)
    return dtype == Dtype::kBool ? kNoElement : Element::kSelect;
  return dtype == Dtype::kF32   ? kernel.element
         : dtype == Dtype::kI32 ? kernel.element_i32
                                : kNoElement;
}

// That of a cast: the dtypes choose it.
Element element_of_cast(const Call& call) {
  const Dtype from = call.inputs[0].dtype;
  if (call.attributes.get<Dtype>("dtype") != Dtype::kF32) return kNoElement;
  return from == Dtype::kI32    ? Element::kI32ToF32
         : from == Dtype::kBool ? Element::kMaskToF32
                                : kNoElement;
}

// Whether a call is lowered as it is. Otherwise the body of a composition is.
bool is_served(const Call& call) {
  if (element_of(call) != kNoElement) return true;
  const StepKind* const kind = step_kind(call.op);
  return kind && kind->serves(call);
}

// ---- calls that become no step of their own

constexpr const Op* kAliases[] = {&op::reshape, &op::stop_gradient};
void lower_alias(Lowering& l, const Node& node, const Call&) {
  l.set_alias(node.first_output, node.inputs[0]);
}

constexpr const Op* kBarrier[] = {&op::barrier};
void lower_barrier(Lowering& l, const Node& node, const Call&) { l.lower_barrier(node); }

constexpr const Op* kBroadcast[] = {&op::broadcast};
void lower_broadcast(Lowering& l, const Node& node, const Call& call) {
  l.lower_broadcast(node, call);
}

constexpr const Op* kCast[] = {&op::cast};
bool serves_cast(const Call& call) { return element_of_cast(call) != kNoElement; }
void lower_cast(Lowering& l, const Node& node, const Call& call) {
  l.add_lanes(node, call, element_of_cast(call));
}

constexpr const Op* kRandomBits[] = {&op::random_bits};
bool serves_one_key(const Call& call) { return call.inputs[0].shape.rank() == 0; }
void lower_random_bits(Lowering& l, const Node& node, const Call& call) {
  l.add_lanes(node, call, kNoElement);
}

constexpr StepKind kValueKinds[] = {{kAliases, serves_all, lower_alias, true},
                                    {kBarrier, serves_all, lower_barrier},
                                    {kBroadcast, serves_all, lower_broadcast, true},
                                    {kCast, serves_cast, lower_cast},
                                    {kRandomBits, serves_one_key, lower_random_bits}};

}  // namespace

constexpr StepKinds value_steps = kValueKinds;

Lowering::Lowering(const Function& original, kernels::Isa isa, std::size_t first_invariant)
    : f_(simplify(expand(original, [](const Call& c) { return !is_served(c); }))),
      isa_(isa),
      first_invariant_(first_invariant) {
  plan_.name = original.name();
  plan_.inputs = original.inputs();
  for (const Output& o : original.outputs()) plan_.outputs.push_back(original.type(o.value));
  plan_.kernels = &kernels::kernels(isa);
  known_.resize(f_.types().size());
}

Plan Lowering::run() {
  for (std::size_t i = 0; i < f_.inputs().size(); ++i)
    set_memory(static_cast<ValueId>(i), add_slot(f_.inputs()[i].type, Place::kInput, i), -1);
  lower_nodes();
  for (std::size_t i = 0; i < f_.outputs().size(); ++i) write_output(i);
  return std::move(plan_);
}

void Lowering::set_alias(ValueId v, ValueId source) {
  // Chains of aliases are resolved as they are made: an untrusted text may hold long ones.
  const bool chained = known(source).how == How::kAlias;
  entry(v).how = How::kAlias;
  entry(v).not_before = known(source).not_before;
  entry(v).source = chained ? known(source).source : source;
}

std::int32_t Lowering::made_by(ValueId v) const {
  const Known& k = known(v);
  return k.how == How::kView || k.how == How::kAlias ? std::max(k.not_before, made_by(k.source))
                                                     : k.step;
}

std::int32_t Lowering::behind(ValueId v) const {
  const Known& k = known(v);
  return k.how == How::kView || k.how == How::kAlias ? std::max(k.not_before, behind(k.source))
                                                     : -1;
}

SlotId Lowering::memory(ValueId v) {
  const ValueId r = resolve(v);
  Known& k = entry(r);
  if (k.slot >= 0) return k.slot;
  if (k.how == How::kConstant) {
    k.slot = constant_slot(k.constant);
  } else if (k.how == How::kLane) {
    k.slot = new_slot(r);
    plan_.steps[static_cast<std::size_t>(k.step)].program.outputs.push_back(
        {k.instruction, k.slot});
  } else {  // a view: a program that copies
    Step step;
    step.program.elements = elements(r);
    const LaneInput input{memory(k.source), k.inner, k.period};
    step.program.inputs.push_back(input);
    step.nanoseconds = kNanosecondsPerLane * static_cast<double>(elements(r));
    step.not_before = behind(r);
    const SlotId slot = new_slot(r);
    step.program.outputs.push_back({~0, slot});
    plan_.steps.push_back(std::move(step));
    entry(r).slot = slot;
    entry(r).how = How::kMemory;
    entry(r).step = last_step();
  }
  return known(r).slot;
}

void Lowering::lower_nodes() {
  std::vector<bool> early(f_.types().size(), false);
  for (std::size_t i = 0; i < f_.inputs().size(); ++i)
    early[i] = f_.inputs()[i].type.shape.elements() == 1;
  const auto is_early = [&](ValueId v) { return early[static_cast<std::size_t>(v)]; };
  std::vector<const Node*> order, rest;
  for (const Node& node : f_.nodes()) {
    const bool first = node.op != &op::barrier && f_.call_types(node).outputs.size() == 1 &&
                       elements(node.first_output) == 1 &&
                       std::all_of(node.inputs.begin(), node.inputs.end(), is_early);
    early[static_cast<std::size_t>(node.first_output)] = first;
    (first ? order : rest).push_back(&node);
  }
  order.insert(order.end(), rest.begin(), rest.end());
  find_uses(order);
  for (const Node* node : order) {
    began_.resize(plan_.steps.size(), now_);
    ++now_;
    throw_if_stopped();
    lower(*node);
  }
}

void Lowering::find_uses(const std::vector<const Node*>& order) {
  uses_.resize(f_.types().size());
  // What reads an alias or a view reads its source.
  std::vector<ValueId> source(f_.types().size());
  std::iota(source.begin(), source.end(), 0);
  const auto uses = [&](ValueId id) -> std::vector<std::int32_t>& {
    return uses_[static_cast<std::size_t>(source[static_cast<std::size_t>(id)])];
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = *order[i];
    const StepKind* const kind = step_kind(*node.op);
    if (kind && kind->is_view)
      source[static_cast<std::size_t>(node.first_output)] =
          source[static_cast<std::size_t>(node.inputs[0])];
    else
      for (const ValueId id : node.inputs) uses(id).push_back(static_cast<std::int32_t>(i) + 1);
  }
  for (const Output& o : f_.outputs()) uses(o.value).push_back(kNever);
}

bool Lowering::waits(std::int32_t step, const Node& node) const {
  if (last_step() - step <= kNear) return false;
  const std::int32_t began = began_[static_cast<std::size_t>(step)];
  auto bytes = static_cast<std::int64_t>(f_.type(node.first_output).bytes());
  std::vector<ValueId> freed;
  for (const ValueId id : node.inputs) {
    const ValueId v = resolve(id);
    if (known(v).how == How::kConstant || known(v).how == How::kView ||
        std::find(freed.begin(), freed.end(), v) != freed.end())
      continue;
    const auto& uses = uses_[static_cast<std::size_t>(v)];
    const auto later = std::upper_bound(uses.begin(), uses.end(), began);
    if (std::any_of(later, uses.end(), [&](std::int32_t use) { return use != now_; })) continue;
    freed.push_back(v);
    bytes -= static_cast<std::int64_t>(f_.type(v).bytes());
  }
  return bytes > 0;
}

void Lowering::lower(const Node& node) {
  const Function::CallTypes types = f_.call_types(node);
  const Call call{*node.op, types.inputs, types.outputs, node.attributes, node.scope};
  if (make_constant(node, call)) return;
  if (const Element e = element_of(call); e != kNoElement) return add_lanes(node, call, e);
  const StepKind* const kind = step_kind(*node.op);
  if (kind && kind->serves(call)) return kind->lower(*this, node, call);
  add_reference(node, call);
}

bool Lowering::make_constant(const Node& node, const Call& call) {
  if (results_are_empty(call)) {
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
      set_constant(node.first_output + static_cast<ValueId>(i), Tensor::zeros(call.outputs[i]));
    return true;
  }
  constexpr std::int64_t kMostElements = 1 << 20;
  if (!node.inputs.empty()) return false;
  if (node.op == &op::constant) {
    set_constant(node.first_output, node.attributes.get<Tensor>("value"));
    return true;
  }
  if (call.outputs[0].shape.elements() > kMostElements) return false;
  set_constant(node.first_output, interpret_call(call, {})[0]);
  return true;
}

void Lowering::lower_barrier(const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId result = node.first_output + static_cast<ValueId>(i);
    set_alias(result, node.inputs[i]);
    entry(result).not_before = last_step();
  }
}

void Lowering::lower_broadcast(const Node& node, const Call& call) {
  const ValueId source = resolve(node.inputs[0]);
  const ValueId result = node.first_output;
  if (elements(source) == elements(result)) return set_alias(result, node.inputs[0]);
  LaneInput view{};
  if (!is_lane(call.inputs[0].dtype) || elements(result) == 0 ||
      !repeats_one_block(call.inputs[0].shape, call.outputs[0].shape, view))
    return add_reference(node, call);
  Known k;
  k.how = How::kView;
  k.source = source;
  k.not_before = behind(node.inputs[0]);
  k.inner = view.inner;
  k.period = view.period;
  if (known(source).how == How::kView) {
    if (known(source).period == 1) {
      k.source = known(source).source;
      k.inner = 1;
      k.period = 1;
    } else {
      memory(source);
    }
  }
  entry(result) = k;
}

bool Lowering::repeats_one_block(const Shape& from, const Shape& to, LaneInput& view) {
  view.inner = 1;
  view.period = 1;
  int part = 0;  // from the right: repeated, kept, repeated
  for (std::size_t i = 1; i <= to.rank(); ++i) {
    const auto dim = static_cast<std::size_t>(to[to.rank() - i]);
    if (dim == 1) continue;
    const bool kept = i <= from.rank() && from[from.rank() - i] != 1;
    if (kept && part == 2) return false;
    if (kept) {
      part = 1;
      view.period *= dim;
    } else if (part == 0) {
      view.inner *= dim;
    } else {
      part = 2;
    }
  }
  return true;
}

std::int32_t Lowering::joinable(const Node& node, std::size_t count) const {
  std::int32_t last = -1;
  for (ValueId id : node.inputs) last = std::max(last, made_by(id));
  if (last < 0) return -1;
  const Step& step = plan_.steps[static_cast<std::size_t>(last)];
  if (step.program.elements != count || waits(last, node) || live(last) >= kMostLive) return -1;
  for (ValueId id : node.inputs)
    if (made_by(id) == last && known(resolve(id)).how == How::kView) return -1;
  return last;
}

std::int32_t Lowering::lane_operand(std::int32_t step, ValueId id) {
  const ValueId v = resolve(id);
  if (known(v).how == How::kLane && known(v).step == step) return known(v).instruction;
  LaneInput input{};
  if (known(v).how == How::kView)
    input = {memory(known(v).source), known(v).inner, known(v).period};
  else
    input = {memory(v), 1, elements(v)};
  Program& program = plan_.steps[static_cast<std::size_t>(step)].program;
  for (const LaneOutput& output : program.outputs)
    if (output.slot == input.slot) return output.reg;
  auto& inputs = program.inputs;
  auto at = std::find(inputs.begin(), inputs.end(), input);
  if (at == inputs.end()) at = inputs.insert(at, input);
  return ~static_cast<std::int32_t>(at - inputs.begin());
}

void Lowering::add_lanes(const Node& node, const Call& call, Element element) {
  const ValueId result = node.first_output;
  const bool random = element == kNoElement;
  std::int32_t at = joinable(node, elements(result));
  if (at < 0) {
    plan_.steps.emplace_back();
    plan_.steps.back().program.elements = elements(result);
    at = last_step();
  }
  Instruction instruction{
      random ? nullptr : plan_.kernels->element[static_cast<std::size_t>(element)],
      random ? memory(node.inputs[0]) : -1,
      {},
      0,
      call.op.name};
  if (!random)
    for (ValueId id : node.inputs)
      instruction.operands[static_cast<std::size_t>(instruction.count++)] = lane_operand(at, id);
  Step& step = plan_.steps[static_cast<std::size_t>(at)];
  step.program.instructions.push_back(instruction);
  step.nanoseconds += kNanosecondsPerLane * static_cast<double>(elements(result));
  for (ValueId id : node.inputs) step.not_before = std::max(step.not_before, behind(id));
  Known& k = entry(result);
  k.how = How::kLane;
  k.step = at;
  k.instruction = static_cast<std::int32_t>(step.program.instructions.size()) - 1;
  count_live(at, node);
}

std::size_t Lowering::live(std::int32_t step) const {
  const auto at = static_cast<std::size_t>(step);
  return at < live_.size() ? live_[at] : 0;
}

void Lowering::count_live(std::int32_t step, const Node& node) {
  live_.resize(plan_.steps.size(), 0);
  std::size_t& live = live_[static_cast<std::size_t>(step)];
  ++live;
  std::vector<ValueId> dead;
  for (const ValueId id : node.inputs) {
    const ValueId v = resolve(id);
    const auto& uses = uses_[static_cast<std::size_t>(v)];
    if (known(v).how != How::kLane || known(v).step != step || uses.back() > now_ ||
        std::find(dead.begin(), dead.end(), v) != dead.end())
      continue;
    dead.push_back(v);
    --live;
  }
}

void Lowering::write_output(std::size_t index) {
  const ValueId v = f_.outputs()[index].value;
  const SlotId slot = memory(v);
  Slot& s = plan_.slots[static_cast<std::size_t>(slot)];
  if (s.place == Place::kWorkspace) {
    s.place = Place::kOutput;
    s.offset = index;
    return;
  }
  add_copy(plan_, slot, add_slot(f_.type(v), Place::kOutput, index));
}

Plan lower(const Function& function, kernels::Isa isa,
           std::span<const CompileOptions::Donation> donations, std::size_t first_invariant) {
  Plan plan = Lowering(function, isa, first_invariant).run();
  fuse(plan);
  find_bands(plan);
  settle_donations(plan, donations);
  for (Step& step : plan.steps) place_registers(step.program, plan);
  place_slots(plan);
  place_scratch(plan);
  plan.weights_in_memory = exceed_caches(plan.steps);
  find_actions(plan);
  find_beside(plan);
  return plan;
}

}  // namespace limpid::detail
